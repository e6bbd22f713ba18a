//! The methods of Opal.

use super::types::{
    OpalAuth, OpalConfig, OpalFeatures, OpalHistoryMessage, OpalModel, OpalModelChoice, OpalModelInfo,
    OpalSessionInfo, OpalStatus, OpalTask, OpalUsage,
};
use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::typed::{Bool, Count, List, Nothing, Object, Opt, Str};

protocol! {
    /// What a new session has found.
    record SessionStarted {
        /// The session's id.
        session_id: Str,
        /// The directory of its files.
        session_dir: Opt<Str>,
        /// Context files that were read.
        context_files: Opt<List<Str>>,
        /// Names of skills.
        available_skills: Opt<List<Str>>,
        /// Names of MCP servers.
        mcp_servers: Opt<List<Str>>,
        /// The name of the server's node.
        node_name: Opt<Str>,
        /// Which credentials were found.
        auth: Opt<OpalAuth>,
    }

    /// Starts a session (or loads one that is kept) and subscribes to its events.
    command session_start(SessionStartParams {
        /// The model; by default that of the settings.
        model: Opt<OpalModelChoice>,
        /// A system prompt of one's own.
        system_prompt: Opt<Str>,
        /// The working directory; by default the server's.
        working_dir: Opt<Str>,
        /// The names of the tools that are switched on; by default all.
        tools: Opt<List<Str>>,
        /// MCP servers to connect to.
        mcp_servers: Opt<List<Object>>,
        /// Which parts of the agent are switched on.
        features: Opt<OpalFeatures>,
        /// Whether the session is kept.
        session: Opt<Bool>,
        /// The id of a session that is kept, or the id of the new one.
        session_id: Opt<Str>,
    }) -> SessionStarted {
        wire: "session/start";
        answer: Done;
        lane: Session;
        wrong: {
            "model" => InvalidModel, "model." => InvalidModel, "features" => InvalidFeatures,
            "features." => InvalidFeatureValue, "tools" => InvalidTools, "tools." => InvalidTools
        };
        errors {
            (-32602) InvalidModel "model must be {provider, id} with non-empty strings" => "`model` is wrong";
            (-32602) UnknownFeature "Unknown feature keys" => "`features` has a key that is not known";
            (-32602) InvalidFeatureValue "Invalid feature value" => "a feature is not a boolean";
            (-32602) InvalidFeatures "features must be an object" => "`features` is no object";
            (-32602) InvalidTools "tools must be an array of strings" => "`tools` is wrong";
            (-32602) UnknownTool "Unknown tools in tools list" => "a tool is not known";
            (-32602) UnknownProvider "Unknown provider" => "no provider has that name";
            (-32603) SessionStartFailed "Failed to start session" => "anything else";
        }
        example {"working_dir": "/path/to/project", "features": {"sub_agents": false}} -> {
            "session_id": "9a8238b2879510eb168fe8999a4cb3e9", "session_dir": "/home/user/.opal/sessions",
            "context_files": [], "available_skills": [], "mcp_servers": [], "node_name": "",
            "auth": {"status": "ready", "provider": "anthropic"}
        };
    }

    /// Whether a prompt waits.
    record PromptQueued {
        /// True if the agent is busy and the prompt was queued.
        queued: Bool,
    }

    /// Sends a prompt. Answered at once; while the agent is busy the prompt waits.
    command agent_prompt(AgentPromptParams {
        /// The session.
        session_id: Str,
        /// The prompt.
        text: Str,
    }) -> PromptQueued {
        wire: "agent/prompt";
        answer: Accepted;
        run: Starts;
        lane: Immediate;
        timeout: Never;
        errors {
            (-32602) MissingParameters "Missing required params: session_id, text" => "a parameter is missing";
            (-32602) SessionNotFound "Session not found" => "no session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9", "text": "Hello"} -> {"queued": false};
    }

    /// Stops the turn that is going on. `agent_abort` follows, also while the agent is idle.
    command agent_abort(AgentAbortParams {
        /// The session.
        session_id: Str,
    }) -> Nothing {
        wire: "agent/abort";
        answer: Accepted;
        run: Stops;
        lane: Immediate;
        errors {
            (-32602) SessionNotFound "Session not found" => "no session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9"};
    }

    /// An agent's current state.
    record AgentState {
        /// The session.
        session_id: Str,
        /// What it is doing.
        status: OpalStatus,
        /// The model.
        model: OpalModel,
        /// The number of messages in the conversation.
        message_count: Count,
        /// Names of all tools.
        tools: List<Str>,
        /// Tokens used.
        token_usage: Opt<OpalUsage>,
    }

    /// Returns an agent's current state.
    command agent_state(AgentStateParams {
        /// The session.
        session_id: Str,
    }) -> AgentState {
        wire: "agent/state";
        answer: Done;
        lane: Immediate;
        reads: true;
        errors {
            (-32602) SessionNotFound "Session not found" => "no session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9"} -> {
            "session_id": "9a8238b2879510eb168fe8999a4cb3e9", "status": "idle",
            "model": {"provider": "copilot", "id": "gpt-4o", "thinking_level": "off"}, "message_count": 0,
            "tools": ["read_file", "shell"]
        };
    }

    /// Sessions that are kept.
    record SessionList {
        /// Newest first.
        sessions: List<OpalSessionInfo>,
    }

    /// Lists the sessions that are kept.
    command session_list() -> SessionList {
        wire: "session/list";
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"sessions": [{"id": "abc", "title": null, "modified": "2026-02-19T12:00:00"}]};
    }

    /// Moves a session's position back to one of its messages.
    command session_branch(SessionBranchParams {
        /// The session.
        session_id: Str,
        /// The message's id; `session/history` lists them.
        entry_id: Str,
    }) -> Nothing {
        wire: "session/branch";
        answer: Done;
        lane: Session;
        errors {
            (-32603) BranchFailed "Branch failed" => "there is no such message";
            (-32602) SessionNotFound "Session not found" => "no kept session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9", "entry_id": "4c8b437fb84d7604"};
    }

    /// Compacts a session now: a summary takes the place of its older messages.
    command session_compact(SessionCompactParams {
        /// The session.
        session_id: Str,
        /// How many tokens stay as they are; 20,000 by default.
        keep_recent: Opt<Count>,
    }) -> Nothing {
        wire: "session/compact";
        answer: Done;
        lane: Session;
        timeout: Never;
        tolerates: ["keep_recent"];
        errors {
            (-32603) NotKept "Session persistence not enabled — cannot compact" => "the session is not kept";
            (-32603) CompactionFailed "Compaction failed" => "the model gave no summary";
            (-32602) SessionNotFound "Session not found" => "no session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9"};
    }

    /// The messages of a session.
    record SessionHistory {
        /// From the root to the current position.
        messages: List<OpalHistoryMessage>,
    }

    /// Returns the messages of a running session.
    command session_history(SessionHistoryParams {
        /// The session.
        session_id: Str,
    }) -> SessionHistory {
        wire: "session/history";
        answer: Done;
        lane: Immediate;
        reads: true;
        errors {
            (-32602) SessionNotFound "Session not found" => "no session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9"} -> {"messages": [
            {"id": "4c8b437fb84d7604", "role": "user", "content": "Say hello", "is_error": false}
        ]};
    }

    /// That it was done.
    record OpalDone {
        /// True.
        ok: Bool,
    }

    /// Deletes a session that is kept.
    command session_delete(SessionDeleteParams {
        /// The session.
        session_id: Str,
    }) -> OpalDone {
        wire: "session/delete";
        answer: Done;
        lane: Session;
        errors {
            (-32602) SessionNotFound "Session not found" => "no kept session has that id";
            (-32603) DeleteFailed "Delete failed" => "its file could not be removed";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9"} -> {"ok": true};
    }

    /// The models that can be chosen.
    record OpalModels {
        /// In the server's order.
        models: List<OpalModelInfo>,
    }

    /// Lists the models that can be chosen.
    command models_list(ModelsListParams {
        /// Providers whose models are listed too.
        providers: Opt<List<Str>>,
    }) -> OpalModels {
        wire: "models/list";
        answer: Done;
        lane: Immediate;
        reads: true;
        errors {
            (-32602) UnknownProviderInList "Unknown provider in providers list" => "a provider is not known";
        }
        example {} -> {"models": [
            {"id": "gpt-4o", "name": "GPT-4o", "provider": "copilot", "supports_thinking": false, "thinking_levels": []}
        ]};
    }

    /// The model that a session has now.
    record ModelSet {
        /// The model.
        model: OpalModel,
    }

    /// Switches the model of a session, from its next request on.
    command model_set(ModelSetParams {
        /// The session.
        session_id: Str,
        /// The model, as `provider:id`, or the id of a Copilot model.
        model_id: Str,
        /// The thinking level; `off` by default.
        thinking_level: Opt<Str>,
    }) -> ModelSet {
        wire: "model/set";
        answer: Done;
        lane: Immediate;
        errors {
            (-32602) UnknownProvider "Unknown provider" => "no provider has that name";
            (-32602) SessionNotFound "Session not found" => "no session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9", "model_id": "gpt-4o"} -> {
            "model": {"provider": "copilot", "id": "gpt-4o", "thinking_level": "off"}
        };
    }

    /// The thinking level that a session has now.
    record ThinkingSet {
        /// The level.
        thinking_level: Str,
    }

    /// Sets the thinking level of a session's model.
    command thinking_set(ThinkingSetParams {
        /// The session.
        session_id: Str,
        /// The level: `off`, `low`, `medium`, `high` or `max`.
        level: Str,
    }) -> ThinkingSet {
        wire: "thinking/set";
        answer: Done;
        lane: Immediate;
        errors {
            (-32602) SessionNotFound "Session not found" => "no session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9", "level": "high"} -> {"thinking_level": "high"};
    }

    /// Which credentials were found.
    record AuthStatusResult {
        /// Whether a provider can be used.
        authenticated: Bool,
        /// More about it.
        auth: OpalAuth,
    }

    /// Looks for credentials in all places.
    command auth_status() -> AuthStatusResult {
        wire: "auth/status";
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"authenticated": false, "auth": {"status": "setup_required", "provider": null}};
    }

    /// How the user logs in.
    record DeviceCode {
        /// The code that the user enters.
        user_code: Str,
        /// Where the user enters it.
        verification_uri: Str,
        /// The code for `auth/poll`.
        device_code: Str,
        /// How often to ask, in seconds.
        interval: Count,
    }

    /// Starts the device-code login.
    command auth_login() -> DeviceCode {
        wire: "auth/login";
        answer: Done;
        lane: Bash;
        errors {
            (-32603) LoginFailed "Login flow failed" => "the login server cannot be reached";
        }
        example {} -> {
            "user_code": "ABCD-1234", "verification_uri": "https://login.example.test/device",
            "device_code": "dc-1234567890", "interval": 5
        };
    }

    /// Whether the login is done.
    record Authenticated {
        /// True.
        authenticated: Bool,
    }

    /// Waits until the user has logged in.
    command auth_poll(AuthPollParams {
        /// The code that `auth/login` gave.
        device_code: Str,
        /// How often to ask, in seconds.
        interval: Count,
    }) -> Authenticated {
        wire: "auth/poll";
        answer: Done;
        lane: Bash;
        timeout: Never;
        errors {
            (-32603) LoginPollingFailed "Auth polling failed" => "the code expired or the user refused";
            (-32602) MissingParameters "Missing required params: device_code, interval" => "a parameter is missing";
        }
        example {"device_code": "dc-1234567890", "interval": 5} -> {"authenticated": true};
    }

    /// Stores an API key.
    command auth_set_key(AuthSetKeyParams {
        /// The provider.
        provider: Str,
        /// The key.
        api_key: Str,
    }) -> OpalDone {
        wire: "auth/set_key";
        answer: Done;
        lane: Immediate;
        wrong: {"provider" => MissingParameters, "api_key" => MissingParameters};
        errors {
            (-32602) MissingParameters "Missing required params: provider, api_key" => "a parameter is missing or empty";
        }
        example {"provider": "anthropic", "api_key": "example-key"} -> {"ok": true};
    }

    /// The tasks of a session.
    record OpalTasks {
        /// Those that are not done.
        tasks: List<OpalTask>,
    }

    /// Lists the tasks of a session that are not done.
    command tasks_list(TasksListParams {
        /// The session.
        session_id: Str,
    }) -> OpalTasks {
        wire: "tasks/list";
        answer: Done;
        lane: Immediate;
        reads: true;
        errors {
            (-32602) SessionNotFound "Session not found" => "no session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9"} -> {"tasks": []};
    }

    /// The user's settings.
    record OpalSettings {
        /// An open object; keys are masked.
        settings: Object,
    }

    /// Returns the user's settings.
    command settings_get() -> OpalSettings {
        wire: "settings/get";
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"settings": {"default_model": "copilot:gpt-4o"}};
    }

    /// Merges settings into the user's and returns all of them.
    command settings_save(SettingsSaveParams {
        /// The settings to merge, at the top level.
        settings: Object,
    }) -> OpalSettings {
        wire: "settings/save";
        answer: Done;
        lane: Immediate;
        wrong: {"settings" => MissingParameters};
        errors {
            (-32602) MissingParameters "Missing required param: settings" => "`settings` is missing or no object";
        }
        example {"settings": {"theme": "dark"}} -> {"settings": {"default_model": "copilot:gpt-4o", "theme": "dark"}};
    }

    /// Returns the configuration of a session.
    command opal_config_get(OpalConfigGetParams {
        /// The session.
        session_id: Str,
    }) -> OpalConfig {
        wire: "opal/config/get";
        answer: Done;
        lane: Immediate;
        reads: true;
        errors {
            (-32602) SessionNotFound "Session not found" => "no session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9"} -> {
            "features": {"sub_agents": true, "skills": true, "mcp": false, "debug": false},
            "tools": {"all": ["read_file", "shell"], "enabled": ["read_file"], "disabled": ["shell"]}
        };
    }

    /// Changes the configuration of a session.
    command opal_config_set(OpalConfigSetParams {
        /// The session.
        session_id: Str,
        /// Parts of the agent to switch; merged.
        features: Opt<OpalFeatures>,
        /// The names of the tools that are switched on; the whole list.
        tools: Opt<List<Str>>,
    }) -> OpalConfig {
        wire: "opal/config/set";
        answer: Done;
        lane: Immediate;
        wrong: {
            "features" => InvalidFeatures, "features." => InvalidFeatureValue, "tools" => InvalidTools,
            "tools." => InvalidTools
        };
        errors {
            (-32602) UnknownTool "Unknown tools in tools list" => "a tool is not known";
            (-32602) UnknownFeature "Unknown feature keys" => "`features` has a key that is not known";
            (-32602) InvalidFeatureValue "Invalid feature value" => "a feature is not a boolean";
            (-32602) InvalidFeatures "features must be an object" => "`features` is no object";
            (-32602) InvalidTools "tools must be an array of strings" => "`tools` is wrong";
            (-32602) SessionNotFound "Session not found" => "no session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9", "features": {"debug": true}} -> {
            "features": {"sub_agents": true, "skills": true, "mcp": false, "debug": true},
            "tools": {"all": ["read_file", "shell"], "enabled": ["read_file"], "disabled": ["shell"]}
        };
    }

    /// Shows that the server is alive.
    command opal_ping() -> Nothing {
        wire: "opal/ping";
        answer: Done;
        lane: Immediate;
        timeout: crate::model::Timeout::Milliseconds(5_000);
        reads: true;
        example {};
    }

    /// Which server it is.
    record OpalVersion {
        /// The server's version.
        server_version: Str,
        /// The protocol's version.
        protocol_version: Str,
    }

    /// Returns the server's name and version.
    command opal_version() -> OpalVersion {
        wire: "opal/version";
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"server_version": "0.1.14", "protocol_version": "0.1.0"};
    }
}
