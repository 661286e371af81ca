import type { AppError } from '#leaf/errors.ts'

/** Thrown when the database that documents lie in refuses a change, which it then has nothing of. */
export class RefusedThere extends Error {
  /** The fields that it refuses; none where no field is to blame, or nobody knows which. */
  readonly fields: readonly string[]
  readonly code: AppError['code']

  constructor(
    why: string,
    {
      fields,
      code,
      cause,
    }: { readonly fields: readonly string[]; readonly code: AppError['code']; readonly cause: unknown },
  ) {
    super(why, { cause })
    this.name = 'RefusedThere'
    this.fields = fields
    this.code = code
  }
}
