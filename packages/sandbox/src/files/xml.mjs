// @ts-check
/** Reads XML as a stream of elements. Document types are refused: they are the way to multiply entities and to reach out. */
import { SaxesParser } from 'saxes'
import { FileFault } from './zip.mjs'

const maxDepth = 256

/**
 * @typedef {{ open?: (name: string, attributes: Record<string, string>) => void, close?: (name: string) => void, text?: (text: string) => void }} Handlers
 */

/**
 * Parses a part; element names come without their prefix, attribute names with it.
 * @param {AsyncIterable<Buffer>} stream @param {Handlers} handlers
 */
export async function parseXml(stream, { open, close, text }) {
  const parser = new SaxesParser({ xmlns: false })
  let depth = 0
  parser.on('doctype', () => {
    throw new FileFault('declares a document type, which documents of this kind do not need')
  })
  parser.on('error', (error) => {
    throw new FileFault(`has a part that is not well-formed XML: ${error.message}`)
  })
  parser.on('opentag', ({ name, attributes }) => {
    depth += 1
    if (depth > maxDepth) throw new FileFault(`nests its elements deeper than ${maxDepth}`)
    open?.(local(name), attributes)
  })
  parser.on('closetag', ({ name }) => {
    depth -= 1
    close?.(local(name))
  })
  if (text) parser.on('text', text)
  /** @type {InstanceType<typeof TextDecoder> | undefined} */
  let decoder
  for await (const chunk of stream) {
    decoder ??= new TextDecoder(
      chunk[0] === 0xff && chunk[1] === 0xfe
        ? 'utf-16le'
        : chunk[0] === 0xfe && chunk[1] === 0xff
          ? 'utf-16be'
          : 'utf-8',
    )
    parser.write(decoder.decode(chunk, { stream: true }))
  }
  parser.close()
}

/** @param {string} name */
function local(name) {
  return name.slice(name.indexOf(':') + 1)
}
