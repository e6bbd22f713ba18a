//! Types of Opal's methods and events.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Nullable, Object, Opt, Str};

protocol! {
    /// Which parts of the agent are switched on.
    record OpalFeatures {
        /// Child agents.
        sub_agents: Opt<Bool>,
        /// Skills.
        skills: Opt<Bool>,
        /// MCP servers.
        mcp: Opt<Bool>,
        /// The tool that shows the agent's own state.
        debug: Opt<Bool>,
        ;
        example {"sub_agents": true, "skills": true, "mcp": false, "debug": false}
    }

    /// The model of a new session.
    record OpalModelChoice {
        /// The provider.
        provider: Str,
        /// The model's id.
        id: Str,
    }

    /// The model of a session.
    record OpalModel {
        /// The provider.
        provider: Str,
        /// The model's id.
        id: Str,
        /// The thinking level.
        thinking_level: Str,
        ;
        example {"provider": "copilot", "id": "gpt-4o", "thinking_level": "off"}
    }

    /// A model that can be chosen.
    record OpalModelInfo {
        /// Its id.
        id: Str,
        /// A name for people.
        name: Str,
        /// Its provider.
        provider: Str,
        /// Whether it can think.
        supports_thinking: Bool,
        /// The levels that it has.
        thinking_levels: Opt<List<Str>>,
    }

    /// Whether credentials were found.
    strings OpalAuthStatus(open) {
        /// At least one provider can be used.
        "ready",
        /// No provider can be used.
        "setup_required",
    }

    /// A provider and whether its credentials were found.
    record OpalAuthProvider {
        /// The provider's id.
        id: Str,
        /// A name for people.
        name: Str,
        /// How one logs in, as in `device_code` or `api_key`.
        method: Str,
        /// The environment variable that is looked at.
        env_var: Opt<Str>,
        /// Whether its credentials were found.
        ready: Bool,
    }

    /// Which credentials were found.
    record OpalAuth {
        /// Whether a provider can be used.
        status: OpalAuthStatus,
        /// The first provider that can be used.
        provider: Nullable<Str>,
        /// All providers.
        providers: Opt<List<OpalAuthProvider>>,
    }

    /// What an agent is doing.
    strings OpalStatus(open) {
        /// Nothing.
        "idle",
        /// It works.
        "running",
        /// The model answers.
        "streaming",
        /// Tools run.
        "executing_tools",
    }

    /// Tokens of a session.
    record OpalUsage {
        /// Input tokens so far.
        prompt_tokens: Count,
        /// Output tokens so far.
        completion_tokens: Count,
        /// All tokens so far.
        total_tokens: Count,
        /// The context window in tokens.
        context_window: Count,
        /// Tokens in the context now.
        current_context_tokens: Count,
        ;
        example {
            "prompt_tokens": 240, "completion_tokens": 16, "total_tokens": 256, "context_window": 128000,
            "current_context_tokens": 120
        }
    }

    /// A session that is kept.
    record OpalSessionInfo {
        /// Its id.
        id: Str,
        /// Its title.
        title: Nullable<Str>,
        /// When it was changed, as in `2026-02-19T12:00:00`, without a zone.
        modified: Str,
    }

    /// A tool call in a session's history.
    record OpalHistoryCall {
        /// The call's id.
        call_id: Str,
        /// The tool's name.
        name: Str,
        /// The arguments.
        arguments: Object,
    }

    /// A message in a session's history.
    record OpalHistoryMessage {
        /// Its id, for `session/branch`.
        id: Str,
        /// The role of the speaker, such as `user`, `assistant` or `tool_result`.
        role: Str,
        /// The text.
        content: crate::typed::OptNull<Str>,
        /// Whether a tool failed.
        is_error: Opt<Bool>,
        /// Reasoning of the model.
        thinking: crate::typed::OptNull<Str>,
        /// The calls that the model asked for.
        tool_calls: crate::typed::OptNull<List<OpalHistoryCall>>,
        /// The call that this is the result of.
        call_id: crate::typed::OptNull<Str>,
        /// The tool's name.
        name: crate::typed::OptNull<Str>,
        /// Facts about the message.
        metadata: crate::typed::OptNull<Any>,
    }

    /// A task of a session.
    record OpalTask {
        /// Its id.
        id: Str,
        /// What it is.
        label: Str,
        /// The status.
        status: Str,
        /// Notes.
        notes: Opt<Str>,
        /// Ids of tasks that have to be done before, with commas between.
        blocked_by: Opt<Str>,
        /// The task that it is a part of.
        parent_id: Opt<Str>,
        /// What a child agent is told.
        prompt: Opt<Str>,
        /// What came out.
        result: Opt<Str>,
        /// When it was made.
        created_at: Opt<Str>,
        /// When it was changed.
        updated_at: Opt<Str>,
    }

    /// The tools of a session.
    record OpalTools {
        /// All of them.
        all: List<Str>,
        /// Those that can be used.
        enabled: List<Str>,
        /// Those that are switched off.
        disabled: List<Str>,
    }

    /// The configuration of a session.
    record OpalConfig {
        /// Which parts are switched on.
        features: OpalFeatures,
        /// The tools.
        tools: OpalTools,
        ;
        example {
            "features": {"sub_agents": true, "skills": true, "mcp": false, "debug": false},
            "tools": {"all": ["read_file", "shell"], "enabled": ["read_file"], "disabled": ["shell"]}
        }
    }

    /// A tool that succeeded.
    record OpalToolSuccess(ok = true) {
        /// What it gives back.
        output: Any,
        /// Facts for a front end.
        meta: Opt<Any>,
        ;
        example {"ok": true, "output": "hello"}
    }

    /// A tool that failed.
    record OpalToolFailure(ok = false) {
        /// The error message.
        error: Any,
        ;
        example {"ok": false, "error": "no such file"}
    }

    /// What came of a tool call.
    choice OpalToolResult { Success(OpalToolSuccess), Failure(OpalToolFailure) }

    /// The `error` of a failed request.
    record OpalError {
        /// The JSON-RPC code.
        code: Int,
        /// The error message.
        message: Str,
        /// More about it; free text.
        data: Opt<Any>,
        ;
        example {"code": -32602, "message": "Session not found", "data": "no session \"abc\""}
    }
}
