/** Dialects of the pi family: pi, omp and pisces. */

import type { Actions, Dialect } from "./actions.js";

const IMAGE = "image";

function plain(command: string): { command: string; params: () => object } {
  return { command, params: () => ({}) };
}

const sharedActions: Partial<Actions> = {
  prompt: {
    command: "prompt",
    params(text, pictures, delivery, at) {
      const images = pictures.map(({ mimeType, data }) => ({ type: IMAGE, mimeType, data }));
      const base = { message: text, ...(images.length > 0 && { images }) };
      return delivery === "prompt" || !at.run.working ? base : { ...base, streamingBehavior: delivery };
    },
  },
  abort: plain("abort"),
  compact: {
    command: "compact",
    params: (instructions) => (instructions === "" ? {} : { customInstructions: instructions }),
  },
  newSession: plain("new_session"),
  openSession: { command: "switch_session", params: (path) => ({ sessionPath: path }) },
  rename: { command: "set_session_name", params: (name) => ({ name }) },
  models: plain("get_available_models"),
  setModel: { command: "set_model", params: (provider, id) => ({ provider, modelId: id }) },
  setThinking: { command: "set_thinking_level", params: (level) => ({ level }) },
  shell: { command: "bash", params: (command) => ({ command }) },
  abortShell: plain("abort_bash"),
  abortRetry: plain("abort_retry"),
  exportPage: plain("export_html"),
  stats: plain("get_session_stats"),
  state: plain("get_state"),
  history: plain("get_messages"),
};

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"];

export const pi: Dialect = {
  actions: {
    ...sharedActions,
    fork: { command: "fork", params: (entryId) => ({ entryId }) },
    forkPoints: plain("get_fork_messages"),
    tree: plain("get_tree"),
    thinkingLevels: plain("get_available_thinking_levels"),
    clearQueue: plain("clear_queue"),
    commands: plain("get_commands"),
  },
  pictures: true,
  deliveries: ["steer", "followUp"],
  repeated: { message_update: ["message", "assistantMessageEvent.partial"] },
  levels: LEVELS,
  forkReturnsText: true,
  opensBy: "file",
};

export const omp: Dialect = {
  ...pi,
  actions: {
    ...sharedActions,
    fork: { command: "branch", params: (entryId) => ({ entryId }) },
    forkPoints: plain("get_branch_messages"),
  },
};
