//! Events within a message while the model streams it.

use crate::dsl::protocol;
use crate::typed::{Count, Opt, Str};
use crate::types::content::ToolCall;
use crate::types::message::AssistantMessage;

protocol! {
    /// The reason for the end of a complete message.
    strings DoneReason(closed) {
        /// The model completed its answer.
        "stop",
        /// The answer reached the limit of its output.
        "length",
        /// The model calls tools.
        "toolUse",
    }

    /// The reason for the end of an incomplete message.
    strings ErrorReason(closed) {
        /// The answer was aborted.
        "aborted",
        /// The request failed.
        "error",
    }

    /// The generation of a message started. Declared by the document; agents send `message_start` instead.
    record StreamStart(type = "start") {
        /// The message so far.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "start"}
    }

    /// A text block started.
    record TextStart(type = "text_start") {
        /// Index of the block in the message's content.
        contentIndex: Count,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "text_start", "contentIndex": 0}
    }

    /// A piece of text.
    record TextDelta(type = "text_delta") {
        /// Index of the block in the message's content.
        contentIndex: Count,
        /// The new piece of text.
        delta: Str,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "text_delta", "contentIndex": 0, "delta": "Hello "}
    }

    /// A text block ended.
    record TextEnd(type = "text_end") {
        /// Index of the block in the message's content.
        contentIndex: Count,
        /// The complete text of the block.
        content: Str,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "text_end", "contentIndex": 0, "content": "Hello world"}
    }

    /// A thinking block started.
    record ThinkingStart(type = "thinking_start") {
        /// Index of the block in the message's content.
        contentIndex: Count,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "thinking_start", "contentIndex": 0}
    }

    /// A piece of reasoning.
    record ThinkingDelta(type = "thinking_delta") {
        /// Index of the block in the message's content.
        contentIndex: Count,
        /// The new piece of reasoning.
        delta: Str,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "thinking_delta", "contentIndex": 0, "delta": "User is "}
    }

    /// A thinking block ended.
    record ThinkingEnd(type = "thinking_end") {
        /// Index of the block in the message's content.
        contentIndex: Count,
        /// The complete reasoning of the block.
        content: Str,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "thinking_end", "contentIndex": 0, "content": "User is greeting me..."}
    }

    /// A tool call started.
    record ToolCallStart(type = "toolcall_start") {
        /// Index of the block in the message's content.
        contentIndex: Count,
        /// Id of the tool call.
        id: Str [since "pi@1.5"],
        /// Name of the tool.
        toolName: Str [since "pi@1.5"],
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {"type": "toolcall_start", "contentIndex": 1}
    }

    /// A piece of a tool call's arguments.
    record ToolCallDelta(type = "toolcall_delta") {
        /// Index of the block in the message's content.
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
        /// Index of the block in the message's content.
        contentIndex: Count,
        /// The complete tool call.
        toolCall: ToolCall,
        /// The message so far; absent in delta-only streams.
        partial: Opt<AssistantMessage> [until "pi@1.5"],
        ;
        example {
            "type": "toolcall_end", "contentIndex": 1,
            "toolCall": {"type": "toolCall", "id": "call_123", "name": "bash", "arguments": {"command": "ls"}}
        }
    }

    /// The message is complete. Declared by the document; agents send `message_end` instead.
    record StreamDone(type = "done") {
        /// Reason for the end of the message.
        reason: DoneReason,
        /// The complete message.
        message: Opt<AssistantMessage>,
        ;
        example {"type": "done", "reason": "stop"}
    }

    /// The message ended before it was complete. Declared by the document; agents send `message_end` instead.
    record StreamError(type = "error") {
        /// Reason for the end of the message.
        reason: ErrorReason,
        /// The incomplete message.
        error: Opt<AssistantMessage>,
        ;
        example {"type": "error", "reason": "aborted"}
    }

    /// A change to a streamed message.
    union AssistantMessageEvent(type, open) {
        StreamStart, TextStart, TextDelta, TextEnd, ThinkingStart, ThinkingDelta, ThinkingEnd,
        ToolCallStart, ToolCallDelta, ToolCallEnd, StreamDone, StreamError
    }
}
