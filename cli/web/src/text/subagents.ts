/** Subagents of a tool call, in a form independent of the dialect. */

export type SubagentState = "waiting" | "running" | "done" | "failed" | "stopped";

/** Subagent that a tool call has started. */
export interface Subagent {
  readonly id: string;
  readonly state: SubagentState;
  /** Description of the task in one line. */
  readonly title: string;
  /** Complete text of the task. */
  readonly assignment: string | undefined;
  /** Description of the current activity. */
  readonly activity: string | undefined;
  /** Latest tool calls, oldest first. */
  readonly tools: readonly string[];
  readonly toolCount: number | undefined;
  readonly tokens: number | undefined;
  readonly cost: number | undefined;
  readonly durationMs: number | undefined;
  /** Result of the verification of the subagent's work. */
  readonly verification: string | undefined;
  /** Latest output while the subagent works; afterwards its result. */
  readonly output: string | undefined;
  readonly error: string | undefined;
}
