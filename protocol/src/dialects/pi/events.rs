//! The events of pi.

use crate::dsl::protocol;
use crate::typed::{Bool, Count, List, Object, Opt, OptNull, Str};
use crate::types::content::ToolOutput;
use crate::types::message::{AgentMessage, ToolResultMessage};
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
    }) {
        run: MayEnd;
        example {"type": "agent_end", "messages": [{"role": "user", "content": "Hello!", "timestamp": 1733234567890}]};
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
        /// The message so far; absent in delta-only streams.
        message: Opt<AgentMessage>,
    }) {
        snapshot: true;
        example {
            "type": "message_update",
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
    }) {
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
    }) {
        run: MayEndUnless(willRetry);
        example {
            "type": "auto_compaction_end",
            "result": {"summary": "Summary of conversation...", "firstKeptEntryId": "abc123", "tokensBefore": 150000, "details": {}},
            "aborted": false, "willRetry": false
        };
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
    }) {
        run: HoldsIf(success);
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
