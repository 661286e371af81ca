import { resourceOf } from '../oauth/urls.ts'
import type { Foundation, ServicesOptions } from './foundation.ts'

/** The address of the service, as it publishes it. */
export interface PublicAddress {
  /** The origin that every published URL begins with, without a trailing slash (D1). */
  readonly publicUrl: () => string
  readonly mcpUrl: () => string
  /** Sets the port that the daemon listens on: part of the public URL when none is set. */
  readonly listening: (port: number) => void
}

/** Returns the address that the options or the settings name. */
export function publicAddressOf(
  { settings }: Pick<Foundation, 'settings'>,
  options: ServicesOptions,
): PublicAddress {
  let { port } = settings().server
  let known: { readonly of: string; readonly url: string } | undefined
  const publicUrl = (): string => {
    const of = options.publicUrl ?? settings().public_url ?? `http://localhost:${port}`
    if (known?.of !== of) known = { of, url: of.replace(/\/+$/, '') }
    return known.url
  }
  return {
    publicUrl,
    mcpUrl: () => resourceOf(publicUrl()),
    listening: (bound) => {
      port = bound
    },
  }
}
