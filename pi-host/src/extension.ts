/** An extension that is loaded, and what it brings. */

import type { JsonObject, OfferedExtension, OfferedTool } from "./protocol.js";
import { textOf } from "./text.js";

/** A handler of an event, a command, a tool: whatever the extension wrote. */
export type Handler = (...args: unknown[]) => unknown;

/** A tool as an extension registers it. */
export interface ToolDefinition {
  name: string;
  label?: string;
  description: string;
  promptSnippet?: string;
  promptGuidelines?: string[];
  parameters: JsonObject;
  execute: Handler;
}

/** A command as an extension registers it. */
export interface CommandDefinition {
  description?: string;
  handler: Handler;
}

/** A flag as an extension registers it. */
export interface FlagDefinition {
  description?: string;
  type: "boolean" | "string";
  default?: boolean | string;
}

/** An extension that is loaded, with what it has registered. */
export class Extension {
  readonly handlers = new Map<string, Handler[]>();
  readonly tools = new Map<string, ToolDefinition>();
  readonly commands = new Map<string, CommandDefinition>();
  readonly flags = new Map<string, FlagDefinition>();
  /** The end of what it was told without being waited for: such events are handled one after another. */
  told: Promise<void> | undefined;

  constructor(
    /** The file, as the agent named it. */
    readonly path: string,
  ) {}

  /** What it brings, for the agent. */
  offered(): OfferedExtension {
    return {
      path: this.path,
      events: [...this.handlers.keys()],
      commands: [...this.commands].map(([name, { description }]) => ({
        name,
        ...(description === undefined ? {} : { description: textOf(description) }),
      })),
      tools: [...this.tools.values()].map(offeredTool),
      flags: [...this.flags].map(([name, flag]) => ({
        name,
        kind: flag.type,
        ...(flag.description === undefined ? {} : { description: textOf(flag.description) }),
        ...(flag.default === undefined ? {} : { default: flag.default }),
      })),
    };
  }
}

function offeredTool(tool: ToolDefinition): OfferedTool {
  return {
    name: tool.name,
    description: textOf(tool.description),
    parameters: tool.parameters,
    ...(tool.label === undefined ? {} : { label: tool.label }),
    ...(tool.promptSnippet === undefined ? {} : { promptSnippet: tool.promptSnippet }),
    ...(tool.promptGuidelines === undefined ? {} : { promptGuidelines: tool.promptGuidelines }),
  };
}
