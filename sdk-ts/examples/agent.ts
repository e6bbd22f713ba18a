// An agent that repeats each prompt until it is stopped. Any client of pi can drive it: node streaming.js node agent.js

import { setTimeout as pause } from "node:timers/promises";

import { CommandError, pi, serve } from "agentese/serve";
import { stdio } from "agentese/stdio";

class Parrot extends pi.Service {
  #stop: AbortController | undefined;
  #work: Promise<void> | undefined;

  override prompt({ message }: pi.PromptParams, call: pi.Call<"prompt">) {
    if (this.#stop !== undefined) throw new CommandError("Agent is busy");
    this.#stop = new AbortController();
    this.#work = this.#repeat(message.split(" "), this.#stop.signal, call).finally(() => (this.#stop = undefined));
  }

  override async abort() {
    this.#stop?.abort();
    await this.#work;
  }

  override waitUntilIdle() {
    return this.#work;
  }

  async #repeat(words: string[], signal: AbortSignal, call: pi.Call<"prompt">): Promise<void> {
    await call.emit({ type: "agent_start" });
    for (const word of words) {
      await pause(10, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
      const piece = { type: "text_delta", contentIndex: 0, delta: `${word} ` } as const;
      await call.emit({ type: "message_update", assistantMessageEvent: piece });
    }
    await call.emit({ type: "agent_end", messages: [] });
  }
}

await serve(new Parrot(), stdio());
