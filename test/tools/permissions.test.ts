import { runWorkflow } from '../../src/documents/writing/workflow.ts'
import { updateDocument } from '../../src/documents/writing/updating.ts'
import { amendDocument, cancelDocument, submitDocument } from '../../src/documents/writing/lifecycle.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { attachFile } from '../../src/documents/belongings.ts'
import { describe } from 'node:test'
import {
  admin,
  assistantAdmin,
  buyer,
  hr,
  hrManager,
  nobody,
  plain,
  sales,
  salesManager,
} from '../documents/trading-company.ts'
import type { Office } from './offices.ts'
import { scenarios } from './scenarios.ts'

const task = (office: Office) => createDocument(office.documents, sales, 'Task', { subject: 'Mine' })
const order =
  (as = sales) =>
  (office: Office) =>
    createDocument(office.documents, as, 'Sales Order', {
      customer: 'Müller Bau',
      items: [{ item: 'ITEM-1', qty: 1, rate: 5 }],
    })
const purchase = (office: Office) =>
  createDocument(office.documents, buyer, 'Purchase Order', {
    supplier: 'Nordwerk Metall',
    items: [{ item: 'ITEM-1', qty: 100, rate: 50 }],
  })
const submitted = async (office: Office) => {
  await order()(office)
  await submitDocument(office.documents, sales, 'Sales Order', 'SO-00141')
}
const cancelled = async (office: Office) => {
  await submitted(office)
  await cancelDocument(office.documents, salesManager, 'Sales Order', 'SO-00141')
}
const mine = { doctype: 'Task', name: 'TASK-00061' }
const so = { doctype: 'Sales Order', name: 'SO-00141' }

describe('reading', () => {
  scenarios('list_documents', [
    {
      name: 'the assistant’s admin reads all leads',
      as: assistantAdmin,
      args: { doctype: 'Lead' },
      says: /"total_count":50/,
    },
    {
      name: 'but nothing of employees’ pay',
      as: assistantAdmin,
      args: { doctype: 'Employee', fields: ['salary'] },
      refused: /unknown field "salary"/,
    },
    {
      name: 'sales sees customers',
      as: sales,
      args: { doctype: 'Customer', limit: 3 },
      says: /"total_count":60,"has_more":true,"next_offset":3/,
    },
    {
      name: 'hr does not know customers',
      as: hr,
      args: { doctype: 'Customer' },
      refused: /unknown doctype "Customer"/,
      notSays: /Müller/,
    },
    { name: 'nobody sees nothing', as: nobody, args: { doctype: 'Task' }, refused: /unknown doctype/ },
    {
      name: 'wrong arguments never reach the tool',
      as: sales,
      args: { doctyp: 'x', limit: 0 },
      refused: /"doctype" is required.*did you mean "doctype"/,
    },
    {
      name: 'a masked field cannot be probed',
      as: hr,
      args: { doctype: 'Employee', filters: { salary: ['>', 1] } },
      refused: /masked/,
    },
  ])
  scenarios('get_document', [
    {
      name: 'the owner’s lead',
      as: admin,
      args: { doctype: 'Lead', name: 'LEAD-00001' },
      says: /"lead_name"/,
    },
    {
      name: 'a lead that is not one’s own is not there',
      as: plain,
      args: { doctype: 'Lead', name: 'LEAD-00001' },
      refused: /unknown doctype/,
    },
    {
      name: 'masked for HR User',
      as: hr,
      args: { doctype: 'Employee', name: 'EMP-0001' },
      says: /"salary":"\[masked\]"/,
    },
    {
      name: 'clear for HR Manager',
      as: hrManager,
      args: { doctype: 'Employee', name: 'EMP-0001' },
      says: /"salary":\d+/,
    },
    {
      name: 'an employee who left is not there for others',
      as: plain,
      args: { doctype: 'Employee', name: 'EMP-0009' },
      refused: /there is no Employee "EMP-0009" that you may read/,
    },
    {
      name: 'history without what is hidden',
      as: plain,
      given: (office) =>
        updateDocument(office.documents, hrManager, 'Employee', 'EMP-0001', {
          salary: 777,
          designation: 'Clerk X',
        }),
      args: { doctype: 'Employee', name: 'EMP-0001', include_history: true },
      says: /"Clerk X"/,
      notSays: /777|salary/,
    },
  ])
  scenarios('count_documents', [
    {
      name: 'only what may be read',
      as: sales,
      args: { doctype: 'Note', filters: { public: false, owner: 'hr@example.com' } },
      says: /"count":0/,
    },
    {
      name: 'unknown field',
      as: sales,
      args: { doctype: 'Note', filters: { nope: 1 } },
      refused: /unknown field "nope"/,
    },
  ])
  scenarios('aggregate', [
    {
      name: 'per month',
      as: sales,
      args: {
        doctype: 'Sales Order',
        group_by: ['order_date:month'],
        metrics: [{ function: 'sum', field: 'grand_total' }],
      },
      says: /"columns":\["order_date_month","sum_grand_total"\],"rows":\[\["2026-0\d","/,
    },
    {
      name: 'not over masked fields',
      as: hr,
      args: { doctype: 'Employee', metrics: [{ function: 'avg', field: 'salary' }] },
      refused: /salary is masked for you/,
    },
    {
      name: 'not over hidden fields',
      as: plain,
      args: { doctype: 'Employee', group_by: ['date_of_birth'] },
      refused: /unknown field "date_of_birth"/,
    },
    {
      name: 'not over texts',
      as: sales,
      args: { doctype: 'Customer', metrics: [{ function: 'sum', field: 'city' }] },
      refused: /city is a text; sum needs a number/,
    },
  ])
  scenarios('search_documents', [
    {
      name: 'finds by words',
      as: sales,
      args: { query: 'Müller Werkzeuge' },
      says: /"results":{"columns":\["doctype".*?"rows":\[\["Customer"/,
    },
    { name: 'needs words', as: sales, args: { query: '  ' }, refused: /has no word such as/ },
  ])
  scenarios('search_doctype', [
    { name: 'finds', as: sales, args: { doctype: 'Item', query: 'helmet' }, says: /Helmet/ },
    {
      name: 'knows no other doctypes',
      as: hr,
      args: { doctype: 'Customer', query: 'bau' },
      refused: /unknown doctype/,
    },
  ])
  scenarios('search_link', [
    {
      name: 'suggests names',
      as: sales,
      args: { doctype: 'Customer', query: 'mül' },
      says: /"columns":\["value",.*"Müller/,
    },
    {
      name: 'not of hidden doctypes',
      as: hr,
      args: { doctype: 'Customer', query: 'm' },
      refused: /unknown doctype/,
      notSays: /Müller/,
    },
  ])
  scenarios('search', [
    {
      name: 'answers ids',
      as: sales,
      args: { query: 'Müller' },
      says: /^{"results":\[{"id":"Customer\/Müller/,
    },
    { name: 'finds nothing of others', as: plain, args: { query: 'Müller' }, says: /"results":\[\]/ },
    { name: 'needs words', as: sales, args: { query: ' ' }, refused: /has no word such as/ },
  ])
  scenarios('fetch', [
    {
      name: 'reads an id',
      as: sales,
      args: { id: 'Customer/Müller Bau' },
      says: /"text":"# Customer Müller Bau/,
    },
    { name: 'refuses a wrong id', as: sales, args: { id: 'Customer' }, refused: /must be "Doctype\/name"/ },
    {
      name: 'what may not be read is not there',
      as: hr,
      args: { id: 'Customer/Müller Bau' },
      refused: /unknown doctype/,
    },
  ])
  scenarios('get_doctype_info', [
    {
      name: 'without hidden fields',
      as: plain,
      args: { doctype: 'Employee' },
      says: /"employee_name"/,
      notSays: /salary|date_of_birth|bank_account/,
    },
    { name: 'unknown', as: hr, args: { doctype: 'Lead' }, refused: /unknown doctype "Lead"/ },
  ])
  scenarios('list_doctypes', [
    { name: 'only one’s own', as: hr, args: {}, says: /"Employee"/, notSays: /"Customer"|"Lead"/ },
    { name: 'takes no arguments', as: hr, args: { x: 1 }, refused: /unknown key/ },
  ])
})

describe('changing', () => {
  scenarios('create_document', [
    {
      name: 'an order with rows',
      as: sales,
      args: {
        doctype: 'Sales Order',
        data: { customer: 'Müller Bau', items: [{ item: 'ITEM-1', qty: 2, rate: 3 }] },
      },
      says: /"name":"SO-00141".*"grand_total":6/,
      events: ['document.create'],
    },
    {
      name: 'and submits it',
      as: sales,
      args: {
        doctype: 'Sales Order',
        data: { customer: 'Müller Bau', items: [{ item: 'ITEM-1', rate: 3 }] },
        submit: true,
      },
      says: /"docstatus":1/,
      events: ['document.create', 'document.submit'],
    },
    {
      name: 'or only tries',
      as: sales,
      args: { doctype: 'Lead', data: { lead_name: 'A' }, validate_only: true },
      says: /"valid":true,"created":false/,
    },
    {
      name: 'not without the permission',
      as: buyer,
      args: { doctype: 'Sales Order', data: {} },
      refused: /do not allow you to create/,
      audited: 'denied',
    },
    {
      name: 'not what submits in vain',
      as: sales,
      args: { doctype: 'Sales Order', data: { customer: 'Müller Bau' }, submit: true },
      refused: /items is required/,
    },
  ])
  scenarios('update_document', [
    {
      name: 'one’s own',
      as: sales,
      given: task,
      args: { ...mine, data: { status: 'Done' } },
      says: /"updated_fields":\["status"\]/,
      events: ['document.update'],
    },
    {
      name: 'only tries',
      as: sales,
      given: task,
      args: { ...mine, data: { status: 'Done' }, dry_run: true },
      says: /"dry_run":true/,
    },
    {
      name: 'another’s order may be read, not changed',
      as: sales,
      given: order(salesManager),
      args: { ...so, data: { remarks: 'x' } },
      refused: /may read Sales Order "SO-00141" but not write it/,
      audited: 'denied',
    },
    {
      name: 'another’s task is not there',
      as: hr,
      given: task,
      args: { ...mine, data: { status: 'Done' } },
      refused: /there is no Task "TASK-00061"/,
    },
    {
      name: 'not into a place where one may not change it',
      as: sales,
      given: task,
      args: { ...mine, data: { assigned_to: 'hr@example.com' } },
      events: ['document.update'],
    },
    {
      name: 'not with an old version',
      as: sales,
      given: task,
      args: { ...mine, data: { status: 'Done' }, expected_modified: '2020-01-01T00:00:00Z' },
      refused: /was changed by sales@example.com.*read it again/,
    },
    {
      name: 'not a submitted document',
      as: sales,
      given: submitted,
      args: { ...so, data: { discount: 5 } },
      refused: /discount cannot change after the document was submitted/,
    },
    {
      name: 'but what may change after submit',
      as: sales,
      given: submitted,
      args: { ...so, data: { remarks: 'ok' } },
      events: ['document.update'],
    },
    {
      name: 'not a cancelled one',
      as: sales,
      given: cancelled,
      args: { ...so, data: { remarks: 'ok' } },
      refused: /is cancelled; amend_document/,
    },
    {
      name: 'not a row that is not there',
      as: sales,
      given: order(),
      args: { ...so, data: { items: [{ name: 'nope', qty: 3 }] } },
      refused: /there is no row "nope"; its rows are/,
    },
    {
      name: 'not in a state of others',
      as: salesManager,
      given: purchase,
      args: { doctype: 'Purchase Order', name: 'PO-00061', data: { remarks: 'x' } },
      refused: /in the state "Draft", which only Purchase User may edit/,
      audited: 'denied',
    },
  ])
  scenarios('delete_document', [
    {
      name: 'one’s own',
      as: sales,
      given: task,
      args: mine,
      says: /"deleted":true/,
      events: ['document.delete'],
    },
    { name: 'only tries', as: sales, given: task, args: { ...mine, dry_run: true }, says: /"deleted":false/ },
    {
      name: 'not one that is assigned to one',
      as: hr,
      given: (office) =>
        createDocument(office.documents, sales, 'Task', { subject: 'x', assigned_to: 'hr@example.com' }),
      args: mine,
      refused: /may read Task "TASK-00061" but not delete/,
      audited: 'denied',
    },
    {
      name: 'not what others link to',
      as: salesManager,
      given: order(),
      args: { doctype: 'Customer', name: 'Müller Bau' },
      refused: /linked from other documents \(.*"/,
    },
    {
      name: 'naming only what one may read',
      as: buyer,
      args: { doctype: 'Item', name: 'ITEM-1' },
      refused: /linked from other documents/,
      notSays: /Opportunity/,
    },
    {
      name: 'not a submitted one',
      as: salesManager,
      given: submitted,
      args: so,
      refused: /is submitted; cancel it/,
    },
    {
      name: 'force is for System Managers',
      as: salesManager,
      args: { doctype: 'Customer', name: 'Müller Bau', force: true },
      refused: /only a System Manager/,
      audited: 'denied',
    },
    {
      name: 'who may',
      as: admin,
      args: { doctype: 'Customer', name: 'Müller Bau', force: true },
      events: ['document.delete'],
    },
  ])
  scenarios('submit_document', [
    {
      name: 'one’s own',
      as: sales,
      given: order(),
      args: so,
      says: /"docstatus":1/,
      events: ['document.submit'],
    },
    { name: 'only tries', as: sales, given: order(), args: { ...so, dry_run: true }, says: /"dry_run":true/ },
    {
      name: 'not another’s',
      as: sales,
      given: order(salesManager),
      args: so,
      refused: /but not submit it/,
      audited: 'denied',
    },
    { name: 'not twice', as: sales, given: submitted, args: so, refused: /is submitted, not a draft/ },
    { name: 'not what has no states', as: sales, given: task, args: mine, refused: /have no states/ },
    {
      name: 'not around a workflow',
      as: buyer,
      given: purchase,
      args: { doctype: 'Purchase Order', name: 'PO-00061' },
      refused: /use run_workflow/,
    },
  ])
  scenarios('cancel_document', [
    {
      name: 'by the manager',
      as: salesManager,
      given: submitted,
      args: so,
      says: /"docstatus":2/,
      events: ['document.cancel'],
    },
    {
      name: 'not by the user',
      as: sales,
      given: submitted,
      args: so,
      refused: /but not cancel it/,
      audited: 'denied',
    },
    { name: 'not a draft', as: salesManager, given: order(), args: so, refused: /is a draft, not submitted/ },
  ])
  scenarios('amend_document', [
    {
      name: 'makes a new draft',
      as: sales,
      given: cancelled,
      args: so,
      says: /"name":"SO-00141-1","docstatus":0/,
      events: ['document.amend'],
    },
    {
      name: 'not twice',
      as: sales,
      given: async (office) => (
        await cancelled(office),
        await amendDocument(office.documents, sales, 'Sales Order', 'SO-00141')
      ),
      args: so,
      refused: /was amended already/,
    },
    {
      name: 'not what is not cancelled',
      as: sales,
      given: submitted,
      args: so,
      refused: /only cancelled documents are amended/,
    },
  ])
  scenarios('bulk_update', [
    {
      name: 'by filters',
      as: admin,
      args: {
        doctype: 'Lead',
        filters: { status: 'Open', source: 'Website' },
        data: { status: 'Contacted' },
        dry_run: true,
      },
      says: /"updated_count":[1-9]/,
    },
    {
      name: 'all or none',
      as: sales,
      given: task,
      args: { doctype: 'Task', names: ['TASK-00061', 'NOPE'], data: { status: 'Done' } },
      refused: /nothing was changed, because 1 of 2 cannot be: NOPE: there is no Task/,
    },
    {
      name: 'not everything at once',
      as: admin,
      args: { doctype: 'Lead', data: { status: 'Open' } },
      refused: /changing every document is not allowed/,
    },
    {
      name: 'and really',
      as: sales,
      given: task,
      args: { doctype: 'Task', names: ['TASK-00061'], data: { status: 'Done' } },
      events: ['document.update'],
    },
  ])
})

describe('working together', () => {
  const po = { doctype: 'Purchase Order', name: 'PO-00061' }
  const requested = async (office: Office) => {
    await purchase(office)
    await runWorkflow(office.documents, buyer, 'Purchase Order', 'PO-00061', 'Request Approval')
  }
  scenarios('run_workflow', [
    {
      name: 'asks for approval',
      as: buyer,
      given: purchase,
      args: { ...po, action: 'Request Approval' },
      says: /"current_state":"Pending Approval"/,
      events: ['document.workflow'],
    },
    {
      name: 'is approved by another',
      as: salesManager,
      given: requested,
      args: { ...po, action: 'approve', comment: 'fine' },
      says: /"current_state":"Approved","docstatus":1/,
      events: ['document.workflow'],
    },
    {
      name: 'not by oneself',
      as: buyer,
      given: requested,
      args: { ...po, action: 'Approve' },
      refused: /needs one of the roles Sales Manager; you can do nothing/,
      audited: 'denied',
    },
    {
      name: 'not when the condition is not met',
      as: buyer,
      given: purchase,
      args: { ...po, action: 'Approve Small Order' },
      refused: /only when doc.total <= 500; you can: Request Approval/,
      audited: 'denied',
    },
    {
      name: 'names what can be done',
      as: buyer,
      given: purchase,
      args: { ...po, action: 'Dance' },
      refused: /state "Draft", which has no action "Dance"; you can: Request Approval/,
    },
    {
      name: 'only where there is one',
      as: sales,
      given: order(),
      args: { ...so, action: 'Approve' },
      refused: /has no workflow; use submit_document/,
    },
    {
      name: 'only what may be read',
      as: plain,
      given: purchase,
      args: { ...po, action: 'Approve' },
      refused: /unknown doctype/,
    },
  ])
  scenarios('get_pending_approvals', [
    {
      name: 'what waits for the manager',
      as: salesManager,
      given: requested,
      args: {},
      says: /"name":"PO-00061".*"action":"Approve"/,
    },
    { name: 'nothing for others', as: sales, given: requested, args: {}, says: /"pending_approvals":\[\]/ },
    {
      name: 'not of hidden doctypes',
      as: hr,
      args: { doctype: 'Purchase Order' },
      refused: /unknown doctype/,
    },
  ])
  scenarios('report_list', [
    { name: 'for sales', as: sales, args: {}, says: /Sales by Customer/, notSays: /Headcount/ },
    { name: 'for hr', as: hr, args: {}, says: /Headcount/, notSays: /Sales by Customer/ },
    {
      name: 'checks its arguments',
      as: hr,
      args: { report_type: 'x' },
      refused: /must be one of/,
    },
  ])
  scenarios('report_requirements', [
    {
      name: 'names filters',
      as: sales,
      args: { report_name: 'Item Sales' },
      says: /"required_filter_names":\["from_date"\]/,
    },
    {
      name: 'not of others',
      as: hr,
      args: { report_name: 'Sales by Customer' },
      refused: /there is no report "Sales by Customer" that you may run/,
    },
  ])
  scenarios('generate_report', [
    {
      name: 'runs',
      as: sales,
      args: { report_name: 'Sales by Customer', filters: { from_date: '2026-01-01' } },
      says: /"totals":{"orders":\d+/,
    },
    {
      name: 'as csv',
      as: hr,
      args: { report_name: 'Headcount', format: 'csv' },
      says: /Department,Employees,First joined/,
    },
    {
      name: 'not of others',
      as: hr,
      args: { report_name: 'Sales by Customer' },
      refused: /there is no report/,
    },
    {
      name: 'names every filter fault',
      as: sales,
      args: {
        report_name: 'Sales by Customer',
        filters: { customr: 'x', from_date: 'soon', customer: 'Nobody' },
      },
      refused: /did you mean "customer"\?.*from_date: must be a date.*no Customer "Nobody"/,
    },
    {
      name: 'says when SQL cannot run',
      as: sales,
      args: { report_name: 'Item Sales' },
      refused: /cannot run SQL reports/,
    },
  ])
  scenarios('add_comment', [
    {
      name: 'on one’s own',
      as: sales,
      given: task,
      args: { ...mine, comment: 'hello' },
      says: /"text":"hello"/,
      events: ['document.comment'],
    },
    {
      name: 'only tries',
      as: sales,
      given: task,
      args: { ...mine, comment: 'hello', dry_run: true },
      says: /dry_run/,
    },
    {
      name: 'not where one only reads',
      as: sales,
      given: order(salesManager),
      args: { ...so, comment: 'x' },
      refused: /but not comment it/,
      audited: 'denied',
    },
    {
      name: 'not on what is not there',
      as: hr,
      given: task,
      args: { ...mine, comment: 'x' },
      refused: /there is no Task/,
    },
  ])
  scenarios('assign', [
    {
      name: 'to someone who may read it',
      as: sales,
      given: (office) =>
        createDocument(office.documents, sales, 'Task', { subject: 'x', assigned_to: 'hr@example.com' }),
      args: { ...mine, user: 'hr@example.com', note: 'please' },
      says: /"user":"hr@example.com"/,
      events: ['document.assign'],
    },
    {
      name: 'not to one who may not',
      as: sales,
      given: task,
      args: { ...mine, user: 'hr@example.com' },
      refused: /there is no user "hr@example.com" who may read/,
    },
    {
      name: 'not to nobody',
      as: sales,
      given: task,
      args: { ...mine, user: 'ghost@example.com' },
      refused: /there is no user "ghost@example.com" who may read/,
    },
    {
      name: 'not back what was not',
      as: sales,
      given: task,
      args: { ...mine, user: 'hr@example.com', remove: true },
      refused: /is not assigned to/,
    },
  ])
  const attached = async (office: Office) => {
    await task(office)
    await attachFile(office.documents, sales, 'Task', 'TASK-00061', {
      fileName: 'a.txt',
      mimeType: 'text/plain',
      content: Buffer.from('hi'),
    })
  }
  scenarios('attach_file', [
    {
      name: 'a text',
      as: sales,
      given: task,
      args: { ...mine, file_name: 'a.txt', text: 'hi' },
      says: /"bytes":2/,
      events: ['document.attach'],
    },
    {
      name: 'bytes',
      as: sales,
      given: task,
      args: { ...mine, file_name: 'a.png', base64: 'AAAA', mime_type: 'image/png' },
      says: /"bytes":3/,
      events: ['document.attach'],
    },
    {
      name: 'not both',
      as: sales,
      given: task,
      args: { ...mine, file_name: 'a', text: 'a', base64: 'AAAA' },
      refused: /give either text or base64/,
    },
    {
      name: 'not with a path',
      as: sales,
      given: task,
      args: { ...mine, file_name: '../a', text: 'a' },
      refused: /without slashes/,
    },
    {
      name: 'not twice',
      as: sales,
      given: attached,
      args: { ...mine, file_name: 'a.txt', text: 'a' },
      refused: /has an attachment "a.txt" already/,
    },
    {
      name: 'not to what one may not change',
      as: sales,
      given: order(salesManager),
      args: { ...so, file_name: 'a', text: 'a' },
      refused: /but not write it/,
      audited: 'denied',
    },
  ])
  scenarios('list_attachments', [
    { name: 'of what one may read', as: sales, given: attached, args: mine, says: /a\.txt/ },
    {
      name: 'not of others',
      as: hr,
      given: attached,
      args: mine,
      refused: /there is no Task/,
      notSays: /a\.txt/,
    },
  ])
  scenarios('remove_attachment', [
    {
      name: 'by name',
      as: sales,
      given: attached,
      args: { ...mine, attachment: 'a.txt' },
      events: ['document.detach'],
    },
    {
      name: 'not one that is not there',
      as: sales,
      given: attached,
      args: { ...mine, attachment: 'b.txt' },
      refused: /has no attachment "b.txt"/,
    },
    {
      name: 'not of others',
      as: hr,
      given: attached,
      args: { ...mine, attachment: 'a.txt' },
      refused: /there is no Task/,
    },
  ])
})
