/** Values that were computed once for an owner, such as a snapshot, and a text; they are forgotten with the owner. */
export class Remembered<Owner extends object, Value> {
  readonly #known = new WeakMap<Owner, Map<string, Value>>()

  /** Returns the value, made when it is asked for the first time. The texts of one owner must be few. */
  of(owner: Owner, text: string, make: () => Value): Value {
    let known = this.#known.get(owner)
    if (!known) this.#known.set(owner, (known = new Map()))
    let value = known.get(text)
    if (value === undefined) known.set(text, (value = make()))
    return value
  }
}
