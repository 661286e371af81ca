import { AppError } from '#leaf/errors.ts'

/** What work answers, or why it was refused: stores must agree in both. */
export async function answerOr<T>(work: () => Promise<T>): Promise<T | { readonly refused: string }> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { refused: `${error.code}: ${error.message}` }
  }
}
