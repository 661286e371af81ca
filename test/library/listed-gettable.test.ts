import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../helpers/random.ts'
import { AppError } from '#leaf/errors.ts'
import type { PromptRow } from '../../src/library/prompts/prompt-rows.ts'
import { promptMethods, type PromptMethod } from '../../src/library/prompt-methods.ts'
import { Previews } from '../../src/library/prompts/previews.ts'
import { PromptWriter } from '../../src/library/writing/writing.ts'
import { parseSource } from '#site/parse-source.ts'
import type { SiteFiles, SourceDocument } from '#site/site-files.ts'
import { as, folderWith, lacksNothing, links, source, world, unbounded, refusalOf } from './library-site.ts'

const roles = ['System Manager', 'Assistant User', 'Sales User', 'HR User']
const owners = ['sales@example.com', 'hr@example.com', 'beta@example.com']
const statuses = ['Draft', 'Published', 'Deprecated', 'Archived']

const arbitraryTemplate = fc.record({
  status: fc.constantFrom(...statuses),
  visibility: fc.oneof(
    fc.constant('Public'),
    fc.constant('Private'),
    fc
      .subarray(['Sales User', 'HR User'], { minLength: 1 })
      .map((held) => `Shared\nshared_with_roles: [${held.join(', ')}]`),
  ),
  owner: fc.constantFrom(...owners),
  system: fc.boolean(),
})
const arbitraryPerson = fc.record({
  user: fc.constantFrom(...owners, 'new@example.com'),
  held: fc.subarray(roles),
})

function siteOf(folder: string, texts: readonly string[]): SiteFiles {
  const documents = new Map<string, SourceDocument>()
  for (const [index, text] of texts.entries()) {
    const { document } = parseSource(`prompts/p${index}.md`, Buffer.from(text))
    documents.set(document!.file, document!)
  }
  const categories = 'categories:\n  - { category_id: all, category_name: All }\n'
  documents.set(
    'prompts/categories.yaml',
    parseSource('prompts/categories.yaml', Buffer.from(categories)).document!,
  )
  return { folder, documents, assets: new Map(), faults: [], digest: String(Math.random()) }
}

describe('what is listed is what can be had, but for System Managers, who can get everything', () => {
  it('by every way: list, get, render, completion, search, categories, popularity', async (t) => {
    const folder = await folderWith(t, {})
    const { librarian, parts } = await world(t)
    let seen = 0
    let hidden = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(arbitraryTemplate, { minLength: 1, maxLength: 8 }),
        fc.array(arbitraryPerson, { minLength: 1, maxLength: 3 }),
        async (templates, persons) => {
          const texts = templates.map(
            ({ status, visibility, owner, system }, index) =>
              `---\ntitle: Prompt ${index}\ncategory: all\nstatus: ${status}\nvisibility: ${visibility}\nowner: ${owner}\n${system ? 'is_system: 1\n' : ''}arguments:\n  - { argument_name: a, argument_type: boolean }\n---\nsomething {{ a }}\n`,
          )
          const files = siteOf(folder, texts)
          const faults: never[] = []
          const library = await librarian.open(
            await librarian.read(files, faults, [], source({ builtIns: files })),
            links,
            lacksNothing,
          )
          assert.deepEqual(faults, [])
          const { usage } = librarian
          const writer = new PromptWriter({
            folder,
            library: () => library,
            audit: parts.audit,
            commits: () => false,
            isPulled: () => false,
            ...unbounded,
            reload: () => Promise.resolve(),
          })
          const methods: Readonly<Record<string, PromptMethod>> = promptMethods({
            refusalOf,
            library: () => library,
            usage,
            writer,
            previews: new Previews(),
          })
          for (const { user, held } of persons) {
            const principal = as(user, held)
            const rows = async (name: string, body: object): Promise<string[]> =>
              ((await methods[name]!.call(principal, body)) as PromptRow[])
                .map(({ prompt_id }) => prompt_id)
                .sort()
            const listed = library
              .for(principal)
              .prompts(principal)
              .map(({ id }) => id)
              .sort()
            const all = templates.map((_, index) => `p${index}`)
            const had = await Promise.all(
              all.map(async (id) => {
                const ways = [
                  await exists(() => library.for(principal).prompt(principal, id)),
                  await exists(() => library.for(principal).render(principal, id, {})),
                  await exists(() => library.for(principal).complete(principal, id, 'a', '')),
                ]
                assert.equal(new Set(ways).size, 1, id)
                return ways[0] ? [id] : []
              }),
            )
            // Specification §5.6: a System Manager can get what no list shows.
            const gettable = held.includes('System Manager') ? [...all].sort() : listed
            assert.deepEqual(had.flat().sort(), gettable)
            const found = await Promise.all(
              statuses.map((status) => rows('search_prompts', { query: 'something', status })),
            )
            assert.deepEqual(found.flat().sort(), gettable)
            const published = listed.filter(
              (id) => library.for(principal).prompt(principal, id).status === 'Published',
            )
            assert.deepEqual(await rows('get_prompts_by_category', { category: 'all' }), published)
            assert.deepEqual(await rows('get_popular_prompts', { limit: 100 }), published)
            seen += listed.length
            hidden += all.length - listed.length
          }
        },
      ),
      { numRuns: 30 },
    )
    assert.ok(seen > 0 && hidden > 0, `${seen} seen, ${hidden} hidden`)
  })
})

async function exists(look: () => unknown): Promise<boolean> {
  try {
    await look()
    return true
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return false
    throw error
  }
}
