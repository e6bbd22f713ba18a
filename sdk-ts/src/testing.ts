/** Test helpers for programs that use a client: agents in memory and agents played from recordings. */

export { memoryPair } from "./testing/pair.js";
export { type ReplayOptions, endsDuringRun, replay } from "./testing/replay.js";
export { readTranscript, recordedLine } from "./transcript.js";
