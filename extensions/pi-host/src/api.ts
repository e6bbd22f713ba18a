/** API object for an extension's factory. */

import { type EventBus } from "./event_bus.js";
import { type ExecOptions, type ExecResult, exec } from "./exec.js";
import type { CommandDefinition, Extension, FlagDefinition, Handler, ToolDefinition } from "./extension.js";
import type { Link } from "./link.js";
import type { Mirror } from "./mirror.js";
import { unsupported } from "./unsupported.js";
import type { DeliverAs, DoSendMessage, DoSendUserMessage, Model, ThinkingLevel } from "./protocol.js";
import { textOf } from "./text.js";

/** State that all extensions of the process share. */
export interface Shared {
  readonly link: Link;
  readonly mirror: Mirror;
  readonly events: EventBus;
  /** `true` after the registration of the extension at the agent; before that, actions fail. */
  readonly ready: boolean;
  /** Registers the extension at the agent again. */
  registered(extension: Extension): void;
}

type Delivery = { triggerTurn?: boolean; deliverAs?: DeliverAs };

/** Creates the API object for the factory of `extension`. */
export function createApi(extension: Extension, shared: Shared): Record<string, unknown> {
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

function registration(extension: Extension, shared: Shared): Record<string, unknown> {
  return {
    on(event: string, handler: Handler): void {
      const handlers = extension.handlers.get(event);
      if (handlers === undefined) extension.handlers.set(event, [handler]);
      else handlers.push(handler);
      if (handlers === undefined) shared.registered(extension);
    },
    registerTool(tool: ToolDefinition): void {
      extension.tools.set(tool.name, tool);
      shared.registered(extension);
    },
    registerCommand(name: string, command: CommandDefinition): void {
      extension.commands.set(name, command);
      shared.registered(extension);
    },
    registerFlag(name: string, flag: FlagDefinition): void {
      extension.flags.set(name, flag);
      shared.registered(extension);
    },
    // Without a terminal there are no keys and no drawing. As in pi's own RPC mode, these methods have no
    // effect.
    registerShortcut(): void {},
    registerMessageRenderer(): void {},
  };
}

function actions(extension: Extension, shared: Shared): Record<string, unknown> {
  const { link, mirror } = shared;
  const act = <A extends unknown[], R>(name: string, action: (...args: A) => R) => {
    return (...args: A): R => {
      if (!shared.ready) throw new Error(`pi.${name}() cannot be called while extensions are being loaded`);
      return action(...args);
    };
  };
  return {
    sendMessage: act("sendMessage", (message: DoSendMessage["message"], how?: Delivery) => {
      const { customType, content, display, details } = message;
      link.tell({
        type: "send_message",
        extension: extension.path,
        message: { customType, content, display: display === true, ...(details === undefined ? {} : { details }) },
        ...(how?.triggerTurn === undefined ? {} : { triggerTurn: how.triggerTurn }),
        ...(how?.deliverAs === undefined ? {} : { deliverAs: how.deliverAs }),
      });
    }),
    sendUserMessage: act("sendUserMessage", (content: DoSendUserMessage["content"], how?: Delivery) => {
      link.tell({
        type: "send_user_message",
        extension: extension.path,
        content,
        ...(how?.deliverAs === undefined ? {} : { deliverAs: how.deliverAs }),
      });
    }),
    appendEntry: act("appendEntry", (customType: string, data?: unknown) => {
      link.tell({
        type: "append_entry",
        extension: extension.path,
        customType: textOf(customType),
        ...(data === undefined ? {} : { data: data as never }),
      });
    }),
    setSessionName: act("setSessionName", (name: string) => {
      link.tell({ type: "set_session_name", name: textOf(name) });
      // The agent sends this change too, but a getter in the same turn must already see it.
      mirror.change({ sessionName: textOf(name) });
    }),
    setLabel: act("setLabel", (entryId: string, label: string | undefined) => {
      link.tell({ type: "set_label", entryId: textOf(entryId), label: label === undefined ? null : textOf(label) });
    }),
    setActiveTools: act("setActiveTools", (tools: string[]) => {
      link.tell({ type: "set_active_tools", tools });
      const known = new Set((mirror.state.tools ?? []).map((tool) => tool.name));
      mirror.change({ activeTools: tools.filter((name) => known.has(name)) });
    }),
    setModel: act("setModel", async (model: Model): Promise<boolean> => {
      const question = { type: "set_model", provider: textOf(model.provider), modelId: textOf(model.id) } as const;
      return (await link.ask(question).answer)?.found ?? false;
    }),
    setThinkingLevel: act("setThinkingLevel", (level: ThinkingLevel) => {
      link.tell({ type: "set_thinking_level", level });
    }),
  };
}

function getters(extension: Extension, shared: Shared): Record<string, unknown> {
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
