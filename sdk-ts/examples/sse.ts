// Sends an agent's events to browsers as server-sent events: new EventSource("/?message=Hello").
// The run of a browser that disconnects is aborted.
// node sse.js agentese --mode rpc --provider scripted --no-session

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import { pi } from "agentese";
import { spawn } from "agentese/stdio";

const client = await spawn(pi.Client, process.argv.slice(2));

async function* frames(message: string, signal: AbortSignal): AsyncGenerator<string> {
  try {
    for await (const event of await client.prompt({ message }, { signal, abortRun: true })) {
      yield `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
    }
  } catch (error) {
    yield `event: failed\ndata: ${JSON.stringify(String(error))}\n\n`;
  }
}

const server = createServer((request, response) => {
  const message = new URL(request.url ?? "/", "http://localhost").searchParams.get("message") ?? "";
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  pipeline(Readable.from(frames(message, gone.signal)), response).catch(() => undefined);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
