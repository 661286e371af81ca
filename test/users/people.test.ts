import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, it } from 'node:test'
import { parseSource } from '#site/parse-source.ts'
import { faultText, type Fault, type SourceDocument } from '#site/site-files.ts'
import { readPeople } from '../../src/users/read-people.ts'

function read(texts: { users?: string; roles?: string }) {
  const faults: Fault[] = []
  const documents = new Map<string, SourceDocument>()
  for (const [name, text] of Object.entries(texts)) {
    const { document, faults: own } = parseSource(`config/${name}.yaml`, Buffer.from(text))
    faults.push(...own)
    if (document) documents.set(document.file, document)
  }
  const files = { folder: '/site', documents, assets: new Map(), faults: [...faults], digest: '' }
  const people = readPeople(files, faults)
  return { people, faults: faults.map(faultText) }
}

const shipped = (name: string): string =>
  readFileSync(resolve(import.meta.dirname, '../../config', name), 'utf8')

describe('the shipped people', () => {
  const { people, faults } = read({ users: shipped('users.yaml'), roles: shipped('roles.yaml') })

  it('have no fault', () => assert.deepEqual(faults, []))

  it('are an administrator, sales, HR, and one whom nobody has let in', () => {
    const users = [...people.users.values()].map(({ id, enabled, assistantEnabled, roles }) => ({
      id,
      enabled,
      assistantEnabled,
      roles: [...roles],
    }))
    assert.deepEqual(users, [
      {
        id: 'admin@example.com',
        enabled: true,
        assistantEnabled: true,
        roles: ['System Manager', 'Assistant Admin', 'Assistant User'],
      },
      {
        id: 'sales@example.com',
        enabled: true,
        assistantEnabled: true,
        roles: ['Assistant User', 'Sales User'],
      },
      { id: 'hr@example.com', enabled: true, assistantEnabled: true, roles: ['Assistant User', 'HR User'] },
      { id: 'disabled@example.com', enabled: true, assistantEnabled: false, roles: ['Assistant User'] },
    ])
  })

  it('have roles that all say what they are for', () => {
    assert.deepEqual([...people.roles.keys()].sort(), [
      'Assistant Admin',
      'Assistant User',
      'Auditor',
      'HR Manager',
      'HR User',
      'Purchase User',
      'Sales Manager',
      'Sales User',
      'System Manager',
    ])
    for (const role of people.roles.values()) assert.match(role.description, /^[A-Z].{10,}\.$/)
  })
})

describe('reading users', () => {
  const user = (more: string) => `users:\n  - email: a@example.com\n    full_name: A\n    roles: []\n${more}`

  it('finds them by e-mail address in whatever case, and says where they stand', () => {
    const { people } = read({
      users: 'users:\n  - email: Jane.Doe@Example.com\n    full_name: Jane\n    roles: []\n',
    })
    assert.equal(people.find('JANE.DOE@example.COM')?.id, 'jane.doe@example.com')
    // What a provider signs is compared as it was signed; a form trims what is typed into it.
    for (const other of [' jane.doe@example.com', 'jane.doe@example.com\n', 'jane.doe@example.com\u00a0'])
      assert.equal(people.find(other), undefined, JSON.stringify(other))
    assert.equal(people.find('jane.doe@example.com')?.source, 'config/users.yaml:2')
    assert.equal(people.find('nobody@example.com'), undefined)
    assert.equal(people.find('constructor'), undefined)
  })

  it('lets the assistant in only when told, by 1 or true', () => {
    const enabled = (value: string): boolean | undefined =>
      read({ users: user(`    assistant_enabled: ${value}\n`) }).people.find('a@example.com')
        ?.assistantEnabled
    assert.equal(read({ users: user('') }).people.find('a@example.com')?.assistantEnabled, false)
    assert.deepEqual(['1', '0', 'true', 'false'].map(enabled), [true, false, true, false])
    assert.deepEqual(read({ users: user('    assistant_enabled: yes\n') }).faults, [
      'config/users.yaml:5:24 users[0].assistant_enabled: must be one of 0, 1, true or false, not "yes"',
    ])
  })

  it('names an unknown role where it stands and suggests the one that was meant', () => {
    const { faults } = read({
      users: [
        'users:',
        '  - email: a@example.com',
        '    full_name: A',
        '    roles:',
        '    - System Manager',
        '    - Assitant User',
        '  - {email: b@example.com, full_name: B, roles: [Nonsense At All]}',
        '',
      ].join('\n'),
    })
    assert.deepEqual(faults, [
      'config/users.yaml:6:7 users[0].roles[1]: unknown role "Assitant User"; did you mean "Assistant User"?',
      'config/users.yaml:7:50 users[1].roles[0]: unknown role "Nonsense At All"',
    ])
  })

  it('refuses an address twice, in whatever case', () => {
    const { faults } = read({ users: user('  - email: A@EXAMPLE.com\n    full_name: B\n    roles: []\n') })
    assert.deepEqual(faults, [
      'config/users.yaml:5:12 users[1].email: "A@EXAMPLE.com" is already given at config/users.yaml:2',
    ])
  })

  it('reports all faults of all users at once', () => {
    const { faults } = read({
      users:
        'users:\n  - email: nobody\n    name: A\n    roles: x\n  - full_name: B\n    email: b@example.com\n    roles: [1]\n    enabled: 1\n',
    })
    assert.deepEqual(faults, [
      'config/users.yaml:2:5 users[0]: "full_name" is required',
      'config/users.yaml:3:5 users[0].name: unknown key; there are email, full_name, enabled, assistant_enabled, roles',
      'config/users.yaml:2:12 users[0].email: "nobody" is not a valid email',
      'config/users.yaml:4:12 users[0].roles: must be array, not string',
      'config/users.yaml:8:14 users[1].enabled: must be boolean, not number',
      'config/users.yaml:7:13 users[1].roles[0]: must be string, not number',
    ])
  })

  it('cannot do without the file', () => {
    assert.deepEqual(read({}).faults, ['config/users.yaml:1:1 there is no such file'])
    assert.deepEqual(read({ users: '' }).faults, ['config/users.yaml:1:1 is empty'])
  })
})

describe('reading roles', () => {
  const users = 'users: []\n'

  it('knows the three that the program asks for without a file, and lets a file describe them', () => {
    const { people, faults } = read({ users })
    assert.deepEqual(faults, [])
    assert.deepEqual([...people.roles.keys()], ['System Manager', 'Assistant Admin', 'Assistant User'])
    const described = read({
      users,
      roles: 'roles:\n  - name: System Manager\n    description: The boss.\n',
    }).people
    assert.equal(described.roles.get('System Manager')?.description, 'The boss.')
    assert.equal(described.roles.get('System Manager')?.source, 'config/roles.yaml:2')
    assert.equal(described.roles.size, 3)
  })

  it('refuses a role twice, one that differs from another only in case, and odd names', () => {
    const { faults } = read({
      users,
      roles: 'roles:\n  - name: Sales\n  - name: sales\n  - name: Assistant user\n',
    })
    assert.deepEqual(faults, [
      'config/roles.yaml:3:11 roles[1].name: "sales" is already given in line 2',
      'config/roles.yaml:4:11 roles[2].name: "Assistant user" is built in as "Assistant User"',
    ])
    assert.deepEqual(read({ users, roles: 'roles:\n  - name: Clerk,System Manager\n' }).faults, [
      'config/roles.yaml:2:11 roles[0].name: must be one line without commas, which part the roles that row-level security is told, not "Clerk,System Manager"',
    ])
    for (const name of ['""', '" x"', '"x "', '"a\\nb"', '"\\0"']) {
      assert.equal(read({ users, roles: `roles:\n  - name: ${name}\n` }).faults.length, 1, name)
    }
  })
})
