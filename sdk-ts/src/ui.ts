/**
 * View: a conversation for front ends, folded from the frames of any dialect in both directions.
 *
 * This module depends neither on Node, nor on a client, nor on a component library; see
 * docs/front-ends.md.
 */

export { readArguments, readPartial } from "./ui/arguments.js";
export { emptyConversation } from "./ui/conversation.js";
export type {
  Block,
  Conversation,
  Message,
  Model,
  Notice,
  OpenQuestion,
  PendingInput,
  Run,
  Shell,
  SlashCommand,
  Task,
  ToolBlock,
  Usage,
  Widget,
} from "./ui/conversation.js";
export { type Direction, fold } from "./ui/fold.js";
export { View, type ViewOptions } from "./ui/view.js";
