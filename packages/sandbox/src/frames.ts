/** The protocol between the daemon and the processes beside it: messages in frames, which either side bounds. */
export { DaemonChannel, Frames } from './isolation/frames.mjs'
