/** What clients start as the person's browser: signs in, approves, and goes where the service sends it. */
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { authorizeInBrowser } from '../helpers/browser.ts'

const { username, password } = JSON.parse(readFileSync(process.env['MATRIX_PERSON']!, 'utf8')) as {
  username: string
  password: string
}
const address = process.argv.slice(2).find((word) => word.startsWith('http'))
if (address === undefined) throw new Error('no address to open')
const back = await authorizeInBrowser(address, { username, password })
if (back.hostname === 'localhost' || back.hostname === '127.0.0.1') await fetch(back)
