/** Host of pi extensions: receives frames of the agent, runs handlers and sends answers. */

import { createApi, type SharedState } from "./api.js";
import { AgentConnection } from "./connection.js";
import { ContextFactory } from "./context.js";
import { createEventBus, withErrorReporting } from "./event_bus.js";
import { Extension, type Handler } from "./extension.js";
import { handle } from "./handle.js";
import type { Loader } from "./load.js";
import { Mirror } from "./mirror.js";
import {
  type HostFrame,
  type HostInitialize,
  type InitializeResult,
  type InputAnswer,
  type OfferedExtension,
  PROTOCOL,
  type ToolProgress,
  type ToolResult,
} from "./protocol.js";
import { messageOf } from "./text.js";
import type { ActiveRequest } from "./ui.js";

type Incoming<K> = Extract<HostFrame, { type: K }>;

/** Extension with the factory for its contexts. */
interface LoadedExtension {
  readonly extension: Extension;
  readonly contexts: ContextFactory;
}

/** Extensions of one process, and their connection to the agent. */
export class Host {
  readonly connection: AgentConnection;
  readonly #loader: (mirror: Mirror) => Loader;
  readonly #loaded = new Map<string, LoadedExtension>();
  /** Requests of the agent in progress. */
  readonly #activeRequests = new Map<string, AbortController>();
  readonly #events = createEventBus();
  /** Extensions that are registered at the agent. */
  readonly #registered = new Set<string>();
  #mirror: Mirror | undefined;
  #load: ((path: string) => Promise<OfferedExtension>) | undefined;

  constructor(
    /** Writes a line, whose line feed is included. */
    write: (line: string) => void,
    /** Creates the loader of extensions after the agent has sent its introduction. */
    loader: (mirror: Mirror) => Loader,
  ) {
    this.connection = new AgentConnection(write, (frame) => this.#receive(frame));
    this.#loader = loader;
  }

  /** Reports an error outside of any handler, for example in a timer or an unhandled promise. */
  uncaught(error: unknown): void {
    const stack = error instanceof Error ? (error.stack ?? "") : "";
    const path = [...this.#loaded.keys()].find((path) => stack.includes(path));
    this.#reportFailure(path, "uncaught", error);
  }

  #receive(frame: Exclude<HostFrame, { type: "response" }>): void {
    switch (frame.type) {
      case "initialize":
        return this.#answer(frame.id, () => this.#initialize(frame));
      case "load":
        return this.#answer(frame.id, () => this.#loadAll(frame.extensions));
      case "state":
        return this.#mirror?.change(frame.state);
      case "entries":
        return this.#mirror?.join(frame.entries, frame.leafId, frame.reset, frame.header);
      case "cancel":
        return this.#activeRequests.get(frame.id)?.abort();
      case "event":
        return frame.id === undefined ? this.#handleNotification(frame) : this.#answerEvent(frame, frame.id);
      case "command":
        return this.#answer(frame.id, (request) => this.#command(frame, request));
      case "tool":
        return this.#answer(frame.id, (request, signal) => this.#tool(frame, request, signal));
      default:
        // Newer agents may send other frames, which are ignored.
        return undefined;
    }
  }

  /** Handles a request and sends the response, after all other frames of the request. */
  #answer(id: string, work: (request: ActiveRequest, signal: AbortSignal) => Promise<unknown>): void {
    const request: ActiveRequest = { id, open: true };
    const controller = new AbortController();
    this.#activeRequests.set(id, controller);
    void work(request, controller.signal)
      .then(
        (result) => this.connection.answer(id, result),
        (error: unknown) => this.connection.answerError(id, error),
      )
      .finally(() => {
        request.open = false;
        this.#activeRequests.delete(id);
      });
  }

  async #initialize(frame: HostInitialize): Promise<InitializeResult> {
    if (frame.protocol !== PROTOCOL) {
      throw new Error(`agentese-pi-host speaks version ${PROTOCOL} of the extension protocol, not ${frame.protocol}`);
    }
    const mirror = new Mirror(frame);
    const loader = this.#loader(mirror);
    this.#mirror = mirror;
    this.#load = (path) => this.#loadOne(path, loader, mirror);
    const loaded = await this.#loadAll(frame.extensions);
    return { ...loaded, watch: ["state", "entries"], loadsMore: true };
  }

  /**
   * Loads extensions one after the other in the given order. If several extensions register a name, the
   * first one owns it.
   */
  async #loadAll(paths: readonly string[]): Promise<InitializeResult> {
    if (this.#load === undefined) throw new Error("`load` came before `initialize`");
    const extensions: OfferedExtension[] = [];
    for (const path of paths) extensions.push(await this.#load(path));
    for (const { path, error } of extensions) if (error === undefined) this.#registered.add(path);
    return { protocol: PROTOCOL, extensions };
  }

  async #loadOne(path: string, loader: Loader, mirror: Mirror): Promise<OfferedExtension> {
    const extension = new Extension(path);
    try {
      const factory = await loader(path);
      await factory(createApi(extension, this.#shared(mirror, path)));
    } catch (error) {
      return { path, error: messageOf(error) };
    }
    const contexts = new ContextFactory(this.connection, mirror, path, () => this.#rejectPromptsWithoutKey(loaded, mirror));
    const loaded: LoadedExtension = { extension, contexts };
    this.#loaded.set(path, loaded);
    return extension.offered();
  }

  /** Rejects further prompts to models for which the extension supplies no key. */
  #rejectPromptsWithoutKey({ extension, contexts }: LoadedExtension, mirror: Mirror): void {
    const decide = async (): Promise<InputAnswer | undefined> => {
      // If the lookup itself fails, the prompt is rejected.
      const text = await contexts.models.missingKeyReason(mirror.state.model ?? undefined).catch(messageOf);
      return text === undefined ? undefined : { action: "refuse", text };
    };
    const { on } = createApi(extension, this.#shared(mirror, extension.path)) as { on: (event: string, handler: Handler) => void };
    on("input", decide);
  }

  #shared(mirror: Mirror, path: string): SharedState {
    const isReady = (): boolean => this.#registered.has(path);
    return {
      connection: this.connection,
      mirror,
      events: withErrorReporting(this.#events, (channel, error) => this.#reportFailure(path, `events:${channel}`, error, channel)),
      get ready() {
        return isReady();
      },
      updateRegistration: (extension) => {
        if (isReady()) this.connection.send({ type: "register", offered: extension.offered() });
      },
    };
  }

  /**
   * Handles an event that needs no answer. Such events of one extension are handled one after another.
   */
  #handleNotification(frame: Incoming<"event">): void {
    const loaded = this.#loaded.get(frame.extension);
    if (loaded === undefined) return;
    const { extension } = loaded;
    const run = async (): Promise<void> => {
      await this.#handle(loaded, frame, { open: false }, new AbortController().signal);
    };
    const mine = (extension.pendingEvents === undefined ? run() : extension.pendingEvents.then(run)).finally(() => {
      if (extension.pendingEvents === mine) extension.pendingEvents = undefined;
    });
    extension.pendingEvents = mine;
  }

  #answerEvent(frame: Incoming<"event">, id: string): void {
    this.#answer(id, async (request, signal) => this.#handle(this.#loadedExtension(frame.extension), frame, request, signal));
  }

  async #handle(loaded: LoadedExtension, frame: Incoming<"event">, request: ActiveRequest, signal: AbortSignal): Promise<unknown> {
    const { extension, contexts } = loaded;
    const { event } = frame;
    return handle(event, {
      handlers: [...(extension.handlers.get(event.type) ?? [])],
      context: contexts.handlerContext(request),
      signal,
      onError: (error) => this.#reportFailure(extension.path, event.type, error),
    });
  }

  async #command(frame: Incoming<"command">, request: ActiveRequest): Promise<undefined> {
    const { extension, contexts } = this.#loadedExtension(frame.extension);
    const command = extension.commands.get(frame.name);
    if (command === undefined) throw new Error(`${frame.extension} has no command ${frame.name}`);
    await command.handler(frame.args, contexts.commandContext(request));
    return undefined;
  }

  async #tool(frame: Incoming<"tool">, request: ActiveRequest, signal: AbortSignal): Promise<ToolResult> {
    const { extension, contexts } = this.#loadedExtension(frame.extension);
    const tool = extension.tools.get(frame.name);
    if (tool === undefined) throw new Error(`${frame.extension} has no tool ${frame.name}`);
    const update = (partial: Omit<ToolProgress, "type" | "id">): void => {
      if (request.open) this.connection.send({ type: "tool_update", id: frame.id, ...toolOutput(partial) });
    };
    const result = await tool.execute(frame.toolCallId, frame.params, signal, update, contexts.handlerContext(request));
    return toolOutput((result ?? {}) as ToolResult);
  }

  #loadedExtension(path: string): LoadedExtension {
    const loaded = this.#loaded.get(path);
    if (loaded === undefined) throw new Error(`no extension ${path} is loaded`);
    return loaded;
  }

  #reportFailure(extension: string | undefined, event: string, error: unknown, channel?: string): void {
    this.connection.send({
      type: "failed",
      ...(extension === undefined ? {} : { extension }),
      event,
      error: messageOf(error),
      ...(channel === undefined ? {} : { channel }),
    });
  }
}

/** Converts the output of a tool to the form of the protocol, which requires the member `content`. */
function toolOutput<T extends { content: unknown; details?: unknown }>(result: T): T {
  const { content, details } = result;
  return { content: content ?? [], ...(details === undefined ? {} : { details }) } as T;
}
