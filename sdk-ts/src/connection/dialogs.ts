/** Dialogs of one connection: handlers, answers and withdrawals. */

import { answerLine, answerMismatch, dialogParams, policyLine } from "../dialog.js";
import { UsageError } from "../error.js";
import type { JsonObject, JsonValue } from "../generated/types.js";
import { type DialogSpec, needsAnswer, row } from "../spec.js";
import type { Termination } from "../termination.js";
import { later } from "../timer.js";
import type { ConnectionCore } from "./core.js";
import { validateValue } from "./validation.js";
import type { Writer } from "./writer.js";

/** Abort reason of a question after its time limit. */
const QUESTION_TIMEOUT = new DOMException("the time limit of the question has passed", "TimeoutError");

interface PendingDialog {
  readonly id: JsonValue;
  readonly controller: AbortController;
}

interface ConnectionWithWriter extends ConnectionCore {
  readonly writer: Writer;
}

/** Open questions of one connection. */
export class Dialogs {
  readonly #connection: ConnectionWithWriter;
  readonly #open = new Set<PendingDialog>();

  constructor(connection: ConnectionWithWriter) {
    this.#connection = connection;
  }

  /**
   * Passes a dialog to its handler, or answers it by the declared policy. Returns at once. `rawId` is the id
   * as raw JSON.
   */
  handle(rawId: string, id: JsonValue, method: string, params: JsonObject): undefined {
    const { spec, settings } = this.#connection;
    const declared = row(spec.dialogs, method);
    if (declared?.withdraws !== undefined) {
      const target = params[declared.withdraws];
      return this.#withdraw((open) => open.id === target, new DOMException("the agent withdrew its question", "AbortError"));
    }
    const handlers = (settings.dialogs ?? {}) as Record<string, unknown>;
    const handler = declared && handlers[declared.name];
    if (declared !== undefined) this.#connection.confirmDialect();
    if (declared === undefined || typeof handler !== "function") return this.#answerByPolicy(rawId, method);
    const given = dialogParams(spec, params);
    if (validateValue(this.#connection, "dialog", method, given) !== undefined) return this.#answerByPolicy(rawId, method);
    const limit = declared.timeout === undefined ? undefined : params[declared.timeout];
    void this.#callHandler(rawId, id, method, declared, limit, (open) => {
      return (handler as (...given: unknown[]) => unknown).call(handlers, given, open);
    });
  }

  /** Aborts the handlers of all open questions, because the connection has ended. */
  settle(end: Termination): void {
    this.#withdraw(() => true, end);
  }

  #withdraw(fits: (open: PendingDialog) => boolean, reason: unknown): undefined {
    for (const open of [...this.#open].filter(fits)) {
      this.#open.delete(open);
      open.controller.abort(reason);
    }
  }

  async #callHandler(
    rawId: string,
    id: JsonValue,
    method: string,
    declared: DialogSpec,
    limit: JsonValue | undefined,
    handler: (open: { signal: AbortSignal }) => unknown,
  ): Promise<void> {
    const controller = new AbortController();
    const open = { id, controller };
    const answered = needsAnswer(declared);
    if (answered) this.#open.add(open);
    // When the time limit of the question has passed, the agent continues without an answer.
    const timer = later(typeof limit === "number" ? limit : 0, () => controller.abort(QUESTION_TIMEOUT));
    try {
      const value = await handler({ signal: controller.signal });
      if (!answered || controller.signal.aborted) return;
      if (value === undefined || value === null) return this.#answerByPolicy(rawId, method);
      const { member } = declared;
      const members = declared.frames === undefined && member !== undefined ? { [member]: value } : value;
      const mismatch = answerMismatch(declared, members);
      if (mismatch !== undefined) throw new UsageError(mismatch);
      const { spec, agentRevision } = this.#connection;
      const line = answerLine(spec, rawId, method, members as Record<string, unknown>);
      spec.lines?.check(agentRevision, method, line);
      this.#reply(method, line);
    } catch (error) {
      // An exception after the abort of the question is not a failure of the handler.
      if (!controller.signal.aborted) this.#answerByPolicy(rawId, method, error);
    } finally {
      clearTimeout(timer);
      this.#open.delete(open);
    }
  }

  #answerByPolicy(rawId: string, method: string, error?: unknown): undefined {
    const { spec, tap } = this.#connection;
    const line = policyLine(spec, rawId, method);
    if (line === undefined && error === undefined) return;
    tap.diagnostic({ kind: "dialog_by_policy", method, ...(error === undefined ? {} : { error }) });
    if (line !== undefined) this.#reply(method, line);
  }

  /**
   * Sends an answer. Drops it if too much output is unwritten, because the agent sends questions and does
   * not read its input.
   */
  #reply(method: string, line: string): void {
    const { tap, writer } = this.#connection;
    try {
      writer.checkCapacity(method);
    } catch (error) {
      return tap.diagnostic({ kind: "dialog_by_policy", method, error });
    }
    writer.write(line);
  }
}
