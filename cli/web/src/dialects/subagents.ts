/**
 * Subagents in the details of a call of the tool `task`, as omp, pisces and the reference agent send them.
 */

import type { ToolBlock } from "agentese/ui";

import type { Subagent, SubagentState } from "../text/subagents.js";

type Members = Readonly<Record<string, unknown>>;

/**
 * Tool that starts subagents. Only its calls are read, because a tool of an extension may have similar details.
 */
const TOOL = "task";

const STATES: Readonly<Record<string, SubagentState>> = {
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

/**
 * Returns the subagents that a call of `task` has started, in order. The list is empty if the details contain
 * no subagents.
 */
export function subagentsOf(tool: ToolBlock): readonly Subagent[] {
  if (tool.name !== TOOL || !isMembers(tool.details)) return [];
  const subagents = new Map<unknown, Subagent>();
  for (const one of list(tool.details["progress"])) if (text(one["id"]) !== undefined) subagents.set(one["id"], toSubagent(one, progressState(one)));
  // Results, if present, are used instead of the progress.
  for (const one of list(tool.details["results"])) {
    if (text(one["id"]) !== undefined && "exitCode" in one) subagents.set(one["id"], toSubagent(one, resultState(one)));
  }
  return [...subagents.values()];
}

function progressState(one: Members): SubagentState {
  const status = text(one["status"]) ?? "";
  return (Object.hasOwn(STATES, status) && STATES[status]) || "running";
}

function resultState(one: Members): SubagentState {
  if (one["aborted"] === true) return "stopped";
  return one["exitCode"] === 0 && text(one["error"]) === undefined ? "done" : "failed";
}

function toSubagent(one: Members, state: SubagentState): Subagent {
  const id = text(one["id"]) ?? "";
  const assignment = text(one["assignment"]);
  const usage = isMembers(one["usage"]) ? one["usage"] : {};
  const cost = isMembers(usage["cost"]) ? usage["cost"]["total"] : undefined;
  const recent = Array.isArray(one["recentOutput"]) ? one["recentOutput"].filter((line) => typeof line === "string") : [];
  return {
    id,
    state,
    title: text(one["description"]) ?? assignment?.split("\n")[0] ?? id,
    assignment,
    activity: state === "running" ? (text(one["lastIntent"]) ?? text(one["currentTool"])) : undefined,
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

/** Returns the formatted JSON of a result that is JSON text, and any other result unchanged. */
function plain(output: unknown): unknown {
  if (typeof output !== "string" || !/^\s*["{[]/.test(output)) return output;
  try {
    const value: unknown = JSON.parse(output);
    return typeof value === "string" ? value : JSON.stringify(value, null, 2);
  } catch {
    return output;
  }
}
