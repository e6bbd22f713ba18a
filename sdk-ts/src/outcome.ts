/** Outcome of a run from its events, by declared rules. */

import { RunFailedError } from "./error.js";
import type { JsonObject, JsonValue } from "./generated/types.js";
import type { OutcomeRule, Told } from "./spec.js";

export type { OutcomeRule, Told };

/** Outcome of a completed run. */
export type Verdict = "done" | "aborted" | RunFailedError;

type Found = JsonValue | undefined;

/** Outcome of a run so far. */
export class Standing {
  #told: Told | undefined;
  #message: string | undefined;
  #code: string | undefined;
  #retryable = false;
  #isStopped = false;

  /** Applies the rules to an event. */
  hear(rules: readonly OutcomeRule[], body: JsonObject): void {
    for (const rule of rules) {
      const list = rule.over === undefined ? [body] : at(body, rule.over);
      if (Array.isArray(list)) for (const item of list) this.#apply(rule, item);
    }
  }

  /** Records that the agent has acknowledged an abort. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Records that the prompt was rejected during its run. */
  refuse(message: string, code: string | undefined): void {
    if (this.#told !== "failed") this.#message = message;
    this.#told = "failed";
    this.#code ??= code;
  }

  /** `true` if the run failed or was aborted according to its events. */
  get isAmiss(): boolean {
    return this.#told === "failed" || this.#told === "aborted";
  }

  /** Returns the outcome if the run ends now. */
  verdict(): Verdict {
    if (this.#told === "aborted") return "aborted";
    if (this.#told === "failed" && !this.#isStopped) {
      return new RunFailedError(this.#message ?? "the agent does not say why", this.#code, this.#retryable);
    }
    return this.#isStopped && this.#told !== "fine" ? "aborted" : "done";
  }

  #apply(rule: OutcomeRule, value: Found): void {
    const holds = ({ is: [path = "", wanted] = [], has = path }: NonNullable<OutcomeRule["when"]>[number]): boolean => {
      const found = at(value, has);
      return wanted === undefined ? found !== undefined : word(found) === wanted;
    };
    if (!(rule.when ?? []).every(holds)) return;
    const [path, words] = rule.words ?? ["", undefined];
    const said = words === undefined ? undefined : word(at(value, path));
    const told = (said !== undefined && words !== undefined && Object.hasOwn(words, said) ? words[said] : rule.told) ?? "fine";
    // A failure persists until the next answer of the model.
    if (told === "retried") this.#retryable = true;
    else if (told === "failed") {
      const before = this.#told === "failed" ? { message: this.#message, code: this.#code } : {};
      this.#told = told;
      this.#message = first(value, rule.message) ?? rule.text ?? before.message;
      this.#code = first(value, rule.code) ?? before.code;
      this.#retryable ||= rule.retryable === true;
    } else {
      this.#told = told;
      this.#message = this.#code = undefined;
      this.#retryable = false;
    }
  }
}

/** Returns the value at a path, or `undefined` for null. */
export function at(value: Found, path: string): Found {
  let found = value;
  for (const name of path.split(".")) {
    const isObject = typeof found === "object" && found !== null && !Array.isArray(found);
    found = isObject && Object.hasOwn(found as JsonObject, name) ? (found as JsonObject)[name] : undefined;
  }
  return found ?? undefined;
}

/** Returns a value in the form that rules use. */
export function word(value: Found): string | undefined {
  return value === undefined || typeof value === "object" ? undefined : String(value);
}

/** Returns the first of these members with a value, as text. */
function first(value: Found, paths: readonly string[] = []): string | undefined {
  const found = paths.map((path) => at(value, path)).find((member) => member !== undefined);
  return word(found) ?? (found === undefined ? undefined : JSON.stringify(found));
}
