/** What the fuzzer begins with: right calls of every tool, with what they mean. */
import type { Condition } from './forms.ts'
import { day, monthAt } from './dates.ts'

/** A call that is understood; `conditions` is what its filters mean. */
export interface RightCall {
  readonly tool: string
  readonly args: Readonly<Record<string, any>>
  readonly conditions?: readonly Condition[]
  /** A field without a value, where that is asked. */
  readonly notSet?: string
}

const counted = (doctype: string, ...conditions: Condition[]): RightCall => ({
  tool: 'count_documents',
  args: { doctype },
  conditions,
})
const order = 'Sales Order'
const money = [{ function: 'sum', field: 'grand_total' }]

/** Each kind of condition on each type of field, on the cheapest tool. */
const conditions: readonly RightCall[] = [
  counted('Customer', ['city', '=', 'Hamburg']),
  counted('Customer', ['city', '!=', 'Hamburg']),
  counted('Customer', ['customer_name', 'contains', 'Elektro']),
  counted('Customer', ['customer_name', 'not contains', 'Elektro']),
  counted('Customer', ['customer_name', 'starts with', 'Müller']),
  counted('Customer', ['city', 'in', ['Hamburg', 'Berlin']]),
  counted('Customer', ['city', 'not in', ['Hamburg', 'Berlin']]),
  counted('Customer', ['territory', '=', 'North']),
  counted('Customer', ['territory', '!=', 'North']),
  counted('Customer', ['territory', 'in', ['North', 'South']]),
  counted('Customer', ['territory', 'not in', ['North', 'South']]),
  counted(order, ['customer', '=', 'Müller Anlagen']),
  counted(order, ['customer', '!=', 'Müller Anlagen']),
  counted(order, ['customer', 'in', ['Müller Anlagen', 'Becker Elektro']]),
  counted(order, ['grand_total', '>', 20_000]),
  counted(order, ['grand_total', '<=', 5000]),
  counted(order, ['grand_total', 'between', [5000, 10_000]]),
  counted(order, ['order_date', '>=', day(-60)]),
  counted(order, ['order_date', '<', day(-60)]),
  counted(order, ['order_date', 'between', monthAt(-2)]),
  counted(order, ['docstatus', '=', 1]),
  counted(order, ['owner', '=', 'sales@example.com']),
  counted('Note', ['public', '=', true]),
  counted('Item', ['stock_qty', '<', 50]),
  counted('Task', ['assigned_to', '=', 'sales@example.com']),
  counted('Customer', ['creation', '>=', day(-200)]),
  { tool: 'count_documents', args: { doctype: order }, notSet: 'po_number' },
]

/** Every tool; what writes does so on trial, or makes a chart or dashboard, which nothing else counts. */
const tools: readonly RightCall[] = [
  {
    tool: 'list_documents',
    args: {
      doctype: order,
      fields: ['name', 'customer', 'grand_total'],
      order_by: 'grand_total desc',
      limit: 5,
      offset: 2,
    },
    conditions: [['status', '=', 'To Deliver']],
  },
  {
    tool: 'list_documents',
    args: { doctype: 'Customer', fields: ['name', 'city'], order_by: 'city asc, name desc', limit: 7 },
    conditions: [
      ['city', '!=', 'Hamburg'],
      ['territory', 'in', ['North', 'West']],
    ],
  },
  {
    tool: 'aggregate',
    args: {
      doctype: order,
      group_by: ['customer'],
      metrics: money,
      order_by: 'sum_grand_total desc',
      limit: 4,
    },
    conditions: [['docstatus', '=', 1]],
  },
  {
    tool: 'aggregate',
    args: {
      doctype: order,
      group_by: ['order_date:month'],
      metrics: [{ function: 'count' }, { function: 'max', field: 'grand_total', as: 'largest' }],
    },
    conditions: [['order_date', '>=', day(-120)]],
  },
  {
    tool: 'search_link',
    args: { doctype: 'Customer', query: 'Müller' },
    conditions: [['territory', '!=', 'North']],
  },
  { tool: 'search_documents', args: { query: 'Müller Anlagen', limit: 5 } },
  { tool: 'search_doctype', args: { doctype: 'Customer', query: 'Müller', limit: 5 } },
  { tool: 'search', args: { query: 'Müller Anlagen' } },
  { tool: 'fetch', args: { id: 'Customer/Müller Bau' } },
  { tool: 'get_document', args: { doctype: order, name: 'SO-00001', fields: ['customer', 'grand_total'] } },
  { tool: 'get_document', args: { doctype: 'Customer', name: 'Müller Bau' } },
  { tool: 'get_doctype_info', args: { doctype: order } },
  { tool: 'list_doctypes', args: {} },
  { tool: 'report_list', args: { module: 'Selling', report_type: 'declarative' } },
  { tool: 'report_requirements', args: { report_name: 'Sales by Customer' } },
  {
    tool: 'generate_report',
    args: { report_name: 'Sales by Customer', filters: { from_date: day(-90), to_date: day(-10) } },
  },
  {
    tool: 'generate_report',
    args: { report_name: 'Open Sales Orders', filters: { customer: 'Müller Anlagen' }, format: 'json' },
  },
  {
    tool: 'generate_report',
    args: { report_name: 'Item Sales', filters: { from_date: day(-90), item_group: 'Tools' } },
  },
  {
    tool: 'query_and_analyze',
    args: {
      query:
        'SELECT customer, count(*) AS n FROM sales_order WHERE grand_total > ? AND status = ? GROUP BY 1 ORDER BY 2 DESC, 1',
      parameters: [5000, 'Completed'],
      limit: 3,
      analysis_type: 'basic',
    },
  },
  {
    tool: 'query_and_analyze',
    args: {
      query: 'SELECT count(*) AS n FROM sales_order WHERE order_date >= $since',
      parameters: { since: day(-60) },
    },
  },
  {
    tool: 'run_database_query',
    args: { query: 'SELECT status, count(*) AS n FROM sales_order GROUP BY 1 ORDER BY 1' },
  },
  {
    tool: 'analyze_business_data',
    args: { doctype: order, analysis_type: 'statistics', fields: ['grand_total'] },
    conditions: [['status', '=', 'Completed']],
  },
  { tool: 'get_pending_approvals', args: { doctype: 'Purchase Order', limit: 3 } },
  { tool: 'list_attachments', args: { doctype: 'Customer', name: 'Müller Bau' } },
  { tool: 'list_skills', args: { tool: 'list_documents' } },
  { tool: 'read_skill', args: { name: 'finding-documents' } },
  { tool: 'list_user_dashboards', args: { include_shared: true, dashboard: 'Sales' } },
  {
    tool: 'create_document',
    args: {
      doctype: 'Customer',
      data: { customer_name: 'New Bau', territory: 'North', credit_limit: 5000 },
      dry_run: true,
    },
  },
  {
    tool: 'create_document',
    args: {
      doctype: order,
      data: { customer: 'Müller Bau', order_date: day(0), items: [{ item: 'ITEM-1', qty: 2, rate: 10 }] },
      validate_only: true,
    },
  },
  {
    tool: 'update_document',
    args: {
      doctype: 'Customer',
      name: 'Müller Bau',
      data: { city: 'Berlin', disabled: true },
      dry_run: true,
    },
  },
  {
    tool: 'bulk_update',
    args: { doctype: 'Customer', data: { city: 'Berlin' }, dry_run: true },
    conditions: [
      ['customer_name', '!=', 'Müller Bau'],
      ['territory', '=', 'North'],
    ],
  },
  {
    tool: 'bulk_update',
    args: { doctype: 'Customer', names: ['Müller Bau', 'Koch Bau'], data: { city: 'Berlin' }, dry_run: true },
  },
  {
    tool: 'delete_document',
    args: { doctype: 'Note', name: 'SQL: SELECT min(name) FROM note', dry_run: true },
  },
  {
    tool: 'add_comment',
    args: { doctype: 'Customer', name: 'Müller Bau', comment: 'Called.', dry_run: true },
  },
  {
    tool: 'assign',
    args: { doctype: 'Customer', name: 'Müller Bau', user: 'sales@example.com', dry_run: true },
  },
  {
    tool: 'attach_file',
    args: { doctype: 'Customer', name: 'Müller Bau', file_name: 'note.txt', text: 'A note.', dry_run: true },
  },
  {
    tool: 'create_dashboard_chart',
    args: {
      chart_name: 'Orders',
      chart_type: 'bar',
      doctype: order,
      aggregate_function: 'Sum',
      value_based_on: 'grand_total',
      based_on: 'status',
      timespan: 'All Time',
    },
    conditions: [['customer', '!=', 'Müller Anlagen']],
  },
  {
    tool: 'run_python_code',
    args: {
      code: 'sum(row["grand_total"] for row in data)',
      data_query: {
        doctype: order,
        fields: ['name', 'grand_total'],
        filters: { status: 'Completed' },
        limit: 900,
      },
      timeout: 20,
    },
  },
  { tool: 'search_audit', args: { user: 'admin@example.com', limit: 1, target: 'list_skills' } },
  {
    tool: 'run_workflow',
    args: {
      doctype: 'Purchase Order',
      name: "SQL: SELECT min(name) FROM purchase_order WHERE workflow_state = 'Pending Approval'",
      action: 'Reject',
      dry_run: true,
    },
  },
]

const cancelled = 'SQL: SELECT max(name) FROM sales_order WHERE docstatus = 1'
const file = { doctype: 'Customer', name: 'Koch Bau' }

/** What is there before: a file and a cancelled order. */
export const preparations: readonly RightCall[] = [
  { tool: 'attach_file', args: { ...file, file_name: 'list.csv', text: 'a,b\n1,2\n' } },
  { tool: 'cancel_document', args: { doctype: order, name: cancelled } },
]
const prepared: readonly RightCall[] = [
  { tool: 'extract_file_content', args: { operation: 'parse_data', ...file, file_name: 'list.csv' } },
  { tool: 'remove_attachment', args: { ...file, attachment: 'list.csv', dry_run: true } },
  { tool: 'amend_document', args: { doctype: order, name: cancelled, dry_run: true } },
  {
    tool: 'submit_document',
    args: {
      doctype: order,
      name: 'SQL: SELECT min(name) FROM sales_order WHERE docstatus = 0',
      dry_run: true,
    },
  },
  {
    tool: 'cancel_document',
    args: {
      doctype: order,
      name: 'SQL: SELECT min(name) FROM sales_order WHERE docstatus = 1',
      dry_run: true,
    },
  },
  {
    tool: 'create_dashboard',
    args: { dashboard_name: 'Mine', chart_names: ['Orders by status', 'Orders per month'] },
  },
]

export const rightCalls: readonly RightCall[] = [...conditions, ...tools, ...prepared]
