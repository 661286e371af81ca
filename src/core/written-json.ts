/** A value whose JSON is known already; it is written once and not once more for each place where it stands. */
export class WrittenJson {
  readonly text: string
  readonly #value: () => unknown

  constructor(text: string, value: () => unknown) {
    this.text = text
    this.#value = value
  }

  toJSON(): unknown {
    return this.#value()
  }
}
