const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Parses a moment: a date, a duration back from now such as 2h, or the start of `today` or `yesterday` here; else undefined. */
export function momentOf(text: string, now: number): number | undefined {
  const back = /^([1-9]\d{0,8})([smhd])$/.exec(text)
  if (back) return now - Number(back[1]) * units[back[2] as keyof typeof units]
  if (text === 'today' || text === 'yesterday') {
    const day = new Date(now)
    day.setDate(day.getDate() - (text === 'today' ? 0 : 1))
    return day.setHours(0, 0, 0, 0)
  }
  const time = Date.parse(text)
  return Number.isNaN(time) ? undefined : time
}
