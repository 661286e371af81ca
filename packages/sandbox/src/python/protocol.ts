/** Checks the messages of a sandboxed program as if its author had written every byte. */
import { compileSchema, type FromSchema, type JSONSchema } from '#leaf/schema.ts'
import { objectWith } from '#leaf/object-schema.ts'

const text = (maxLength: number) => ({ type: 'string', maxLength }) as const
const counter = { type: 'integer', minimum: 0 } as const

const checkReady = compileSchema({
  type: 'object',
  required: ['ready', 'python'],
  properties: {
    ready: { type: 'object', additionalProperties: text(100), maxProperties: 20 },
    python: text(100),
  },
})

const checkNumber = compileSchema(objectWith({ process: { type: 'integer', minimum: 2 } }))

const callSchema = objectWith({
  call: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' },
  arguments: { type: 'object' },
}) satisfies JSONSchema
const checkCall = compileSchema(callSchema)

const errorSchema = objectWith({
  type: text(200),
  message: text(4000),
  // The line of the program itself.
  line: { type: ['integer', 'null'] },
  traceback: text(8000),
}) satisfies JSONSchema

const doneSchema = objectWith({
  error: { anyOf: [{ type: 'null' }, errorSchema] },
  // The value of a last line that is an expression, as Python writes it.
  result: { type: ['string', 'null'], maxLength: 20_000 },
  variables: { type: 'object', maxProperties: 100 },
  // Variables that could not be returned, and the reasons.
  problems: { type: 'object', additionalProperties: text(500), maxProperties: 100 },
  // The number of images that follow.
  images: { type: 'integer', minimum: 0, maximum: 8 },
  written: counter,
  dropped: counter,
}) satisfies JSONSchema
const checkDone = compileSchema(objectWith({ done: doneSchema }))

/** A program's call of a tool. */
export type ToolCall = FromSchema<typeof callSchema>
/** The place and the reason of a program's failure. */
export type PythonError = FromSchema<typeof errorSchema>
/** The message that the program has ended. */
export type Done = FromSchema<typeof doneSchema>

/** Reads the versions of Python and of the libraries that the interpreter has loaded; undefined for any other message. */
export function readReady(message: unknown): Readonly<Record<string, string>> | undefined {
  if (checkReady(message).length > 0) return undefined
  const { ready, python } = message as { ready: Record<string, string>; python: string }
  return { python, ...ready }
}

/** Reads a call or the end; undefined when the message is neither. */
export function readMessage(message: unknown): ToolCall | { readonly done: Done } | undefined {
  if (checkCall(message).length === 0) return message as ToolCall
  return checkDone(message).length === 0 ? (message as { done: Done }) : undefined
}

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** True for a PNG file: a client is never handed anything else as an image. */
export function isPng(bytes: Buffer): boolean {
  return bytes.subarray(0, 8).equals(pngSignature)
}

/** Reads the number of a fork on the host; undefined for any other message. */
export function readNumber(message: unknown): number | undefined {
  return checkNumber(message).length > 0 ? undefined : (message as { process: number }).process
}
