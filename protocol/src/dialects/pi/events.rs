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
    /// The agent starts to work on a prompt, or starts again after a retry or a compaction.
    event agent_start(AgentStart {}) {
        run: Begins;
        example {"type": "agent_start"};
    }

    /// The agent stops. A retry, a compaction or a follow-up may still come after it.
    event agent_end(AgentEnd {
        /// All messages of this run, including the prompt.
        messages: List<AgentMessage>,
        /// `true` if the agent retries on its own.
        willRetry: Bool [since "pi@1.5"],
        /// `true` if the agent has no further work of its own. If `false`, this event is not the end of the run.
        isTerminal: Opt<Bool> [since "omp@18.2"],
        /// Number of messages in the run, present if `messages` leaves out those that earlier events carried.
        messageCount: Opt<Count> [since "omp@18.2"],
    }) {
        run: MayEnd [until "pi@1.5", until "omp@18.2"];
        later: MayEndIf(isTerminal) [since "omp@18.2"];
        example {
            "type": "agent_end", "messages": [{"role": "user", "content": "Hello!", "timestamp": 1733234567890}],
            "willRetry": false
        };
    }

    /// The agent has no further work of its own: no retry, no compaction, empty queues. This event ends the run.
    event agent_settled(AgentSettled {
        /// `true` if the run was aborted.
        aborted: Bool,
    }) [since "pi@1.5"] {
        run: Ends;
        example {"type": "agent_settled", "aborted": false};
    }

    /// A turn starts: one answer of the model, and the tools that the answer calls.
    event turn_start(TurnStart {}) {
        run: Begins;
        example {"type": "turn_start"};
    }

    /// A turn ends.
    event turn_end(TurnEnd {
        /// The answer of the model.
        message: AgentMessage,
        /// The results of the tool calls in the answer.
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

    /// A message starts. Messages of the user, of tools and of extensions are already complete; messages of the model
    /// are empty.
    event message_start(MessageStart {
        /// Message that starts; empty for a message of the model.
        message: AgentMessage,
    }) {
        example {"type": "message_start", "message": {"role": "user", "content": "Hello!", "timestamp": 1733234567890}};
    }

    /// The model continues its message.
    event message_update(MessageUpdate {
        /// The change to the message.
        assistantMessageEvent: AssistantMessageEvent,
        /// Tokens used for the message so far.
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
        /// The complete message.
        message: AgentMessage,
    }) {
        example {"type": "message_end", "message": {"role": "user", "content": "Hello!", "timestamp": 1733234567890}};
    }

    /// A tool starts to run.
    event tool_execution_start(ToolExecutionStart {
        /// Id of the tool call.
        toolCallId: Str,
        /// Name of the tool.
        toolName: Str,
        /// Arguments of the tool call.
        args: Object,
        /// Purpose of the tool call.
        intent: Opt<Str> [since "omp@18.2"],
    }) {
        example {"type": "tool_execution_start", "toolCallId": "call_abc123", "toolName": "bash", "args": {"command": "ls -la"}};
    }

    /// A tool reports progress. `partialResult` holds the complete output so far and replaces the output of earlier
    /// updates.
    event tool_execution_update(ToolExecutionUpdate {
        /// Id of the tool call.
        toolCallId: Str,
        /// Name of the tool.
        toolName: Str,
        /// Arguments of the tool call.
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

    /// A tool ends.
    event tool_execution_end(ToolExecutionEnd {
        /// Id of the tool call.
        toolCallId: Str,
        /// Name of the tool.
        toolName: Str,
        /// The result of the tool.
        result: ToolOutput,
        /// `true` if the tool failed.
        isError: Bool,
        /// Duration of the tool in milliseconds; absent if it did not run.
        durationMs: Opt<Num> [since "pi@1.5"],
    }) {
        example {
            "type": "tool_execution_end", "toolCallId": "call_abc123", "toolName": "bash",
            "result": {"content": [{"type": "text", "text": "total 48\n..."}], "details": {}}, "isError": false
        };
    }

    /// An automatic compaction starts.
    event auto_compaction_start(AutoCompactionStart {
        /// Reason for the compaction.
        reason: CompactionReason,
        /// Method of the compaction: a summary, or another method of the agent.
        action: Opt<Str> [since "omp@18.2"],
    }) [until "pi@1.5"] {
        run: Holds;
        example {"type": "auto_compaction_start", "reason": "threshold"};
    }

    /// An automatic compaction ends, with or without a result.
    event auto_compaction_end(AutoCompactionEnd {
        /// The result; absent or null if nothing was compacted.
        result: OptNull<CompactionResult>,
        /// `true` if the compaction was aborted.
        aborted: Bool,
        /// `true` if the agent retries the prompt.
        willRetry: Bool,
        /// Error message of the compaction.
        errorMessage: Opt<Str>,
        /// Method of the compaction.
        action: Opt<Str> [since "omp@18.2"],
        /// `true` if no compaction was necessary.
        skipped: Opt<Bool> [since "omp@18.2"],
    }) [until "pi@1.5"] {
        run: MayEndUnless(willRetry);
        example {
            "type": "auto_compaction_end",
            "result": {"summary": "Summary of conversation...", "firstKeptEntryId": "abc123", "tokensBefore": 150000, "details": {}},
            "aborted": false, "willRetry": false
        };
    }

    /// The agent starts to compact the conversation.
    event compaction_start(CompactionStart {
        /// Reason for the compaction.
        reason: CompactionReason,
    }) [since "pi@1.5"] {
        example {"type": "compaction_start", "reason": "threshold"};
    }

    /// A compaction of the conversation ends, with or without a result.
    event compaction_end(CompactionEnd {
        /// Reason for the compaction.
        reason: CompactionReason,
        /// Result of the compaction; absent if nothing was compacted.
        result: Opt<CompactionResult>,
        /// `true` if the compaction was aborted.
        aborted: Bool,
        /// `true` if the agent retries the prompt.
        willRetry: Bool,
        /// Error message of the compaction.
        errorMessage: Opt<Str>,
    }) [since "pi@1.5"] {
        example {"type": "compaction_end", "reason": "manual", "aborted": true, "willRetry": false};
    }

    /// The request for a summary failed; the agent retries it after a delay.
    event summarization_retry_scheduled(SummarizationRetryScheduled {
        /// Number of this retry, from 1.
        attempt: Count,
        /// Maximum number of retries.
        maxAttempts: Count,
        /// Delay before the retry in milliseconds.
        delayMs: Count,
        /// Error message of the failed request.
        errorMessage: Str,
    }) [since "pi@1.5"] {
        example {
            "type": "summarization_retry_scheduled", "attempt": 1, "maxAttempts": 3, "delayMs": 2000,
            "errorMessage": "terminated"
        };
    }

    /// The purpose of a summary.
    strings SummarySource(open) {
        /// Compaction of the conversation.
        "compaction",
        /// Summary of a branch that the user leaves.
        "branchSummary",
    }

    /// The agent retries the request for a summary.
    event summarization_retry_attempt_start(SummarizationRetryAttemptStart {
        /// Purpose of the summary.
        source: SummarySource,
        /// Reason for the compaction; absent for a branch.
        reason: Opt<CompactionReason>,
    }) [since "pi@1.5"] {
        example {"type": "summarization_retry_attempt_start", "source": "compaction", "reason": "threshold"};
    }

    /// The retries of the request for a summary are over.
    event summarization_retry_finished(SummarizationRetryFinished {}) [since "pi@1.5"] {
        example {"type": "summarization_retry_finished"};
    }

    /// A message entered or left a queue. The event carries both queues in full.
    event queue_update(QueueUpdate {
        /// Texts of the queued messages that interrupt the run.
        steering: List<Str>,
        /// Texts of the queued messages for the end of the run.
        followUp: List<Str>,
    }) [since "pi@1.5"] {
        example {"type": "queue_update", "steering": ["Change direction"], "followUp": []};
    }

    /// An extension wrote an entry into the session.
    event entry_appended(EntryAppended {
        /// Entry of the extension.
        entry: SessionEntry,
    }) [since "pi@1.5"] {
        example {"type": "entry_appended", "entry": {
            "type": "custom", "id": "h8i9j0k1", "parentId": null, "timestamp": "2024-12-03T14:20:00.000Z", "customType": "notes"
        }};
    }

    /// The name of the session changed.
    event session_info_changed(SessionInfoChanged {
        /// The new name; absent if the name was removed.
        name: Opt<Str>,
    }) [since "pi@1.5"] {
        example {"type": "session_info_changed", "name": "my-feature-work"};
    }

    /// The thinking level of the model changed.
    event thinking_level_changed(ThinkingLevelChanged {
        /// New thinking level.
        level: ThinkingLevel,
    }) [since "pi@1.5"] {
        example {"type": "thinking_level_changed", "level": "high"};
    }

    /// A command run by `bash` wrote output.
    event bash_execution_update(BashExecutionUpdate {
        /// Id of the `bash` command, if it had one.
        id: Opt<Any>,
        /// New output of the command.
        delta: Str,
    }) [since "pi@1.5"] {
        example {"type": "bash_execution_update", "id": "req-1", "delta": "total 48\n"};
    }

    /// The agent waits before a retry after a transient error.
    event auto_retry_start(AutoRetryStart {
        /// Number of this retry, from 1.
        attempt: Count,
        /// Maximum number of retries.
        maxAttempts: Count,
        /// Delay before the retry in milliseconds.
        delayMs: Count,
        /// Error message of the failed request.
        errorMessage: Str,
    }) {
        run: Holds;
        example {
            "type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000,
            "errorMessage": "529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"
        };
    }

    /// The retries are over: the model answered, or the agent stopped retrying.
    event auto_retry_end(AutoRetryEnd {
        /// `true` if the model answered.
        success: Bool,
        /// Number of the last retry.
        attempt: Count,
        /// Error message of the last retry, if all retries failed.
        finalError: Opt<Str>,
        /// The failed answers, each with its outcome.
        retryErrors: Opt<List<Object>> [since "omp@18.2"],
    }) {
        run: HoldsIf(success) [until "pi@1.5", until "omp@18.2"];
        example {"type": "auto_retry_end", "success": false, "attempt": 3, "finalError": "529 overloaded_error: Overloaded"};
    }

    /// An extension failed; the agent continues.
    event extension_error(ExtensionError {
        /// File of the extension, or `command:name`.
        extensionPath: Str,
        /// Event that the extension was handling, or `command`.
        event: Str,
        /// Error message of the extension.
        error: Str,
    }) {
        example {
            "type": "extension_error", "extensionPath": "/path/to/extension.ts", "event": "tool_call",
            "error": "Error message..."
        };
    }
}
