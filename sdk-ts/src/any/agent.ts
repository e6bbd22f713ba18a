/** An agent of any dialect. */

import type { ClientOptions, RpcClient } from "../client.js";
import { omp, opal, operator, pi, pisces } from "../generated/index.js";
import type { JsonObject, JsonValue } from "../generated/types.js";
import { Run } from "../run.js";
import { type AnyTypes, type Spec, row } from "../spec.js";
import { type Direction, type Tap } from "../tap.js";
import type { Termination } from "../termination.js";
import type { Transport } from "../transport.js";
import { type Conversation, type OpenQuestion, View } from "../ui.js";
import { holds, readAll } from "../ui/read.js";
import { Channel } from "./channel.js";
import { Commands, given } from "./commands.js";
import { detect } from "./detect.js";
import { differences } from "./differ.js";
import { NotInDialectError } from "./errors.js";
import { type AnyEvent, size } from "./event.js";
import type { Results, Words } from "./results.js";
import { AnyRun } from "./run.js";
import { type Carrier, type Intent, Table, members, untaken } from "./table.js";

/** A question of the agent, as the conversation has it while it is open. */
export type Question = Omit<OpenQuestion, "key" | "id" | "at">;

/** What was chosen or entered, or yes or no; nothing dismisses the question. */
export type Answer = string | boolean | undefined;

/** How an agent is connected. */
export interface AgentOptions {
  /** The dialect, `NAME` or `NAME@REVISION`; it is found out where it is not named. */
  readonly dialect?: string | undefined;
  /** Answers the agent's questions; without it the declared policy dismisses them. */
  readonly asked?: ((question: Question, open: { readonly signal: AbortSignal }) => Answer | Promise<Answer>) | undefined;
  /** How long calls wait for their answers, in milliseconds, in place of the commands' own limits. */
  readonly timeout?: number | undefined;
  /** Receives every frame, with keys redacted. */
  readonly tap?: Tap | undefined;
  /** How long an agent may take to answer while its dialect is found out, in milliseconds; 20 000 by default. */
  readonly detectWithin?: number | undefined;
}

type Make = new (transport: Transport, options?: ClientOptions<AnyTypes>) => RpcClient<AnyTypes>;

const DIALECTS = [pi, omp, pisces, operator, opal].map(({ spec, Client }) => ({
  spec: spec as Spec,
  make: Client as unknown as Make,
}));

/**
 * Drives whatever is at the other end of a transport, for example of `spawnChild` of `agentese/stdio`.
 *
 * @throws RangeError The options name a dialect that is not known.
 * @throws UsageError They name a revision that is not known.
 * @throws NotRecognisedError They name none, and nothing that comes belongs to one.
 */
export async function connect(transport: Transport, options: AgentOptions = {}): Promise<Agent> {
  const [name, revision] = options.dialect?.split("@") ?? [];
  let known = DIALECTS.find(({ spec }) => spec.name === name);
  if (name !== undefined && known === undefined) {
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

/** An agent of any dialect. Use {@link connect}. */
export class Agent extends Commands implements AsyncDisposable {
  /** The client of the dialect, on the same connection. */
  readonly client: RpcClient<AnyTypes>;
  readonly #table: Table;
  readonly #listeners = new Set<Channel<AnyEvent>>();
  #view: View;
  /** The first session is being opened, where a connection has several. */
  #beginning: Promise<unknown> | undefined;
  /** The command of each call that waits for a session to be opened. */
  readonly #opening: string[] = [];
  /** The ids, as JSON, with which such commands were sent: the session that an answer with one of them names is followed. */
  readonly #asked = new Set<string>();
  /** How the connection ended, where it has. */
  #end: Termination | undefined;

  constructor(spec: Spec, make: Make, transport: Transport, { asked, timeout, tap }: AgentOptions, revision?: string) {
    super();
    this.#table = new Table(spec.name);
    this.#view = View.open(spec.name);
    const dialogs = asked === undefined ? undefined : this.#dialogs(spec, asked);
    const watch = (direction: Direction, line: string) => this.#take(direction, line);
    this.client = new make(transport, { revision, dialogs, timeout, tap, watch } as ClientOptions<AnyTypes>);
    void this.client.terminated.then((end) => {
      this.#finish(end);
      for (const listener of this.#listeners) listener.end({ error: end });
    });
  }

  /** The dialect's name. */
  get dialect(): string {
    return this.client.spec.name;
  }

  /** The conversation as it stands. */
  get conversation(): Conversation {
    return this.#view.conversation;
  }

  /** The client as that of a dialect, for example `pi.Client`, where the agent speaks it; on the same connection. */
  as<C extends object>(make: new (...given: never[]) => C): C | undefined {
    const client: unknown = this.client;
    return client instanceof make ? client : undefined;
  }

  /** Whether the agent's dialect has a command for it. Where its revision is not known yet, whether any revision has. */
  can(intent: Intent): boolean {
    return this.#table.carrier(this.client.spec as Spec, this.client.revision, intent) !== undefined;
  }

  /** Gives everything that happens from now on. Throws the end of the connection. */
  events(): AsyncIterableIterator<AnyEvent> {
    return this.#listen();
  }

  /**
   * Carries out an intent with neutral parameters, and gives its neutral results: docs/reference/intents.md.
   *
   * @throws NotInDialectError The dialect has no command for it, or none that takes one of the parameters, in the agent's
   * revision (in all of them where that is not known). Nothing was sent.
   */
  override async call(intent: Intent, given: Readonly<Record<string, unknown>> = {}): Promise<Results> {
    const carrier = this.#carrier(intent, given);
    const params = await this.#params(carrier, given);
    const opens = this.client.spec.session !== undefined && carrier.gives["session.id"] !== undefined && carrier.session === undefined;
    const data = opens ? this.#open(carrier.command, params) : this.client.request(carrier.command, params);
    return this.#results(carrier, params, await data);
  }

  /** Sends words that begin a run. Resolves when the agent has accepted them. */
  prompt(words: Words): Promise<AnyRun> {
    return this.#start("prompt", words);
  }

  /** Stops the run that is going on and begins one with these words. */
  abortAndPrompt(words: Words): Promise<AnyRun> {
    return this.#start("abortAndPrompt", words);
  }

  /** Shuts the agent down and waits for its end. */
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

  async #start(intent: Intent, words: Words): Promise<AnyRun> {
    const said = given(words);
    const carrier = this.#carrier(intent, said);
    const params = await this.#params(carrier, said);
    const channel = this.#listen();
    try {
      const run = await this.client["start"](Run<AnyTypes>, carrier.command, params);
      const { outcome } = this.#results(carrier, params, run.answer);
      return new AnyRun(run, channel, outcome, () => this.conversation);
    } catch (error) {
      void channel.return();
      throw error;
    }
  }

  /** The command that carries an intent, where it takes these parameters. */
  #carrier(intent: Intent, given: Readonly<Record<string, unknown>>): Carrier {
    const { spec, revision } = this.client;
    const carrier = this.#table.carrier(spec as Spec, revision, intent);
    const param = carrier && untaken(intent, carrier, revision, given);
    if (carrier === undefined || param !== undefined) throw new NotInDialectError(intent, revision ?? spec.name, param);
    return carrier;
  }

  /** The parameters of a command, with the session where it needs one. */
  async #params(carrier: Carrier, given: Readonly<Record<string, unknown>>): Promise<JsonObject> {
    const params = members(carrier, given);
    if (carrier.session === undefined || params[carrier.session] !== undefined) return params;
    if (this.conversation.session.id === undefined) await (this.#beginning ??= this.#begin());
    // Of several that are opened at once, the one whose answer came last.
    return { ...params, [carrier.session]: this.conversation.session.id ?? "" };
  }

  /** Opens the first session. */
  async #begin(): Promise<void> {
    const { opens } = this.#table.carriers;
    const carrier = row(this.#table.carriers.carriers, "newSession")?.find(({ command }) => command === opens);
    try {
      await this.#open(opens ?? "", carrier === undefined ? {} : members(carrier, {}));
    } finally {
      this.#beginning = undefined;
    }
  }

  /** Sends a command that opens a session: the one that its answer names is followed. */
  async #open(command: string, params: JsonObject): Promise<unknown> {
    this.#opening.push(command);
    try {
      return await this.client.request(command, params);
    } finally {
      this.#opening.splice(this.#opening.indexOf(command), 1);
      // An answer for which nobody waits any more changes nothing.
      if (this.#opening.length === 0) this.#asked.clear();
    }
  }

  #results(carrier: Carrier, params: JsonObject, data: unknown): Results {
    return this.#table.results(carrier, params, data as JsonValue | undefined) as Results;
  }

  /** A handler for each dialog that is a question. */
  #dialogs(spec: Spec, asked: NonNullable<AgentOptions["asked"]>): object {
    const { meaning, carriers } = this.#table;
    const handlers = Object.keys(carriers.answers).map((method) => {
      const handler = (params: JsonObject, open: { readonly signal: AbortSignal }) => {
        const rule = row(meaning.dialogs, method)?.find(({ act, when }) => act === "ask" && holds(when, params));
        if (rule === undefined) return undefined;
        return asked({ method, title: "", ...readAll(meaning, rule.slots, params) } as unknown as Question, open);
      };
      return [spec.dialogs[method]?.name ?? method, handler] as const;
    });
    return Object.fromEntries(handlers);
  }

  /** The connection has ended: what was going on is over, for that reason. */
  #finish(end: Termination): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    const before = this.#view.conversation;
    this.#tell(before, this.#view.close(end.message));
  }

  /** Takes a frame. */
  #take(direction: Direction, line: string): void {
    const before = this.#view.conversation;
    if (direction === "received" ? this.#asked.size > 0 : this.#opening.length > 0) this.#look(direction, line, before);
    this.#tell(before, this.#view[direction](line, Date.now()));
  }

  /** Tells what has changed. */
  #tell(before: Conversation, now: Conversation): void {
    if (this.#listeners.size === 0) return;
    for (const event of differences(before, now)) {
      const bytes = size(event);
      for (const listener of this.#listeners) if (!listener.push(event, bytes)) this.#listeners.delete(listener);
    }
  }

  /**
   * Notes the id of a command that opens a session, and follows the one that its answer names. The first one takes over what
   * was told before it.
   */
  #look(direction: Direction, line: string, before: Conversation): void {
    const { session: member, framing, name } = this.client.spec;
    let frame: { id?: JsonValue; method?: JsonValue; type?: JsonValue; result?: JsonObject; data?: JsonObject };
    try {
      frame = JSON.parse(line) as typeof frame;
    } catch {
      // What stands in a long frame was not looked at yet.
      return;
    }
    const isRpc = framing === "json-rpc";
    const id = JSON.stringify(frame.id);
    if (direction === "sent") {
      if (this.#opening.includes(String(isRpc ? frame.method : frame.type))) this.#asked.add(id);
      return;
    }
    if (frame.method !== undefined || !this.#asked.delete(id)) return;
    const session = (isRpc ? frame.result : frame.data)?.[member ?? ""];
    if (typeof session !== "string" || before.session.id === undefined || before.session.id === session) return;
    const { conversation } = View.open(name);
    const { sent } = before.internal;
    const kept = { ...conversation, session: { id: session }, internal: { ...conversation.internal, sent } };
    this.#view = View.open(name, { kept });
  }
}
