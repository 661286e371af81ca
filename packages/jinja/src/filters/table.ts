/** Every filter and test by name. */
import type { Native } from '../binding.ts'
import { makeTests } from '../tests.ts'
import { htmlFilters } from './html.ts'
import { jsonFilters } from './json.ts'
import { numberFilters } from './numbers.ts'
import { prettyFilters } from './pprint.ts'
import { selectFilters } from './select.ts'
import { sequenceFilters } from './sequences.ts'
import { textFilters } from './text.ts'

const all = new Map<string, Native>([
  ...textFilters,
  ...numberFilters,
  ...sequenceFilters,
  ...htmlFilters,
  ...jsonFilters,
  ...prettyFilters,
])

/** `value is name`. */
export const tests: ReadonlyMap<string, Native> = makeTests(all)

for (const [name, filter] of selectFilters({ filters: all, tests })) all.set(name, filter)

/** `value | name`. */
export const filters: ReadonlyMap<string, Native> = all
