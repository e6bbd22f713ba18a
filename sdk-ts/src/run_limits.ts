/** Limits of a run that the client checks. The declaration names the events that report the usage. */

import { RunFailedError, UsageError } from "./error.js";
import { measures } from "./generated/measures.js";
import type { JsonObject, JsonValue } from "./generated/types.js";
import { at, scalarText } from "./outcome.js";

/** Limits of a run; an absent member is no limit. */
export interface Limits {
  /** Maximum number of turns (`max_turns`). The run is stopped when another turn begins. */
  readonly maxTurns?: number | undefined;
  /** Maximum cost in US dollars (`max_cost`), as the agent reports it. The run is stopped when another turn begins. */
  readonly maxCost?: number | undefined;
  /** Maximum duration (`max_time`) in milliseconds, from the prompt on. */
  readonly maxTime?: number | undefined;
  /**
   * Maximum number of failures of one call (`max_equal_calls`): the same tool and arguments, with any error.
   * All counters restart at zero if a call succeeds with a result that differs from its previous one.
   */
  readonly maxEqualCalls?: number | undefined;
}

/** Events of a dialect that report the usage of a run. Paths are names separated by dots. */
export interface Measures {
  /** Event at the start of a turn. */
  readonly turn: string;
  /** Event with the cost of an answer, and the path of the cost. */
  readonly cost?: readonly [string, string];
  /** Event at the start of a tool call, and the paths of the call's id, tool and arguments. */
  readonly call: { readonly event: string; readonly id: string; readonly tool: string; readonly arguments: string };
  /**
   * Event with the result of a tool call. `failed` is the path of the status, and the value of the status
   * after a failure.
   */
  readonly result: {
    readonly event: string;
    readonly id: string;
    readonly failed: readonly [string, string];
    readonly output: string;
  };
}

/** Meter of the usage of one run. */
export interface Meter {
  /** Processes an event of the run. */
  observe(type: string, body: JsonObject): void;
  /** Ends the measurement after the end of the run. */
  end(): void;
}

/**
 * Limits for the option `limits` of a prompt. When the run reaches a limit, the client sends the abort command, and the
 * run fails with a {@link RunFailedError}. Its code is the name of the limit, for example `max_turns`.
 *
 * ```ts
 * const run = await client.prompt({ message: "go" }, { limits: new RunLimits({ maxTurns: 5 }) });
 * ```
 */
export class RunLimits {
  constructor(readonly limits: Limits) {}

  /**
   * Starts to measure a run of an agent of that dialect. `reached` is called once a limit is reached, with
   * the failure of the run.
   *
   * @throws UsageError The dialect does not report a value that a limit needs.
   */
  meter(dialect: string, reached: (failure: RunFailedError) => void): Meter {
    const found = Object.hasOwn(measures, dialect) ? measures[dialect] : undefined;
    if (found === undefined) throw new UsageError(`agents of ${dialect} do not report a run's usage`);
    if (this.limits.maxCost !== undefined && found.cost === undefined) {
      throw new UsageError(`agents of ${dialect} do not report a run's cost: leave max_cost out`);
    }
    return new RunMeter(this.limits, found, reached);
  }
}

class RunMeter implements Meter {
  readonly #limits: Limits;
  readonly #measures: Measures;
  #reached: ((failure: RunFailedError) => void) | undefined;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  #turns = 0;
  #cost = 0;
  /** Tool calls without a result so far, by id. */
  readonly #calls = new Map<string, { tool: string; key: string }>();
  /** Number of failures, by the digest of the call. */
  readonly #failures = new Map<string, number>();
  /** Digest of the last result of each call that succeeded, by the digest of the call. */
  readonly #results = new Map<string, string>();

  constructor(limits: Limits, found: Measures, reached: (failure: RunFailedError) => void) {
    this.#limits = limits;
    this.#measures = found;
    this.#reached = reached;
    const { maxTime } = limits;
    if (maxTime !== undefined) {
      const late = (): void => this.#reach("max_time", `it has lasted ${maxTime / 1000} s, which is its limit`);
      this.#timer = setTimeout(late, Math.min(maxTime, 2 ** 31 - 1));
    }
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#reached = undefined;
  }

  observe(type: string, body: JsonObject): void {
    const { turn, cost, call, result } = this.#measures;
    if (cost?.[0] === type) {
      const value = at(body, cost[1]);
      this.#cost += typeof value === "number" ? value : 0;
    }
    if (type === turn) this.#beginTurn();
    const { maxEqualCalls: most } = this.#limits;
    if (most === undefined) return;
    if (type === call.event) {
      const tool = text(at(body, call.tool));
      const key = digest(`${tool} ${JSON.stringify(sorted(at(body, call.arguments)))}`);
      this.#calls.set(text(at(body, call.id)), { tool, key });
    } else if (type === result.event) {
      const id = text(at(body, result.id));
      const known = this.#calls.get(id);
      this.#calls.delete(id);
      if (known === undefined) return;
      const { tool, key } = known;
      if (text(at(body, result.failed[0])) !== result.failed[1]) return this.#succeed(key, at(body, result.output));
      const count = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, count);
      if (count >= most) this.#reach("max_equal_calls", `one call of the tool ${tool} has failed ${most} times`);
    }
  }

  #beginTurn(): void {
    const { maxTurns, maxCost } = this.#limits;
    if (maxTurns !== undefined && this.#turns >= maxTurns) {
      this.#reach("max_turns", `it has had ${maxTurns} turns, which is its limit`);
    } else if (maxCost !== undefined && this.#turns > 0 && this.#cost >= maxCost) {
      this.#reach("max_cost", `it has cost ${this.#cost} US dollars, and its limit is ${maxCost}`);
    }
    this.#turns += 1;
  }

  #succeed(key: string, output: JsonValue | undefined): void {
    const result = digest(JSON.stringify(output) ?? "");
    this.#failures.delete(key);
    if (this.#results.get(key) !== result) this.#failures.clear();
    this.#results.set(key, result);
  }

  #reach(code: string, reason: string): void {
    const reached = this.#reached;
    this.end();
    reached?.(new RunFailedError(`the run was stopped: ${reason}`, code));
  }
}

/**
 * Returns the length of a text and 64 bits of its hash. Equal texts have equal digests; different texts
 * almost never do.
 */
function digest(long: string): string {
  let [one, other] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < long.length; at++) {
    const unit = long.charCodeAt(at);
    one = Math.imul(one ^ unit, 0x9e3779b1);
    one ^= one >>> 15;
    other = Math.imul(other ^ unit, 0x5f356495);
    other ^= other >>> 13;
  }
  return `${long.length}:${one >>> 0}:${other >>> 0}`;
}

function text(value: JsonValue | undefined): string {
  return scalarText(value) ?? "";
}

/** Returns a copy of the value with the members of all objects sorted. */
function sorted(value: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(value)) return value.map((item) => sorted(item) ?? null);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]): [string, JsonValue] => [name, sorted(member) ?? null]);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}
