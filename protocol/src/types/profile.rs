//! How an agent is started, and what is known of it: profiles and expected failures.

use super::suite::{CaseNeed, FileContent};
use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Map, Object, Opt, Str};

protocol! {
    /// A text that is replaced in everything that is saved.
    record Redaction {
        /// The text. Variables in it are replaced.
        from: Str,
        /// What stands in its place.
        to: Str,
        ;
        example {"from": "${MODEL_HOST}", "to": "127.0.0.1:4010"}
    }

    /// A configuration file of the agent.
    record ProfileFile {
        /// Its path in the agent's directory. It holds JSON, which is YAML too.
        file: Str,
        /// Its content where the case says nothing.
        value: Object,
        ;
        example {"file": "settings.json", "value": {"retry": {"baseDelayMs": 200}}}
    }

    /// What of its dialect an agent claims to have. What is not listed here counts as claimed.
    record ProfileClaims {
        /// The commands that it has. Where this stands, a case that sends another one is none for it.
        commands: Opt<List<Str>>,
        /// The events that it sends. Where this stands, a case that covers another one is none for it.
        events: Opt<List<Str>>,
        /// Commands that it does not have.
        without_commands: Opt<List<Str>>,
        /// Events that it never sends.
        without_events: Opt<List<Str>>,
        /// What cases may need and it does not have.
        without: Opt<List<CaseNeed>>,
        /// Whether it plays the case's model script itself, so that nothing is asked of the model's server.
        embedded_model: Opt<Bool>,
        ;
        example {"without_commands": ["export_html"], "without": ["extensions"]}
    }

    /// How an agent is started, and told where the model is.
    record Profile {
        /// The format's version, 1.
        profile: Count,
        /// The profile's name.
        name: Str,
        /// The dialect that the agent speaks, with its revision.
        dialect: Str,
        /// The agent, as the headers of transcripts call it.
        agent: Str,
        /// The agent's version.
        version: Opt<Str>,
        /// Program and first arguments, where the command line names none.
        command: Opt<List<Str>>,
        /// Arguments that it always gets.
        arguments: Opt<List<Str>>,
        /// Arguments that it gets where the case has none of its own.
        default_arguments: Opt<List<Str>>,
        /// The whole environment; nothing is inherited.
        environment: Opt<Map<Str>>,
        /// The agent's own directory, from the run's directory, as in `home/.pi/agent`.
        agent_directory: Opt<Str>,
        /// Its settings.
        settings: Opt<ProfileFile>,
        /// Its models.
        models: Opt<ProfileFile>,
        /// More files, as in a case.
        files: Opt<Map<FileContent>>,
        /// What is replaced in everything that is saved, in order, before the paths of the run.
        redactions: Opt<List<Redaction>>,
        /// A pattern of the frame that says that the agent is ready, where it sends one.
        ready: Opt<Any>,
        /// How long the agent may take to end once its stdin is closed, in milliseconds; 3000 by default.
        exit_grace_ms: Opt<Count>,
        /// What of the dialect it has.
        claims: Opt<ProfileClaims>,
        /// What it chose for itself, as a fresh agent answers the first question: model, thinking level, whether there is
        /// a session file. Missing: it is asked before the first case.
        choices: Opt<Object>,
        /// The failures that are known of it: a name, as in `expected/NAME.json` of the suite, or a file that
        /// ends in .json, from the folder of the profile.
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
        /// The case.
        case: Str,
        /// The check, as reports call it.
        check: Str,
        /// Where in the frame it fails, as reports have it, with `[]` for any element of an array. Missing: the failure is
        /// of a frame as a whole.
        path: Opt<Str>,
        /// The event, the command or the dialog that the failure is about, by its name on the wire. Missing: whichever it is.
        row: Opt<Str>,
        /// Why it fails.
        reason: Str,
        ;
        example {"case": "export-html", "check": "golden", "reason": "the page is of another make"}
    }

    /// The failures that are known of an agent. One that does not happen any more is a failure itself.
    record ExpectedFailures {
        /// The format's version, 1.
        expected_failures: Count,
        /// The agent.
        agent: Opt<Str>,
        /// The failures.
        failures: List<ExpectedFailure>,
        ;
        example {"expected_failures": 1, "agent": "agentese", "failures": [
            {"case": "export-html", "check": "golden", "reason": "the page is of another make"}
        ]}
    }
}
