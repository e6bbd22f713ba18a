//! Types of Operator's frames.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Map, Num, Object, Opt, OptNull, Str};

protocol! {
    /// A text in a message.
    record OperatorText(type = "text") {
        /// The text; in `message_update` its new piece.
        content: Str,
        ;
        example {"type": "text", "content": "Hello"}
    }

    /// Reasoning of the model.
    record OperatorThinking(type = "thinking") {
        /// The reasoning; in `message_update` its new piece.
        content: Str,
        /// An opaque signature from the provider.
        signature: OptNull<Str>,
        ;
        example {"type": "thinking", "content": "Let me see."}
    }

    /// A tool call of the model.
    record OperatorToolCall(type = "tool_call") {
        /// Id of the tool call.
        id: Str,
        /// Name of the tool.
        name: Str,
        /// Kind of the tool.
        kind: OptNull<Str>,
        /// Arguments of the tool call.
        args: Object,
        /// Additional data of the provider.
        metadata: OptNull<Object>,
        ;
        example {"type": "tool_call", "id": "call_1", "name": "read", "args": {"path": "a.txt"}}
    }

    /// The result of a tool call.
    record OperatorToolResult(type = "tool_result") {
        /// Id of the tool call.
        id: Str,
        /// Text of the result.
        content: Str,
        /// `true` if the tool failed.
        is_error: Bool,
        /// Additional data of the tool.
        metadata: OptNull<Object>,
        /// `true` if the run stops here.
        terminate: Opt<Bool>,
        /// Message for the user when the run stops.
        terminate_message: OptNull<Str>,
        ;
        example {"type": "tool_result", "id": "call_1", "content": "hello", "is_error": false}
    }

    /// A part of a message.
    union OperatorContent(type, open) {
        OperatorText, OperatorThinking, OperatorToolCall, OperatorToolResult, OperatorImages, OperatorAudio
    }

    /// The images of a message.
    record OperatorImages(type = "image") [since "operator@live"] {
        /// The images, as stored by the agent.
        images: List<Any>,
        ;
        example {"type": "image", "images": []}
    }

    /// The audio of a message.
    record OperatorAudio(type = "audio") [since "operator@live"] {
        /// The audio data, as stored by the agent.
        audio: List<Any>,
        ;
        example {"type": "audio", "audio": []}
    }

    /// The role of a message's author.
    strings OperatorRole(open) {
        /// The message is the system prompt.
        "system",
        /// The user is the author.
        "user",
        /// The model is the author.
        "assistant",
        /// A tool is the author.
        "tool",
        /// An extension is the author.
        "custom" [since "operator@live"],
        /// The agent is the author; the message is the summary of a branch that was left.
        "branch_summary" [since "operator@live"],
        /// The agent is the author; the message is the summary of a compaction.
        "compaction_summary" [since "operator@live"],
    }

    /// The token counts of an answer.
    record OperatorUsage {
        /// Number of input tokens.
        input_tokens: Opt<Count>,
        /// Number of output tokens.
        output_tokens: Opt<Count>,
        /// Number of tokens read from the provider's cache.
        cache_read_tokens: Opt<Count>,
        /// Number of tokens written to the provider's cache.
        cache_write_tokens: Opt<Count>,
        /// Cost in US dollars, by kind of token.
        cost: OptNull<Map<Num>>,
    }

    /// A message of the conversation.
    record OperatorMessage {
        /// Parts of the message.
        contents: List<OperatorContent>,
        /// Id of the message.
        id: Opt<Str>,
        /// Time of the message in seconds since the epoch.
        timestamp: Opt<Num>,
        /// Role of the author.
        role: OperatorRole,
        /// Token counts, present for answers of the model.
        usage: OptNull<OperatorUsage>,
        /// Stop reason of the model.
        stop_reason: OptNull<Str>,
        /// Error of the request to the model.
        error: OptNull<Any>,
        ;
        example {
            "contents": [{"type": "text", "content": "Hello"}], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"
        }
    }

    /// The activity of the agent.
    strings OperatorPhase(open) {
        /// The agent is idle.
        "idle",
        /// A turn is in progress.
        "turn",
        /// A compaction is in progress.
        "compaction",
    }

    /// The current state of the agent.
    record OperatorState {
        /// Activity of the agent.
        phase: OperatorPhase,
        /// `true` during a turn.
        is_streaming: Opt<Bool>,
        /// Path of the session file.
        session_file: OptNull<Str>,
        /// Id of the session.
        session_id: OptNull<Str>,
        /// Name of the session.
        session_name: OptNull<Str>,
        /// Number of tokens in the context.
        context_tokens: Opt<Count>,
        /// Size of the context window in tokens.
        context_window: Opt<Count>,
        /// Number of messages in the conversation.
        message_count: Opt<Count>,
    }
}
