/** `ctx.ui`: the part of pi's user interface that clients support. */

import type { AgentConnection } from "./connection.js";
import type { AgentRequest, ValueResult } from "./protocol.js";
import { textOf } from "./text.js";
import { Theme } from "./theme.js";

/** Options of a dialog. */
export interface DialogOptions {
  /** Signal that withdraws the dialog. */
  signal?: AbortSignal;
  /** Time limit of the dialog in milliseconds. */
  timeout?: number;
}

/** Request of the agent that is being handled. Dialogs can be opened until its answer. */
export interface ActiveRequest {
  /** Id of the request; absent for an event that needs no answer. */
  readonly id?: string;
  open: boolean;
}

type Dialog = Extract<AgentRequest, { type: "select" | "confirm" | "input" | "editor" }>;

const theme = new Theme();

/** User interface of one extension while one request is handled. */
export class UserInterface {
  readonly theme = theme;
  readonly #connection: AgentConnection;
  readonly #extension: string;
  readonly #request: ActiveRequest;

  constructor(connection: AgentConnection, extension: string, request: ActiveRequest) {
    this.#connection = connection;
    this.#extension = extension;
    this.#request = request;
    bindMethods(this, UserInterface.prototype);
  }

  /** Prompts the user for a choice; returns `undefined` if the user dismisses the dialog. */
  async select(title: string, options: readonly string[], how?: DialogOptions): Promise<string | undefined> {
    const answer = await this.#openDialog(
      { type: "select", ...this.#owner(), title: textOf(title), options: options.map(textOf), ...timeLimit(how) },
      how,
    );
    return answer?.value;
  }

  /** Prompts the user for a confirmation; returns `false` if the user dismisses the dialog. */
  async confirm(title: string, message: string, how?: DialogOptions): Promise<boolean> {
    const answer = await this.#openDialog(
      { type: "confirm", ...this.#owner(), title: textOf(title), message: textOf(message), ...timeLimit(how) },
      how,
    );
    return answer?.confirmed ?? false;
  }

  /** Prompts the user for a line of text; returns `undefined` if the user dismisses the dialog. */
  async input(title: string, placeholder?: string, how?: DialogOptions): Promise<string | undefined> {
    const answer = await this.#openDialog(
      {
        type: "input",
        ...this.#owner(),
        title: textOf(title),
        ...(placeholder === undefined ? {} : { placeholder: textOf(placeholder) }),
        ...timeLimit(how),
      },
      how,
    );
    return dialogValue(answer);
  }

  /** Opens an editor; returns `undefined` if the user dismisses it. */
  async editor(title: string, prefill?: string, how?: DialogOptions): Promise<string | undefined> {
    const answer = await this.#openDialog(
      {
        type: "editor",
        ...this.#owner(),
        title: textOf(title),
        ...(prefill === undefined ? {} : { prefill: textOf(prefill) }),
      },
      how,
    );
    return dialogValue(answer);
  }

  notify(message: string, notifyType?: "info" | "warning" | "error"): void {
    this.#connection.send({
      type: "notify",
      extension: this.#extension,
      message: textOf(message),
      ...(notifyType === undefined ? {} : { notifyType }),
    });
  }

  setStatus(key: string, text: string | undefined): void {
    this.#connection.send({
      type: "set_status",
      extension: this.#extension,
      key: textOf(key),
      ...(text === undefined ? {} : { text: textOf(text) }),
    });
  }

  /** Displays lines beside the editor. A component needs a terminal, so it is ignored. */
  setWidget(key: string, content: unknown, options?: { placement?: "aboveEditor" | "belowEditor" }): void {
    if (content !== undefined && !Array.isArray(content)) return;
    this.#connection.send({
      type: "set_widget",
      extension: this.#extension,
      key: textOf(key),
      ...(content === undefined ? {} : { lines: content.map(textOf) }),
      ...(options?.placement === undefined ? {} : { placement: options.placement }),
    });
  }

  setTitle(title: string): void {
    this.#connection.send({ type: "set_title", extension: this.#extension, title: textOf(title) });
  }

  setEditorText(text: string): void {
    this.#connection.send({ type: "set_editor_text", extension: this.#extension, text: textOf(text) });
  }

  /** Replaces the text of the editor, because its current content is unknown here. */
  pasteToEditor(text: string): void {
    this.setEditorText(text);
  }

  // The following methods need a terminal. They return the values that pi's document on RPC defines.

  async custom(): Promise<undefined> {
    return undefined;
  }

  getEditorText(): string {
    return "";
  }

  onTerminalInput(): () => void {
    return () => {};
  }

  setWorkingMessage(): void {}
  setFooter(): void {}
  setHeader(): void {}
  setEditorComponent(): void {}
  setToolsExpanded(): void {}

  getToolsExpanded(): boolean {
    return false;
  }

  getAllThemes(): never[] {
    return [];
  }

  getTheme(): undefined {
    return undefined;
  }

  setTheme(): { success: boolean; error: string } {
    return { success: false, error: "Theme switching not supported in RPC mode" };
  }

  #owner(): { extension: string; during?: string } {
    const { id, open } = this.#request;
    return { extension: this.#extension, ...(open && id !== undefined ? { during: id } : {}) };
  }

  /**
   * Opens a dialog, and withdraws it when the signal aborts. If the signal is already aborted, no dialog
   * opens.
   */
  async #openDialog<Q extends Dialog>(question: Q, how?: DialogOptions): Promise<Answer<Q> | undefined> {
    const signal = how?.signal;
    if (signal?.aborted === true) return undefined;
    const { id, answer } = this.#connection.request(question as Dialog);
    const withdraw = (): void => this.#connection.send({ type: "withdraw", question: id });
    signal?.addEventListener("abort", withdraw, { once: true });
    try {
      return (await answer) as Answer<Q>;
    } finally {
      signal?.removeEventListener("abort", withdraw);
    }
  }
}

type Answer<Q extends Dialog> = Q extends { type: "confirm" } ? { confirmed: boolean } : ValueResult;

/** Returns the value in the client's answer unchanged, even if it is not a string, as pi does. */
function dialogValue(answer: ValueResult | undefined): string | undefined {
  return answer?.value ?? (answer?.other as string | undefined);
}

/** Binds the methods to their object, because extensions call them detached from it. */
function bindMethods(object: object, prototype: object): void {
  for (const name of Object.getOwnPropertyNames(prototype)) {
    const method = Reflect.get(object, name) as unknown;
    if (name !== "constructor" && typeof method === "function") {
      Reflect.set(object, name, (method as (...args: unknown[]) => unknown).bind(object));
    }
  }
}

/** Returns the time limit of a dialog in whole milliseconds, if it has one. */
function timeLimit(how: DialogOptions | undefined): { timeout?: number } {
  const timeout = how?.timeout;
  return timeout === undefined || !(timeout > 0) ? {} : { timeout: Math.ceil(timeout) };
}
