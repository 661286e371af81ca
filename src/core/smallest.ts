/** The first by an order, without sorting what nobody asked for. */
export function smallest<T>(documents: T[], compare: (a: T, b: T) => number, count: number): T[] {
  if (count * 8 >= documents.length) return documents.sort(compare).slice(0, count)
  const best: T[] = []
  // From the end: what was made last is most often wanted first, and then little is moved.
  for (let index = documents.length - 1; index >= 0; index--) {
    const document = documents[index]!
    if (best.length === count && compare(document, best[count - 1]!) >= 0) continue
    let [low, high] = [0, best.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compare(document, best[middle]!) < 0) high = middle
      else low = middle + 1
    }
    best.splice(low, 0, document)
    if (best.length > count) best.pop()
  }
  return best
}
