// Runs the page's code without a browser, with a socket in memory.

import { join } from "node:path";

import { build } from "esbuild";

import { REPOSITORY } from "./page.mjs";

const { outputFiles } = await build({
  stdin: {
    contents: `
      export { ServerConnection } from "./connection.js";
      export { Store } from "./store.js";
      export { DIALECTS, subagentsOf } from "./dialects/index.js";
    `,
    resolveDir: join(REPOSITORY, "cli/web/src"),
    loader: "ts",
  },
  bundle: true,
  format: "esm",
  write: false,
  alias: { agentese: join(REPOSITORY, "sdk-ts/src/index.ts"), "agentese/ui": join(REPOSITORY, "sdk-ts/src/ui.ts") },
});
const code = `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`;
export const { ServerConnection, Store, DIALECTS, subagentsOf } = await import(code);

/** Replacement for `WebSocket`. The test plays the server. */
export class Socket {
  static OPEN = 1;
  static made = [];
  readyState = 0;
  received = [];

  constructor() {
    Socket.made.push(this);
  }

  send(text) {
    this.received.push(JSON.parse(text));
  }

  deliver(frame) {
    this.onmessage({ data: JSON.stringify(frame) });
  }

  open(hello) {
    this.readyState = 1;
    this.deliver({ agentese: "hello", back: false, lost: false, revision: null, session: null, ended: null, readOnly: false, deny: [], begun: [], questions: [], ...hello });
  }

  close() {
    this.readyState = 3;
    this.onclose();
  }
}

/** Replaces the global `WebSocket`, and lets the test control the timers. */
export function installBrowser(t) {
  Object.assign(globalThis, { WebSocket: Socket, location: { href: "http://127.0.0.1:1/token/" }, requestAnimationFrame: () => 0 });
  Socket.made = [];
  t.mock.timers.enable({ apis: ["setTimeout"] });
}
