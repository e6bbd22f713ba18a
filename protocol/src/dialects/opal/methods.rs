//! The methods of Opal.

use super::types::{
    OpalAuth, OpalConfig, OpalFeatures, OpalHistoryMessage, OpalModel, OpalModelChoice, OpalModelInfo,
    OpalSessionInfo, OpalStatus, OpalTask, OpalUsage,
};
use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::typed::{Bool, Count, List, Nothing, Object, Opt, Str};

protocol! {
    /// The discovered resources of a new session.
    record SessionStartResult {
        /// Id of the session.
        session_id: Str,
        /// Directory of the session's files.
        session_dir: Opt<Str>,
        /// Context files that the server read.
        context_files: Opt<List<Str>>,
        /// Names of available skills.
        available_skills: Opt<List<Str>>,
        /// Names of MCP servers.
        mcp_servers: Opt<List<Str>>,
        /// Name of the server's node.
        node_name: Opt<Str>,
        /// Credentials that the agent found.
        auth: Opt<OpalAuth>,
    }

    /// Starts a session (or loads a stored one) and subscribes to its events.
    command session_start(SessionStartParams {
        /// Model of the session; by default the model of the settings.
        model: Opt<OpalModelChoice>,
        /// Custom system prompt of the session.
        system_prompt: Opt<Str>,
        /// Working directory; by default that of the server.
        working_dir: Opt<Str>,
        /// Names of the enabled tools; by default all.
        tools: Opt<List<Str>>,
        /// MCP servers to connect to.
        mcp_servers: Opt<List<Object>>,
        /// Enabled parts of the agent.
        features: Opt<OpalFeatures>,
        /// `true` to store the session.
        session: Opt<Bool>,
        /// Id of a stored session, or the id of the new one.
        session_id: Opt<Str>,
    }) -> SessionStartResult {
        wire: "session/start";
        answer: Done;
        lane: Session;
        wrong: {
            "model" => InvalidModel, "model." => InvalidModel, "features" => InvalidFeatures,
            "features." => InvalidFeatureValue, "tools" => InvalidTools, "tools." => InvalidTools
        };
        errors {
            (-32602) InvalidModel "model must be {provider, id} with non-empty strings" => "`model` is invalid";
            (-32602) UnknownFeature "Unknown feature keys" => "`features` has an unknown key";
            (-32602) InvalidFeatureValue "Invalid feature value" => "a feature is not a boolean";
            (-32602) InvalidFeatures "features must be an object" => "`features` is not an object";
            (-32602) InvalidTools "tools must be an array of strings" => "`tools` is invalid";
            (-32602) UnknownTool "Unknown tools in tools list" => "a tool is unknown";
            (-32602) UnknownProvider "Unknown provider" => "no provider has that name";
            (-32603) SessionStartFailed "Failed to start session" => "any other failure";
        }
        example {"working_dir": "/path/to/project", "features": {"sub_agents": false}} -> {
            "session_id": "9a8238b2879510eb168fe8999a4cb3e9", "session_dir": "/home/user/.opal/sessions",
            "context_files": [], "available_skills": [], "mcp_servers": [], "node_name": "",
            "auth": {"status": "ready", "provider": "anthropic"}
        };
    }

    /// The outcome of a prompt: queued or started.
    record QueuedPrompt {
        /// `true` if the agent is busy and queued the prompt.
        queued: Bool,
    }

    /// Sends a prompt. The server answers at once; if the agent is busy, the prompt waits.
    command agent_prompt(AgentPromptParams {
        /// Id of the session.
        session_id: Str,
        /// Text of the prompt.
        text: Str,
    }) -> QueuedPrompt {
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

    /// Stops the current turn. `agent_abort` follows, even if the agent is idle.
    command agent_abort(AgentAbortParams {
        /// Id of the session.
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

    /// The current state of an agent.
    record AgentState {
        /// Id of the session.
        session_id: Str,
        /// Current activity of the agent.
        status: OpalStatus,
        /// Current model of the session.
        model: OpalModel,
        /// Number of messages in the conversation.
        message_count: Count,
        /// Names of all tools.
        tools: List<Str>,
        /// Token counts of the session.
        token_usage: Opt<OpalUsage>,
    }

    /// Returns the current state of an agent.
    command agent_state(AgentStateParams {
        /// Id of the session.
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

    /// The stored sessions.
    record SessionList {
        /// The sessions, newest first.
        sessions: List<OpalSessionInfo>,
    }

    /// Lists the stored sessions.
    command session_list() -> SessionList {
        wire: "session/list";
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"sessions": [{"id": "abc", "title": null, "modified": "2026-02-19T12:00:00"}]};
    }

    /// Moves the current position of a session back to one of its messages.
    command session_branch(SessionBranchParams {
        /// Id of the session.
        session_id: Str,
        /// Id of the message; `session/history` lists the possible values.
        entry_id: Str,
    }) -> Nothing {
        wire: "session/branch";
        answer: Done;
        lane: Session;
        errors {
            (-32603) BranchFailed "Branch failed" => "no message has that id";
            (-32602) SessionNotFound "Session not found" => "no stored session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9", "entry_id": "4c8b437fb84d7604"};
    }

    /// Compacts a session now: a summary replaces its older messages.
    command session_compact(SessionCompactParams {
        /// Id of the session.
        session_id: Str,
        /// Number of recent tokens that stay unchanged; 20,000 by default.
        keep_recent: Opt<Count>,
    }) -> Nothing {
        wire: "session/compact";
        answer: Done;
        lane: Session;
        timeout: Never;
        tolerates: ["keep_recent"];
        errors {
            (-32603) NotKept "Session persistence not enabled — cannot compact" => "the session is not stored";
            (-32603) CompactionFailed "Compaction failed" => "the model returned no summary";
            (-32602) SessionNotFound "Session not found" => "no session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9"};
    }

    /// The messages of a session.
    record SessionHistory {
        /// The messages from the root to the current position.
        messages: List<OpalHistoryMessage>,
    }

    /// Returns the messages of a running session.
    command session_history(SessionHistoryParams {
        /// Id of the session.
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

    /// The confirmation of a completed operation.
    record OpalDone {
        /// Always `true`.
        ok: Bool,
    }

    /// Deletes a stored session.
    command session_delete(SessionDeleteParams {
        /// Id of the session.
        session_id: Str,
    }) -> OpalDone {
        wire: "session/delete";
        answer: Done;
        lane: Session;
        errors {
            (-32602) SessionNotFound "Session not found" => "no stored session has that id";
            (-32603) DeleteFailed "Delete failed" => "the file of the session could not be deleted";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9"} -> {"ok": true};
    }

    /// The available models.
    record OpalModels {
        /// The models in the order of the server.
        models: List<OpalModelInfo>,
    }

    /// Lists the available models.
    command models_list(ModelsListParams {
        /// Providers whose models the list includes as well.
        providers: Opt<List<Str>>,
    }) -> OpalModels {
        wire: "models/list";
        answer: Done;
        lane: Immediate;
        reads: true;
        errors {
            (-32602) UnknownProviderInList "Unknown provider in providers list" => "a provider is unknown";
        }
        example {} -> {"models": [
            {"id": "gpt-4o", "name": "GPT-4o", "provider": "copilot", "supports_thinking": false, "thinking_levels": []}
        ]};
    }

    /// The current model of a session.
    record ModelSelection {
        /// Current model of the session.
        model: OpalModel,
    }

    /// Switches the model of a session, from its next request on.
    command model_set(ModelSetParams {
        /// Id of the session.
        session_id: Str,
        /// Id of the model, as `provider:id`, or the id of a Copilot model.
        model_id: Str,
        /// Thinking level of the model; `off` by default.
        thinking_level: Opt<Str>,
    }) -> ModelSelection {
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

    /// The current thinking level of a session.
    record ThinkingSelection {
        /// Thinking level of the model.
        thinking_level: Str,
    }

    /// Sets the thinking level of a session's model.
    command thinking_set(ThinkingSetParams {
        /// Id of the session.
        session_id: Str,
        /// New level: `off`, `low`, `medium`, `high` or `max`.
        level: Str,
    }) -> ThinkingSelection {
        wire: "thinking/set";
        answer: Done;
        lane: Immediate;
        errors {
            (-32602) SessionNotFound "Session not found" => "no session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9", "level": "high"} -> {"thinking_level": "high"};
    }

    /// The credentials that the agent found.
    record AuthStatusResult {
        /// `true` if a provider is available.
        authenticated: Bool,
        /// Details about the credentials.
        auth: OpalAuth,
    }

    /// Searches for credentials in all locations.
    command auth_status() -> AuthStatusResult {
        wire: "auth/status";
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"authenticated": false, "auth": {"status": "setup_required", "provider": null}};
    }

    /// The data for a login by device code.
    record DeviceCode {
        /// The code that the user enters.
        user_code: Str,
        /// Address of the page for the code.
        verification_uri: Str,
        /// The code for `auth/poll`.
        device_code: Str,
        /// Interval between two polls in seconds.
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

    /// The outcome of a login.
    record AuthPollResult {
        /// Always `true`.
        authenticated: Bool,
    }

    /// Waits until the user has logged in.
    command auth_poll(AuthPollParams {
        /// Device code from `auth/login`.
        device_code: Str,
        /// Interval between two polls in seconds.
        interval: Count,
    }) -> AuthPollResult {
        wire: "auth/poll";
        answer: Done;
        lane: Bash;
        timeout: Never;
        errors {
            (-32603) LoginPollingFailed "Auth polling failed" => "the code expired or the user declined";
            (-32602) MissingParameters "Missing required params: device_code, interval" => "a parameter is missing";
        }
        example {"device_code": "dc-1234567890", "interval": 5} -> {"authenticated": true};
    }

    /// Stores an API key.
    command auth_set_key(AuthSetKeyParams {
        /// Id of the provider.
        provider: Str,
        /// API key of the provider.
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
        /// Unfinished tasks of the session.
        tasks: List<OpalTask>,
    }

    /// Lists the unfinished tasks of a session.
    command tasks_list(TasksListParams {
        /// Id of the session.
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
        /// The settings, an open object; keys are masked.
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
            (-32602) MissingParameters "Missing required param: settings" => "`settings` is missing or not an object";
        }
        example {"settings": {"theme": "dark"}} -> {"settings": {"default_model": "copilot:gpt-4o", "theme": "dark"}};
    }

    /// Returns the configuration of a session.
    command opal_config_get(OpalConfigGetParams {
        /// Id of the session.
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
        /// Id of the session.
        session_id: Str,
        /// Parts of the agent to enable or disable; merged with the current ones.
        features: Opt<OpalFeatures>,
        /// Names of the enabled tools; replaces the whole list.
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
            (-32602) UnknownTool "Unknown tools in tools list" => "a tool is unknown";
            (-32602) UnknownFeature "Unknown feature keys" => "`features` has an unknown key";
            (-32602) InvalidFeatureValue "Invalid feature value" => "a feature is not a boolean";
            (-32602) InvalidFeatures "features must be an object" => "`features` is not an object";
            (-32602) InvalidTools "tools must be an array of strings" => "`tools` is invalid";
            (-32602) SessionNotFound "Session not found" => "no session has that id";
        }
        example {"session_id": "9a8238b2879510eb168fe8999a4cb3e9", "features": {"debug": true}} -> {
            "features": {"sub_agents": true, "skills": true, "mcp": false, "debug": true},
            "tools": {"all": ["read_file", "shell"], "enabled": ["read_file"], "disabled": ["shell"]}
        };
    }

    /// Confirms that the server is running.
    command opal_ping() -> Nothing {
        wire: "opal/ping";
        answer: Done;
        lane: Immediate;
        timeout: crate::model::Timeout::Milliseconds(5_000);
        reads: true;
        example {};
    }

    /// The version of the server.
    record OpalVersion {
        /// Version of the server.
        server_version: Str,
        /// Version of the protocol.
        protocol_version: Str,
    }

    /// Returns the versions of the server and of the protocol.
    command opal_version() -> OpalVersion {
        wire: "opal/version";
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"server_version": "0.1.14", "protocol_version": "0.1.0"};
    }
}
