/** Mistakes that people make in a site: what they change, by name, and every line that they are told. */

const prompt = (front: string, body = 'Hello {{ who }}', args = true): string => `---
title: Follow up
${front}${args ? 'arguments:\n  - { argument_name: who }\n' : ''}---
${body}
`
const skill = (front: string, body = '# How to count'): string => `---\n${front}---\n${body}\n`
const tool = (change: (text: string) => string): string =>
  change(`type: http
tool: weather
description: The weather of a city, now
input:
  type: object
  properties: { city: { type: string } }
  required: [city]
method: GET
url: https://weather.example.com/{city}
category: read_only
`)
const published = 'status: Published\nvisibility: Public\n'

/** One mistake: whole files, or one place of a shipped file that is replaced. */
export interface Mistake {
  readonly name: string
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  readonly change?: readonly [file: string, from: string, to: string]
  readonly faults: readonly string[]
}

/** The mistakes, each with its exact lines. */
export const mistakes: readonly Mistake[] = [
  {
    name: 'an empty roles.yaml',
    files: { 'config/roles.yaml': '' },
    faults: ['config/roles.yaml:1:1 is empty (57 faults elsewhere follow from it)'],
  },
  {
    name: 'roles.yaml as UTF-16',
    files: { 'config/roles.yaml': Buffer.from('\ufeffroles:\n  - name: Nurse\n', 'utf16le') },
    faults: ['config/roles.yaml:1:1 is UTF-16 text; save it as UTF-8 (57 faults elsewhere follow from it)'],
  },
  {
    name: 'a merge conflict',
    change: [
      'config/users.yaml',
      '    full_name: Sam Sales\n',
      '<<<<<<< HEAD\n    full_name: Sam Sales\n=======\n    full_name: Sam S.\n>>>>>>> other\n',
    ],
    faults: [
      'config/users.yaml:19:1 two versions stand here since a merge in git; keep what is right, without the markers',
    ],
  },
  {
    name: 'one line less indented',
    change: ['config/users.yaml', '    full_name: Sam Sales', '   full_name: Sam Sales'],
    faults: [
      'config/users.yaml:19:1 the indentation is wrong: this line belongs neither to the item above nor beside it',
    ],
  },
  {
    name: 'a quote that is not closed',
    change: ['config/users.yaml', 'full_name: Sam Sales', 'full_name: "Sam Sales'],
    faults: ['config/users.yaml:37:1 missing closing "quote'],
  },
  {
    name: 'a colon in a text',
    change: [
      'config/roles.yaml',
      'description: Oversees employees, including their pay.',
      'description: Oversees: employees',
    ],
    faults: [
      'config/roles.yaml:20:18 the indentation is wrong, or a text that holds ": " lacks quotes (57 faults elsewhere follow from it)',
    ],
  },
  {
    name: 'a tab',
    change: ['config/users.yaml', '    full_name: Sam Sales', '\tfull_name: Sam Sales'],
    faults: ['config/users.yaml:19:1 tabs are not allowed as indentation; use spaces'],
  },
  {
    name: 'a password of a user',
    change: [
      'config/users.yaml',
      '    full_name: Sam Sales',
      '    full_name: Sam Sales\n    password: hunter22',
    ],
    faults: [
      'config/users.yaml:20:5 users[1].password: no password stands in the site; set it with: assistant-core users passwd EMAIL',
    ],
  },
  {
    name: 'an e-mail address twice',
    change: ['config/users.yaml', 'email: hr@example.com', 'email: Sales@example.com'],
    faults: [
      'config/users.yaml:25:12 users[2].email: "Sales@example.com" is already given at config/users.yaml:18',
    ],
  },
  {
    name: 'no e-mail address',
    change: ['config/users.yaml', 'email: hr@example.com', 'email: hr'],
    faults: ['config/users.yaml:25:12 users[2].email: "hr" is not a valid email'],
  },
  {
    name: 'a role misspelt',
    change: ['config/users.yaml', '      - HR User', '      - HR Usr'],
    faults: ['config/users.yaml:30:9 users[2].roles[1]: unknown role "HR Usr"; did you mean "HR User"?'],
  },
  {
    name: 'assistant_enabled in words',
    change: ['config/users.yaml', 'assistant_enabled: 1', 'assistant_enabled: yes'],
    faults: [
      'config/users.yaml:12:24 users[0].assistant_enabled: must be one of 0, 1, true or false, not "yes"',
    ],
  },
  {
    name: 'a role in lower case beside the built-in one',
    change: ['config/roles.yaml', 'name: Sales User', 'name: assistant user'],
    faults: [
      'config/roles.yaml:11:11 roles[3].name: "assistant user" is already given in line 9',
      'config/users.yaml:23:9 users[1].roles[1]: unknown role "Sales User"',
      'config/doctypes/customer.yaml:51:13 permissions[0].role: unknown role "Sales User"',
      'config/doctypes/item.yaml:24:13 permissions[1].role: unknown role "Sales User"',
      'config/doctypes/lead.yaml:18:13 permissions[0].role: unknown role "Sales User"',
      'config/doctypes/opportunity.yaml:22:13 permissions[0].role: unknown role "Sales User"',
      'config/doctypes/sales-order.yaml:25:13 permissions[0].role: unknown role "Sales User"',
      'config/doctypes/sales-order.yaml:26:13 permissions[1].role: unknown role "Sales User"',
    ],
  },
  {
    name: 'an unknown setting',
    change: ['config/settings.yaml', 'public_url: null', 'public_url: null\npublc_url: null'],
    faults: ['config/settings.yaml:22:1 publc_url: unknown key; did you mean "public_url"?'],
  },
  {
    name: 'a public address with a path',
    change: ['config/settings.yaml', 'public_url: null', 'public_url: https://a.example/x'],
    faults: [
      'config/settings.yaml:21:13 public_url: must be an address without a path, such as https://assistant.example.com, not "https://a.example/x"',
    ],
  },
  {
    name: 'a prompt with three mistakes',
    files: {
      'prompts/x.md':
        '---\ntitle: X\nstatus: Publish\nvisibility: Public\ncategory: dta-analysis\narguments:\n  - { argument_name: n, argument_type: number, default_value: many }\n---\n{{ n }}\n',
    },
    faults: [
      'prompts/x.md:3:9 status: must be one of "Draft", "Published", "Deprecated" or "Archived", not "Publish"',
      'prompts/x.md:5:11 category: unknown category "dta-analysis"; did you mean "data-analysis"?',
      'prompts/x.md:7:63 arguments[0].default_value: must be a number, not "many"',
    ],
  },
  {
    name: 'a prompt without a title',
    files: { 'prompts/x.md': '---\nstatus: Draft\nvisibility: Public\ncategory: salescrm\n---\nHello\n' },
    faults: [
      'prompts/x.md:2:1 "title" is required',
      'prompts/x.md:4:11 category: unknown category "salescrm"; did you mean "sales-crm"?',
    ],
  },
  {
    name: 'a private prompt of nobody',
    files: { 'prompts/x.md': prompt('status: Draft\n') },
    faults: ['prompts/x.md:2:1 a Private template (the default) needs an owner'],
  },
  {
    name: 'a prompt shared with a role misspelt',
    files: { 'prompts/x.md': prompt('visibility: Shared\nshared_with_roles: [Sales Usr]\n') },
    faults: ['prompts/x.md:4:21 shared_with_roles[0]: unknown role "Sales Usr"; did you mean "Sales User"?'],
  },
  {
    name: 'roles on a public prompt',
    files: { 'prompts/x.md': prompt(`${published}shared_with_roles: [Sales User]\n`) },
    faults: ['prompts/x.md:5:20 shared_with_roles: counts only for visibility Shared, not Public'],
  },
  {
    name: 'a tag of a template not closed',
    files: { 'prompts/x.md': prompt(published, 'Hello\n{% if who %}there') },
    faults: [
      "prompts/x.md:9:18 template_content: unexpected end of template. Jinja was looking for the following tags: 'elif' or 'else' or 'endif'. The innermost block that needs to be closed is 'if'",
    ],
  },
  {
    name: 'an unknown filter of a template',
    files: { 'prompts/x.md': prompt(published, 'Hello {{ who|uper }}') },
    faults: ["prompts/x.md:8:14 template_content: no filter named 'uper'"],
  },
  {
    name: 'a prompt_id taken by a built-in',
    files: { 'prompts/x.md': prompt(`prompt_id: sales_analysis\n${published}`) },
    faults: [
      'prompts/x.md:3:12 prompt_id: "sales_analysis" is a built-in template; duplicate it under another prompt_id',
    ],
  },
  {
    name: 'a prompt_id in capitals',
    files: { 'prompts/x.md': prompt(`prompt_id: Follow-Up\n${published}`) },
    faults: ['prompts/x.md:3:12 prompt_id: must be lower-case letters, digits, - and _, not "Follow-Up"'],
  },
  {
    name: 'an unreadable pattern of an argument',
    files: {
      'prompts/x.md': `---\ntitle: X\n${published}arguments:\n  - { argument_name: n, validation_regex: "(a" }\n---\n{{ n }}\n`,
    },
    faults: [
      'prompts/x.md:6:43 arguments[0].validation_regex: is not a usable pattern: error parsing regexp: missing closing ): `(a`',
    ],
  },
  {
    name: 'a select without values',
    files: {
      'prompts/x.md': `---\ntitle: X\n${published}arguments:\n  - { argument_name: n, argument_type: select }\n---\n{{ n }}\n`,
    },
    faults: ['prompts/x.md:6:5 arguments[0].allowed_values: a select needs allowed values'],
  },
  {
    name: 'a type of argument misspelt',
    files: {
      'prompts/x.md': `---\ntitle: X\n${published}arguments:\n  - { argument_name: n, argument_type: nubmer }\n---\n{{ n }}\n`,
    },
    faults: [
      'prompts/x.md:6:40 arguments[0].argument_type: must be one of "string", "number", "boolean", "select", "multiselect", "date", "datetime", "json" or "link", not "nubmer"',
    ],
  },
  {
    name: 'a link argument to no doctype',
    files: {
      'prompts/x.md': `---\ntitle: X\n${published}arguments:\n  - { argument_name: n, argument_type: link, doctype: Custmer }\n---\n{{ n }}\n`,
    },
    faults: ['prompts/x.md:6:55 arguments[0].doctype: unknown doctype "Custmer"; did you mean "Customer"?'],
  },
  {
    name: 'a token in the body of a prompt',
    files: {
      'prompts/x.md': prompt(published, 'Hello {{ who }}\nuse ghp_abcdefghijklmnopqrstuvwxyz0123456789'),
    },
    faults: [
      'prompts/x.md:9:5 looks like a secret, and the site is no place for one; put it in a file that only the daemon can read',
    ],
  },
  {
    name: 'front matter not closed',
    files: { 'prompts/x.md': '---\ntitle: X\nHello\n' },
    faults: ['prompts/x.md:1:1 the front matter is not closed by "---"'],
  },
  {
    name: 'a skill with a name of two words',
    files: { 'skills/price-quote/SKILL.md': skill('name: Price Quote\ndescription: How to quote a price\n') },
    faults: [
      'skills/price-quote/SKILL.md:2:7 name: must be lower-case letters, digits and single hyphens, not "Price Quote"',
    ],
  },
  {
    name: 'a skill whose folder has another name',
    files: { 'skills/quote/SKILL.md': skill('name: price-quote\ndescription: How to quote a price\n') },
    faults: ['skills/quote/SKILL.md:2:7 name: must be the name of its folder, "quote"'],
  },
  {
    name: 'a skill without a description',
    files: { 'skills/price-quote/SKILL.md': skill('name: price-quote\n') },
    faults: ['skills/price-quote/SKILL.md:2:1 "description" is required'],
  },
  {
    name: 'a tool named like a built-in',
    files: { 'config/tools/weather.yaml': tool((t) => t.replace('tool: weather', 'tool: get_document')) },
    faults: ['config/tools/weather.yaml:2:7 tool: "get_document" is built in; choose another name'],
  },
  {
    name: 'a short description of a tool',
    files: { 'config/tools/weather.yaml': tool((t) => t.replace('The weather of a city, now', 'Weather')) },
    faults: ['config/tools/weather.yaml:3:14 description: must have at least 20 characters'],
  },
  {
    name: 'a key in a header of a tool',
    files: {
      'config/tools/weather.yaml': tool(
        (t) => `${t}headers: { Authorization: Bearer sk-1234567890abcdef }\n`,
      ),
    },
    faults: [
      'config/tools/weather.yaml:11:12 headers.Authorization: looks like a secret, and the site is no place for one; put it in a file that only the daemon can read, and name that file here as "Authorization_file" where such a key exists',
    ],
  },
  {
    name: 'a cookie of a tool',
    files: { 'config/tools/weather.yaml': tool((t) => `${t}headers: { Cookie: session=9f8e7d6c5b4a }\n`) },
    faults: [
      'config/tools/weather.yaml:11:12 headers.Cookie: looks like a secret, and the site is no place for one; put it in a file that only the daemon can read, and name that file here as "Cookie_file" where such a key exists',
    ],
  },
  {
    name: 'an argument in a URL that the input lacks',
    files: { 'config/tools/weather.yaml': tool((t) => t.replace('{city}', '{town}')) },
    faults: ['config/tools/weather.yaml:9:6 url: unknown argument "town"'],
  },
  {
    name: 'a category of a tool misspelt',
    files: { 'config/tools/weather.yaml': tool((t) => t.replace('read_only', 'readonly')) },
    faults: [
      'config/tools/weather.yaml:10:11 category: must be one of "read_only", "write", "read_write" or "privileged", not "readonly"',
    ],
  },
  {
    name: 'an SQL tool on an unknown source',
    files: {
      'config/tools/stock.yaml':
        'type: sql\ntool: stock\ndescription: What lies in the warehouse\ninput: { type: object, properties: {} }\nsource: warehous\nsql: SELECT 1\n',
    },
    faults: ['config/tools/stock.yaml:5:9 source: unknown source "warehous"'],
  },
  {
    name: 'a field type misspelt',
    change: ['config/doctypes/customer.yaml', 'fieldname: email, type: text', 'fieldname: email, type: txt'],
    faults: [
      'config/doctypes/customer.yaml:41:31 fields[3].type: must be one of "text", "long_text", "number", "integer", "currency", "percent", "check", "date", "datetime", "select", "link", "dynamic_link", "table", "json" or "attachment", not "txt" (6 faults elsewhere follow from it)',
    ],
  },
  {
    name: 'a field twice',
    change: ['config/doctypes/customer.yaml', 'fieldname: phone', 'fieldname: email'],
    faults: [
      'config/doctypes/customer.yaml:42:18 fields[4].fieldname: "email" is there twice',
      'config/seeds/trading-company.yaml:43:14 seeds[2].fields.phone: unknown field "phone"',
    ],
  },
  {
    name: 'a link to no doctype',
    change: [
      'config/doctypes/customer.yaml',
      '{ fieldname: disabled, type: check }',
      '{ fieldname: disabled, type: link, doctype: Leed }',
    ],
    faults: [
      'config/doctypes/customer.yaml:46:49 fields[8].doctype: unknown doctype "Leed"; did you mean "Lead"?',
    ],
  },
  {
    name: 'a title_field that is no field',
    change: ['config/doctypes/customer.yaml', 'title_field: customer_name', 'title_field: customer_nam'],
    faults: [
      'config/doctypes/customer.yaml:35:14 title_field: unknown field "customer_nam"; did you mean "customer_name"?',
    ],
  },
  {
    name: 'an expression with an unknown field',
    change: ['config/doctypes/customer.yaml', 'credit_limit = null or credit_limit >= 0', 'credit_limt >= 0'],
    faults: [
      'config/doctypes/customer.yaml:49:13 validations[0].rule: unknown field "credit_limt"; did you mean "credit_limit"?',
    ],
  },
  {
    name: 'an expression that does not parse',
    change: ['config/doctypes/customer.yaml', 'credit_limit = null or credit_limit >= 0', 'credit_limit >= '],
    faults: [
      'config/doctypes/customer.yaml:49:13 validations[0].rule: expression: unexpected "the end" at character 17',
    ],
  },
  {
    name: 'an unknown action of a rule',
    change: [
      'config/doctypes/customer.yaml',
      '{ role: Purchase User, actions: [read] }',
      '{ role: Purchase User, actions: [raed] }',
    ],
    faults: [
      'config/doctypes/customer.yaml:53:38 permissions[2].actions[0]: must be one of "read", "write", "create", "delete", "submit", "cancel", "amend", "report", "comment" or "assign", not "raed" (6 faults elsewhere follow from it)',
    ],
  },
  {
    name: 'a default that is none of the options',
    change: ['config/doctypes/customer.yaml', 'default: Commercial', 'default: Comercial'],
    faults: [
      'config/doctypes/customer.yaml:39:112 fields[1].default: must be one of Commercial, Retail, Government, Non Profit, not "Comercial"; did you mean "Commercial"?',
    ],
  },
  {
    name: 'a report on an unknown doctype',
    change: ['config/reports/headcount.yaml', 'doctype: Employee', 'doctype: Employe'],
    faults: [
      'config/reports/headcount.yaml:5:10 doctype: unknown doctype "Employe"; did you mean "Employee"?',
    ],
  },
  {
    name: 'a report that sums an unknown field',
    change: ['config/reports/headcount.yaml', 'field: date_of_joining', 'field: date_of_joinin'],
    faults: [
      'config/reports/headcount.yaml:11:5 columns[2]: unknown field "date_of_joinin"; did you mean "date_of_joining"?',
    ],
  },
  {
    name: 'a report grouped by an unknown field',
    change: ['config/reports/headcount.yaml', 'group_by: [department]', 'group_by: [departmnt]'],
    faults: [
      'config/reports/headcount.yaml:7:12 group_by[0]: unknown field "departmnt"; did you mean "department"?',
      'config/reports/headcount.yaml:9:5 columns[0]: department is neither in group_by nor aggregated',
    ],
  },
  {
    name: 'an unknown tool in a profile',
    change: ['config/tools.yaml', '      - get_document\n', '      - get_documnt\n'],
    faults: [
      'config/tools.yaml:35:9 profiles.everyone.tools[1]: unknown tool "get_documnt"; did you mean "get_document"?',
    ],
  },
  {
    name: 'an unknown role of a workflow',
    change: ['config/workflows/purchase-approval.yaml', 'Purchase User', 'Purchase Usr'],
    faults: [
      'config/workflows/purchase-approval.yaml:9:34 states[0].edit_roles[0]: unknown role "Purchase Usr"; did you mean "Purchase User"?',
    ],
  },
  {
    name: 'a category that leads back to itself',
    files: {
      'prompts/categories.yaml':
        'categories:\n  - { category_id: a, category_name: A, parent_category: b, is_group: 1 }\n  - { category_id: b, category_name: B, parent_category: a, is_group: 1 }\n',
    },
    faults: [
      'prompts/categories.yaml:2:58 categories[0].parent_category: leads back to the category itself',
      'prompts/categories.yaml:3:58 categories[1].parent_category: leads back to the category itself',
    ],
  },
  {
    name: 'a category below one that is no group',
    files: {
      'prompts/categories.yaml':
        'categories:\n  - { category_id: a, category_name: A }\n  - { category_id: b, category_name: B, parent_category: a }\n',
    },
    faults: [
      'prompts/categories.yaml:3:58 categories[1].parent_category: "a" is not a group; set is_group: 1 there',
    ],
  },
  {
    name: 'the regular expression of an input',
    files: {
      'config/tools/weather.yaml': tool((t) =>
        t.replace('{ type: string }', '{ type: string, pattern: "(a" }'),
      ),
    },
    faults: [
      'config/tools/weather.yaml:6:48 input.properties.city.pattern: is not a usable pattern: /(a/u: Unterminated group',
    ],
  },
  {
    name: 'a required argument that is none',
    files: { 'config/tools/weather.yaml': tool((t) => t.replace('[city]', '[cty]')) },
    faults: [
      'config/tools/weather.yaml:7:14 input.required[0]: unknown argument "cty"; did you mean "city"?',
    ],
  },
  {
    name: 'settings that are no map',
    files: { 'config/settings.yaml': '- a\n' },
    faults: ['config/settings.yaml:1:1 must be a map of settings'],
  },
  {
    name: 'a users.yaml with nothing but a comment',
    files: { 'config/users.yaml': '# nobody\n' },
    faults: ['config/users.yaml:1:1 is empty'],
  },
  {
    name: 'a seed of an unknown doctype',
    change: ['config/seeds/trading-company.yaml', 'doctype: Customer', 'doctype: Custmer'],
    faults: [
      'config/seeds/trading-company.yaml:33:14 seeds[2].doctype: unknown doctype "Custmer"; did you mean "Customer"?',
    ],
  },
  {
    name: 'a series without a number',
    change: [
      'config/doctypes/customer.yaml',
      'naming: { rule: field, field: customer_name }',
      'naming: { rule: series, series: "CUST-" }',
    ],
    faults: [
      'config/doctypes/customer.yaml:34:33 naming.series: must be a series such as INV-#####, not "CUST-" (6 faults elsewhere follow from it)',
    ],
  },
  {
    name: 'a rule for a role that is none',
    change: ['config/doctypes/customer.yaml', 'role: Purchase User', 'role: Purchaser'],
    faults: ['config/doctypes/customer.yaml:53:13 permissions[2].role: unknown role "Purchaser"'],
  },
]
