/** How a run stands, as its events tell it: which events tell it, and where, is declared. */

import { RunFailedError } from "./error.js";
import type { JsonObject, JsonValue } from "./generated/types.js";

/** What an event tells of how a run stands. */
export type Told = "failed" | "aborted" | "retried" | "fine";

/** What an event tells, and where in it. Paths are names with dots between. */
export interface OutcomeRule {
  /** The list for each of whose items the rule holds; without it the event itself. */
  readonly over?: string;
  /** All of these have to hold. */
  readonly when?: readonly { readonly is?: readonly string[]; readonly has?: string }[];
  /** What is told, where `words` say nothing else; `fine` without it. */
  readonly told?: Told;
  /** A member, and what its values tell. */
  readonly words?: readonly [string, Readonly<Record<string, Told>>];
  /** Where the reason stands: the first of these that has a value. */
  readonly message?: readonly string[];
  /** The reason, where it stands nowhere. */
  readonly text?: string;
  /** Where the code of the failure stands, likewise. */
  readonly code?: readonly string[];
  /** Whether the same prompt may succeed. */
  readonly retryable?: boolean;
}

/** How a run came out that is over. */
export type Verdict = "done" | "aborted" | RunFailedError;

type Found = JsonValue | undefined;

/** How a run stands. */
export class Standing {
  #told: Told | undefined;
  #message: string | undefined;
  #code: string | undefined;
  #retryable = false;
  #isStopped = false;

  /** Takes what an event tells by these rules. */
  hear(rules: readonly OutcomeRule[], body: JsonObject): void {
    for (const rule of rules) {
      const list = rule.over === undefined ? [body] : at(body, rule.over);
      if (Array.isArray(list)) for (const item of list) this.#apply(rule, item);
    }
  }

  /** The agent has acknowledged that it stops. */
  stop(): void {
    this.#isStopped = true;
  }

  /** The prompt was refused while its run was going on. */
  refuse(message: string, code: string | undefined): void {
    if (this.#told !== "failed") this.#message = message;
    this.#told = "failed";
    this.#code ??= code;
  }

  /** Whether it failed or was stopped, as far as was told. */
  get isAmiss(): boolean {
    return this.#told === "failed" || this.#told === "aborted";
  }

  /** How the run came out, where it is over now. */
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
    // What failed has failed until the next answer of the model.
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

/** The value at a path; null counts as none. */
export function at(value: Found, path: string): Found {
  let found = value;
  for (const name of path.split(".")) {
    const isObject = typeof found === "object" && found !== null && !Array.isArray(found);
    found = isObject && Object.hasOwn(found as JsonObject, name) ? (found as JsonObject)[name] : undefined;
  }
  return found ?? undefined;
}

/** A value as rules name it. */
export function word(value: Found): string | undefined {
  return value === undefined || typeof value === "object" ? undefined : String(value);
}

/** The first of these members that has a value, as text. */
function first(value: Found, paths: readonly string[] = []): string | undefined {
  const found = paths.map((path) => at(value, path)).find((member) => member !== undefined);
  return word(found) ?? (found === undefined ? undefined : JSON.stringify(found));
}
