//! The events of Opal: notifications of the method `agent/event`. Each also carries `session_id`.

use super::types::{OpalToolResult, OpalUsage};
use crate::dsl::protocol;
use crate::typed::{List, Object, Opt, Str};

protocol! {
    /// The agent begins to work on a prompt.
    event agent_start(OpalAgentStart {}) {
        run: Begins;
        example {"type": "agent_start", "session_id": "abc123"};
    }

    /// The model begins a message.
    event message_start(OpalMessageStart {}) {
        example {"type": "message_start", "session_id": "abc123"};
    }

    /// A piece of text.
    event message_delta(OpalMessageDelta {
        /// The new piece.
        delta: Str,
    }) {
        example {"type": "message_delta", "session_id": "abc123", "delta": "Hello"};
    }

    /// A prompt was queued because the agent is busy.
    event message_queued(OpalMessageQueued {
        /// The prompt.
        text: Str,
    }) {
        example {"type": "message_queued", "session_id": "abc123", "text": "Second"};
    }

    /// A queued prompt has entered the conversation.
    event message_applied(OpalMessageApplied {
        /// The prompt.
        text: Str,
    }) {
        example {"type": "message_applied", "session_id": "abc123", "text": "Second"};
    }

    /// The model begins to reason.
    event thinking_start(OpalThinkingStart {}) {
        example {"type": "thinking_start", "session_id": "abc123"};
    }

    /// A piece of reasoning.
    event thinking_delta(OpalThinkingDelta {
        /// The new piece.
        delta: Str,
    }) {
        example {"type": "thinking_delta", "session_id": "abc123", "delta": "Two plus"};
    }

    /// A tool begins to run.
    event tool_execution_start(OpalToolExecutionStart {
        /// The tool's name.
        tool: Str,
        /// The call's id.
        call_id: Str,
        /// The arguments.
        args: Object,
        /// A description for people, in one line.
        meta: Opt<Str>,
    }) {
        example {
            "type": "tool_execution_start", "session_id": "abc123", "tool": "read_file", "call_id": "c1",
            "args": {"path": "notes.txt"}, "meta": "notes.txt"
        };
    }

    /// A tool is done.
    event tool_execution_end(OpalToolExecutionEnd {
        /// The tool's name.
        tool: Str,
        /// The call's id.
        call_id: Str,
        /// What came of it.
        result: OpalToolResult,
    }) {
        example {
            "type": "tool_execution_end", "session_id": "abc123", "tool": "read_file", "call_id": "c1",
            "result": {"ok": true, "output": "hello"}
        };
    }

    /// A message of the model is complete and another request follows, with tools in between.
    event turn_end(OpalTurnEnd {
        /// The message's text.
        message: Str,
    }) {
        example {"type": "turn_end", "session_id": "abc123", "message": "one two three"};
    }

    /// Tokens used so far.
    event usage_update(OpalUsageUpdate {
        /// The numbers.
        usage: OpalUsage,
    }) {
        snapshot: true;
        example {"type": "usage_update", "session_id": "abc123", "usage": {
            "prompt_tokens": 120, "completion_tokens": 8, "total_tokens": 128, "context_window": 128000,
            "current_context_tokens": 120
        }};
    }

    /// What the agent is doing, in a few words.
    event status_update(OpalStatusUpdate {
        /// The words.
        message: Str,
    }) {
        snapshot: true;
        example {"type": "status_update", "session_id": "abc123", "message": "Reading files"};
    }

    /// The agent is done and idle.
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

    /// The run was stopped; the agent is idle.
    event agent_abort(OpalAgentAbort {}) {
        run: Ends;
        example {"type": "agent_abort", "session_id": "abc123"};
    }

    /// The agent crashed and was started again; the run it was in is lost.
    event agent_recovered(OpalAgentRecovered {}) {
        run: Ends;
        example {"type": "agent_recovered", "session_id": "abc123"};
    }

    /// The run failed; the agent is idle.
    event error(OpalRunError {
        /// The error message.
        reason: Str,
    }) {
        run: Ends;
        example {"type": "error", "session_id": "abc123", "reason": "the provider refused the request"};
    }

    /// Context files of the project were found.
    event context_discovered(OpalContextDiscovered {
        /// Their paths.
        files: List<Str>,
    }) {
        example {"type": "context_discovered", "session_id": "abc123", "files": ["/path/to/project/AGENTS.md"]};
    }

    /// A skill was activated.
    event skill_loaded(OpalSkillLoaded {
        /// The skill's name.
        name: Str,
        /// What it is for.
        description: Str,
    }) {
        example {"type": "skill_loaded", "session_id": "abc123", "name": "greeter", "description": "Greets"};
    }

    /// An event of a child agent.
    event sub_agent_event(OpalSubAgentEvent {
        /// The tool call that started the child.
        parent_call_id: Str,
        /// The child's session.
        sub_session_id: Str,
        /// The child's event, with its `type` and without a session.
        inner: Object,
    }) {
        example {
            "type": "sub_agent_event", "session_id": "abc123", "parent_call_id": "s1", "sub_session_id": "sub-1",
            "inner": {"type": "message_delta", "delta": "Hi"}
        };
    }

    /// An internal event of the server that has no form of its own. To be ignored.
    event unknown(OpalUnknown {
        /// A text form of it.
        raw: Str,
    }) {
        undocumented: true;
        example {"type": "unknown", "session_id": "abc123", "raw": "request started"};
    }
}
