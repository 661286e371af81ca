/** What the trading company is asked besides: its work of a day, written on trial, its stock, its people, and what joins several. */
import { call, count, drawn, get, list, question as q, report, sql, totals, tries } from './asked.ts'
import { day, monthAt, quarterAt } from './dates.ts'

const order = 'Sales Order'
const [s, manager] = ['sales', 'manager']
const row = (item: string, qty: unknown, rate?: unknown) => ({
  item,
  qty,
  ...(rate !== undefined && { rate }),
})
const make = (data: unknown, more = {}, take = ['grand_total']) =>
  call('create_document', { doctype: order, data, dry_run: true, ...more }, take)
const [quarter, before] = [quarterAt(0), quarterAt(-1)]
const grown = `SELECT customer FROM sales_order WHERE docstatus = 1 GROUP BY 1 ORDER BY coalesce(sum(grand_total) FILTER (order_date >= '${quarter[0]}'), 0) - coalesce(sum(grand_total) FILTER (order_date BETWEEN '${before[0]}' AND '${before[1]}'), 0) DESC, 1 LIMIT 3`

const both = `SELECT c.territory, extract(quarter FROM o.order_date) AS quarter, sum(o.grand_total) AS total FROM sales_order o JOIN customer c ON c.name = o.customer WHERE o.docstatus = 1 AND o.order_date >= '${before[0]}' GROUP BY 1, 2`

export const workQuestions = [
  q(
    'What would 3 of ITEM-1 for 10 each and 2 of ITEM-2 for 20 cost Müller Bau?',
    s,
    'SELECT 70',
    make({ customer: 'Müller Bau', items: [row('ITEM-1', 3, 10), row('ITEM-2', 2, 20)] }),
    tries(
      make(
        JSON.stringify({ customer: 'Müller Bau', items: [row('ITEM-1', '3', '10'), row('ITEM-2', '2', 20)] }),
      ),
      make({ customer: 'Müller Bau', items: [row('ITEM-1', '3', '10'), row('ITEM-2', '2', 20)] }),
    ),
    make({ customer: 'Mueller Bauu', items: [row('ITEM-1', 3, 10), row('ITEM-2', 2, 20)] }),
  ),
  q(
    'And 3 of ITEM-1 at its own price?',
    s,
    "SELECT 3 * selling_rate FROM item WHERE name = 'ITEM-1'",
    [
      get('Item', 'ITEM-1', ['selling_rate']),
      (r) =>
        make({ customer: 'Müller Bau', items: [row('ITEM-1', 3, (r.json.data ?? r.json).selling_rate)] }),
    ],
    tries(make({ customer: 'Müller Bau', items: [row('ITEM-1', 3)] }), [
      get('Item', 'ITEM-1', ['selling_rate']),
      (r) =>
        make({ customer: 'Müller Bau', items: [row('ITEM-1', 3, (r.json.data ?? r.json).selling_rate)] }),
    ]),
    make({ customer: 'Müller Bau', items: [{ item_code: 'ITEM-1', quantity: 3 }] }),
  ),
  q(
    'With a discount of 10 %?',
    s,
    'SELECT 27',
    make({ customer: 'Müller Bau', discount: 10, items: [row('ITEM-1', 3, 10)] }),
    make({ customer: 'Müller Bau', discount: '10', items: [row('ITEM-1', 3, '10.00')] }),
    make({ customer: 'Müller Bau', discount: '10 %', items: [row('ITEM-1', 3, 10)] }),
  ),
  q(
    'Would a delivery before its order be taken?',
    s,
    'refused',
    make({
      customer: 'Müller Bau',
      order_date: day(0),
      delivery_date: day(-3),
      items: [row('ITEM-1', 3, 10)],
    }),
    make({ customer: 'Müller Bau', delivery_date: day(-3), items: [row('ITEM-1', 3, 10)] }),
    make({
      customer: 'Müller Bau',
      order_date: day(0),
      delivery_date: 'last week',
      items: [row('ITEM-1', 3, 10)],
    }),
  ),
  q(
    'Move Koch Bau to Wien, on trial.',
    s,
    "SELECT 'Wien'",
    call(
      'update_document',
      { doctype: 'Customer', name: 'Koch Bau', data: { city: 'Wien' }, dry_run: true },
      ['city'],
    ),
    call(
      'update_document',
      { doctype: 'Customer', name: 'Koch Bau', data: '{"city": "Wien"}', dry_run: 'true' },
      ['city'],
    ),
    call(
      'update_document',
      { doctype: 'Customer', name: 'Koch Bao', data: { city: 'Wien' }, dry_run: true },
      ['city'],
    ),
  ),
  q(
    'How many open tasks would become urgent?',
    'admin',
    "SELECT count(*) FROM task WHERE status = 'Open' AND priority <> 'Urgent'",
    call(
      'bulk_update',
      { doctype: 'Task', filters: { status: 'Open' }, data: { priority: 'Urgent' }, dry_run: true },
      ['updated_count'],
    ),
    call(
      'bulk_update',
      { doctype: 'Task', filters: { status: ['is', 'open'] }, data: { priority: 'Urgent' }, dry_run: true },
      ['updated_count'],
    ),
    call(
      'bulk_update',
      { doctype: 'Task', filters: { status: ['Open'] }, data: { priority: 'Asap' }, dry_run: true },
      ['updated_count'],
    ),
  ),
  q(
    'How many customers would be disabled, all but Klein Bau?',
    'admin',
    "SELECT count(*) FROM customer WHERE name <> 'Klein Bau'",
    call(
      'bulk_update',
      {
        doctype: 'Customer',
        filters: { customer_name: ['!=', 'Klein Bau'] },
        data: { disabled: true },
        dry_run: true,
      },
      ['updated_count'],
    ),
    call(
      'bulk_update',
      {
        doctype: 'Customer',
        filters: { customer_name: ['not', 'Klein Bau'] },
        data: { disabled: 'yes' },
        dry_run: true,
      },
      ['updated_count'],
    ),
    call(
      'bulk_update',
      {
        doctype: 'Customer',
        filters: { customer_name: ['all but', 'Klein Bau'] },
        data: { disabled: true },
        dry_run: true,
      },
      ['updated_count'],
    ),
  ),
  q(
    'Which three customers grew most, this quarter against the last?',
    s,
    grown,
    sql(grown),
    sql(grown.replace('FROM sales_order', 'FROM "Sales Order"')),
    sql(grown.replace('customer FROM', 'customer_name FROM')),
  ),
  q(
    'Which customers have not ordered for 60 days?',
    s,
    'SELECT name FROM customer WHERE name NOT IN (SELECT customer FROM sales_order WHERE order_date >= current_date - 60)',
    sql(
      'SELECT name FROM customer WHERE name NOT IN (SELECT customer FROM sales_order WHERE order_date >= current_date - 60)',
    ),
    sql(
      "SELECT name FROM customer c WHERE NOT EXISTS (SELECT * FROM sales_order o WHERE o.customer = c.name AND o.order_date >= CURRENT_DATE - INTERVAL '60 days')",
    ),
    sql('SELECT name FROM customer WHERE last_order < today() - 60'),
  ),
  q(
    'How much did customers of Export order, submitted?',
    s,
    "SELECT sum(o.grand_total) FROM sales_order o JOIN customer c ON c.name = o.customer WHERE c.territory = 'Export' AND o.docstatus = 1",
    sql(
      "SELECT sum(o.grand_total) FROM sales_order o JOIN customer c ON c.name = o.customer WHERE c.territory = 'Export' AND o.docstatus = 1",
    ),
    tries(
      totals(order, 'sum grand_total', [], { 'customer.territory': 'Export', docstatus: 1 }),
      sql(
        "SELECT sum(grand_total) FROM sales_order WHERE docstatus = 1 AND customer IN (SELECT name FROM customer WHERE territory = 'Export')",
      ),
    ),
    sql(
      "SELECT sum(o.grand_total) FROM sales_order o JOIN customer c ON c.name = o.customer WHERE c.territory = 'export' AND o.docstatus = 1",
    ),
  ),
  q(
    'Who of us wrote most orders, and how much?',
    s,
    'SELECT owner, count(*), sum(grand_total) FROM sales_order GROUP BY 1 ORDER BY 3 DESC',
    totals(order, 'count, sum grand_total', ['owner'], {}, { order_by: 'sum_grand_total desc' }),
    totals(order, 'count, sum grand_total', ['owner'], undefined, { order_by: 'sum_grand_total DESC' }),
    totals(order, 'count, sum grand_total', ['sales_person']),
  ),
  q(
    'Which notes are about the minimum stock?',
    s,
    "SELECT name FROM note WHERE content ILIKE '%minimum stock%'",
    list('Note', { content: ['contains', 'minimum stock'] }, ['name']),
    call('search_doctype', { doctype: 'Note', query: 'minimum stock', limit: 50 }, ['name']),
    list('Note', { text: ['contains', 'minimum stock'] }, ['name']),
  ),
  q(
    'Whose is SO-00001, and how much is it?',
    s,
    "SELECT customer, grand_total FROM sales_order WHERE name = 'SO-00001'",
    get(order, 'SO-00001', ['customer', 'grand_total']),
    get(order, 'so-00001', ['customer', 'grand_total']),
    get(order, 'SO-1', ['customer', 'grand_total']),
  ),
  q(
    'How many items does SO-00001 have?',
    s,
    "SELECT count(*) FROM sales_order_item WHERE parent = 'SO-00001'",
    sql("SELECT count(*) FROM sales_order_item WHERE parent = 'SO-00001'"),
    sql('SELECT count(*) FROM sales_order_item WHERE parent = ?', { parameters: ['SO-00001'] }),
    count('Sales Order Item', { parent: 'SO-00001' }),
  ),
  q(
    'How many tools cost more than 200?',
    s,
    "SELECT count(*) FROM item WHERE item_group = 'Tools' AND selling_rate > 200",
    count('Item', { item_group: 'Tools', selling_rate: ['>', 200] }),
    count('Item', { item_group: 'tools', selling_rate: { $gt: 200 } }),
    count('Item', { item_group: 'Tool', selling_rate: ['>', 200] }),
  ),
  q(
    'What is the average stock by group of items?',
    s,
    'SELECT item_group, avg(stock_qty) FROM item GROUP BY 1',
    totals('Item', 'avg stock_qty', ['item_group']),
    call('aggregate', { doctype: 'Item', group_by: 'item_group', metrics: 'avg(stock_qty)' }),
    totals('Item', 'avg stock', ['item_group']),
  ),
  q(
    'Which items does nobody buy, or are out of stock?',
    s,
    'SELECT name FROM item WHERE name NOT IN (SELECT item FROM sales_order_item) OR stock_qty = 0',
    sql('SELECT name FROM item WHERE name NOT IN (SELECT item FROM sales_order_item) OR stock_qty = 0'),
    sql(
      'select distinct i.name from item i left join sales_order_item r on r.item = i.name where r.item is null or i.stock_qty = 0',
    ),
    sql('SELECT name FROM item WHERE sold = 0'),
  ),
  q(
    'Which of my tasks are due within thirty days?',
    s,
    "SELECT name FROM task WHERE due_date BETWEEN current_date AND current_date + 30 AND status <> 'Done'",
    tries(
      list('Task', { due_date: ['between', ['today', 'today+30']], status: ['!=', 'Done'] }, ['name']),
      list('Task', { due_date: ['between', [day(0), day(30)]], status: ['!=', 'Done'] }, ['name']),
    ),
    list('Task', { due_date: { '>=': day(0), '<=': day(30) }, status: ['<>', 'done'] }, ['name']),
    list('Task', { due_date: ['within', '30 days'] }, ['name']),
  ),
  q(
    'How many urgent or high tasks are not done?',
    'admin',
    "SELECT count(*) FROM task WHERE priority IN ('Urgent', 'High') AND status NOT IN ('Done', 'Cancelled')",
    count('Task', { priority: ['in', ['Urgent', 'High']], status: ['not in', ['Done', 'Cancelled']] }),
    count('Task', [
      ['priority', 'in', 'Urgent,High'],
      ['status', 'nin', ['Done', 'Cancelled']],
    ]),
    count('Task', { priority: 'Urgent or High' }),
  ),
  q(
    'Which suppliers want their money within two weeks?',
    'admin',
    'SELECT name FROM supplier WHERE payment_days <= 14',
    list('Supplier', { payment_days: ['<=', 14] }, ['name']),
    list('Supplier', { payment_days: { lte: '14' } }, ['name']),
    list('Supplier', { payment_days: ['<=', '2 weeks'] }, ['name']),
  ),
  q(
    'Who has been here longest?',
    'hr',
    'SELECT employee_name FROM employee ORDER BY date_of_joining LIMIT 1',
    list('Employee', {}, ['employee_name'], { order_by: 'date_of_joining', limit: 1 }),
    list('Employee', {}, ['employee_name'], { order_by: 'date_of_joining ASC', limit: '1' }),
    list('Employee', {}, ['employee_name'], { order_by: 'seniority', limit: 1 }),
  ),
  q(
    'Which employees report to nobody?',
    'hr',
    'SELECT name FROM employee WHERE reports_to IS NULL',
    list('Employee', { reports_to: ['is', 'not set'] }, ['name']),
    list('Employee', { reports_to: null }, ['name']),
    list('Employee', { reports_to: 'nobody' }, ['name']),
  ),
  q(
    'How many leads of trade fairs are qualified?',
    manager,
    "SELECT count(*) FROM lead WHERE source = 'Trade Fair' AND status = 'Qualified'",
    count('Lead', { source: 'Trade Fair', status: 'Qualified' }),
    count('Lead', { source: 'trade fair', status: ['==', 'Qualified'] }),
    count('Lead', { source: 'Fair', status: 'Qualified' }),
  ),
  q(
    'Item sales of tools of the last 60 days, by the report.',
    s,
    "SELECT r.item, sum(r.qty) FROM sales_order o JOIN sales_order_item r ON r.parent = o.name JOIN item i ON i.name = r.item WHERE o.docstatus = 1 AND o.order_date >= current_date - 60 AND i.item_group = 'Tools' GROUP BY 1",
    report('Item Sales', { from_date: 'today-60', item_group: 'Tools' }, ['item', 'qty']),
    report('Item Sales', { from_date: day(-60), item_group: 'tools' }, ['item', 'qty']),
    report('Item Sales', { from_date: day(-60), group: 'Tools' }, ['item', 'qty']),
  ),
  q(
    'How many orders were written in the last two weeks?',
    s,
    'SELECT count(*) FROM sales_order WHERE creation >= current_date - 14',
    tries(count(order, { creation: ['>=', 'today-14'] }), count(order, { creation: ['>=', day(-14)] })),
    count(order, { creation: ['since', day(-14)] }),
    count(order, { created: ['>=', day(-14)] }),
  ),
  q(
    'How many orders are there of last month, by status?',
    s,
    `SELECT status, count(*) FROM sales_order WHERE order_date BETWEEN '${monthAt(-1)[0]}' AND '${monthAt(-1)[1]}' GROUP BY 1`,
    tries(
      totals(order, 'count', ['status'], { order_date: 'last month' }),
      totals(order, 'count', ['status'], { order_date: ['between', monthAt(-1)] }),
    ),
    totals(order, 'count', ['status'], { order_date: ['between', ...monthAt(-1)] }),
    totals(order, 'count', ['status'], { order_date: ['last', 'month'] }),
  ),
  q(
    'Draw what we sold by status, submitted.',
    s,
    'SELECT status, sum(grand_total) FROM sales_order WHERE docstatus = 1 GROUP BY 1',
    drawn('SELECT status, sum(grand_total) AS total FROM sales_order WHERE docstatus = 1 GROUP BY 1', {
      as: 'bar',
      x: 'status',
      y: ['total'],
    }),
    tries(
      drawn(
        'SELECT status, sum(grand_total) AS total FROM sales_order WHERE docstatus = 1 GROUP BY 1',
        '{"as": "bar", "x": "status", "y": "total"}',
      ),
      drawn('SELECT status, sum(grand_total) AS total FROM sales_order WHERE docstatus = 1 GROUP BY 1', {
        as: 'bar',
        x: 'status',
        y: ['total'],
      }),
    ),
    drawn('SELECT status, sum(grand_total) AS total FROM sales_order WHERE docstatus = 1 GROUP BY 1', {
      as: 'bar',
      x: 'state',
      y: ['total'],
    }),
  ),
  q(
    'Draw last quarter against this one by territory, submitted.',
    s,
    both,
    drawn(both, { as: 'bar', x: 'territory', y: ['total'], series: 'quarter' }),
    drawn(both, { as: 'line', x: 'quarter', y: ['total'], series: 'territory', title: 'Sales' }),
    drawn(both, { as: 'bar', x: 'territory', y: ['total'], group: 'quarter' }),
  ),
  q(
    'A pie of our customers by territory.',
    s,
    'SELECT territory, count(*) FROM customer GROUP BY 1',
    drawn('SELECT territory, count(*) AS customers FROM customer GROUP BY 1', {
      as: 'pie',
      x: 'territory',
      y: ['customers'],
    }),
    drawn('SELECT territory, count(*) AS customers FROM customer GROUP BY 1', {
      as: 'donut',
      x: 'territory',
      y: ['customers'],
    }),
    drawn('SELECT territory, count(*) AS customers FROM customer GROUP BY 1', {
      as: 'map',
      x: 'territory',
      y: ['customers'],
    }),
  ),
]
