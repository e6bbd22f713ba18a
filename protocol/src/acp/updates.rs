//! What a client is told of a session.

use super::calls::{AcpToolCall, AcpToolCallUpdate};
use super::config::AcpConfigOption;
use super::content::AcpContentBlock;
use crate::dsl::protocol;
use crate::typed::{Count, List, Num, OptNull, Str};

protocol! {
    /// A piece of what the user said: while a session is loaded.
    record AcpUserMessageChunk(sessionUpdate = "user_message_chunk") {
        /// The piece.
        content: AcpContentBlock,
        /// The message that it is of.
        messageId: OptNull<Str>,
        ;
        example {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "Hello"}}
    }

    /// A piece of what the model says.
    record AcpAgentMessageChunk(sessionUpdate = "agent_message_chunk") {
        /// The piece.
        content: AcpContentBlock,
        /// The message that it is of.
        messageId: OptNull<Str>,
        ;
        example {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi!"}}
    }

    /// A piece of what the model thinks.
    record AcpAgentThoughtChunk(sessionUpdate = "agent_thought_chunk") {
        /// The piece.
        content: AcpContentBlock,
        /// The message that it is of.
        messageId: OptNull<Str>,
        ;
        example {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "A greeting."}}
    }

    /// How much a task matters.
    strings AcpPlanPriority(open) {
        /// Much.
        "high",
        /// As usual.
        "medium",
        /// Little.
        "low",
    }

    /// How far a task is.
    strings AcpPlanStatus(open) {
        /// It has not begun.
        "pending",
        /// The agent is at it.
        "in_progress",
        /// It is done.
        "completed",
    }

    /// A task.
    record AcpPlanEntry {
        /// What is to be done.
        content: Str,
        /// How much it matters.
        priority: AcpPlanPriority,
        /// How far it is.
        status: AcpPlanStatus,
        ;
        example {"content": "Write the tests", "priority": "medium", "status": "pending"}
    }

    /// What the agent means to do: all of it, each time.
    record AcpPlan(sessionUpdate = "plan") {
        /// The tasks.
        entries: List<AcpPlanEntry>,
        ;
        example {
            "sessionUpdate": "plan",
            "entries": [{"content": "Write the tests", "priority": "medium", "status": "in_progress"}]
        }
    }

    /// What stands behind the name of a command.
    record AcpCommandInput {
        /// What to write there, for people.
        hint: Str,
        ;
        example {"hint": "what to review"}
    }

    /// Something that a prompt can begin with, behind a slash.
    record AcpAvailableCommand {
        /// The name, without the slash.
        name: Str,
        /// What it does.
        description: Str,
        /// What stands behind its name; none where nothing does.
        input: OptNull<AcpCommandInput>,
        ;
        example {"name": "review", "description": "Reviews what has changed"}
    }

    /// The commands that there are.
    record AcpAvailableCommandsUpdate(sessionUpdate = "available_commands_update") {
        /// All of them.
        availableCommands: List<AcpAvailableCommand>,
        ;
        example {"sessionUpdate": "available_commands_update", "availableCommands": []}
    }

    /// Another mode counts, in agents that have modes.
    record AcpCurrentModeUpdate(sessionUpdate = "current_mode_update") {
        /// The mode.
        currentModeId: Str,
        ;
        example {"sessionUpdate": "current_mode_update", "currentModeId": "plan"}
    }

    /// Something else is chosen, or can be.
    record AcpConfigOptionUpdate(sessionUpdate = "config_option_update") {
        /// All options.
        configOptions: List<AcpConfigOption>,
        ;
        example {"sessionUpdate": "config_option_update", "configOptions": []}
    }

    /// What a list of sessions says of this one has changed: members that are left out stay as they are.
    record AcpSessionInfoUpdate(sessionUpdate = "session_info_update") {
        /// Its name for people.
        title: OptNull<Str>,
        /// When somebody last spoke in it, as ISO 8601.
        updatedAt: OptNull<Str>,
        ;
        example {"sessionUpdate": "session_info_update", "title": "Fix the parser"}
    }

    /// Money.
    record AcpCost {
        /// How much.
        amount: Num,
        /// The currency, as in `USD`.
        currency: Str,
        ;
        example {"amount": 0.02, "currency": "USD"}
    }

    /// How much of the context is used, and what the session has cost.
    record AcpUsageUpdate(sessionUpdate = "usage_update") {
        /// Tokens in the context.
        used: Count,
        /// How many there may be.
        size: Count,
        /// What the session has cost so far.
        cost: OptNull<AcpCost>,
        ;
        example {"sessionUpdate": "usage_update", "used": 1200, "size": 200000, "cost": {"amount": 0.02, "currency": "USD"}}
    }

    /// How much a notice matters.
    strings AcpNoticeSeverity(open) {
        /// Worth knowing.
        "info",
        /// Something may be wrong.
        "warning",
        /// Something is wrong.
        "error",
    }

    /// Something to show that is no part of the conversation. Only for clients that show notices.
    record AcpNotice(sessionUpdate = "notice") {
        /// How much it matters.
        severity: AcpNoticeSeverity,
        /// What it is.
        title: Str,
        /// More about it.
        description: OptNull<Str>,
        ;
        example {"sessionUpdate": "notice", "severity": "warning", "title": "The model is overloaded"}
    }

    /// How far a compaction is.
    strings AcpCompactionStatus(open) {
        /// It goes on.
        "in_progress",
        /// It is done.
        "completed",
        /// It failed.
        "failed",
        /// Somebody stopped it.
        "cancelled",
    }

    /// The conversation is compacted. Only for clients that show it.
    record AcpCompactionUpdate(sessionUpdate = "compaction_update") {
        /// Names the compaction.
        compactionId: Str,
        /// How far it is.
        status: AcpCompactionStatus,
        /// The summary, as content.
        summary: OptNull<List<AcpContentBlock>>,
        /// Why it failed.
        error: OptNull<Str>,
        ;
        example {"sessionUpdate": "compaction_update", "compactionId": "compaction_1", "status": "in_progress"}
    }

    /// A piece of a summary. Only for clients that show compactions.
    record AcpCompactionSummaryChunk(sessionUpdate = "compaction_summary_chunk") {
        /// The compaction.
        compactionId: Str,
        /// The piece.
        content: AcpContentBlock,
        ;
        example {
            "sessionUpdate": "compaction_summary_chunk", "compactionId": "compaction_1",
            "content": {"type": "text", "text": "The parser was fixed."}
        }
    }

    /// Something that a client is told of a session.
    union AcpUpdate(sessionUpdate, open) {
        AcpUserMessageChunk, AcpAgentMessageChunk, AcpAgentThoughtChunk, AcpToolCall, AcpToolCallUpdate, AcpPlan,
        AcpAvailableCommandsUpdate, AcpCurrentModeUpdate, AcpConfigOptionUpdate, AcpSessionInfoUpdate, AcpUsageUpdate,
        AcpNotice, AcpCompactionUpdate, AcpCompactionSummaryChunk
    }

    /// Tells something of a session.
    dialog session_update(AcpSessionUpdate {
        /// The session.
        sessionId: Str,
        /// What there is to tell.
        update: AcpUpdate,
    }) {
        wire: "session/update";
        example {
            "sessionId": "sess_1",
            "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi!"}}
        };
    }
}
