/**
 * Client for agents of every dialect: neutral commands and events on top of the typed client of one dialect.
 *
 * {@link connect} detects the dialect of an agent. The returned {@link Agent} has neutral commands and emits
 * neutral events. The declaration maps each intent to a command of the dialect; see docs/any.md.
 */

export { Agent, type AgentOptions, type Answer, type PromptOptions, type Question, connect } from "./any/agent.js";
export { differences } from "./any/diff.js";
export { NotInDialectError, NotRecognisedError } from "./any/errors.js";
export type { AnyEvent } from "./any/event.js";
export { type AnyResult, AnyRun } from "./any/run.js";
export { type Limits, RunLimits } from "./run_limits.js";
export type { ForkResult, Image, Intent, Results, ShellResult, State, Stats, StoredSession, UserInput } from "./any/results.js";
export type { Conversation, Message, Model, ToolBlock } from "./ui.js";
