//! Updates about a session for the client.

use super::calls::{AcpToolCall, AcpToolCallUpdate};
use super::config::AcpConfigOption;
use super::content::AcpContentBlock;
use crate::dsl::protocol;
use crate::typed::{Count, List, Num, OptNull, Str};

protocol! {
    /// A piece of the user's message, sent while a session is loaded.
    record AcpUserMessageChunk(sessionUpdate = "user_message_chunk") {
        /// Content of the piece.
        content: AcpContentBlock,
        /// Id of the message.
        messageId: OptNull<Str>,
        ;
        example {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "Hello"}}
    }

    /// A piece of the model's answer.
    record AcpAgentMessageChunk(sessionUpdate = "agent_message_chunk") {
        /// Content of the piece.
        content: AcpContentBlock,
        /// Id of the message.
        messageId: OptNull<Str>,
        ;
        example {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi!"}}
    }

    /// A piece of the model's reasoning.
    record AcpAgentThoughtChunk(sessionUpdate = "agent_thought_chunk") {
        /// Content of the piece.
        content: AcpContentBlock,
        /// Id of the message.
        messageId: OptNull<Str>,
        ;
        example {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "A greeting."}}
    }

    /// The priority of a task.
    strings AcpPlanPriority(open) {
        /// High priority.
        "high",
        /// Normal priority.
        "medium",
        /// Low priority.
        "low",
    }

    /// The status of a task.
    strings AcpPlanStatus(open) {
        /// The task has not started.
        "pending",
        /// The task is in progress.
        "in_progress",
        /// The task is complete.
        "completed",
    }

    /// A task of the agent's plan.
    record AcpPlanEntry {
        /// Description of the task.
        content: Str,
        /// Priority of the task.
        priority: AcpPlanPriority,
        /// Status of the task.
        status: AcpPlanStatus,
        ;
        example {"content": "Write the tests", "priority": "medium", "status": "pending"}
    }

    /// The plan of the agent, sent completely each time.
    record AcpPlan(sessionUpdate = "plan") {
        /// All tasks of the plan.
        entries: List<AcpPlanEntry>,
        ;
        example {
            "sessionUpdate": "plan",
            "entries": [{"content": "Write the tests", "priority": "medium", "status": "in_progress"}]
        }
    }

    /// The input of a command, after its name.
    record AcpCommandInput {
        /// Hint for the user about the input.
        hint: Str,
        ;
        example {"hint": "what to review"}
    }

    /// A command that can start a prompt, after a slash.
    record AcpAvailableCommand {
        /// Name of the command, without the slash.
        name: Str,
        /// Description of the command.
        description: Str,
        /// Input after the name; absent if the command has no input.
        input: OptNull<AcpCommandInput>,
        ;
        example {"name": "review", "description": "Reviews what has changed"}
    }

    /// The available commands.
    record AcpAvailableCommandsUpdate(sessionUpdate = "available_commands_update") {
        /// All available commands.
        availableCommands: List<AcpAvailableCommand>,
        ;
        example {"sessionUpdate": "available_commands_update", "availableCommands": []}
    }

    /// The current mode has changed, in agents with modes.
    record AcpCurrentModeUpdate(sessionUpdate = "current_mode_update") {
        /// Id of the current mode.
        currentModeId: Str,
        ;
        example {"sessionUpdate": "current_mode_update", "currentModeId": "plan"}
    }

    /// The options or their values have changed.
    record AcpConfigOptionUpdate(sessionUpdate = "config_option_update") {
        /// All options of the session.
        configOptions: List<AcpConfigOption>,
        ;
        example {"sessionUpdate": "config_option_update", "configOptions": []}
    }

    /// The list data of this session has changed; absent members stay unchanged.
    record AcpSessionInfoUpdate(sessionUpdate = "session_info_update") {
        /// Display name.
        title: OptNull<Str>,
        /// Time of the last message, in ISO 8601.
        updatedAt: OptNull<Str>,
        ;
        example {"sessionUpdate": "session_info_update", "title": "Fix the parser"}
    }

    /// An amount of money.
    record AcpCost {
        /// Amount in the currency.
        amount: Num,
        /// Currency, as in `USD`.
        currency: Str,
        ;
        example {"amount": 0.02, "currency": "USD"}
    }

    /// The use of the context and the cost of the session.
    record AcpUsageUpdate(sessionUpdate = "usage_update") {
        /// Number of tokens in the context.
        used: Count,
        /// Size of the context window in tokens.
        size: Count,
        /// Cost of the session so far.
        cost: OptNull<AcpCost>,
        ;
        example {"sessionUpdate": "usage_update", "used": 1200, "size": 200000, "cost": {"amount": 0.02, "currency": "USD"}}
    }

    /// The severity of a notice.
    strings AcpNoticeSeverity(open) {
        /// Information.
        "info",
        /// A possible problem.
        "warning",
        /// A problem.
        "error",
    }

    /// A notice outside of the conversation. Only for clients that show notices.
    record AcpNotice(sessionUpdate = "notice") {
        /// Severity of the notice.
        severity: AcpNoticeSeverity,
        /// Title of the notice.
        title: Str,
        /// Details of the notice.
        description: OptNull<Str>,
        ;
        example {"sessionUpdate": "notice", "severity": "warning", "title": "The model is overloaded"}
    }

    /// The status of a compaction.
    strings AcpCompactionStatus(open) {
        /// The compaction is in progress.
        "in_progress",
        /// The compaction has completed.
        "completed",
        /// The compaction has failed.
        "failed",
        /// The compaction was aborted.
        "cancelled",
    }

    /// The progress of a compaction. Only for clients that show compactions.
    record AcpCompactionUpdate(sessionUpdate = "compaction_update") {
        /// Id of the compaction.
        compactionId: Str,
        /// Status of the compaction.
        status: AcpCompactionStatus,
        /// Summary as content blocks.
        summary: OptNull<List<AcpContentBlock>>,
        /// Error message of the compaction.
        error: OptNull<Str>,
        ;
        example {"sessionUpdate": "compaction_update", "compactionId": "compaction_1", "status": "in_progress"}
    }

    /// A piece of a summary. Only for clients that show compactions.
    record AcpCompactionSummaryChunk(sessionUpdate = "compaction_summary_chunk") {
        /// Id of the compaction.
        compactionId: Str,
        /// Content of the piece.
        content: AcpContentBlock,
        ;
        example {
            "sessionUpdate": "compaction_summary_chunk", "compactionId": "compaction_1",
            "content": {"type": "text", "text": "The parser was fixed."}
        }
    }

    /// An update about a session; `sessionUpdate` determines the variant.
    union AcpUpdate(sessionUpdate, open) {
        AcpUserMessageChunk, AcpAgentMessageChunk, AcpAgentThoughtChunk, AcpToolCall, AcpToolCallUpdate, AcpPlan,
        AcpAvailableCommandsUpdate, AcpCurrentModeUpdate, AcpConfigOptionUpdate, AcpSessionInfoUpdate, AcpUsageUpdate,
        AcpNotice, AcpCompactionUpdate, AcpCompactionSummaryChunk
    }

    /// Sends an update about a session.
    dialog session_update(AcpSessionUpdate {
        /// Id of the session.
        sessionId: Str,
        /// Content of the update.
        update: AcpUpdate,
    }) {
        wire: "session/update";
        example {
            "sessionId": "sess_1",
            "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi!"}}
        };
    }
}
