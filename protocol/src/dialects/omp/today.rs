//! The other commands and events that omp 18 has and its older revisions have not.
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
        /// Its name.
        name: Str,
        /// What is to be done.
        tasks: List<TodoItem>,
    }

    /// The todo list.
    record TodoPhases [since "omp@18.2"] {
        /// Its parts.
        todoPhases: List<TodoPhase>,
    }

    /// Sets the todo list.
    command set_todos(SetTodosParams {
        /// Its parts.
        phases: List<TodoPhase>,
    }) -> TodoPhases [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        example {"phases": [{"name": "Tests", "tasks": [{"content": "Run them", "status": "pending"}]}]} -> {
            "todoPhases": [{"name": "Tests", "tasks": [{"content": "Run them", "status": "pending"}]}]
        };
    }

    /// Whether the model answers faster for a higher price.
    record FastMode [since "omp@18.2"] {
        /// Whether it was asked for.
        enabled: Bool,
        /// Whether the model does it.
        active: Bool,
    }

    /// Asks for faster answers at a higher price, or takes that back.
    command set_fast_mode(SetFastModeParams {
        /// Whether.
        enabled: Bool,
    }) -> FastMode [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        errors {
            FastModeUnavailable "Fast mode is unavailable for the current model." => "the model has no such mode";
        }
        example {"enabled": true} -> {"enabled": true, "active": true};
    }

    /// A word that can follow a command.
    record Subcommand [since "omp@18.2"] {
        /// The word.
        name: Str,
        /// What it does.
        description: Opt<Str>,
        /// What can follow it.
        usage: Opt<Str>,
    }

    /// A command that a prompt can begin with.
    record AvailableCommand [since "omp@18.2"] {
        /// Its name, without the slash.
        name: Str,
        /// Other names.
        aliases: Opt<List<Str>>,
        /// What it does.
        description: Opt<Str>,
        /// What can follow it: the member `hint` shows it.
        input: Opt<Object>,
        /// The words that can follow it.
        subcommands: Opt<List<Subcommand>>,
        /// Where it comes from, as in `builtin`.
        source: Str,
    }

    /// The commands that prompts can begin with.
    record AvailableCommands [since "omp@18.2"] {
        /// Them.
        commands: List<AvailableCommand>,
    }

    /// Lists the commands that prompts can begin with.
    command get_available_commands() -> AvailableCommands [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"commands": [{"name": "model", "description": "Shows the model", "source": "builtin"}]};
    }

    /// The commands that prompts can begin with are others now.
    event available_commands_update(AvailableCommandsUpdate {
        /// Them.
        commands: List<AvailableCommand>,
    }) [since "omp@18.2"] {
        example {"type": "available_commands_update", "commands": [{"name": "model", "source": "builtin"}]};
    }

    /// A part of the conversation.
    record MessagesPage [since "omp@18.2"] {
        /// The messages, the oldest first.
        messages: List<AgentMessage>,
        /// What leads to the next part; absent where this is the last one.
        nextCursor: Opt<Str>,
        /// How many messages there are.
        totalMessages: Count,
    }

    /// Gives the messages of the conversation in parts.
    command get_messages_page(GetMessagesPageParams {
        /// The `nextCursor` of the part before; the first part where it is missing.
        cursor: Opt<Str>,
        /// How many messages at most: 100 where it is missing, and never more than 256.
        limit: Opt<Count>,
    }) -> MessagesPage [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        errors {
            SessionChanging "Cannot page messages while the session is changing" => "a run is going on";
            StaleCursor "RPC message cursor is stale" => "the conversation is another one since the part before";
        }
        example {"limit": 1} -> {"messages": [{"role": "user", "content": "Hello!", "timestamp": 1733234567890}], "totalMessages": 2};
    }

    /// Where a conversation was handed over.
    record HandedOver [since "omp@18.2"] {
        /// The file with what was handed over, where one was written.
        savedPath: Opt<Str>,
    }

    /// Begins a new session with what the model says of the old one. Null where nothing was handed over.
    command handoff(HandoffParams {
        /// What the model should take care of.
        customInstructions: Opt<Str>,
    }) -> Nullable<HandedOver> [since "omp@18.2"] {
        answer: Done;
        run: Replaces;
        lane: Session;
        timeout: Never;
        example {} -> {"savedPath": "/path/to/handoff.md"};
    }

    /// A prompt was dealt with, or not, without the model: a command of an extension did it.
    event prompt_result(PromptResult {
        /// The id of the prompt.
        id: Opt<Any>,
        /// Whether the model is asked. Where it is not, no run follows.
        agentInvoked: Bool,
    }) [since "omp@18.2"] {
        run: HoldsIf(agentInvoked);
        example {"type": "prompt_result", "id": "req-1", "agentInvoked": false};
    }

    /// The agent waits before it tries again after a transient error.
    event auto_retry_start(OmpAutoRetryStart {
        /// The number of this retry, from 1.
        attempt: Count,
        /// The maximum number.
        maxAttempts: Count,
        /// The delay in milliseconds.
        delayMs: Num,
        /// The error message.
        errorMessage: Str,
        /// What kind of error it is, as a number.
        errorId: Opt<Num>,
    }) [since "omp@18.2"] {
        run: Holds;
        example {
            "type": "auto_retry_start", "attempt": 1, "maxAttempts": 10, "delayMs": 489.5, "errorMessage": "529 overloaded"
        };
    }

    /// Another model takes the place of one that fails.
    event retry_fallback_applied(RetryFallbackApplied {
        /// The model that failed.
        from: Str,
        /// The other one.
        to: Str,
        /// What the model is used for.
        role: Str,
    }) [since "omp@18.2"] {
        example {"type": "retry_fallback_applied", "from": "a/one", "to": "b/two", "role": "default"};
    }

    /// The other model has answered.
    event retry_fallback_succeeded(RetryFallbackSucceeded {
        /// It.
        model: Str,
        /// What it is used for.
        role: Str,
    }) [since "omp@18.2"] {
        example {"type": "retry_fallback_succeeded", "model": "b/two", "role": "default"};
    }

    /// Another model is in use.
    event model_changed(ModelChanged {}) [since "omp@18.2"] {
        example {"type": "model_changed"};
    }

    /// What is wrong with the settings is something else now.
    event config_warnings_changed(ConfigWarningsChanged {}) [since "omp@18.2"] {
        example {"type": "config_warnings_changed"};
    }

    /// What the advisor cost is more now.
    event advisor_cost_changed(AdvisorCostChanged {}) [since "omp@18.2"] {
        example {"type": "advisor_cost_changed"};
    }

    /// The advisor has nothing more to say.
    event advisor_yielded(AdvisorYielded {}) [since "omp@18.2"] {
        example {"type": "advisor_yielded"};
    }

    /// The todo list was emptied, for everything in it is done.
    event todo_auto_clear(TodoAutoClear {}) [since "omp@18.2"] {
        example {"type": "todo_auto_clear"};
    }

    /// Another agent wrote to this one.
    event irc_message(IrcMessage {
        /// What it wrote.
        message: CustomMessage,
    }) [since "omp@18.2"] {
        example {"type": "irc_message", "message": {
            "role": "custom", "customType": "irc", "content": "Are you there?", "display": true, "timestamp": 1733234567890
        }};
    }

    /// The agent has something to tell the person.
    event notice(Notice {
        /// `info`, `warning` or `error`.
        level: Str,
        /// What it has to tell.
        message: Str,
        /// Which part of the agent says so.
        source: Opt<Str>,
    }) [since "omp@18.2"] {
        example {"type": "notice", "level": "info", "message": "The model has no fast mode.", "source": "priority"};
    }

    /// The model thinks more, or less, from here on.
    event thinking_level_changed(OmpThinkingLevelChanged {
        /// The level; absent where the model cannot think.
        thinkingLevel: Opt<ThinkingLevel>,
        /// The level that was chosen, where that is another one.
        configured: Opt<Str>,
        /// What the level `auto` stands for in this turn.
        resolved: Opt<Str>,
    }) [since "omp@18.2"] {
        example {"type": "thinking_level_changed", "thinkingLevel": "high"};
    }

    /// The goal that the agent works towards is another one, or has come closer.
    event goal_updated(GoalUpdated {
        /// The goal; null where there is none.
        goal: Nullable<Object>,
        /// Whether the agent works towards it.
        state: Opt<Object>,
    }) [since "omp@18.2"] {
        example {"type": "goal_updated", "goal": null};
    }

    /// A tool has something to show that is in no result.
    event tool_stream_update(ToolStreamUpdate {
        /// The id of the call.
        toolCallId: Str,
        /// The tool's name.
        toolName: Str,
        /// What it has to show.
        update: Any,
    }) [since "omp@18.2"] {
        example {"type": "tool_stream_update", "toolCallId": "call_1", "toolName": "bash", "update": {}};
    }

    /// A command that a prompt began with has something to say.
    event command_output(CommandOutput {
        /// What.
        text: Str,
    }) [since "omp@18.2"] {
        example {"type": "command_output", "text": "Nothing to compact."};
    }

    /// The session has another name, or is another one.
    event session_info_update(SessionInfoUpdate {
        /// Its name.
        title: Opt<Str>,
        /// Its id.
        sessionId: Str,
    }) [since "omp@18.2"] {
        example {"type": "session_info_update", "title": "my-feature-work", "sessionId": "abc123"};
    }

    /// The model or its thinking was changed by a command that a prompt began with.
    event config_update(ConfigUpdate {
        /// The model.
        model: Opt<Model>,
        /// The thinking level.
        thinkingLevel: Opt<ThinkingLevel>,
    }) [since "omp@18.2"] {
        example {"type": "config_update", "thinkingLevel": "high"};
    }
}
