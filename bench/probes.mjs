/**
 * A thread that asks a daemon for `/healthz` and one user's call, every 20 ms, and keeps the longest that each waited for a
 * good answer, and how many it got. A thread of its own: what the bench does meanwhile makes nothing look slow.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'

const { url, path, token, longest, answered } = workerData
const listing = { name: 'list_documents', arguments: { doctype: 'Note', limit: 1 } }
const call = {
  method: 'POST',
  headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: listing }),
}
void probe(0, `${url}/healthz`, {})
void probe(1, url + path, call)

async function probe(place, address, request) {
  for (;;) {
    const began = performance.now()
    while (!(await isAnswered(address, request))) await wait(5)
    longest[place] = Math.max(longest[place], performance.now() - began)
    answered[place]++
    await wait(20)
  }
}

async function isAnswered(address, request) {
  try {
    const answer = await fetch(address, request)
    await answer.text()
    return answer.ok
  } catch {
    return false
  }
}
