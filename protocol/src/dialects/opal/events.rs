//! The events of Opal: notifications of the method `agent/event`. Each also carries `session_id`.

use super::types::{OpalToolResult, OpalUsage};
use crate::dsl::protocol;
use crate::typed::{List, Object, Opt, Str};

protocol! {
    /// The agent starts to work on a prompt.
    event agent_start(OpalAgentStart {}) {
        run: Begins;
        example {"type": "agent_start", "session_id": "abc123"};
    }

    /// The model starts a message.
    event message_start(OpalMessageStart {}) {
        example {"type": "message_start", "session_id": "abc123"};
    }

    /// A piece of text.
    event message_delta(OpalMessageDelta {
        /// The new piece of text.
        delta: Str,
    }) {
        example {"type": "message_delta", "session_id": "abc123", "delta": "Hello"};
    }

    /// The agent is busy and queued a prompt.
    event message_queued(OpalMessageQueued {
        /// Text of the queued prompt.
        text: Str,
    }) {
        example {"type": "message_queued", "session_id": "abc123", "text": "Second"};
    }

    /// A queued prompt has entered the conversation.
    event message_applied(OpalMessageApplied {
        /// Text of the prompt.
        text: Str,
    }) {
        example {"type": "message_applied", "session_id": "abc123", "text": "Second"};
    }

    /// The model starts to reason.
    event thinking_start(OpalThinkingStart {}) {
        example {"type": "thinking_start", "session_id": "abc123"};
    }

    /// A piece of reasoning.
    event thinking_delta(OpalThinkingDelta {
        /// The new piece of reasoning.
        delta: Str,
    }) {
        example {"type": "thinking_delta", "session_id": "abc123", "delta": "Two plus"};
    }

    /// A tool starts to run.
    event tool_execution_start(OpalToolExecutionStart {
        /// Name of the tool.
        tool: Str,
        /// Id of the tool call.
        call_id: Str,
        /// Arguments of the tool call.
        args: Object,
        /// One-line description of the call for the user.
        meta: Opt<Str>,
    }) {
        example {
            "type": "tool_execution_start", "session_id": "abc123", "tool": "read_file", "call_id": "c1",
            "args": {"path": "notes.txt"}, "meta": "notes.txt"
        };
    }

    /// A tool ends.
    event tool_execution_end(OpalToolExecutionEnd {
        /// Name of the tool.
        tool: Str,
        /// Id of the tool call.
        call_id: Str,
        /// Result of the tool.
        result: OpalToolResult,
    }) {
        example {
            "type": "tool_execution_end", "session_id": "abc123", "tool": "read_file", "call_id": "c1",
            "result": {"ok": true, "output": "hello"}
        };
    }

    /// A message of the model is complete and another request follows, after its tool calls.
    event turn_end(OpalTurnEnd {
        /// Text of the complete message.
        message: Str,
    }) {
        example {"type": "turn_end", "session_id": "abc123", "message": "one two three"};
    }

    /// Reports the tokens used so far.
    event usage_update(OpalUsageUpdate {
        /// Token counts of the session.
        usage: OpalUsage,
    }) {
        snapshot: true;
        example {"type": "usage_update", "session_id": "abc123", "usage": {
            "prompt_tokens": 120, "completion_tokens": 8, "total_tokens": 128, "context_window": 128000,
            "current_context_tokens": 120
        }};
    }

    /// A short description of the agent's current activity.
    event status_update(OpalStatusUpdate {
        /// Text of the description.
        message: Str,
    }) {
        snapshot: true;
        example {"type": "status_update", "session_id": "abc123", "message": "Reading files"};
    }

    /// The agent has completed its work and is idle.
    event agent_end(OpalAgentEnd {
        /// Tokens used in the session.
        usage: Opt<OpalUsage>,
    }) {
        run: Ends;
        example {"type": "agent_end", "session_id": "abc123", "usage": {
            "prompt_tokens": 240, "completion_tokens": 16, "total_tokens": 256, "context_window": 128000,
            "current_context_tokens": 120
        }};
    }

    /// The run was aborted; the agent is idle.
    event agent_abort(OpalAgentAbort {}) {
        run: Ends;
        example {"type": "agent_abort", "session_id": "abc123"};
    }

    /// The agent crashed and restarted; its current run is lost.
    event agent_recovered(OpalAgentRecovered {}) {
        run: Ends;
        example {"type": "agent_recovered", "session_id": "abc123"};
    }

    /// The run failed; the agent is idle.
    event error(OpalRunError {
        /// Error message of the run.
        reason: Str,
    }) {
        run: Ends;
        example {"type": "error", "session_id": "abc123", "reason": "the provider refused the request"};
    }

    /// The server found context files of the project.
    event context_discovered(OpalContextDiscovered {
        /// Paths of the files.
        files: List<Str>,
    }) {
        example {"type": "context_discovered", "session_id": "abc123", "files": ["/path/to/project/AGENTS.md"]};
    }

    /// A skill was activated.
    event skill_loaded(OpalSkillLoaded {
        /// Name of the skill.
        name: Str,
        /// Purpose of the skill.
        description: Str,
    }) {
        example {"type": "skill_loaded", "session_id": "abc123", "name": "greeter", "description": "Greets"};
    }

    /// An event of a subagent.
    event sub_agent_event(OpalSubAgentEvent {
        /// Id of the tool call that started the subagent.
        parent_call_id: Str,
        /// Id of the subagent's session.
        sub_session_id: Str,
        /// Event of the subagent, with its `type` and without a session.
        inner: Object,
    }) {
        example {
            "type": "sub_agent_event", "session_id": "abc123", "parent_call_id": "s1", "sub_session_id": "sub-1",
            "inner": {"type": "message_delta", "delta": "Hi"}
        };
    }

    /// An internal event of the server without a form of its own. Clients ignore it.
    event unknown(OpalUnknown {
        /// Text form of the event.
        raw: Str,
    }) {
        undocumented: true;
        example {"type": "unknown", "session_id": "abc123", "raw": "request started"};
    }
}
