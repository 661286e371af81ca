const hidden =
  /[\u0080-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\u{e0000}|[\u{e0001}-\u{e007f}]|[\ud800-\udfff]/gu

/** Returns a text with control characters as pictures and invisible characters as `⟨U+202E⟩`. */
export function pictured(text: string): string {
  return text
    .replace(/[\u0000-\u001f\u007f]/g, (character) =>
      character === '\u007f' ? '\u2421' : String.fromCharCode(0x2400 + character.charCodeAt(0)),
    )
    .replace(hidden, (character) => {
      return `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`
    })
}
