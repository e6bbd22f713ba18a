//! The commands of pi.

use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::typed::{Bool, List, Nothing, Nullable, Opt, Str};
use crate::types::content::ImageContent;
use crate::types::entry::{Entries, SessionTree};
use crate::types::model::{Model, ThinkingLevel};
use crate::types::session::{
    AvailableModels, BashResult, Cancellation, CompactionResult, CycledModel, CycledThinkingLevel,
    ForkPoints, ForkResult, InputReceipt, LastAssistantText, Messages, QueueMode, QueuedTexts, SessionState,
    SessionStats, StreamingBehavior, ThinkingLevels, WrittenFile,
};

protocol! {
    /// Sends a prompt to the agent. Events follow until the run ends. During a run, `streamingBehavior` must state how
    /// the agent queues the prompt.
    command prompt(PromptParams {
        /// The prompt. `/name` at its start names an extension command, a template or a skill.
        message: Str,
        /// Images of the prompt.
        images: Opt<List<ImageContent>>,
        /// Queue for a prompt that arrives during a run.
        streamingBehavior: Opt<StreamingBehavior>,
    }) -> InputReceipt {
        result: [since "pi@1.5"];
        answer: Accepted;
        run: Starts;
        lane: Session;
        timeout: Never;
        errors {
            AgentBusy "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
                => "the agent is busy and `streamingBehavior` is missing";
            NoApiKey "No API key found for {provider}.{remedy}" => "the model's provider has no key";
        }
        example {"message": "Hello, world!"} -> {"disposition": "started"};
    }

    /// Queues a message that the model receives during the run. The agent delivers it after the current tool and skips
    /// the remaining tools. If the agent is idle, the message waits for the next prompt.
    command steer(SteerParams {
        /// The message. Skills and templates are expanded; extension commands are rejected.
        message: Str,
        /// Images of the message.
        images: Opt<List<ImageContent>>,
    }) -> InputReceipt {
        result: [since "pi@1.5"];
        answer: Done;
        run: Acts;
        lane: Immediate;
        errors {
            ExtensionCommand "Extension command \"/{name}\" cannot be queued. Use prompt() or execute the command when not streaming."
                => "the message is an extension command";
        }
        example {"message": "Stop and do this instead"} -> {"disposition": "queued"};
    }

    /// Queues a message that the model receives when the run would end. If the agent is idle, the message waits for the
    /// next prompt.
    command follow_up(FollowUpParams {
        /// The message. Skills and templates are expanded; extension commands are rejected.
        message: Str,
        /// Images of the message.
        images: Opt<List<ImageContent>>,
    }) -> InputReceipt {
        result: [since "pi@1.5"];
        answer: Done;
        run: Acts;
        lane: Immediate;
        errors {
            ExtensionCommand "Extension command \"/{name}\" cannot be queued. Use prompt() or execute the command when not streaming."
                => "the message is an extension command";
        }
        example {"message": "After you're done, also do this"} -> {"disposition": "queued"};
    }

    /// Stops the current run. The answer follows when the run has ended, or at once if the agent is idle. Queued
    /// messages stay queued.
    command abort() -> Nothing {
        answer: Done;
        run: Stops;
        lane: Immediate;
        example {};
    }

    /// Removes all messages from the queues and returns their texts.
    command clear_queue() -> QueuedTexts [since "pi@1.5"] {
        answer: Done;
        lane: Immediate;
        example {} -> {"steering": ["Change direction"], "followUp": ["Summarize when finished"]};
    }

    /// Starts a new session. An extension can prevent it.
    command new_session(NewSessionParams {
        /// File of the parent session.
        parentSession: Opt<Str>,
    }) -> Cancellation {
        answer: Done;
        run: Replaces;
        lane: Session;
        example {"parentSession": "/path/to/parent-session.jsonl"} -> {"cancelled": false};
    }

    /// Returns the current state of the agent.
    command get_state() -> SessionState {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {
            "model": {
                "id": "claude-sonnet-4-20250514", "name": "Claude Sonnet 4", "api": "anthropic-messages",
                "provider": "anthropic", "baseUrl": "https://api.anthropic.com", "reasoning": true,
                "input": ["text", "image"], "contextWindow": 200000, "maxTokens": 16384,
                "cost": {"input": 3.0, "output": 15.0, "cacheRead": 0.3, "cacheWrite": 3.75}
            },
            "thinkingLevel": "medium", "isStreaming": false, "isCompacting": false, "steeringMode": "all",
            "followUpMode": "one-at-a-time", "sessionFile": "/path/to/session.jsonl", "sessionId": "abc123",
            "sessionName": "my-feature-work", "autoCompactionEnabled": true, "messageCount": 5,
            "pendingMessageCount": 0
        };
    }

    /// Returns all messages of the conversation.
    command get_messages() -> Messages {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"messages": [{"role": "user", "content": "Hello!", "timestamp": 1733234567890}]};
    }

    /// Switches to a model.
    command set_model(SetModelParams {
        /// Name of the provider.
        provider: Str,
        /// Id of the model at that provider.
        modelId: Str,
    }) -> Model {
        answer: Done;
        lane: Immediate;
        wrong: {"provider" => ModelNotFound, "modelId" => ModelNotFound};
        errors {
            ModelNotFound "Model not found: {provider}/{modelId}" => "no such model is configured";
        }
        example {"provider": "anthropic", "modelId": "claude-sonnet-4-20250514"} -> {
            "id": "claude-sonnet-4-20250514", "name": "Claude Sonnet 4", "api": "anthropic-messages",
            "provider": "anthropic", "baseUrl": "https://api.anthropic.com", "reasoning": true,
            "input": ["text", "image"], "contextWindow": 200000, "maxTokens": 16384,
            "cost": {"input": 3.0, "output": 15.0, "cacheRead": 0.3, "cacheWrite": 3.75}
        };
    }

    /// Switches to the next model. The data is null if only one model is available.
    command cycle_model() -> Nullable<CycledModel> {
        answer: Done;
        lane: Immediate;
        example {} -> {
            "model": {
                "id": "claude-sonnet-4-20250514", "name": "Claude Sonnet 4", "api": "anthropic-messages",
                "provider": "anthropic", "baseUrl": "https://api.anthropic.com", "reasoning": true,
                "input": ["text", "image"], "contextWindow": 200000, "maxTokens": 16384,
                "cost": {"input": 3.0, "output": 15.0, "cacheRead": 0.3, "cacheWrite": 3.75}
            },
            "thinkingLevel": "medium", "isScoped": false
        };
    }

    /// Lists the configured models.
    command get_available_models() -> AvailableModels {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"models": []};
    }

    /// Sets the thinking level of the model. A level that the model does not support becomes the nearest supported
    /// level.
    command set_thinking_level(SetThinkingLevelParams {
        /// New thinking level.
        level: ThinkingLevel,
    }) -> Nothing {
        answer: Done;
        lane: Immediate;
        example {"level": "high"};
    }

    /// Switches to the next thinking level. The data is null if the model cannot think.
    command cycle_thinking_level() -> Nullable<CycledThinkingLevel> {
        answer: Done;
        lane: Immediate;
        example {} -> {"level": "high"};
    }

    /// Lists the thinking levels of the current model.
    command get_available_thinking_levels() -> ThinkingLevels [since "pi@1.5"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"levels": ["off", "minimal", "low", "medium", "high"]};
    }

    /// Sets the delivery of steering messages: all at once or one at a time.
    command set_steering_mode(SetSteeringModeParams {
        /// Delivery of steering messages: all at once or one at a time.
        mode: QueueMode,
    }) -> Nothing {
        answer: Done;
        lane: Immediate;
        example {"mode": "one-at-a-time"};
    }

    /// Sets the delivery of follow-up messages: all at once or one at a time.
    command set_follow_up_mode(SetFollowUpModeParams {
        /// Delivery of follow-up messages: all at once or one at a time.
        mode: QueueMode,
    }) -> Nothing {
        answer: Done;
        lane: Immediate;
        example {"mode": "one-at-a-time"};
    }

    /// Replaces the older part of the conversation by a summary.
    command compact(CompactParams {
        /// Extra instructions for the summary.
        customInstructions: Opt<Str>,
    }) -> CompactionResult {
        answer: Done;
        run: Replaces;
        lane: Session;
        timeout: Never;
        errors {
            AlreadyCompacted "Already compacted" => "the conversation has no new messages since the last compaction";
            NothingToCompact "Nothing to compact (session too small)" => "there is nothing to summarise" [since "pi@1.5"];
            CompactionCancelled "Compaction cancelled" => "an extension or an abort stopped the compaction";
            SummarizationFailed "Summarization failed: {reason}" => "the model refused to answer or failed";
        }
        example {"customInstructions": "Focus on code changes"} -> {
            "summary": "Summary of conversation...", "firstKeptEntryId": "abc123", "tokensBefore": 150000, "details": {}
        };
    }

    /// Switches automatic compaction on or off.
    command set_auto_compaction(SetAutoCompactionParams {
        /// `true` to switch automatic compaction on.
        enabled: Bool,
    }) -> Nothing {
        answer: Done;
        lane: Immediate;
        example {"enabled": true};
    }

    /// Switches automatic retries after transient errors (overloaded, rate limit, 5xx) on or off.
    command set_auto_retry(SetAutoRetryParams {
        /// `true` to switch automatic retries on.
        enabled: Bool,
    }) -> Nothing {
        answer: Done;
        lane: Immediate;
        example {"enabled": true};
    }

    /// Cancels the pending automatic retry.
    command abort_retry() -> Nothing {
        answer: Done;
        lane: Immediate;
        example {};
    }

    /// Runs a shell command; the model receives its output with the next prompt. Several commands may run at once. The
    /// agent emits no event for the message that the command adds to the conversation.
    command bash(BashParams {
        /// Command line of the shell command.
        command: Str,
        /// `true` to hide the output from the model; `false` if absent.
        excludeFromContext: Opt<Bool> [since "pi@1.5"],
    }) -> BashResult {
        answer: Done;
        lane: Bash;
        timeout: Never;
        example {"command": "ls -la"} -> {
            "output": "total 48\ndrwxr-xr-x ...", "exitCode": 0, "cancelled": false, "truncated": false
        };
    }

    /// Stops all running `bash` commands.
    command abort_bash() -> Nothing {
        answer: Done;
        lane: Immediate;
        example {};
    }

    /// Returns the token counts and costs of the session.
    command get_session_stats() -> SessionStats {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {
            "sessionFile": "/path/to/session.jsonl", "sessionId": "abc123", "userMessages": 5, "assistantMessages": 5,
            "toolCalls": 12, "toolResults": 12, "totalMessages": 22,
            "tokens": {"input": 50000, "output": 10000, "cacheRead": 40000, "cacheWrite": 5000, "total": 105000},
            "cost": 0.45
        };
    }

    /// Exports the session as an HTML page.
    command export_html(ExportHtmlParams {
        /// Path of the page; by default a file in the working directory, named after the session.
        outputPath: Opt<Str>,
    }) -> WrittenFile {
        answer: Done;
        lane: Session;
        errors {
            NothingToExport "Nothing to export yet - start a conversation first" => "the session has no messages";
            SessionNotInFile "Cannot export in-memory session to HTML" => "the session is not stored in a file";
        }
        example {"outputPath": "/tmp/session.html"} -> {"path": "/tmp/session.html"};
    }

    /// Opens another session. An extension can prevent it.
    command switch_session(SwitchSessionParams {
        /// File of the session.
        sessionPath: Str,
    }) -> Cancellation {
        answer: Done;
        run: Replaces;
        lane: Session;
        example {"sessionPath": "/path/to/session.jsonl"} -> {"cancelled": false};
    }

    /// Starts a new session with the conversation up to, but not including, one of the user's messages. An extension
    /// can prevent it.
    command fork(ForkParams {
        /// Entry id of that message; `get_fork_messages` lists the possible values.
        entryId: Str,
    }) -> ForkResult {
        answer: Done;
        run: Replaces;
        lane: Session;
        errors {
            EntryNotFound "Invalid entry ID for forking" => "no message of the user has that id";
        }
        example {"entryId": "abc123"} -> {"text": "The original prompt text...", "cancelled": false};
    }

    /// Starts a new session with a copy of the current conversation. An extension can prevent it.
    command clone_session() -> Cancellation [since "pi@1.5"] {
        wire: "clone";
        answer: Done;
        run: Replaces;
        lane: Session;
        errors {
            NothingSaid "This session has not been saved yet. Send a message before cloning or forking it."
                => "the session has no messages";
        }
        example {} -> {"cancelled": false};
    }

    /// Returns the entries of the session file in the order of their writing, including entries of abandoned branches.
    /// The id of the last entry is a cursor that stays valid.
    command get_entries(GetEntriesParams {
        /// Id of the entry after which the list begins; all entries if absent.
        since: Opt<Str>,
    }) -> Entries [since "pi@1.5"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        errors {
            EntryNotFound "Entry not found: {since}" => "no entry has that id";
        }
        example {"since": "abc123"} -> {"entries": [
            {"type": "session_info", "id": "def456", "parentId": "abc123", "timestamp": "2024-12-03T14:00:00.000Z", "name": "work"}
        ], "leafId": "def456"};
    }

    /// Returns the entries of the session file as a tree.
    command get_tree() -> SessionTree [since "pi@1.5"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"tree": [{"entry": {
            "type": "session_info", "id": "def456", "parentId": null, "timestamp": "2024-12-03T14:00:00.000Z", "name": "work"
        }, "children": []}], "leafId": "def456"};
    }

    /// Lists the user's messages that can be the start of a fork.
    command get_fork_messages() -> ForkPoints {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"messages": [
            {"entryId": "abc123", "text": "First prompt..."}, {"entryId": "def456", "text": "Second prompt..."}
        ]};
    }

    /// Returns the text of the model's last answer.
    command get_last_assistant_text() -> LastAssistantText {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"text": "The assistant's response..."};
    }

    /// Sets the name of the session. White space around the name is removed.
    command set_session_name(SetSessionNameParams {
        /// New name of the session.
        name: Str,
    }) -> Nothing {
        answer: Done;
        lane: Immediate;
        errors {
            EmptySessionName "Session name cannot be empty" => "the name is empty after trimming";
        }
        example {"name": "my-feature-work"};
    }

    /// The source of a command.
    strings CommandSource(open) {
        /// An extension registered the command.
        "extension",
        /// The command is a prompt template.
        "prompt",
        /// The command is a skill; its name begins with `skill:`.
        "skill",
    }

    /// The location of a command's file.
    strings CommandLocation(open) {
        /// The file belongs to the user.
        "user",
        /// The file belongs to the working directory.
        "project",
        /// The file comes from a path on the command line or in a setting.
        "path",
    }

    /// A command that a prompt can invoke with `/name`.
    record CommandInfo {
        /// The name, without the slash.
        name: Str,
        /// Description for the user.
        description: Opt<Str>,
        /// Source of the command.
        source: CommandSource,
        /// Location of the command's file; absent for extensions.
        location: Opt<CommandLocation> [until "pi@1.5"],
        /// Absolute path of the command's file.
        path: Opt<Str> [until "pi@1.5"],
        /// Location of the command's file, with its source and scope.
        sourceInfo: SourceInfo [since "pi@1.5"],
    }

    /// The location of a command, template or skill that a prompt can invoke.
    record SourceInfo {
        /// Absolute path of the file.
        path: Str,
        /// Method of discovery, as in `local`, `auto` or `cli`.
        source: Str,
        /// Owner of the file.
        scope: SourceScope,
        /// Origin of the file: on its own or part of a package.
        origin: SourceOrigin,
        /// Base folder of the package or of the files.
        baseDir: Opt<Str>,
    }

    /// The owner of the file of a command, template or skill.
    strings SourceScope(open) {
        /// The file belongs to the user.
        "user",
        /// The file belongs to the working directory.
        "project",
        /// The file belongs to this agent alone.
        "temporary",
    }

    /// The origin of a command, template or skill that a prompt can invoke.
    strings SourceOrigin(open) {
        /// The command, template or skill comes from a file of its own.
        "top-level",
        /// The command, template or skill comes from a package.
        "package",
    }

    /// The commands that a prompt can invoke with `/name`.
    record Commands {
        /// The commands: extension commands first, then templates, then skills.
        commands: List<CommandInfo>,
    }

    /// Lists the commands that a prompt can invoke with `/name`: extension commands, templates, skills.
    command get_commands() -> Commands {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"commands": [
            {"name": "session-name", "description": "Set or clear session name", "source": "extension",
             "path": "/home/user/.pi/agent/extensions/session.ts", "sourceInfo": {
                "path": "/home/user/.pi/agent/extensions/session.ts", "source": "auto", "scope": "user", "origin": "top-level"
             }},
            {"name": "fix-tests", "description": "Fix failing tests", "source": "prompt", "location": "project",
             "path": "/home/user/myproject/.pi/agent/prompts/fix-tests.md", "sourceInfo": {
                "path": "/home/user/myproject/.pi/agent/prompts/fix-tests.md", "source": "auto", "scope": "project",
                "origin": "top-level"
             }},
            {"name": "skill:brave-search", "description": "Web search via Brave API", "source": "skill",
             "location": "user", "path": "/home/user/.pi/agent/skills/brave-search/SKILL.md", "sourceInfo": {
                "path": "/home/user/.pi/agent/skills/brave-search/SKILL.md", "source": "auto", "scope": "user",
                "origin": "top-level"
             }}
        ]};
    }
}
