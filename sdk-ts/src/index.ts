export * from "./codec.js";
export * from "./error.js";
export * from "./framing.js";
export * from "./spec.js";
export * from "./generated/index.js";
