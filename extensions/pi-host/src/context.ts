/** Contexts that handlers receive. */

import type { AgentConnection } from "./connection.js";
import type { Mirror } from "./mirror.js";
import { ModelView } from "./models.js";
import { unsupported } from "./unsupported.js";
import type { ContextUsage, Model } from "./protocol.js";
import { SessionView } from "./session.js";
import { textOf } from "./text.js";
import { type ActiveRequest, UserInterface } from "./ui.js";

/** Options of a compaction. */
export interface CompactOptions {
  customInstructions?: string;
  onComplete?: (result: unknown) => void;
  onError?: (error: Error) => void;
}

/** Context of a handler, with the interface that pi defines. */
export interface Context {
  readonly ui: UserInterface;
  readonly hasUI: boolean;
  readonly cwd: string;
  readonly sessionManager: SessionView;
  readonly modelRegistry: ModelView;
  readonly model: Model | undefined;
  isIdle(): boolean;
  abort(): void;
  hasPendingMessages(): boolean;
  shutdown(): void;
  getContextUsage(): ContextUsage | undefined;
  compact(options?: CompactOptions): void;
  getSystemPrompt(): string;
}

/** Context of a command, which has additional actions. */
export interface CommandContext extends Context {
  waitForIdle(): Promise<void>;
  newSession(options?: { parentSession?: string; setup?: unknown }): Promise<{ cancelled: boolean }>;
  fork(entryId: string): Promise<{ cancelled: boolean }>;
  switchSession(path: string): Promise<{ cancelled: boolean }>;
  navigateTree(): never;
  reload(): never;
}

/** Factory for the contexts of one extension. */
export class ContextFactory {
  readonly #session: SessionView;
  readonly #models: ModelView;

  constructor(
    private readonly connection: AgentConnection,
    private readonly mirror: Mirror,
    private readonly extension: string,
    onKeysReplaced: () => void,
  ) {
    this.#session = new SessionView(mirror);
    this.#models = new ModelView(mirror, onKeysReplaced);
  }

  /** Models in the form of pi's interface. */
  get models(): ModelView {
    return this.#models;
  }

  /** Creates the context for a handler of an event or a tool. */
  handlerContext(request: ActiveRequest): Context {
    const { connection, mirror } = this;
    let ui: UserInterface | undefined;
    const makeUi = (): UserInterface => (ui ??= new UserInterface(connection, this.extension, request));
    return {
      get ui() {
        return makeUi();
      },
      hasUI: mirror.agent.hasUI,
      cwd: mirror.agent.cwd,
      sessionManager: this.#session,
      modelRegistry: this.#models,
      get model() {
        return mirror.state.model ?? undefined;
      },
      isIdle: () => mirror.state.idle ?? true,
      abort: () => connection.send({ type: "abort" }),
      hasPendingMessages: () => (mirror.state.pendingMessages ?? 0) > 0,
      shutdown: () => connection.send({ type: "shutdown" }),
      getContextUsage: () => mirror.state.contextUsage ?? undefined,
      compact: (options) => this.#compact(options),
      getSystemPrompt: () => mirror.state.systemPrompt ?? "",
    };
  }

  /** Creates the context for a handler of a command. */
  commandContext(request: ActiveRequest): CommandContext {
    const { connection } = this;
    const more = {
      waitForIdle: async () => void (await connection.request({ type: "wait_for_idle" }).answer),
      newSession: async (options?: { parentSession?: string; setup?: unknown }) => {
        if (options?.setup !== undefined) unsupported("ctx.newSession({ setup })", "the agent alone writes sessions");
        const parent = options?.parentSession;
        const question = { type: "new_session", ...(parent === undefined ? {} : { parentSession: parent }) } as const;
        return cancellation(await connection.request(question).answer);
      },
      fork: async (entryId: string) =>
        cancellation(await connection.request({ type: "fork", entryId: textOf(entryId) }).answer),
      switchSession: async (path: string) =>
        cancellation(await connection.request({ type: "switch_session", path: textOf(path) }).answer),
      navigateTree: () => unsupported("ctx.navigateTree()"),
      reload: () => unsupported("ctx.reload()"),
    };
    // A spread would call the getters at once, instead of copying them.
    return Object.defineProperties(this.handlerContext(request), Object.getOwnPropertyDescriptors(more)) as CommandContext;
  }

  #compact(options: CompactOptions = {}): void {
    const { customInstructions } = options;
    const question = { type: "compact", ...(customInstructions === undefined ? {} : { customInstructions }) } as const;
    this.connection.request(question).answer.then(
      (result) => options.onComplete?.(result),
      (error: unknown) => options.onError?.(error instanceof Error ? error : new Error(String(error))),
    );
  }
}

function cancellation(result: { cancelled: boolean } | undefined): { cancelled: boolean } {
  return { cancelled: result?.cancelled ?? false };
}
