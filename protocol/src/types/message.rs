//! Messages of the pi family, by role.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Map, Nullable, Num, Object, Opt, OptNull, Str};
use crate::types::content::{AssistantBlock, Attachment, InputBlock, InputContent};
use crate::types::model::ThinkingLevel;

protocol! {
    /// The cost of tokens in US dollars.
    record Cost {
        /// For input tokens.
        input: Num,
        /// For output tokens.
        output: Num,
        /// For tokens read from the provider's cache.
        cacheRead: Num,
        /// For tokens written to the provider's cache.
        cacheWrite: Num,
        /// The sum.
        total: Num,
        /// Whether the provider gave the sum, and the agent did not work it out.
        totalFromProvider: Opt<Bool> [since "pi@1.5"],
    }

    /// Tokens used by one answer of the model.
    record Usage {
        /// Input tokens that did not come from the cache.
        input: Count,
        /// Output tokens, reasoning among them.
        output: Count,
        /// Tokens read from the provider's cache.
        cacheRead: Count,
        /// Tokens written to the provider's cache.
        cacheWrite: Count,
        /// Those of `cacheWrite` that the provider keeps for an hour.
        cacheWrite1h: Opt<Count> [since "pi@1.5"],
        /// Those of `output` that went into reasoning.
        reasoning: Opt<Count> [since "pi@1.5"],
        /// The sum of the four; the document leaves it out, agents send it.
        totalTokens: Opt<Count>,
        /// The cost.
        cost: Cost,
        ;
        example {
            "input": 100, "output": 50, "cacheRead": 0, "cacheWrite": 0,
            "cost": {"input": 0.0003, "output": 0.00075, "cacheRead": 0, "cacheWrite": 0, "total": 0.00105}
        }
    }

    /// Why the model stopped.
    strings StopReason(closed) {
        /// It was done.
        "stop",
        /// It reached the limit of its output.
        "length",
        /// It wants tools to run.
        "toolUse",
        /// The request failed; `errorMessage` says how.
        "error",
        /// Somebody stopped it.
        "aborted",
        /// It has not stopped yet.
        "pending" [since "pi@1.5"],
        /// The provider answers later.
        "deferred" [since "pi@1.5"],
    }

    /// A message of the user.
    record UserMessage(role = "user") {
        /// The words and images.
        content: InputContent,
        /// When, in milliseconds since the epoch.
        timestamp: Int,
        /// Files that a front end attached.
        attachments: Opt<List<Attachment>>,
        /// Who it is from: `user`, or `agent` where another agent wrote it.
        attribution: Opt<Str> [since "omp@18.2"],
        /// Whether it was sent to steer a run.
        steering: Opt<Bool> [since "omp@18.2"],
        ;
        example {"role": "user", "content": "Hello!", "timestamp": 1733234567890, "attachments": []}
    }

    /// An answer of the model, whole or as far as it has come.
    record AssistantMessage(role = "assistant") {
        /// Text, reasoning and tool calls in the order in which they came.
        content: List<AssistantBlock>,
        /// The provider's wire format, as in `anthropic-messages`.
        api: Str,
        /// The provider.
        provider: Str,
        /// The model's id.
        model: Str,
        /// Tokens and costs.
        usage: Usage,
        /// The stop reason; `stop` while the message streams.
        stopReason: StopReason,
        /// When it began, in milliseconds since the epoch.
        timestamp: Int,
        /// The error message, with `error` and `aborted`.
        errorMessage: Opt<Str>,
        /// The model that answered, as the provider names it.
        responseModel: Opt<Str> [since "pi@1.5"],
        /// The answer's id at the provider.
        responseId: Opt<Str> [since "pi@1.5", since "omp@18.2"],
        /// Why it stopped, in the provider's own word.
        rawStopReason: Opt<Str> [since "pi@1.5"],
        /// How long the answer took, in milliseconds.
        durationMs: Opt<Num> [since "pi@1.5"],
        /// How hard the model was asked to think.
        thinkingLevel: Opt<ThinkingLevel> [since "pi@1.5"],
        /// That, in the provider's own word.
        providerThinkingLevel: Opt<Str> [since "pi@1.5"],
        /// Whether the provider says that the turn is over.
        endTurn: Opt<Bool> [since "pi@1.5"],
        /// Facts about the request, for looking into it.
        diagnostics: Opt<List<Any>> [since "pi@1.5"],
        /// Where an answer that comes later is found.
        deferred: Opt<Any> [since "pi@1.5"],
        /// How long the answer took, in milliseconds.
        duration: Opt<Num> [since "omp@18.2"],
        /// After how many milliseconds its first piece came.
        ttft: Opt<Num> [since "omp@18.2"],
        /// When it was complete, in milliseconds since the epoch.
        completedAt: Opt<Num> [since "omp@18.2"],
        /// What kind of error it is, as a number.
        errorId: Opt<Num> [since "omp@18.2"],
        /// The provider's HTTP status.
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

    /// The result of a tool call, as the model sees it.
    record ToolResultMessage(role = "toolResult") {
        /// The id of the call.
        toolCallId: Str,
        /// The tool's name.
        toolName: Str,
        /// Text and images.
        content: List<InputBlock>,
        /// Facts for a front end; their shape is the tool's own.
        details: OptNull<Any>,
        /// Whether the tool failed.
        isError: Bool,
        /// How long the tool ran, in milliseconds; absent where it did not run.
        durationMs: Opt<Num> [since "pi@1.5"],
        /// Tokens of models that the tool itself asked.
        usage: Opt<Usage> [since "pi@1.5"],
        /// Calls of other tools that the tool made.
        nestedCalls: Opt<Any> [since "pi@1.5"],
        /// When, in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {
            "role": "toolResult", "toolCallId": "call_123", "toolName": "bash",
            "content": [{"type": "text", "text": "total 48\ndrwxr-xr-x ..."}], "isError": false, "timestamp": 1733234567890
        }
    }

    /// A shell command that a client ran with `bash`; the model sees it with the next prompt.
    record BashExecutionMessage(role = "bashExecution") {
        /// The command line.
        command: Str,
        /// What it wrote, cut to a limit.
        output: Str,
        /// Its exit code; absent or null where it has none.
        exitCode: OptNull<Int>,
        /// Whether it was stopped.
        cancelled: Bool,
        /// Whether `output` was cut.
        truncated: Bool,
        /// A file with all of the output.
        fullOutputPath: OptNull<Str>,
        /// When, in milliseconds since the epoch.
        timestamp: Int,
        /// True where the model does not get to see it.
        excludeFromContext: Opt<Bool>,
        ;
        example {
            "role": "bashExecution", "command": "ls -la", "output": "total 48\ndrwxr-xr-x ...", "exitCode": 0,
            "cancelled": false, "truncated": false, "fullOutputPath": null, "timestamp": 1733234567890
        }
    }

    /// A message that an extension put in.
    record CustomMessage(role = "custom") {
        /// The extension's name for this kind of message.
        customType: Str,
        /// Text, or blocks.
        content: InputContent,
        /// Whether a front end should show it.
        display: Bool,
        /// Facts for a front end; their shape is the extension's own.
        details: OptNull<Any>,
        /// Who it is from: `user`, or `agent`.
        attribution: Opt<Str> [since "omp@18.2"],
        /// When, in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {"role": "custom", "customType": "note", "content": "Remember the tests.", "display": true, "timestamp": 1733234567890}
    }

    /// A summary of a branch that the conversation has left.
    record BranchSummaryMessage(role = "branchSummary") {
        /// The summary.
        summary: Str,
        /// The session entry from which the branch was left.
        fromId: Str [until "pi@1.5"],
        /// The session entry from which the branch was left, or null.
        fromId: Nullable<Str> [since "pi@1.5"],
        /// When, in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {"role": "branchSummary", "summary": "Tried a second parser.", "fromId": "a1b2c3d4", "timestamp": 1733234567890}
    }

    /// The summary that replaces messages which compaction removed.
    record CompactionSummaryMessage(role = "compactionSummary") {
        /// The summary.
        summary: Str,
        /// Tokens in the context before.
        tokensBefore: Count,
        /// When, in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {"role": "compactionSummary", "summary": "Summary of conversation...", "tokensBefore": 150000, "timestamp": 1733234567890}
    }

    /// A tool, as the model is told of it.
    record ToolDeclaration {
        /// Its name.
        name: Str,
        /// What it does.
        description: Str,
        /// The JSON Schema of its arguments.
        parameters: Object,
        /// How the provider is asked to keep the arguments in shape.
        constrainedSampling: Opt<Any>,
    }

    /// A tool that the model no longer has.
    record ToolReference {
        /// Its name.
        name: Str,
    }

    /// What the model is told before and between the messages: the prompt and the tools, or what has changed of them.
    record SystemMessage(role = "system") [since "pi@1.5"] {
        /// Instructions in addition to the sections.
        content: InputContent,
        /// Sections of the prompt by name; null takes one away.
        sections: Opt<Map<Any>>,
        /// Tools that the model has from here on.
        toolsAdded: Opt<List<ToolDeclaration>>,
        /// Tools that it no longer has.
        toolsRemoved: Opt<List<ToolReference>>,
        /// When, in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {"role": "system", "content": "", "sections": {"cwd": "/home/user/project"}, "timestamp": 1733234567890}
    }

    /// A message of the conversation, told apart by `role`.
    union AgentMessage(role, open) {
        UserMessage, AssistantMessage, ToolResultMessage, BashExecutionMessage, CustomMessage,
        BranchSummaryMessage, CompactionSummaryMessage, SystemMessage
    }
}
