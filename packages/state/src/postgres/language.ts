/** The functions defined in the database: documents as data that can be queried, and the order of values. */

import { longestText, longestWord, separators, unsearched } from '../questions/words.ts'

/** Encodes an id for storage: UTF-16, big-endian, so that bytes sort as JavaScript texts do and none is lost. */
export function idBytes(id: string): Buffer {
  return Buffer.from(id, 'utf16le').swap16()
}

/** Decodes a stored id. */
export function idText(bytes: Buffer): string {
  return Buffer.from(bytes).swap16().toString('utf16le')
}

/**
 * `data`: a document as jsonb, with U+FDD0 for U+0000 and lone surrogates, which jsonb cannot hold. `place`: the sort key
 * of a value, as bytes: null, then numbers and checkboxes, then texts by their first 200 characters in UTF-16 (as in
 * `#state/questions/expression-values.ts order`), then the rest. An index has the sort keys, so that reading by it is
 * cheaper than the planner thinks: hence the COST, beside the comparison of two numbers (0.0025).
 */
export const language = [
  String.raw`CREATE OR REPLACE FUNCTION assistant_core.data(body text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
    DECLARE clean text;
    BEGIN
      IF strpos(body, '\u') > 0 THEN
        LOOP
          clean := regexp_replace(body, '(^|[^\\])((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})', '\1\2\\ufdd0', 'g');
          EXIT WHEN clean = body;
          body := clean;
        END LOOP;
      END IF;
      RETURN body::jsonb;
    END $$`,
  String.raw`CREATE OR REPLACE FUNCTION assistant_core.units(t text) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
    DECLARE bytes bytea := ''; c text; n int; half int;
    BEGIN
      FOREACH c IN ARRAY regexp_split_to_array(t, '') LOOP
        n := ascii(c) - 65536;
        IF n < 0 THEN bytes := bytes || convert_to(c, 'UTF8');
        ELSE
          FOREACH half IN ARRAY ARRAY[55296 + n / 1024, 56320 + n % 1024] LOOP
            bytes := bytes || decode(lpad(to_hex(((224 | (half >> 12)) << 16)
              | ((128 | ((half >> 6) & 63)) << 8) | (128 | (half & 63))), 6, '0'), 'hex');
          END LOOP;
        END IF;
      END LOOP;
      RETURN bytes;
    END $$`,
  String.raw`CREATE OR REPLACE FUNCTION assistant_core.place(v jsonb) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000 AS $$
    DECLARE bits bigint; t text;
    BEGIN
      IF v IS NULL THEN RETURN '\x00'; END IF;
      CASE jsonb_typeof(v)
        WHEN 'string' THEN
          t := left(v #>> '{}', 200);
          IF octet_length(t) > char_length(t) AND t ~ '[\U00010000-\U0010FFFF]' THEN
            RETURN '\x02'::bytea || assistant_core.units(t);
          END IF;
          RETURN '\x02'::bytea || convert_to(t, 'UTF8');
        WHEN 'number', 'boolean' THEN
          bits := ('x' || encode(float8send(CASE jsonb_typeof(v) WHEN 'number' THEN (v #>> '{}')::float8
            ELSE (v::text::boolean)::int::float8 END), 'hex'))::bit(64)::bigint;
          -- As bytes, negative numbers come before the others and the smaller of them first.
          RETURN '\x01'::bytea || int8send(CASE WHEN bits < 0 THEN ~bits ELSE bits # (-9223372036854775808) END);
        WHEN 'null' THEN RETURN '\x00';
        ELSE RETURN '\x03';
      END CASE;
    END $$`,
  String.raw`CREATE OR REPLACE FUNCTION assistant_core.words_at(path text, content text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
    BEGIN
      RETURN ARRAY(SELECT left(path, 100) || '=' || left(word, ${longestWord})
        FROM regexp_split_to_table(lower(left(content, ${longestText}) COLLATE "und-x-icu"), '[${separators}]+') AS word
        WHERE word <> '');
    END $$`,
  // The words of a document, each after the path of its field, as `#state/questions/words.ts` says; a tsvector holds a megabyte.
  // It works step by step: as one statement, whose size the planner cannot know, it would take twenty times as long.
  String.raw`CREATE OR REPLACE FUNCTION assistant_core.words(document jsonb) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
    DECLARE everything text[] := '{}'; field text; held jsonb; line jsonb; cell text; inner_value jsonb;
    BEGIN
      FOR field, held IN SELECT key, value FROM jsonb_each(document) LOOP
        IF jsonb_typeof(held) = 'string' THEN
          CONTINUE WHEN field IN ('${unsearched.join("', '")}');
          everything := everything || assistant_core.words_at(field, held #>> '{}');
        ELSIF jsonb_typeof(held) = 'array' THEN
          FOR line IN SELECT value FROM jsonb_array_elements(held) LOOP
            CONTINUE WHEN jsonb_typeof(line) <> 'object';
            FOR cell, inner_value IN SELECT key, value FROM jsonb_each(line) LOOP
              CONTINUE WHEN jsonb_typeof(inner_value) <> 'string';
              everything := everything || assistant_core.words_at(field || '.' || cell, inner_value #>> '{}');
            END LOOP;
          END LOOP;
        END IF;
      END LOOP;
      IF cardinality(everything) > 3500 THEN
        everything := ARRAY(SELECT DISTINCT one FROM unnest(everything) AS one LIMIT 3500);
      END IF;
      RETURN array_to_tsvector(everything);
    END $$`,
]

/** Returns SQL by which a text sorts in collation "C" as in JavaScript: U+E000 to U+FFFF come after characters of two units. */
export function sortable(text: string): string {
  const escaped = String.raw`regexp_replace(${text}, '([\U0010FFFE\U0010FFFF])', E'\U0010FFFE\\1', 'g')`
  const moved = String.raw`regexp_replace(${escaped}, '([\uE000-\uFFFF])', E'\U0010FFFF\\1', 'g')`
  return `CASE WHEN octet_length(${text}) = char_length(${text}) THEN ${text} ELSE ${moved} END`
}

/** Restores the text from its `sortable` form. */
export function unsorted(text: string): string {
  return text.replace(/[\u{10FFFE}\u{10FFFF}](.)/gsu, '$1')
}

/** Returns SQL for a text in lower case, as in JavaScript. */
export function lowered(text: string): string {
  return `lower(${text} COLLATE "und-x-icu") COLLATE "C"`
}

/** Returns SQL for the sort key of a field, as the indexes hold it. */
export function sortPlace(name: string): string {
  return `assistant_core.place(${field(name)})`
}

/** Calculates the sort key of a value, equal to the database's function `place`. */
export function placeBytes(value: unknown): Buffer {
  if (typeof value === 'string') return Buffer.concat([Buffer.of(2), firstUnits(storedText(value))])
  if (typeof value === 'object' && value !== null) return Buffer.of(3)
  const size = Number(value ?? NaN)
  if (!Number.isFinite(size)) return Buffer.of(0)
  const bytes = Buffer.alloc(9, 1)
  // JSON has no negative zero.
  bytes.writeDoubleBE(size + 0, 1)
  const negative = bytes[1]! >= 128
  for (let at = 1; at < 9; at++) bytes[at]! ^= negative ? 255 : at === 1 ? 128 : 0
  return bytes
}

/** Encodes the first 200 characters of a text, those of two UTF-16 units as two. */
function firstUnits(text: string): Buffer {
  const first = Array.from(text.slice(0, 400)).slice(0, 200).join('')
  if (!/[\ud800-\udfff]/.test(first)) return Buffer.from(first)
  const bytesOf = (unit: string): Buffer => {
    const code = unit.charCodeAt(0)
    const isHalf = code >= 0xd800 && code < 0xe000
    return isHalf
      ? Buffer.of(224 | (code >> 12), 128 | ((code >> 6) & 63), 128 | (code & 63))
      : Buffer.from(unit)
  }
  return Buffer.concat(first.split('').map(bytesOf))
}

/** Returns SQL for a field of the document as JSON. */
export function field(name: string, data = 'd.data'): string {
  return `(${data} -> ${quoted(name)})`
}

/** Returns SQL for the text of a field in lower case, as the trigram indexes hold it. */
export function smallText(name: string, data?: string): string {
  return lowered(`(${field(name, data)} #>> '{}')`)
}

/** Quotes a text as an SQL literal. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Quotes a name of a table or column. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Formats a value as JSON that the database can read. */
export function storedJson(value: unknown): string {
  return JSON.stringify(value).replace(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g, '$1\\ufdd0')
}

/** Converts a text as `assistant_core.data` does: U+FDD0 for U+0000 and lone surrogates, which the database cannot hold. */
export function storedText(text: string): string {
  return JSON.parse(storedJson(text)) as string
}

/** The pattern of a text that begins with a date, as in `#state/questions/expression-values.ts`. */
export const datePattern = '^(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])'
