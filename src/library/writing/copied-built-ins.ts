import type { SiteFiles } from '#site/site-files.ts'

/**
 * Removes from a site the byte-for-byte copies of the package's own prompts and skills: a site that began
 * as a copy of the shipped one has nothing of its own there. Edited ones stay, and are reported as faults.
 */
export function withoutCopies(files: SiteFiles, builtIns: SiteFiles): SiteFiles {
  const mine = unitsOf(files, builtIns)
  const copies = new Set<string>()
  for (const [unit, paths] of unitsOf(builtIns, builtIns)) {
    const same =
      mine.get(unit)?.length === paths.length && paths.every((path) => sameBytes(files, builtIns, path))
    if (same) for (const path of paths) copies.add(path)
  }
  if (copies.size === 0) return files
  const [documents, assets] = [new Map(files.documents), new Map(files.assets)]
  for (const path of copies) if (!documents.delete(path)) assets.delete(path)
  return { ...files, documents, assets }
}

/** Groups files that are taken or left together: a prompt file of the package, or all files of one skill. */
function unitsOf({ documents, assets }: SiteFiles, builtIns: SiteFiles): Map<string, string[]> {
  const units = new Map<string, string[]>()
  const add = (path: string): void => {
    const unit = path.startsWith('skills/')
      ? /^skills\/[^/]+(?=\/)/.exec(path)?.[0]
      : builtIns.documents.has(path)
        ? path
        : undefined
    if (unit !== undefined) units.set(unit, [...(units.get(unit) ?? []), path])
  }
  for (const path of documents.keys()) add(path)
  for (const path of assets.keys()) add(path)
  return units
}

function sameBytes(a: SiteFiles, b: SiteFiles, path: string): boolean {
  const [one, other] = [a, b].map((files) => files.documents.get(path)?.bytes ?? files.assets.get(path))
  return one !== undefined && other !== undefined && Buffer.compare(one, other) === 0
}
