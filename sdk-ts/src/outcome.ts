/** Outcome of a run, derived from its events by declared rules. */

import { RunFailedError } from "./error.js";
import type { JsonObject, JsonValue } from "./generated/types.js";
import type { OutcomeRule, ReportedOutcome } from "./spec.js";

export type { OutcomeRule, ReportedOutcome };

/** Outcome of a completed run. */
export type RunOutcome = "done" | "aborted" | RunFailedError;

type FrameValue = JsonValue | undefined;

/** Tracker of the outcome of a run. */
export class OutcomeTracker {
  #outcome: ReportedOutcome | undefined;
  #message: string | undefined;
  #code: string | undefined;
  #retryable = false;
  #isAborted = false;

  /** Applies the rules to an event. */
  observe(rules: readonly OutcomeRule[], body: JsonObject): void {
    for (const rule of rules) {
      const list = rule.over === undefined ? [body] : at(body, rule.over);
      if (Array.isArray(list)) for (const item of list) this.#apply(rule, item);
    }
  }

  /** Records that the agent has acknowledged an abort. */
  abortAcknowledged(): void {
    this.#isAborted = true;
  }

  /** Records that the prompt was rejected after its run had started. */
  reject(message: string, code: string | undefined): void {
    if (this.#outcome !== "failed") this.#message = message;
    this.#outcome = "failed";
    this.#code ??= code;
  }

  /** `true` if the run failed or was aborted according to its events. */
  get isUnsuccessful(): boolean {
    return this.#outcome === "failed" || this.#outcome === "aborted";
  }

  /** Returns the outcome of the run if it ends now. */
  outcome(): RunOutcome {
    if (this.#outcome === "aborted") return "aborted";
    if (this.#outcome === "failed" && !this.#isAborted) {
      return new RunFailedError(this.#message ?? "the agent gave no reason", this.#code, this.#retryable);
    }
    return this.#isAborted && this.#outcome !== "fine" ? "aborted" : "done";
  }

  #apply(rule: OutcomeRule, value: FrameValue): void {
    const holds = ({ is: [path = "", wanted] = [], has = path }: NonNullable<OutcomeRule["when"]>[number]): boolean => {
      const found = at(value, has);
      return wanted === undefined ? found !== undefined : scalarText(found) === wanted;
    };
    if (!(rule.when ?? []).every(holds)) return;
    const [path, values] = rule.valueOutcomes ?? ["", undefined];
    const text = values === undefined ? undefined : scalarText(at(value, path));
    const outcome = (text !== undefined && values !== undefined && Object.hasOwn(values, text) ? values[text] : rule.outcome) ?? "fine";
    // A failure remains until the next answer of the model.
    if (outcome === "retried") this.#retryable = true;
    else if (outcome === "failed") {
      const before = this.#outcome === "failed" ? { message: this.#message, code: this.#code } : {};
      this.#outcome = outcome;
      this.#message = first(value, rule.message) ?? rule.text ?? before.message;
      this.#code = first(value, rule.code) ?? before.code;
      this.#retryable ||= rule.retryable === true;
    } else {
      this.#outcome = outcome;
      this.#message = this.#code = undefined;
      this.#retryable = false;
    }
  }
}

/** Returns the value at a path, or `undefined` for null. */
export function at(value: FrameValue, path: string): FrameValue {
  let found = value;
  for (const name of path.split(".")) {
    const isObject = typeof found === "object" && found !== null && !Array.isArray(found);
    found = isObject && Object.hasOwn(found as JsonObject, name) ? (found as JsonObject)[name] : undefined;
  }
  return found ?? undefined;
}

/** Returns a value as text, as the rules contain it. */
export function scalarText(value: FrameValue): string | undefined {
  return value === undefined || typeof value === "object" ? undefined : String(value);
}

/** Returns the text of the first of these members that has a value. */
function first(value: FrameValue, paths: readonly string[] = []): string | undefined {
  const found = paths.map((path) => at(value, path)).find((member) => member !== undefined);
  return scalarText(found) ?? (found === undefined ? undefined : JSON.stringify(found));
}
