import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compileSchema } from '#leaf/schema.ts'
import { readLibrary } from '../../src/library/read-library.ts'
import { runPromptTests } from '../../src/library/prompts/prompt-tests.ts'
import { readSite } from '#site/read-site.ts'
import { faultText, type Fault, type SiteFiles } from '#site/site-files.ts'
import { builtInTools } from '../../src/tools/index.ts'
import { optionalTools } from '../../src/tools/gate/optional-tools.ts'
import { packageFolder, source } from './library-site.ts'

const shippedTools = new Set([...builtInTools.map(({ name }) => name), ...optionalTools])

function shippedDoctypes(files: SiteFiles): Set<string> {
  const documents = [...files.documents].filter(([file]) => file.startsWith('config/doctypes/'))
  return new Set(documents.map(([, { data }]) => (data as { doctype: string }).doctype))
}

async function shipped(): Promise<{
  reading: ReturnType<typeof readLibrary>
  faults: string[]
  warnings: string[]
}> {
  const files = await readSite(packageFolder)
  const faults: Fault[] = []
  const warnings: Fault[] = []
  const reading = readLibrary(
    files,
    faults,
    warnings,
    source({ builtIns: files, toolNames: shippedTools, doctypeNames: shippedDoctypes(files) }),
  )
  return { reading, faults: faults.map(faultText), warnings: warnings.map(faultText) }
}

describe('§2.8 the library that comes with the package', () => {
  it('has no faults, and names no tool, doctype or argument that does not exist', async () => {
    const { faults, warnings } = await shipped()
    assert.ok(shippedTools.has('list_documents') && shippedTools.size > 20)
    assert.deepEqual(faults, [])
    assert.deepEqual(warnings, [])
  })

  it('has the eight categories with their hierarchy', async () => {
    const { reading } = await shipped()
    assert.deepEqual(
      [...reading.categories.values()].map(({ id, name, parent }) => [id, name, parent]),
      [
        ['data-analysis', 'Data Analysis', undefined],
        ['manufacturing', 'Manufacturing', 'data-analysis'],
        ['sales-crm', 'Sales & CRM', 'data-analysis'],
        ['purchasing', 'Purchasing', 'data-analysis'],
        ['hr-payroll', 'HR & Payroll', 'data-analysis'],
        ['data-quality', 'Data Quality', 'data-analysis'],
        ['documentation', 'Documentation', undefined],
        ['system-admin', 'System Administration', undefined],
      ],
    )
    for (const category of reading.categories.values()) {
      assert.ok(category.isSystem && category.icon && category.color && category.description, category.id)
    }
  })

  it('has the seven templates: built in, published, public, in Jinja2, with tests', async () => {
    const { reading } = await shipped()
    assert.deepEqual([...reading.templates.keys()].sort(), [
      'crm_analysis',
      'data_quality_audit',
      'doctype_documentation',
      'hr_analysis',
      'manufacturing_analysis',
      'purchase_analysis',
      'sales_analysis',
    ])
    for (const { template, tests } of reading.templates.values()) {
      const { isSystem, status, visibility, engine } = template
      assert.deepEqual(
        { isSystem, status, visibility, engine },
        { isSystem: true, status: 'Published', visibility: 'Public', engine: 'Jinja2' },
      )
      assert.ok(tests.length >= 3, template.id)
      for (const argument of template.arguments)
        assert.ok(argument.description && argument.label, template.id)
    }
  })

  it('passes the tests of its templates', async () => {
    const { reading } = await shipped()
    const results = await runPromptTests(reading.templates.values())
    assert.ok(results.length >= 21)
    assert.deepEqual(
      results.filter(({ ok }) => !ok).map(({ prompt, test, problems }) => [prompt, test, problems]),
      [],
    )
  })

  it('renders every template with every value of its selections, leaving no template text behind', async () => {
    const { reading } = await shipped()
    for (const { template, check, content } of reading.templates.values()) {
      const fixed = Object.fromEntries(
        template.arguments.filter((a) => a.type === 'string').map((a) => [a.name, 'Customer']),
      )
      const focus = template.arguments.find((argument) => argument.required && argument.type === 'select')
      for (const argument of template.arguments) {
        const values = argument.type === 'boolean' ? ['true', 'false'] : argument.allowedValues
        for (const value of values) {
          const { values: checked, problems } = check(
            {
              ...fixed,
              ...(focus && { [focus.name]: focus.allowedValues.at(-1) }),
              [argument.name]: value,
            },
            0,
          )
          assert.deepEqual(problems, [])
          const text = content.render(checked)
          assert.doesNotMatch(text, /\{\{|\{%|undefined|None\b/, template.id)
          assert.doesNotMatch(text, /\n\n\n/, `${template.id} ${argument.name}=${value}`)
          assert.ok(text.length > 800)
        }
      }
    }
  })

  it('shows calls in its skills that their tools accept', async () => {
    const { reading } = await shipped()
    let calls = 0
    for (const skill of reading.skills.values()) {
      const tools = builtInTools.filter(({ name }) => skill.tools.includes(name))
      const text = Buffer.from(skill.files[0]!.bytes).toString('utf8')
      for (const [, block] of text.matchAll(/```json\n([\s\S]*?)```/g)) {
        const example = JSON.parse(block!) as unknown
        // What needs a sandbox is not made here.
        if (tools.length === 0) continue
        calls++
        const problems = tools.map((tool) => compileSchema(tool.input)(example))
        assert.ok(
          problems.some((found) => found.length === 0),
          `${skill.name}: ${JSON.stringify(problems)}`,
        )
      }
    }
    assert.ok(calls >= 3)
  })

  it('has skills that teach its tools, one of them with references', async () => {
    const { reading } = await shipped()
    assert.ok(reading.skills.size >= 6)
    for (const skill of reading.skills.values()) {
      assert.ok(skill.isSystem && skill.status === 'Published' && skill.visibility === 'Public', skill.name)
      assert.ok(skill.tools.length > 0 && skill.files[0]!.bytes.length < 8192, skill.name)
    }
    assert.ok(
      [...reading.skills.values()].some((skill) => skill.files.some((file) => file.path.includes('/'))),
    )
  })
})
