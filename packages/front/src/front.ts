/** The layer between a socket and an endpoint: the waiting line, places for requests, held connections, and graceful shutdown. */
export { HeldConnections } from './held-connections.ts'
export { Leaving } from './leaving.ts'
export { knownCaller, lined, type LineEdges } from './lined.ts'
export { Places, type TakenPlace } from './places.ts'
export { WaitingLine } from './waiting-line.ts'
