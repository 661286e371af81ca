/** Every mistake is told at once, at its place, in words, causes first; and nothing else is. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { siteSchemas } from '../../src/house/site-schemas.ts'
import { referenceKeyword } from '#leaf/references.ts'
import type { Schema } from '#leaf/who-decides.ts'
import { noMeans } from '../../src/house/check-sql.ts'
import { checksSeeds } from '../../src/house/seeding.ts'
import { readWholeSite } from '../../src/house/snapshot.ts'
import { faultText } from '#site/site-files.ts'
import { copyOfShippedSite } from '../helpers/daemon.ts'
import { mistakes } from './mistakes.ts'
import { writeFiles } from '../../packages/site/test/site-folder.ts'

/** Every place at which a schema says that a name stands; the key `any` where any may be. */
function placesIn(schema: Schema, path = ''): string[] {
  const { properties, additionalProperties, items, oneOf, propertyNames } = schema as Record<string, Schema>
  const below: [string, unknown][] = [
    ...Object.entries(properties ?? {}).map(([key, part]): [string, unknown] => [`${path}.${key}`, part]),
    ...[propertyNames, additionalProperties].map((part): [string, unknown] => [`${path}.any`, part]),
    ...Object.values(oneOf ?? {}).map((part): [string, unknown] => [path, part]),
    [`${path}[0]`, items],
  ]
  const inner = below.flatMap(([place, part]) =>
    typeof part === 'object' ? placesIn(part as Schema, place) : [],
  )
  const kind = schema[referenceKeyword]
  return kind === undefined ? inner : [...inner, `${path.replace(/^\./, '')}: unknown ${kind as string}`]
}

describe('what an author is told of', () => {
  it('is any name that nothing has, wherever a schema says that a name stands', () => {
    const told = mistakes
      .flatMap(({ faults }) => faults)
      .join('\n')
      .replaceAll(/\[\d+\]/g, '[0]')
    const places = siteSchemas.flatMap(({ files, schema }) =>
      [...new Set(placesIn(schema))].map(
        (place) => new RegExp(`^${files}.* ${place.replaceAll(/[[\\].]/g, '\\$&')} "`, 'm'),
      ),
    )
    assert.deepEqual(
      places.filter((place) => !place.test(told)),
      [],
    )
  })

  for (const { name, files, change, faults, warnings } of mistakes) {
    it(name, async (t) => {
      const site = copyOfShippedSite(t)
      if (files) writeFiles(site, files)
      if (change) {
        const [file, from, to] = change
        const text = readFileSync(join(site, file), 'utf8')
        assert.ok(text.includes(from), `${file} holds ${from}`)
        writeFileSync(join(site, file), text.replace(from, to))
      }
      const told = await readWholeSite(site, undefined, { ...noMeans, ...checksSeeds })
      assert.deepEqual(told.faults.map(faultText), faults)
      if (warnings) assert.deepEqual(told.warnings.map(faultText), warnings)
    })
  }
})
