//! The events of pi.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Num, Object, Opt, OptNull, Str};
use crate::types::content::ToolOutput;
use crate::types::entry::SessionEntry;
use crate::types::message::{AgentMessage, ToolResultMessage, Usage};
use crate::types::model::ThinkingLevel;
use crate::types::session::{CompactionReason, CompactionResult};
use crate::types::stream::AssistantMessageEvent;

protocol! {
    /// The agent begins to work on a prompt, or begins again after a retry or a compaction.
    event agent_start(AgentStart {}) {
        run: Begins;
        example {"type": "agent_start"};
    }

    /// The agent stops. A retry, a compaction or a follow-up may still come after it.
    event agent_end(AgentEnd {
        /// All messages of this run, the prompt among them.
        messages: List<AgentMessage>,
        /// Whether the agent tries again on its own.
        willRetry: Bool [since "pi@1.5"],
        /// Whether the agent has nothing more to do on its own. Where it has, this is not the end of the run.
        isTerminal: Opt<Bool> [since "omp@18.2"],
        /// How many messages the run has, where those that were told before are left out of `messages`.
        messageCount: Opt<Count> [since "omp@18.2"],
    }) {
        run: MayEnd [until "pi@1.5", until "omp@18.2"];
        later: MayEndIf(isTerminal) [since "omp@18.2"];
        example {
            "type": "agent_end", "messages": [{"role": "user", "content": "Hello!", "timestamp": 1733234567890}],
            "willRetry": false
        };
    }

    /// The agent has nothing more to do on its own: no retry, no compaction, nothing in the queues. This ends the run.
    event agent_settled(AgentSettled {
        /// Whether somebody stopped it.
        aborted: Bool,
    }) [since "pi@1.5"] {
        run: Ends;
        example {"type": "agent_settled", "aborted": false};
    }

    /// A turn begins: one answer of the model and the tools that it asks for.
    event turn_start(TurnStart {}) {
        run: Begins;
        example {"type": "turn_start"};
    }

    /// A turn is complete.
    event turn_end(TurnEnd {
        /// The model's answer.
        message: AgentMessage,
        /// The results of the tools that it asked for.
        toolResults: List<ToolResultMessage>,
    }) {
        example {
            "type": "turn_end",
            "message": {
                "role": "assistant", "content": [{"type": "text", "text": "Hi."}], "api": "anthropic-messages",
                "provider": "anthropic", "model": "claude-sonnet-4-20250514",
                "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0,
                          "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
                "stopReason": "stop", "timestamp": 1733234567890
            },
            "toolResults": []
        };
    }

    /// A message begins. Messages of the user, of tools and of extensions are whole already; the
    /// model's are empty.
    event message_start(MessageStart {
        /// The message.
        message: AgentMessage,
    }) {
        example {"type": "message_start", "message": {"role": "user", "content": "Hello!", "timestamp": 1733234567890}};
    }

    /// The model's message grows.
    event message_update(MessageUpdate {
        /// The change to the message.
        assistantMessageEvent: AssistantMessageEvent,
        /// Tokens that the message has taken so far.
        usage: Usage [since "pi@1.5"],
        /// The message so far; absent in delta-only streams.
        message: Opt<AgentMessage> [until "pi@1.5"],
    }) {
        snapshot: true [until "pi@1.5"];
        example {
            "type": "message_update",
            "usage": {"input": 100, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 101,
                      "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
            "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "Hello "}
        };
    }

    /// A message is complete.
    event message_end(MessageEnd {
        /// The message.
        message: AgentMessage,
    }) {
        example {"type": "message_end", "message": {"role": "user", "content": "Hello!", "timestamp": 1733234567890}};
    }

    /// A tool begins to run.
    event tool_execution_start(ToolExecutionStart {
        /// The id of the call.
        toolCallId: Str,
        /// The tool's name.
        toolName: Str,
        /// The arguments.
        args: Object,
        /// What the call is for.
        intent: Opt<Str> [since "omp@18.2"],
    }) {
        example {"type": "tool_execution_start", "toolCallId": "call_abc123", "toolName": "bash", "args": {"command": "ls -la"}};
    }

    /// A tool has something to show. `partialResult` is all of it so far, to replace what is shown.
    event tool_execution_update(ToolExecutionUpdate {
        /// The id of the call.
        toolCallId: Str,
        /// The tool's name.
        toolName: Str,
        /// The arguments.
        args: Object,
        /// The result so far.
        partialResult: ToolOutput,
    }) {
        example {
            "type": "tool_execution_update", "toolCallId": "call_abc123", "toolName": "bash", "args": {"command": "ls -la"},
            "partialResult": {
                "content": [{"type": "text", "text": "partial output so far..."}],
                "details": {"truncation": null, "fullOutputPath": null}
            }
        };
    }

    /// A tool is done.
    event tool_execution_end(ToolExecutionEnd {
        /// The id of the call.
        toolCallId: Str,
        /// The tool's name.
        toolName: Str,
        /// The result.
        result: ToolOutput,
        /// Whether the tool failed.
        isError: Bool,
        /// How long the tool ran, in milliseconds; absent where it did not run.
        durationMs: Opt<Num> [since "pi@1.5"],
    }) {
        example {
            "type": "tool_execution_end", "toolCallId": "call_abc123", "toolName": "bash",
            "result": {"content": [{"type": "text", "text": "total 48\n..."}], "details": {}}, "isError": false
        };
    }

    /// Automatic compaction begins.
    event auto_compaction_start(AutoCompactionStart {
        /// Why.
        reason: CompactionReason,
        /// How: by a summary, or in another way of the agent.
        action: Opt<Str> [since "omp@18.2"],
    }) [until "pi@1.5"] {
        run: Holds;
        example {"type": "auto_compaction_start", "reason": "threshold"};
    }

    /// Automatic compaction ended, with or without a result.
    event auto_compaction_end(AutoCompactionEnd {
        /// The result; absent or null if nothing was compacted.
        result: OptNull<CompactionResult>,
        /// Whether it was stopped.
        aborted: Bool,
        /// Whether the prompt is tried again.
        willRetry: Bool,
        /// The error message.
        errorMessage: Opt<Str>,
        /// How it compacted.
        action: Opt<Str> [since "omp@18.2"],
        /// Whether there was no need to.
        skipped: Opt<Bool> [since "omp@18.2"],
    }) [until "pi@1.5"] {
        run: MayEndUnless(willRetry);
        example {
            "type": "auto_compaction_end",
            "result": {"summary": "Summary of conversation...", "firstKeptEntryId": "abc123", "tokensBefore": 150000, "details": {}},
            "aborted": false, "willRetry": false
        };
    }

    /// The agent begins to compact the conversation.
    event compaction_start(CompactionStart {
        /// Why.
        reason: CompactionReason,
    }) [since "pi@1.5"] {
        example {"type": "compaction_start", "reason": "threshold"};
    }

    /// The agent has compacted the conversation, or has not.
    event compaction_end(CompactionEnd {
        /// Why it began.
        reason: CompactionReason,
        /// What compaction did; absent where it did not.
        result: Opt<CompactionResult>,
        /// Whether it was stopped.
        aborted: Bool,
        /// Whether the prompt is tried again.
        willRetry: Bool,
        /// What went wrong.
        errorMessage: Opt<Str>,
    }) [since "pi@1.5"] {
        example {"type": "compaction_end", "reason": "manual", "aborted": true, "willRetry": false};
    }

    /// The request for a summary failed; it is made again after a pause.
    event summarization_retry_scheduled(SummarizationRetryScheduled {
        /// The number of this retry, from 1.
        attempt: Count,
        /// How many there will be at most.
        maxAttempts: Count,
        /// How long the agent waits, in milliseconds.
        delayMs: Count,
        /// What went wrong.
        errorMessage: Str,
    }) [since "pi@1.5"] {
        example {
            "type": "summarization_retry_scheduled", "attempt": 1, "maxAttempts": 3, "delayMs": 2000,
            "errorMessage": "terminated"
        };
    }

    /// What a summary is for.
    strings SummarySource(open) {
        /// A compaction.
        "compaction",
        /// A branch that is left.
        "branchSummary",
    }

    /// The request for a summary is made again.
    event summarization_retry_attempt_start(SummarizationRetryAttemptStart {
        /// What it is for.
        source: SummarySource,
        /// Why the conversation is compacted; absent for a branch.
        reason: Opt<CompactionReason>,
    }) [since "pi@1.5"] {
        example {"type": "summarization_retry_attempt_start", "source": "compaction", "reason": "threshold"};
    }

    /// Retrying the request for a summary is over.
    event summarization_retry_finished(SummarizationRetryFinished {}) [since "pi@1.5"] {
        example {"type": "summarization_retry_finished"};
    }

    /// A message joined a queue or left it. Both queues are told whole.
    event queue_update(QueueUpdate {
        /// The texts that interrupt.
        steering: List<Str>,
        /// The texts for the time when the agent would stop.
        followUp: List<Str>,
    }) [since "pi@1.5"] {
        example {"type": "queue_update", "steering": ["Change direction"], "followUp": []};
    }

    /// An extension wrote an entry into the session.
    event entry_appended(EntryAppended {
        /// The entry.
        entry: SessionEntry,
    }) [since "pi@1.5"] {
        example {"type": "entry_appended", "entry": {
            "type": "custom", "id": "h8i9j0k1", "parentId": null, "timestamp": "2024-12-03T14:20:00.000Z", "customType": "notes"
        }};
    }

    /// The session was named.
    event session_info_changed(SessionInfoChanged {
        /// The name; absent where it was taken away.
        name: Opt<Str>,
    }) [since "pi@1.5"] {
        example {"type": "session_info_changed", "name": "my-feature-work"};
    }

    /// The model thinks more, or less, from here on.
    event thinking_level_changed(ThinkingLevelChanged {
        /// The level.
        level: ThinkingLevel,
    }) [since "pi@1.5"] {
        example {"type": "thinking_level_changed", "level": "high"};
    }

    /// A command of `bash` wrote something.
    event bash_execution_update(BashExecutionUpdate {
        /// The id of that command, where it had one.
        id: Opt<Any>,
        /// What it wrote.
        delta: Str,
    }) [since "pi@1.5"] {
        example {"type": "bash_execution_update", "id": "req-1", "delta": "total 48\n"};
    }

    /// The agent waits before it tries again after a transient error.
    event auto_retry_start(AutoRetryStart {
        /// The number of this retry, from 1.
        attempt: Count,
        /// The maximum number.
        maxAttempts: Count,
        /// The delay in milliseconds.
        delayMs: Count,
        /// The error message.
        errorMessage: Str,
    }) {
        run: Holds;
        example {
            "type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000,
            "errorMessage": "529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"
        };
    }

    /// Retrying is over: an answer came, or the agent gave up.
    event auto_retry_end(AutoRetryEnd {
        /// Whether an answer came.
        success: Bool,
        /// The number of the last retry.
        attempt: Count,
        /// Why the agent gave up.
        finalError: Opt<Str>,
        /// The answers that failed, and what became of them.
        retryErrors: Opt<List<Object>> [since "omp@18.2"],
    }) {
        run: HoldsIf(success) [until "pi@1.5", until "omp@18.2"];
        example {"type": "auto_retry_end", "success": false, "attempt": 3, "finalError": "529 overloaded_error: Overloaded"};
    }

    /// An extension failed; the agent goes on.
    event extension_error(ExtensionError {
        /// The extension's file, or `command:name`.
        extensionPath: Str,
        /// The event that it handled, or `command`.
        event: Str,
        /// What it said.
        error: Str,
    }) {
        example {
            "type": "extension_error", "extensionPath": "/path/to/extension.ts", "event": "tool_call",
            "error": "Error message..."
        };
    }
}
