/** Finds secrets in the site, where none may be (D2): git remembers them, and so do clones and backups. */
import { isSecretKey } from '#leaf/redact.ts'
import type { Fault, SourceDocument } from './site-files.ts'

// Forms that are always secrets: private keys, and the prefixes of well-known issuers and our own.
const secretForm =
  /-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(?:ac_[a-z]{2,4}_[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+)|:\/\/[^\s/:@]+:[^\s/@]{3,}@/

/** Returns a fault for every value of the document, and every line below it, that looks like a secret. No value is repeated. */
export function findSecrets(document: SourceDocument): Fault[] {
  const faults: Fault[] = []
  const walk = (value: unknown, path: (string | number)[]): void => {
    if (typeof value === 'string') {
      const key = path.findLast((part) => typeof part === 'string') ?? ''
      const isNamed = isSecretKey(key) && looksChosen(value)
      if (isNamed || secretForm.test(value)) {
        faults.push(document.fault(path, advice(document.file, isNamed ? key : undefined), 'key'))
      }
    } else if (Array.isArray(value)) {
      value.forEach((item, index) => walk(item, [...path, index]))
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) walk(item, [...path, key])
    }
  }
  walk(document.data, [])
  for (const [index, line] of (document.body ?? '').split('\n').entries()) {
    const found = secretForm.exec(line)
    if (found === null) continue
    const place = { line: document.bodyLine! + index, column: found.index + 1 }
    faults.push({ file: document.file, ...place, path: '', message: advice(document.file, undefined) })
  }
  return faults
}

/** True for values with digits, signs or mixed case, as passwords and keys have; false for a word or a sentence. */
function looksChosen(value: string): boolean {
  const secret = value.replace(/^(?:Bearer|Basic|Digest|Token|ApiKey)\s+(?=\S)/i, '')
  return secret.length >= 6 && !/\s/.test(secret) && !/^(?:[a-z]+|[A-Z]?[a-z]+)$/.test(secret)
}

function advice(file: string, key: string | undefined): string {
  if (file === 'config/users.yaml' && key !== undefined)
    return 'no password stands in the site; set it with: assistant-core users passwd EMAIL'
  const where = key === undefined ? '' : `, and name that file here as "${key}_file" where such a key exists`
  return `looks like a secret, and the site is no place for one; put it in a file that only the daemon can read${where}`
}
