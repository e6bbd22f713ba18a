//! What a client is told of a run.

use super::messages::{AguiContent, AguiInterrupt, AguiMessage};
use crate::dsl::protocol;
use crate::typed::{Any, Count, List, Opt, Str};

protocol! {
    /// The run has done what it was asked for.
    record AguiSuccess(type = "success") {
        ;
        example {"type": "success"}
    }

    /// The run waits for answers; a run that has them goes on with it.
    record AguiInterrupted(type = "interrupt") {
        /// What is asked.
        interrupts: List<AguiInterrupt>,
        ;
        example {"type": "interrupt", "interrupts": [{"id": "q1", "reason": "confirm", "message": "Delete it?"}]}
    }

    /// Somebody stopped the run.
    record AguiCancelled(type = "cancelled") {
        ;
        example {"type": "cancelled"}
    }

    /// Why a run ended.
    union AguiOutcome(type, open) { AguiSuccess, AguiInterrupted, AguiCancelled }

    /// The tokens of a run that went to one model.
    record AguiTokenUsage {
        /// The model's provider.
        provider: Opt<Str>,
        /// The model.
        model: Opt<Str>,
        /// All tokens that went in, those of caches among them.
        inputTokens: Opt<Count>,
        /// All tokens that came out.
        outputTokens: Opt<Count>,
        /// Both together.
        totalTokens: Opt<Count>,
        /// Of those that went in, those that a cache had.
        cachedInputTokens: Opt<Count>,
        /// Of those that went in, those that a cache took.
        cacheWriteInputTokens: Opt<Count>,
        ;
        example {"model": "claude-sonnet-4-20250514", "inputTokens": 100, "outputTokens": 20, "totalTokens": 120}
    }

    /// A run begins.
    event RUN_STARTED(AguiRunStarted {
        /// The conversation.
        threadId: Str,
        /// The run.
        runId: Str,
        /// The run that it goes on from.
        parentRunId: Opt<Str>,
    }) {
        run: Begins;
        example {"type": "RUN_STARTED", "threadId": "t1", "runId": "r1"};
    }

    /// A run is over and has not failed.
    event RUN_FINISHED(AguiRunFinished {
        /// The conversation.
        threadId: Str,
        /// The run.
        runId: Str,
        /// Why it ended.
        outcome: Opt<AguiOutcome>,
        /// What it has used, by model.
        usage: Opt<List<AguiTokenUsage>>,
    }) {
        run: Ends;
        example {"type": "RUN_FINISHED", "threadId": "t1", "runId": "r1", "outcome": {"type": "success"}};
    }

    /// A run has failed.
    event RUN_ERROR(AguiRunError {
        /// Why.
        message: Str,
        /// What kind of failure it is.
        code: Opt<Str>,
        /// What it has used, by model.
        usage: Opt<List<AguiTokenUsage>>,
    }) {
        run: Ends;
        example {"type": "RUN_ERROR", "message": "the model is overloaded"};
    }

    /// The model begins to say something, or goes on with a message.
    event TEXT_MESSAGE_START(AguiTextMessageStart {
        /// Names the message.
        messageId: Str,
        /// Who says it.
        role: Opt<Str>,
    }) {
        example {"type": "TEXT_MESSAGE_START", "messageId": "m3", "role": "assistant"};
    }

    /// A piece of what the model says.
    event TEXT_MESSAGE_CONTENT(AguiTextMessageContent {
        /// The message.
        messageId: Str,
        /// The piece.
        delta: Str,
    }) {
        example {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m3", "delta": "There are"};
    }

    /// The model says no more for now.
    event TEXT_MESSAGE_END(AguiTextMessageEnd {
        /// The message.
        messageId: Str,
    }) {
        example {"type": "TEXT_MESSAGE_END", "messageId": "m3"};
    }

    /// The model begins to think.
    event REASONING_START(AguiReasoningStart {
        /// Names the thought.
        messageId: Str,
    }) {
        example {"type": "REASONING_START", "messageId": "m5"};
    }

    /// A thought that can be read begins.
    event REASONING_MESSAGE_START(AguiReasoningMessageStart {
        /// Names the thought.
        messageId: Str,
        /// `reasoning`.
        role: Str,
    }) {
        example {"type": "REASONING_MESSAGE_START", "messageId": "m5", "role": "reasoning"};
    }

    /// A piece of a thought.
    event REASONING_MESSAGE_CONTENT(AguiReasoningMessageContent {
        /// The thought.
        messageId: Str,
        /// The piece.
        delta: Str,
    }) {
        example {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m5", "delta": "The folder"};
    }

    /// The thought is complete.
    event REASONING_MESSAGE_END(AguiReasoningMessageEnd {
        /// The thought.
        messageId: Str,
    }) {
        example {"type": "REASONING_MESSAGE_END", "messageId": "m5"};
    }

    /// The model thinks no more for now.
    event REASONING_END(AguiReasoningEnd {
        /// The thought.
        messageId: Str,
    }) {
        example {"type": "REASONING_END", "messageId": "m5"};
    }

    /// The model begins to write a call.
    event TOOL_CALL_START(AguiToolCallStart {
        /// Names the call.
        toolCallId: Str,
        /// The tool.
        toolCallName: Str,
        /// The message that the call stands in.
        parentMessageId: Opt<Str>,
    }) {
        example {"type": "TOOL_CALL_START", "toolCallId": "call_1", "toolCallName": "bash", "parentMessageId": "m3"};
    }

    /// A piece of a call's arguments.
    event TOOL_CALL_ARGS(AguiToolCallArgs {
        /// The call.
        toolCallId: Str,
        /// The piece of their JSON text.
        delta: Str,
    }) {
        example {"type": "TOOL_CALL_ARGS", "toolCallId": "call_1", "delta": "{\"command\":"};
    }

    /// The arguments are complete.
    event TOOL_CALL_END(AguiToolCallEnd {
        /// The call.
        toolCallId: Str,
    }) {
        example {"type": "TOOL_CALL_END", "toolCallId": "call_1"};
    }

    /// A tool is done.
    event TOOL_CALL_RESULT(AguiToolCallResult {
        /// Names the message with the result.
        messageId: Str,
        /// The call.
        toolCallId: Str,
        /// What came of it.
        content: AguiContent,
        /// `tool`.
        role: Opt<Str>,
    }) {
        example {"type": "TOOL_CALL_RESULT", "messageId": "m4", "toolCallId": "call_1", "content": "a.txt\n", "role": "tool"};
    }

    /// The conversation, all of it.
    event MESSAGES_SNAPSHOT(AguiMessagesSnapshot {
        /// The messages.
        messages: List<AguiMessage>,
    }) {
        example {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m2", "role": "user", "content": "Hello"}]};
    }

    /// Something that no other event tells.
    event CUSTOM(AguiCustom {
        /// What it is.
        name: Str,
        /// It.
        value: Any,
    }) {
        example {"type": "CUSTOM", "name": "agentese.notice", "value": {"type": "notice"}};
    }
}
