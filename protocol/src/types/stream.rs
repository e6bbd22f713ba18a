//! What happens inside a message while the model streams it.

use crate::dsl::protocol;
use crate::typed::{Count, Opt, Str};
use crate::types::content::ToolCall;
use crate::types::message::AssistantMessage;

protocol! {
    /// Why a finished message is finished.
    strings DoneReason(closed) {
        /// The model was done.
        "stop",
        /// The limit of the output was reached.
        "length",
        /// The model wants tools to run.
        "toolUse",
    }

    /// Why a message broke off.
    strings ErrorReason(closed) {
        /// Somebody stopped it.
        "aborted",
        /// The request failed.
        "error",
    }

    /// Generation of the message started. Declared by the document; agents announce it with
    /// `message_start` instead.
    record StreamStart(type = "start") {
        /// The message so far.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "start"}
    }

    /// A text block started.
    record TextStart(type = "text_start") {
        /// The block's index in the message's content.
        contentIndex: Count,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "text_start", "contentIndex": 0}
    }

    /// A piece of text.
    record TextDelta(type = "text_delta") {
        /// The block's index in the message's content.
        contentIndex: Count,
        /// The new piece.
        delta: Str,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "text_delta", "contentIndex": 0, "delta": "Hello "}
    }

    /// A text block ended.
    record TextEnd(type = "text_end") {
        /// The block's index in the message's content.
        contentIndex: Count,
        /// The whole text of the block.
        content: Str,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "text_end", "contentIndex": 0, "content": "Hello world"}
    }

    /// A thinking block started.
    record ThinkingStart(type = "thinking_start") {
        /// The block's index in the message's content.
        contentIndex: Count,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "thinking_start", "contentIndex": 0}
    }

    /// A piece of reasoning.
    record ThinkingDelta(type = "thinking_delta") {
        /// The block's index in the message's content.
        contentIndex: Count,
        /// The new piece.
        delta: Str,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "thinking_delta", "contentIndex": 0, "delta": "User is "}
    }

    /// A thinking block ended.
    record ThinkingEnd(type = "thinking_end") {
        /// The block's index in the message's content.
        contentIndex: Count,
        /// The whole reasoning of the block.
        content: Str,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "thinking_end", "contentIndex": 0, "content": "User is greeting me..."}
    }

    /// A tool call started.
    record ToolCallStart(type = "toolcall_start") {
        /// The block's index in the message's content.
        contentIndex: Count,
        /// The call's id.
        id: Str [since "pi@1.5"],
        /// The tool's name.
        toolName: Str [since "pi@1.5"],
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "toolcall_start", "contentIndex": 1}
    }

    /// A piece of a tool call's arguments.
    record ToolCallDelta(type = "toolcall_delta") {
        /// The block's index in the message's content.
        contentIndex: Count,
        /// The new piece of the arguments' JSON text.
        delta: Str,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "toolcall_delta", "contentIndex": 1, "delta": "{\"comm"}
    }

    /// A tool call is complete.
    record ToolCallEnd(type = "toolcall_end") {
        /// The block's index in the message's content.
        contentIndex: Count,
        /// The whole call.
        toolCall: ToolCall,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {
            "type": "toolcall_end", "contentIndex": 1,
            "toolCall": {"type": "toolCall", "id": "call_123", "name": "bash", "arguments": {"command": "ls"}}
        }
    }

    /// The message is complete. Declared by the document; agents announce it with `message_end`
    /// instead.
    record StreamDone(type = "done") {
        /// Why it ended.
        reason: DoneReason,
        /// The whole message.
        message: Opt<AssistantMessage>,
        ;
        example {"type": "done", "reason": "stop"}
    }

    /// The message broke off. Declared by the document; agents announce it with `message_end`
    /// instead.
    record StreamError(type = "error") {
        /// Why it broke off.
        reason: ErrorReason,
        /// The message as far as it came.
        error: Opt<AssistantMessage>,
        ;
        example {"type": "error", "reason": "aborted"}
    }

    /// A change to a message.
    union AssistantMessageEvent(type, open) {
        StreamStart, TextStart, TextDelta, TextEnd, ThinkingStart, ThinkingDelta, ThinkingEnd,
        ToolCallStart, ToolCallDelta, ToolCallEnd, StreamDone, StreamError
    }
}
