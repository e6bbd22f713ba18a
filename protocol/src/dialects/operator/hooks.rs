//! The events in the published sources of Operator that its document does not name.
//!
//! Source: the engine, the agent and the types of hooks among the published sources. The sources only name events
//! without members; the content of these events is passed through unchanged.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Num, Object, Opt, OptNull, Str};

use super::types::OperatorMessage;

protocol! {
    /// The agent received a prompt.
    event input(OperatorInput {
        /// Text of the prompt.
        text: Str,
        /// Source of the prompt; `rpc` for prompts of this protocol.
        source: Opt<Str>,
    }) [since "operator@live"] {
        example {"type": "input", "text": "Hi", "source": "rpc"};
    }

    /// The system prompt is complete, and a run is about to start.
    event before_agent_start(OperatorBeforeAgentStart {
        /// Text of the user's prompt.
        prompt: Str,
        /// The complete system prompt.
        system_prompt: OptNull<Str>,
    }) [since "operator@live"] {
        example {"type": "before_agent_start", "prompt": "Hi", "system_prompt": "You are an agent."};
    }

    /// The messages for the next request to the model.
    event context(OperatorContext {
        /// Messages for the next request to the model.
        messages: List<OperatorMessage>,
    }) [since "operator@live"] {
        example {"type": "context", "messages": []};
    }

    /// A request to the model is about to be sent. The agent sends the provider's key in this event, so clients discard
    /// its content on arrival and show its type only.
    event before_provider_request(OperatorBeforeProviderRequest {}) [since "operator@live"] {
        example {"type": "before_provider_request"};
    }

    /// The model has answered.
    event after_provider_response(OperatorAfterProviderResponse {
        /// The model, as stored by the agent.
        model: OptNull<Any>,
        /// Answer of the model.
        response: OptNull<OperatorMessage>,
    }) [since "operator@live"] {
        example {
            "type": "after_provider_response", "model": {"id": "gpt-x"},
            "response": {"contents": [{"type": "text", "content": "Hello"}], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"}
        };
    }

    /// A tool is about to run.
    event tool_call(OperatorToolCallEvent {
        /// Id of the tool call.
        tool_call_id: Str,
        /// Name of the tool.
        tool_name: Str,
        /// Arguments of the tool call.
        input: Object,
    }) [since "operator@live"] {
        example {
            "type": "tool_call", "tool_call_id": "call_1", "tool_name": "read", "input": {"path": "a.txt"}
        };
    }

    /// The partial result of a tool.
    record OperatorPartialResult [since "operator@live"] {
        /// Id of the tool call.
        id: Str,
        /// Text of the result.
        content: Str,
        /// `true` if the tool failed.
        is_error: Opt<Bool>,
        /// Additional data of the tool.
        metadata: OptNull<Object>,
        /// `true` if the run stops here.
        terminate: Opt<Bool>,
        /// Message for the user when the run stops.
        terminate_message: OptNull<Str>,
    }

    /// A running tool reports progress.
    event tool_execution_update(OperatorToolExecutionUpdate {
        /// The result so far.
        partial_tool_result: OperatorPartialResult,
    }) [since "operator@live"] {
        example {
            "type": "tool_execution_update", "partial_tool_result": {"id": "call_1", "content": "he", "is_error": false}
        };
    }

    /// A tool has returned.
    event tool_result(OperatorToolResultEvent {
        /// Id of the tool call.
        tool_call_id: Str,
        /// Name of the tool.
        tool_name: Str,
        /// Arguments of the tool call.
        input: Object,
        /// Text of the result.
        content: Str,
        /// `true` if the tool failed.
        is_error: Bool,
    }) [since "operator@live"] {
        example {
            "type": "tool_result", "tool_call_id": "call_1", "tool_name": "read", "input": {"path": "a.txt"},
            "content": "hello", "is_error": false
        };
    }

    /// A tool failed with an exception; its end follows.
    event tool_execution_failure(OperatorToolExecutionFailure {
        /// Name of the tool.
        tool_name: Str,
        /// Id of the tool call.
        tool_call_id: Str,
        /// Arguments of the tool call.
        input: Object,
        /// Error message of the tool.
        error: Str,
    }) [since "operator@live"] {
        example {
            "type": "tool_execution_failure", "tool_name": "read", "tool_call_id": "call_1", "input": {"path": "a.txt"},
            "error": "it broke"
        };
    }

    /// A queue for input of the user.
    strings OperatorQueue(open) [since "operator@live"] {
        /// Delivered to the model when the running tools have ended.
        "steering",
        /// Delivered to the model at the end of the turn.
        "followup",
    }

    /// Input of the user was queued. The agent sends no event when input leaves the queue.
    event queue_update(OperatorQueueUpdate {
        /// Queue that received the input.
        queue: OperatorQueue,
        /// The queued message.
        message: OptNull<OperatorMessage>,
        /// All messages in the queue.
        messages: List<OperatorMessage>,
    }) [since "operator@live"] {
        example {
            "type": "queue_update", "queue": "steering",
            "message": {"contents": [{"type": "text", "content": "Use tabs"}], "id": "m-2", "timestamp": 1767225600.5, "role": "user"},
            "messages": [{"contents": [{"type": "text", "content": "Use tabs"}], "id": "m-2", "timestamp": 1767225600.5, "role": "user"}]
        };
    }

    /// The request to the model failed.
    event agent_error(OperatorAgentError {
        /// Error message of the request.
        error: Str,
    }) [since "operator@live"] {
        example {"type": "agent_error", "error": "overloaded"};
    }

    /// The agent wrote the session.
    event save_point(OperatorSavePoint {}) [since "operator@live"] {
        example {"type": "save_point"};
    }

    /// The agent has no further work: the run has ended. Not sent after a failure or while input of the user is queued.
    event settled(OperatorSettled {}) [since "operator@live"] {
        run: Ends;
        example {"type": "settled"};
    }

    /// The agent retries a failed request after a delay, in a new run.
    event retry_start(OperatorRetryStart {
        /// Number of the attempt, from 1.
        attempt: Count,
        /// Maximum number of retries.
        max_retries: Opt<Count>,
    }) [since "operator@live"] {
        run: Holds;
        example {"type": "retry_start", "attempt": 1, "max_retries": 3};
    }

    /// The outcome of an attempt; the first failure has number 0.
    event retry_end(OperatorRetryEnd {
        /// Number of the attempt.
        attempt: Count,
        /// `true` if the attempt succeeded.
        success: Bool,
        /// Error message of the attempt.
        error: OptNull<Str>,
    }) [since "operator@live"] {
        example {"type": "retry_end", "attempt": 0, "success": false, "error": "overloaded"};
    }

    /// A session starts.
    event session_start(OperatorSessionStart {
        /// Reason for the start, as in `fork`.
        reason: Str,
        /// Path of the previous session's file.
        previous_session_file: OptNull<Str>,
    }) [since "operator@live"] {
        example {"type": "session_start", "reason": "fork", "previous_session_file": null};
    }

    /// A session ends.
    event session_shutdown(OperatorSessionShutdown {
        /// Reason for the end, as in `new`.
        reason: Str,
        /// Path of the next session's file.
        target_session_file: OptNull<Str>,
    }) [since "operator@live"] {
        example {"type": "session_shutdown", "reason": "new", "target_session_file": null};
    }

    /// The agent is about to open another session.
    event session_before_switch(OperatorSessionBeforeSwitch {
        /// Reason for the change.
        reason: Str,
        /// Path of the new session's file.
        target_session_file: OptNull<Str>,
    }) [since "operator@live"] {
        example {
            "type": "session_before_switch", "reason": "resume", "target_session_file": "/path/to/session.jsonl"
        };
    }

    /// The agent is about to fork the session.
    event session_before_fork(OperatorSessionBeforeFork {
        /// Id of the entry for the fork.
        entry_id: Str,
        /// Position of the fork relative to the entry; `at` keeps the entry itself.
        position: Opt<Str>,
    }) [since "operator@live"] {
        example {"type": "session_before_fork", "entry_id": "aaaa1111", "position": "at"};
    }

    /// The agent is about to compact the conversation.
    event session_before_compact(OperatorSessionBeforeCompact {
        /// Plan of the compaction: the messages to summarise, and the messages to keep.
        preparation: OptNull<Object>,
        /// The entries of the branch.
        branch_entries: Opt<List<Any>>,
        /// Extra instructions for the summary.
        custom_instructions: OptNull<Str>,
    }) [since "operator@live"] {
        run: Holds;
        example {
            "type": "session_before_compact", "preparation": {}, "branch_entries": [], "custom_instructions": null
        };
    }

    /// The session entry that replaces the compacted messages.
    record OperatorCompactionEntry(type = "compaction") [since "operator@live"] {
        /// Id of the entry.
        id: Opt<Str>,
        /// Time of the entry in seconds since the epoch.
        timestamp: Opt<Any>,
        /// Id of the parent entry.
        parent_id: OptNull<Str>,
        /// Text of the summary.
        summary: OptNull<Str>,
        /// Id of the first kept entry.
        first_kept_entry_id: OptNull<Str>,
        /// Number of tokens in the context before the compaction.
        tokens_before: OptNull<Num>,
        /// Additional data of the summary's author.
        details: OptNull<Any>,
        /// `true` if an extension wrote the summary.
        from_hook: OptNull<Bool>,
        ;
        example {"type": "compaction", "id": "bbbb2222", "summary": "They said hello.", "tokens_before": 900}
    }

    /// The conversation was compacted.
    event session_compact(OperatorSessionCompact {
        /// The summary as an entry of the session.
        compaction_entry: OptNull<OperatorCompactionEntry>,
        /// `true` if an extension wrote the summary.
        from_extension: Opt<Bool>,
    }) [since "operator@live"] {
        run: MayEnd;
        example {
            "type": "session_compact", "compaction_entry": {"type": "compaction", "id": "bbbb2222", "summary": "They said hello."},
            "from_extension": false
        };
    }

    /// The session is about to move to another position in its tree.
    event session_before_tree(OperatorSessionBeforeTree {}) [since "operator@live"] {
        example {"type": "session_before_tree"};
    }

    /// The session moved to another position in its tree.
    event session_tree(OperatorSessionTree {}) [since "operator@live"] {
        example {"type": "session_tree"};
    }

    /// A subagent starts.
    event subagent_start(OperatorSubagentStart {}) [since "operator@live"] {
        example {"type": "subagent_start"};
    }

    /// A subagent ends.
    event subagent_end(OperatorSubagentEnd {}) [since "operator@live"] {
        example {"type": "subagent_end"};
    }

    /// The model was changed.
    event model_select(OperatorModelSelect {}) [since "operator@live"] {
        example {"type": "model_select"};
    }

    /// The thinking level was changed.
    event thinking_level_select(OperatorThinkingLevelSelect {}) [since "operator@live"] {
        example {"type": "thinking_level_select"};
    }

    /// The user ran a shell command.
    event user_bash(OperatorUserBash {}) [since "operator@live"] {
        example {"type": "user_bash"};
    }

    /// The agent searches for skills, prompts and other resources.
    event resources_discover(OperatorResourcesDiscover {}) [since "operator@live"] {
        example {"type": "resources_discover"};
    }

    /// The goal of the agent has changed.
    event goal_update(OperatorGoalUpdate {}) [since "operator@live"] {
        example {"type": "goal_update"};
    }
}
