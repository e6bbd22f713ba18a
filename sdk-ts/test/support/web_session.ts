/**
 * Runs a session over a WebSocket whose connection is lost midway: `web_session.js AGENTESE`. Needs a global
 * WebSocket.
 */

import { spawn } from "node:child_process";

import { pi } from "../../src/index.js";
import { View } from "../../src/ui.js";
import { type Socket, connectWebSocket } from "../../src/websocket.js";

const agentese = process.argv[2] ?? "";
const agent = [agentese, "--mode", "rpc", "--provider", "scripted", "--no-session"];
const server = spawn(agentese, ["web", "--no-open", "--port", "0", "--", ...agent], { stdio: ["ignore", "pipe", "inherit"] });
const address = await new Promise<string>((resolve) => {
  let told = "";
  server.stdout.setEncoding("utf8").on("data", (text: string) => {
    told += text;
    const found = /http:\/\/127\.0\.0\.1:\d+\/[^\s/]+(?=\/)/.exec(told);
    if (found !== null) resolve(found[0]);
  });
});

const sockets: Socket[] = [];
const Platform = (globalThis as unknown as { WebSocket: new (address: string) => Socket }).WebSocket;
class WatchedSocket extends (Platform as new (address: string) => Socket) {
  constructor(address: string) {
    super(address);
    sockets.push(this);
  }
}

const view = View.open("pi");
const transport = await connectWebSocket(`${address.replace("http", "ws")}/ws`, { WebSocket: WatchedSocket });
const client = new pi.Client(transport, { tap: { frame: (direction, line) => view[direction](line) } });
let events = 0;
for await (const event of await client.prompt({ message: "What is in this directory?" })) {
  events += 1;
  if (event.type === "message_update" && sockets.length === 1) sockets[0]?.close();
}
const { messages } = await client.getMessages();
const { run, messages: shown } = view.conversation;
console.log(JSON.stringify({ sockets: sockets.length, events, run: run.state, told: messages.length, shown: shown.map(({ role, state }) => [role, state]) }));
await client.close();
server.kill();
