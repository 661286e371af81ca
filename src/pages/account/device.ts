/** Names a browser and its system as people know them, from its `User-Agent`. */
export function deviceOf(agent: string): { readonly browser: string; readonly system: string } {
  const named = (names: readonly (readonly [RegExp, string])[]): string =>
    names.find(([pattern]) => pattern.test(agent))?.[1] ?? ''
  return { browser: named(browsers), system: named(systems) }
}

// The first match counts: later browsers call themselves what earlier ones are.
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
