import MiniSearch from 'minisearch'
import type { PromptTemplate } from './words.ts'

/** An index over the texts of templates. */
export interface PromptIndex {
  /** Ids of templates that `admit`, best first. */
  find(query: string, admit: (id: string) => boolean): readonly string[]
}

/** How much a word counts by where it stands. */
const boost = { id: 5, title: 4, tags: 3, description: 2, content: 1 }

/** Makes an index, in small steps, so that other requests get their turn. */
export async function indexPrompts(templates: Iterable<PromptTemplate>): Promise<PromptIndex> {
  const index = new MiniSearch<PromptTemplate>({
    idField: 'id',
    fields: Object.keys(boost),
    extractField: (template, field) => {
      if (field === 'tags') return template.tags.join(' ')
      // An id is one word to a machine and several to a person.
      if (field === 'id') return template.id
      return template[field as 'title' | 'description' | 'content']
    },
    tokenize: (text, field) => (field === 'id' ? [text, ...words(text)] : words(text)),
    processTerm: (term) => term.toLowerCase(),
    searchOptions: {
      boost,
      prefix: (term) => term.length > 1,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      combineWith: 'AND',
    },
  })
  await index.addAllAsync([...templates], { chunkSize: 100 })
  return {
    find: (query, admit) =>
      index.search(query, { filter: ({ id }) => admit(String(id)) }).map(({ id }) => String(id)),
  }
}

function words(text: string): string[] {
  return text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '')
}
