//! The state of the agent for extensions.

use crate::dialects::pi::commands::CommandInfo;
use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Map, Nullable, Num, Object, Opt, OptNull, Str};
use crate::types::model::{Model, ThinkingLevel};

protocol! {
    /// A tool of the agent.
    record KnownTool {
        /// Name of the tool.
        name: Str,
        /// Description for the model.
        description: Str,
        /// JSON Schema of the arguments.
        parameters: Object,
        ;
        example {"name": "ls", "description": "Lists a folder", "parameters": {"type": "object", "properties": {}}}
    }

    /// The use of the model's context window.
    record ContextUsage {
        /// Estimated number of tokens in the context; null if unknown, as directly after a compaction.
        tokens: Nullable<Count>,
        /// Size of the context window in tokens.
        contextWindow: Count,
        /// Used share of the context window in percent; null if unknown.
        percent: Nullable<Num>,
        ;
        example {"tokens": 51200, "contextWindow": 200000, "percent": 25.6}
    }

    /// The state of the agent. The first `state` frame and the answer to `get_state` hold all members. Later `state`
    /// frames hold only the changes since the previous one.
    record HostState {
        /// `true` if no run, retry or compaction is in progress.
        idle: Opt<Bool>,
        /// Number of messages that wait for a run.
        pendingMessages: Opt<Count>,
        /// The current model, or null if there is none.
        model: OptNull<Model>,
        /// Models available to the agent.
        models: Opt<List<Model>>,
        /// Thinking level of the model.
        thinkingLevel: Opt<ThinkingLevel>,
        /// Id of the session.
        sessionId: Opt<Str>,
        /// Path of the session file; null if the session is not stored.
        sessionFile: OptNull<Str>,
        /// Name of the session, or null if it has none.
        sessionName: OptNull<Str>,
        /// System prompt of the session.
        systemPrompt: Opt<Str>,
        /// Use of the context window; null without a model.
        contextUsage: OptNull<ContextUsage>,
        /// All tools of the agent.
        tools: Opt<List<KnownTool>>,
        /// Names of the tools that the model can call.
        activeTools: Opt<List<Str>>,
        /// The commands that a prompt can invoke with `/name`.
        commands: Opt<List<CommandInfo>>,
        /// Flags from the command line: `true`, or the text.
        flags: Opt<Map<Any>>,
        ;
        example {"idle": false, "pendingMessages": 0, "sessionName": null}
    }

    /// The entries of the session, as in its file.
    record SessionEntries {
        /// Header of the session file.
        header: Opt<Object>,
        /// The entries in the order of the file.
        entries: List<Object>,
        /// Id of the current entry; null in an empty session.
        leafId: Nullable<Str>,
        ;
        example {
            "leafId": "a1b2c3d4",
            "entries": [{
                "type": "custom", "id": "a1b2c3d4", "parentId": null, "timestamp": "2026-01-02T03:04:05.678Z",
                "customType": "my-state", "data": {"n": 1}
            }]
        }
    }
}
