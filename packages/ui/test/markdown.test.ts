import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { leadsOutside, markdownHtml } from '../src/markdown.ts'

const html = (text: string): string => markdownHtml(text, leadsOutside).trim()

describe('markdown that others wrote', () => {
  it('has headings below the page’s own, lists, code, tables and links', () => {
    const text =
      '# One\n\n- *a* and `b`\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n[out](https://example.com/?a=1&b=2)'
    assert.equal(
      html(text).replaceAll('\n', ''),
      '<h2>One</h2><ul><li><em>a</em> and <code>b</code></li></ul>' +
        '<div class="scroll" tabindex="0"><table><thead><tr><th>x</th><th>y</th></tr></thead>' +
        '<tbody><tr><td>1</td><td>2</td></tr></tbody></table></div>' +
        '<p><a href="https://example.com/?a=1&amp;b=2" rel="noreferrer nofollow">out</a></p>',
    )
  })

  it('has no HTML of its own, nothing that runs or loads, and no link to anywhere else', () => {
    for (const hostile of [
      '<script>alert(1)</script>',
      '<img src=x onerror=alert(1)>',
      'a <b onmouseover=alert(1)>b</b>',
      '[x](javascript:alert(1))',
      '[x](JaVaScRiPt:alert(1))',
      '[x](data:text/html;base64,PHNjcmlwdD4=)',
      '[x](vbscript:msgbox)',
      '[x](//evil.example/x)',
      '[x](/sign-out)',
      '[x](\\\\evil.example)',
      '[x](&#106;avascript:alert(1))',
      '<javascript:alert(1)>',
      '[a]: javascript:alert(1)\n\n[a]',
      '![x](javascript:alert(1))',
      '![x" onerror="alert(1)](x)',
      '```"><script>\nx\n```',
      '[![x](https://e.example/p.png)](javascript:alert(1))',
      '# <svg/onload=alert(1)>',
    ]) {
      const tags = [...html(hostile).matchAll(/<\/?([a-z0-9]+)([^>]*)>/gi)]
      for (const [tag, name, rest] of tags) {
        assert.match(name!, /^(p|pre|code|h2|a)$/, `${hostile} gives ${tag}`)
        const plain =
          /^( class="language-[^"<>]*"| href="https:\/\/e\.example\/p\.png" rel="noreferrer nofollow")?$/
        assert.match(rest!, plain, `${hostile} gives ${tag}`)
      }
    }
  })

  it('tells of a picture in words and links to it, also inside a link', () => {
    assert.equal(
      html('![a chart](https://e.example/c.png)'),
      '<p><a href="https://e.example/c.png" rel="noreferrer nofollow">a chart</a></p>',
    )
    assert.equal(
      html('[![a](https://e.example/c.png)](https://e.example/)'),
      '<p><a href="https://e.example/" rel="noreferrer nofollow">a</a></p>',
    )
  })

  it('takes a large or deep text in its stride', () => {
    for (const text of ['['.repeat(20_000), '> '.repeat(5_000), '*a '.repeat(10_000), '`'.repeat(20_000)])
      assert.ok(html(text).length > 0)
  })
})
