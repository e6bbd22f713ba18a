/** Packages for extensions of pi, as far as this host supports them. */

import * as typebox from "@sinclair/typebox";
import * as typeboxCompiler from "@sinclair/typebox/compiler";
import * as typeboxErrors from "@sinclair/typebox/errors";
import * as typeboxValue from "@sinclair/typebox/value";

import type { Mirror } from "../mirror.js";
import { moduleWith } from "../unsupported.js";
import { piAi } from "./pi_ai.js";
import { piCodingAgent } from "./pi_coding_agent.js";
import { piTui } from "./pi_tui.js";

/** Returns the modules by their import names. */
export function modules(mirror: Mirror): Record<string, unknown> {
  return {
    "@mariozechner/pi-coding-agent": moduleWith("@mariozechner/pi-coding-agent", piCodingAgent(mirror)),
    "@mariozechner/pi-ai": moduleWith("@mariozechner/pi-ai", piAi(mirror)),
    "@mariozechner/pi-tui": moduleWith("@mariozechner/pi-tui", piTui()),
    "@mariozechner/pi-agent-core": moduleWith("@mariozechner/pi-agent-core", {}),
    "@sinclair/typebox": typebox,
    "@sinclair/typebox/compiler": typeboxCompiler,
    "@sinclair/typebox/errors": typeboxErrors,
    "@sinclair/typebox/value": typeboxValue,
  };
}
