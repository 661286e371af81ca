import type { SiteFiles } from '../site/site-files.ts'

/**
 * A site without what it holds of the package's own prompts and skills, byte for byte: a site that began
 * as a copy of the shipped one has nothing of its own there. What was edited stays, and is told as a fault.
 */
export function withoutCopies(files: SiteFiles, builtIns: SiteFiles): SiteFiles {
  const theirs = unitsOf(builtIns)
  const copies = new Set<string>()
  for (const [unit, paths] of unitsOf(files)) {
    const same =
      theirs.get(unit)?.length === paths.length && paths.every((path) => sameBytes(files, builtIns, path))
    if (same) for (const path of paths) copies.add(path)
  }
  if (copies.size === 0) return files
  const kept = <T>(all: ReadonlyMap<string, T>): Map<string, T> =>
    new Map([...all].filter(([path]) => !copies.has(path)))
  return { ...files, documents: kept(files.documents), assets: kept(files.assets) }
}

/** What is taken or left together: one prompt file, or everything of one skill. */
function unitsOf(files: SiteFiles): Map<string, string[]> {
  const units = new Map<string, string[]>()
  for (const path of [...files.documents.keys(), ...files.assets.keys()]) {
    const unit = /^skills\/[^/]+(?=\/)/.exec(path)?.[0] ?? (path.startsWith('prompts/') ? path : undefined)
    if (unit !== undefined) units.set(unit, [...(units.get(unit) ?? []), path])
  }
  return units
}

function sameBytes(a: SiteFiles, b: SiteFiles, path: string): boolean {
  const [one, other] = [a, b].map((files) => files.documents.get(path)?.bytes ?? files.assets.get(path))
  return one !== undefined && other !== undefined && Buffer.compare(one, other) === 0
}
