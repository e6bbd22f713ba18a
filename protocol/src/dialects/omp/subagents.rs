//! What omp tells of the agents that an agent sets to work.
//!
//! Source: the types of RPC mode and of the tool `task` in the package of omp 18.2.3.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Num, Object, Opt, Str};
use crate::types::message::AgentMessage;

protocol! {
    /// How much of subagents a client is told.
    strings SubagentLevel(closed) [since "omp@18.2"] {
        /// Nothing.
        "off",
        /// When they begin and end, and how far they are.
        "progress",
        /// Their events, too.
        "events",
    }

    /// How much is told from here on.
    record SubagentSubscription [since "omp@18.2"] {
        /// That much.
        level: SubagentLevel,
    }

    /// Says how much the client is told of subagents.
    command set_subagent_subscription(SetSubagentSubscriptionParams {
        /// How much.
        level: SubagentLevel,
    }) -> SubagentSubscription [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        example {"level": "events"} -> {"level": "events"};
    }

    /// How far a subagent is.
    record SubagentProgress [since "omp@18.2"] {
        /// Its place among those that were begun together, from 0.
        index: Count,
        /// Its id.
        id: Str,
        /// The kind of agent.
        agent: Str,
        /// Where that kind comes from, as in `bundled`.
        agentSource: Str,
        /// What it is doing, as in `running`.
        status: Str,
        /// What it was asked for, with everything that it was told.
        task: Str,
        /// What it was asked for.
        assignment: Opt<Str>,
        /// That, in few words.
        description: Opt<Str>,
        /// What its last call is for.
        lastIntent: Opt<Str>,
        /// The tool that runs.
        currentTool: Opt<Str>,
        /// The arguments of that tool, as text.
        currentToolArgs: Opt<Str>,
        /// When that tool began, in milliseconds since the epoch.
        currentToolStartMs: Opt<Num>,
        /// The tools that ran last.
        recentTools: List<Object>,
        /// The lines that it wrote last.
        recentOutput: List<Str>,
        /// How many calls of tools it made.
        toolCount: Count,
        /// How many answers of the model it got.
        requests: Count,
        /// Tokens used so far, without those from the provider's cache.
        tokens: Count,
        /// Tokens in its context.
        contextTokens: Opt<Count>,
        /// The size of that context.
        contextWindow: Opt<Count>,
        /// What it cost, in US dollars.
        cost: Num,
        /// How long it has worked, in milliseconds.
        durationMs: Num,
        /// The models that it was told to use.
        modelOverride: Opt<Any>,
        /// The model that it uses, with the thinking level.
        resolvedModel: Opt<Str>,
        /// The model that it uses.
        resolvedModelIdentity: Opt<Str>,
        /// The retry that it waits for.
        retryState: Opt<Object>,
        /// Why it gave up.
        retryFailure: Opt<Object>,
    }

    /// What is known of a subagent.
    record SubagentSnapshot [since "omp@18.2"] {
        /// Its id.
        id: Str,
        /// Its place among those that were begun together, from 0.
        index: Count,
        /// The kind of agent.
        agent: Str,
        /// Where that kind comes from.
        agentSource: Str,
        /// What it was asked for, in few words.
        description: Opt<Str>,
        /// What it is doing, as in `running`.
        status: Str,
        /// What it was asked for, with everything that it was told.
        task: Opt<Str>,
        /// What it was asked for.
        assignment: Opt<Str>,
        /// Its session's file.
        sessionFile: Opt<Str>,
        /// When it was last heard of, in milliseconds since the epoch.
        lastUpdate: Num,
        /// How far it is.
        progress: Opt<SubagentProgress>,
        /// The call of the tool that began it.
        parentToolCallId: Opt<Str>,
    }

    /// The subagents of the session.
    record Subagents [since "omp@18.2"] {
        /// Them.
        subagents: List<SubagentSnapshot>,
    }

    /// Lists the subagents that are known.
    command get_subagents() -> Subagents [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"subagents": []};
    }

    /// A part of a subagent's session file.
    record SubagentMessages [since "omp@18.2"] {
        /// The file.
        sessionFile: Str,
        /// Where the part begins, in bytes.
        fromByte: Count,
        /// Where the next part begins, in bytes.
        nextByte: Count,
        /// Whether the file was begun anew: what was read before counts no more.
        reset: Bool,
        /// The entries.
        entries: List<Object>,
        /// The messages among them.
        messages: List<AgentMessage>,
    }

    /// Reads the session of a subagent, from where the reader was. One of `subagentId` and `sessionFile` says which one.
    command get_subagent_messages(GetSubagentMessagesParams {
        /// The subagent.
        subagentId: Opt<Str>,
        /// Its session's file.
        sessionFile: Opt<Str>,
        /// Where to begin, in bytes; 0 where it is missing.
        fromByte: Opt<Count>,
    }) -> SubagentMessages [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {"subagentId": "First"} -> {
            "sessionFile": "/path/to/session.jsonl", "fromByte": 0, "nextByte": 512, "reset": false, "entries": [], "messages": []
        };
    }

    /// A subagent that begins or ends.
    record SubagentLife [since "omp@18.2"] {
        /// Its id.
        id: Str,
        /// The kind of agent.
        agent: Str,
        /// Where that kind comes from.
        agentSource: Str,
        /// What it was asked for, in few words.
        description: Opt<Str>,
        /// `started`, `completed`, `failed` or `aborted`.
        status: Str,
        /// Its session's file.
        sessionFile: Opt<Str>,
        /// The call of the tool that began it.
        parentToolCallId: Opt<Str>,
        /// Its place among those that were begun together, from 0.
        index: Count,
        /// Whether the agent goes on beside it.
        detached: Opt<Bool>,
    }

    /// A subagent began or ended.
    event subagent_lifecycle(SubagentLifecycle {
        /// It.
        payload: SubagentLife,
    }) [since "omp@18.2"] {
        example {"type": "subagent_lifecycle", "payload": {
            "id": "First", "agent": "task", "agentSource": "bundled", "status": "started", "index": 0, "detached": true
        }};
    }

    /// A subagent and how far it is.
    record SubagentReport [since "omp@18.2"] {
        /// Its place among those that were begun together, from 0.
        index: Count,
        /// The kind of agent.
        agent: Str,
        /// Where that kind comes from.
        agentSource: Str,
        /// What it was asked for, with everything that it was told.
        task: Str,
        /// The call of the tool that began it.
        parentToolCallId: Opt<Str>,
        /// What it was asked for.
        assignment: Opt<Str>,
        /// How far it is.
        progress: SubagentProgress,
        /// Its session's file.
        sessionFile: Opt<Str>,
        /// Whether the agent goes on beside it.
        detached: Opt<Bool>,
    }

    /// A subagent has come further.
    event subagent_progress(SubagentProgressed {
        /// How far.
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

    /// An event and the subagent that it is of.
    record SubagentHappening [since "omp@18.2"] {
        /// The subagent's id.
        id: Str,
        /// The event.
        event: Object,
    }

    /// A subagent sent an event.
    event subagent_event(SubagentEvent {
        /// Which one, and the event.
        payload: SubagentHappening,
    }) [since "omp@18.2"] {
        example {"type": "subagent_event", "payload": {"id": "First", "event": {"type": "agent_start"}}};
    }
}
