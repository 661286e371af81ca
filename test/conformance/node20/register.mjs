// Lets programs written for Node 22 start on Node 20: `node --import …/register.mjs program.js`.
import { register } from 'node:module'

register('./hooks.mjs', import.meta.url)
