/** Dialect Operator. It accepts one command at a time, and reports no history. */

import type { Dialect } from "./actions.js";

export const operator: Dialect = {
  actions: {
    prompt: { command: "prompt", params: (text) => ({ text }) },
    abort: { command: "abort", params: () => ({}) },
    compact: {
      command: "compact",
      params: (instructions) => (instructions === "" ? {} : { custom_instructions: instructions }),
    },
    newSession: { command: "new_session", params: () => ({}) },
    openSession: { command: "switch_session", params: (path) => ({ session_file: path }) },
    fork: { command: "fork", params: (entry) => ({ entry_id: entry }) },
    state: { command: "get_state", params: () => ({}) },
  },
  pictures: false,
  deliveries: [],
  levels: [],
  forkReturnsText: false,
  opensBy: "file",
};
