/** Dialect Opal. It has several sessions per connection, of which the page shows one. */

import type { Conversation } from "agentese/ui";

import type { Dialect } from "./actions.js";

const session = (at: Conversation) => ({ session_id: at.session.id ?? "" });

/** Returns the sessions in the response of the list command. */
function sessionsIn(data: unknown): readonly { readonly id?: unknown; readonly title?: unknown; readonly modified?: unknown }[] {
  const sessions = (data as { sessions?: unknown } | null | undefined)?.sessions;
  return Array.isArray(sessions) ? sessions.filter((one) => typeof one === "object" && one !== null) : [];
}

export const opal: Dialect = {
  actions: {
    prompt: { command: "agent/prompt", params: (text, _pictures, _delivery, at) => ({ ...session(at), text }) },
    abort: { command: "agent/abort", params: (at) => session(at) },
    compact: { command: "session/compact", params: (_instructions, at) => session(at) },
    openSession: { command: "session/start", params: (_path, id) => ({ session_id: id, session: true }) },
    sessions: { command: "session/list", params: () => ({}) },
    newSession: { command: "session/start", params: () => ({ session: true }) },
    fork: { command: "session/branch", params: (entry, at) => ({ ...session(at), entry_id: entry }) },
    models: { command: "models/list", params: () => ({}) },
    setModel: { command: "model/set", params: (provider, id, at) => ({ ...session(at), model_id: `${provider}:${id}` }) },
    setThinking: { command: "thinking/set", params: (level, at) => ({ ...session(at), level }) },
    state: { command: "agent/state", params: (at) => session(at) },
    history: { command: "session/history", params: (at) => session(at) },
  },
  pictures: false,
  deliveries: ["steer"],
  levels: ["off", "low", "medium", "high", "max"],
  forkReturnsText: false,
  opensBy: "id",
  parseSessions: (data) =>
    sessionsIn(data).flatMap(({ id, title, modified }) =>
      typeof id === "string" ? [{ path: id, id, modified: typeof modified === "string" ? modified : "", ...(typeof title === "string" && { name: title }) }] : [],
    ),
  openFirstSession: async (ask) => void (await ask({ command: "session/start", params: { session: true } })),
};
