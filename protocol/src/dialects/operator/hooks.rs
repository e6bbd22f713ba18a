//! The events that the published sources of Operator send and its document does not name.
//!
//! Source: the engine, the agent and the types of hooks among the published sources. Those without members are named there, and
//! what they carry is kept as it comes.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Num, Object, Opt, OptNull, Str};

use super::types::OperatorMessage;

protocol! {
    /// A prompt has reached the agent.
    event input(OperatorInput {
        /// The words.
        text: Str,
        /// Where they come from; `rpc` for prompts of this protocol.
        source: Opt<Str>,
    }) [since "operator@live"] {
        example {"type": "input", "text": "Hi", "source": "rpc"};
    }

    /// The system prompt was built, and a run will begin.
    event before_agent_start(OperatorBeforeAgentStart {
        /// The user's words.
        prompt: Str,
        /// The whole system prompt.
        system_prompt: OptNull<Str>,
    }) [since "operator@live"] {
        example {"type": "before_agent_start", "prompt": "Hi", "system_prompt": "You are an agent."};
    }

    /// The messages that the model will be told.
    event context(OperatorContext {
        /// Them.
        messages: List<OperatorMessage>,
    }) [since "operator@live"] {
        example {"type": "context", "messages": []};
    }

    /// A request to the model will be made. The agent sends the key of the provider with it, so clients drop what it carries when they
    /// read it, and show its type alone.
    event before_provider_request(OperatorBeforeProviderRequest {}) [since "operator@live"] {
        example {"type": "before_provider_request"};
    }

    /// The model has answered.
    event after_provider_response(OperatorAfterProviderResponse {
        /// The model, as the agent keeps it.
        model: OptNull<Any>,
        /// Its answer.
        response: OptNull<OperatorMessage>,
    }) [since "operator@live"] {
        example {
            "type": "after_provider_response", "model": {"id": "gpt-x"},
            "response": {"contents": [{"type": "text", "content": "Hello"}], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"}
        };
    }

    /// A tool will run.
    event tool_call(OperatorToolCalled {
        /// The call's id.
        tool_call_id: Str,
        /// The tool's name.
        tool_name: Str,
        /// The arguments.
        input: Object,
    }) [since "operator@live"] {
        example {
            "type": "tool_call", "tool_call_id": "call_1", "tool_name": "read", "input": {"path": "a.txt"}
        };
    }

    /// What a tool has given so far.
    record OperatorPartialResult [since "operator@live"] {
        /// The id of the call.
        id: Str,
        /// What the tool says.
        content: Str,
        /// Whether the tool failed.
        is_error: Opt<Bool>,
        /// Facts of the tool.
        metadata: OptNull<Object>,
        /// Whether the run stops here.
        terminate: Opt<Bool>,
        /// What to say when it stops.
        terminate_message: OptNull<Str>,
    }

    /// A tool that runs has something to show.
    event tool_execution_update(OperatorToolExecutionUpdate {
        /// What there is so far.
        partial_tool_result: OperatorPartialResult,
    }) [since "operator@live"] {
        example {
            "type": "tool_execution_update", "partial_tool_result": {"id": "call_1", "content": "he", "is_error": false}
        };
    }

    /// A tool has returned.
    event tool_result(OperatorToolReturned {
        /// The call's id.
        tool_call_id: Str,
        /// The tool's name.
        tool_name: Str,
        /// The arguments.
        input: Object,
        /// What the tool says.
        content: Str,
        /// Whether it failed.
        is_error: Bool,
    }) [since "operator@live"] {
        example {
            "type": "tool_result", "tool_call_id": "call_1", "tool_name": "read", "input": {"path": "a.txt"},
            "content": "hello", "is_error": false
        };
    }

    /// A tool broke; its end follows.
    event tool_execution_failure(OperatorToolExecutionFailure {
        /// The tool's name.
        tool_name: Str,
        /// The call's id.
        tool_call_id: Str,
        /// The arguments.
        input: Object,
        /// What went wrong.
        error: Str,
    }) [since "operator@live"] {
        example {
            "type": "tool_execution_failure", "tool_name": "read", "tool_call_id": "call_1", "input": {"path": "a.txt"},
            "error": "it broke"
        };
    }

    /// A queue of words of the user.
    strings OperatorQueue(open) [since "operator@live"] {
        /// They reach the model when the tools that run are done.
        "steering",
        /// They reach the model when the turn is over.
        "followup",
    }

    /// Words of the user were queued. Nothing is said when they are taken out.
    event queue_update(OperatorQueueUpdate {
        /// The queue.
        queue: OperatorQueue,
        /// The message that was queued.
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
        /// What went wrong.
        error: Str,
    }) [since "operator@live"] {
        example {"type": "agent_error", "error": "overloaded"};
    }

    /// The session is written.
    event save_point(OperatorSavePoint {}) [since "operator@live"] {
        example {"type": "save_point"};
    }

    /// Nothing more is to be done: the run is over. Not sent after a failure, and not while words of the user are queued.
    event settled(OperatorSettled {}) [since "operator@live"] {
        run: Ends;
        example {"type": "settled"};
    }

    /// A failed request will be made again after a pause, in a run of its own.
    event retry_start(OperatorRetryStart {
        /// The number of the attempt, from 1.
        attempt: Count,
        /// How often it is tried at most.
        max_retries: Opt<Count>,
    }) [since "operator@live"] {
        run: Holds;
        example {"type": "retry_start", "attempt": 1, "max_retries": 3};
    }

    /// An attempt is judged; the first failure has number 0.
    event retry_end(OperatorRetryEnd {
        /// The number of the attempt.
        attempt: Count,
        /// Whether it went well.
        success: Bool,
        /// What went wrong.
        error: OptNull<Str>,
    }) [since "operator@live"] {
        example {"type": "retry_end", "attempt": 0, "success": false, "error": "overloaded"};
    }

    /// A session begins.
    event session_start(OperatorSessionStart {
        /// Why, as in `fork`.
        reason: Str,
        /// The file of the session before.
        previous_session_file: OptNull<Str>,
    }) [since "operator@live"] {
        example {"type": "session_start", "reason": "fork", "previous_session_file": null};
    }

    /// The session is left.
    event session_shutdown(OperatorSessionShutdown {
        /// Why, as in `new`.
        reason: Str,
        /// The file of the session that follows.
        target_session_file: OptNull<Str>,
    }) [since "operator@live"] {
        example {"type": "session_shutdown", "reason": "new", "target_session_file": null};
    }

    /// Another session will be opened.
    event session_before_switch(OperatorSessionBeforeSwitch {
        /// Why.
        reason: Str,
        /// Its file.
        target_session_file: OptNull<Str>,
    }) [since "operator@live"] {
        example {
            "type": "session_before_switch", "reason": "resume", "target_session_file": "/path/to/session.jsonl"
        };
    }

    /// The session will be forked.
    event session_before_fork(OperatorSessionBeforeFork {
        /// From which entry.
        entry_id: Str,
        /// Whether the entry itself is kept, as in `at`.
        position: Opt<Str>,
    }) [since "operator@live"] {
        example {"type": "session_before_fork", "entry_id": "aaaa1111", "position": "at"};
    }

    /// The conversation will be compacted.
    event session_before_compact(OperatorSessionBeforeCompact {
        /// What will be summed up, and what is kept.
        preparation: OptNull<Object>,
        /// The entries of the branch.
        branch_entries: Opt<List<Any>>,
        /// The extra instructions.
        custom_instructions: OptNull<Str>,
    }) [since "operator@live"] {
        run: Holds;
        example {
            "type": "session_before_compact", "preparation": {}, "branch_entries": [], "custom_instructions": null
        };
    }

    /// The entry that stands for what was compacted.
    record OperatorCompactionEntry(type = "compaction") [since "operator@live"] {
        /// Its id.
        id: Opt<Str>,
        /// When, in seconds since the epoch.
        timestamp: Opt<Any>,
        /// The entry before it.
        parent_id: OptNull<Str>,
        /// The summary.
        summary: OptNull<Str>,
        /// The first entry that is kept.
        first_kept_entry_id: OptNull<Str>,
        /// How many tokens the context had.
        tokens_before: OptNull<Num>,
        /// Facts of who made it.
        details: OptNull<Any>,
        /// Whether an extension made it.
        from_hook: OptNull<Bool>,
        ;
        example {"type": "compaction", "id": "bbbb2222", "summary": "They said hello.", "tokens_before": 900}
    }

    /// The conversation was compacted.
    event session_compact(OperatorSessionCompact {
        /// The summary as an entry of the session.
        compaction_entry: OptNull<OperatorCompactionEntry>,
        /// Whether an extension made it.
        from_extension: Opt<Bool>,
    }) [since "operator@live"] {
        run: MayEnd;
        example {
            "type": "session_compact", "compaction_entry": {"type": "compaction", "id": "bbbb2222", "summary": "They said hello."},
            "from_extension": false
        };
    }

    /// Another place in the tree of the session will be gone to.
    event session_before_tree(OperatorSessionBeforeTree {}) [since "operator@live"] {
        example {"type": "session_before_tree"};
    }

    /// Another place in the tree of the session was gone to.
    event session_tree(OperatorSessionTree {}) [since "operator@live"] {
        example {"type": "session_tree"};
    }

    /// Work of a subagent begins.
    event subagent_start(OperatorSubagentStart {}) [since "operator@live"] {
        example {"type": "subagent_start"};
    }

    /// Work of a subagent is over.
    event subagent_end(OperatorSubagentEnd {}) [since "operator@live"] {
        example {"type": "subagent_end"};
    }

    /// Another model was chosen.
    event model_select(OperatorModelSelect {}) [since "operator@live"] {
        example {"type": "model_select"};
    }

    /// Another thinking level was chosen.
    event thinking_level_select(OperatorThinkingLevelSelect {}) [since "operator@live"] {
        example {"type": "thinking_level_select"};
    }

    /// The user ran a shell command.
    event user_bash(OperatorUserBash {}) [since "operator@live"] {
        example {"type": "user_bash"};
    }

    /// Skills, prompts and the like are looked for.
    event resources_discover(OperatorResourcesDiscover {}) [since "operator@live"] {
        example {"type": "resources_discover"};
    }

    /// What the agent works towards has changed.
    event goal_update(OperatorGoalUpdate {}) [since "operator@live"] {
        example {"type": "goal_update"};
    }
}
