/**
 * One client for agents of every dialect: what the dialects have in common, with the typed client underneath.
 *
 * {@link connect} finds out which dialect an agent speaks; the {@link Agent} has neutral commands and gives neutral
 * events. Which command of a dialect carries what is declared; see docs/any.md.
 */

export { Agent, type AgentOptions, type Answer, type Question, connect } from "./any/agent.js";
export { differences } from "./any/differ.js";
export { NotInDialectError, NotRecognisedError } from "./any/errors.js";
export type { AnyEvent } from "./any/event.js";
export { type AnyResult, AnyRun } from "./any/run.js";
export type { Forked, Image, Intent, KeptSession, Results, ShellResult, State, Stats, Words } from "./any/results.js";
export type { Conversation, Message, Model, ToolBlock } from "./ui.js";
