import MiniSearch from 'minisearch'
import type { PromptTemplate } from './words.ts'

/** A search index over the texts of templates. */
export interface PromptIndex {
  /** Finds the ids of templates that `admit` accepts, best match first. */
  find(query: string, admit: (id: string) => boolean): readonly string[]
}

/** The weight of a word by the field it stands in. */
const boost = { name: 5, title: 4, tags: 3, description: 2, content: 1 }

/** Builds an index in small steps, so that other requests get their turn. */
export async function indexPrompts(templates: Iterable<PromptTemplate>): Promise<PromptIndex> {
  const index = new MiniSearch<PromptTemplate>({
    idField: 'id',
    fields: Object.keys(boost),
    extractField: (template, field) => {
      if (field === 'tags') return template.tags.join(' ')
      return template[field as 'id' | 'name' | 'title' | 'description' | 'content']
    },
    // A name is indexed as one word, for machines, and as several, for people.
    tokenize: (text, field) => (field === 'name' ? [text, ...words(text)] : words(text)),
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
