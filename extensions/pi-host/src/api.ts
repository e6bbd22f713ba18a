/** API object for an extension's factory. */

import { type EventBus } from "./event_bus.js";
import { type ExecOptions, type ExecResult, exec } from "./exec.js";
import type { CommandDefinition, Extension, FlagDefinition, Handler, ToolDefinition } from "./extension.js";
import type { AgentConnection } from "./connection.js";
import type { Mirror } from "./mirror.js";
import { unsupported } from "./unsupported.js";
import type { DeliverAs, Model, SendMessageAction, SendUserMessageAction, ThinkingLevel } from "./protocol.js";
import { textOf } from "./text.js";

/** State that all extensions of the process share. */
export interface SharedState {
  readonly connection: AgentConnection;
  readonly mirror: Mirror;
  readonly events: EventBus;
  /** `true` after the extension was registered with the agent. Before that, actions fail. */
  readonly ready: boolean;
  /** Sends the registrations of the extension to the agent again. */
  updateRegistration(extension: Extension): void;
}

type SendOptions = { triggerTurn?: boolean; deliverAs?: DeliverAs };

/** Creates the API object for the factory of `extension`. */
export function createApi(extension: Extension, shared: SharedState): Record<string, unknown> {
  return {
    ...registration(extension, shared),
    ...actions(extension, shared),
    ...getters(extension, shared),
    events: shared.events,
    exec: (command: string, args: string[] = [], options: ExecOptions = {}): Promise<ExecResult> =>
      exec(command, args, options.cwd ?? shared.mirror.agent.cwd, options),
    registerProvider: () => unsupported("pi.registerProvider()"),
    unregisterProvider: () => unsupported("pi.unregisterProvider()"),
  };
}

function registration(extension: Extension, shared: SharedState): Record<string, unknown> {
  return {
    on(event: string, handler: Handler): void {
      const handlers = extension.handlers.get(event);
      if (handlers === undefined) extension.handlers.set(event, [handler]);
      else handlers.push(handler);
      if (handlers === undefined) shared.updateRegistration(extension);
    },
    registerTool(tool: ToolDefinition): void {
      extension.tools.set(tool.name, tool);
      shared.updateRegistration(extension);
    },
    registerCommand(name: string, command: CommandDefinition): void {
      extension.commands.set(name, command);
      shared.updateRegistration(extension);
    },
    registerFlag(name: string, flag: FlagDefinition): void {
      extension.flags.set(name, flag);
      shared.updateRegistration(extension);
    },
    // Shortcuts and custom drawing need a terminal. As in pi's own RPC mode, these methods have no
    // effect.
    registerShortcut(): void {},
    registerMessageRenderer(): void {},
  };
}

function actions(extension: Extension, shared: SharedState): Record<string, unknown> {
  const { connection, mirror } = shared;
  const whenReady = <A extends unknown[], R>(name: string, action: (...args: A) => R) => {
    return (...args: A): R => {
      if (!shared.ready) throw new Error(`pi.${name}() cannot be called while extensions are being loaded`);
      return action(...args);
    };
  };
  return {
    sendMessage: whenReady("sendMessage", (message: SendMessageAction["message"], how?: SendOptions) => {
      const { customType, content, display, details } = message;
      connection.send({
        type: "send_message",
        extension: extension.path,
        message: { customType, content, display: display === true, ...(details === undefined ? {} : { details }) },
        ...(how?.triggerTurn === undefined ? {} : { triggerTurn: how.triggerTurn }),
        ...(how?.deliverAs === undefined ? {} : { deliverAs: how.deliverAs }),
      });
    }),
    sendUserMessage: whenReady("sendUserMessage", (content: SendUserMessageAction["content"], how?: SendOptions) => {
      connection.send({
        type: "send_user_message",
        extension: extension.path,
        content,
        ...(how?.deliverAs === undefined ? {} : { deliverAs: how.deliverAs }),
      });
    }),
    appendEntry: whenReady("appendEntry", (customType: string, data?: unknown) => {
      connection.send({
        type: "append_entry",
        extension: extension.path,
        customType: textOf(customType),
        ...(data === undefined ? {} : { data: data as never }),
      });
    }),
    setSessionName: whenReady("setSessionName", (name: string) => {
      connection.send({ type: "set_session_name", name: textOf(name) });
      // The agent also reports this change later, but a getter in the same turn must already return the
      // new name.
      mirror.change({ sessionName: textOf(name) });
    }),
    setLabel: whenReady("setLabel", (entryId: string, label: string | undefined) => {
      connection.send({ type: "set_label", entryId: textOf(entryId), label: label === undefined ? null : textOf(label) });
    }),
    setActiveTools: whenReady("setActiveTools", (tools: string[]) => {
      connection.send({ type: "set_active_tools", tools });
      const known = new Set((mirror.state.tools ?? []).map((tool) => tool.name));
      mirror.change({ activeTools: tools.filter((name) => known.has(name)) });
    }),
    setModel: whenReady("setModel", async (model: Model): Promise<boolean> => {
      const question = { type: "set_model", provider: textOf(model.provider), modelId: textOf(model.id) } as const;
      return (await connection.request(question).answer)?.found ?? false;
    }),
    setThinkingLevel: whenReady("setThinkingLevel", (level: ThinkingLevel) => {
      connection.send({ type: "set_thinking_level", level });
    }),
  };
}

function getters(extension: Extension, shared: SharedState): Record<string, unknown> {
  const { mirror } = shared;
  return {
    getFlag(name: string): boolean | string | undefined {
      const flag = extension.flags.get(name);
      if (flag === undefined) return undefined;
      return (mirror.state.flags?.[name] as boolean | string | undefined) ?? flag.default;
    },
    getSessionName: () => mirror.state.sessionName ?? undefined,
    getActiveTools: () => [...(mirror.state.activeTools ?? [])],
    getAllTools: () => [...(mirror.state.tools ?? [])],
    getCommands: () => [...(mirror.state.commands ?? [])],
    getThinkingLevel: () => mirror.state.thinkingLevel ?? "off",
  };
}
