/** Supported part of `@mariozechner/pi-coding-agent`, which needs neither a terminal nor pi itself. */

import { convertToLlm, serializeConversation } from "../conversation.js";
import { createEventBus } from "../event_bus.js";
import { parseFrontmatter, stripFrontmatter } from "../front_matter.js";
import type { Mirror } from "../mirror.js";
import { plainStyles, Theme } from "../theme.js";
import {
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_LINES,
  formatSize,
  truncateHead,
  truncateLine,
  truncateTail,
} from "../truncate.js";

/** Version of pi whose interface this module provides. */
export const PI_VERSION = "0.55.4";

/** Names of pi's built-in tools, as they occur in names of type guards. */
const BUILT_IN = ["Bash", "Read", "Edit", "Write", "Grep", "Find", "Ls"];

/** Returns the supported members. */
export function piCodingAgent(mirror: Mirror): Record<string, unknown> {
  return {
    VERSION: PI_VERSION,
    getAgentDir: () => mirror.agent.agentDir,
    CURRENT_SESSION_VERSION: 3,
    createEventBus,
    convertToLlm,
    serializeConversation,
    parseFrontmatter,
    stripFrontmatter,
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_LINES,
    formatSize,
    truncateHead,
    truncateLine,
    truncateTail,
    Theme,
    getMarkdownTheme: plainStyles,
    getSelectListTheme: plainStyles,
    getSettingsListTheme: plainStyles,
    ...guards(),
  };
}

/** Returns type guards such as `isToolCallEventType("bash", event)` and `isBashToolResult(event)`. */
function guards(): Record<string, unknown> {
  const result = (tool: string): [string, unknown] => [
    `is${tool}ToolResult`,
    (event: { toolName?: unknown }) => event.toolName === tool.toLowerCase(),
  ];
  return {
    isToolCallEventType: (name: string, event: { toolName?: unknown }) => event.toolName === name,
    ...Object.fromEntries(BUILT_IN.map(result)),
  };
}
