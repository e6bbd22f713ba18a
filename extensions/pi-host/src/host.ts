/** Host of pi extensions: receives frames of the agent, runs handlers and sends answers. */

import { createApi, type Shared } from "./api.js";
import { Contexts } from "./context.js";
import { createEventBus, withFailures } from "./event_bus.js";
import { Extension, type Handler } from "./extension.js";
import { handle } from "./handle.js";
import { Link } from "./link.js";
import type { Loader } from "./load.js";
import { Mirror } from "./mirror.js";
import {
  type HostFrame,
  type HostInitialize,
  type Initialized,
  type InputAnswer,
  type OfferedExtension,
  PROTOCOL,
  type ToolProgress,
  type ToolResult,
} from "./protocol.js";
import { messageOf } from "./text.js";
import type { Handling } from "./ui.js";

type Incoming<K> = Extract<HostFrame, { type: K }>;

/** Extension with its contexts. */
interface Loaded {
  readonly extension: Extension;
  readonly contexts: Contexts;
}

/** Extensions of one process, and their connection to the agent. */
export class Host {
  readonly link: Link;
  readonly #loader: (mirror: Mirror) => Loader;
  readonly #loaded = new Map<string, Loaded>();
  /** Requests of the agent in progress. */
  readonly #handlings = new Map<string, AbortController>();
  readonly #events = createEventBus();
  /** Extensions that are registered at the agent. */
  readonly #known = new Set<string>();
  #mirror: Mirror | undefined;
  #load: ((path: string) => Promise<OfferedExtension>) | undefined;

  constructor(
    /** Writes a line with its end. */
    write: (line: string) => void,
    /** Creates the loader of extensions after the introduction of the agent. */
    loader: (mirror: Mirror) => Loader,
  ) {
    this.link = new Link(write, (frame) => this.#receive(frame));
    this.#loader = loader;
  }

  /** Reports an error outside of any handler, for example in a timer or an unhandled promise. */
  uncaught(error: unknown): void {
    const stack = error instanceof Error ? (error.stack ?? "") : "";
    const path = [...this.#loaded.keys()].find((path) => stack.includes(path));
    this.#failed(path, "uncaught", error);
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
        return this.#handlings.get(frame.id)?.abort();
      case "event":
        return frame.id === undefined ? this.#told(frame) : this.#asked(frame, frame.id);
      case "command":
        return this.#answer(frame.id, (handling) => this.#command(frame, handling));
      case "tool":
        return this.#answer(frame.id, (handling, signal) => this.#tool(frame, handling, signal));
      default:
        // A newer agent may send other frames.
        return undefined;
    }
  }

  /** Handles a request. The response follows every frame of its handling. */
  #answer(id: string, work: (handling: Handling, signal: AbortSignal) => Promise<unknown>): void {
    const handling: Handling = { id, open: true };
    const controller = new AbortController();
    this.#handlings.set(id, controller);
    void work(handling, controller.signal)
      .then(
        (result) => this.link.answer(id, result),
        (error: unknown) => this.link.refuse(id, error),
      )
      .finally(() => {
        handling.open = false;
        this.#handlings.delete(id);
      });
  }

  async #initialize(frame: HostInitialize): Promise<Initialized> {
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
   * Loads extensions one after the other in the given order. The first one that registers a name owns the
   * name.
   */
  async #loadAll(paths: readonly string[]): Promise<Initialized> {
    if (this.#load === undefined) throw new Error("`load` came before `initialize`");
    const extensions: OfferedExtension[] = [];
    for (const path of paths) extensions.push(await this.#load(path));
    for (const { path, error } of extensions) if (error === undefined) this.#known.add(path);
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
    const contexts = new Contexts(this.link, mirror, path, () => this.#decideAboutKeys(loaded, mirror));
    const loaded: Loaded = { extension, contexts };
    this.#loaded.set(path, loaded);
    return extension.offered();
  }

  /** Rejects further prompts for models without a key from the extension. */
  #decideAboutKeys({ extension, contexts }: Loaded, mirror: Mirror): void {
    const decide = async (): Promise<InputAnswer | undefined> => {
      // A failed decision rejects the prompt.
      const text = await contexts.models.refusal(mirror.state.model ?? undefined).catch(messageOf);
      return text === undefined ? undefined : { action: "refuse", text };
    };
    const { on } = createApi(extension, this.#shared(mirror, extension.path)) as { on: (event: string, handler: Handler) => void };
    on("input", decide);
  }

  #shared(mirror: Mirror, path: string): Shared {
    const isReady = (): boolean => this.#known.has(path);
    return {
      link: this.link,
      mirror,
      events: withFailures(this.#events, (channel, error) => this.#failed(path, `events:${channel}`, error, channel)),
      get ready() {
        return isReady();
      },
      registered: (extension) => {
        if (isReady()) this.link.tell({ type: "register", offered: extension.offered() });
      },
    };
  }

  /** Handles an event without an answer. Such events of one extension are handled one after another. */
  #told(frame: Incoming<"event">): void {
    const loaded = this.#loaded.get(frame.extension);
    if (loaded === undefined) return;
    const { extension } = loaded;
    const run = async (): Promise<void> => {
      await this.#handle(loaded, frame, { open: false }, new AbortController().signal);
    };
    const mine = (extension.told === undefined ? run() : extension.told.then(run)).finally(() => {
      if (extension.told === mine) extension.told = undefined;
    });
    extension.told = mine;
  }

  #asked(frame: Incoming<"event">, id: string): void {
    this.#answer(id, async (handling, signal) => this.#handle(this.#of(frame.extension), frame, handling, signal));
  }

  async #handle(loaded: Loaded, frame: Incoming<"event">, handling: Handling, signal: AbortSignal): Promise<unknown> {
    const { extension, contexts } = loaded;
    const { event } = frame;
    return handle(event, {
      handlers: [...(extension.handlers.get(event.type) ?? [])],
      context: contexts.plain(handling),
      signal,
      failed: (error) => this.#failed(extension.path, event.type, error),
    });
  }

  async #command(frame: Incoming<"command">, handling: Handling): Promise<undefined> {
    const { extension, contexts } = this.#of(frame.extension);
    const command = extension.commands.get(frame.name);
    if (command === undefined) throw new Error(`${frame.extension} has no command ${frame.name}`);
    await command.handler(frame.args, contexts.command(handling));
    return undefined;
  }

  async #tool(frame: Incoming<"tool">, handling: Handling, signal: AbortSignal): Promise<ToolResult> {
    const { extension, contexts } = this.#of(frame.extension);
    const tool = extension.tools.get(frame.name);
    if (tool === undefined) throw new Error(`${frame.extension} has no tool ${frame.name}`);
    const update = (partial: Omit<ToolProgress, "type" | "id">): void => {
      if (handling.open) this.link.tell({ type: "tool_update", id: frame.id, ...shown(partial) });
    };
    const result = await tool.execute(frame.toolCallId, frame.params, signal, update, contexts.plain(handling));
    return shown((result ?? {}) as ToolResult);
  }

  #of(path: string): Loaded {
    const loaded = this.#loaded.get(path);
    if (loaded === undefined) throw new Error(`no extension ${path} is loaded`);
    return loaded;
  }

  #failed(extension: string | undefined, event: string, error: unknown, channel?: string): void {
    this.link.tell({
      type: "failed",
      ...(extension === undefined ? {} : { extension }),
      event,
      error: messageOf(error),
      ...(channel === undefined ? {} : { channel }),
    });
  }
}

/** Returns the output of a tool in the form of the protocol, with at least its content. */
function shown<T extends { content: unknown; details?: unknown }>(result: T): T {
  const { content, details } = result;
  return { content: content ?? [], ...(details === undefined ? {} : { details }) } as T;
}
