//! Commands and events of omp about subagents.
//!
//! Source: the types of RPC mode and of the tool `task` in the package of omp 18.2.3.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Num, Object, Opt, Str};
use crate::types::message::AgentMessage;

protocol! {
    /// The detail of the events about subagents.
    strings SubagentLevel(closed) [since "omp@18.2"] {
        /// No events about subagents.
        "off",
        /// Start, end and progress of each subagent.
        "progress",
        /// Start, end, progress and the subagent's own events.
        "events",
    }

    /// The detail of the events about subagents that applies from here on.
    record SubagentSubscription [since "omp@18.2"] {
        /// Detail of the events.
        level: SubagentLevel,
    }

    /// Sets the detail of the events about subagents.
    command set_subagent_subscription(SetSubagentSubscriptionParams {
        /// Detail of the events.
        level: SubagentLevel,
    }) -> SubagentSubscription [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        example {"level": "events"} -> {"level": "events"};
    }

    /// The progress of a subagent.
    record SubagentProgress [since "omp@18.2"] {
        /// Index among the subagents that were started together, from 0.
        index: Count,
        /// Id of the subagent.
        id: Str,
        /// Kind of the agent.
        agent: Str,
        /// Source of the definition of this kind, as in `bundled`.
        agentSource: Str,
        /// Status of the subagent, as in `running`.
        status: Str,
        /// The complete task, with all instructions.
        task: Str,
        /// The task as assigned.
        assignment: Opt<Str>,
        /// Short description of the task.
        description: Opt<Str>,
        /// Purpose of the last tool call.
        lastIntent: Opt<Str>,
        /// Name of the running tool.
        currentTool: Opt<Str>,
        /// Arguments of the running tool, as text.
        currentToolArgs: Opt<Str>,
        /// Start of the running tool in milliseconds since the epoch.
        currentToolStartMs: Opt<Num>,
        /// Tools that ran last.
        recentTools: List<Object>,
        /// The latest lines of output.
        recentOutput: List<Str>,
        /// Number of tool calls.
        toolCount: Count,
        /// Number of answers of the model.
        requests: Count,
        /// Tokens used so far, without those from the provider's cache.
        tokens: Count,
        /// Number of tokens in the subagent's context.
        contextTokens: Opt<Count>,
        /// Size of the subagent's context window in tokens.
        contextWindow: Opt<Count>,
        /// Cost in US dollars.
        cost: Num,
        /// Duration of the work in milliseconds.
        durationMs: Num,
        /// Models requested for the subagent.
        modelOverride: Opt<Any>,
        /// Model in use, with the thinking level.
        resolvedModel: Opt<Str>,
        /// Model in use, without the thinking level.
        resolvedModelIdentity: Opt<Str>,
        /// State of a pending retry.
        retryState: Opt<Object>,
        /// Failure of the last retry.
        retryFailure: Opt<Object>,
    }

    /// The known data of a subagent.
    record SubagentSnapshot [since "omp@18.2"] {
        /// Id of the subagent.
        id: Str,
        /// Index among the subagents that were started together, from 0.
        index: Count,
        /// Kind of the agent.
        agent: Str,
        /// Source of the definition of this kind, as in `bundled`.
        agentSource: Str,
        /// Short description of the task.
        description: Opt<Str>,
        /// Status of the subagent, as in `running`.
        status: Str,
        /// The complete task, with all instructions.
        task: Opt<Str>,
        /// The task as assigned.
        assignment: Opt<Str>,
        /// Path of the subagent's session file.
        sessionFile: Opt<Str>,
        /// Time of the last update in milliseconds since the epoch.
        lastUpdate: Num,
        /// Progress of the subagent.
        progress: Opt<SubagentProgress>,
        /// Id of the tool call that started the subagent.
        parentToolCallId: Opt<Str>,
    }

    /// The subagents of the session.
    record Subagents [since "omp@18.2"] {
        /// The subagents of the session.
        subagents: List<SubagentSnapshot>,
    }

    /// Lists the known subagents.
    command get_subagents() -> Subagents [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"subagents": []};
    }

    /// A part of a subagent's session file.
    record SubagentMessages [since "omp@18.2"] {
        /// Path of the file.
        sessionFile: Str,
        /// Start of the part in bytes.
        fromByte: Count,
        /// Start of the next part in bytes.
        nextByte: Count,
        /// `true` if the file was rewritten, so that earlier parts are no longer valid.
        reset: Bool,
        /// Session entries in the part.
        entries: List<Object>,
        /// Messages among the entries.
        messages: List<AgentMessage>,
    }

    /// Reads the session of a subagent from a given position. Either `subagentId` or `sessionFile` identifies the
    /// subagent.
    command get_subagent_messages(GetSubagentMessagesParams {
        /// Id of the subagent.
        subagentId: Opt<Str>,
        /// Path of the subagent's session file.
        sessionFile: Opt<Str>,
        /// Start of the part in bytes; 0 if absent.
        fromByte: Opt<Count>,
    }) -> SubagentMessages [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {"subagentId": "First"} -> {
            "sessionFile": "/path/to/session.jsonl", "fromByte": 0, "nextByte": 512, "reset": false, "entries": [], "messages": []
        };
    }

    /// The start or end of a subagent.
    record SubagentLifecyclePayload [since "omp@18.2"] {
        /// Id of the subagent.
        id: Str,
        /// Kind of the agent.
        agent: Str,
        /// Source of the definition of this kind, as in `bundled`.
        agentSource: Str,
        /// Short description of the task.
        description: Opt<Str>,
        /// Status: `started`, `completed`, `failed` or `aborted`.
        status: Str,
        /// Path of the subagent's session file.
        sessionFile: Opt<Str>,
        /// Id of the tool call that started the subagent.
        parentToolCallId: Opt<Str>,
        /// Index among the subagents that were started together, from 0.
        index: Count,
        /// `true` if the agent continues while the subagent works.
        detached: Opt<Bool>,
    }

    /// A subagent started or ended.
    event subagent_lifecycle(SubagentLifecycle {
        /// The subagent with its status.
        payload: SubagentLifecyclePayload,
    }) [since "omp@18.2"] {
        example {"type": "subagent_lifecycle", "payload": {
            "id": "First", "agent": "task", "agentSource": "bundled", "status": "started", "index": 0, "detached": true
        }};
    }

    /// A subagent with its progress.
    record SubagentReport [since "omp@18.2"] {
        /// Index among the subagents that were started together, from 0.
        index: Count,
        /// Kind of the agent.
        agent: Str,
        /// Source of the definition of this kind, as in `bundled`.
        agentSource: Str,
        /// The complete task, with all instructions.
        task: Str,
        /// Id of the tool call that started the subagent.
        parentToolCallId: Opt<Str>,
        /// The task as assigned.
        assignment: Opt<Str>,
        /// Progress of the subagent.
        progress: SubagentProgress,
        /// Path of the subagent's session file.
        sessionFile: Opt<Str>,
        /// `true` if the agent continues while the subagent works.
        detached: Opt<Bool>,
    }

    /// A subagent made progress.
    event subagent_progress(SubagentProgressEvent {
        /// The subagent with its progress.
        payload: SubagentReport,
    }) [since "omp@18.2"] {
        example {"type": "subagent_progress", "payload": {
            "index": 0, "agent": "task", "agentSource": "bundled", "task": "Count the files.",
            "progress": {
                "index": 0, "id": "First", "agent": "task", "agentSource": "bundled", "status": "running",
                "task": "Count the files.", "recentTools": [], "recentOutput": [], "toolCount": 0, "requests": 1,
                "tokens": 129, "cost": 0.0001, "durationMs": 162
            }
        }};
    }

    /// An event of a subagent.
    record SubagentEventPayload [since "omp@18.2"] {
        /// Id of the subagent.
        id: Str,
        /// Event of the subagent.
        event: Object,
    }

    /// A subagent emitted an event.
    event subagent_event(SubagentEvent {
        /// The event with the id of the subagent.
        payload: SubagentEventPayload,
    }) [since "omp@18.2"] {
        example {"type": "subagent_event", "payload": {"id": "First", "event": {"type": "agent_start"}}};
    }
}
