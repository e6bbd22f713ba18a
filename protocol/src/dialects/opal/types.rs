//! Types of Opal's methods and events.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Nullable, Object, Opt, Str};

protocol! {
    /// The parts of the agent that are enabled.
    record OpalFeatures {
        /// `true` to enable subagents.
        sub_agents: Opt<Bool>,
        /// `true` to enable skills.
        skills: Opt<Bool>,
        /// `true` to enable MCP servers.
        mcp: Opt<Bool>,
        /// `true` to enable the tool that shows the agent's own state.
        debug: Opt<Bool>,
        ;
        example {"sub_agents": true, "skills": true, "mcp": false, "debug": false}
    }

    /// The model of a new session.
    record OpalModelChoice {
        /// Name of the provider.
        provider: Str,
        /// Id of the model.
        id: Str,
    }

    /// The model of a session.
    record OpalModel {
        /// Name of the provider.
        provider: Str,
        /// Id of the model.
        id: Str,
        /// Thinking level of the model.
        thinking_level: Str,
        ;
        example {"provider": "copilot", "id": "gpt-4o", "thinking_level": "off"}
    }

    /// An available model.
    record OpalModelInfo {
        /// Id of the model.
        id: Str,
        /// Display name.
        name: Str,
        /// Name of the provider.
        provider: Str,
        /// `true` if the model can think.
        supports_thinking: Bool,
        /// Thinking levels that the model supports.
        thinking_levels: Opt<List<Str>>,
    }

    /// The availability of credentials.
    strings OpalAuthStatus(open) {
        /// At least one provider is available.
        "ready",
        /// No provider is available.
        "setup_required",
    }

    /// A provider and the availability of its credentials.
    record OpalAuthProvider {
        /// Id of the provider.
        id: Str,
        /// Display name.
        name: Str,
        /// Method of the login, as in `device_code` or `api_key`.
        method: Str,
        /// Environment variable that may hold the key.
        env_var: Opt<Str>,
        /// `true` if credentials of the provider are available.
        ready: Bool,
    }

    /// The credentials that the agent found.
    record OpalAuth {
        /// Availability of credentials.
        status: OpalAuthStatus,
        /// The first available provider.
        provider: Nullable<Str>,
        /// All providers with the availability of their credentials.
        providers: Opt<List<OpalAuthProvider>>,
    }

    /// The activity of an agent.
    strings OpalStatus(open) {
        /// The agent is idle.
        "idle",
        /// The agent works.
        "running",
        /// The model answers.
        "streaming",
        /// Tools are running.
        "executing_tools",
    }

    /// The token counts of a session.
    record OpalUsage {
        /// Number of input tokens so far.
        prompt_tokens: Count,
        /// Number of output tokens so far.
        completion_tokens: Count,
        /// Number of all tokens so far.
        total_tokens: Count,
        /// Size of the context window in tokens.
        context_window: Count,
        /// Number of tokens in the context now.
        current_context_tokens: Count,
        ;
        example {
            "prompt_tokens": 240, "completion_tokens": 16, "total_tokens": 256, "context_window": 128000,
            "current_context_tokens": 120
        }
    }

    /// A stored session.
    record OpalSessionInfo {
        /// Id of the session.
        id: Str,
        /// Title of the session.
        title: Nullable<Str>,
        /// Time of the last change, as in `2026-02-19T12:00:00`, without a time zone.
        modified: Str,
    }

    /// A tool call in a session's history.
    record OpalHistoryCall {
        /// Id of the tool call.
        call_id: Str,
        /// Name of the tool.
        name: Str,
        /// Arguments of the tool call.
        arguments: Object,
    }

    /// A message in a session's history.
    record OpalHistoryMessage {
        /// Id of the message, for `session/branch`.
        id: Str,
        /// Role of the author, such as `user`, `assistant` or `tool_result`.
        role: Str,
        /// Text of the message.
        content: crate::typed::OptNull<Str>,
        /// `true` if a tool failed.
        is_error: Opt<Bool>,
        /// Reasoning of the model.
        thinking: crate::typed::OptNull<Str>,
        /// Tool calls of the message.
        tool_calls: crate::typed::OptNull<List<OpalHistoryCall>>,
        /// Id of the tool call that the message is the result of.
        call_id: crate::typed::OptNull<Str>,
        /// Name of the tool.
        name: crate::typed::OptNull<Str>,
        /// Additional data of the message.
        metadata: crate::typed::OptNull<Any>,
    }

    /// A task of a session.
    record OpalTask {
        /// Id of the task.
        id: Str,
        /// Description of the task.
        label: Str,
        /// Status of the task.
        status: Str,
        /// Notes about the task.
        notes: Opt<Str>,
        /// Ids of tasks that must be done first, separated by commas.
        blocked_by: Opt<Str>,
        /// Id of the parent task.
        parent_id: Opt<Str>,
        /// Prompt for a subagent.
        prompt: Opt<Str>,
        /// Result of the task.
        result: Opt<Str>,
        /// Time of the task's creation.
        created_at: Opt<Str>,
        /// Time of the last change.
        updated_at: Opt<Str>,
    }

    /// The tools of a session.
    record OpalTools {
        /// Names of all tools.
        all: List<Str>,
        /// Names of the enabled tools.
        enabled: List<Str>,
        /// Names of the disabled tools.
        disabled: List<Str>,
    }

    /// The configuration of a session.
    record OpalConfig {
        /// Enabled parts of the agent.
        features: OpalFeatures,
        /// Tools of the session.
        tools: OpalTools,
        ;
        example {
            "features": {"sub_agents": true, "skills": true, "mcp": false, "debug": false},
            "tools": {"all": ["read_file", "shell"], "enabled": ["read_file"], "disabled": ["shell"]}
        }
    }

    /// The result of a tool that succeeded.
    record OpalToolSuccess(ok = true) {
        /// Output of the tool.
        output: Any,
        /// Details for a client.
        meta: Opt<Any>,
        ;
        example {"ok": true, "output": "hello"}
    }

    /// The result of a tool that failed.
    record OpalToolFailure(ok = false) {
        /// Error message of the tool.
        error: Any,
        ;
        example {"ok": false, "error": "no such file"}
    }

    /// The result of a tool call.
    choice OpalToolResult { Success(OpalToolSuccess), Failure(OpalToolFailure) }

    /// The `error` of a failed request.
    record OpalError {
        /// JSON-RPC error code.
        code: Int,
        /// Error message of the request.
        message: Str,
        /// Additional data in free text.
        data: Opt<Any>,
        ;
        example {"code": -32602, "message": "Session not found", "data": "no session \"abc\""}
    }
}
