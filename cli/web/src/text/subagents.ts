/** Subagents of a tool call, independent of the dialect. */

export type AgentState = "waiting" | "running" | "done" | "failed" | "stopped";

/** A subagent. */
export interface Agent {
  readonly id: string;
  readonly state: AgentState;
  /** Task in one line. */
  readonly title: string;
  /** Complete task. */
  readonly assignment: string | undefined;
  /** Current activity. */
  readonly doing: string | undefined;
  /** Latest tool calls, oldest first. */
  readonly tools: readonly string[];
  readonly toolCount: number | undefined;
  readonly tokens: number | undefined;
  readonly cost: number | undefined;
  readonly durationMs: number | undefined;
  /** Verification of its work. */
  readonly verification: string | undefined;
  /** Latest output during its work; afterwards its result. */
  readonly output: string | undefined;
  readonly error: string | undefined;
}
