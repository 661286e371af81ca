import { crc32 } from 'node:zlib'

/** Returns a ZIP archive (APPNOTE 4.3) that holds these files by name: as they are, or deflated by `pack`. */
export function zipOf(
  files: Readonly<Record<string, string | Uint8Array>>,
  pack?: (bytes: Buffer, path: string) => Buffer,
): Buffer {
  const bodies: Buffer[] = []
  const entries: Buffer[] = []
  let offset = 0
  for (const [path, content] of Object.entries(files)) {
    const name = Buffer.from(path)
    const bytes = Buffer.from(content)
    const packed = pack?.(bytes, path) ?? bytes
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    // Names are UTF-8; the date is the first that the format knows, so that equal files are equal archives.
    fields.writeUInt16LE(0x0800, 2)
    fields.writeUInt16LE(pack ? 8 : 0, 4)
    fields.writeUInt16LE(0x0021, 8)
    fields.writeUInt32LE(crc32(bytes), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(bytes.length, 18)
    fields.writeUInt16LE(name.length, 22)
    const entry = Buffer.alloc(46)
    entry.writeUInt32LE(0x02014b50, 0)
    entry.writeUInt16LE(20, 4)
    fields.copy(entry, 6)
    entry.writeUInt32LE(offset, 42)
    entries.push(entry, name)
    bodies.push(signature(0x04034b50), fields, name, packed)
    offset += 30 + name.length + packed.length
  }
  const directory = Buffer.concat(entries)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(entries.length / 2, 8)
  end.writeUInt16LE(entries.length / 2, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...bodies, directory, end])
}

function signature(number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(number, 0)
  return bytes
}
