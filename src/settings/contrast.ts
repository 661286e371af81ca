/** Contrast of colours as WCAG 2.2 defines it (success criterion 1.4.3). */

/** The minimum contrast of normal text. */
export const readableContrast = 4.5

/** The palest background of the accent in the light theme, and the palest in the dark. */
const grounds = { light: '#f4f5f7', dark: '#1d222b' } as const

/** Returns the contrast of the accent on our pages in the light theme. */
export function accentContrast(colour: string): number {
  return contrast(colour, grounds.light)
}

/** Returns the accent, made as bright as the dark theme needs it. */
export function darkAccent(colour: string): string {
  const [red, green, blue] = channels(colour)
  for (let white = 0; white < 1; white += 0.05) {
    const mixed = [red, green, blue].map((value) => Math.round(value! + (255 - value!) * white))
    const hex = `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`
    if (contrast(hex, grounds.dark) >= readableContrast) return hex
  }
  return '#ffffff'
}

/** Returns the contrast ratio of two colours written as #rrggbb, 1 to 21. */
function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (light! + 0.05) / (dark! + 0.05)
}

function luminance(colour: string): number {
  const [red, green, blue] = channels(colour).map((value) => {
    const part = value / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}

function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
}
