/** What the trading company that ships is asked about orders and customers: by Sam of sales, unless another is named. */
import type { CompanyPlan } from './company.ts'
import { call, count, get, link, list, question, report, sql, totals, tries } from './asked.ts'
import { day, monthAt, quarterAt } from './dates.ts'

export const trading: CompanyPlan = {
  name: 'trading',
  template: 'trading',
  people: {
    sales: 'sales@example.com',
    admin: 'admin@example.com',
    hr: 'hr@example.com',
    manager: 'manager@example.com',
  },
  // The permissions of its doctypes in SQL.
  visible: {
    sales: {
      lead: 'owner = :me',
      opportunity: "stage <> 'Lost' OR owner = :me",
      task: 'owner = :me OR assigned_to = :me',
      employee: "status <> 'Left'",
      note: 'owner = :me OR public',
      supplier: 'false',
      purchase_order: 'false',
    },
    manager: {
      task: 'true',
      employee: "status <> 'Left'",
      note: 'owner = :me OR public',
    },
    hr: {
      task: 'owner = :me OR assigned_to = :me',
      note: 'owner = :me OR public',
      lead: 'false',
    },
  },
  more: {
    'config/users.yaml':
      '\n  - email: manager@example.com\n    full_name: Maria Manager\n    assistant_enabled: 1\n    roles: [Assistant User, Sales Manager]\n',
  },
}

const order = 'Sales Order'
const [thisMonth, lastMonth, lastQuarter] = [monthAt(0), monthAt(-1), quarterAt(-1)]
const sum = 'sum grand_total'
const q = question
const s = 'sales'

export const tradingQuestions = [
  q(
    'How many customers do we have?',
    s,
    'SELECT count(*) FROM customer',
    count('Customer'),
    count('customer'),
    count('Customers'),
  ),
  q(
    'How many customers are in Hamburg?',
    s,
    "SELECT count(*) FROM customer WHERE city = 'Hamburg'",
    count('Customer', { city: 'Hamburg' }),
    count('Customer', { city: ['equals', 'Hamburg'] }),
    count('Customer', { City: 'Hamburg' }),
  ),
  q(
    'How many customers are not in Hamburg?',
    s,
    "SELECT count(*) FROM customer WHERE city <> 'Hamburg' OR city IS NULL",
    count('Customer', { city: ['!=', 'Hamburg'] }),
    count('Customer', { city: ['is not', 'Hamburg'] }),
    count('Customer', { city: ['other than', 'Hamburg'] }),
  ),
  q(
    'Which customers have "Bau" in their name?',
    s,
    "SELECT name FROM customer WHERE name ILIKE '%bau%'",
    list('Customer', { customer_name: ['contains', 'Bau'] }, ['name']),
    list('Customer', { customer_name: ['like', '%Bau%'] }, ['name']),
    list('Customer', { customer_name: ['regex', 'Bau'] }, ['name']),
  ),
  q(
    'How many customers have a city that starts with Ham?',
    s,
    "SELECT count(*) FROM customer WHERE city ILIKE 'ham%'",
    count('Customer', { city: ['starts with', 'Ham'] }),
    count('Customer', { city: ['startswith', 'ham'] }),
    count('Customer', { city: ['prefix', 'Ham'] }),
  ),
  q(
    'Customers of the north and the south?',
    s,
    "SELECT count(*) FROM customer WHERE territory IN ('North', 'South')",
    count('Customer', { territory: ['in', ['North', 'South']] }),
    count('Customer', { territory: ['in', 'North,South'] }),
    count('Customer', { territory: ['North', 'South'] }),
  ),
  q(
    'How many commercial customers are there by territory?',
    s,
    "SELECT territory, count(*) FROM customer WHERE customer_group = 'Commercial' GROUP BY ALL",
    totals('Customer', 'count', ['territory'], { customer_group: 'Commercial' }),
    totals('Customer', 'count', ['territory'], '{"customer_group":"Commercial"}'),
    totals('Customer', 'count', ['Territory'], { customer_group: 'commercial' }),
  ),
  q(
    'How many open orders does Mueller Anlagen have?',
    s,
    "SELECT count(*) FROM sales_order WHERE customer = 'Müller Anlagen' AND status = 'To Deliver' AND docstatus = 1",
    tries(
      count(order, { customer: 'Mueller Anlagen', status: 'To Deliver', docstatus: 1 }),
      count(order, { customer: 'Müller Anlagen', status: 'To Deliver', docstatus: 1 }),
    ),
    tries([
      link('Customer', 'Mueller Anlagen'),
      (r) =>
        count(order, {
          customer: (r.json.results[0]?.value as string | undefined) ?? 'Mueller Anlagen',
          status: 'To Deliver',
          docstatus: 1,
        }),
    ]),
    count(order, [
      ['customer', 'like', '%Mueller Anlagen%'],
      ['status', '=', 'To Deliver'],
      ['docstatus', '=', 1],
    ]),
  ),
  q(
    'Find the customer Mueller Montage.',
    s,
    "SELECT name FROM customer WHERE name = 'Müller Montage'",
    link('Customer', 'Mueller Montage'),
    link('Customer', 'muller montage'),
    link('Customer', 'Müler Montage'),
  ),
  q(
    'In which city is Muller Service?',
    s,
    "SELECT city FROM customer WHERE name = 'Müller Service'",
    tries(get('Customer', 'Muller Service', ['city']), get('Customer', 'Müller Service', ['city'])),
    get('Customer', 'müller service', ['city']),
    get('customer', 'Mueller Servce', ['city']),
  ),
  q(
    'How much did we sell in all, submitted orders only?',
    s,
    'SELECT sum(grand_total) FROM sales_order WHERE docstatus = 1',
    totals(order, sum, [], { docstatus: 1 }),
    totals(order, sum, [], { docstatus: 'submitted' }),
    totals(order, sum),
  ),
  q(
    'Sales by customer, the five largest, submitted.',
    s,
    'SELECT customer, sum(grand_total) t FROM sales_order WHERE docstatus = 1 GROUP BY 1 ORDER BY t DESC LIMIT 5',
    totals(order, sum, ['customer'], { docstatus: 1 }, { limit: 5 }),
    totals(
      order,
      sum,
      ['customer'],
      { docstatus: ['=', '1'] },
      { limit: '5', order_by: 'sum_grand_total desc' },
    ),
    totals(order, sum, ['customer'], { docstatus: 'Submitted' }, { limit: 5, order_by: '-sum_grand_total' }),
  ),
  q(
    'How many orders did we take this month?',
    s,
    "SELECT count(*) FROM sales_order WHERE date_trunc('month', order_date) = date_trunc('month', current_date) AND order_date <= last_day(current_date)",
    tries(count(order, { order_date: 'this month' }), count(order, { order_date: ['between', thisMonth] })),
    count(order, { order_date: ['between', ...thisMonth] }),
    count(order, { order_date: thisMonth }),
  ),
  q(
    'Orders of the last 30 days, drafts too?',
    s,
    'SELECT count(*) FROM sales_order WHERE order_date >= current_date - 30',
    tries(count(order, { order_date: ['>=', 'today-30'] }), count(order, { order_date: ['>=', day(-30)] })),
    tries(count(order, { order_date: { gte: 'today-30' } }), count(order, { order_date: { gte: day(-30) } })),
    count(order, { order_date: ['>=', '30 days ago'] }),
  ),
  q(
    'What did we sell last quarter, submitted?',
    s,
    `SELECT sum(grand_total) FROM sales_order WHERE docstatus = 1 AND order_date BETWEEN '${lastQuarter[0]}' AND '${lastQuarter[1]}'`,
    tries(
      totals(order, sum, [], { docstatus: 1, order_date: 'last quarter' }),
      totals(order, sum, [], { docstatus: 1, order_date: ['between', lastQuarter] }),
    ),
    totals(
      order,
      sum,
      [],
      [
        ['docstatus', '=', 1],
        ['order_date', 'between', ...lastQuarter],
      ],
    ),
    totals(order, sum, [], { docstatus: 1, order_date: 'Q-1' }),
  ),
  q(
    'What did we sell last month against the month before, submitted?',
    s,
    `SELECT strftime(order_date, '%Y-%m') m, sum(grand_total) FROM sales_order WHERE docstatus = 1 AND order_date BETWEEN '${monthAt(-2)[0]}' AND '${lastMonth[1]}' GROUP BY 1`,
    totals(order, sum, ['order_date:month'], {
      docstatus: 1,
      order_date: ['between', [monthAt(-2)[0], lastMonth[1]]],
    }),
    totals(order, sum, ['order_date:Month'], {
      docstatus: 1,
      order_date: { '>=': monthAt(-2)[0], '<=': lastMonth[1] },
    }),
    totals(order, sum, ['month(order_date)'], {
      docstatus: 1,
      order_date: ['between', `${monthAt(-2)[0]} and ${lastMonth[1]}`],
    }),
  ),
  q(
    'Which submitted orders are overdue for delivery?',
    s,
    "SELECT name FROM sales_order WHERE docstatus = 1 AND status = 'To Deliver' AND delivery_date < current_date",
    tries(
      list(order, { docstatus: 1, status: 'To Deliver', delivery_date: ['<', 'today'] }, ['name']),
      list(order, { docstatus: 1, status: 'To Deliver', delivery_date: ['<', day(0)] }, ['name']),
    ),
    list(order, { docstatus: 1, status: 'to deliver', delivery_date: ['before', day(0)] }, ['name']),
    list(order, { docstatus: 1, status: 'Overdue' }, ['name']),
  ),
  q(
    'What is still to deliver, by the report?',
    s,
    "SELECT name, grand_total FROM sales_order WHERE docstatus = 1 AND status = 'To Deliver'",
    report('Open Sales Orders', {}, ['name', 'grand_total']),
    report('open sales orders', {}, ['name', 'grand_total']),
    report('Open Orders', {}, ['name', 'grand_total']),
  ),
  q(
    'Sales by customer of the last 90 days, by the report.',
    s,
    'SELECT customer, count(*), sum(grand_total) FROM sales_order WHERE docstatus = 1 AND order_date >= current_date - 90 GROUP BY 1',
    report('Sales by Customer', { from_date: 'today-90' }, ['customer', 'orders', 'total']),
    report('Sales by Customer', { from_date: day(-90) }, ['customer', 'orders', 'total']),
    report('Sales by Customer', { since: 'today-90' }, ['customer', 'orders', 'total']),
  ),
  q(
    'Which order is the largest, and how large?',
    s,
    'SELECT name, grand_total FROM sales_order ORDER BY grand_total DESC LIMIT 1',
    list(order, {}, ['name', 'grand_total'], { order_by: 'grand_total desc', limit: 1 }),
    list(order, {}, ['name', 'grand_total'], { order_by: 'grand_total DESC', limit: '1' }),
    list(order, {}, ['name', 'grand_total'], { order_by: 'desc grand_total', limit: 1 }),
  ),
  q(
    'How many orders are above 20,000?',
    s,
    'SELECT count(*) FROM sales_order WHERE grand_total > 20000',
    count(order, { grand_total: ['>', 20000] }),
    count(order, { grand_total: ['gt', '20000'] }),
    count(order, { grand_total: ['>', '20,000 EUR'] }),
  ),
  q(
    'Orders between 5,000 and 10,000?',
    s,
    'SELECT count(*) FROM sales_order WHERE grand_total BETWEEN 5000 AND 10000',
    count(order, { grand_total: ['between', [5000, 10000]] }),
    count(order, { grand_total: ['between', 5000, 10000] }),
    count(order, { grand_total: [5000, 10000] }),
  ),
  q(
    'How many orders have no number of the customer?',
    s,
    'SELECT count(*) FROM sales_order WHERE po_number IS NULL',
    count(order, { po_number: ['is', 'not set'] }),
    count(order, { po_number: null }),
    count(order, { po_number: ['is', 'empty'] }),
  ),
  q(
    'What was the average discount of submitted orders by territory?',
    s,
    'SELECT c.territory, avg(o.discount) FROM sales_order o JOIN customer c ON c.name = o.customer WHERE o.docstatus = 1 GROUP BY 1',
    sql(
      'SELECT c.territory, avg(o.discount) FROM sales_order o JOIN customer c ON c.name = o.customer WHERE o.docstatus = 1 GROUP BY 1',
    ),
    tries(
      totals(order, 'avg discount', ['customer.territory'], { docstatus: 1 }),
      sql(
        'SELECT c.territory, avg(o.discount) FROM sales_order o JOIN customer c ON o.customer = c.name WHERE o.docstatus = 1 GROUP BY c.territory',
      ),
    ),
    totals(order, 'avg discount', ['territory'], { docstatus: 1 }),
  ),
  q(
    'Which items sold best in quantity, the top five of submitted orders?',
    s,
    'SELECT r.item, sum(r.qty) q FROM sales_order_item r JOIN sales_order o ON o.name = r.parent WHERE o.docstatus = 1 GROUP BY 1 ORDER BY q DESC, 1 LIMIT 5',
    sql(
      'SELECT r.item, sum(r.qty) q FROM sales_order_item r JOIN sales_order o ON o.name = r.parent WHERE o.docstatus = 1 GROUP BY 1 ORDER BY q DESC, 1 LIMIT 5',
    ),
    sql(
      'SELECT i.item, SUM(i.qty) AS q FROM "Sales Order Item" i JOIN "Sales Order" o ON o.name = i.parent WHERE o.docstatus = 1 GROUP BY i.item ORDER BY q DESC, 1 LIMIT 5',
    ),
    sql('SELECT item, sum(qty) FROM sales_order_items GROUP BY 1 ORDER BY 2 DESC LIMIT 5'),
  ),
  q(
    'Which items are below their reorder level?',
    s,
    'SELECT name FROM item WHERE stock_qty < reorder_level',
    sql('SELECT name FROM item WHERE stock_qty < reorder_level', { limit: 1000 }),
    tries(
      list('Item', { stock_qty: ['<', 'reorder_level'] }, ['name']),
      sql('SELECT name FROM item WHERE stock_qty < reorder_level'),
    ),
    list('Item', 'stock_qty < reorder_level', ['name']),
  ),
  q(
    'Which customers never ordered?',
    s,
    'SELECT name FROM customer WHERE name NOT IN (SELECT customer FROM sales_order)',
    sql(
      'SELECT name FROM customer c WHERE NOT EXISTS (SELECT 1 FROM sales_order o WHERE o.customer = c.name)',
    ),
    sql('select c.name from customer c left join sales_order o on o.customer = c.name where o.name is null'),
    sql('SELECT name FROM customers WHERE name NOT IN (SELECT customer_id FROM sales_order)'),
  ),
  q(
    'What is on my plate: my open tasks?',
    s,
    "SELECT name FROM task WHERE assigned_to = :me AND status <> 'Done'",
    tries(
      list('Task', { assigned_to: 'me', status: ['!=', 'Done'] }, ['name']),
      list('Task', { assigned_to: 'sales@example.com', status: ['!=', 'Done'] }, ['name']),
    ),
    list(
      'Task',
      [
        ['assigned_to', '=', 'Me'],
        ['status', 'not in', ['Done']],
      ],
      ['name'],
    ),
    list('Task', { assigned_to: 'Sam', status: ['!=', 'Done'] }, ['name']),
  ),
  q(
    'Which of my tasks are overdue?',
    s,
    "SELECT name FROM task WHERE assigned_to = :me AND status NOT IN ('Done', 'Cancelled') AND due_date < current_date",
    tries(
      list(
        'Task',
        { assigned_to: 'me', status: ['not in', ['Done', 'Cancelled']], due_date: ['<', 'today'] },
        ['name'],
      ),
      list(
        'Task',
        {
          assigned_to: 'sales@example.com',
          status: ['not in', ['Done', 'Cancelled']],
          due_date: ['<', day(0)],
        },
        ['name'],
      ),
    ),
    list(
      'Task',
      { assigned_to: 'sales@example.com', status: { not_in: 'Done,Cancelled' }, due_date: { lt: day(0) } },
      ['name'],
    ),
    list('Task', { assigned_to: 'me', overdue: true }, ['name']),
  ),
  q(
    'How many orders did I write?',
    s,
    'SELECT count(*) FROM sales_order WHERE owner = :me',
    tries(count(order, { owner: 'me' }), count(order, { owner: 'sales@example.com' })),
    sql('SELECT count(*) FROM sales_order WHERE owner = current_user'),
    count(order, { owner: 'Sam Sales' }),
  ),
  q(
    'What is our weighted pipeline without won and lost?',
    s,
    "SELECT sum(weighted_amount) FROM opportunity WHERE stage NOT IN ('Won', 'Lost')",
    totals('Opportunity', 'sum weighted_amount', [], { stage: ['not in', ['Won', 'Lost']] }),
    totals('Opportunity', 'sum weighted_amount', [], { stage: { $nin: ['Won', 'Lost'] } }),
    totals('Opportunity', 'sum weighted_amount', [], { stage: ['not', ['Won', 'Lost']] }),
  ),
  q(
    'Opportunities by stage with their amount, by the report.',
    s,
    'SELECT stage, count(*), sum(amount) FROM opportunity GROUP BY 1',
    report('Opportunity Pipeline', {}, ['stage', 'opportunities', 'amount']),
    report('opportunity_pipeline', '{}', ['stage', 'opportunities', 'amount']),
    report('Pipeline', {}, ['stage', 'opportunities', 'amount']),
  ),
  q(
    'Opportunities over 20,000 that close next month?',
    s,
    `SELECT name FROM opportunity WHERE amount > 20000 AND expected_close BETWEEN '${monthAt(1)[0]}' AND '${monthAt(1)[1]}'`,
    tries(
      list('Opportunity', { amount: ['>', 20000], expected_close: 'next month' }, ['name']),
      list('Opportunity', { amount: ['>', 20000], expected_close: ['between', monthAt(1)] }, ['name']),
    ),
    list('Opportunity', { amount: ['>', 20000], expected_close: ['between', ...monthAt(1)] }, ['name']),
    list('Opportunity', { amount: ['>', '20k'], expected_close: ['between', monthAt(1)] }, ['name']),
  ),
  q(
    'My open leads by source?',
    s,
    "SELECT source, count(*) FROM lead WHERE status = 'Open' GROUP BY 1",
    totals('Lead', 'count', ['source'], { status: 'Open' }),
    totals('lead', 'count', ['source'], { status: ['eq', 'open'] }),
    totals('Lead', 'count', ['source'], { status: 'New' }),
  ),
  q(
    'What did we agree about the price list?',
    s,
    "SELECT name FROM note WHERE title ILIKE '%price list%'",
    call('list_documents', { doctype: 'Note', filters: { title: ['contains', 'price list'] } }, ['name']),
    list('Note', { title: { contains: 'Price List' } }, ['name']),
    list('Note', { title: ['matches', 'price list'] }, ['name']),
  ),
  q(
    'Who works in the warehouse?',
    s,
    "SELECT employee_name FROM employee WHERE department = 'Warehouse'",
    list('Employee', { department: 'Warehouse' }, ['employee_name']),
    list('employee', { department: ['=', 'warehouse'] }, ['employee_name']),
    list('Employee', { department: 'Lager' }, ['employee_name']),
  ),
  q(
    'How many employees are there by department?',
    'hr',
    "SELECT department, count(*) FROM employee WHERE status <> 'Left' GROUP BY 1",
    report('Headcount', {}, ['department', 'employees']),
    totals('Employee', 'count', ['department'], { status: ['ne', 'Left'] }),
    totals('Employee', 'count', ['department'], { status: ['current'] }),
  ),
  q(
    'What does Ida Bergmann earn?',
    s,
    'refused',
    list('Employee', { employee_name: 'Ida Bergmann', salary: ['>', 0] }, ['salary']),
    sql("SELECT salary FROM employee WHERE employee_name = 'Ida Bergmann'"),
    totals('Employee', 'sum salary', ['employee_name']),
  ),
  q(
    'Purchase orders by state?',
    'admin',
    'SELECT workflow_state, count(*) FROM purchase_order GROUP BY 1',
    totals('Purchase Order', 'count', ['workflow_state']),
    totals('purchase order', 'count', ['workflow_state']),
    totals('Purchase Order', 'count', ['state']),
  ),
  q(
    'What do we owe each supplier city in open purchase orders?',
    'admin',
    "SELECT s.city, sum(p.total) FROM purchase_order p JOIN supplier s ON s.name = p.supplier WHERE p.workflow_state = 'Approved' GROUP BY 1",
    sql(
      "SELECT s.city, sum(p.total) FROM purchase_order p JOIN supplier s ON s.name = p.supplier WHERE p.workflow_state = 'Approved' GROUP BY 1",
    ),
    sql(
      "SELECT city, SUM(total) FROM `Purchase Order` p JOIN supplier s ON s.name = p.supplier WHERE workflow_state = 'Approved' GROUP BY city",
    ),
    sql(
      'SELECT s.city, sum(p.total) FROM purchase_order p JOIN supplier s ON s.id = p.supplier_id GROUP BY 1',
    ),
  ),
]
