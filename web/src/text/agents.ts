/** Subagents that a tool has set to work, in a form that no dialect has. */

export type AgentState = "waiting" | "running" | "done" | "failed" | "stopped";

/** A subagent. */
export interface Agent {
  readonly id: string;
  readonly state: AgentState;
  /** What it is to do, in a line. */
  readonly title: string;
  /** What it was told to do. */
  readonly assignment: string | undefined;
  /** What it does now. */
  readonly doing: string | undefined;
  /** Its newest tool calls, the oldest first. */
  readonly tools: readonly string[];
  readonly toolCount: number | undefined;
  readonly tokens: number | undefined;
  readonly cost: number | undefined;
  readonly durationMs: number | undefined;
  /** How its work was verified. */
  readonly verification: string | undefined;
  /** What it printed last, while it works; then what came of it. */
  readonly output: string | undefined;
  readonly error: string | undefined;
}
