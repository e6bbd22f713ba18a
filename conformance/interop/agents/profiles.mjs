// Command line and files in the home directory for each agent.
import { fileURLToPath } from "node:url";

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const EXTENSION = path("extension.ts");

/** The two models of the agent. One server answers for both. */
const models = (url) => ({
  providers: {
    loopback: {
      baseUrl: url,
      apiKey: "not-a-key",
      api: "anthropic-messages",
      models: ["one", "two"].map((id) => ({
        id,
        name: id,
        reasoning: true,
        input: ["text", "image"],
        contextWindow: 200_000,
        maxTokens: 16_384,
        cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 },
      })),
    },
  },
});

/** omp's rule that interrupts an answer when the model writes a forbidden word. */
const RULE = `---
description: the word is not said
condition: forbidden
scope: text
---
Do not say that word.
`;

const settings = { compaction: { keepRecentTokens: 20 } };
const plain = ["--mode", "rpc", "--model", "loopback/one"];
const arguments_ = [...plain, "-e", EXTENSION];

export const PROFILES = {
  pi: {
    title: "pi",
    package: "@mariozechner/pi-coding-agent",
    dialect: "pi",
    revision: "0.55",
    extensions: true,
    command: [process.execPath, path("../node_modules/@mariozechner/pi-coding-agent/dist/cli.js"), ...arguments_, "--offline"],
    files: (url) => ({ ".pi/agent/models.json": models(url), ".pi/agent/settings.json": settings }),
  },
  omp: {
    title: "omp",
    package: "@oh-my-pi/pi-coding-agent",
    dialect: "omp",
    revision: "13.19",
    extensions: true,
    command: [path("../node_modules/@oven/bun-linux-x64/bin/bun"), path("../node_modules/@oh-my-pi/pi-coding-agent/src/cli.ts"), ...arguments_],
    files: (url) => ({ ".omp/agent/models.yml": models(url), ".omp/agent/config.yml": settings, ".omp/agent/rules/no-word.md": RULE }),
    // Frames of the agent that its declaration does not permit at this point.
    unknown: {
      developer: "the role of reminders in 13.19; in 12.7 they are messages of the user",
    },
  },
  agentese: {
    title: "agentese",
    dialect: "pi",
    revision: "0.55",
    extensions: true,
    command: [process.env.AGENTESE ?? "agentese", ...arguments_],
    files: (url) => ({ ".pi/agent/models.json": models(url), ".pi/agent/settings.json": settings }),
  },
};
