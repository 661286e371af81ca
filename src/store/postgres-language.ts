/** What the database is taught: documents as data that can be asked about, and the order of values. */

import { longestText, longestWord, separators, unsearched } from '../core/words.ts'

/** Documents of a doctype; only these are asked about by other things than look-ups. */
export const askedAbout = "collection LIKE 'document.%'"

/**
 * `data`: a document as jsonb, in which U+0000 and half characters, which it cannot hold, are U+FDD0. `place`: where a
 * value stands among others, as bytes: nothing, then numbers and checks, then texts by their first 200 characters
 * in UTF-16 (as in `core/expression-values.ts order`), then the rest.
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
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
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
  // The words of a document, each behind the path of its field, as `core/words.ts` says; a vector holds a megabyte. Step by
  // step: as one statement, whose size the planner cannot know, it would take twenty times as long.
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
  // As JavaScript calculates: what is too large is nothing, what is too small is 0.
  ...[
    ['plus', '+', 'abs(a) > 8e307 OR abs(b) > 8e307', 'false'],
    ['minus', '-', 'abs(a) > 8e307 OR abs(b) > 8e307', 'false'],
    [
      'times',
      '*',
      'a <> 0 AND b <> 0 AND log(abs(a)) + log(abs(b)) > 308.25',
      'a = 0 OR b = 0 OR log(abs(a)) + log(abs(b)) < -323',
    ],
    [
      'divided',
      '/',
      'b = 0 OR (a <> 0 AND log(abs(a)) - log(abs(b)) > 308.25)',
      'a = 0 OR log(abs(a)) - log(abs(b)) < -323',
    ],
  ].map(
    ([
      name,
      sign,
      none,
      zero,
    ]) => `CREATE OR REPLACE FUNCTION assistant_core.${name}(a float8, b float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$ SELECT CASE WHEN ${none} THEN NULL WHEN ${zero} THEN 0 ELSE a ${sign} b END $$`,
  ),
]

/** What a text sorts by in the collation "C" as in JavaScript: from U+E000 on, characters come behind those of two units. */
export function sortable(text: string): string {
  const escaped = String.raw`regexp_replace(${text}, '([\U0010FFFE\U0010FFFF])', E'\U0010FFFE\\1', 'g')`
  const moved = String.raw`regexp_replace(${escaped}, '([\uE000-\uFFFF])', E'\U0010FFFF\\1', 'g')`
  return `CASE WHEN octet_length(${text}) = char_length(${text}) THEN ${text} ELSE ${moved} END`
}

/** The text that sorts so. */
export function unsorted(text: string): string {
  return text.replace(/[\u{10FFFE}\u{10FFFF}](.)/gsu, '$1')
}

/** A text in small letters, as JavaScript has them. */
export function lowered(text: string): string {
  return `lower(${text} COLLATE "und-x-icu") COLLATE "C"`
}

/** The place of a field in an order, as the indexes hold it. */
export function sortPlace(name: string): string {
  return `assistant_core.place(${field(name)})`
}

/** The place of a value, as the function of the database gives it. */
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

/** The first 200 characters of a text, those of two UTF-16 units as two. */
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

/** A field of the document as JSON. */
export function field(name: string, data = 'd.data'): string {
  return `(${data} -> ${quoted(name)})`
}

/** The text of a field in small letters, as the indexes of trigrams hold it. */
export function smallText(name: string, data?: string): string {
  return lowered(`(${field(name, data)} #>> '{}')`)
}

/** A text as it stands in a statement. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** A value as the database reads it. */
export function storedJson(value: unknown): string {
  return JSON.stringify(value).replace(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g, '$1\\ufdd0')
}

/** A text as `assistant_core.data` holds it: U+0000 and half characters, which the database cannot, are U+FDD0. */
export function storedText(text: string): string {
  return JSON.parse(storedJson(text)) as string
}

/** What a text begins with that is a date, as `core/expression-values.ts` has it. */
export const datePattern = '^(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])'

/** The columns that follow from the document; for many documents it takes a while to be made. */
export const dataColumns = `ALTER TABLE assistant_core.document ADD COLUMN data jsonb
  GENERATED ALWAYS AS (CASE WHEN ${askedAbout} THEN assistant_core.data(body) END) STORED,
  ADD COLUMN words tsvector
  GENERATED ALWAYS AS (CASE WHEN ${askedAbout} THEN assistant_core.words(assistant_core.data(body)) END) STORED`
