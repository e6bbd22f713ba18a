//! Sessions, queues, compaction and shell results of the pi family.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Nullable, Num, Opt, OptNull, Str};
use crate::types::message::{AgentMessage, Usage};
use crate::types::model::{Model, ThinkingLevel};

protocol! {
    /// How a prompt is queued that is sent while the agent is working.
    strings StreamingBehavior(closed) {
        /// Interrupt: delivered after the tool that is running; the rest is skipped.
        "steer",
        /// Wait: delivered when the agent would stop.
        "followUp",
    }

    /// How many queued messages are delivered at a time.
    strings QueueMode(closed) {
        /// All of them at once.
        "all",
        /// One for each opportunity.
        "one-at-a-time",
    }

    /// The agent's current state.
    record SessionState {
        /// The model in use, or null where there is none.
        model: Nullable<Model> [until "pi@1.5"],
        /// The model in use; null or absent where there is none.
        model: OptNull<Model> [since "pi@1.5"],
        /// The thinking level.
        thinkingLevel: ThinkingLevel,
        /// Whether a run is going on.
        isStreaming: Bool,
        /// Whether the conversation is being compacted.
        isCompacting: Bool,
        /// How steering messages are delivered.
        steeringMode: QueueMode,
        /// How follow-up messages are delivered.
        followUpMode: QueueMode,
        /// The session's file; absent where nothing is kept.
        sessionFile: Opt<Str>,
        /// The session's id.
        sessionId: Str,
        /// The name that was given with `set_session_name`.
        sessionName: Opt<Str>,
        /// Whether the agent compacts on its own when the context fills up.
        autoCompactionEnabled: Bool,
        /// The number of messages in the conversation.
        messageCount: Count,
        /// The number of queued messages.
        pendingMessageCount: Count,
    }

    /// The messages of the conversation.
    record Messages {
        /// In order.
        messages: List<AgentMessage>,
    }

    /// Whether an extension stopped what was asked for.
    record Cancellation {
        /// True where an extension stopped it.
        cancelled: Bool,
    }

    /// The model that is next in line, with what goes with it.
    record CycledModel {
        /// The model.
        model: Model,
        /// The thinking level.
        thinkingLevel: Opt<ThinkingLevel>,
        /// Whether the cycle is limited to the models named at the start.
        isScoped: Bool,
    }

    /// The models that can be used.
    record AvailableModels {
        /// In the order of the configuration.
        models: List<Model>,
    }

    /// The thinking level that is next in line.
    record CycledThinkingLevel {
        /// The level.
        level: ThinkingLevel,
    }

    /// The result of a compaction.
    record CompactionResult {
        /// The text that replaces what was removed.
        summary: Str,
        /// The first session entry that stays as it is.
        firstKeptEntryId: Str,
        /// Tokens in the context before.
        tokensBefore: Count,
        /// Tokens in the context afterwards, estimated.
        estimatedTokensAfter: Opt<Count> [since "pi@1.5"],
        /// Tokens that the summary took.
        usage: Opt<Usage> [since "pi@1.5"],
        /// Facts for a front end, such as the files that were read and changed.
        details: OptNull<Any>,
        ;
        example {"summary": "Summary of conversation...", "firstKeptEntryId": "abc123", "tokensBefore": 150000, "details": {}}
    }

    /// The outcome of a shell command.
    record BashResult {
        /// What it wrote on stdout and stderr, cut to a limit.
        output: Str,
        /// Its exit code; absent or null where it was stopped.
        exitCode: OptNull<Int>,
        /// Whether it was stopped with `abort_bash`.
        cancelled: Bool,
        /// Whether `output` was cut.
        truncated: Bool,
        /// A file with all of the output, where it was cut.
        fullOutputPath: OptNull<Str>,
        /// Whether its time was up.
        timedOut: Opt<Bool> [since "omp@18.2"],
        /// How many lines it wrote.
        totalLines: Opt<Count> [since "omp@18.2"],
        /// How many bytes it wrote.
        totalBytes: Opt<Count> [since "omp@18.2"],
        /// How many lines `output` has.
        outputLines: Opt<Count> [since "omp@18.2"],
        /// How many bytes `output` has.
        outputBytes: Opt<Count> [since "omp@18.2"],
        ;
        example {
            "output": "truncated output...", "exitCode": 0, "cancelled": false, "truncated": true,
            "fullOutputPath": "/tmp/pi-bash-abc123.log"
        }
    }

    /// Tokens of a whole session.
    record TokenTotals {
        /// Input tokens that did not come from the cache.
        input: Count,
        /// Output tokens.
        output: Count,
        /// Tokens read from the provider's cache.
        cacheRead: Count,
        /// Tokens written to the provider's cache.
        cacheWrite: Count,
        /// The sum.
        total: Count,
        /// Those of `output` that went into reasoning.
        reasoning: Opt<Count> [since "omp@18.2"],
    }

    /// Statistics of a session.
    record SessionStats {
        /// The session's file; absent where nothing is kept.
        sessionFile: Opt<Str>,
        /// The session's id.
        sessionId: Str,
        /// Messages of the user.
        userMessages: Count,
        /// Answers of the model.
        assistantMessages: Count,
        /// Tool calls.
        toolCalls: Count,
        /// Results of tool calls.
        toolResults: Count,
        /// All messages.
        totalMessages: Count,
        /// Tokens used.
        tokens: TokenTotals,
        /// The cost in US dollars.
        cost: Num,
        /// How full the context is; absent where there is no model.
        contextUsage: Opt<ContextUsage> [since "pi@1.5", since "omp@18.2"],
        /// How many requests the provider counts as premium ones.
        premiumRequests: Opt<Num> [since "omp@18.2"],
    }

    /// How full the context is.
    record ContextUsage {
        /// Tokens in it; null after a compaction until the model has answered.
        tokens: Nullable<Count>,
        /// Tokens that fit.
        contextWindow: Count,
        /// Of a hundred; null where `tokens` is.
        percent: Nullable<Num>,
    }

    /// Where something was written.
    record WrittenFile {
        /// The file's path.
        path: Str,
    }

    /// A fork (or branch) that was made.
    record ForkResult {
        /// The text of the message from which it was made.
        text: Str [until "pi@1.5"],
        /// The text of the message from which it was made; absent where an extension stopped it.
        text: Opt<Str> [since "pi@1.5"],
        /// True where an extension stopped it.
        cancelled: Bool,
    }

    /// A message from which a fork (or branch) can be made.
    record ForkPoint {
        /// The session entry to name.
        entryId: Str,
        /// The message's text.
        text: Str,
    }

    /// The messages from which a fork (or branch) can be made.
    record ForkPoints {
        /// In order.
        messages: List<ForkPoint>,
    }

    /// The text of the model's last answer.
    record LastAssistantText {
        /// The text; null where there is no answer yet.
        text: OptNull<Str>,
    }

    /// Why the agent compacts on its own.
    strings CompactionReason(open) {
        /// The context is nearly full.
        "threshold",
        /// The provider said that the context is too long.
        "overflow",
        /// A client asked for it.
        "manual" [since "pi@1.5"],
        /// Nobody has said anything for a while.
        "idle" [since "omp@18.2"],
        /// An answer was cut off for lack of room.
        "incomplete" [since "omp@18.2"],
    }

    /// What became of words of the user.
    strings Disposition(open) {
        /// They set a run going.
        "started",
        /// They wait in a queue.
        "queued",
        /// An extension has dealt with them: no run was started for them.
        "handled",
    }

    /// That words of the user were taken.
    record WordsTaken {
        /// What became of them.
        disposition: Disposition,
    }

    /// The texts that wait in the queues.
    record QueuedTexts {
        /// Those that interrupt.
        steering: List<Str>,
        /// Those for the time when the agent would stop.
        followUp: List<Str>,
    }

    /// The levels that a model has.
    record ThinkingLevels {
        /// From the least on.
        levels: List<ThinkingLevel>,
    }
}
