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
const sources = 'sources:\n  hall: { type: postgres, host: 10.0.0.9, database: d, user: u }\n'
const sql = (statement: string, more = '', properties = 'item: { type: string }'): string =>
  `type: sql\ntool: stock\ndescription: What lies in the warehouse\ninput: { type: object, properties: { ${properties} } }\nsource: hall\nsql: ${statement}\n${more}`
const offered = (name: string): readonly [string, string, string] => [
  'config/tools.yaml',
  '    tools:\n',
  `    tools:\n      - "${name}"\n`,
]
const moduleWith = (more: string): string =>
  `export const tools = () => [{ name: 'double', title: 'Double', description: 'Doubles a number, to try it.', category: 'read_only', input: { type: 'object' }, run: async () => 1, ${more} }]\n`
const published = 'status: Published\nvisibility: Public\n'

/** One mistake: whole files, or one place of a shipped file that is replaced. */
export interface Mistake {
  readonly name: string
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  readonly change?: readonly [file: string, from: string, to: string]
  readonly faults: readonly string[]
  /** All of them, where a mistake is one that a site can be used with. */
  readonly warnings?: readonly string[]
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
    faults: ['config/settings.yaml:25:1 publc_url: unknown key; did you mean "public_url"?'],
  },
  {
    name: 'a public address with a path',
    change: ['config/settings.yaml', 'public_url: null', 'public_url: https://a.example/x'],
    faults: [
      'config/settings.yaml:24:13 public_url: must be an address without a path, such as https://assistant.example.com, not "https://a.example/x"',
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
    faults: ['prompts/x.md:2:1 visibility: a Private template (the default) needs an owner'],
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
      'config/doctypes/customer.yaml:41:31 fields[3].type: must be one of "text", "long_text", "number", "integer", "currency", "percent", "check", "date", "datetime", "select", "link", "dynamic_link", "table", "json" or "attachment", not "txt" (9 faults elsewhere follow from it)',
    ],
  },
  {
    name: 'a translation of what nothing is called',
    change: ['config/doctypes/customer.yaml', '    City: Ort', '    Citty: Ort'],
    faults: [],
    warnings: [
      'config/doctypes/customer.yaml:76:5 translations.de.Citty: nothing is called "Citty" here; did you mean "City"?',
    ],
  },
  {
    name: 'a translation of a state that a workflow does not have',
    change: ['config/workflows/purchase-approval.yaml', '    Revise: ', '    Revised: '],
    faults: [],
    warnings: [
      'config/workflows/purchase-approval.yaml:32:5 translations.de.Revised: nothing is called "Revised" here; did you mean "Revise"?',
    ],
  },
  {
    name: 'a field twice',
    change: ['config/doctypes/customer.yaml', 'fieldname: phone', 'fieldname: email'],
    faults: [
      'config/doctypes/customer.yaml:42:18 fields[4].fieldname: "email" is there twice',
      'config/seeds/trading-company.yaml:43:7 seeds[2].fields.phone: unknown field "phone"',
    ],
  },
  {
    name: 'documents that lie in no source',
    files: {
      'config/sources.yaml': 'sources: { hall: { type: postgres, host: 127.0.0.1, database: d, user: u } }\n',
      'config/doctypes/bin.yaml':
        'doctype: Bin\nfrom: { source: hal, table: bin, key: [id] }\nfields: [{ fieldname: label, type: text }]\n',
    },
    faults: ['config/doctypes/bin.yaml:2:17 from.source: unknown source "hal"; did you mean "hall"?'],
  },
  {
    name: 'documents whose versions no field tells apart',
    files: {
      'config/sources.yaml': 'sources: { hall: { type: postgres, host: 127.0.0.1, database: d, user: u } }\n',
      'config/doctypes/bin.yaml':
        'doctype: Bin\nfrom: { source: hall, table: bin, key: [id], version: revison }\nfields: [{ fieldname: revision, type: integer }]\n',
    },
    faults: ['config/doctypes/bin.yaml:2:55 from.version: unknown field "revison"; did you mean "revision"?'],
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
      'config/doctypes/customer.yaml:53:38 permissions[2].actions[0]: must be one of "read", "write", "create", "delete", "submit", "cancel", "amend", "report", "comment" or "assign", not "raed" (9 faults elsewhere follow from it)',
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
      'config/tools.yaml:42:9 profiles.everyone.tools[1]: unknown tool "get_documnt"; did you mean "get_document"?',
    ],
  },
  {
    name: 'no role for a tool, which opens it to everyone',
    change: ['config/tools.yaml', '  attach_file:\n', '  run_python_code: { roles: [] }\n  attach_file:\n'],
    faults: [],
    warnings: [
      'config/tools.yaml:81:29 tools.run_python_code.roles: is empty, so that everyone may; say all, or enabled: false',
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
      'config/doctypes/customer.yaml:34:33 naming.series: must be a series such as INV-#####, not "CUST-" (9 faults elsewhere follow from it)',
    ],
  },
  {
    name: 'a rule for a role that is none',
    change: ['config/doctypes/customer.yaml', 'role: Purchase User', 'role: Purchaser'],
    faults: ['config/doctypes/customer.yaml:53:13 permissions[2].role: unknown role "Purchaser"'],
  },
  {
    name: 'a tool of the site that no profile names',
    files: { 'config/tools/weather.yaml': tool((t) => t) },
    faults: [],
    warnings: [
      'config/tools/weather.yaml:2:7 tool: no profile in config/tools.yaml names "weather": it is offered to those of the profile everything alone',
    ],
  },
  {
    name: 'another server that no profile names a tool of',
    files: { 'config/tools/wiki.yaml': 'type: mcp\nupstream: wiki\nurl: https://wiki.example.com/mcp\n' },
    faults: [],
    warnings: [
      'config/tools/wiki.yaml:2:11 upstream: no profile in config/tools.yaml names "wiki_*": it is offered to those of the profile everything alone',
    ],
  },
  {
    name: 'a module that no profile names a tool of',
    files: {
      'tools/own.ts': `export function tools({ defineTool }) {
  return [
    defineTool({
      name: 'double', title: 'Double', description: 'Doubles a number, to try it.', category: 'read_only',
      input: { type: 'object' }, run: async () => 1,
    }),
  ]
}
`,
    },
    faults: [],
    warnings: [
      'tools/own.ts:4:13 no profile in config/tools.yaml names "double": it is offered to those of the profile everything alone',
    ],
  },
  {
    name: 'a short description in a module',
    files: {
      'tools/own.ts': `export const tools = () => [
  { name: 'double', title: 'Double', description: 'Doubles', category: 'read_only', input: { type: 'object' }, run: async () => 1 },
]
`,
    },
    faults: ['tools/own.ts:2:11 double: needs a description of at least 20 characters'],
  },
  {
    name: 'an argument that no part of a request uses',
    files: {
      'config/tools/weather.yaml': tool((t) =>
        t.replace('{ city: { type: string } }', '{ city: { type: string }, days: { type: integer } }'),
      ),
    },
    change: offered('weather'),
    faults: [],
    warnings: ['config/tools/weather.yaml:6:41 input.properties.days: is used nowhere in the request'],
  },
  {
    name: 'an argument in a header',
    files: { 'config/tools/weather.yaml': tool((t) => `${t}headers: { X-City: "{city}" }\n`) },
    change: offered('weather'),
    faults: [],
    warnings: [
      'config/tools/weather.yaml:11:20 headers.X-City: is sent as it stands: arguments have no place in headers',
    ],
  },
  {
    name: 'a host in the inner network that nobody opened',
    files: { 'config/tools/weather.yaml': tool((t) => t.replace('weather.example.com', '10.0.0.7:8080')) },
    change: offered('weather'),
    faults: [],
    warnings: [
      'config/tools/weather.yaml:9:6 url: this host is not on the public internet, which only "allow_private: true" opens',
    ],
  },
  {
    name: 'the same of another server',
    files: { 'config/tools/wiki.yaml': 'type: mcp\nupstream: wiki\nurl: http://localhost:8080/mcp\n' },
    change: offered('wiki_*'),
    faults: [],
    warnings: [
      'config/tools/wiki.yaml:3:6 url: this host is not on the public internet, which only "allow_private: true" opens',
    ],
  },
  {
    name: 'an argument in a query that the input lacks',
    files: { 'config/tools/weather.yaml': tool((t) => `${t}query:\n  days: "{days}"\n`) },
    faults: ['config/tools/weather.yaml:12:9 query.days: unknown argument "days"'],
  },
  {
    name: 'an argument of a statement that the input lacks',
    files: {
      'config/sources.yaml': sources,
      'config/tools/stock.yaml': sql(
        '|\n  SELECT place -- $itm\n  FROM stock WHERE item = $itm AND $$no $arg$$ <> $item',
      ),
    },
    faults: ['config/tools/stock.yaml:8:27 sql: unknown argument "itm"; did you mean "item"?'],
  },
  {
    name: 'an argument that a statement does not use',
    files: { 'config/sources.yaml': sources, 'config/tools/stock.yaml': sql("SELECT '$item'") },
    change: offered('stock'),
    faults: [],
    warnings: ['config/tools/stock.yaml:4:38 input.properties.item: is used nowhere in the statement'],
  },
  {
    name: 'a page and a cursor',
    files: {
      'config/sources.yaml': sources,
      'config/tools/stock.yaml': sql('SELECT $item', 'page: offset\ncursor: [a]\n'),
    },
    faults: ['config/tools/stock.yaml:8:9 cursor: a tool has either a page or a cursor'],
  },
  {
    name: 'an argument of the name that a page adds',
    files: {
      'config/sources.yaml': sources,
      'config/tools/stock.yaml': sql('SELECT $offset', 'page: offset\n', 'offset: { type: integer }'),
    },
    faults: [
      'config/tools/stock.yaml:4:46 input.properties.offset: this argument is added by the program; take it out',
    ],
  },
  {
    name: 'a key of a source misspelt',
    files: {
      'config/sources.yaml': sources.replace('host:', 'hots:'),
      'config/tools/stock.yaml': sql('SELECT $item'),
    },
    faults: [
      'config/sources.yaml:2:9 sources.hall: "host" is required (1 fault elsewhere follows from it)',
      'config/sources.yaml:2:27 sources.hall.hots: unknown key; did you mean "host"?',
    ],
  },
  {
    name: 'a server with an address and a command',
    files: {
      'config/tools/wiki.yaml':
        'type: mcp\nupstream: wiki\nurl: https://wiki.example.com/mcp\ncommand: [wiki]\n',
    },
    faults: ['config/tools/wiki.yaml:4:10 command: an upstream has either a url or a command'],
  },
  ...Object.entries({
    'https://weather.example.com:99999/{city}':
      '"https://weather.example.com:99999/{city}" is not a web address',
    'https://[::1/{city}': '"https://[::1/{city}" is not a web address',
  }).map(([url, told]) => ({
    name: `the address ${url}, at which a check ended by itself`,
    files: {
      'config/tools/weather.yaml': tool((t) => t.replace('https://weather.example.com/{city}', url)),
    },
    faults: [`config/tools/weather.yaml:9:6 url: ${told}`],
  })),
  {
    name: 'an argument in the braces of a prompt',
    files: { 'config/tools/weather.yaml': tool((t) => t.replace('{city}', '{{city}}')) },
    change: offered('weather'),
    faults: [],
    warnings: ['config/tools/weather.yaml:9:6 url: a brace holds no argument: write {name}'],
  },
  {
    name: 'headers that HTTP does not carry',
    files: {
      'config/tools/weather.yaml': tool((t) => `${t}headers: { X City: a, X-Town: "K\u2192ln" }\n`),
    },
    faults: [
      'config/tools/weather.yaml:11:20 headers.X City: Header name must be a valid HTTP token ["X City"]',
      'config/tools/weather.yaml:11:31 headers.X-Town: Invalid character in header content ["X-Town"]',
    ],
  },
  {
    name: 'a bound of pages that nothing leads to',
    files: { 'config/tools/weather.yaml': tool((t) => `${t}response: { max_pages: 5 }\n`) },
    change: offered('weather'),
    faults: [],
    warnings: ['config/tools/weather.yaml:11:24 response.max_pages: counts only beside "next"'],
  },
  {
    name: 'a statement with numbered arguments',
    files: { 'config/sources.yaml': sources, 'config/tools/stock.yaml': sql("SELECT '$1', $item, $2") },
    faults: ['config/tools/stock.yaml:6:26 sql: arguments have names here, such as $item'],
  },
  {
    name: 'a statement that changes',
    files: {
      'config/sources.yaml': sources,
      'config/tools/stock.yaml': sql('|\n  -- all of it\n  UPDATE stock SET item = $item'),
    },
    faults: ['config/tools/stock.yaml:8:3 sql: UPDATE is no question, and a tool of the type sql only asks'],
  },
  {
    name: 'pages of rows in no order',
    files: {
      'config/sources.yaml': sources,
      'config/tools/stock.yaml': sql('SELECT $item', 'page: offset\n'),
    },
    change: offered('stock'),
    faults: [],
    warnings: [
      'config/tools/stock.yaml:7:7 page: without ORDER BY a page may repeat or miss rows of the one before',
    ],
  },
  {
    name: 'two servers with one prefix, and what counts only for the other kind',
    files: {
      'config/tools/a.yaml': 'type: mcp\nupstream: wiki\nurl: https://a.example.com/mcp\nenv: { A: b }\n',
      'config/tools/b.yaml':
        'type: mcp\nupstream: Wiki\ncommand: [wiki]\nheaders: { A: b }\nallow_private: true\n',
    },
    change: offered('wiki_*'),
    faults: [],
    warnings: [
      'config/tools/a.yaml:4:6 env: counts only beside "command"',
      'config/tools/b.yaml:4:10 headers: counts only beside "url"',
      'config/tools/b.yaml:5:16 allow_private: counts only beside "url"',
      'config/tools/b.yaml:2:11 upstream: its tools are "wiki_*" as those of config/tools/a.yaml, which go before its own',
    ],
  },
  ...Object.entries({
    'tools = () => ({})': '1:1 cannot be run: "tools" must answer a list of tools, and at once',
    'tools = async () => []': '1:1 cannot be run: "tools" must answer a list of tools, and at once',
    'tools = () => [null]': '1:1 "undefined" is no name for a tool',
  }).map(([text, told]) => ({
    name: `a module with ${text}`,
    files: { 'tools/own.ts': `export const ${text}\n` },
    change: offered('*'),
    faults: [`tools/own.ts:${told}`],
  })),
  ...Object.entries({
    "roles: ['Sales Usr']": 'roles: unknown role "Sales Usr"; did you mean "Sales User"?',
    "roles: 'Sales User'": 'roles: must be a list',
    'input: null': 'input: the input of a tool is a schema with "type: object"',
    "input: { type: 'object', required: ['cty'], properties: { city: {} } }":
      'input.required[0]: unknown argument "cty"; did you mean "city"?',
  }).map(([more, told]) => ({
    name: `a module whose tool has ${more}`,
    files: { 'tools/own.ts': moduleWith(more) },
    faults: [`tools/own.ts:1:37 double: ${told}`],
  })),
  {
    name: 'a module whose tool was open to all by a key misspelt',
    files: { 'tools/own.ts': moduleWith("role: ['Sales User']") },
    change: offered('double'),
    faults: [],
    warnings: ['tools/own.ts:1:37 double: unknown key "role"; did you mean "roles"?'],
  },
  {
    name: 'a folder misnamed',
    files: {
      'config/doctype/lead.yaml': 'doctype: Prospect\nfields: []\n',
      'config/user.yaml': 'users: []\n',
    },
    faults: [],
    warnings: [
      'config/doctype/lead.yaml:1:1 nothing reads this file; did you mean "config/doctypes/"?',
      'config/user.yaml:1:1 nothing reads this file; did you mean "config/users.yaml"?',
    ],
  },
  {
    name: 'records of seeds with a field, an option and a requirement that are missed',
    change: [
      'config/seeds/trading-company.yaml',
      'seeds:\n',
      `seeds:
  - doctype: Customer
    records:
      - { customer_name: Ada, citty: Ulm }
      - { customer_name: Ben, customer_group: Comercial }
      - { phone: '1' }
`,
    ],
    faults: [
      'config/seeds/trading-company.yaml:7:38 seeds[0].records[0].citty: unknown field "citty"; did you mean "city"?',
      'config/seeds/trading-company.yaml:8:47 seeds[0].records[1].customer_group: must be one of Commercial, Retail, Government, Non Profit, not "Comercial"; did you mean "Commercial"?',
      'config/seeds/trading-company.yaml:9:9 seeds[0].records[2]: "customer_name" is required',
    ],
  },
  {
    name: "a prompt's own test that fails",
    files: {
      'prompts/x.md': prompt(
        `${published}tests:\n  - name: greets\n    arguments: { who: Ada }\n    contains: Goodbye\n`,
      ),
    },
    faults: ['prompts/x.md:6:5 tests[0]: greets: does not contain "Goodbye"'],
  },
  {
    name: 'a role misspelt in the settings',
    change: ['config/settings.yaml', 'second_factor_roles: []', 'second_factor_roles: [Sales Usr]'],
    faults: [
      'config/settings.yaml:199:25 login.second_factor_roles[0]: unknown role "Sales Usr"; did you mean "Sales User"?',
    ],
  },
  {
    name: 'a role misspelt in settings that are written a line each',
    change: [
      'config/settings.yaml',
      'second_factor_roles: []',
      'second_factor_roles: "Sales User\\nSales Usr"',
    ],
    faults: [
      'config/settings.yaml:199:24 login.second_factor_roles[1]: unknown role "Sales Usr"; did you mean "Sales User"?',
    ],
  },
  {
    name: 'names misspelt in the limits of a client',
    files: {
      'config/clients.yaml': 'limits:\n  - { clients: [Portal], roles: [Sales Usr], tools: [get_documnt] }\n',
    },
    faults: [
      'config/clients.yaml:2:34 limits[0].roles[0]: unknown role "Sales Usr"; did you mean "Sales User"?',
      'config/clients.yaml:2:54 limits[0].tools[0]: unknown tool "get_documnt"; did you mean "get_document"?',
    ],
  },
  {
    name: 'names misspelt in tools.yaml',
    files: {
      'config/tools.yaml':
        'profiles:\n  any: { roles: [Sales User, Sales Usr], tools: ["*", get_documnt] }\ntools:\n  any: { roles: [Sales Usr] }\n  get_document: { roles: all }\n',
    },
    faults: [
      'config/tools.yaml:2:30 profiles.any.roles[1]: unknown role "Sales Usr"; did you mean "Sales User"?',
      'config/tools.yaml:2:55 profiles.any.tools[1]: unknown tool "get_documnt"; did you mean "get_document"?',
      'config/tools.yaml:4:3 tools.any: unknown tool "any"',
      'config/tools.yaml:4:18 tools.any.roles[0]: unknown role "Sales Usr"; did you mean "Sales User"?',
    ],
  },
  {
    name: 'names misspelt in a doctype',
    files: {
      'config/doctypes/remark.yaml':
        'doctype: Remark\nnaming: { rule: prompt, field: subjct }\nparent_field: abov\nsearch_fields: [subject, subjct]\nfields:\n  - { fieldname: subject, type: text, visible_to: [Sales User, Sales Usr] }\n  - { fieldname: above, type: link, doctype: Remark }\n',
    },
    faults: [
      'config/doctypes/remark.yaml:2:32 naming.field: unknown field "subjct"; did you mean "subject"?',
      'config/doctypes/remark.yaml:3:15 parent_field: unknown field "abov"; did you mean "above"?',
      'config/doctypes/remark.yaml:4:26 search_fields[1]: unknown field "subjct"; did you mean "subject"?',
      'config/doctypes/remark.yaml:6:64 fields[0].visible_to[1]: unknown role "Sales Usr"; did you mean "Sales User"?',
    ],
  },
  {
    name: 'names misspelt in a workflow',
    files: {
      'config/workflows/a.yaml':
        'workflow: A\ndoctype: Custmer\nstates: [{ state: Begun }, { state: Done }]\ntransitions:\n  - { from: Begn, action: Go, to: Don, roles: [Sales User, Sales Usr] }\n',
      'config/workflows/b.yaml':
        'workflow: B\ndoctype: Purchase Order Item\nstates: [{ state: Begun }]\ntransitions: []\n',
    },
    faults: [
      'config/workflows/a.yaml:2:10 doctype: unknown doctype "Custmer"; did you mean "Customer"?',
      'config/workflows/a.yaml:5:13 transitions[0].from: unknown state "Begn"; did you mean "Begun"?',
      'config/workflows/a.yaml:5:35 transitions[0].to: unknown state "Don"; did you mean "Done"?',
      'config/workflows/a.yaml:5:60 transitions[0].roles[1]: unknown role "Sales Usr"; did you mean "Sales User"?',
      'config/workflows/b.yaml:2:10 doctype: Purchase Order Item is a child doctype',
    ],
  },
  {
    name: 'names misspelt in reports',
    files: {
      'config/reports/a.yaml':
        'report: A\ntype: declarative\ndoctype: Customer\nroles: [Sales Usr]\ngroup_by: [city]\ncolumns: [{ name: city }, { name: number, aggregate: count }]\ntotals: [numbr]\nfilters: [{ name: owner, type: link, doctype: Custmer }]\n',
      'config/reports/b.yaml': 'report: B\ntype: sql\ndoctypes: [Customer, Custmer]\nsql: SELECT 1 AS one\n',
      'config/reports/c.yaml':
        'report: C\ntype: declarative\ndoctype: Purchase Order Item\ncolumns: [{ name: item }]\n',
    },
    faults: [
      'config/reports/a.yaml:4:9 roles[0]: unknown role "Sales Usr"; did you mean "Sales User"?',
      'config/reports/a.yaml:7:10 totals[0]: unknown column "numbr"; did you mean "number"?',
      'config/reports/a.yaml:8:47 filters[0].doctype: unknown doctype "Custmer"; did you mean "Customer"?',
      'config/reports/b.yaml:3:22 doctypes[1]: unknown doctype "Custmer"; did you mean "Customer"?',
      'config/reports/c.yaml:3:10 doctype: Purchase Order Item is a child doctype',
    ],
  },
  {
    name: 'names misspelt in seeds',
    files: {
      'config/seeds/x.yaml':
        'seeds:\n  - doctype: Customer\n    count: 1\n    fields: { customer_name: A, name: B, any: 1 }\n    submitted: { any: 1 }\n  - { doctype: Purchase Order Item, count: 1 }\n',
    },
    faults: [
      'config/seeds/x.yaml:4:42 seeds[0].fields.any: unknown field "any"',
      'config/seeds/x.yaml:5:18 seeds[0].submitted.any: unknown field "any"',
      'config/seeds/x.yaml:6:16 seeds[1].doctype: Purchase Order Item is a child doctype',
    ],
  },
  {
    name: 'what makers of seeds name, and what they give',
    files: {
      'config/seeds/x.yaml': `seeds:
  - doctype: Sales Order
    count: 1
    created: ["2026-01-01", "2026-02-31x"]
    fields:
      customer: { link: Custmer }
      status: { pick: [Draft, Sent] }
      delivery_date: { after: order_dat, days: [1, 2] }
      items:
        rows: [1, 2]
        fields:
          item: { link: Customer }
          rate: { from: item, field: prize }
          qty: { from: rate, field: any }
          itm: 1
  - doctype: Customer
    count: 1
    fields: { customer_name: { text: "{n} {citty}" }, city: { rows: [1, 2] }, disabled: maybe }
`,
    },
    faults: [
      'config/seeds/x.yaml:4:29 seeds[0].created[1]: must be a date such as 2026-03-31, not "2026-02-31x"',
      'config/seeds/x.yaml:6:25 seeds[0].fields.customer.link: unknown doctype "Custmer"; did you mean "Customer"?',
      'config/seeds/x.yaml:7:31 seeds[0].fields.status.pick[1]: must be one of Draft, To Deliver, Completed, Closed, not "Sent"',
      'config/seeds/x.yaml:8:31 seeds[0].fields.delivery_date.after: unknown field "order_dat"; did you mean "order_date"?',
      'config/seeds/x.yaml:12:25 seeds[0].fields.items.fields.item.link: item links to Item, not to Customer',
      'config/seeds/x.yaml:13:38 seeds[0].fields.items.fields.rate.field: unknown field of Item "prize"',
      'config/seeds/x.yaml:14:24 seeds[0].fields.items.fields.qty.from: rate is no link',
      'config/seeds/x.yaml:15:16 seeds[0].fields.items.fields.itm: unknown field "itm"; did you mean "item"?',
      'config/seeds/x.yaml:18:38 seeds[1].fields.customer_name.text: unknown field "citty"; did you mean "city"?',
      'config/seeds/x.yaml:18:69 seeds[1].fields.city.rows: city is no table',
      'config/seeds/x.yaml:18:89 seeds[1].fields.disabled: must be true or false, not "maybe"',
    ],
  },
  {
    name: 'the filters and the order that a report has always',
    files: {
      'config/reports/a.yaml':
        'report: A\ntype: declarative\ndoctype: Customer\ncolumns: [{ name: city }]\nwhere: { citty: Ulm, disabled: maybe }\norder_by: city down\n',
      'config/reports/b.yaml':
        'report: B\ntype: declarative\ndoctype: Customer\ncolumns: [{ name: city }, { name: number, aggregate: count }]\ngroup_by: [city]\nwhere: [[city, =, Ulm], [customer_group, =, Retial]]\norder_by: numbr desc\n',
    },
    faults: [
      'config/reports/a.yaml:5:17 where.citty: unknown field "citty"; did you mean "city"?',
      'config/reports/a.yaml:5:32 where.disabled: disabled: must be true or false, not "maybe"',
      'config/reports/a.yaml:6:11 order_by: cannot read "city down"; write the field, and asc or desc',
      'config/reports/b.yaml:6:25 where[1]: customer_group: must be one of Commercial, Retail, Government, Non Profit, not "Retial"; did you mean "Retail"?',
      'config/reports/b.yaml:7:11 order_by: unknown column "numbr"; did you mean "number"?',
    ],
  },
  {
    name: "roles misspelt for tools of one's own",
    files: {
      'config/tools/weather.yaml': tool((text) => `${text}roles: [Sales Usr]\n`),
      'config/tools/far.yaml':
        'type: mcp\nupstream: far\nurl: https://far.example/mcp\nroles: [Sales Usr]\ntools:\n  any: { roles: [Sales Usr] }\n',
    },
    faults: [
      'config/tools/far.yaml:4:9 roles[0]: unknown role "Sales Usr"; did you mean "Sales User"?',
      'config/tools/far.yaml:6:18 tools.any.roles[0]: unknown role "Sales Usr"; did you mean "Sales User"?',
      'config/tools/weather.yaml:11:9 roles[0]: unknown role "Sales Usr"; did you mean "Sales User"?',
    ],
  },
  {
    name: 'addresses of tools that are none',
    files: {
      'config/tools/weather.yaml': tool((text) =>
        text.replace('weather.example.com/{city}', '[weather/{city}'),
      ),
      'config/tools/far.yaml': 'type: mcp\nupstream: far\nurl: https://[far\n',
    },
    faults: [
      'config/tools/far.yaml:3:6 url: "https://[far" is not a web address',
      'config/tools/weather.yaml:9:6 url: "https://[weather/{city}" is not a web address',
    ],
  },
  {
    name: 'a skill shared with a role misspelt',
    files: {
      'skills/price-quote/SKILL.md': skill(
        'name: price-quote\ndescription: How to quote\nvisibility: Shared\nshared_with_roles: [Sales Usr]\n',
      ),
    },
    faults: [
      'skills/price-quote/SKILL.md:5:21 shared_with_roles[0]: unknown role "Sales Usr"; did you mean "Sales User"?',
    ],
  },
]
