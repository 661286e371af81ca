/** Debounces a call: it is made after `quiet` milliseconds without a note, or `patience` milliseconds after the first. */
export function debounced(
  call: () => void,
  quiet: number,
  patience: number,
): { readonly note: () => void; readonly cancel: () => void } {
  let soon: NodeJS.Timeout | undefined
  let latest: NodeJS.Timeout | undefined
  const cancel = (): void => {
    clearTimeout(soon)
    clearTimeout(latest)
    soon = latest = undefined
  }
  const fire = (): void => {
    cancel()
    call()
  }
  return {
    cancel,
    note: () => {
      clearTimeout(soon)
      soon = setTimeout(fire, quiet)
      latest ??= setTimeout(fire, patience)
    },
  }
}
