/** Icons of this service and of the kinds of its tools. */

/** The path under the public URL that serves the icons. */
export const iconsPath = '/assets/icons/'

/** An icon as MCP describes it (2025-11-25). */
export interface Icon {
  readonly src: string
  readonly mimeType: string
  readonly sizes: readonly string[]
}

/** Returns the icons of the service: first the bitmap, which every client can show. */
export function serviceIcons(publicUrl: string): readonly Icon[] {
  return [
    { src: `${publicUrl}${iconsPath}server.png`, mimeType: 'image/png', sizes: ['96x96'] },
    { src: `${publicUrl}${iconsPath}server.svg`, mimeType: 'image/svg+xml', sizes: ['any'] },
  ]
}

/** Returns the icon of a tool, chosen by what the tool does to data. */
export function toolIcons(
  publicUrl: string,
  { readOnlyHint, destructiveHint }: { readonly readOnlyHint: boolean; readonly destructiveHint: boolean },
): readonly Icon[] {
  const name = readOnlyHint ? 'read' : destructiveHint ? 'destroy' : 'write'
  return [{ src: `${publicUrl}${iconsPath}${name}.svg`, mimeType: 'image/svg+xml', sizes: ['any'] }]
}
