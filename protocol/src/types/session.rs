//! Sessions, queues, compaction and shell results of the pi family.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Nullable, Num, Opt, OptNull, Str};
use crate::types::message::{AgentMessage, Usage};
use crate::types::model::{Model, ThinkingLevel};

protocol! {
    /// The queue for a prompt that arrives during a run.
    strings StreamingBehavior(closed) {
        /// The prompt interrupts the run: the agent delivers it after the running tool and skips the
        /// remaining tools.
        "steer",
        /// The prompt waits for the end of the run.
        "followUp",
    }

    /// The number of queued messages that are delivered at a time.
    strings QueueMode(closed) {
        /// All messages at once.
        "all",
        /// One message at a time.
        "one-at-a-time",
    }

    /// The current state of the agent.
    record SessionState {
        /// The current model, or null if there is none.
        model: Nullable<Model> [until "pi@1.5"],
        /// The current model; null or absent if there is none.
        model: OptNull<Model> [since "pi@1.5"],
        /// Thinking level of the model.
        thinkingLevel: ThinkingLevel,
        /// `true` during a run.
        isStreaming: Bool,
        /// `true` during a compaction.
        isCompacting: Bool,
        /// Delivery of steering messages.
        steeringMode: QueueMode,
        /// Delivery of follow-up messages.
        followUpMode: QueueMode,
        /// Path of the session file; absent if the session is not stored.
        sessionFile: Opt<Str>,
        /// Id of the session.
        sessionId: Str,
        /// Name of the session, as set by `set_session_name`.
        sessionName: Opt<Str>,
        /// `true` if the agent compacts on its own when the context fills up.
        autoCompactionEnabled: Bool,
        /// Number of messages in the conversation.
        messageCount: Count,
        /// Number of queued messages.
        pendingMessageCount: Count,
    }

    /// The messages of the conversation.
    record Messages {
        /// The messages in order.
        messages: List<AgentMessage>,
    }

    /// The result of a command that an extension can prevent.
    record Cancellation {
        /// `true` if an extension prevented the command.
        cancelled: Bool,
    }

    /// The model that `cycle_model` selected, with its thinking level.
    record CycledModel {
        /// The selected model.
        model: Model,
        /// Thinking level of the model.
        thinkingLevel: Opt<ThinkingLevel>,
        /// `true` if the cycle is limited to the models that were named at the start.
        isScoped: Bool,
    }

    /// The available models.
    record AvailableModels {
        /// The models in the order of the configuration.
        models: List<Model>,
    }

    /// The thinking level that `cycle_thinking_level` selected.
    record CycledThinkingLevel {
        /// The selected level.
        level: ThinkingLevel,
    }

    /// The result of a compaction.
    record CompactionResult {
        /// The summary that replaces the removed messages.
        summary: Str,
        /// Id of the first session entry that stays unchanged.
        firstKeptEntryId: Str,
        /// Number of tokens in the context before the compaction.
        tokensBefore: Count,
        /// Estimated number of tokens in the context after the compaction.
        estimatedTokensAfter: Opt<Count> [since "pi@1.5"],
        /// Tokens used for the summary.
        usage: Opt<Usage> [since "pi@1.5"],
        /// Details for a client, such as the files that were read and changed.
        details: OptNull<Any>,
        ;
        example {"summary": "Summary of conversation...", "firstKeptEntryId": "abc123", "tokensBefore": 150000, "details": {}}
    }

    /// The outcome of a shell command.
    record BashResult {
        /// Output of the command on stdout and stderr, cut to a limit.
        output: Str,
        /// Exit code of the command; absent or null if it was aborted.
        exitCode: OptNull<Int>,
        /// `true` if `abort_bash` stopped the command.
        cancelled: Bool,
        /// `true` if `output` was cut.
        truncated: Bool,
        /// Path of a file with the complete output, if `output` was cut.
        fullOutputPath: OptNull<Str>,
        /// `true` if the command reached its timeout.
        timedOut: Opt<Bool> [since "omp@18.2"],
        /// Number of lines in the complete output.
        totalLines: Opt<Count> [since "omp@18.2"],
        /// Number of bytes in the complete output.
        totalBytes: Opt<Count> [since "omp@18.2"],
        /// Number of lines in `output`.
        outputLines: Opt<Count> [since "omp@18.2"],
        /// Number of bytes in `output`.
        outputBytes: Opt<Count> [since "omp@18.2"],
        ;
        example {
            "output": "truncated output...", "exitCode": 0, "cancelled": false, "truncated": true,
            "fullOutputPath": "/tmp/pi-bash-abc123.log"
        }
    }

    /// The token counts of a whole session.
    record TokenTotals {
        /// Number of input tokens that did not come from the cache.
        input: Count,
        /// Number of output tokens.
        output: Count,
        /// Number of tokens read from the provider's cache.
        cacheRead: Count,
        /// Number of tokens written to the provider's cache.
        cacheWrite: Count,
        /// Sum of the counts.
        total: Count,
        /// Number of tokens in `output` used for reasoning.
        reasoning: Opt<Count> [since "omp@18.2"],
    }

    /// Statistics of a session.
    record SessionStats {
        /// Path of the session file; absent if the session is not stored.
        sessionFile: Opt<Str>,
        /// Id of the session.
        sessionId: Str,
        /// Number of messages of the user.
        userMessages: Count,
        /// Number of answers of the model.
        assistantMessages: Count,
        /// Number of tool calls.
        toolCalls: Count,
        /// Number of results of tool calls.
        toolResults: Count,
        /// Number of all messages.
        totalMessages: Count,
        /// Token counts of the session.
        tokens: TokenTotals,
        /// The cost in US dollars.
        cost: Num,
        /// Use of the context window; absent if there is no model.
        contextUsage: Opt<ContextUsage> [since "pi@1.5", since "omp@18.2"],
        /// Number of requests that the provider counts as premium requests.
        premiumRequests: Opt<Num> [since "omp@18.2"],
    }

    /// The use of the context window.
    record ContextUsage {
        /// Number of tokens in the context; null after a compaction until the model has answered.
        tokens: Nullable<Count>,
        /// Size of the context window in tokens.
        contextWindow: Count,
        /// Used share of the context window in percent; null if `tokens` is null.
        percent: Nullable<Num>,
    }

    /// The location of a written file.
    record WrittenFile {
        /// Path of the file.
        path: Str,
    }

    /// The result of a fork (or branch).
    record ForkResult {
        /// Text of the message at which the fork was made.
        text: Str [until "pi@1.5"],
        /// Text of the message at which the fork was made; absent if an extension prevented the fork.
        text: Opt<Str> [since "pi@1.5"],
        /// `true` if an extension prevented the fork.
        cancelled: Bool,
    }

    /// A message that can be the start of a fork (or branch).
    record ForkPoint {
        /// Id of the session entry, for the command that makes the fork.
        entryId: Str,
        /// Text of the message.
        text: Str,
    }

    /// The messages that can be the start of a fork (or branch).
    record ForkPoints {
        /// The messages in order.
        messages: List<ForkPoint>,
    }

    /// The text of the model's last answer.
    record LastAssistantText {
        /// The text; null if there is no answer yet.
        text: OptNull<Str>,
    }

    /// The reason for a compaction.
    strings CompactionReason(open) {
        /// The context is nearly full.
        "threshold",
        /// The provider reported that the context is too long.
        "overflow",
        /// A client requested the compaction.
        "manual" [since "pi@1.5"],
        /// The conversation was idle for some time.
        "idle" [since "omp@18.2"],
        /// An answer was cut off for lack of space in the context.
        "incomplete" [since "omp@18.2"],
    }

    /// The agent's treatment of the user's input.
    strings Disposition(open) {
        /// The input started a run.
        "started",
        /// The input waits in a queue.
        "queued",
        /// An extension handled the input; no run was started.
        "handled",
    }

    /// The agent accepted the user's input.
    record InputReceipt {
        /// The agent's treatment of the input.
        disposition: Disposition,
    }

    /// The texts of the messages in the queues.
    record QueuedTexts {
        /// Texts of the queued messages that interrupt the run.
        steering: List<Str>,
        /// Texts of the queued messages for the end of the run.
        followUp: List<Str>,
    }

    /// The thinking levels that a model supports.
    record ThinkingLevels {
        /// The levels in ascending order.
        levels: List<ThinkingLevel>,
    }
}
