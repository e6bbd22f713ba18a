/** Reducers by their names in the generated tables. */

import { count, history, replace } from "./history.js";
import { arrive, beginMessage, block, changeMessage, end, piece, snapshot, tool } from "./messages.js";
import { ask, child, draft, entry, keep, notice, queue, set, task, usage, wait, waited, withdraw } from "./panels.js";
import type { Reducer } from "./reducer.js";
import { abort, compacted, compacting, outcome, retried, retry, shell, shellDone, shellOutput, work } from "./run.js";

export const REDUCERS: Readonly<Record<string, Reducer>> = {
  work, outcome, abort, arrive, count, snapshot, piece, block, end, tool, history, replace, set, keep, usage, wait, waited, queue, compacting,
  compacted, retry, retried, ask, withdraw, notice, entry, draft, shell, shellOutput, shellDone, task, child,
  begin: beginMessage,
  message: changeMessage,
};
