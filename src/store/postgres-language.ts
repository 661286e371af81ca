/** What the database is taught: documents as data that can be asked about, and the order of values. */

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
]

/** The column that follows from the document; for many documents it takes a while to be made. */
export const dataColumn = `ALTER TABLE assistant_core.document ADD COLUMN data jsonb
  GENERATED ALWAYS AS (CASE WHEN ${askedAbout} THEN assistant_core.data(body) END) STORED`
