/**
 * What one rendering may use up, and the one object that counts it. Everything that can grow
 * (a loop, a list, a string, a recursion, the output) asks here first, so no template can run
 * longer or hold more than its limits say.
 */

/** Where time enters; tests hand in one that they move. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

/** The bounds of one rendering. */
export interface Limits {
  /** Work units: about one for each expression evaluated, item visited, or sixteen characters produced. */
  steps: number
  /** Bytes of output (UTF-8), and the length of any one string on the way there. */
  outputBytes: number
  /** Macro calls, recursive loops, includes and nested containers, one inside the other. */
  depth: number
  /** Items in any one list, tuple or dict. */
  collection: number
  /** Time of the rendering by its clock, from the first look at it. */
  milliseconds: number
}

/** Bounds that no honest prompt comes near: about half a second of work at the most. */
export const defaultLimits: Limits = {
  steps: 5_000_000,
  outputBytes: 1_000_000,
  depth: 200,
  collection: 100_000,
  milliseconds: 1_000,
}

/** What went wrong, named as Python and Jinja2 name it; `LimitError` is ours. */
export type FaultKind =
  | 'TemplateSyntaxError'
  | 'TemplateRuntimeError'
  | 'TemplateNotFound'
  | 'UndefinedError'
  | 'SecurityError'
  | 'FilterArgumentError'
  | 'LimitError'
  | 'TypeError'
  | 'ValueError'
  | 'LookupError'
  | 'UnicodeEncodeError'
  | 'UnicodeDecodeError'
  | 'KeyError'
  | 'IndexError'
  | 'AttributeError'
  | 'ZeroDivisionError'
  | 'OverflowError'
  | 'RecursionError'
  | 'RuntimeError'
  | 'AssertionError'

/** A fault inside a template before it is known where; `template.ts` adds the place. */
export class Fault extends Error {
  readonly kind: FaultKind
  /** Where in the source, for a fault found while reading it. */
  readonly offset: number | undefined

  constructor(kind: FaultKind, message: string, offset?: number) {
    super(message)
    this.name = 'Fault'
    this.kind = kind
    this.offset = offset
  }
}

/** A point in a template's source: what an error message shows. */
export interface Place {
  readonly source: { readonly name: string; readonly text: string }
  readonly offset: number
}

/** Steps between two looks at the clock. */
const CLOCK_INTERVAL = 8_192

/** One rendering: its output so far, what it has used, and where it is. */
export class Run {
  readonly limits: Limits
  out = ''
  /** Where the operation under way stands; read only when it fails. */
  at: Place | undefined
  /** Containers being printed, so that one inside itself prints as `[...]`. */
  readonly printing: object[] = []
  private steps = 0
  private next: number
  private depth = 0
  private readonly clock: Clock
  private deadline: number | undefined

  constructor(limits: Limits, clock: Clock) {
    this.limits = limits
    this.clock = clock
    this.next = Math.min(limits.steps, CLOCK_INTERVAL)
  }

  /** Counts work; ends the rendering when it is too much or takes too long. */
  tick(units: number): void {
    this.steps += units
    if (this.steps >= this.next) this.check()
  }

  private check(): void {
    if (this.steps >= this.limits.steps) {
      throw new Fault('LimitError', `the template needs more than ${this.limits.steps} steps`)
    }
    // Most renderings end before the first look, and pay for none.
    const now = this.clock.now()
    this.deadline ??= now + this.limits.milliseconds
    if (now > this.deadline) {
      throw new Fault('LimitError', `the template takes longer than ${this.limits.milliseconds} ms`)
    }
    this.next = Math.min(this.limits.steps, this.steps + CLOCK_INTERVAL)
  }

  /** Asks for room for a string of so many characters, before it is made. */
  text(length: number): void {
    if (length > this.limits.outputBytes) {
      throw new Fault(
        'LimitError',
        `a string of ${length} characters is longer than ${this.limits.outputBytes}`,
      )
    }
    if (length > 64) this.tick(length >> 4)
  }

  /** Counts the reading of a text of so many characters: what searches or compares it goes through all of it. */
  reads(length: number): void {
    if (length > 256) this.tick(length >> 6)
  }

  /** Asks for room for a collection of so many items, before it is made. */
  items(count: number): void {
    if (count > this.limits.collection) {
      throw new Fault('LimitError', `a collection of ${count} items is larger than ${this.limits.collection}`)
    }
    this.tick(count)
  }

  /** Goes one level deeper: a call, a nested container. Pair with `leave`. */
  enter(): void {
    if (++this.depth > this.limits.depth) {
      throw new Fault('RecursionError', `nested deeper than ${this.limits.depth} levels`)
    }
  }

  leave(): void {
    this.depth--
  }

  write(text: string): void {
    this.out += text
    if (this.out.length > this.limits.outputBytes) this.overflow()
    if (text.length > 64) this.tick(text.length >> 4)
  }

  /** Starts collecting output elsewhere; the answer is handed back to `release`. */
  capture(): string {
    const outer = this.out
    this.out = ''
    return outer
  }

  /** Ends a `capture` and returns what was written meanwhile. */
  release(outer: string): string {
    const text = this.out
    this.out = outer
    return text
  }

  private overflow(): never {
    throw new Fault('LimitError', `the output is longer than ${this.limits.outputBytes} bytes`)
  }
}
