/** A value with its JSON text, which is written once and not again for each place where it stands. */
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
