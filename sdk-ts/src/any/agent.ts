/** Agent of any dialect, with neutral commands and events. */

import { bridgeInstruction, bridgedProtocol } from "../bridged.js";
import type { ClientOptions, RpcClient } from "../client.js";
import { omp, opal, operator, pi, pisces } from "../generated/index.js";
import type { JsonObject, JsonValue } from "../generated/types.js";
import { Run } from "../run.js";
import type { RunLimits } from "../run_limits.js";
import { type AnyTypes, type Spec, row } from "../spec.js";
import { type Direction, type Tap } from "../tap.js";
import type { Termination } from "../termination.js";
import type { Transport } from "../transport.js";
import { type Conversation, type OpenQuestion, View } from "../ui.js";
import { holds, readAll } from "../ui/read.js";
import { Channel } from "./channel.js";
import { Commands, inputParams } from "./commands.js";
import { detect } from "./detect.js";
import { differences } from "./diff.js";
import { NotInDialectError } from "./errors.js";
import { type AnyEvent, size } from "./event.js";
import type { Results, UserInput } from "./results.js";
import { AnyRun } from "./run.js";
import { type CommandMapping, type Intent, IntentTable, commandParams, unsupportedParam } from "./table.js";

/** Open question of the agent, in the form in which the conversation holds it. */
export type Question = Omit<OpenQuestion, "key" | "id" | "at">;

/** Answer to a question: the chosen or entered text, or yes or no; `undefined` dismisses the question. */
export type Answer = string | boolean | undefined;

/** Options of a connection to an agent. */
export interface AgentOptions {
  /** Dialect as `NAME` or `NAME@REVISION`; detected by default. */
  readonly dialect?: string | undefined;
  /** Handler of the agent's questions. Without a handler, the declared policy dismisses them. */
  readonly onQuestion?: ((question: Question, open: { readonly signal: AbortSignal }) => Answer | Promise<Answer>) | undefined;
  /** Time limit of every call in milliseconds, in place of the limits of the commands. */
  readonly timeout?: number | undefined;
  /** Receives every frame, with keys redacted. */
  readonly tap?: Tap | undefined;
  /** Time limit of the detection of the dialect in milliseconds; 20 000 by default. */
  readonly detectWithin?: number | undefined;
}

/** Options of a prompt. */
export interface PromptOptions {
  /**
   * Limits that end the run, as `new RunLimits({ maxTurns: 5 })`. If agents of the dialect do not report the
   * value that a limit needs, the call throws a `UsageError` and sends nothing.
   */
  readonly limits?: RunLimits | undefined;
}

type ClientConstructor = new (transport: Transport, options?: ClientOptions<AnyTypes>) => RpcClient<AnyTypes>;

const DIALECTS = [pi, omp, pisces, operator, opal].map(({ spec, Client }) => ({
  spec: spec as Spec,
  make: Client as unknown as ClientConstructor,
}));

/**
 * Connects to the agent at the other end of a transport, for example of `spawnChild` of `agentese/stdio`.
 *
 * @throws RangeError The options name an unknown dialect, or a protocol whose agents need a bridge.
 * @throws UsageError The options name an unknown revision.
 * @throws NotRecognisedError The options name no dialect, and no received frame belongs to a known one, or the agent
 *   needs a bridge.
 */
export async function connect(transport: Transport, options: AgentOptions = {}): Promise<Agent> {
  const [name, revision] = options.dialect?.split("@") ?? [];
  let known = DIALECTS.find(({ spec }) => spec.name === name);
  if (name !== undefined && known === undefined) {
    const bridged = bridgedProtocol(name);
    if (bridged !== undefined) throw new RangeError(bridgeInstruction(bridged));
    throw new RangeError(`unknown dialect "${name}"; known: ${DIALECTS.map(({ spec }) => spec.name).join(", ")}`);
  }
  if (known === undefined) {
    const found = await detect(transport, DIALECTS.map(({ spec }) => spec), options.detectWithin ?? 20_000);
    transport = found.transport;
    known = DIALECTS.find(({ spec }) => spec === found.spec);
  }
  const { spec, make } = known as (typeof DIALECTS)[number];
  return new Agent(spec, make, transport, options, revision);
}

/** Agent of any dialect, created by {@link connect}. */
export class Agent extends Commands implements AsyncDisposable {
  /** Typed client of the dialect, on the same connection. */
  readonly client: RpcClient<AnyTypes>;
  readonly #table: IntentTable;
  readonly #listeners = new Set<Channel<AnyEvent>>();
  #view: View;
  /** Opening of the first session, in dialects with several sessions per connection. */
  #firstSession: Promise<unknown> | undefined;
  /** Commands of the calls that are waiting for a session to be opened. */
  readonly #openingCommands: string[] = [];
  /**
   * Ids, as JSON, of these commands. If a response to one of them names a session, the agent switches to that
   * session.
   */
  readonly #openingIds = new Set<string>();
  /** Termination of the connection; `undefined` while it is open. */
  #end: Termination | undefined;

  constructor(spec: Spec, make: ClientConstructor, transport: Transport, { onQuestion, timeout, tap }: AgentOptions, revision?: string) {
    super();
    this.#table = new IntentTable(spec.name);
    this.#view = View.open(spec.name);
    const dialogs = onQuestion === undefined ? undefined : this.#dialogs(spec, onQuestion);
    const watch = (direction: Direction, line: string) => this.#fold(direction, line);
    this.client = new make(transport, { revision, dialogs, timeout, tap, watch } as ClientOptions<AnyTypes>);
    void this.client.terminated.then((end) => {
      this.#finish(end);
      for (const listener of this.#listeners) listener.end({ error: end });
    });
  }

  /** Name of the dialect. */
  get dialect(): string {
    return this.client.spec.name;
  }

  /** Current conversation. */
  get conversation(): Conversation {
    return this.#view.conversation;
  }

  /**
   * Returns the typed client if it is of the given class, for example `pi.Client`; `undefined` if the agent
   * speaks another dialect.
   */
  as<C extends object>(make: new (...given: never[]) => C): C | undefined {
    const client: unknown = this.client;
    return client instanceof make ? client : undefined;
  }

  /**
   * Returns `true` if the dialect has a command for the intent: in the agent's revision, or in any revision
   * while that is unknown.
   */
  supports(intent: Intent): boolean {
    return this.#table.mapping(this.client.spec as Spec, this.client.revision, intent) !== undefined;
  }

  /**
   * Returns an iterator over all events from now on. The iterator throws the termination of the connection.
   */
  events(): AsyncIterableIterator<AnyEvent> {
    return this.#listen();
  }

  /**
   * Executes an intent with neutral parameters and returns its neutral results; see
   * docs/reference/intents.md.
   *
   * @throws NotInDialectError The agent's revision has no command for the intent, or the command lacks a
   * parameter. While the revision is unknown, all revisions are searched. Nothing was sent.
   */
  override async call(intent: Intent, given: Readonly<Record<string, unknown>> = {}): Promise<Results> {
    const mapping = this.#mapping(intent, given);
    const params = await this.#params(mapping, given);
    const opens = this.client.spec.session !== undefined && mapping.gives["session.id"] !== undefined && mapping.session === undefined;
    const data = opens ? this.#open(mapping.command, params) : this.client.request(mapping.command, params);
    return this.#results(mapping, params, await data);
  }

  /** Sends user input that starts a run. Resolves when the agent has accepted the input. */
  prompt(input: UserInput, options: PromptOptions = {}): Promise<AnyRun> {
    return this.#start("prompt", input, options);
  }

  /** Aborts the current run and starts a new one with this user input. */
  abortAndPrompt(input: UserInput, options: PromptOptions = {}): Promise<AnyRun> {
    return this.#start("abortAndPrompt", input, options);
  }

  /** Shuts the agent down and waits for its termination. */
  close(): Promise<Termination> {
    return this.client.close();
  }

  /** Closes the connection at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #listen(): Channel<AnyEvent> {
    const channel: Channel<AnyEvent> = new Channel(() => this.#listeners.delete(channel));
    if (this.#end === undefined) this.#listeners.add(channel);
    else channel.end({ error: this.#end });
    return channel;
  }

  async #start(intent: Intent, input: UserInput, { limits }: PromptOptions): Promise<AnyRun> {
    const neutralParams = inputParams(input);
    const mapping = this.#mapping(intent, neutralParams);
    const params = await this.#params(mapping, neutralParams);
    const channel = this.#listen();
    try {
      const run = await this.client["start"](Run<AnyTypes>, mapping.command, params, { limits });
      const { outcome } = this.#results(mapping, params, run.answer);
      return new AnyRun(run, channel, outcome, () => this.conversation);
    } catch (error) {
      void channel.return();
      throw error;
    }
  }

  /** Returns the command for an intent. Fails if no command takes these parameters. */
  #mapping(intent: Intent, given: Readonly<Record<string, unknown>>): CommandMapping {
    const { spec, revision } = this.client;
    const mapping = this.#table.mapping(spec as Spec, revision, intent);
    const param = mapping && unsupportedParam(intent, mapping, revision, given);
    if (mapping === undefined || param !== undefined) throw new NotInDialectError(intent, revision ?? spec.name, param);
    return mapping;
  }

  /** Returns the parameters of a command, with the current session if the command needs one. */
  async #params(mapping: CommandMapping, given: Readonly<Record<string, unknown>>): Promise<JsonObject> {
    const params = commandParams(mapping, given);
    if (mapping.session === undefined || params[mapping.session] !== undefined) return params;
    if (this.conversation.session.id === undefined) await (this.#firstSession ??= this.#openFirstSession());
    // If several sessions are opened at once, the conversation follows the one with the last response.
    return { ...params, [mapping.session]: this.conversation.session.id ?? "" };
  }

  /** Opens the first session. */
  async #openFirstSession(): Promise<void> {
    const { opens } = this.#table.mappings;
    const mapping = row(this.#table.mappings.carriers, "newSession")?.find(({ command }) => command === opens);
    try {
      await this.#open(opens ?? "", mapping === undefined ? {} : commandParams(mapping, {}));
    } finally {
      this.#firstSession = undefined;
    }
  }

  /** Sends a command that opens a session. The conversation then follows the session in its response. */
  async #open(command: string, params: JsonObject): Promise<unknown> {
    this.#openingCommands.push(command);
    try {
      return await this.client.request(command, params);
    } finally {
      this.#openingCommands.splice(this.#openingCommands.indexOf(command), 1);
      // No call waits for these responses any more, so they change nothing.
      if (this.#openingCommands.length === 0) this.#openingIds.clear();
    }
  }

  #results(mapping: CommandMapping, params: JsonObject, data: unknown): Results {
    return this.#table.results(mapping, params, data as JsonValue | undefined) as Results;
  }

  /** Returns a handler for each dialog that is a question. */
  #dialogs(spec: Spec, onQuestion: NonNullable<AgentOptions["onQuestion"]>): object {
    const { meaning, mappings } = this.#table;
    const handlers = Object.keys(mappings.answers).map((method) => {
      const handler = (params: JsonObject, open: { readonly signal: AbortSignal }) => {
        const rule = row(meaning.dialogs, method)?.find(({ act, when }) => act === "ask" && holds(when, params));
        if (rule === undefined) return undefined;
        return onQuestion({ method, title: "", ...readAll(meaning, rule.slots, params) } as unknown as Question, open);
      };
      return [spec.dialogs[method]?.name ?? method, handler] as const;
    });
    return Object.fromEntries(handlers);
  }

  /** Ends the conversation with the reason of the termination. */
  #finish(end: Termination): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    const before = this.#view.conversation;
    this.#emit(before, this.#view.close(end.message));
  }

  /** Folds a frame into the conversation, and emits the resulting events. */
  #fold(direction: Direction, line: string): void {
    const before = this.#view.conversation;
    if (direction === "received" ? this.#openingIds.size > 0 : this.#openingCommands.length > 0) this.#trackSession(direction, line, before);
    this.#emit(before, this.#view[direction](line, Date.now()));
  }

  /** Emits an event for each difference between two conversations. */
  #emit(before: Conversation, now: Conversation): void {
    if (this.#listeners.size === 0) return;
    for (const event of differences(before, now)) {
      const bytes = size(event);
      for (const listener of this.#listeners) if (!listener.push(event, bytes)) this.#listeners.delete(listener);
    }
  }

  /**
   * Records the id of a command that opens a session, and switches to the session that its response names.
   * The first session inherits all earlier content of the conversation.
   */
  #trackSession(direction: Direction, line: string, before: Conversation): void {
    const { session: member, framing, name } = this.client.spec;
    let frame: { id?: JsonValue; method?: JsonValue; type?: JsonValue; result?: JsonObject; data?: JsonObject };
    try {
      frame = JSON.parse(line) as typeof frame;
    } catch {
      // A long frame is parsed lazily, and its content may still be invalid.
      return;
    }
    const isRpc = framing === "json-rpc";
    const id = JSON.stringify(frame.id);
    if (direction === "sent") {
      if (this.#openingCommands.includes(String(isRpc ? frame.method : frame.type))) this.#openingIds.add(id);
      return;
    }
    if (frame.method !== undefined || !this.#openingIds.delete(id)) return;
    const session = (isRpc ? frame.result : frame.data)?.[member ?? ""];
    if (typeof session !== "string" || before.session.id === undefined || before.session.id === session) return;
    const { conversation } = View.open(name);
    const { sent } = before.internal;
    const stored = { ...conversation, session: { id: session }, internal: { ...conversation.internal, sent } };
    this.#view = View.open(name, { stored });
  }
}
