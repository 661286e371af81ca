import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import type { AuditLine } from '#audit/audit.ts'
import { exportCsv, exportJsonl } from '#audit/finding/export.ts'
import { FileLedger } from '#audit/files/file-ledger.ts'
import { renderLine, showEvent } from '#audit/finding/render.ts'
import { pictured } from '#leaf/pictured.ts'
import { listLogFiles } from '#audit/files/log-files.ts'
import { searchAudit } from '#audit/finding/search.ts'
import { readFile } from 'node:fs/promises'
import { startAudit } from './audit-folder.ts'

const line: AuditLine = {
  seq: 1,
  time: '2026-01-02T03:04:05.000Z',
  id: 'i',
  prev: 'p',
  type: 'tool.call',
  status: 'error',
  user: 'ann@example.com',
  target: 'list_documents',
  execution_time: 0.0123,
  error: 'no',
  data: { a: 1 },
}
const hostile = 'a\u001b[2J\u001b]0;x\u0007\r\nb\u009b1m\u202ec\u200bd\u2028\u{e0041}\ud800\u007f'

async function* these(...lines: AuditLine[]): AsyncGenerator<AuditLine> {
  yield* lines
}

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

describe('rendering an event for people', () => {
  it('says when, how, who, what, to what and through which client in one line of 80 columns', () => {
    assert.equal(renderLine(line), '2026-01-02 03:04 #1 error ann@example.com tool.call list_documents – no')
    const clients = new Map([['dH0TgvCCsCoempAA1AGxdw', 'Claude']])
    const named = renderLine(
      { ...line, target: 'fetch', client: 'dH0TgvCCsCoempAA1AGxdw', error: 'x'.repeat(99) },
      { clients },
    )
    assert.match(named, / via Claude – x+…$/)
    assert.equal(named.length, 80)
  })

  it('shows an event whole in lines, with what was shown and what became of each field', () => {
    const shown = showEvent(
      {
        ...line,
        client: 'c1',
        documents: [{ doctype: 'Patient', names: ['PAT-1', 'PAT\u001b-2'], count: 9 }],
        changes: [{ field: 'phone', from: '1', to: null }],
      },
      { clients: new Map([['c1', 'Claude']]) },
    )
    assert.match(shown, /^client +c1 \(Claude\)$/m)
    assert.match(shown, /^shown +Patient: PAT-1, PAT␛-2 and 7 more$/m)
    assert.match(shown, /^changed +phone: 1 → null$/m)
    assert.match(shown, /^execution_time +0\.0123$/m)
  })

  it('shows what would move the cursor or hide', () => {
    assert.equal(pictured(hostile), 'a␛[2J␛]0;x␇␍␊b⟨U+009B⟩1m⟨U+202E⟩c⟨U+200B⟩d⟨U+2028⟩⟨U+E0041⟩⟨U+D800⟩␡')
    assert.equal(pictured('Zoë Müller 你好 🦊'), 'Zoë Müller 你好 🦊')
  })

  it('lets no field through as it is', () => {
    const fields = [
      'type',
      'user',
      'client',
      'session_id',
      'request_id',
      'address',
      'target',
      'error',
    ] as const
    for (const field of fields) {
      assert.doesNotMatch(
        renderLine({ ...line, [field]: hostile }),
        /[\u0000-\u001f\u007f-\u009f\u202e\u200b\u2028]/,
      )
    }
    const rendered = renderLine({ ...line, status: hostile as 'ok', data: { [hostile]: hostile } })
    assert.doesNotMatch(rendered, /[\u0000-\u001f\u007f-\u009f\u202e\u200b\u2028]/)
  })

  it('uses colour only when asked', () => {
    assert.match(renderLine(line, { colour: true }), /\u001b\[31merror\u001b\[0m/)
  })
})

describe('exporting events', () => {
  it('as JSON lines gives the bytes of the log', async (t) => {
    const { audit, folder } = await startAudit(t)
    await audit.record({ type: 'a.b', status: 'ok', user: hostile, data: { ä: [1.5, null, '🦊'] } })
    await audit.record({ type: 'a.c', status: 'ok' })
    const [file] = await listLogFiles(folder)
    assert.equal(
      await textOf(exportJsonl(searchAudit(new FileLedger(folder)))),
      await readFile(file!.path, 'utf8'),
    )
  })

  it('as CSV quotes, and disarms what a spreadsheet would calculate', async () => {
    const text = await textOf(
      exportCsv(
        these(line, {
          ...line,
          user: '=HYPERLINK("http://x")',
          target: '+1',
          error: 'a,"b"\nc',
          data: { x: '@y' },
        }),
      ),
    )
    assert.equal(
      text,
      'seq,time,type,status,user,client,session_id,request_id,address,target,execution_time,error,data,id,trace_id,success,result,documents,changes\r\n' +
        '1,2026-01-02T03:04:05.000Z,tool.call,error,ann@example.com,,,,,list_documents,0.0123,no,"{""a"":1}",i,,,,,\r\n' +
        `1,2026-01-02T03:04:05.000Z,tool.call,error,"'=HYPERLINK(""http://x"")",,,,,'+1,0.0123,"a,""b""␊c","{""x"":""@y""}",i,,,,,\r\n`,
    )
  })
})
