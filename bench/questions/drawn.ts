/**
 * A company that is drawn by chance: what its doctypes and fields are called, what stands in them, and what is asked, so
 * that nothing in the service can be made for the companies that ship. The same seed draws the same.
 */
import { stringify } from 'yaml'
import type { Company, CompanyPlan } from './company.ts'
import { type Call, count, link, list, type Question, question, sql, totals, tries } from './asked.ts'
import { day, monthAt } from './dates.ts'
import { plain } from './asked.ts'

export interface Draw {
  /** A number from 0 to below `below`. */
  below(below: number): number
  of<T>(list: readonly T[]): T
  /** So many of them, in another order. */
  some<T>(list: readonly T[], many: number): T[]
}

/** Draws by a seed (mulberry32). */
export function drawBy(seed: number): Draw {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (most: number): number => Math.floor(next() * most)
  return {
    below,
    of: (of) => of[below(of.length)]!,
    some: (of, many) => {
      const rest = [...of]
      return Array.from({ length: Math.min(many, rest.length) }, () => rest.splice(below(rest.length), 1)[0]!)
    },
  }
}

const words = {
  things: ['Vessel', 'Orchard', 'Band', 'Exhibit', 'Beehive', 'Test Track', 'Greenhouse', 'Choir'],
  events: [
    'Port Call',
    'Harvest',
    'Concert Booking',
    'Loan Request',
    'Inspection',
    'Test Run',
    'Watering',
    'Rehearsal',
  ],
  kinds: ['grade', 'season', 'class', 'priority', 'route', 'colour'],
  places: ['district', 'quay', 'hall', 'garden', 'floor'],
  amounts: ['charge', 'cost', 'yield_value', 'deposit'],
  numbers: ['tonnes', 'crew', 'boxes', 'visitors'],
  days: ['held_on', 'arrival', 'planned_for', 'picked_on'],
  people: ['handled_by', 'guide', 'keeper'],
  options: ['Amber', 'Blue', 'Early', 'Late', 'First Class', 'In Transit', 'On Hold', 'Very Urgent'],
  states: ['Planned', 'Under Way', 'Finished', 'Put Off', 'Void'],
  towns: ['Århus', 'São Paulo', 'Kraków', 'Łódź', 'Nîmes', 'Tromsø', 'Genève', 'Málaga'],
  names: ['Jörg', 'Zoë', 'Björk', 'Grüne', 'Weiße', 'Ærø', 'Ñandú', 'Łuna', 'Große', 'Éclair'],
  surnames: ['Möwe', 'Star', 'Hope', 'Straße', 'Quelle', 'Høst'],
}
const people = { worker: 'wera@drawn.example', chief: 'chris@drawn.example' }

/** A company and what it is asked; questions whose answer is nothing are left out once the rows are known. */
export function drawCompany(seed: number): {
  readonly plan: CompanyPlan
  questions(company: Company, many: number): Promise<Question[]>
} {
  const draw = drawBy(seed)
  const names = drawNames(draw)
  return {
    plan: planOf(names),
    async questions(company, many) {
      const found: Question[] = []
      const texts = new Set<string>()
      for (let tried = 0; found.length < many && tried < many * 20; tried++) {
        const one = questionOf(names, draw, tried)
        const truth = await company.truth(one.person, one.truth)
        const nothing = truth.every((row) => row.every((cell) => ['', '0.00'].includes(plain(cell))))
        if (nothing || texts.has(one.text)) continue
        texts.add(one.text)
        found.push(one)
      }
      return found
    },
  }
}

function drawNames(draw: Draw) {
  return {
    thing: draw.of(words.things),
    event: draw.of(words.events),
    kind: draw.of(words.kinds),
    place: draw.of(words.places),
    amount: draw.of(words.amounts),
    number: draw.of(words.numbers),
    day: draw.of(words.days),
    person: draw.of(words.people),
    options: draw.some(words.options, 4),
    states: draw.some(words.states, 4),
    towns: draw.some(words.towns, 4),
    first: draw.some(words.names, 5),
    last: draw.some(words.surnames, 4),
  }
}

type Names = ReturnType<typeof drawNames>

const tableOf = (doctype: string): string => doctype.toLowerCase().replaceAll(' ', '_')

function planOf(names: Names): CompanyPlan {
  const linked = tableOf(names.thing)
  const all = ['read', 'write', 'create', 'delete', 'report']
  const thingFile = {
    doctype: names.thing,
    naming: { rule: 'field', field: 'full_name' },
    title_field: 'full_name',
    search_fields: ['full_name', names.place],
    fields: [
      { fieldname: 'full_name', type: 'text', required: true, length: 100 },
      { fieldname: names.kind, type: 'select', options: names.options },
      { fieldname: names.place, type: 'text', length: 80 },
    ],
    permissions: [{ role: 'Assistant User', actions: all }],
  }
  const eventFile = {
    doctype: names.event,
    naming: { rule: 'series', series: 'E-####' },
    submittable: true,
    search_fields: [linked, 'remark'],
    fields: [
      { fieldname: linked, type: 'link', doctype: names.thing, required: true },
      { fieldname: names.day, type: 'date', required: true },
      { fieldname: 'state', type: 'select', options: names.states },
      { fieldname: names.amount, type: 'currency' },
      { fieldname: names.number, type: 'integer' },
      { fieldname: names.person, type: 'text', length: 200, description: 'E-mail address of the user.' },
      { fieldname: 'remark', type: 'text', length: 200 },
    ],
    permissions: [
      {
        role: 'Worker',
        actions: all,
        when: `doc.${names.person} = user.id or doc.state != '${names.states[0]!}'`,
      },
      { role: 'Chief', actions: [...all, 'submit', 'cancel'] },
    ],
  }
  const seeds = [
    {
      doctype: names.thing,
      count: 20,
      owners: [people.worker, people.chief],
      created: ['2025-12-01', '2026-01-31'],
      fields: {
        full_name: { product: [names.first, names.last] },
        [names.kind]: { pick: names.options },
        [names.place]: { pick: names.towns },
      },
    },
    {
      doctype: names.event,
      count: 90,
      owners: [people.worker, people.chief],
      created: ['2026-02-01', '2026-06-29'],
      submit: 0.7,
      fields: {
        [linked]: { link: names.thing },
        [names.day]: { date: ['2026-02-01', '2026-08-30'] },
        state: { pick: names.states },
        [names.amount]: { number: [10, 3000], step: 0.25 },
        [names.number]: { number: [0, 60] },
        [names.person]: { pick: [people.worker, people.chief, people.worker] },
        remark: { pick: ['100 % done', "the owner's wish", 'a, b and c', 'see "list"'], chance: 0.6 },
      },
    },
  ]
  const role = (name: string) => ({ name, description: 'Drawn.' })
  const user = (email: string, fullName: string, ...roles: string[]) => ({
    email,
    full_name: fullName,
    assistant_enabled: 1,
    roles: ['Assistant User', ...roles],
  })
  return {
    name: 'drawn',
    template: 'minimal',
    people,
    visible: {
      worker: {
        [tableOf(names.event)]: `${names.person} = :me OR state IS DISTINCT FROM '${names.states[0]!}'`,
      },
    },
    more: { 'config/roles.yaml': stringify([role('Worker'), role('Chief')]).replace(/^/gm, '  ') },
    files: {
      'config/users.yaml': stringify({
        users: [user(people.worker, 'Wera Worker', 'Worker'), user(people.chief, 'Chris Chief', 'Chief')],
      }),
      [`config/doctypes/${linked}.yaml`]: stringify(thingFile),
      [`config/doctypes/${tableOf(names.event)}.yaml`]: stringify(eventFile),
      'config/seeds/drawn.yaml': stringify({ seeds }),
    },
  }
}

/** One question; each kind in turn, with what is drawn for it. */
function questionOf(names: Names, draw: Draw, turn: number): Question {
  const who = draw.of(['worker', 'chief'])
  const [t, e] = [tableOf(names.thing), tableOf(names.event)]
  const [option, state, town] = [draw.of(names.options), draw.of(names.states), draw.of(names.towns)]
  const name = `${draw.of(names.first)} ${draw.of(names.last)}`
  const [low, limit] = [draw.below(900), 1000 + draw.below(1500)]
  const month = draw.of([monthAt(-1), monthAt(-2), monthAt(-3)])
  const ask = (text: string, truth: string, obvious: any, sloppy: any, wrong: any): Question =>
    question(`${text} (${who})`, who, truth, obvious, sloppy, wrong)
  const fold = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').replaceAll('ß', 'ss')
  const counted = (filters: unknown): Call => count(names.event, filters)
  const kinds: (() => Question)[] = [
    () =>
      ask(
        `How many ${names.event}s are ${state}?`,
        `SELECT count(*) FROM ${e} WHERE state = '${state}'`,
        counted({ state }),
        counted({ state: ['eq', state.toLowerCase()] }),
        counted({ state: state.slice(1) }),
      ),
    () =>
      ask(
        `How many ${names.event}s are not ${state}?`,
        `SELECT count(*) FROM ${e} WHERE state <> '${state}' OR state IS NULL`,
        counted({ state: ['!=', state] }),
        counted([['state', 'is not', state]]),
        counted({ state: ['without', state] }),
      ),
    () =>
      ask(
        `How many ${names.event}s have ${names.amount} over ${limit}?`,
        `SELECT count(*) FROM ${e} WHERE ${names.amount} > ${limit}`,
        counted({ [names.amount]: ['>', limit] }),
        counted({ [names.amount]: { gt: String(limit) } }),
        counted({ [names.amount]: `> ${limit}` }),
      ),
    () =>
      ask(
        `How many ${names.event}s have ${names.amount} from ${low} to ${limit}?`,
        `SELECT count(*) FROM ${e} WHERE ${names.amount} BETWEEN ${low} AND ${limit}`,
        counted({ [names.amount]: ['between', [low, limit]] }),
        counted({ [names.amount]: ['between', low, limit] }),
        counted({ [names.amount]: [low, limit] }),
      ),
    () =>
      ask(
        `What is the sum of ${names.amount} of ${month[0].slice(0, 7)} by state?`,
        `SELECT state, sum(${names.amount}) FROM ${e} WHERE ${names.day} BETWEEN '${month[0]}' AND '${month[1]}' GROUP BY 1`,
        totals(names.event, `sum ${names.amount}`, ['state'], { [names.day]: ['between', month] }),
        totals(names.event, `sum ${names.amount}`, ['state'], {
          [names.day]: { gte: month[0], lte: month[1] },
        }),
        totals(names.event, `sum ${names.amount}`, ['status'], { [names.day]: month }),
      ),
    () =>
      ask(
        `Which ${names.event} has the most ${names.amount}?`,
        `SELECT name, ${names.amount} FROM ${e} ORDER BY ${names.amount} DESC LIMIT 1`,
        list(names.event, {}, ['name', names.amount], { order_by: `${names.amount} desc`, limit: 1 }),
        list(names.event, '{}', ['name', names.amount], { order_by: `${names.amount} DESC`, limit: '1' }),
        list(names.event, {}, ['name', names.amount], { order_by: `max ${names.amount}`, limit: 1 }),
      ),
    () =>
      ask(
        `How many ${names.thing}s are in ${town}?`,
        `SELECT count(*) FROM ${t} WHERE ${names.place} = '${town}'`,
        count(names.thing, { [names.place]: town }),
        count(names.thing, { [names.place]: ['equals', town] }),
        count(names.thing, { [names.place]: town.toLowerCase() }),
      ),
    () =>
      ask(
        `Which ${names.thing}s are ${option}?`,
        `SELECT name FROM ${t} WHERE ${names.kind} = '${option}'`,
        list(names.thing, { [names.kind]: option }, ['name']),
        list(names.thing, { [names.kind]: ['=', option.toLowerCase()] }, ['name']),
        list(names.thing, { [names.kind]: `${option}s` }, ['name']),
      ),
    () =>
      ask(
        `How many ${names.event}s has ${name}?`,
        `SELECT count(*) FROM ${e} WHERE ${t} = '${name}'`,
        counted({ [t]: name }),
        counted({ [t]: ['=', ` ${name} `] }),
        counted({ [t]: fold === name ? name.toUpperCase() : fold }),
      ),
    () =>
      ask(
        `Find ${fold}.`,
        `SELECT name FROM ${t} WHERE name = '${name}'`,
        link(names.thing, fold),
        link(names.thing, fold.toLowerCase()),
        link(names.thing, fold.slice(0, -1)),
      ),
    () =>
      ask(
        `Which ${names.thing}s have ${names.first[0]!} in their name?`,
        `SELECT name FROM ${t} WHERE name LIKE '%${names.first[0]!}%'`,
        list(names.thing, { full_name: ['contains', names.first[0]!] }, ['name']),
        list(names.thing, { full_name: { contains: names.first[0]!.toLowerCase() } }, ['name']),
        list(names.thing, { full_name: ['regex', names.first[0]!] }, ['name']),
      ),
    () =>
      ask(
        `How many ${names.event}s were there in the last 45 days?`,
        `SELECT count(*) FROM ${e} WHERE ${names.day} BETWEEN current_date - 45 AND current_date`,
        tries(
          counted({ [names.day]: ['between', ['today-45', 'today']] }),
          counted({ [names.day]: ['between', [day(-45), day(0)]] }),
        ),
        counted([
          [names.day, '>=', day(-45)],
          [names.day, '<=', day(0)],
        ]),
        counted({ [names.day]: 'last 45 days ago' }),
      ),
    () =>
      ask(
        `How many ${names.event}s are mine?`,
        `SELECT count(*) FROM ${e} WHERE ${names.person} = :me`,
        tries(
          counted({ [names.person]: 'me' }),
          counted({ [names.person]: people[who as keyof typeof people] }),
        ),
        counted({ [names.person]: people[who as keyof typeof people] }),
        counted({ [names.person]: who === 'chief' ? 'Chris' : 'Wera' }),
      ),
    () =>
      ask(
        `How much ${names.amount} is there by ${names.kind} of the ${names.thing}, submitted?`,
        `SELECT t.${names.kind}, sum(e.${names.amount}) FROM ${e} e JOIN ${t} t ON t.name = e.${t} WHERE e.docstatus = 1 GROUP BY 1`,
        sql(
          `SELECT t.${names.kind}, sum(e.${names.amount}) FROM ${e} e JOIN ${t} t ON t.name = e.${t} WHERE e.docstatus = 1 GROUP BY 1`,
        ),
        tries(
          totals(names.event, `sum ${names.amount}`, [`${t}.${names.kind}`], { docstatus: 1 }),
          sql(
            `SELECT t.${names.kind}, SUM(e.${names.amount}) FROM "${names.event}" e JOIN "${names.thing}" t ON e.${t} = t.name WHERE e.docstatus = 1 GROUP BY t.${names.kind};`,
          ),
        ),
        totals(names.event, `sum ${names.amount}`, [names.kind], { docstatus: 1 }),
      ),
    () =>
      ask(
        `How many ${names.event}s have no remark?`,
        `SELECT count(*) FROM ${e} WHERE remark IS NULL`,
        counted({ remark: ['is', 'not set'] }),
        counted({ remark: null }),
        counted({ remark: ['=', 'null'] }),
      ),
    () =>
      ask(
        `How many ${names.event}s say "100 %"?`,
        `SELECT count(*) FROM ${e} WHERE remark LIKE '%100 %'`,
        counted({ remark: ['contains', '100 %'] }),
        counted({ remark: ['includes', '100 %'] }),
        counted({ remark: ['matches', '100 %'] }),
      ),
    () =>
      ask(
        `What is the average of ${names.number} by month?`,
        `SELECT strftime(${names.day}, '%Y-%m'), avg(${names.number}) FROM ${e} GROUP BY 1`,
        totals(names.event, `avg ${names.number}`, [`${names.day}:month`]),
        totals(names.event, `average ${names.number}`, [`${names.day}:Month`]),
        totals(names.event, `avg ${names.number}`, [`${names.day}:monthly_`]),
      ),
    () =>
      ask(
        `What is the sum of ${names.amount}, submitted ones only?`,
        `SELECT sum(${names.amount}) FROM ${e} WHERE docstatus = 1`,
        totals(names.event, `sum ${names.amount}`, [], { docstatus: 1 }),
        totals(names.event, `sum ${names.amount}`, [], { docstatus: 'Submitted' }),
        totals(names.event, `sum ${names.amount}`),
      ),
    () =>
      ask(
        `How many ${names.event}s have ${names.number} of ${low % 60} at least and are ${state}?`,
        `SELECT count(*) FROM ${e} WHERE ${names.number} >= ${low % 60} AND state = '${state}'`,
        counted({ [names.number]: ['>=', low % 60], state }),
        counted([
          [names.number, 'at least', String(low % 60)],
          ['state', '=', state],
        ]),
        counted({ [names.number]: [low % 60, '>='], state }),
      ),
  ]
  return kinds[turn % kinds.length]!()
}
