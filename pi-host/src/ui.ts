/** `ctx.ui`: what of pi's user interface reaches a client. */

import type { Link } from "./link.js";
import type { Question, ValueResult } from "./protocol.js";
import { textOf } from "./text.js";
import { Theme } from "./theme.js";

/** What a dialog may be given. */
export interface DialogOptions {
  /** Takes the dialog back. */
  signal?: AbortSignal;
  /** After how many milliseconds nobody answers. */
  timeout?: number;
}

/** The question of the agent in whose handling something is asked; open until it was answered. */
export interface Handling {
  /** The id of the question; missing where nobody waits. */
  readonly id?: string;
  open: boolean;
}

type Dialog = Extract<Question, { type: "select" | "confirm" | "input" | "editor" }>;

const theme = new Theme();

/** The user interface of one extension, in the handling of one question. */
export class UserInterface {
  readonly theme = theme;
  readonly #link: Link;
  readonly #extension: string;
  readonly #handling: Handling;

  constructor(link: Link, extension: string, handling: Handling) {
    this.#link = link;
    this.#extension = extension;
    this.#handling = handling;
    bindMethods(this, UserInterface.prototype);
  }

  /** What the user chose; undefined where nobody answered. */
  async select(title: string, options: readonly string[], how?: DialogOptions): Promise<string | undefined> {
    const answer = await this.#ask(
      { type: "select", ...this.#whose(), title: textOf(title), options: options.map(textOf), ...limit(how) },
      how,
    );
    return answer?.value;
  }

  /** Whether the user agreed; false where nobody answered. */
  async confirm(title: string, message: string, how?: DialogOptions): Promise<boolean> {
    const answer = await this.#ask(
      { type: "confirm", ...this.#whose(), title: textOf(title), message: textOf(message), ...limit(how) },
      how,
    );
    return answer?.confirmed ?? false;
  }

  /** What the user entered; undefined where nobody answered. */
  async input(title: string, placeholder?: string, how?: DialogOptions): Promise<string | undefined> {
    const answer = await this.#ask(
      {
        type: "input",
        ...this.#whose(),
        title: textOf(title),
        ...(placeholder === undefined ? {} : { placeholder: textOf(placeholder) }),
        ...limit(how),
      },
      how,
    );
    return entered(answer);
  }

  /** What the user wrote; undefined where nobody answered. */
  async editor(title: string, prefill?: string, how?: DialogOptions): Promise<string | undefined> {
    const answer = await this.#ask(
      {
        type: "editor",
        ...this.#whose(),
        title: textOf(title),
        ...(prefill === undefined ? {} : { prefill: textOf(prefill) }),
      },
      how,
    );
    return entered(answer);
  }

  notify(message: string, notifyType?: "info" | "warning" | "error"): void {
    this.#link.tell({
      type: "notify",
      extension: this.#extension,
      message: textOf(message),
      ...(notifyType === undefined ? {} : { notifyType }),
    });
  }

  setStatus(key: string, text: string | undefined): void {
    this.#link.tell({
      type: "set_status",
      extension: this.#extension,
      key: textOf(key),
      ...(text === undefined ? {} : { text: textOf(text) }),
    });
  }

  /** Shows lines. A component needs a terminal: nothing is sent for one. */
  setWidget(key: string, content: unknown, options?: { placement?: "aboveEditor" | "belowEditor" }): void {
    if (content !== undefined && !Array.isArray(content)) return;
    this.#link.tell({
      type: "set_widget",
      extension: this.#extension,
      key: textOf(key),
      ...(content === undefined ? {} : { lines: content.map(textOf) }),
      ...(options?.placement === undefined ? {} : { placement: options.placement }),
    });
  }

  setTitle(title: string): void {
    this.#link.tell({ type: "set_title", extension: this.#extension, title: textOf(title) });
  }

  setEditorText(text: string): void {
    this.#link.tell({ type: "set_editor_text", extension: this.#extension, text: textOf(text) });
  }

  /** Sets the text: there is nothing to paste into. */
  pasteToEditor(text: string): void {
    this.setEditorText(text);
  }

  // What follows needs a terminal. The answers are those that pi's document on RPC gives.

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

  #whose(): { extension: string; during?: string } {
    const { id, open } = this.#handling;
    return { extension: this.#extension, ...(open && id !== undefined ? { during: id } : {}) };
  }

  /** Asks, and takes the question back when the signal says so; a signal that has said so already asks nothing. */
  async #ask<Q extends Dialog>(question: Q, how?: DialogOptions): Promise<Answer<Q> | undefined> {
    const signal = how?.signal;
    if (signal?.aborted === true) return undefined;
    const { id, answer } = this.#link.ask(question as Dialog);
    const withdraw = (): void => this.#link.tell({ type: "withdraw", question: id });
    signal?.addEventListener("abort", withdraw, { once: true });
    try {
      return (await answer) as Answer<Q>;
    } finally {
      signal?.removeEventListener("abort", withdraw);
    }
  }
}

type Answer<Q extends Dialog> = Q extends { type: "confirm" } ? { confirmed: boolean } : ValueResult;

/** What the client sent, as in pi also where it is no text. */
function entered(answer: ValueResult | undefined): string | undefined {
  return answer?.value ?? (answer?.other as string | undefined);
}

/** Extensions take methods out of the object and call them alone. */
function bindMethods(object: object, prototype: object): void {
  for (const name of Object.getOwnPropertyNames(prototype)) {
    const method = Reflect.get(object, name) as unknown;
    if (name !== "constructor" && typeof method === "function") {
      Reflect.set(object, name, (method as (...args: unknown[]) => unknown).bind(object));
    }
  }
}

/** The time limit as the agent wants it: whole milliseconds, and none where there is none. */
function limit(how: DialogOptions | undefined): { timeout?: number } {
  const timeout = how?.timeout;
  return timeout === undefined || !(timeout > 0) ? {} : { timeout: Math.ceil(timeout) };
}
