//! What an extension can look at.

use crate::dialects::pi::commands::CommandInfo;
use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Map, Nullable, Num, Object, Opt, OptNull, Str};
use crate::types::model::{Model, ThinkingLevel};

protocol! {
    /// A tool that the agent has.
    record KnownTool {
        /// Its name.
        name: Str,
        /// A description for the model.
        description: Str,
        /// A JSON Schema of its arguments.
        parameters: Object,
        ;
        example {"name": "ls", "description": "Lists a folder", "parameters": {"type": "object", "properties": {}}}
    }

    /// How much of the model's context is in use.
    record ContextUsage {
        /// Tokens in it, estimated; null where nobody knows, as right after a compaction.
        tokens: Nullable<Count>,
        /// How many there is room for.
        contextWindow: Count,
        /// The share that is full, in percent; null where nobody knows.
        percent: Nullable<Num>,
        ;
        example {"tokens": 51200, "contextWindow": 200000, "percent": 25.6}
    }

    /// What the agent is and does. In a `state` frame only what has changed since the last one; whole in an
    /// answer to `get_state` and in `initialize`.
    record HostState {
        /// Whether no run, retry or compaction is going on.
        idle: Opt<Bool>,
        /// Messages that wait for a run.
        pendingMessages: Opt<Count>,
        /// The model in use, or null where there is none.
        model: OptNull<Model>,
        /// The models that can be used.
        models: Opt<List<Model>>,
        /// The model's thinking level.
        thinkingLevel: Opt<ThinkingLevel>,
        /// The session's id.
        sessionId: Opt<Str>,
        /// The session's file; null where nothing is kept.
        sessionFile: OptNull<Str>,
        /// The session's name, or null where it has none.
        sessionName: OptNull<Str>,
        /// What the model is told beforehand.
        systemPrompt: Opt<Str>,
        /// How much of the model's context is in use; null without a model.
        contextUsage: OptNull<ContextUsage>,
        /// All tools that there are.
        tools: Opt<List<KnownTool>>,
        /// The names of those that the model can call.
        activeTools: Opt<List<Str>>,
        /// The commands that a prompt can invoke with `/name`.
        commands: Opt<List<CommandInfo>>,
        /// The flags that the command line gave: true, or the text.
        flags: Opt<Map<Any>>,
        ;
        example {"idle": false, "pendingMessages": 0, "sessionName": null}
    }

    /// The session's entries, as they stand in its file.
    record SessionEntries {
        /// The head of the session's file.
        header: Opt<Object>,
        /// The entries in the order of the file.
        entries: List<Object>,
        /// The entry at which the conversation is; null where it is empty.
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
