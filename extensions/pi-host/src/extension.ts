/** Loaded extension with its registrations. */

import type { JsonObject, OfferedExtension, OfferedTool } from "./protocol.js";
import { textOf } from "./text.js";

/** Handler of an event, a command or a tool, written by the extension. */
export type Handler = (...args: unknown[]) => unknown;

/** Tool that an extension has registered. */
export interface ToolDefinition {
  name: string;
  label?: string;
  description: string;
  promptSnippet?: string;
  promptGuidelines?: string[];
  parameters: JsonObject;
  execute: Handler;
}

/** Command that an extension has registered. */
export interface CommandDefinition {
  description?: string;
  handler: Handler;
}

/** Flag that an extension has registered. */
export interface FlagDefinition {
  description?: string;
  type: "boolean" | "string";
  default?: boolean | string;
}

/** Loaded extension with its registrations. */
export class Extension {
  readonly handlers = new Map<string, Handler[]>();
  readonly tools = new Map<string, ToolDefinition>();
  readonly commands = new Map<string, CommandDefinition>();
  readonly flags = new Map<string, FlagDefinition>();
  /**
   * Resolves when the last event that needs no answer was handled. Such events are handled one
   * after another.
   */
  pendingEvents: Promise<void> | undefined;

  constructor(
    /** File of the extension, with the path that the agent sent. */
    readonly path: string,
  ) {}

  /** Returns the registrations in the form of the protocol. */
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
