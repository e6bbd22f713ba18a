/** Subagents that a tool has set to work, as the tool's details tell of them. */

import type { ToolBlock } from "agentese/ui";

type Members = Readonly<Record<string, unknown>>;

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

const STATES: Readonly<Record<string, AgentState>> = {
  pending: "waiting",
  running: "running",
  completed: "done",
  failed: "failed",
  aborted: "stopped",
};

const isMembers = (value: unknown): value is Members => typeof value === "object" && value !== null && !Array.isArray(value);
const list = (value: unknown): readonly Members[] => (Array.isArray(value) ? value.filter(isMembers) : []);
const text = (value: unknown): string | undefined => (typeof value === "string" && value.trim() !== "" ? value : undefined);
const count = (value: unknown): number | undefined => (typeof value === "number" && value > 0 ? value : undefined);

/** The subagents of a tool, in their order; none where its details tell of none. */
export function agentsOf(tool: ToolBlock): readonly Agent[] {
  if (!isMembers(tool.details)) return [];
  const told = new Map<unknown, Agent>();
  for (const one of list(tool.details["progress"])) if (text(one["id"]) !== undefined) told.set(one["id"], agent(one, progressed(one)));
  // What came of one counts more than how far it was.
  for (const one of list(tool.details["results"])) {
    if (text(one["id"]) !== undefined && "exitCode" in one) told.set(one["id"], agent(one, ended(one)));
  }
  return [...told.values()];
}

function progressed(one: Members): AgentState {
  return STATES[String(one["status"])] ?? "running";
}

function ended(one: Members): AgentState {
  if (one["aborted"] === true) return "stopped";
  return one["exitCode"] === 0 && text(one["error"]) === undefined ? "done" : "failed";
}

function agent(one: Members, state: AgentState): Agent {
  const id = String(one["id"]);
  const assignment = text(one["assignment"]);
  const usage = isMembers(one["usage"]) ? one["usage"] : {};
  const cost = isMembers(usage["cost"]) ? usage["cost"]["total"] : undefined;
  const recent = Array.isArray(one["recentOutput"]) ? one["recentOutput"].filter((line) => typeof line === "string") : [];
  return {
    id,
    state,
    title: text(one["description"]) ?? assignment?.split("\n")[0] ?? id,
    assignment,
    doing: state === "running" ? (text(one["lastIntent"]) ?? text(one["currentTool"])) : undefined,
    tools: list(one["recentTools"]).map((tool) => [tool["tool"], tool["args"]].filter(text).join(" ")).reverse(),
    toolCount: count(one["toolCount"]),
    tokens: count(one["tokens"]),
    cost: count(cost),
    durationMs: count(one["durationMs"]),
    verification: isMembers(one["verification"]) ? text(one["verification"]["status"]) : undefined,
    output: text(plain(one["output"])) ?? (recent.length > 0 ? recent.join("\n") : undefined),
    error: text(one["error"]) ?? text(one["abortReason"]) ?? text(one["stderr"]),
  };
}

/** A result that was handed over as JSON, as people read it. */
function plain(output: unknown): unknown {
  if (typeof output !== "string" || !/^\s*["{[]/.test(output)) return output;
  try {
    const value: unknown = JSON.parse(output);
    return typeof value === "string" ? value : JSON.stringify(value, null, 2);
  } catch {
    return output;
  }
}
