// The conformance suite imports `globSync`, which Node 20's fs has not, for a command that no test uses.
const shim = new URL('fs-with-glob.mjs', import.meta.url).href

export function resolve(specifier, context, next) {
  const wantsFs = specifier === 'fs' || specifier === 'node:fs'
  if (
    wantsFs &&
    context.parentURL !== shim &&
    context.parentURL?.includes('/@modelcontextprotocol/conformance/')
  ) {
    return { url: shim, shortCircuit: true }
  }
  return next(specifier, context)
}
