//! Messages of the pi family, by role.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Map, Nullable, Num, Object, Opt, OptNull, Str};
use crate::types::content::{AssistantBlock, Attachment, InputBlock, InputContent};
use crate::types::model::ThinkingLevel;

protocol! {
    /// The cost of tokens in US dollars.
    record Cost {
        /// Cost of input tokens.
        input: Num,
        /// Cost of output tokens.
        output: Num,
        /// Cost of tokens read from the provider's cache.
        cacheRead: Num,
        /// Cost of tokens written to the provider's cache.
        cacheWrite: Num,
        /// Sum of the costs.
        total: Num,
        /// `true` if the sum comes from the provider, `false` if the agent computed it.
        totalFromProvider: Opt<Bool> [since "pi@1.5"],
    }

    /// Tokens used by one answer of the model.
    record Usage {
        /// Number of input tokens that did not come from the cache.
        input: Count,
        /// Number of output tokens, including reasoning.
        output: Count,
        /// Number of tokens read from the provider's cache.
        cacheRead: Count,
        /// Number of tokens written to the provider's cache.
        cacheWrite: Count,
        /// Number of tokens in `cacheWrite` that the provider caches for an hour.
        cacheWrite1h: Opt<Count> [since "pi@1.5"],
        /// Number of tokens in `output` used for reasoning.
        reasoning: Opt<Count> [since "pi@1.5"],
        /// Sum of the four counts. The document omits this member; agents send it.
        totalTokens: Opt<Count>,
        /// Cost of the tokens.
        cost: Cost,
        ;
        example {
            "input": 100, "output": 50, "cacheRead": 0, "cacheWrite": 0,
            "cost": {"input": 0.0003, "output": 0.00075, "cacheRead": 0, "cacheWrite": 0, "total": 0.00105}
        }
    }

    /// The reason for the end of the model's answer.
    strings StopReason(closed) {
        /// The model completed its answer.
        "stop",
        /// The answer reached the limit of its output.
        "length",
        /// The model calls tools.
        "toolUse",
        /// The request failed; `errorMessage` describes the failure.
        "error",
        /// The answer was aborted.
        "aborted",
        /// The answer has not ended yet.
        "pending" [since "pi@1.5"],
        /// The provider answers later.
        "deferred" [since "pi@1.5"],
    }

    /// A message of the user.
    record UserMessage(role = "user") {
        /// Text and images of the message.
        content: InputContent,
        /// Time of the message in milliseconds since the epoch.
        timestamp: Int,
        /// Files attached by a client.
        attachments: Opt<List<Attachment>>,
        /// Author of the message: `user`, or `agent` if another agent wrote it.
        attribution: Opt<Str> [since "omp@18.2"],
        /// `true` if the message was sent to steer a run.
        steering: Opt<Bool> [since "omp@18.2"],
        ;
        example {"role": "user", "content": "Hello!", "timestamp": 1733234567890, "attachments": []}
    }

    /// An answer of the model, complete or so far.
    record AssistantMessage(role = "assistant") {
        /// Text, reasoning and tool calls in the order of their arrival.
        content: List<AssistantBlock>,
        /// Wire format of the provider, as in `anthropic-messages`.
        api: Str,
        /// Name of the provider.
        provider: Str,
        /// Id of the model.
        model: Str,
        /// Tokens and costs of the answer.
        usage: Usage,
        /// Stop reason of the answer; `stop` while the message streams.
        stopReason: StopReason,
        /// Start of the answer in milliseconds since the epoch.
        timestamp: Int,
        /// Error message, present if the stop reason is `error` or `aborted`.
        errorMessage: Opt<Str>,
        /// Name of the model that answered, as reported by the provider.
        responseModel: Opt<Str> [since "pi@1.5"],
        /// Id of the answer at the provider.
        responseId: Opt<Str> [since "pi@1.5", since "omp@18.2"],
        /// Stop reason in the wording of the provider.
        rawStopReason: Opt<Str> [since "pi@1.5"],
        /// Duration of the answer in milliseconds.
        durationMs: Opt<Num> [since "pi@1.5"],
        /// Requested thinking level.
        thinkingLevel: Opt<ThinkingLevel> [since "pi@1.5"],
        /// Requested thinking level in the wording of the provider.
        providerThinkingLevel: Opt<Str> [since "pi@1.5"],
        /// `true` if the provider reports the end of the turn.
        endTurn: Opt<Bool> [since "pi@1.5"],
        /// Diagnostic data about the request.
        diagnostics: Opt<List<Any>> [since "pi@1.5"],
        /// Location of an answer that the provider delivers later.
        deferred: Opt<Any> [since "pi@1.5"],
        /// Duration of the answer in milliseconds.
        duration: Opt<Num> [since "omp@18.2"],
        /// Time to the first piece of the answer in milliseconds.
        ttft: Opt<Num> [since "omp@18.2"],
        /// End of the answer in milliseconds since the epoch.
        completedAt: Opt<Num> [since "omp@18.2"],
        /// Kind of the error, as a number.
        errorId: Opt<Num> [since "omp@18.2"],
        /// HTTP status of the provider.
        errorStatus: Opt<Num> [since "omp@18.2"],
        ;
        example {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Hello! How can I help?"},
                {"type": "thinking", "thinking": "User is greeting me..."},
                {"type": "toolCall", "id": "call_123", "name": "bash", "arguments": {"command": "ls"}}
            ],
            "api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-20250514",
            "usage": {
                "input": 100, "output": 50, "cacheRead": 0, "cacheWrite": 0,
                "cost": {"input": 0.0003, "output": 0.00075, "cacheRead": 0, "cacheWrite": 0, "total": 0.00105}
            },
            "stopReason": "stop", "timestamp": 1733234567890
        }
    }

    /// The result of a tool call, as the model receives it.
    record ToolResultMessage(role = "toolResult") {
        /// Id of the tool call.
        toolCallId: Str,
        /// Name of the tool.
        toolName: Str,
        /// Text and images of the result.
        content: List<InputBlock>,
        /// Details for a client, in a shape defined by the tool.
        details: OptNull<Any>,
        /// `true` if the tool failed.
        isError: Bool,
        /// Duration of the tool in milliseconds; absent if it did not run.
        durationMs: Opt<Num> [since "pi@1.5"],
        /// Tokens used by models that the tool itself called.
        usage: Opt<Usage> [since "pi@1.5"],
        /// Calls of other tools by this tool.
        nestedCalls: Opt<Any> [since "pi@1.5"],
        /// Time of the result in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {
            "role": "toolResult", "toolCallId": "call_123", "toolName": "bash",
            "content": [{"type": "text", "text": "total 48\ndrwxr-xr-x ..."}], "isError": false, "timestamp": 1733234567890
        }
    }

    /// A shell command that a client ran with `bash`; the model receives it with the next prompt.
    record BashExecutionMessage(role = "bashExecution") {
        /// Command line of the shell command.
        command: Str,
        /// Output of the command, cut to a limit.
        output: Str,
        /// Exit code of the command; absent or null if it has none.
        exitCode: OptNull<Int>,
        /// `true` if the command was aborted.
        cancelled: Bool,
        /// `true` if `output` was cut.
        truncated: Bool,
        /// Path of a file with the complete output.
        fullOutputPath: OptNull<Str>,
        /// Time of the command in milliseconds since the epoch.
        timestamp: Int,
        /// `true` if the model does not receive the command and its output.
        excludeFromContext: Opt<Bool>,
        ;
        example {
            "role": "bashExecution", "command": "ls -la", "output": "total 48\ndrwxr-xr-x ...", "exitCode": 0,
            "cancelled": false, "truncated": false, "fullOutputPath": null, "timestamp": 1733234567890
        }
    }

    /// A message that an extension added.
    record CustomMessage(role = "custom") {
        /// Kind of the message, named by the extension.
        customType: Str,
        /// Content of the message: text or blocks.
        content: InputContent,
        /// `true` if a client should show the message.
        display: Bool,
        /// Details for a client, in a shape defined by the extension.
        details: OptNull<Any>,
        /// Author of the message: `user` or `agent`.
        attribution: Opt<Str> [since "omp@18.2"],
        /// Time of the message in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {"role": "custom", "customType": "note", "content": "Remember the tests.", "display": true, "timestamp": 1733234567890}
    }

    /// A summary of a branch that the conversation has left.
    record BranchSummaryMessage(role = "branchSummary") {
        /// Text of the summary.
        summary: Str,
        /// Id of the session entry at which the conversation left the branch.
        fromId: Str [until "pi@1.5"],
        /// Id of the session entry at which the conversation left the branch, or null.
        fromId: Nullable<Str> [since "pi@1.5"],
        /// Time of the summary in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {"role": "branchSummary", "summary": "Tried a second parser.", "fromId": "a1b2c3d4", "timestamp": 1733234567890}
    }

    /// The summary of the messages that a compaction removed.
    record CompactionSummaryMessage(role = "compactionSummary") {
        /// Text of the summary.
        summary: Str,
        /// Number of tokens in the context before the compaction.
        tokensBefore: Count,
        /// Time of the summary in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {"role": "compactionSummary", "summary": "Summary of conversation...", "tokensBefore": 150000, "timestamp": 1733234567890}
    }

    /// The declaration of a tool for the model.
    record ToolDeclaration {
        /// Name of the tool.
        name: Str,
        /// Description of the tool.
        description: Str,
        /// JSON Schema of the arguments.
        parameters: Object,
        /// The method by which the provider constrains the arguments to their schema.
        constrainedSampling: Opt<Any>,
    }

    /// A tool that is no longer available to the model.
    record ToolReference {
        /// Name of the tool.
        name: Str,
    }

    /// The instructions and the tools of the model before and between the messages, complete or as changes.
    record SystemMessage(role = "system") [since "pi@1.5"] {
        /// Instructions in addition to the sections.
        content: InputContent,
        /// Sections of the prompt by name; null removes a section.
        sections: Opt<Map<Any>>,
        /// Tools that are available from here on.
        toolsAdded: Opt<List<ToolDeclaration>>,
        /// Tools that are no longer available.
        toolsRemoved: Opt<List<ToolReference>>,
        /// Time of the message in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {"role": "system", "content": "", "sections": {"cwd": "/home/user/project"}, "timestamp": 1733234567890}
    }

    /// A message of the conversation; `role` determines the variant.
    union AgentMessage(role, open) {
        UserMessage, AssistantMessage, ToolResultMessage, BashExecutionMessage, CustomMessage,
        BranchSummaryMessage, CompactionSummaryMessage, SystemMessage
    }
}
