/** Contrast of colours as WCAG 2.2 reckons it (success criterion 1.4.3). */

/** What normal text needs. */
export const readableContrast = 4.5

/** The palest ground that the accent stands on in the light, and the palest in the dark. */
const grounds = { light: '#f4f5f7', dark: '#1d222b' } as const

/** How well the accent can be read on our pages in the light. */
export function accentContrast(colour: string): number {
  return contrast(colour, grounds.light)
}

/** The accent as bright as the dark needs it. */
export function darkAccent(colour: string): string {
  const [red, green, blue] = channels(colour)
  for (let white = 0; white < 1; white += 0.05) {
    const mixed = [red, green, blue].map((value) => Math.round(value! + (255 - value!) * white))
    const hex = `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`
    if (contrast(hex, grounds.dark) >= readableContrast) return hex
  }
  return '#ffffff'
}

/** The contrast ratio of two colours written as #rrggbb, 1 to 21. */
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
