/** Agents: a class per dialect with a method for every command, over any pair of web streams. */

export { Call, type DialogAnswer, type DialogParams, Emitter } from "./serve/call.js";
export { DEFAULT_OUTBOX_BYTES } from "./serve/outbox.js";
export { CommandError } from "./serve/command_error.js";
export { type ServeEnd, type ServeOptions, serve } from "./serve/serve.js";
export { type Answer, Service } from "./serve/service.js";
export type { ServeSpec, ServedCommand } from "./serve/spec.js";
export * from "./generated/serve/index.js";
