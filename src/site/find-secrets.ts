/** Nothing in the site may be a secret (D2): git remembers, and so do clones and backups. */
import type { Fault, SourceDocument } from './site-files.ts'

// `client_secret` and `apiKey`, but not `client_secret_file`, `token_type` or `max_tokens`.
const secretKey =
  /(^|[_\-.])(password|passwd|passphrase|secret|token|credentials?|api[_-]?key|private[_-]?key|access[_-]?key)$/i
// Forms that are secrets wherever they stand: private keys, and the prefixes of well-known issuers and our own.
const secretForm =
  /-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(?:ac_[a-z]{2,4}_[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+)|:\/\/[^\s/:@]+:[^\s/@]{3,}@/

/** A fault for every value of the document that looks like a secret. The value itself is not repeated. */
export function findSecrets(document: SourceDocument): Fault[] {
  const faults: Fault[] = []
  const walk = (value: unknown, path: (string | number)[]): void => {
    if (typeof value === 'string') {
      const key = path.findLast((part) => typeof part === 'string') ?? ''
      const isNamed = secretKey.test(splitWords(key)) && looksChosen(value)
      if (isNamed || secretForm.test(value)) {
        faults.push(document.fault(path, advice(isNamed ? key : undefined), 'key'))
      }
    } else if (Array.isArray(value)) {
      value.forEach((item, index) => walk(item, [...path, index]))
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) walk(item, [...path, key])
    }
  }
  walk(document.data, [])
  return faults
}

/** Not a word or a sentence: something with digits, signs or mixed case, as passwords and keys have. */
function looksChosen(value: string): boolean {
  return value.length >= 6 && !/\s/.test(value) && !/^(?:[a-z]+|[A-Z]?[a-z]+)$/.test(value)
}

function splitWords(key: string): string {
  return key.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
}

function advice(key: string | undefined): string {
  const where = key === undefined ? '' : `, and name that file here as "${key}_file" where such a key exists`
  return `looks like a secret, and the site is no place for one; put it in a file that only the daemon can read${where}`
}
