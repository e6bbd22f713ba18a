//! Events about a run.

use super::messages::{AguiContent, AguiInterrupt, AguiMessage};
use crate::dsl::protocol;
use crate::typed::{Any, Count, List, Opt, Str};

protocol! {
    /// The run completed its work.
    record AguiSuccess(type = "success") {
        ;
        example {"type": "success"}
    }

    /// The run waits for answers; a later run with the answers continues it.
    record AguiInterrupted(type = "interrupt") {
        /// Questions of the run.
        interrupts: List<AguiInterrupt>,
        ;
        example {"type": "interrupt", "interrupts": [{"id": "q1", "reason": "confirm", "message": "Delete it?"}]}
    }

    /// The run was aborted.
    record AguiCancelled(type = "cancelled") {
        ;
        example {"type": "cancelled"}
    }

    /// The reason for the end of a run.
    union AguiOutcome(type, open) { AguiSuccess, AguiInterrupted, AguiCancelled }

    /// The token counts of a run, for one model.
    record AguiTokenUsage {
        /// Name of the model's provider.
        provider: Opt<Str>,
        /// Name of the model.
        model: Opt<Str>,
        /// Number of all input tokens, including cached ones.
        inputTokens: Opt<Count>,
        /// Number of all output tokens.
        outputTokens: Opt<Count>,
        /// Number of input and output tokens.
        totalTokens: Opt<Count>,
        /// Number of input tokens read from a cache.
        cachedInputTokens: Opt<Count>,
        /// Number of input tokens written to a cache.
        cacheWriteInputTokens: Opt<Count>,
        ;
        example {"model": "claude-sonnet-4-20250514", "inputTokens": 100, "outputTokens": 20, "totalTokens": 120}
    }

    /// A run starts.
    event RUN_STARTED(AguiRunStarted {
        /// Id of the conversation.
        threadId: Str,
        /// Id of the run.
        runId: Str,
        /// Id of the run that this run continues.
        parentRunId: Opt<Str>,
    }) {
        run: Begins;
        example {"type": "RUN_STARTED", "threadId": "t1", "runId": "r1"};
    }

    /// A run ends without a failure.
    event RUN_FINISHED(AguiRunFinished {
        /// Id of the conversation.
        threadId: Str,
        /// Id of the run.
        runId: Str,
        /// Reason for the end of the run.
        outcome: Opt<AguiOutcome>,
        /// Token counts of the run, by model.
        usage: Opt<List<AguiTokenUsage>>,
    }) {
        run: Ends;
        example {"type": "RUN_FINISHED", "threadId": "t1", "runId": "r1", "outcome": {"type": "success"}};
    }

    /// A run fails.
    event RUN_ERROR(AguiRunError {
        /// Error message of the run.
        message: Str,
        /// Kind of the failure.
        code: Opt<Str>,
        /// Token counts of the run, by model.
        usage: Opt<List<AguiTokenUsage>>,
    }) {
        run: Ends;
        example {"type": "RUN_ERROR", "message": "the model is overloaded"};
    }

    /// The model starts or continues a message.
    event TEXT_MESSAGE_START(AguiTextMessageStart {
        /// Id of the message.
        messageId: Str,
        /// Role of the author.
        role: Opt<Str>,
    }) {
        example {"type": "TEXT_MESSAGE_START", "messageId": "m3", "role": "assistant"};
    }

    /// A piece of the model's message.
    event TEXT_MESSAGE_CONTENT(AguiTextMessageContent {
        /// Id of the message.
        messageId: Str,
        /// The new piece of text.
        delta: Str,
    }) {
        example {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m3", "delta": "There are"};
    }

    /// The model ends or interrupts a message.
    event TEXT_MESSAGE_END(AguiTextMessageEnd {
        /// Id of the message.
        messageId: Str,
    }) {
        example {"type": "TEXT_MESSAGE_END", "messageId": "m3"};
    }

    /// The model starts to reason.
    event REASONING_START(AguiReasoningStart {
        /// Id of the reasoning.
        messageId: Str,
    }) {
        example {"type": "REASONING_START", "messageId": "m5"};
    }

    /// Readable reasoning starts.
    event REASONING_MESSAGE_START(AguiReasoningMessageStart {
        /// Id of the reasoning.
        messageId: Str,
        /// Role of the author: `reasoning`.
        role: Str,
    }) {
        example {"type": "REASONING_MESSAGE_START", "messageId": "m5", "role": "reasoning"};
    }

    /// A piece of readable reasoning.
    event REASONING_MESSAGE_CONTENT(AguiReasoningMessageContent {
        /// Id of the reasoning.
        messageId: Str,
        /// The new piece of reasoning.
        delta: Str,
    }) {
        example {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m5", "delta": "The folder"};
    }

    /// Readable reasoning ends.
    event REASONING_MESSAGE_END(AguiReasoningMessageEnd {
        /// Id of the reasoning.
        messageId: Str,
    }) {
        example {"type": "REASONING_MESSAGE_END", "messageId": "m5"};
    }

    /// The model ends or interrupts its reasoning.
    event REASONING_END(AguiReasoningEnd {
        /// Id of the reasoning.
        messageId: Str,
    }) {
        example {"type": "REASONING_END", "messageId": "m5"};
    }

    /// The model starts a tool call.
    event TOOL_CALL_START(AguiToolCallStart {
        /// Id of the tool call.
        toolCallId: Str,
        /// Name of the tool.
        toolCallName: Str,
        /// Id of the message that contains the call.
        parentMessageId: Opt<Str>,
    }) {
        example {"type": "TOOL_CALL_START", "toolCallId": "call_1", "toolCallName": "bash", "parentMessageId": "m3"};
    }

    /// A piece of a call's arguments.
    event TOOL_CALL_ARGS(AguiToolCallArgs {
        /// Id of the tool call.
        toolCallId: Str,
        /// Piece of the arguments' JSON text.
        delta: Str,
    }) {
        example {"type": "TOOL_CALL_ARGS", "toolCallId": "call_1", "delta": "{\"command\":"};
    }

    /// The arguments of a tool call are complete.
    event TOOL_CALL_END(AguiToolCallEnd {
        /// Id of the tool call.
        toolCallId: Str,
    }) {
        example {"type": "TOOL_CALL_END", "toolCallId": "call_1"};
    }

    /// A tool ends.
    event TOOL_CALL_RESULT(AguiToolCallResult {
        /// Id of the message with the result.
        messageId: Str,
        /// Id of the tool call.
        toolCallId: Str,
        /// Result of the tool.
        content: AguiContent,
        /// Role of the author: `tool`.
        role: Opt<Str>,
    }) {
        example {"type": "TOOL_CALL_RESULT", "messageId": "m4", "toolCallId": "call_1", "content": "a.txt\n", "role": "tool"};
    }

    /// A snapshot of the complete conversation.
    event MESSAGES_SNAPSHOT(AguiMessagesSnapshot {
        /// All messages of the conversation.
        messages: List<AguiMessage>,
    }) {
        example {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m2", "role": "user", "content": "Hello"}]};
    }

    /// A piece of information for which AG-UI has no event.
    event CUSTOM(AguiCustom {
        /// Name of the information.
        name: Str,
        /// Data of the information.
        value: Any,
    }) {
        example {"type": "CUSTOM", "name": "agentese.notice", "value": {"type": "notice"}};
    }
}
