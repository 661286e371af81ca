/** Filters as models write them: each finds what it says, or is refused in words; none answers something else. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { aggregateDocuments } from '../../src/documents/asking/aggregating.ts'
import { countDocuments } from '../helpers/count-documents.ts'
import { exportDocuments } from '../../src/documents/asking/exporting.ts'
import { getDocument, listDocuments } from '../../src/documents/asking/reading.ts'
import { searchDocuments, suggestLinks } from '../../src/documents/asking/searching.ts'
import type { Principal } from '../../src/core/principal.ts'
import type { Documents } from '../../src/documents/documents.ts'
import { readTableRows } from '../../src/documents/reports/tables.ts'
import { bulkUpdate, deleteDocument } from '../../src/documents/writing/updating.ts'
import { openCompany, siteOf, someone } from './trading-company.ts'

const ann = someone('ann@example.com', 'Assistant User')
const place = `
doctype: Place
naming: {rule: hash}
fields:
  - {fieldname: city, type: text}
  - {fieldname: people, type: integer}
  - {fieldname: kind, type: select, options: [Town, City]}
  - {fieldname: since, type: date}
permissions:
  - {role: Assistant User, actions: [read, create]}`
const places = [
  { city: 'Hamburg', people: 10, kind: 'City', since: '2026-01-10' },
  { city: 'hamm', people: 20, kind: 'Town', since: '2026-02-10' },
  { city: 'Bern', people: 30, kind: 'City', since: '2026-03-10' },
  { city: 'Kiel, Ost', people: 40, kind: 'Town', since: '2026-04-10' },
  { city: '100% Urg', people: 50, since: '2026-05-10' },
  { people: 60 },
]
type Place = (typeof places)[number]
const city = ({ city: of }: Place): string => of?.toLowerCase() ?? ''

async function open(t: TestContext): Promise<(filters: unknown) => Promise<readonly unknown[]>> {
  const files = siteOf({ 'config/doctypes/place.yaml': place })
  const { documents } = await openCompany(t, { files, seeds: false })
  for (const one of places) await createDocument(documents, ann, 'Place', one)
  return async (filters) => {
    const query = { doctype: 'Place', fields: ['people'], filters, orderBy: 'people' }
    const { data: rows, total } = await listDocuments(documents, ann, query)
    assert.equal(total, rows.length)
    return rows.map((row) => row['people'])
  }
}

/** What is written, and which places it means. */
const right: readonly (readonly [filters: unknown, means: (one: Place) => boolean])[] = [
  ...['contains', 'Contains', 'has', 'includes', 'icontains'].map(
    (word) => [{ city: [word, 'URG'] }, (one: Place) => city(one).includes('urg')] as const,
  ),
  [{ city: ['contains', '0%'] }, (one) => city(one).includes('0%')],
  [{ city: ['not contains', 'urg'] }, (one) => !city(one).includes('urg')],
  [{ city: ['does not contain', 'urg'] }, (one) => !city(one).includes('urg')],
  ...['starts with', 'starts_with', 'startswith', 'begins with'].map(
    (word) => [{ city: [word, 'Ham'] }, (one: Place) => city(one).startsWith('ham')] as const,
  ),
  [{ city: ['ilike', '%HAM%'] }, (one) => city(one).includes('ham')],
  ...['!=', 'ne', 'not', 'is not', 'not equals', '<>', '$ne', 'not_equal'].map(
    (word) => [{ city: [word, 'Bern'] }, (one: Place) => one.city !== 'Bern'] as const,
  ),
  [{ people: ['gt', 30] }, ({ people }) => people > 30],
  [{ people: ['greater_than', '30'] }, ({ people }) => people > 30],
  [{ people: ['gte', 30] }, ({ people }) => people >= 30],
  [{ people: { $lte: 30 } }, ({ people }) => people <= 30],
  [{ people: { '>': 10, '<': 40 } }, ({ people }) => people > 10 && people < 40],
  [{ people: ['between', 20, 40] }, ({ people }) => people >= 20 && people <= 40],
  [{ people: ['between', [20, 40]] }, ({ people }) => people >= 20 && people <= 40],
  [['people', 'between', 20, 40], ({ people }) => people >= 20 && people <= 40],
  [['Place', 'people', '=', 20], ({ people }) => people === 20],
  [
    [['people', '>=', 20], { field: 'people', operator: '<', value: 40 }],
    (one) => one.people >= 20 && one.people < 40,
  ],
  [{ city: ['in', ['Bern', 'hamm']] }, (one) => one.city === 'Bern' || one.city === 'hamm'],
  [{ city: ['in', 'Bern, hamm'] }, (one) => one.city === 'Bern' || one.city === 'hamm'],
  [{ city: ['in', 'Kiel, Ost'] }, (one) => one.city === 'Kiel, Ost'],
  [{ city: ['in', '["Kiel, Ost"]'] }, (one) => one.city === 'Kiel, Ost'],
  [{ city: ['not_in', ['Bern']] }, (one) => one.city !== 'Bern'],
  [{ city: ['is', 'not set'] }, (one) => one.city === undefined],
  [{ city: ['is', null] }, (one) => one.city === undefined],
  [{ city: ['is not', null] }, (one) => one.city !== undefined],
  [{ since: ['on or after', '2026-03-10'] }, ({ since = '' }) => since >= '2026-03-10'],
  [{ since: ['like', '2026-03%'] }, ({ since = '' }) => since.startsWith('2026-03')],
  ['{"people": [">", 40]}', ({ people }) => people > 40],
  ['[["people", "=", 10]]', ({ people }) => people === 10],
  ['', () => true],
  [undefined, () => true],
  // Today is the first of July 2026, a Wednesday.
  [{ since: 'last quarter' }, ({ since = '' }) => since >= '2026-04-01' && since <= '2026-06-30'],
  [{ since: '2026-Q1' }, ({ since = '' }) => since !== '' && since <= '2026-03-31'],
  [{ since: ['!=', '2026-03'] }, ({ since = '' }) => !since.startsWith('2026-03')],
  [{ since: ['<', '2026-03'] }, ({ since = 'z' }) => since < '2026-03-01'],
  [{ since: ['<=', '2026-03'] }, ({ since = 'z' }) => since <= '2026-03-31'],
  [{ since: ['>', '2026-03'] }, ({ since = '' }) => since > '2026-03-31'],
  [{ since: ['>=', 'today-100'] }, ({ since = '' }) => since >= '2026-03-23'],
  [
    { since: ['between', ['start of this year', 'last month']] },
    ({ since = '' }) => since >= '2026-01-01' && since <= '2026-05-31',
  ],
  [{ since: ['between', '2026-02', '2026-03'] }, ({ since = '' }) => /-0[23]-/.test(since)],
  [{ since: ['not between', '2026-02', '2026-03'] }, ({ since = '' }) => !/-0[23]-/.test(since)],
  [{ creation: 'today' }, () => true],
  [{ creation: '2026-07-01' }, () => true],
  [{ creation: ['!=', '2026-07-01'] }, () => false],
  [{ creation: ['<', 'today'] }, () => false],
  [{ owner: 'me' }, () => true],
  [{ owner: ['in', ['me']] }, () => true],
  [{ docstatus: 'Draft' }, () => true],
  [{ docstatus: ['!=', 0] }, () => false],
  [{ kind: ['contains', 'tow'] }, ({ kind }) => kind === 'Town'],
]

/** What is written, and what is said to it. */
const wrong: readonly (readonly [filters: unknown, says: RegExp])[] = [
  [
    { city: ['Bern', 'hamm'] },
    /a list is \[operator, value\], such as \["in", \["a", "b"\]\].*unknown operator "Bern"; use one of =, !=/,
  ],
  [{ city: ['Bern'] }, /unknown operator "Bern"/],
  [{ people: [10, 20] }, /such as \["in", .*has no operator/],
  [{ city: ['ends with', 'burg'] }, /unknown operator "ends with"/],
  [{ city: ['regex', '^Ham'] }, /unknown operator "regex"/],
  [{ city: ['~', 'Ham'] }, /unknown operator "~"/],
  [{ city: { $regex: '^Ham' } }, /unknown operator "\$regex"/],
  [{ city: ['=', 'a', 'b'] }, /no single value for =/],
  [{ city: ['contains', ''] }, /contains takes a text such as "acme"/],
  [{ people: ['like', '%1%'] }, /people: like compares texts, and this is a integer/],
  [{ people: ['contains', '1'] }, /contains compares texts/],
  [{ people: {} }, /people: \{\} has no operator/],
  [{ town: 'Bern' }, /unknown field "town"/],
  [{ 'visits.helper': 'x' }, /only fields of Place itself fit here; query_and_analyze joins/],
  [{ kind: 'Village' }, /kind: .*Town/],
  [[['city', 'is', 'Bern']], /is takes "set" or "not set"/],
  [[['city', 'contains']], /must be \[field, operator, value\]/],
  ['status = Open', /must be an object such as/],
  [7, /must be an object such as/],
  [{ since: ['in', ['2026-03']] }, /is a period, 2026-03-01 to 2026-03-31/],
  [{ since: 'soon' }, /must be a date such as 2026-03-31, or today, today-30, .*last quarter/],
  [{ since: ['between', '2026-04-01', '2026-03-01'] }, /between takes \[from, to\], the smaller one first/],
  [{ people: ['between', 9, 1] }, /the smaller one first/],
  [{ creation: ['in', ['2026-07-01']] }, /must be a date and time, not "2026-07-01", which is a day or more/],
  [{ city: ['in', []] }, /in takes a list of one to 1000 values/],
  [{ docstatus: 7 }, /docstatus: must be one of draft, submitted, cancelled or 0, 1, 2, not 7/],
  [{ docstatus: 'open' }, /must be one of draft, submitted, cancelled/],
  [{ kind: ['contains', 'vill'] }, /no option has "vill" in it; they are Town, City/],
  [{ kind: ['like', '%vill%'] }, /no option has/],
  [{ owner: 'sam' }, /owner: there is no user "sam"; a user is an e-mail address, or me/],
  [{ name: 'nowhere' }, /name: there is no Place "nowhere" that you may read/],
]

describe('filters as models write them', () => {
  it('find what they say, in every spelling that has one meaning', async (t) => {
    const found = await open(t)
    for (const [filters, means] of right)
      assert.deepEqual(
        await found(filters),
        places.filter(means).map(({ people }) => people),
        JSON.stringify(filters),
      )
  })

  it('are refused with what there is where they could mean two things, or nothing', async (t) => {
    const found = await open(t)
    for (const [filters, says] of wrong)
      await assert.rejects(
        found(filters),
        (error) => error instanceof AppError && error.code === 'invalid' && says.test(error.message),
        `${JSON.stringify(filters)} is not refused with ${String(says)}`,
      )
  })
})

describe('a text that begins like an operator', () => {
  it('is a text where nothing has what follows it, and else is refused with the form that was meant', async (t) => {
    const files = siteOf({ 'config/doctypes/place.yaml': place })
    const { documents } = await openCompany(t, { files, seeds: false })
    for (const one of places) await createDocument(documents, ann, 'Place', one)
    const count = async (city: string): Promise<unknown> =>
      await countDocuments(documents, ann, 'Place', { city }).catch((error: AppError) => error.message)
    for (const none of [
      'One of many',
      'In stock',
      'Contains nuts',
      'Like no other, or nearly',
      'Equal terms',
    ])
      assert.equal(await count(none), 0, none)
    assert.match(String(await count('one of HAMBURG, Rome')), /did you mean \["in", …\]\?/)
    assert.match(String(await count('contains amburg')), /did you mean \["contains", …\]\?/)
    assert.match(String(await count('starts with "Ham"')), /did you mean \["starts with", …\]\?/)
    // Of these, the other reading would find something.
    assert.match(String(await count('not Rome')), /did you mean \["!=", …\]\?/)
    assert.match(String(await count('> 5')), /did you mean \[">", …\]\?/)
    await createDocument(documents, ann, 'Place', { city: 'One of many' })
    assert.equal(await count('One of many'), 1)
  })
})

describe('names in filters', () => {
  const files = siteOf({
    'config/doctypes/place.yaml': place
      .replace('naming: {rule: hash}', 'naming: {rule: field, field: city}')
      .replace('city, type: text', 'city, type: text, required: true')
      .replace('fields:', 'fields:\n  - {fieldname: note, type: text}'),
    'config/users.yaml':
      'users: [{ email: hr@example.com, full_name: H, roles: [Assistant User], assistant_enabled: 1 }]',
    'config/doctypes/visit.yaml': `
doctype: Visit
naming: {rule: hash}
fields:
  - {fieldname: place, type: link, doctype: Place}
  - {fieldname: helper, type: text}
  - {fieldname: report, type: text}
permissions:
  - {role: Assistant User, actions: [read, create, write], when: "doc.owner = user.id or doc.helper = user.id"}`,
  })
  const company = async (t: TestContext): Promise<Documents> => {
    const { documents } = await openCompany(t, { files, seeds: false })
    for (const [city, note] of [['Müller Bau', 'Rainy'], ['Becker Bau', 'Dry'], ['Gärtnerei Strauß']])
      await createDocument(documents, ann, 'Place', { city, note })
    await createDocument(documents, ann, 'Visit', { place: 'Müller Bau', helper: 'me' })
    await createDocument(documents, ann, 'Visit', { place: 'Becker Bau' })
    return documents
  }
  const refusal = async (work: Promise<unknown>): Promise<string> => {
    const error = await work.then(
      () => assert.fail('it is not refused'),
      (thrown: unknown) => thrown,
    )
    assert.ok(error instanceof AppError, String(error))
    return error.message
  }

  it('of no document are refused with what was meant, in whatever spelling, by each verb that takes filters', async (t) => {
    const documents = await company(t)
    const says = /place: there is no Place "Mueller Bau" that you may read; did you mean "Müller Bau"\?/
    for (const filters of [
      { place: 'Mueller Bau' },
      { place: ['!=', 'Mueller Bau'] },
      { place: ['in', ['Becker Bau', 'Mueller Bau']] },
      { place: ['not in', ['Mueller Bau']] },
    ]) {
      assert.match(await refusal(listDocuments(documents, ann, { doctype: 'Visit', filters })), says)
      assert.match(await refusal(countDocuments(documents, ann, 'Visit', filters)), says)
      assert.match(await refusal(aggregateDocuments(documents, ann, { doctype: 'Visit', filters })), says)
      assert.match(await refusal(bulkUpdate(documents, ann, 'Visit', { filters }, { helper: 'x' })), says)
      assert.match(
        await refusal(readTableRows(documents, ann, { doctype: 'Visit', filters, limit: 9 })),
        says,
      )
    }
    assert.equal(await countDocuments(documents, ann, 'Visit', { helper: 'x' }).catch(() => 0), 0)
    for (const spelt of ['muller bau', 'MUELLER', 'Müler Bau', 'Gaertnerei Strauss', 'gartnerei'])
      assert.match(
        await refusal(countDocuments(documents, ann, 'Visit', { place: spelt })),
        /did you mean "(Müller Bau|Gärtnerei Strauß)"/,
      )
  })

  it('in texts that nothing has are refused where something near is there, and else find nothing', async (t) => {
    const documents = await company(t)
    const asked = (filters: unknown): Promise<number> => countDocuments(documents, ann, 'Place', filters)
    for (const [filters, says] of [
      [{ city: ['=', 'gartnerei straus'] }, /city: no Place .*did you mean "Gärtnerei Strauß"/],
      [{ note: 'rainy' }, /note: no Place that you may read has "rainy"; did you mean "Rainy"\?/],
      [{ note: ['!=', 'Rainy '] }, /did you mean "Rainy"/],
      [{ note: ['in', ['Dry', 'Rany']] }, /note: .* has "Rany"; did you mean "Rainy"/],
      [{ note: ['not in', '(Rainy, Dry)'] }, /did you mean "Rainy"/],
      [{ note: ['contains', 'raimy'] }, /note: .* contains "raimy"; did you mean "Rainy"/],
      [{ note: ['not contains', '%Rainy%'] }, /did you mean "Rainy"/],
      [{ note: ['starts with', '"Rai'] }, /did you mean "Rainy"/],
      [{ city: ['like', '%Mueller%'] }, /city: .* is like "%Mueller%"; did you mean "Müller( Bau)?"/],
      [{ note: '!= Rainy' }, /did you mean \["!=", …\]/],
      [{ note: 'contains Rainy' }, /did you mean \["contains", …\]/],
      [{ note: '["=", "Rainy"]' }, /did you mean the list itself, not in a text/],
      [{ note: 'null' }, /did you mean \["is", "not set"\]/],
      [{ note: ['is not', 'set'] }, /did you mean \["is", "not set"\]/],
    ] as const)
      assert.match(await refusal(asked(filters)), says, JSON.stringify(filters))
    assert.deepEqual(
      [
        await asked({ note: 'Hailstones' }),
        await asked({ note: ['!=', 'Hailstones'] }),
        await asked({ note: ['in', 'Rainy, Dry'] }),
        await asked({ note: ['contains', 'RAIN'] }),
        await asked({ note: ['contains', 'Hailstones'] }),
        // What is near is the text itself, which stands elsewhere.
        await asked({ city: ['starts with', 'Strauß'] }),
      ],
      [0, 3, 2, 1, 0, 0],
    )
  })

  it('in texts suggest nothing that the caller may not read', async (t) => {
    const documents = await company(t)
    const eve = someone('eve@example.com', 'Assistant User')
    await createDocument(documents, eve, 'Visit', { place: 'Müller Bau', report: 'All well' })
    assert.match(
      await refusal(countDocuments(documents, eve, 'Visit', { report: 'all well' })),
      /did you mean "All well"/,
    )
    assert.equal(await countDocuments(documents, ann, 'Visit', { report: 'all well' }), 0)
  })

  it('of a document that is gone still find those that name it', async (t) => {
    const documents = await company(t)
    const boss = someone('root@example.com', 'System Manager')
    await deleteDocument(documents, boss, 'Place', 'Müller Bau', { force: true })
    assert.equal(await countDocuments(documents, ann, 'Visit', { place: 'Müller Bau' }), 1)
  })

  it('are looked up, suggested and searched without regard to marks, case, ue and ss', async (t) => {
    const documents = await company(t)
    for (const typed of ['Mueller', 'muller', 'MÜLLER', 'müll', 'Muell']) {
      const { suggestions, total } = await suggestLinks(documents, ann, { doctype: 'Place', typed, limit: 5 })
      assert.deepEqual([suggestions.map(({ value }) => value), total], [['Müller Bau'], 1], typed)
      const { results } = await searchDocuments(documents, ann, { words: `${typed} bau`, limit: 5 })
      assert.equal(results[0]?.name, 'Müller Bau', typed)
    }
    const { results } = await searchDocuments(documents, ann, { words: 'gaertnerei strauss', limit: 5 })
    assert.deepEqual(
      results.map(({ name }) => name),
      ['Gärtnerei Strauß'],
    )
    assert.match(
      await refusal(getDocument(documents, ann, 'Place', 'Muller Bau')),
      /there is no Place "Muller Bau" that you may read; did you mean "Müller Bau"\?/,
    )
  })

  it('suggest nothing that the caller may not read', async (t) => {
    const documents = await company(t)
    const eve = someone('eve@example.com', 'Assistant User')
    const hers = (await listDocuments(documents, ann, { doctype: 'Visit' })).data[0]!['name']
    assert.doesNotMatch(
      await refusal(getDocument(documents, eve, 'Visit', `${String(hers)}x`)),
      /did you mean/,
    )
    assert.match(await refusal(getDocument(documents, ann, 'Visit', `${String(hers)}x`)), /did you mean/)
  })

  it('of users tell nobody who may not list them whether an address is one', async (t) => {
    const documents = await company(t)
    const answer = (who: Principal, filters: unknown): Promise<string> =>
      countDocuments(documents, who, 'Visit', filters).then(String, (error: AppError) => error.message)
    assert.ok(
      documents.platform.people.find('hr@example.com') && !documents.platform.people.find('no@example.com'),
    )
    for (const field of ['owner', 'modified_by', 'helper'])
      for (const of of [
        (user: string) => user,
        (user: string) => user.toUpperCase(),
        (user: string) => ['!=', user],
        (user: string) => ['not in', ['ann@example.com', user]],
      ]) {
        const [is, isNot] = ['hr@example.com', 'no@example.com'].map((user) => ({ [field]: of(user) }))
        const ofUser = (await answer(ann, is)).replaceAll(/hr@/gi, 'no@')
        assert.equal(ofUser.toLowerCase(), (await answer(ann, isNot)).toLowerCase(), JSON.stringify(is))
      }
    assert.deepEqual(
      [
        await answer(ann, { owner: 'hr@example.com' }),
        await answer(ann, { owner: ['!=', 'hr@example.com'] }),
      ],
      ['0', '2'],
    )
    assert.match(
      await answer(ann, { owner: 'HR@example.com' }),
      /"HR@example.com"; did you mean "hr@example.com"/,
    )
    assert.match(
      await answer(ann, { owner: 'hr' }),
      /there is no user "hr"; a user is an e-mail address, or me/,
    )
    const admin = someone('boss@example.com', 'Assistant User', 'Assistant Admin')
    assert.match(await answer(admin, { owner: 'no@example.com' }), /owner: there is no user "no@example.com"/)
    assert.match(await answer(admin, { owner: 'HR@example.com' }), /did you mean "hr@example.com"/)
    assert.equal(await answer(admin, { owner: 'hr@example.com' }), '0')
  })

  it('say me for the asking user, where a rule says that the field holds one', async (t) => {
    const documents = await company(t)
    const { data } = await listDocuments(documents, ann, {
      doctype: 'Visit',
      fields: ['helper'],
      filters: { helper: 'me' },
    })
    assert.deepEqual(
      data.map((one) => one['helper']),
      ['ann@example.com'],
    )
  })
})

describe('filters of an export', () => {
  it('stand in the log without values of a field that others may not see', async (t) => {
    const chief = someone('boss@example.com', 'Boss')
    const files = siteOf({
      'config/doctypes/worker.yaml': `
doctype: Worker
fields:
  - {fieldname: code, type: text}
  - {fieldname: pay, type: currency, visible_to: [Boss]}
permissions:
  - {role: Clerk, actions: [read]}
  - {role: Boss, actions: [read, create]}`,
    })
    const { documents, events } = await openCompany(t, { files, seeds: false })
    await createDocument(documents, chief, 'Worker', { code: 'W-17', pay: 99_000 })
    const filters = { pay: ['>', 54_321], code: 'W-17' }
    const text = await exportDocuments(documents, chief, { doctype: 'Worker', format: 'jsonl', filters })
    let whole = ''
    for await (const piece of text) whole += piece
    assert.match(whole, /W-17/)
    const told = JSON.stringify(events.filter(({ type }) => type === 'document.export'))
    assert.match(told, /W-17/)
    assert.doesNotMatch(told, /54321/)
  })
})
