/** Tables of the company that are written to. */

import { writeKeysDdl, writeKeysIn } from '#sources/write-keys.ts'
import { noMariadb, suiteMariadb, type TestMariadb } from '../helpers/mariadb.ts'
import { noPostgres, suitePostgres, type TestPostgres } from '../helpers/postgres.ts'

/** Items with a trigger, a default, a generated column, a check and references; lots with a key of two columns. */
export const stock = `
  CREATE TABLE erp.item (id serial PRIMARY KEY, name varchar(20) NOT NULL UNIQUE, price numeric(8,2) CHECK (price >= 0),
    state text NOT NULL DEFAULT 'new', owner text, secret text, label text GENERATED ALWAYS AS (upper(name)) STORED,
    supplier int REFERENCES erp.customer, row_no int NOT NULL DEFAULT 1, changed_by text);
  CREATE TABLE erp.part (item int REFERENCES erp.item);
  CREATE TABLE erp.lot (place text, line int, amount int NOT NULL, PRIMARY KEY (place, line));
  CREATE FUNCTION erp.tidy() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.name = 'forbidden' THEN RAISE EXCEPTION 'not that one, as row 7 says'; END IF;
      IF NEW.name = 'becomes held' THEN NEW.name := 'Held'; END IF;
      NEW.name := upper(left(NEW.name, 1)) || substr(NEW.name, 2);
      NEW.changed_by := current_setting('assistant.user', true);
      RETURN NEW;
    END $$;
  INSERT INTO erp.item (name, price, owner) VALUES ('Washer', 2, 'ann@example.com'), ('Screw', NULL, 'bob@example.com');
  INSERT INTO erp.lot VALUES ('B', 1, 9);
  CREATE TRIGGER tidy BEFORE INSERT OR UPDATE ON erp.item FOR EACH ROW EXECUTE FUNCTION erp.tidy();
  DO $$ BEGIN CREATE ROLE writer LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
  GRANT USAGE ON SCHEMA erp TO writer; GRANT SELECT ON ALL TABLES IN SCHEMA erp TO writer;
  GRANT INSERT (name, price, supplier, owner), UPDATE (name, price, secret, row_no), DELETE ON erp.item TO writer;
  GRANT USAGE ON SEQUENCE erp.item_id_seq TO writer;
  GRANT INSERT, UPDATE, DELETE ON erp.lot TO writer`

/** The same in MariaDB, where no number is drawn from a sequence. */
const mariaStock = `
  CREATE TABLE item (id int AUTO_INCREMENT PRIMARY KEY, name varchar(20) NOT NULL UNIQUE, price decimal(8,2) CHECK (price >= 0),
    state varchar(20) NOT NULL DEFAULT 'new', owner varchar(100), secret text,
    label varchar(20) GENERATED ALWAYS AS (upper(name)) STORED, supplier int, row_no int NOT NULL DEFAULT 1,
    changed_by varchar(100), FOREIGN KEY (supplier) REFERENCES customer (id));
  CREATE TABLE part (item int, FOREIGN KEY (item) REFERENCES item (id));
  CREATE TABLE lot (place varchar(20), line int, amount int NOT NULL, PRIMARY KEY (place, line));
  INSERT INTO item (name, price, owner) VALUES ('Washer', 2, 'ann@example.com'), ('Screw', NULL, 'bob@example.com');
  INSERT INTO lot VALUES ('B', 1, 9);
  ${['INSERT', 'UPDATE']
    .map(
      (deed) => `CREATE TRIGGER tidy_${deed} BEFORE ${deed} ON item FOR EACH ROW BEGIN
        IF NEW.name = 'forbidden' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not that one, as row 7 says'; END IF;
        IF NEW.name = 'becomes held' THEN SET NEW.name = 'Held'; END IF;
        SET NEW.name = CONCAT(UPPER(LEFT(NEW.name, 1)), SUBSTR(NEW.name, 2));
        SET NEW.changed_by = @assistant_user;
      END`,
    )
    .join(';')};
  DROP USER IF EXISTS writer; CREATE USER writer; GRANT SELECT ON erp.* TO writer;
  GRANT INSERT (name, price, supplier, owner), UPDATE (name, price, secret, row_no), DELETE ON erp.item TO writer;
  GRANT INSERT, UPDATE, DELETE ON erp.lot TO writer`

export const item = `
doctype: Item
title_field: title
from:
  source: erp
  table: erp.item
  key: [id]
  standard: { owner: owner }
  write: { create: [title, price, supplier, owner], change: [title, price, secret], delete: true }
  version: row_no
  search: [title]
fields:
  - { fieldname: title, type: text, column: name, required: false }
  - { fieldname: price, type: currency }
  - { fieldname: state, type: text }
  - { fieldname: label, type: text }
  - { fieldname: supplier, type: link, doctype: Customer }
  - { fieldname: secret, type: text, level: 1 }
  - { fieldname: row_no, type: integer }
permissions:
  - { role: Clerk, actions: [read, create, write], when: "doc.title != 'Held'" }
  - { role: Boss, actions: [read, create, write, delete, comment], levels: [0, 1] }
validations:
  - { rule: "doc.price != 666", message: 666 is no price }
`.replace('secret], delete', 'secret], delete')

export const lot = `
doctype: Lot
from:
  source: erp
  table: erp.lot
  key: [place, line]
  write: { create: [name, amount], change: [amount], delete: true }
fields:
  - { fieldname: amount, type: integer }
permissions:
  - { role: Boss, actions: [read, create, write, delete] }
`

/** The table there in which calls are kept. */
export const keysTable = 'erp.write_keys'
const makesKeys = (type: 'postgres' | 'mariadb'): string => {
  const source = { type, host: '', database: 'erp', user: 'writer', write_keys: keysTable }
  return writeKeysDdl(writeKeysIn(source)!, source).join(' ')
}

/** A kind of database that is written to, and what its owner says there in words of its own. */
interface Kind {
  readonly name: string
  readonly isMaria: boolean
  readonly skip: string | undefined
  readonly suite: () => TestPostgres | TestMariadb
  readonly stock: string
  readonly makesKeys: string
  /** What all sites have whose documents there are written. */
  readonly needsKeys: string
  readonly ago: (minutes: number) => string
}

/** The kinds of databases that are written to, with the same tables. */
export const kinds: readonly Kind[] = [
  {
    name: 'PostgreSQL',
    isMaria: false,
    skip: noPostgres,
    suite: suitePostgres,
    stock,
    makesKeys: makesKeys('postgres'),
    needsKeys: '',
    ago: (minutes) => `now() - interval '${minutes} minutes'`,
  },
  {
    name: 'MariaDB',
    isMaria: true,
    skip: noMariadb,
    suite: suiteMariadb,
    stock: mariaStock,
    makesKeys: makesKeys('mariadb'),
    needsKeys: `, write_keys: ${keysTable}`,
    ago: (minutes) => `now() - INTERVAL ${minutes} MINUTE`,
  },
]
