import { resolve } from 'node:path'
import { exportInput } from '../control/documents.ts'
import { asks, takes } from '#commands/description.ts'
import { pictured } from '#leaf/pictured.ts'
import { defineCommand } from './options.ts'
import { converse, stream } from './control.ts'
import { progressBar, table, tell, write } from '#commands/terminal.ts'

/** `assistant-core documents …`: documents from files, and into them. */
export const documentCommands = [
  defineCommand({
    name: 'documents import',
    does: 'check the rows of a file as documents and show what would become of them; with --write they are kept',
    examples: [
      'documents import Customer customers.csv',
      'documents import Customer customers.csv --map "Name 1=customer_name" --key customer_name --write',
      'documents import Customer customers.xlsx --user sales@example.com',
    ],
    input: takes({
      doctype: '<doctype>',
      file: '<file>',
      write: '--write: keep them; rows with faults are left out, and stand in FILE.faults.csv (or .jsonl)',
      key: '--key <field>: change the document that has the same value there, if there is one',
      map: '--map <name=value>: this column gives that field; nothing behind = leaves it out. Others are guessed',
      user: '--user <user>: as this user; without it, as the operator',
      format: asks('--format <format>: what the file is; by its ending', { enum: ['csv', 'jsonl', 'xlsx'] }),
      delimiter: '--delimiter <character>: between cells of CSV; tab for a tab. Found out by itself',
      encoding: '--encoding <name>: of CSV, such as windows-1252. Found out by itself',
      sheet: '--sheet <name>: of an Excel file; by default the first',
      dates: asks('--dates <order>: of dates such as 03/04/2026', { enum: ['dmy', 'mdy'] }),
      decimal: asks('--decimal <mark>: before decimals. Found out by itself', { enum: ['point', 'comma'] }),
      again: '--again: once more, though this very file was imported in this way already',
    }),
    run: async (given, options) => {
      const { importFile } = await import('../documents/importing/import-file.ts')
      const { readSettingsAlone } = await import('../house/open-state.ts')
      const { analysis } = await readSettingsAlone(options.site)
      const { file, write: writes = false, map = {}, decimal, again = false, ...rest } = given
      const { format, delimiter, encoding, sheet, ...asked } = rest
      return await converse(options, (ask) =>
        importFile({
          ...asked,
          path: resolve(file),
          dryRun: !writes,
          map: map as Readonly<Record<string, string>>,
          decimalComma: decimal === undefined ? undefined : decimal === 'comma',
          source: { format, delimiter: delimiter === 'tab' ? '\t' : delimiter, encoding, sheet },
          again,
          settings: analysis.files,
          door: {
            target: (who) => ask('documents.import_target', who),
            mark: (of) => ask('documents.import_mark', of),
            rows: (batch) => ask('documents.import_rows', batch),
          },
          planned: ({ columns, lacking }, { count }) => {
            if (options.json) return
            tell(`${count} rows; what the columns give:`)
            const shown = columns.map(({ samples, ...one }) => ({ ...one, such: samples.join(' ') }))
            tell(table(shown, ['column', 'field', 'because', 'such as: such']))
            if (lacking.length > 0) tell(`no column gives: ${lacking.join(', ')} (required)`)
          },
          moved: progressBar(writes ? 'import' : 'check'),
        }),
      )
    },
    text: (done) => {
      const { rows, created, updated, unchanged, faulty, faults, faults_file, rounded, warnings } = done
      const would = done.dry_run ? 'would be ' : ''
      return [
        `${rows} rows: ${created} ${would}created, ${updated} ${would}changed, ${unchanged} as they are, ${faulty} with faults`,
        done.resumed_at > 0 && `an earlier run had come to row ${done.resumed_at}; it went on there`,
        rounded > 0 && `${rounded} values are stored in another form, such as:`,
        [...warnings, ...faults].map((one) => `  ${pictured(one)}`),
        faults_file && `all rows with faults are in ${faults_file}; mend them there and import it`,
        done.dry_run && 'nothing was kept; --write keeps it',
      ]
    },
    failure: ({ faulty }) => faulty > 0 && `${faulty} rows have faults`,
  }),
  defineCommand({
    name: 'documents export',
    does: 'write documents that a user may read, as they may see them',
    examples: [
      'documents export Customer --user sales@example.com > customers.csv',
      'documents export "Sales Order" --user sales@example.com --format jsonl --filters \'{"status": "Open"}\'',
    ],
    input: exportInput,
    run: async (asked, options) => {
      for await (const text of stream(options, 'documents.export', asked)) await write(text)
    },
  }),
]
