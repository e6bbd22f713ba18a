/** For tests of programs that use a client: an agent in memory, and agents played from recordings. */

export { memoryPair } from "./testing/pair.js";
export { type ReplayOptions, endsAtWork, replay } from "./testing/replay.js";
export { readTranscript, recordedLine } from "./transcript.js";
