//! The other commands and events of omp 18 that its older revisions lack.
//!
//! Source: the types of RPC mode and of the session's events in the package of omp 18.2.3.

use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::typed::{Any, Bool, Count, List, Nullable, Num, Object, Opt, Str};
use crate::types::message::{AgentMessage, CustomMessage};
use crate::types::model::{Model, ThinkingLevel};

use super::TodoItem;

protocol! {
    /// A part of the todo list.
    record TodoPhase [since "omp@18.2"] {
        /// Name of the part.
        name: Str,
        /// Items of the part.
        tasks: List<TodoItem>,
    }

    /// The todo list, in parts.
    record TodoPhases [since "omp@18.2"] {
        /// Parts of the list.
        todoPhases: List<TodoPhase>,
    }

    /// Sets the todo list.
    command set_todos(SetTodosParams {
        /// Parts of the list.
        phases: List<TodoPhase>,
    }) -> TodoPhases [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        example {"phases": [{"name": "Tests", "tasks": [{"content": "Run them", "status": "pending"}]}]} -> {
            "todoPhases": [{"name": "Tests", "tasks": [{"content": "Run them", "status": "pending"}]}]
        };
    }

    /// The state of fast mode: faster answers at a higher price.
    record FastMode [since "omp@18.2"] {
        /// `true` if fast mode was requested.
        enabled: Bool,
        /// `true` if the model uses fast mode.
        active: Bool,
    }

    /// Switches fast mode on or off: faster answers at a higher price.
    command set_fast_mode(SetFastModeParams {
        /// `true` to switch fast mode on.
        enabled: Bool,
    }) -> FastMode [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        errors {
            FastModeUnavailable "Fast mode is unavailable for the current model." => "the model does not support fast mode";
        }
        example {"enabled": true} -> {"enabled": true, "active": true};
    }

    /// A subcommand of a command.
    record Subcommand [since "omp@18.2"] {
        /// Name of the subcommand.
        name: Str,
        /// Description of the subcommand.
        description: Opt<Str>,
        /// Syntax of the subcommand's arguments.
        usage: Opt<Str>,
    }

    /// A command that can start a prompt.
    record AvailableCommand [since "omp@18.2"] {
        /// Name of the command, without the slash.
        name: Str,
        /// Other names of the command.
        aliases: Opt<List<Str>>,
        /// Description of the command.
        description: Opt<Str>,
        /// Arguments of the command; the member `hint` describes them.
        input: Opt<Object>,
        /// Subcommands of the command.
        subcommands: Opt<List<Subcommand>>,
        /// Source of the command, as in `builtin`.
        source: Str,
    }

    /// The commands that can start a prompt.
    record AvailableCommands [since "omp@18.2"] {
        /// Commands that can start a prompt.
        commands: List<AvailableCommand>,
    }

    /// Lists the commands that can start a prompt.
    command get_available_commands() -> AvailableCommands [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"commands": [{"name": "model", "description": "Shows the model", "source": "builtin"}]};
    }

    /// The commands that can start a prompt have changed.
    event available_commands_update(AvailableCommandsUpdate {
        /// The commands that can start a prompt, after the change.
        commands: List<AvailableCommand>,
    }) [since "omp@18.2"] {
        example {"type": "available_commands_update", "commands": [{"name": "model", "source": "builtin"}]};
    }

    /// A part of the conversation.
    record MessagesPage [since "omp@18.2"] {
        /// The messages, oldest first.
        messages: List<AgentMessage>,
        /// Cursor of the next part; absent for the last part.
        nextCursor: Opt<Str>,
        /// Total number of messages.
        totalMessages: Count,
    }

    /// Returns the messages of the conversation in parts.
    command get_messages_page(GetMessagesPageParams {
        /// Value of `nextCursor` from the previous part; the first part if absent.
        cursor: Opt<Str>,
        /// Maximum number of messages: 100 if absent, at most 256.
        limit: Opt<Count>,
    }) -> MessagesPage [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        errors {
            SessionChanging "Cannot page messages while the session is changing" => "a run is in progress";
            StaleCursor "RPC message cursor is stale" => "the conversation has changed since the previous part";
        }
        example {"limit": 1} -> {"messages": [{"role": "user", "content": "Hello!", "timestamp": 1733234567890}], "totalMessages": 2};
    }

    /// The result of a handoff.
    record HandoffResult [since "omp@18.2"] {
        /// Path of the file with the handoff text, if one was written.
        savedPath: Opt<Str>,
    }

    /// Starts a new session with the model's account of the old one. The data is null if there was no handoff.
    command handoff(HandoffParams {
        /// Instructions for the model's account.
        customInstructions: Opt<Str>,
    }) -> Nullable<HandoffResult> [since "omp@18.2"] {
        answer: Done;
        run: Replaces;
        lane: Session;
        timeout: Never;
        example {} -> {"savedPath": "/path/to/handoff.md"};
    }

    /// The outcome of a prompt that a command of an extension may have handled without the model.
    event prompt_result(PromptResult {
        /// Id of the prompt.
        id: Opt<Any>,
        /// `true` if the prompt goes to the model. If `false`, no run follows.
        agentInvoked: Bool,
    }) [since "omp@18.2"] {
        run: HoldsIf(agentInvoked);
        example {"type": "prompt_result", "id": "req-1", "agentInvoked": false};
    }

    /// The agent waits before a retry after a transient error.
    event auto_retry_start(OmpAutoRetryStart {
        /// Number of this retry, from 1.
        attempt: Count,
        /// Maximum number of retries.
        maxAttempts: Count,
        /// Delay before the retry in milliseconds.
        delayMs: Num,
        /// Error message of the failed request.
        errorMessage: Str,
        /// Kind of the error, as a number.
        errorId: Opt<Num>,
    }) [since "omp@18.2"] {
        run: Holds;
        example {
            "type": "auto_retry_start", "attempt": 1, "maxAttempts": 10, "delayMs": 489.5, "errorMessage": "529 overloaded"
        };
    }

    /// Another model replaces a failing model.
    event retry_fallback_applied(RetryFallbackApplied {
        /// Model that fails.
        from: Str,
        /// Model that replaces the failing model.
        to: Str,
        /// Role of the model.
        role: Str,
    }) [since "omp@18.2"] {
        example {"type": "retry_fallback_applied", "from": "a/one", "to": "b/two", "role": "default"};
    }

    /// The replacement of a failing model has answered.
    event retry_fallback_succeeded(RetryFallbackSucceeded {
        /// Model that replaced the failing one.
        model: Str,
        /// Role of the model.
        role: Str,
    }) [since "omp@18.2"] {
        example {"type": "retry_fallback_succeeded", "model": "b/two", "role": "default"};
    }

    /// The current model has changed.
    event model_changed(ModelChanged {}) [since "omp@18.2"] {
        example {"type": "model_changed"};
    }

    /// The warnings about the settings have changed.
    event config_warnings_changed(ConfigWarningsChanged {}) [since "omp@18.2"] {
        example {"type": "config_warnings_changed"};
    }

    /// The cost of the advisor has increased.
    event advisor_cost_changed(AdvisorCostChanged {}) [since "omp@18.2"] {
        example {"type": "advisor_cost_changed"};
    }

    /// The advisor has no further advice.
    event advisor_yielded(AdvisorYielded {}) [since "omp@18.2"] {
        example {"type": "advisor_yielded"};
    }

    /// The agent cleared the todo list, because all items were done.
    event todo_auto_clear(TodoAutoClear {}) [since "omp@18.2"] {
        example {"type": "todo_auto_clear"};
    }

    /// Another agent sent a message to this one.
    event irc_message(IrcMessage {
        /// Message of the other agent.
        message: CustomMessage,
    }) [since "omp@18.2"] {
        example {"type": "irc_message", "message": {
            "role": "custom", "customType": "irc", "content": "Are you there?", "display": true, "timestamp": 1733234567890
        }};
    }

    /// The agent shows a notice to the user.
    event notice(Notice {
        /// Level of the notice: `info`, `warning` or `error`.
        level: Str,
        /// Text of the notice.
        message: Str,
        /// Part of the agent that shows the notice.
        source: Opt<Str>,
    }) [since "omp@18.2"] {
        example {"type": "notice", "level": "info", "message": "The model has no fast mode.", "source": "priority"};
    }

    /// The thinking level of the model changed.
    event thinking_level_changed(OmpThinkingLevelChanged {
        /// The new level; absent if the model cannot think.
        thinkingLevel: Opt<ThinkingLevel>,
        /// The configured level, if it differs.
        configured: Opt<Str>,
        /// Actual level of this turn, if the configured level is `auto`.
        resolved: Opt<Str>,
    }) [since "omp@18.2"] {
        example {"type": "thinking_level_changed", "thinkingLevel": "high"};
    }

    /// The goal of the agent or the progress towards it changed.
    event goal_updated(GoalUpdated {
        /// The goal; null if there is none.
        goal: Nullable<Object>,
        /// State of the work towards the goal.
        state: Opt<Object>,
    }) [since "omp@18.2"] {
        example {"type": "goal_updated", "goal": null};
    }

    /// A tool reports progress that no result contains.
    event tool_stream_update(ToolStreamUpdate {
        /// Id of the tool call.
        toolCallId: Str,
        /// Name of the tool.
        toolName: Str,
        /// Progress data, in a shape defined by the tool.
        update: Any,
    }) [since "omp@18.2"] {
        example {"type": "tool_stream_update", "toolCallId": "call_1", "toolName": "bash", "update": {}};
    }

    /// The output of a command at the start of a prompt.
    event command_output(CommandOutput {
        /// Text of the output.
        text: Str,
    }) [since "omp@18.2"] {
        example {"type": "command_output", "text": "Nothing to compact."};
    }

    /// The session or its name changed.
    event session_info_update(SessionInfoUpdate {
        /// Name of the session.
        title: Opt<Str>,
        /// Id of the session.
        sessionId: Str,
    }) [since "omp@18.2"] {
        example {"type": "session_info_update", "title": "my-feature-work", "sessionId": "abc123"};
    }

    /// A command at the start of a prompt changed the model or its thinking level.
    event config_update(ConfigUpdate {
        /// The model that the agent uses now.
        model: Opt<Model>,
        /// Thinking level of the model.
        thinkingLevel: Opt<ThinkingLevel>,
    }) [since "omp@18.2"] {
        example {"type": "config_update", "thinkingLevel": "high"};
    }
}
