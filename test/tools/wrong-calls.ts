/** Wrong calls as a table: what the error of each must say, and the call that it teaches. */
import type { Principal } from '../../src/core/principal.ts'
import { buyer, sales, salesManager, siteOf, someone } from '../documents/trading-company.ts'

export type Args = Readonly<Record<string, unknown>>
/** A wrong call, texts that its error must have, and a call that the error teaches; none where nothing would do. */
export interface Line {
  readonly tool: string
  readonly args: Args
  readonly says: readonly string[]
  readonly cure: readonly [tool: string, args: Args] | 'nothing would do'
  readonly as?: Principal
}

const order = { doctype: 'Sales Order' }
const task = { doctype: 'Task', name: 'TASK-00001' }
const item = { item: 'ITEM-1', qty: 1, rate: 5 }
const wholeOrder = { customer: 'Müller Bau', items: [item] }
const tried = { dry_run: true }
const perStatus = 'SELECT status AS s, count(*) AS n FROM sales_order GROUP BY ALL'
const chart = { chart_name: 'Mine', chart_type: 'bar', doctype: 'Sales Order', aggregate_function: 'Count' }
/** Stands for a text that the caller has and no error could know. */
export const any = 'anything'

/** Lines whose call differs from the one that would do in one argument only. */
function changed(tool: string, base: Args, lines: readonly [Args, readonly string[], Args][]): Line[] {
  return lines.map(([wrong, says, right]) => ({
    tool,
    args: { ...base, ...wrong },
    says,
    cure: [tool, { ...base, ...right }],
  }))
}

const fields = 'customer, order_date, delivery_date, status'
export const lines: readonly Line[] = [
  ...changed('list_documents', order, [
    [
      { doctype: 'Sales Orders' },
      ['"Sales Orders"', 'did you mean "Sales Order"?'],
      { doctype: 'Sales Order' },
    ],
    [{ doctype: 'Invoice' }, ['"Invoice"', 'there are Customer', 'Sales Order'], { doctype: 'Sales Order' }],
    [{ filters: { state: 'x' } }, ['"state"', fields], { filters: { total: ['>', 3] } }],
    [
      { filters: { status: 'Opened' } },
      ['"Opened"', 'Draft, To Deliver'],
      { filters: { status: 'To Deliver' } },
    ],
    [{ filters: { total: ['about', 3] } }, ['"about"', '<=, like'], { filters: { total: ['<=', 3] } }],
    [{ filters: { total: ['like', '3'] } }, ['like', 'currency'], { filters: { total: ['>', 3] } }],
    [
      { filters: { order_date: ['between', ['2026-01-01']] } },
      ['["2026-01-01"]', '[from, to]'],
      { filters: { order_date: ['between', ['2026-01-01', '2026-01-01']] } },
    ],
    [
      { filters: { order_date: 'the other day' } },
      ['"the other day"', 'yesterday'],
      { filters: { order_date: 'yesterday' } },
    ],
    [{ filters: { items: 'x' } }, ['items holds rows', 'query_and_analyze'], {}],
    [
      { doctype: 'Task', filters: [['status']] },
      ['["status"]', '[field, operator, value]'],
      { doctype: 'Task', filters: [['status', '=', 'Open']] },
    ],
    [
      { filters: { status: ['Draft', 'Closed'] } },
      ['"Draft"', '["in", ["a", "b"]]'],
      { filters: { status: ['in', ['Draft', 'Closed']] } },
    ],
    [{ filters: { total: {} } }, ['{} has no operator', '{">": 100}'], { filters: { total: { '>': 100 } } }],
    [
      { filters: { status: ['is', 'there'] } },
      ['"there"', '"not set"'],
      { filters: { status: ['is', 'not set'] } },
    ],
    [
      { filters: { po_number: ['in', []] } },
      ['in takes a list', '["in", ["a", "b"]]'],
      { filters: { po_number: ['in', [any]] } },
    ],
    [
      { filters: { customer: 'Muller Bav' } },
      ['"Muller Bav"', 'did you mean "Müller Bau"?'],
      { filters: { customer: 'Müller Bau' } },
    ],
    [{ filters: { owner: 'bob' } }, ['"bob"', 'or me'], { filters: { owner: 'me' } }],
    [
      { filters: { docstatus: 'open' } },
      ['"open"', 'draft, submitted'],
      { filters: { docstatus: 'submitted' } },
    ],
    [
      { filters: Array.from({ length: 51 }, () => ['status', '=', 'Draft']) },
      ['at most 50', '["in", ["a", "b"]]'],
      { filters: { status: ['in', ['Draft']] } },
    ],
    [
      { order_by: 'grand_totals desc' },
      ['"grand_totals"', 'did you mean "grand_total"?'],
      { order_by: 'grand_total desc' },
    ],
    [
      { order_by: 'grand_total descending' },
      ['"grand_total descending"', 'asc or desc'],
      { order_by: 'grand_total desc' },
    ],
    [
      { order_by: Array.from({ length: 11 }, () => 'status').join() },
      ['not 11', 'at most 10'],
      { order_by: 'status' },
    ],
    [{ fields: ['amount_due'] }, ['"amount_due"', fields], { fields: ['status'] }],
    [{ fields: ['items'] }, ['items holds rows', 'get_document shows them'], { fields: ['status'] }],
    [{ cursor: 'xx' }, ['cursor', 'begin without it'], {}],
  ]),
  {
    tool: 'list_documents',
    args: { ...order, filters: { 'customer.territory': 'North' } },
    says: ['customer.territory', 'only fields of Sales Order'],
    cure: [
      'query_and_analyze',
      { query: 'SELECT b.* FROM sales_order a JOIN customer b ON b.name = a.customer' },
    ],
  },
  {
    tool: 'count_documents',
    args: { ...order, filters: { items: 'x' } },
    says: ['items holds rows'],
    cure: [
      'query_and_analyze',
      { query: 'SELECT b.* FROM sales_order a JOIN sales_order_item b ON b.parent = a.name' },
    ],
  },
  {
    tool: 'get_document',
    args: { ...order, name: 'SO-9' },
    says: ['"SO-9"', 'search_link'],
    cure: ['search_link', { ...order, query: '' }],
  },
  ...changed('get_document', { doctype: 'Customer' }, [
    [{ name: 'Muller Baw' }, ['"Muller Baw"', 'did you mean "Müller Bau"?'], { name: 'Müller Bau' }],
  ]),
  ...changed('fetch', {}, [
    [{ id: 'SO-00001' }, ['"SO-00001"', 'Doctype/name'], { id: 'Sales Order/SO-00001' }],
  ]),
  ...changed('aggregate', order, [
    [{ group_by: ['region'] }, ['"region"', fields], { group_by: ['customer'] }],
    [{ group_by: ['status:month'] }, ['"status:month"', 'only dates'], { group_by: ['status'] }],
    [
      { metrics: [{ function: 'sum' }] },
      ['sum needs a field', 'total, grand_total'],
      { metrics: [{ function: 'sum', field: 'total' }] },
    ],
    [
      { metrics: [{ function: 'sum', field: 'status' }] },
      ['status is a select', 'total, grand_total'],
      { metrics: [{ function: 'sum', field: 'total' }] },
    ],
    [
      { metrics: [{ function: 'count', as: 'a b' }] },
      ['"a b"', '"a_b"'],
      { metrics: [{ function: 'count', as: 'a_b' }] },
    ],
    [
      { metrics: [{ function: 'count' }, { function: 'count' }] },
      ['count, count', '"as"'],
      { metrics: [{ function: 'count' }, { function: 'count', as: any }] },
    ],
    [{ order_by: 'total desc' }, ['"total desc"', 'count'], { order_by: 'count desc' }],
  ]),
  ...changed('aggregate', { ...order, draw: 'bar' }, [
    [{}, ['draw: a bar needs group_by', 'series'], { group_by: ['order_date:month'] }],
    [{ group_by: ['status'], limit: 1 }, ['only 1 of', 'raise limit'], { group_by: ['status'], limit: 9 }],
    [
      { group_by: ['status'], metrics: [{ function: 'min', field: 'customer' }] },
      ['min_customer holds', 'no number', 'status, min_customer'],
      { group_by: ['status'] },
    ],
  ]),
  ...changed('search_documents', {}, [[{ query: '?!' }, ['"?!"', 'no word'], { query: 'invoice' }]]),
  {
    tool: 'create_document',
    args: { ...order, data: {} },
    says: ['customer, items are required', 'item, qty, rate'],
    cure: ['search_link', { doctype: 'Customer', query: '' }],
  },
  ...changed('create_document', { ...order, ...tried }, [
    [{ data: { ...wholeOrder, itmes: [] } }, ['"itmes"', 'did you mean "items"?'], { data: wholeOrder }],
    [{ data: { ...wholeOrder, nonsense: 1 } }, ['"nonsense"', fields], { data: wholeOrder }],
    [
      { data: { ...wholeOrder, status: 'New' } },
      ['"New"', 'Draft, To Deliver'],
      { data: { ...wholeOrder, status: 'Draft' } },
    ],
    [{ data: { ...wholeOrder, items: 'ITEM-1' } }, ['items', 'item, qty, rate'], { data: wholeOrder }],
    [
      { data: { ...wholeOrder, items: [{ ...item, quantity: 1 }] } },
      ['"quantity"', 'item, qty, rate'],
      { data: wholeOrder },
    ],
    [
      { data: { ...wholeOrder, discount: 200 } },
      ['discount', 'between 0 and 100'],
      { data: { ...wholeOrder, discount: 100 } },
    ],
    [
      { data: { ...wholeOrder, creation: '2020-01-01' } },
      ['creation', 'kept by the system'],
      { data: wholeOrder },
    ],
  ]),
  {
    tool: 'create_document',
    args: { ...order, data: { ...wholeOrder, customer: 'Nobody' } },
    says: ['"Nobody"', 'search_link'],
    cure: ['search_link', { doctype: 'Customer', query: '' }],
  },
  {
    tool: 'create_document',
    args: { doctype: 'Customer', data: { customer_name: 'Müller Bau' } },
    says: ['"Müller Bau"', 'update_document'],
    cure: ['update_document', { doctype: 'Customer', name: 'Müller Bau', data: {}, ...tried }],
  },
  {
    tool: 'create_document',
    as: sales,
    args: { doctype: 'Item', data: {} },
    says: ['create Item', 'you may read'],
    cure: 'nothing would do',
  },
  {
    tool: 'create_document',
    args: { doctype: 'Customer', data: { customer_name: 'x\ny' } },
    says: ['customer_name', 'one line'],
    cure: ['create_document', { doctype: 'Customer', data: { customer_name: any }, ...tried }],
  },
  {
    tool: 'create_document',
    as: sales,
    args: { doctype: 'Purchase Order', data: {} },
    says: ['"Purchase Order"', 'there are'],
    cure: ['list_doctypes', {}],
  },
  {
    tool: 'create_document',
    args: { doctype: 'Note', data: { title: any }, submit: true },
    says: ['Note', 'no states'],
    cure: ['create_document', { doctype: 'Note', data: { title: any }, ...tried }],
  },
  {
    tool: 'update_document',
    as: sales,
    args: { doctype: 'Item', name: 'ITEM-1', data: { unit: 'Box' } },
    says: ['Item "ITEM-1"', 'you may read'],
    cure: 'nothing would do',
  },
  {
    tool: 'update_document',
    as: sales,
    args: { doctype: 'Customer', name: 'Müller Bau', data: { credit_limit: 9 } },
    says: ['credit_limit', 'leave it out'],
    cure: ['update_document', { doctype: 'Customer', name: 'Müller Bau', data: {}, ...tried }],
  },
  {
    tool: 'update_document',
    args: { ...order, name: 'SO-00001', data: {}, expected_modified: '2020-01-01T00:00:00Z' },
    says: ['changed by admin@example.com', 'get_document'],
    cure: ['get_document', { ...order, name: 'SO-00001' }],
  },
  {
    tool: 'update_document',
    args: { ...order, name: 'SO-00004', data: { remarks: 'x' } },
    says: ['"SO-00004" is cancelled', 'amend_document'],
    cure: ['amend_document', { ...order, name: 'SO-00004', ...tried }],
  },
  {
    tool: 'update_document',
    as: buyer,
    args: { doctype: 'Purchase Order', name: 'PENDING', data: { remarks: 'x' } },
    says: ['Pending Approval', 'only Sales Manager may edit'],
    cure: 'nothing would do',
  },
  {
    tool: 'delete_document',
    args: { doctype: 'Customer', name: 'Müller Bau' },
    says: ['linked from', 'Task "TASK-00018"'],
    cure: ['delete_document', { doctype: 'Task', name: 'TASK-00018', ...tried }],
  },
  {
    tool: 'delete_document',
    as: salesManager,
    args: { ...order, name: 'SO-00139', force: true },
    says: ['force', 'leave it out'],
    cure: ['delete_document', { ...order, name: 'SO-00139', ...tried }],
  },
  {
    tool: 'delete_document',
    args: { ...order, name: 'SO-00001' },
    says: ['"SO-00001" is submitted', 'cancel_document'],
    cure: ['cancel_document', { ...order, name: 'SO-00001', ...tried }],
  },
  {
    tool: 'submit_document',
    args: { doctype: 'Customer', name: 'Müller Bau' },
    says: ['Customer', 'no states'],
    cure: ['update_document', { doctype: 'Customer', name: 'Müller Bau', data: {}, ...tried }],
  },
  {
    tool: 'submit_document',
    args: { ...order, name: 'SO-00001' },
    says: ['is submitted, not a draft'],
    cure: ['cancel_document', { ...order, name: 'SO-00001', ...tried }],
  },
  {
    tool: 'submit_document',
    args: { doctype: 'Purchase Order', name: 'APPROVED' },
    says: ['a workflow moves', 'Cancel'],
    cure: ['run_workflow', { doctype: 'Purchase Order', name: 'APPROVED', action: 'Cancel', ...tried }],
  },
  {
    tool: 'cancel_document',
    args: { ...order, name: 'SO-00139' },
    says: ['is a draft, not submitted'],
    cure: ['submit_document', { ...order, name: 'SO-00139', ...tried }],
  },
  {
    tool: 'amend_document',
    args: { ...order, name: 'SO-00001' },
    says: ['is submitted', 'only cancelled'],
    cure: ['cancel_document', { ...order, name: 'SO-00001', ...tried }],
  },
  {
    tool: 'amend_document',
    args: { ...order, name: 'SO-00002' },
    says: ['"SO-00002" was amended already'],
    cure: ['list_documents', { ...order, filters: { amended_from: 'SO-00002' } }],
  },
  {
    tool: 'run_workflow',
    args: { ...order, name: 'SO-00139', action: 'Approve' },
    says: ['no workflow', 'submit_document'],
    cure: ['submit_document', { ...order, name: 'SO-00139', ...tried }],
  },
  ...changed('run_workflow', { doctype: 'Purchase Order', name: 'APPROVED', ...tried }, [
    [{ action: 'Ship' }, ['"Ship"', 'you can: Cancel'], { action: 'Cancel' }],
  ]),
  {
    tool: 'run_workflow',
    as: buyer,
    args: { doctype: 'Purchase Order', name: 'PENDING', action: 'Approve' },
    says: ['"Approve"', 'Sales Manager'],
    cure: 'nothing would do',
  },
  ...changed('bulk_update', { doctype: 'Task', data: { status: 'Done' }, ...tried }, [
    [{}, ['give names, or filters'], { filters: { status: 'Open' } }],
    [
      { names: ['TASK-00001'], data: { status: 'Finished' } },
      ['"Finished"', 'Open, Working'],
      { names: ['TASK-00001'], data: { status: 'Working' } },
    ],
  ]),
  ...changed('assign', task, [[{ user: 'bob' }, ['"bob"', 'or me'], { user: 'me', ...tried }]]),
  {
    tool: 'assign',
    args: { ...task, user: 'sales@example.com', remove: true },
    says: ['not assigned to sales@example.com', 'get_document'],
    cure: ['assign', { ...task, user: 'sales@example.com', ...tried }],
  },
  ...changed('attach_file', { ...task, ...tried }, [
    [
      { file_name: 'a/b.txt', text: 'x' },
      ['"a/b.txt"', 'without slashes'],
      { file_name: 'b.txt', text: 'x' },
    ],
    [{ file_name: 'a.txt' }, ['as text', 'base64'], { file_name: 'a.txt', text: any }],
    [
      { file_name: 'a.txt', base64: '%%' },
      ['base64', 'a text goes into text'],
      { file_name: 'a.txt', text: any },
    ],
    [{ file_name: 'a.txt', text: '' }, ['not 0', '1 to'], { file_name: 'a.txt', text: any }],
    [
      { file_name: 'notes.txt', text: 'x' },
      ['"notes.txt" already', 'remove_attachment'],
      { file_name: any, text: 'x' },
    ],
  ]),
  ...changed('add_comment', { ...task, ...tried }, [
    [{ comment: '  ' }, ['not 0', '1 to 10000'], { comment: any }],
  ]),
  {
    tool: 'remove_attachment',
    args: { ...task, attachment: 'a.txt' },
    says: ['"a.txt"', 'list_attachments'],
    cure: ['list_attachments', task],
  },
  ...changed('extract_file_content', { operation: 'extract' }, [
    [{ ...task, file_name: 'a.txt' }, ['"a.txt"', 'it has "notes.txt"'], { ...task, file_name: 'notes.txt' }],
    [
      { ...task, file_name: 'notes.txt', operation: 'ocr' },
      ['notes.txt is', 'use extract'],
      { ...task, file_name: 'notes.txt', operation: 'extract' },
    ],
    [
      { ...task, file_name: 'notes.txt', operation: 'parse_data' },
      ['notes.txt holds no rows', 'use extract'],
      { ...task, file_name: 'notes.txt', operation: 'extract' },
    ],
  ]),
  {
    tool: 'extract_file_content',
    args: { operation: 'extract', ...task },
    says: ['file_name', 'list_attachments'],
    cure: ['list_attachments', task],
  },
  {
    tool: 'extract_file_content',
    args: { operation: 'extract', attachment: 'nope' },
    says: ['"nope"', 'list_attachments'],
    cure: ['list_attachments', task],
  },
  ...changed('generate_report', {}, [
    [
      { report_name: 'Sales per Customer' },
      ['"Sales per Customer"', 'did you mean'],
      { report_name: 'Sales by Customer' },
    ],
    [{ report_name: 'Turnover' }, ['"Turnover"', 'there are'], { report_name: 'Headcount' }],
    [
      { report_name: 'Open Sales Orders', filters: { before: 'today' } },
      ['"before"', 'customer, due_before'],
      { report_name: 'Open Sales Orders', filters: { due_before: 'today' } },
    ],
    [
      { report_name: 'Item Sales', filters: { item_group: 'Toys' } },
      ['"Toys"', 'Tools, Fasteners'],
      { report_name: 'Item Sales', filters: { item_group: 'Tools' } },
    ],
  ]),
  {
    tool: 'generate_report',
    args: { report_name: 'Open Sales Orders', filters: { customer: 'Muller' } },
    says: ['"Muller"', 'search_link'],
    cure: ['search_link', { doctype: 'Customer', query: 'Muller' }],
  },
  ...changed('report_requirements', {}, [
    [{ report_name: 'x' }, ['"x"', 'Headcount'], { report_name: 'Headcount' }],
  ]),
  ...changed('report_list', {}, [[{ module: 'Shop' }, ['"Shop"', 'Selling'], { module: 'Selling' }]]),
  ...changed('read_skill', {}, [
    [
      { name: 'one', path: 'references/b.md' },
      ['"references/b.md"', 'references/a.md'],
      { name: 'one', path: 'references/a.md' },
    ],
    [{ name: 'one', path: 'logo.png' }, ['not text', 'resource'], { name: 'one' }],
  ]),
  ...changed('analyze_business_data', { ...order, analysis_type: 'trends' }, [
    [{ date_field: 'order_dat' }, ['"order_dat"', 'order_date'], { date_field: 'order_date' }],
    [{ fields: ['amount'] }, ['"amount"', 'customer'], { fields: ['customer'] }],
  ]),
  ...changed('create_dashboard_chart', chart, [
    [
      { aggregate_function: 'Sum' },
      ['Sum needs a field', 'grand_total'],
      { aggregate_function: 'Sum', value_based_on: 'grand_total' },
    ],
    [{ based_on: 'region' }, ['"region"', 'status'], { based_on: 'status' }],
    [
      { value_based_on: 'status', aggregate_function: 'Sum' },
      ['status is a select', 'grand_total'],
      { value_based_on: 'grand_total', aggregate_function: 'Sum' },
    ],
    [{ chart_type: 'line', based_on: 'status' }, ['one series', 'leave it out'], { chart_type: 'line' }],
    [
      { based_on: 'status', dashboard_name: 'Twice' },
      ['2 dashboards named "Twice"', 'give the id'],
      { based_on: 'status', dashboard_name: 'TWICE' },
    ],
    [
      { based_on: 'status', dashboard_name: 'My board' },
      ['"My board"', 'create_dashboard'],
      { based_on: 'status' },
    ],
  ]),
  ...changed('create_dashboard', { dashboard_name: 'x' }, [
    [
      { chart_names: ['Orders of status'] },
      ['"Orders of status"', 'did you mean'],
      { chart_names: ['Orders by status'] },
    ],
    [
      { chart_names: ['Orders by status'], share_with: ['Sales Users'] },
      ['"Sales Users"', 'did you mean'],
      { chart_names: ['Orders by status'], share_with: ['Sales User'] },
    ],
  ]),
  ...changed('list_user_dashboards', {}, [[{ dashboard: 'nope' }, ['"nope"', 'there are'], {}]]),
  ...changed('query_and_analyze', {}, [
    ...(
      [
        ['SELECT foo FROM sales_order', ['"foo"', 'order_date'], 'SELECT order_date FROM sales_order'],
        [
          'SELECT o.foo FROM sales_order o',
          ['"o.foo"', 'sales_order(name'],
          'SELECT o.order_date FROM sales_order o',
        ],
        [
          'SELECT t.foo FROM (SELECT 1 AS n) t',
          ['"foo"', 'those that it selects'],
          'SELECT t.n FROM (SELECT 1 AS n) t',
        ],
        ['SELECT x.name FROM sales_order o', ['"x"', '"o"'], 'SELECT o.name FROM sales_order o'],
        [
          'SELECT * FROM sales_order WHERE customer = "Müller Bau"',
          ['"Müller Bau"', "'Müller Bau'"],
          "SELECT * FROM sales_order WHERE customer = 'Müller Bau'",
        ],
        [
          'SELECT count(*) FROM salesorder',
          ['"salesorder"', 'did you mean "sales_order"?'],
          'SELECT count(*) FROM sales_order',
        ],
        [
          'SELECT status, count(*) FROM sales_order',
          ['"status"', 'GROUP BY'],
          'SELECT status, count(*) FROM sales_order GROUP BY status',
        ],
        ['SELEC 1', ['"SELEC"', 'SELECT count(*) FROM'], 'SELECT 1'],
        ['SELECT 1; SELECT 2', ['not 2', 'UNION ALL'], 'SELECT 1 UNION ALL SELECT 2'],
        ['-- nothing', ['no statement', 'SELECT 1'], 'SELECT 1'],
        [
          'SELECT dateadd(order_date, 1) FROM sales_order',
          ['dateadd', '"date_add"'],
          'SELECT count(*) FROM sales_order',
        ],
        [
          'SELECT name FROM sales_order o JOIN customer c ON o.customer = c.name',
          ['"name"', '"o.name"'],
          'SELECT o.name FROM sales_order o JOIN customer c ON o.customer = c.name',
        ],
        [
          'SELECT sum(status) FROM sales_order',
          ["'sum(VARCHAR)'", 'sum(DECIMAL)'],
          'SELECT count(*) FROM sales_order',
        ],
        [
          "SELECT name FROM sales_order WHERE order_date > 'soon'",
          ['"soon"', 'YYYY-MM-DD'],
          "SELECT name FROM sales_order WHERE order_date > '2026-01-01'",
        ],
        ["SELECT * FROM read_csv('x')", ['cannot reach files'], 'SELECT 1'],
      ] as const
    ).map(([query, says, right]): [Args, readonly string[], Args] => [{ query }, says, { query: right }]),
    [{ query: 'SELECT ? AS x' }, ['$1', 'a list for ?'], { query: 'SELECT ? AS x', parameters: [1] }],
    [{ query: 'SELECT 1 AS x', parameters: [1] }, ['$1', 'it has none'], { query: 'SELECT 1 AS x' }],
    [
      { query: 'SELECT $day AS x', parameters: { day: 'this month' } },
      ['"this month"', '"start of"'],
      { query: 'SELECT $day AS x', parameters: { day: 'start of this month' } },
    ],
    [
      { query: 'SELECT 1 IN (?) AS x', parameters: [[1, 2]] },
      ['[1,2]', 'IN (?, ?)'],
      { query: 'SELECT 1 IN (?, ?) AS x', parameters: [1, 2] },
    ],
    [
      { query: perStatus, draw: { as: 'bar', x: 'status', y: ['n'] } },
      ['"status"', 's, n'],
      { query: perStatus, draw: { as: 'bar', x: 's', y: ['n'] } },
    ],
    [
      { query: perStatus, draw: { as: 'bar', x: 's', y: ['s'] } },
      ['no number', 's, n'],
      { query: perStatus, draw: { as: 'bar', x: 's', y: ['n'] } },
    ],
    [
      { query: perStatus, draw: { as: 'pie', x: 's', y: ['n', 'n'] } },
      ['a pie has one y'],
      { query: perStatus, draw: { as: 'pie', x: 's', y: ['n'] } },
    ],
    [
      { query: perStatus, limit: 1, draw: { as: 'bar', x: 's', y: ['n'] } },
      ['only 1 of', 'raise limit'],
      { query: perStatus, limit: 9, draw: { as: 'bar', x: 's', y: ['n'] } },
    ],
  ]),
  {
    tool: 'query_and_analyze',
    args: { query: 'DELETE FROM sales_order' },
    says: ['only SELECT', 'bulk_update'],
    cure: ['query_and_analyze', { query: 'SELECT 1' }],
  },
  ...changed('run_python_code', {}, [
    [{ code: 'print(x)' }, ["'x' is not defined", 'data_query'], { code: 'x = 1\nprint(x)' }],
    [{ code: 'import requests' }, ["'requests'", 'standard library'], { code: '1' }],
    [{ code: 'def f(:' }, ['invalid syntax', 'one Python program'], { code: '1' }],
    [{ code: 'open("/etc/passwd")' }, ['/etc/passwd', 'data_query'], { code: '1' }],
    [{ code: 'tools.list_doctype()' }, ['list_doctype', 'did you mean'], { code: 'tools.list_doctypes()' }],
    [
      { code: 'data[0]["x"]', data_query: { doctype: 'Task' } },
      ["'x'", 'print(list(data[0]))'],
      { code: 'print(list(data[0]))', data_query: { doctype: 'Task' } },
    ],
    [
      { code: '1', data_query: { doctype: 'Tsk' } },
      ['"Tsk"', 'did you mean "Task"?'],
      { code: '1', data_query: { doctype: 'Task' } },
    ],
  ]),
  ...changed('search_audit', {}, [
    [{ since: 'soonish' }, ['"soonish"', 'yesterday'], { since: 'yesterday' }],
    [{ document: 'SO-1' }, ['"SO-1"', 'Customer/ACME'], { document: 'Customer/ACME' }],
  ]),
]

const [clerk, boss] = [someone('clerk@example.com', 'Clerk'), someone('boss@example.com', 'Boss')]
const box = { doctype: 'Box', name: 'A' }

/** A small site with rules that the shipped company has none of. */
export const store = siteOf({
  'config/doctypes/box.yaml': `doctype: Box
naming: { rule: prompt }
submittable: true
fields: [{ fieldname: size, type: integer }]
permissions:
  - { role: Clerk, actions: [read] }
  - { role: Clerk, actions: [write, create], when: "coalesce(doc.size, 0) < 5" }
  - { role: Clerk, actions: [submit], when: "coalesce(doc.size, 0) < 2" }
  - { role: Boss, actions: [read, submit, cancel, amend] }`,
  'config/doctypes/shelf.yaml': `doctype: Shelf
naming: { rule: prompt }
submittable: true
fields: [{ fieldname: box, type: link, doctype: Box }]
permissions: [{ role: Boss, actions: [read, write, create, submit, cancel] }]`,
})

/** What is done in that site before. */
export const stored: readonly (readonly [tool: string, args: Args, as?: Principal])[] = [
  ['create_document', { doctype: 'Box', data: { name: 'A', size: 1 }, submit: true }],
  ['create_document', { doctype: 'Box', data: { name: 'B', size: 1 }, submit: true }],
  ['create_document', { doctype: 'Box', data: { name: 'C', size: 1 } }],
  ['cancel_document', { doctype: 'Box', name: 'B' }],
  ['create_document', { doctype: 'Shelf', data: { name: 'S', box: 'A' }, submit: true }],
]

/** Wrong calls in that site. */
export const linesOfStore: readonly Line[] = [
  ...changed('create_document', { doctype: 'Box', ...tried }, [
    [{ data: { size: 1 } }, ['name', 'one line of 1 to 140'], { data: { size: 1, name: any } }],
  ]),
  {
    tool: 'create_document',
    as: clerk,
    args: { doctype: 'Box', data: { name: 'X', size: 9 } },
    says: ['not allow you to create a Box like this', 'with other values'],
    cure: ['create_document', { doctype: 'Box', data: { name: 'X', size: 4 }, ...tried }],
  },
  {
    tool: 'create_document',
    as: clerk,
    args: { doctype: 'Box', data: { name: 'X', size: 2 }, submit: true },
    says: ['may not submit Box "X"', 'you may read, write, create'],
    cure: ['create_document', { doctype: 'Box', data: { name: 'X', size: 2 }, ...tried }],
  },
  {
    tool: 'update_document',
    as: clerk,
    args: { doctype: 'Box', name: 'C', data: { size: 9 } },
    says: ['not allow you to change Box "C" like this', 'with other values'],
    cure: ['update_document', { doctype: 'Box', name: 'C', data: { size: 4 }, ...tried }],
  },
  {
    tool: 'cancel_document',
    as: boss,
    args: box,
    says: ['linked from submitted documents', 'Shelf "S"'],
    cure: ['cancel_document', { doctype: 'Shelf', name: 'S', ...tried }],
  },
  {
    tool: 'amend_document',
    as: boss,
    args: { ...box, name: 'B' },
    says: ['may not create Box', 'you may read'],
    cure: 'nothing would do',
  },
]
