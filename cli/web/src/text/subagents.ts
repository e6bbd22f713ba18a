/** Subagents of a tool call, independent of the dialect. */

export type SubagentState = "waiting" | "running" | "done" | "failed" | "stopped";

/** A subagent. */
export interface Subagent {
  readonly id: string;
  readonly state: SubagentState;
  /** Task in one line. */
  readonly title: string;
  /** Complete task. */
  readonly assignment: string | undefined;
  /** Current activity. */
  readonly activity: string | undefined;
  /** Latest tool calls, oldest first. */
  readonly tools: readonly string[];
  readonly toolCount: number | undefined;
  readonly tokens: number | undefined;
  readonly cost: number | undefined;
  readonly durationMs: number | undefined;
  /** Verification of the subagent's work. */
  readonly verification: string | undefined;
  /** Latest output while the subagent works; afterwards its result. */
  readonly output: string | undefined;
  readonly error: string | undefined;
}
