/** The pictures that stand for this service and for what its tools do. */

/** Where each is served, under the public URL. */
export const iconsPath = '/assets/icons/'

/** A picture as MCP describes it (2025-11-25). */
export interface Icon {
  readonly src: string
  readonly mimeType: string
  readonly sizes: readonly string[]
}

/** The service itself: the bitmap that every client can show first. */
export function serviceIcons(publicUrl: string): readonly Icon[] {
  return [
    { src: `${publicUrl}${iconsPath}server.png`, mimeType: 'image/png', sizes: ['96x96'] },
    { src: `${publicUrl}${iconsPath}server.svg`, mimeType: 'image/svg+xml', sizes: ['any'] },
  ]
}

/** A tool, by what it does to data. */
export function toolIcons(
  publicUrl: string,
  { readOnlyHint, destructiveHint }: { readonly readOnlyHint: boolean; readonly destructiveHint: boolean },
): readonly Icon[] {
  const name = readOnlyHint ? 'read' : destructiveHint ? 'destroy' : 'write'
  return [{ src: `${publicUrl}${iconsPath}${name}.svg`, mimeType: 'image/svg+xml', sizes: ['any'] }]
}
