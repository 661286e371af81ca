/** A browser and its system by the names that people know, from what it says of itself (`User-Agent`). */
export function deviceOf(agent: string): { readonly browser: string; readonly system: string } {
  const named = (names: readonly (readonly [RegExp, string])[]): string =>
    names.find(([pattern]) => pattern.test(agent))?.[1] ?? ''
  return { browser: named(browsers), system: named(systems) }
}

// The first that fits: later ones call themselves what earlier ones are.
const browsers = [
  [/\bEdg/, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/Chrom(e|ium)\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
] as const
const systems = [
  [/\biPhone\b|\biPad\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
] as const
