/** What may be written to documents that lie in a table of others, and what is told of what may not. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { getDocument, listDocuments, versionOf } from '../../src/documents/asking/reading.ts'
import { documentForm, newDocumentForm, possibleDeeds } from '../../src/documents/forms.ts'
import { addComment, listBelongings } from '../../src/documents/belongings.ts'
import { describeDoctype } from '../../src/documents/describing.ts'
import { accessFor, type Documents } from '../../src/documents/documents.ts'
import { historyOf } from '../../src/documents/history.ts'
import { importTarget } from '../../src/documents/importing/import-target.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import type { Tables } from '../../src/documents/tables-of-others.ts'
import { acceptOutcome, toldChanges } from '../../src/documents/told-outcomes.ts'
import { openIntentions, settleIntentions, unknownChanges } from '../../src/documents/writing/intentions.ts'
import { UnknownThere } from '#sources/in-writing.ts'
import { submitDocument } from '../../src/documents/writing/lifecycle.ts'
import { Once } from '../../src/documents/writing/once.ts'
import { bulkUpdate, deleteDocument, updateDocument } from '../../src/documents/writing/updating.ts'
import { operations } from '../../src/control/index.ts'
import type { Services } from '../../src/house/services.ts'
import { faultText } from '#site/site-files.ts'
import { type Office, openOffice } from './erp.ts'
import { item, keysTable, kinds, lot } from './erp-stock.ts'
import { admin, openCompany, siteOf, someone } from './trading-company.ts'

const ann = someone('ann@example.com', 'Clerk')
const bob = someone('bob@example.com', 'Clerk')
const boss = someone('boss@example.com', 'Boss')

interface Stock extends Office {
  /** The rows of a table, as its owner reads them. */
  readonly rows: (text: string) => Promise<readonly Record<string, unknown>[]>
}

for (const kind of kinds)
  describe(`documents that may be written in ${kind.name} of others`, { skip: kind.skip }, () => {
    const server = kind.suite()
    const { isMaria } = kind

    async function open(
      t: TestContext,
      more: { sql?: string; files?: Record<string, string>; serves?: boolean } = {},
    ): Promise<Stock> {
      const office = await openOffice(t, server, {
        user: 'writer',
        more: kind.needsKeys,
        before: `${kind.stock}; ${kind.needsKeys && kind.makesKeys} ${more.sql ?? ''}`,
        files: { 'config/doctypes/item.yaml': item, 'config/doctypes/lot.yaml': lot, ...more.files },
        ...(more.serves !== undefined && { serves: more.serves }),
      })
      return { ...office, rows: (text) => office.ask(text) }
    }

    /** Fails unless it is refused so, nothing of the tables has changed, and nothing waits for an end. */
    async function refused(
      stock: Stock,
      what: () => Promise<unknown>,
      why: RegExp,
      events: readonly string[],
    ): Promise<void> {
      const look = async () => [
        await stock.rows('SELECT * FROM erp.item'),
        await stock.rows('SELECT * FROM erp.lot'),
      ]
      const before = await look()
      stock.events.length = 0
      await assert.rejects(what(), (error: Error) => {
        assert.match(error.message, why)
        return true
      })
      assert.deepEqual(await look(), before)
      assert.deepEqual(told(stock), events)
      assert.deepEqual(await openIntentions(stock.documents.store), [])
    }

    const told = ({ events }: Stock) =>
      events.map(({ type, status, target }) => `${type} ${status} ${target}`)

    it('are made, and the name that the table gives is theirs, with its defaults and what it generates', async (t) => {
      const stock = await open(t)
      const { documents, faults, warnings, events } = stock
      assert.deepEqual(faults, [])
      assert.deepEqual(
        warnings.filter((one) => one.includes('item.yaml')),
        [],
      )
      const { document, warnings: otherwise } = await createDocument(documents, ann, 'Item', {
        title: 'Bolt',
        price: 1.5,
        supplier: '2',
      })
      assert.equal(document['name'], '3')
      assert.equal(document['state'], 'new', 'a default of the table')
      assert.equal(document['label'], 'BOLT', 'a generated column')
      assert.equal(document['owner'], 'ann@example.com')
      assert.deepEqual(otherwise, [])
      assert.deepEqual(
        await stock.rows('SELECT id, name, price, state, owner, supplier FROM erp.item WHERE id = 3'),
        [{ id: 3, name: 'Bolt', price: '1.50', state: 'new', owner: 'ann@example.com', supplier: 2 }],
      )
      assert.deepEqual(told(stock), ['document.intend waiting Item', 'document.create ok Item/3'])
      assert.equal(events[1]!.data!['intention'], events[0]!.data!['intention'])
      assert.deepEqual(
        (await historyOf(documents, ann, 'Item', '3', 9)).map(({ user, action }) => [user, action]),
        [['ann@example.com', 'create']],
      )
      assert.deepEqual(await openIntentions(documents.store), [])
    })

    it('are changed in the fields that may change, and what a trigger makes of that is told and kept', async (t) => {
      const stock = await open(t)
      const { documents } = stock
      const { updatedFields, warnings, document } = await updateDocument(documents, ann, 'Item', '1', {
        title: 'nut',
        price: 3,
      })
      assert.deepEqual(updatedFields, ['title', 'price', 'label', 'row_no'])
      assert.equal(document['title'], 'Nut', 'a trigger of the table')
      assert.deepEqual(warnings, [
        { field: 'title', requested: 'nut', saved: 'Nut', reason: 'stored so by its table' },
      ])
      assert.deepEqual(
        await stock.rows('SELECT name, price, row_no, changed_by FROM erp.item WHERE id = 1'),
        [{ name: 'Nut', price: '3.00', row_no: 2, changed_by: 'ann@example.com' }],
      )
      assert.deepEqual(told(stock), ['document.intend waiting Item/1', 'document.update ok Item/1'])
      const [intended, done] = stock.events
      assert.deepEqual(
        intended!.changes!.map(({ field }) => field),
        ['title', 'price'],
      )
      assert.deepEqual(
        done!.changes!.map(({ field, to }) => [field, to]),
        [
          ['title', 'Nut'],
          ['price', 3],
          ['label', 'NUT'],
          ['row_no', 2],
        ],
      )
      const [entry] = await historyOf(documents, ann, 'Item', '1', 9)
      assert.equal(entry!.action, 'update')
      const same = await updateDocument(documents, ann, 'Item', '1', { title: 'Nut' })
      assert.deepEqual(same.updatedFields, [])
      assert.equal(stock.events.length, 2, 'what changes nothing is no change')
    })

    it('are deleted with what belongs to them here', async (t) => {
      const stock = await open(t)
      const { documents } = stock
      await addComment(documents, boss, 'Item', '1', 'old')
      stock.events.length = 0
      await deleteDocument(documents, boss, 'Item', '1')
      assert.deepEqual(await stock.rows('SELECT id FROM erp.item'), [{ id: 2 }])
      assert.deepEqual(told(stock), ['document.intend waiting Item/1', 'document.delete ok Item/1'])
      assert.ok(stock.events[1]!.changes!.some(({ field, from }) => field === 'title' && from === 'Washer'))
      await assert.rejects(getDocument(documents, boss, 'Item', '1'), /there is no Item/)
      await stock.sql("INSERT INTO erp.item (id, name) VALUES (1, 'Again')")
      assert.deepEqual(await listBelongings(documents, boss, 'Item', '1', 'comment'), [])
    })

    it('have a key of several columns, or one that is given, as their name', async (t) => {
      const stock = await open(t)
      const { documents } = stock
      const { document } = await createDocument(documents, boss, 'Lot', { name: 'A/1/7', amount: 5 }).catch(
        () => createDocument(documents, boss, 'Lot', { name: 'A~11/7', amount: 5 }),
      )
      assert.equal(document['name'], 'A~11/7', 'a slash in a part is written so')
      assert.deepEqual(await stock.rows('SELECT place, line, amount FROM erp.lot WHERE line = 7'), [
        { place: 'A/1', line: 7, amount: 5 },
      ])
      await updateDocument(documents, boss, 'Lot', 'A~11/7', { amount: 6 })
      await deleteDocument(documents, boss, 'Lot', 'A~11/7')
      assert.deepEqual(await stock.rows('SELECT line FROM erp.lot'), [{ line: 1 }])
      await refused(
        stock,
        () => createDocument(documents, boss, 'Lot', { name: 'B/1', amount: 1 }),
        /its name is taken; choose another/,
        ['document.intend waiting Lot/B/1', 'document.create error Lot/B/1'],
      )
      await refused(
        stock,
        () => createDocument(documents, boss, 'Lot', { name: 'B/x', amount: 1 }),
        /no row can have the key "B\/x"/,
        [],
      )
      await refused(
        stock,
        () => createDocument(documents, boss, 'Lot', { amount: 1 }),
        /name: a document is named by it/,
        [],
      )
    })

    it('are refused at the field, in words, what the database refuses, with nothing changed', async (t) => {
      const stock = await open(t)
      const { documents } = stock
      const tried = ['document.intend waiting Item/1', 'document.update error Item/1']
      const change = (data: Record<string, unknown>) => () =>
        updateDocument(documents, ann, 'Item', '1', data)
      await refused(stock, change({ title: null }), /title: must have a value in its table/, tried)
      await refused(
        stock,
        change({ title: 'Screw' }),
        /title: cannot be used, it must be unique in its table/,
        tried,
      )
      await refused(stock, change({ price: -1 }), /price: has a value that its table does not allow/, tried)
      await refused(
        stock,
        change({ title: 'x'.repeat(21) }),
        /title: has at most 20 characters in its table, not 21/,
        [],
      )
      await refused(stock, change({ price: 1_000_000 }), /price: must be less than 1000000 in its table/, [])
      await refused(
        stock,
        change({ title: 'forbidden' }),
        /a rule of the database refuses it; its operator has been told; nothing was changed/,
        tried,
      )
      await refused(
        stock,
        () => createDocument(documents, ann, 'Item', { title: 'x', supplier: '9999' }),
        /supplier: there is no Customer "9999" that you may read/,
        [],
      )
      await refused(
        stock,
        () => createDocument(documents, ann, 'Item', { price: 1 }),
        /title: must have a value in its table/,
        ['document.intend waiting Item', 'document.create error Item'],
      )
      await stock.sql('INSERT INTO erp.part (item) VALUES (2)')
      await refused(
        stock,
        () => deleteDocument(documents, boss, 'Item', '2'),
        /other rows of the database refer to it/,
        ['document.intend waiting Item/2', 'document.delete error Item/2'],
      )
      assert.ok(
        stock.logged.some((line) => line.includes('a source refused a change')),
        'the operator is told why',
      )
    })

    it('are refused at the field what only the database knows to be unfit', async (t) => {
      const stock = await open(t, {
        sql: `ALTER TABLE erp.item ADD host ${isMaria ? 'inet4' : 'inet'}; GRANT INSERT (host), UPDATE (host) ON erp.item TO writer`,
        files: {
          'config/doctypes/item.yaml': item
            .replace('create: [title', 'create: [host, title')
            .replace('change: [title', 'change: [host, title')
            .replace('fields:\n', 'fields:\n  - { fieldname: host, type: text }\n'),
        },
      })
      const { documents } = stock
      const tried = ['document.intend waiting Item/1', 'document.update error Item/1']
      const change = (data: Record<string, unknown>) => () =>
        updateDocument(documents, ann, 'Item', '1', data)
      // MariaDB says which of several it is.
      const fits = /^Item: host: does not fit its column$/
      await change({ host: '10.0.0.1' })()
      await refused(stock, change({ host: 'here' }), fits, tried)
      await refused(
        stock,
        change({ host: 'here', price: 4 }),
        isMaria
          ? fits
          : /^Item: host: may be what does not fit its column; price: may be what does not fit its column$/,
        tried,
      )
      await refused(
        stock,
        () => createDocument(documents, boss, 'Item', { host: 'here' }),
        isMaria ? fits : /^Item: host: may be what does not fit its column$/,
        ['document.intend waiting Item', 'document.create error Item'],
      )
    })

    // In MariaDB and MySQL no trigger can.
    if (!isMaria)
      it('are refused where a trigger makes no row of it, or one that is gone', async (t) => {
        const stock = await open(t, {
          sql: `
          CREATE FUNCTION erp.swallow() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN IF coalesce(NEW.name, OLD.name) = 'swallowed' THEN RETURN NULL; END IF; RETURN coalesce(NEW, OLD); END $$;
          CREATE FUNCTION erp.vanish() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN IF NEW.name = 'Vanishes' THEN DELETE FROM erp.item WHERE id = NEW.id; END IF; RETURN NULL; END $$;
          INSERT INTO erp.lot VALUES ('C', 1, 1);
          CREATE FUNCTION erp.keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
          CREATE TRIGGER swallow BEFORE INSERT OR UPDATE ON erp.item FOR EACH ROW EXECUTE FUNCTION erp.swallow();
          CREATE TRIGGER vanish AFTER INSERT OR UPDATE ON erp.item FOR EACH ROW EXECUTE FUNCTION erp.vanish();
          CREATE TRIGGER keep BEFORE DELETE ON erp.lot FOR EACH ROW EXECUTE FUNCTION erp.keep()`,
        })
        const { documents } = stock
        const create = (title: string) => () => createDocument(documents, ann, 'Item', { title })
        const change = (title: string) => () => updateDocument(documents, ann, 'Item', '1', { title })
        const made = ['document.intend waiting Item', 'document.create error Item']
        const changed = ['document.intend waiting Item/1', 'document.update error Item/1']
        await refused(
          stock,
          create('swallowed'),
          /^Item: the database would have made 0 rows instead of one; nothing was changed$/,
          made,
        )
        await refused(
          stock,
          change('swallowed'),
          /^Item: the database would have changed 0 rows instead of one; nothing was changed$/,
          changed,
        )
        await refused(
          stock,
          create('vanishes'),
          /^Item "\d+" could not be read any more after it was written; nothing was changed$/,
          made,
        )
        await refused(
          stock,
          change('vanishes'),
          /^Item "1" could not be read any more after it was written; nothing was changed$/,
          changed,
        )
        await refused(
          stock,
          () => deleteDocument(documents, boss, 'Lot', 'C/1'),
          /^Lot: the database would have deleted 0 rows instead of one; nothing was changed$/,
          ['document.intend waiting Lot/C/1', 'document.delete error Lot/C/1'],
        )
      })

    it('are refused what the rules do not allow, on the row as it is now and as it has become', async (t) => {
      const stock = await open(t)
      const { documents } = stock
      const change =
        (who: typeof ann, data: Record<string, unknown>, name = '1') =>
        () =>
          updateDocument(documents, who, 'Item', name, data)
      await refused(stock, change(ann, { secret: 'x' }), /unknown field "secret"/, [])
      await refused(
        stock,
        () => deleteDocument(documents, ann, 'Item', '1'),
        /you may read Item "1" but not delete it/,
        [],
      )
      await refused(
        stock,
        change(ann, { title: 'Held' }),
        /your roles do not allow you to change Item "1" like this/,
        [],
      )
      await refused(
        stock,
        change(ann, { title: 'becomes held' }),
        /your roles do not allow you to change Item "1" like this/,
        ['document.intend waiting Item/1', 'document.update denied Item/1'],
      )
      await refused(
        stock,
        () => createDocument(documents, ann, 'Item', { title: 'becomes held' }),
        /do not allow you to create a Item like this/,
        ['document.intend waiting Item', 'document.create denied Item'],
      )
      await refused(
        stock,
        () => createDocument(documents, bob, 'Lot', { name: 'C/1', amount: 1 }),
        /unknown doctype|do not allow you to create/,
        [],
      )
      const read = await updateDocument(documents, ann, 'Item', '1', {
        state: 'sold',
        label: 'X',
        price: 4,
      })
      assert.deepEqual(
        read.warnings.map(({ field, reason }) => [field, reason]),
        [
          ['state', 'it is read-only'],
          ['label', 'it is read-only'],
        ],
      )
      await refused(stock, change(ann, { price: 666 }), /666 is no price/, [])
    })

    it('are refused where they were changed meanwhile, by version, by time, or by what was seen', async (t) => {
      const stock = await open(t)
      const { documents } = stock
      const first = await getDocument(documents, ann, 'Item', '1')
      const expected = (version: string) => () =>
        updateDocument(documents, ann, 'Item', '1', { price: 9 }, { expectedModified: version })
      await expected(String(first['row_no']))()
      await refused(stock, expected(String(first['row_no'])), /Item "1" was changed.*; read it again/, [])
      const of = async (who: typeof boss) => {
        const access = accessFor(documents, who, 'Lot')
        return versionOf(access, (await access.collection().get('B/1'))!)
      }
      const seen = await of(boss)
      assert.equal((await documentForm(documents, boss, 'Lot', 'B/1')).modified, seen)
      await stock.sql("UPDATE erp.lot SET amount = 77 WHERE place = 'B'")
      await refused(
        stock,
        () => updateDocument(documents, boss, 'Lot', 'B/1', { amount: 2 }, { expectedModified: seen }),
        /Lot "B\/1" was changed; read it again/,
        [],
      )
      await updateDocument(documents, boss, 'Lot', 'B/1', { amount: 2 }, { expectedModified: await of(boss) })
    })

    it('of two who change one at once, the second changes what the first has made of it', async (t) => {
      const stock = await open(t)
      const { documents } = stock
      await Promise.all(
        Array.from({ length: 12 }, (_, at) =>
          updateDocument(
            documents,
            at % 2 ? ann : bob,
            'Item',
            '1',
            at % 2 ? { price: 100 + at } : { title: `Name ${at}` },
          ),
        ),
      )
      const [row] = await stock.rows('SELECT row_no FROM erp.item WHERE id = 1')
      assert.equal(row!['row_no'], 13, 'each change was made once, on top of another')
      const both = await Promise.allSettled(
        [1, 2].map((price) =>
          updateDocument(
            documents,
            price === 1 ? ann : bob,
            'Item',
            '1',
            { price },
            { expectedModified: '13' },
          ),
        ),
      )
      assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
      const letGo = await stock.holding('UPDATE erp.item SET price = 50 WHERE id = 1')
      const waits = updateDocument(documents, ann, 'Item', '1', { price: 51 }, { expectedModified: '14' })
      await letGo()
      await waits
    })

    it('wait for a row that somebody else holds, and then say so', async (t) => {
      const stock = await open(t)
      const letGo = await stock.holding('SELECT 1 FROM erp.item WHERE id = 1 FOR UPDATE')
      await refused(
        stock,
        () => updateDocument(stock.documents, ann, 'Item', '1', { price: 2 }),
        /somebody else is changing it there just now; try again/,
        [],
      )
      await letGo()
    })

    it('are tried without a trace but what a database cannot undo', async (t) => {
      const stock = await open(t)
      const { documents } = stock
      const dry = { dryRun: true }
      const tried = await createDocument(documents, ann, 'Item', { title: 'Bolt' }, dry)
      assert.equal(tried.document['label'], 'BOLT')
      await updateDocument(documents, ann, 'Item', '1', { price: 8 }, dry)
      await deleteDocument(documents, boss, 'Item', '1', dry)
      await refused(
        stock,
        () => updateDocument(documents, ann, 'Item', '1', { price: -1 }, dry),
        /price: has a value that its table does not allow/,
        [],
      )
      assert.deepEqual(stock.events, [])
      assert.deepEqual(await stock.rows('SELECT id, price FROM erp.item ORDER BY id'), [
        { id: 1, price: '2.00' },
        { id: 2, price: null },
      ])
      const { document } = await createDocument(documents, ann, 'Item', { title: 'Bolt' })
      assert.equal(document['name'], '4', 'the number that the trial drew stays used')
    })

    it('are written once however often a call is sent, and what is not known is said', async (t) => {
      const stock = await open(t)
      const call = (id: string): Documents => ({
        ...stock.documents,
        once: new Once(stock.documents, { id, call: 'same' }, 'somebody'),
      })
      const make = (id: string) => createDocument(call(id), ann, 'Item', { title: `Of ${id}` })
      const [one, again] = [await make('a'), await make('a')]
      assert.deepEqual(again, JSON.parse(JSON.stringify(one)))
      assert.equal((await stock.rows("SELECT 1 FROM erp.item WHERE name = 'Of a'")).length, 1)
      await assert.rejects(createDocument(call('b'), ann, 'Item', { title: 'Screw' }), /must be unique/)
      await make('b')
      assert.equal(
        (await stock.rows("SELECT 1 FROM erp.item WHERE name = 'Of b'")).length,
        1,
        'what was refused may be sent again',
      )
    })

    it('refuse what they have no states and no batches for, in words', async (t) => {
      const stock = await open(t)
      const { documents } = stock
      await refused(
        stock,
        () => bulkUpdate(documents, boss, 'Item', { names: ['1', '2'] }, { price: 1 }),
        /written to one document at a time/,
        [],
      )
      await refused(stock, () => submitDocument(documents, boss, 'Item', '1'), /no states to submit/, [])
      await refused(
        stock,
        () => createDocument(documents, admin, 'Item', { title: 'x' }, { submit: true }),
        /not allow you to submit|nobody can submit/,
        [],
      )
      await refused(
        stock,
        async () => importTarget(documents, boss, 'Item', false),
        /load the file there/,
        [],
      )
      await refused(
        stock,
        () => updateDocument(documents, boss, 'Invoice', 'I-1', { total: 1 }),
        /but not write it/,
        [],
      )
    })

    it('are described and offered as what may be done with them', async (t) => {
      const { documents } = await open(t)
      const told = describeDoctype(documents, ann, 'Item')
      assert.equal(told['source'], 'erp')
      assert.deepEqual(told.permissions, ['read', 'write', 'create', 'comment', 'assign'])
      const fields = told['fields'] as { fieldname: string; read_only?: true; set?: string }[]
      assert.deepEqual(
        fields.filter((one) => one.read_only).map(({ fieldname }) => fieldname),
        ['state', 'label', 'row_no'],
      )
      assert.equal(fields.find(({ fieldname }) => fieldname === 'supplier')!.set, 'only at creation')
      const form = newDocumentForm(documents, ann, 'Item')
      assert.deepEqual(
        form.fields.map(({ field }) => field.name),
        ['title', 'price', 'supplier'],
      )
      assert.equal(form.asksName, false)
      assert.equal(newDocumentForm(documents, boss, 'Lot').asksName, true)
      const open_ = (await documentForm(documents, ann, 'Item', '1')).fields.filter(
        ({ settable }) => settable,
      )
      assert.deepEqual(
        open_.map(({ field }) => field.name),
        ['title', 'price'],
      )
      assert.deepEqual(
        [...(await possibleDeeds(documents, ann, 'Item', '1')).verbs],
        ['change', 'comment', 'assign', 'attach'],
      )
      assert.equal((await listDocuments(documents, ann, { doctype: 'Item' })).total, 2)
    })

    it('are checked: what the login lacks, and what nothing fills, is told at its line, and views are only read', async (t) => {
      const faultsOf = async (sql: string, change: (text: string) => string = (text) => text) =>
        (await open(t, { sql, serves: false, files: { 'config/doctypes/item.yaml': change(item) } })).faults
          .filter((one) => one.includes('item.yaml'))
          .join('\n')
      assert.equal(await faultsOf(''), '')
      const lacking = await faultsOf(
        `REVOKE INSERT (price), UPDATE (secret), DELETE ON erp.item FROM writer; ${isMaria ? '' : 'REVOKE USAGE ON SEQUENCE erp.item_id_seq FROM writer'}`,
      )
      for (const told of [
        /item\.yaml:9:\d+ from\.write\.create\[1\]: the login of the source "erp" lacks INSERT \(price\) on erp\.item/,
        /item\.yaml:9:\d+ from\.write\.change\[2\]: the login of the source "erp" lacks UPDATE \(secret\) on erp\.item/,
        /item\.yaml:9:\d+ from\.write\.delete: the login of the source "erp" lacks DELETE on erp\.item/,
        ...(isMaria
          ? []
          : [
              /from\.write\.create: the login of the source "erp" lacks USAGE of the sequence of "id" on erp\.item/,
            ]),
      ])
        assert.match(lacking, told)
      const generated = await faultsOf('', (text) => text.replace('create: [title', 'create: [label, title'))
      assert.match(generated, /from\.write\.create\[0\]: the database itself gives "label" its value/)
      const view = await faultsOf(
        'CREATE VIEW erp.items AS SELECT * FROM erp.item; GRANT ALL ON erp.items TO writer',
        (text) => text.replace('table: erp.item', 'table: erp.items'),
      )
      assert.match(view, /from\.write: erp\.items is a view, which is only read: name the table below it/)
      const keyless = await faultsOf(
        isMaria
          ? 'DROP TABLE erp.part; ALTER TABLE erp.item MODIFY id int NOT NULL'
          : 'ALTER TABLE erp.item ALTER id DROP DEFAULT',
      )
      assert.match(
        keyless,
        /from\.write\.create: nothing gives a new row "id" of its key: add name, or its field/,
      )
      const refusals: readonly (readonly [string, string, RegExp])[] = [
        ['create: [title', 'create: [titel, title', /from\.write\.create\[0\]: unknown field "titel"/],
        ['version: row_no', 'version: title', /from\.version: must name an integer or a datetime/],
        ['change: [title', 'change: [row_no, title', /row_no tells versions apart/],
        ['change: [title', 'change: [modified, title', /no column shows modified: from\.standard/],
        [', delete: true', '', /actions: .*a rule cannot allow to delete, which from\.write does not say/],
      ]
      for (const [from, to, why] of refusals)
        await assert.rejects(
          faultsOf('', (text) => text.replace(from, to)),
          why,
        )
    })

    it('are read and otherwise written while the login lacks a privilege, which what needs it names, until it is given again', async (t) => {
      const stock = await open(t)
      const { documents, tables, logged } = stock
      const change = (who: typeof ann, data: Record<string, unknown>, as = documents) =>
        updateDocument(as, who, 'Item', '1', data)
      const told1 = 'config/doctypes/item.yaml:9:69 from.write.change[1]: '
      const lacks = 'the login of the source "erp" lacks UPDATE (price) on erp.item, which writing Item needs'
      await stock.sql('REVOKE UPDATE (price) ON erp.item FROM writer')
      const why =
        /^Item: price: the login of the source "erp" lacks UPDATE for this; its operator has been told$/
      await refused(stock, () => change(ann, { price: 3 }), why, [
        'document.intend waiting Item/1',
        'document.update error Item/1',
      ])
      const [trouble, ...more] = tables.troubles
      assert.deepEqual(more, [])
      assert.equal(faultText(trouble!.fault), told1 + lacks)
      assert.deepEqual(trouble!.tools, ['writing of doctype Item'])
      assert.ok(logged.some((line) => line.includes('lacks UPDATE (price)') && line.includes('doctype Item')))
      // What is known to be lacking is not tried: nothing is intended.
      await refused(stock, () => change(ann, { price: 3 }), why, [])
      await refused(
        stock,
        () => updateDocument(documents, ann, 'Item', '1', { price: 3 }, { dryRun: true }),
        why,
        [],
      )
      assert.equal((await getDocument(documents, ann, 'Item', '1'))['price'], 2)
      assert.equal((await listDocuments(documents, ann, { doctype: 'Item' })).total, 2)
      await change(ann, { title: 'Nut' })
      await createDocument(documents, ann, 'Item', { title: 'Bolt', price: 1 })
      await deleteDocument(documents, boss, 'Item', '2')
      await stock.sql('GRANT UPDATE (price) ON erp.item TO writer')
      while (tables.troubles.length > 0) await wait(50)
      await change(ann, { price: 3 })
      assert.deepEqual(await stock.rows('SELECT name, price FROM erp.item WHERE id = 1'), [
        { name: 'Nut', price: '3.00' },
      ])
    })

    it('of each privilege that the login lacks refuse only what needs it', async (t) => {
      const stock = await open(t)
      const { documents, tables } = stock
      const lacking = (privilege: string) =>
        new RegExp(
          `^Item: the login of the source "erp" lacks ${privilege} for this; its operator has been told; nothing was changed$`,
        )
      const create = (data: Record<string, unknown>) => () => createDocument(documents, ann, 'Item', data)
      let price = 7
      const change = (who: typeof ann) => () =>
        updateDocument(documents, who, 'Item', '1', { price: ++price })
      const remove = (who: typeof ann) => () => deleteDocument(documents, who, 'Item', '1')
      const without = async (what: string, work: () => Promise<void>): Promise<void> => {
        await stock.sql(`REVOKE ${what} FROM writer`)
        await tables.retry()
        assert.equal((await listDocuments(documents, ann, { doctype: 'Item' })).total, 2)
        await work()
        await stock.sql(`GRANT ${what} TO writer`)
        await tables.retry()
        assert.deepEqual(tables.troubles, [])
      }
      await without('DELETE ON erp.item', async () => {
        await refused(stock, remove(boss), lacking('DELETE'), [])
        await change(ann)()
      })
      await without('INSERT (price) ON erp.item', async () => {
        await refused(
          stock,
          create({ title: 'Bolt', price: 1 }),
          /^Item: price: the login of the source "erp" lacks INSERT for this/,
          [],
        )
        await createDocument(documents, ann, 'Item', { title: 'Bolt' }, { dryRun: true })
      })
      if (!isMaria)
        await without('USAGE ON SEQUENCE erp.item_id_seq', async () => {
          await refused(stock, create({ title: 'Bolt' }), lacking('USAGE'), [])
          await change(ann)()
        })
      await without('UPDATE (row_no) ON erp.item', async () => {
        await refused(stock, change(bob), lacking('UPDATE'), [])
      })
      await without('UPDATE (name, price, secret, row_no) ON erp.item', async () => {
        await refused(stock, change(ann), lacking('UPDATE'), [])
        // There, who may delete rows may lock them.
        if (isMaria) await deleteDocument(documents, boss, 'Item', '1', { dryRun: true })
        else await refused(stock, remove(boss), lacking('UPDATE'), [])
        // Who may not do it anyway learns no more than before.
        await refused(stock, remove(ann), /^you may read Item "1" but not delete it/, [])
        await refused(
          stock,
          () => updateDocument(documents, ann, 'Item', '77', { price: 7 }),
          /^there is no Item "77"/,
          [],
        )
      })
      await stock.sql('REVOKE UPDATE (name, price, secret, row_no) ON erp.item FROM writer')
      const tried = ['document.intend waiting Item/1', 'document.update error Item/1']
      await refused(stock, change(ann), lacking('UPDATE'), isMaria ? tried : [])
      assert.equal((await listDocuments(documents, ann, { doctype: 'Item' })).total, 2)
    })

    it('whose commit nobody answered are looked up there: what was done counts as done', async (t) => {
      const stock = await open(t)
      const { tables } = stock.documents
      const lost = { ...stock.documents, tables: { ...tables!, change: lostAfter(tables!) } }
      const { document } = await createDocument(lost, ann, 'Item', { title: 'Bolt' })
      assert.equal(document['name'], '3')
      assert.deepEqual(told(stock), ['document.intend waiting Item', 'document.create ok Item/3'])
      assert.deepEqual(await openIntentions(stock.documents.store), [])
    })

    it('of which nobody knows what became are named to operators until it is known', async (t) => {
      const stock = await open(t)
      const { tables, clock } = stock.documents
      const outcome = async () => 'unknown' as const
      const away = { ...stock.documents, tables: { ...tables!, outcome, change: lostAfter(tables!) } }
      await assert.rejects(
        updateDocument(away, ann, 'Item', '1', { price: 5 }),
        /broke at the end, and whether this was done is not known yet: read it before you change it again/,
      )
      await settleIntentions(away, stock.platform.doctypes.get('Item')!)
      stock.clock.forward(120_000)
      const [named] = await unknownChanges({ store: away.store, clock })
      assert.match(
        named!,
        /whether it was done in the source "erp" is not known: update of Item\/1 by ann@example\.com/,
      )
      await settleIntentions(stock.documents, stock.platform.doctypes.get('Item')!)
      assert.deepEqual(await unknownChanges(stock.documents), [])
      assert.deepEqual(told(stock), ['document.intend waiting Item/1', 'document.update ok Item/1'])
    })
  })

/** The table in which a source keeps calls. */
for (const kind of kinds)
  describe(`calls with a key that ${kind.name} of others keeps`, { skip: kind.skip }, () => {
    const server = kind.suite()
    const { isMaria, makesKeys: ddl } = kind

    const callsIn = 'FROM erp.write_keys WHERE "call" = \'same\''

    const open = (t: TestContext, { sql = ddl, serves = true } = {}) =>
      openOffice(t, server, {
        user: 'writer',
        before: `${kind.stock}; ${sql}`,
        more: `, write_keys: ${keysTable}`,
        serves,
        files: { 'config/doctypes/item.yaml': item, 'config/doctypes/lot.yaml': lot },
      })
    const callOf = (documents: Documents, id: string, call = 'same'): Documents => ({
      ...documents,
      once: new Once(documents, { id, call }, 'somebody'),
    })
    const make = (documents: Documents, title = 'Bolt') => createDocument(documents, ann, 'Item', { title })

    it('are kept there with what they gave, in the transaction of the change, and nothing is where that was refused', async (t) => {
      const { documents, ask, events, faults, warnings } = await open(t)
      assert.deepEqual([faults, warnings.filter((one) => one.includes('write_keys'))], [[], []])
      const answer = await make(callOf(documents, 'a'))
      const rows = await ask(`SELECT "key", "call", outcome ${callsIn}`)
      assert.deepEqual(
        rows.map(({ key, call, outcome }) => [String(key), call, JSON.parse(outcome as string)]),
        [['a.1', 'same', { value: JSON.parse(JSON.stringify(answer)) }]],
      )
      events.length = 0
      await assert.rejects(make(callOf(documents, 'b'), 'Screw'), /title: cannot be used, it must be unique/)
      await assert.rejects(
        make(callOf(documents, 'a', 'other'), 'Nut'),
        /this idempotency key was used for another call/,
      )
      await createDocument(callOf(documents, 'c'), ann, 'Item', { title: 'Nut' }, { dryRun: true })
      assert.deepEqual(await ask(`SELECT "key", "call", outcome ${callsIn}`), rows)
      assert.deepEqual(await ask('SELECT name FROM erp.item ORDER BY id'), [
        { name: 'Washer' },
        { name: 'Screw' },
        { name: 'Bolt' },
      ])
      assert.deepEqual(
        events.map(({ type, status }) => `${type} ${status}`),
        ['document.intend waiting', 'document.create error'],
      )
    })

    it('write once when they come at once', async (t) => {
      const { documents, ask } = await open(t)
      // Each from a state of its own: only the table there knows of both.
      const away = await openCompany(t, { files: siteOf({}), seeds: false })
      const elsewhere = { ...documents, store: away.documents.store }
      const answers = await Promise.all([
        make(callOf(documents, 'a')),
        createDocument(callOf(elsewhere, 'a'), bob, 'Item', { title: 'Bolt' }),
      ])
      assert.deepEqual(JSON.parse(JSON.stringify(answers[0])), JSON.parse(JSON.stringify(answers[1])))
      assert.equal((await ask("SELECT 1 FROM erp.item WHERE name = 'Bolt'")).length, 1)
    })

    it('are answered for a day from the first, and their keys go with a later call', async (t) => {
      const { documents, ask, sql } = await open(t)
      await make(callOf(documents, 'a'))
      await sql(`UPDATE erp.write_keys SET made_at = ${kind.ago(24 * 60 + 30)}`)
      await kept(documents).delete('a.1')
      await make(callOf(documents, 'a'))
      assert.equal((await ask("SELECT 1 FROM erp.item WHERE name = 'Bolt'")).length, 1)
      await sql(`UPDATE erp.write_keys SET made_at = ${kind.ago(26 * 60)}`)
      await make(callOf(documents, 'b'), 'Nut')
      const left = await ask(`SELECT "key" ${callsIn}`)
      assert.deepEqual(
        left.map(({ key }) => String(key)),
        ['b.1'],
      )
      const all = await ask('SELECT 1 FROM erp.write_keys')
      assert.equal(all.length, isMaria ? 2 : 1, 'the mark of a transaction goes with the keys')
    })

    it('that were done once are not done again where their key is gone', async (t) => {
      const { documents, ask, sql, events } = await open(t)
      const { tables } = documents
      const lost = {
        ...documents,
        tables: { ...tables!, outcome: async () => 'unknown' as const, change: lostAfter(tables!) },
      }
      await assert.rejects(make(callOf(lost, 'a')), /whether this was done is not known yet/)
      await settleIntentions(documents, documents.platform.doctypes.get('Item')!)
      await sql('TRUNCATE erp.write_keys')
      events.length = 0
      await assert.rejects(
        make(callOf(documents, 'a')),
        /it was done; its answer was lost: read the document/,
      )
      assert.equal((await ask("SELECT 1 FROM erp.item WHERE name = 'Bolt'")).length, 1)
      assert.deepEqual([events, await ask('SELECT * FROM erp.write_keys')], [[], []])
    })

    it('are refused while the table is not as it must be, which is told at its line once, and nothing else is', async (t) => {
      const what = isMaria ? 'nothing is written' : 'no call with an idempotency key writes'
      const line = new RegExp(
        `^config/sources\\.yaml:1:\\d+ sources\\.erp\\.write_keys: erp\\.write_keys (.*), so that ${what} to "erp": sources write-keys erp prints what makes it$`,
      )
      const wrongs: readonly (readonly [string, string])[] = [
        ['', 'is not there, or its login may not see it'],
        [
          `${ddl} ALTER TABLE erp.write_keys DROP ${isMaria ? 'PRIMARY KEY' : 'CONSTRAINT write_keys_pkey'}`,
          'has no unique index of key alone',
        ],
        [`${ddl} ALTER TABLE erp.write_keys ALTER made_at DROP DEFAULT`, 'has no default for made_at'],
        [`${ddl} ALTER TABLE erp.write_keys DROP outcome`, 'has no column outcome of the type text'],
        [`${ddl} ALTER TABLE erp.write_keys ADD who text NOT NULL`, 'has a column who that nothing fills'],
        [`${ddl} REVOKE DELETE ON erp.write_keys FROM writer`, 'lets its login not DELETE'],
        ...(isMaria
          ? ([
              [
                `${ddl} ALTER TABLE erp.write_keys ENGINE=MyISAM`,
                'is kept by MyISAM, which has no transactions',
              ],
              [
                `${ddl} ALTER TABLE erp.write_keys MODIFY "key" varchar(255)`,
                'has no column key of the type varbinary',
              ],
            ] as const)
          : ([
              [
                `${ddl} ALTER TABLE erp.write_keys ENABLE ROW LEVEL SECURITY`,
                'has row-level security, which could hide a key',
              ],
            ] as const)),
      ]
      for (const [sql, wrong] of wrongs) {
        const { faults } = await open(t, { sql, serves: false })
        assert.deepEqual(
          faults.map((one) => line.exec(one)?.[1]),
          [wrong],
        )
      }
      const { documents, tables, ask, sql, events } = await open(t, { sql: '' })
      const why =
        /^Item: the login of the source "erp" lacks a fit table of write keys for this; its operator has been told; nothing was changed$/
      const refused = async (as = callOf(documents, 'a')) => {
        const before = await ask('SELECT * FROM erp.item')
        events.length = 0
        await assert.rejects(make(as, 'Nut'), (error: Error) => (assert.match(error.message, why), true))
        assert.deepEqual([await ask('SELECT * FROM erp.item'), events], [before, []])
      }
      await refused()
      // Of a call without a key PostgreSQL tells itself what became of it.
      await (isMaria ? refused(documents) : make(documents))
      assert.equal((await listDocuments(documents, ann, { doctype: 'Item' })).total, isMaria ? 2 : 3)
      await sql(ddl)
      while (tables.troubles.length > 0) await wait(50)
      await make(callOf(documents, 'a'), 'Nut')
      await sql('ALTER TABLE erp.write_keys RENAME TO elsewhere')
      const again = make(callOf(documents, 'b'), 'Gone')
      await assert.rejects(again, (error: Error) => (assert.match(error.message, why), true))
      assert.equal((await ask("SELECT 1 FROM erp.item WHERE name = 'Gone'")).length, 0)
    })
  })

/** What nobody knows any more, and an operator says. */
for (const kind of kinds)
  describe(`a change whose outcome ${kind.name} of others has forgotten`, { skip: kind.skip }, () => {
    const server = kind.suite()
    const boss = someone('boss@example.com', 'Boss')

    /** Leaves a change of an item, sent with a key, of which the database says what is given, and nothing later. */
    async function forgotten(t: TestContext, says: Awaited<ReturnType<Tables['outcome']>> = 'unknown') {
      const office = await openOffice(t, server, {
        user: 'writer',
        more: kind.needsKeys,
        before: `${kind.stock}; ${kind.needsKeys && kind.makesKeys}`,
        files: { 'config/doctypes/item.yaml': item, 'config/doctypes/lot.yaml': lot },
      })
      let outcome = async () => says
      const tables = { ...office.documents.tables!, outcome: () => outcome() }
      const documents: Documents = { ...office.documents, tables }
      const change = (as: Documents = documents) => {
        const once = new Once(documents, { id: 'key', call: 'same' }, 'somebody')
        return updateDocument({ ...as, once }, boss, 'Item', '1', { price: 5 })
      }
      const lost = {
        ...documents,
        tables: { ...tables, outcome: async () => 'unknown' as const, change: lostAfter(tables) },
      }
      await assert.rejects(change(lost), /whether this was done is not known yet/)
      if (kind.isMaria) await office.sql('TRUNCATE erp.write_keys')
      office.clock.forward(120_000)
      const { id } = (await openIntentions(documents.store))[0]!
      const all = async () => ({
        unknown: await unknownChanges(documents),
        told: await toldChanges(documents),
        rows: await office.ask('SELECT * FROM erp.item'),
        events: office.events.map(({ type, status, target, data }) => ({ type, status, target, data })),
        history: (await historyOf(documents, boss, 'Item', '1', 9)).map(({ user, action }) => [user, action]),
      })
      const say = (isDone: boolean, of = id) =>
        operations['audit.accept_outcome'].run(
          { intention: of, outcome: isDone ? 'done' : 'not-done', reason: 'I looked' },
          { site: { current: () => ({ documents }) } as Services['site'] },
          { actor: 'root', signal: t.signal },
        )
      const away = () => (outcome = () => Promise.reject(new Error('connection refused')))
      return { documents, id, all, say, change, away, office }
    }

    it('has the end that an operator tells, with who told it and why, and is unknown no more', async (t) => {
      const { id, all, say, change, documents } = await forgotten(t)
      const before = await all()
      assert.match(
        before.unknown[0]!,
        /is not known: update of Item\/1 by boss@example\.com at .*audit accept-outcome$/,
      )
      assert.match(
        (await say(true)).change,
        /^update of Item\/1 by boss@example\.com at \S+ \(intention \S+, transaction \S+ there\)$/,
      )
      const { unknown, told, rows, events, history } = await all()
      assert.deepEqual(unknown, [])
      assert.equal(told.length, 1)
      assert.match(
        told[0]!,
        /^told by an operator \(root: I looked\): it was done in the source "erp": update of Item\/1 by boss/,
      )
      assert.deepEqual(rows, before.rows)
      assert.deepEqual(events.slice(before.events.length), [
        {
          type: 'document.update',
          status: 'ok',
          target: 'Item/1',
          data: { intention: id, told_by: 'root', reason: 'I looked' },
        },
      ])
      assert.deepEqual(history, [['boss@example.com', 'update']])
      await settleIntentions(documents, documents.platform.doctypes.get('Item')!)
      await assert.rejects(say(false), /no change without an end has the intention/)
      assert.deepEqual(await all(), { unknown, told, rows, events, history })
      await assert.rejects(change(), /it was done; its answer was lost: read the document/)
    })

    it('that was not done ends as an error, and its call may be sent again', async (t) => {
      const { id, all, say, change, office } = await forgotten(t)
      await office.sql('UPDATE erp.item SET price = 2 WHERE id = 1')
      const before = await all()
      await say(false)
      const { unknown, told, events, history } = await all()
      assert.deepEqual(unknown, [])
      assert.match(told[0]!, /it was not done in the source "erp"/)
      assert.deepEqual(events.slice(before.events.length), [
        {
          type: 'document.update',
          status: 'error',
          target: 'Item/1',
          data: { intention: id, told_by: 'root', reason: 'I looked' },
        },
      ])
      assert.deepEqual(history, [])
      await change()
      assert.equal((await office.ask('SELECT price FROM erp.item WHERE id = 1'))[0]!['price'], '5.00')
    })

    it("is no operator's to tell while the database knows it, or may", async (t) => {
      const refused = async (
        { all, say, office, documents }: Awaited<ReturnType<typeof forgotten>>,
        why: RegExp,
        ends: readonly string[],
      ): Promise<void> => {
        const before = await all()
        await assert.rejects(say(false), why)
        const after = await all()
        assert.deepEqual([after.told, after.rows], [[], before.rows])
        assert.deepEqual(
          office.events.slice(before.events.length).map(({ type, status }) => `${type} ${status}`),
          ends,
        )
        assert.equal((await openIntentions(documents.store)).length, ends.length === 0 ? 1 : 0)
      }
      const known = /the source "erp" knows that it was done, and that is recorded now/
      await refused(await forgotten(t, 'committed'), known, ['document.update ok'])
      await refused(await forgotten(t, 'aborted'), /knows that it was not done/, ['document.update error'])
      await refused(await forgotten(t, 'in progress'), /it is under way there: wait for its end/, [])
      const away = await forgotten(t)
      away.away()
      await refused(away, /the source "erp" does not answer, and may know it/, [])
      const other = await forgotten(t)
      const elsewhere = new Map(other.documents.platform.doctypes)
      elsewhere.delete('Item')
      const without = { ...other.documents, platform: { ...other.documents.platform, doctypes: elsewhere } }
      await refused(
        {
          ...other,
          say: async () => ({
            outcome: 'not-done' as const,
            change: await acceptOutcome(without, other.id, {
              isDone: false,
              told_by: 'root',
              reason: 'gone',
            }),
          }),
        },
        /nobody can ask the source "erp" before Item documents lie there again/,
        [],
      )
      await refused(
        { ...other, say: () => other.say(true, 'none') },
        /no change without an end has the intention "none"/,
        [],
      )
    })
  })

/** What our state keeps of calls. */
function kept({ store }: Documents) {
  return store.collection<{ id: string; expiresAt: number }>({ name: 'platform.once', expires: 'expiresAt' })
}

/** Changes as usual, whose last answer gets lost. */
function lostAfter(tables: Tables): Tables['change'] {
  return async (...given) => {
    await tables.change(...given)
    throw new UnknownThere('the connection broke at the commit')
  }
}
