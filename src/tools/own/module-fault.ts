import { fileFault } from '#site/site-files.ts'
import type { Bundle } from './bundle-module.ts'
import { bundleName, type Thrown } from './module-messages.ts'
import { SiteFault } from '#site/checking.ts'

const frame = new RegExp(`${bundleName}:(\\d+):(\\d+)`, 'g')

/** Makes a fault from an error of a module, with the places of its files in the stack; it is reported at the first of them. */
export function thrownAt({ file, placeOf }: Bundle, { message, stack }: Thrown): SiteFault {
  const places = [...stack.matchAll(frame)].map(([, line, column]) => placeOf(Number(line), Number(column)))
  const mapped = stack.replace(frame, (text, line: string, column: string) => {
    const place = placeOf(Number(line), Number(column))
    return place ? `${place.file}:${place.line}:${place.column}` : text
  })
  return new SiteFault({ ...fileFault(file, message), ...places.find(Boolean) }, { stack: mapped || message })
}
