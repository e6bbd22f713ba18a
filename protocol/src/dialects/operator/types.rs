//! What the frames of Operator are made of.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Map, Num, Object, Opt, OptNull, Str};

protocol! {
    /// Text of a message.
    record OperatorText(type = "text") {
        /// The text; in `message_update` the new piece of it.
        content: Str,
        ;
        example {"type": "text", "content": "Hello"}
    }

    /// Reasoning of the model.
    record OperatorThinking(type = "thinking") {
        /// The reasoning; in `message_update` the new piece of it.
        content: Str,
        /// An opaque signature from the provider.
        signature: OptNull<Str>,
        ;
        example {"type": "thinking", "content": "Let me see."}
    }

    /// A tool call of the model.
    record OperatorToolCall(type = "tool_call") {
        /// The call's id.
        id: Str,
        /// The tool's name.
        name: Str,
        /// What kind of tool it is.
        kind: OptNull<Str>,
        /// The arguments.
        args: Object,
        /// Facts of the provider.
        metadata: OptNull<Object>,
        ;
        example {"type": "tool_call", "id": "call_1", "name": "read", "args": {"path": "a.txt"}}
    }

    /// The result of a tool call.
    record OperatorToolResult(type = "tool_result") {
        /// The id of the call.
        id: Str,
        /// What the tool says.
        content: Str,
        /// Whether the tool failed.
        is_error: Bool,
        /// Facts of the tool.
        metadata: OptNull<Object>,
        /// Whether the run stops here.
        terminate: Opt<Bool>,
        /// What to say when it stops.
        terminate_message: OptNull<Str>,
        ;
        example {"type": "tool_result", "id": "call_1", "content": "hello", "is_error": false}
    }

    /// A part of a message.
    union OperatorContent(type, open) {
        OperatorText, OperatorThinking, OperatorToolCall, OperatorToolResult, OperatorImages, OperatorAudio
    }

    /// Pictures that belong to a message.
    record OperatorImages(type = "image") [since "operator@live"] {
        /// Them, as the agent keeps them.
        images: List<Any>,
        ;
        example {"type": "image", "images": []}
    }

    /// Sounds that belong to a message.
    record OperatorAudio(type = "audio") [since "operator@live"] {
        /// Them, as the agent keeps them.
        audio: List<Any>,
        ;
        example {"type": "audio", "audio": []}
    }

    /// The role of the speaker.
    strings OperatorRole(open) {
        /// The system prompt.
        "system",
        /// The user.
        "user",
        /// The model.
        "assistant",
        /// Tools.
        "tool",
        /// An extension.
        "custom" [since "operator@live"],
        /// The agent, who sums up a branch that was left.
        "branch_summary" [since "operator@live"],
        /// The agent, who sums up what was compacted.
        "compaction_summary" [since "operator@live"],
    }

    /// Tokens used by an answer.
    record OperatorUsage {
        /// Input tokens.
        input_tokens: Opt<Count>,
        /// Output tokens.
        output_tokens: Opt<Count>,
        /// Tokens read from the provider's cache.
        cache_read_tokens: Opt<Count>,
        /// Tokens written to the provider's cache.
        cache_write_tokens: Opt<Count>,
        /// The cost in US dollars, by kind of token.
        cost: OptNull<Map<Num>>,
    }

    /// A message of the conversation.
    record OperatorMessage {
        /// Its parts.
        contents: List<OperatorContent>,
        /// Its id.
        id: Opt<Str>,
        /// When, in seconds since the epoch.
        timestamp: Opt<Num>,
        /// The role of the speaker.
        role: OperatorRole,
        /// Tokens, with answers of the model.
        usage: OptNull<OperatorUsage>,
        /// Why the model stopped.
        stop_reason: OptNull<Str>,
        /// The error message.
        error: OptNull<Any>,
        ;
        example {
            "contents": [{"type": "text", "content": "Hello"}], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"
        }
    }

    /// What the agent is doing.
    strings OperatorPhase(open) {
        /// Nothing.
        "idle",
        /// A turn.
        "turn",
        /// Compaction.
        "compaction",
    }

    /// The agent's current state.
    record OperatorState {
        /// What it is doing.
        phase: OperatorPhase,
        /// Whether a turn is going on.
        is_streaming: Opt<Bool>,
        /// The session's file.
        session_file: OptNull<Str>,
        /// The session's id.
        session_id: OptNull<Str>,
        /// The session's name.
        session_name: OptNull<Str>,
        /// Tokens in the context.
        context_tokens: Opt<Count>,
        /// The context window in tokens.
        context_window: Opt<Count>,
        /// The number of messages in the conversation.
        message_count: Opt<Count>,
    }
}
