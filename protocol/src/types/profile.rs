//! Start and description of an agent for the suite: profiles and expected failures.

use super::suite::{CaseNeed, FileContent};
use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Map, Object, Opt, Str};

protocol! {
    /// A text that is replaced in every saved file.
    record Redaction {
        /// The text to replace. Variables in it are substituted.
        from: Str,
        /// The text that replaces it.
        to: Str,
        ;
        example {"from": "${MODEL_HOST}", "to": "127.0.0.1:4010"}
    }

    /// A configuration file of the agent.
    record ProfileFile {
        /// Path of the file in the agent's directory. The file holds JSON, which is also valid YAML.
        file: Str,
        /// Content of the file if the case does not define any.
        value: Object,
        ;
        example {"file": "settings.json", "value": {"retry": {"baseDelayMs": 200}}}
    }

    /// The parts of a dialect that an agent claims to support. Parts that are not listed are claimed.
    record ProfileClaims {
        /// Supported commands. If present, a case that sends another command is not applicable.
        commands: Opt<List<Str>>,
        /// Supported events. If present, a case that covers another event is not applicable.
        events: Opt<List<Str>>,
        /// Commands that the agent does not support.
        without_commands: Opt<List<Str>>,
        /// Events that the agent never sends.
        without_events: Opt<List<Str>>,
        /// Needs of cases that the agent does not fulfil.
        without: Opt<List<CaseNeed>>,
        /// `true` if the agent plays the model script of the case itself and sends no requests to the model's server.
        embedded_model: Opt<Bool>,
        ;
        example {"without_commands": ["export_html"], "without": ["extensions"]}
    }

    /// A tool of the agent that stands for a tool of the model scripts.
    record ProfileTool {
        /// Name of the tool in the agent.
        name: Str,
        /// Names of the agent's arguments, by their names in the scripts. Other arguments keep their names.
        arguments: Opt<Map<Str>>,
        /// Further arguments that the tool of the agent requires.
        additional: Opt<Object>,
        ;
        example {"name": "run_shell_command", "additional": {"description": "Runs a command"}}
    }

    /// The command line, environment, files and claims of an agent under test.
    record Profile {
        /// Version of the format, 1.
        profile: Count,
        /// Name of the profile.
        name: Str,
        /// Dialect of the agent, with its revision.
        dialect: Str,
        /// Name of the agent in the headers of transcripts.
        agent: Str,
        /// Version of the agent.
        version: Opt<Str>,
        /// Program and first arguments, used if the command line does not name a program.
        command: Opt<List<Str>>,
        /// Arguments of every start.
        arguments: Opt<List<Str>>,
        /// Arguments used if the case has no arguments of its own.
        default_arguments: Opt<List<Str>>,
        /// The complete environment; the agent inherits no other variables.
        environment: Opt<Map<Str>>,
        /// The agent's own directory relative to the run's directory, as in `home/.pi/agent`.
        agent_directory: Opt<Str>,
        /// Settings file of the agent.
        settings: Opt<ProfileFile>,
        /// Models file of the agent.
        models: Opt<ProfileFile>,
        /// Further files, in the form of the `files` of a case.
        files: Opt<Map<FileContent>>,
        /// Replacements in every saved file, in order, applied before those of the run's paths.
        redactions: Opt<List<Redaction>>,
        /// Pattern of the frame that reports the agent as ready, if the agent sends one.
        ready: Opt<Any>,
        /// Time until the agent must end after its stdin is closed, in milliseconds; 3000 by default.
        exit_grace_ms: Opt<Count>,
        /// Tools of the agent, by the names that the model scripts of the cases have for them.
        tools: Opt<Map<ProfileTool>>,
        /// Supported parts of the dialect.
        claims: Opt<ProfileClaims>,
        /// Initial choices of a fresh agent, as in its answer to the probe command: model, thinking level, presence of
        /// a session file. If absent, the suite queries them before the first case.
        choices: Opt<Object>,
        /// Known failures of the agent: a name, as in `expected/NAME.json` of the suite, or the path of a .json file.
        /// The path is relative to the folder of the profile.
        expected_failures: Opt<Str>,
        ;
        example {
            "profile": 1, "name": "agentese-pi", "dialect": "pi@0.55", "agent": "agentese",
            "command": ["agentese", "--mode", "rpc", "--dialect", "pi@0.55"],
            "environment": {"PATH": "${env:PATH}", "HOME": "${HOME}"}, "agent_directory": "home/.pi/agent"
        }
    }

    /// A check of a case that is known to fail.
    record ExpectedFailure {
        /// Name of the case.
        case: Str,
        /// Name of the check, as in reports.
        check: Str,
        /// Path of the failure in the frame, as in reports, with `[]` for any element of an array. If absent, the
        /// failure concerns the frame as a whole.
        path: Opt<Str>,
        /// Wire name of the event, command or dialog that fails. If absent, the entry applies to all of them.
        row: Opt<Str>,
        /// Reason for the failure.
        reason: Str,
        ;
        example {"case": "export-html", "check": "golden", "reason": "the page is of another make"}
    }

    /// The known failures of an agent. An entry that no longer fails is a failure itself.
    record ExpectedFailures {
        /// Version of the format, 1.
        expected_failures: Count,
        /// Name of the agent.
        agent: Opt<Str>,
        /// The known failures.
        failures: List<ExpectedFailure>,
        ;
        example {"expected_failures": 1, "agent": "agentese", "failures": [
            {"case": "export-html", "check": "golden", "reason": "the page is of another make"}
        ]}
    }
}
