//! Detection of the dialect of a running program.

use std::path::Path;
use std::time::Duration;

use agentese::dynamic::{self, REVISIONS, SPECS};
use agentese::framing::FrameText;
use agentese::schema::{Side, schema};
use agentese::spec::{Framing, Spec};
use agentese::transport::{ChildOptions, SpawnError, Transport};
use agentese::types::{
    Direction, ModelScript, QuietStep, RawStep, Scenario, ScenarioBuilder, ScenarioStep, TranscriptRecord,
    WaitFrom, WaitStep,
};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::bridged::{handshakes, is_rejection, is_response};
use super::{DialectGuess, NotAnAgentError, weigh};
use crate::generated::DIALECTS;
use crate::player::read_lines;
use crate::recording::Recorder;

/// A command that no dialect has.
const UNKNOWN_COMMAND: &str = "agentese_detect";

/// Returns the requests of a probe: the probe command of each dialect, in its framing; a command that only
/// later revisions have; an unknown command.
///
/// Each dialect responds with its own kind of failure to a line that it cannot read.
fn probe_requests() -> Vec<Value> {
    let mut asked: Vec<(bool, &str)> = Vec::new();
    for spec in SPECS {
        let Some(tables) = DIALECTS.iter().find(|tables| tables.name == spec.name) else { continue };
        let question = (matches!(spec.framing, Framing::JsonRpc { .. }), tables.probe_command);
        if !asked.contains(&question) {
            asked.push(question);
        }
    }
    for revisions in REVISIONS {
        for (place, spec) in revisions.iter().enumerate().skip(1) {
            let is_new = |name: &str| revisions[..place].iter().all(|older| older.command(name).is_none());
            let harmless = spec
                .commands
                .iter()
                .filter(|command| command.reads && command.required.is_empty() && is_new(command.wire));
            // Commands with short answers are preferred to commands that return a whole history.
            if let Some(command) = harmless.min_by_key(|command| has_nested_values(spec, command.wire)) {
                let question = (matches!(spec.framing, Framing::JsonRpc { .. }), command.wire);
                if !asked.contains(&question) {
                    asked.push(question);
                }
            }
        }
    }
    asked.push((false, UNKNOWN_COMMAND));
    let frames = asked.into_iter().zip(1..).map(|((is_json_rpc, command), number)| match is_json_rpc {
        true => json!({"jsonrpc": "2.0", "id": number, "method": command, "params": {}}),
        false => json!({"id": format!("detect-{number}"), "type": command}),
    });
    frames.collect()
}

/// Returns `true` if the answer to a command contains lists or objects.
fn has_nested_values(spec: &Spec, command: &str) -> bool {
    let text = schema(&spec.id(), Side::Server).unwrap_or_default();
    let Ok(schema) = serde_json::from_str::<Value>(text) else { return true };
    let definitions = &schema["$defs"];
    let answers =
        definitions.as_object().into_iter().flatten().map(|(_, definition)| &definition["properties"]);
    let mut data =
        answers.filter(|members| members["command"]["const"] == command).map(|members| &members["data"]);
    let name = data.find_map(|data| data["$ref"].as_str()?.strip_prefix("#/$defs/"));
    let members = name.and_then(|name| definitions[name]["properties"].as_object());
    members.is_none_or(|members| {
        members.values().any(|member| !member["items"].is_null() || !member["$ref"].is_null())
    })
}

/// Time limit for each answer after the first one.
const REST: Duration = Duration::from_millis(300);

/// Time without output after which the probe ends, once all answers have arrived or have timed out.
const END: Duration = Duration::from_millis(50);

/// Reason why a program cannot be probed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DetectError {
    /// The program does not start.
    #[error("the agent does not start: {0}")]
    Spawn(#[from] SpawnError),
    /// The program ended without output.
    #[error("the agent ended without output ({exit})")]
    Ended {
        /// Exit status of the program.
        exit: String,
    },
    /// The program printed nothing within the time limit.
    #[error("no output from the agent within {} ms ({exit})", limit.as_millis())]
    Silent {
        /// Time limit of the wait.
        limit: Duration,
        /// Exit status of the program.
        exit: String,
    },
    /// The program's output is not an agent's.
    #[error(transparent)]
    NotAnAgent(#[from] NotAnAgentError),
}

/// Returns the requests of a probe as a case, for agents that need a profile to start, for example because
/// they exit without a model. The caller plays the case and passes its transcript to [`super::detect`].
pub fn detect_case(dialect: &str) -> Scenario {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or_default();
    let mut quiet = QuietStep::new(millis(END));
    quiet.skip = Some(true);
    let mut first = WaitStep::new(json!({}));
    first.optional = Some(true);
    let is_json_rpc =
        dynamic::spec(dialect).is_ok_and(|spec| matches!(spec.framing, Framing::JsonRpc { .. }));
    let questions = probe_requests();
    let own = questions.iter().filter(|question| question.get("jsonrpc").is_some() == is_json_rpc);
    let rest = own.map(|question| {
        let mut answer = WaitStep::new(json!({"id": question["id"]}));
        (answer.optional, answer.from, answer.timeout_ms) =
            (Some(true), Some(WaitFrom::Start), Some(millis(REST)));
        ScenarioStep::from(answer)
    });
    let steps = questions.iter().map(|question| ScenarioStep::from(RawStep::new(question.to_string())));
    let steps = steps.chain([first.into()]).chain(rest).chain([quiet.into()]).collect();
    let mut case = ScenarioBuilder {
        scenario: 1,
        name: "detect".to_owned(),
        dialect: dialect.into(),
        title: "which dialect the agent speaks".to_owned(),
        steps,
    }
    .build();
    case.model = Some(ModelScript::new(Vec::new()));
    case
}

/// Environment variables with paths to a user's own files.
const USER_FOLDERS: [&str; 6] =
    ["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];

/// Starts a program, sends a few harmless commands, and ends it. A program that rejects them as JSON-RPC also receives
/// the handshakes of the protocols that have no client. The program runs in a directory of the
/// caller's choice, which is also its home. It gets this process's environment, except for variables with
/// paths to the user's own files.
///
/// # Errors
/// If the program does not start, or prints nothing within the limit.
pub async fn detect_live(
    program: &str,
    arguments: &[String],
    directory: &Path,
    limit: Duration,
) -> Result<Vec<DialectGuess>, DetectError> {
    let mut options = ChildOptions::new(program).args(arguments).cwd(directory);
    for name in USER_FOLDERS {
        options = options.env(name, directory);
    }
    let (stdout, mut stdin, child) = Transport::from_child(options)?.into_parts();
    let recorder = std::sync::Arc::new(Recorder::default());
    let reader = tokio::spawn(read_lines(stdout, recorder.clone()));
    let mut changes = recorder.changes();
    for question in probe_requests() {
        let line = format!("{question}\n");
        recorder.sent(&line);
        // A failed write is ignored: a program that has ended may still have printed an answer.
        let write = async { stdin.write_all(line.as_bytes()).await.and(stdin.flush().await) };
        if !matches!(tokio::time::timeout(limit, write).await, Ok(Ok(()))) {
            break;
        }
    }
    let first = async {
        while recorder.progress() == (0, true) {
            let _ = changes.changed().await;
        }
    };
    let _ = tokio::time::timeout(limit, first).await;
    // `true` if the output ended before this function closed the agent's stdin.
    let has_ended = recorder.progress() == (0, false);
    // Answers may arrive in any order, and some dialects leave commands unanswered, so each further answer
    // gets only a short time.
    while recorder.progress().1 && tokio::time::timeout(REST, changes.changed()).await.is_ok() {}
    if has_received(&recorder, is_rejection) {
        for handshake in handshakes() {
            let line = format!("{handshake}\n");
            recorder.sent(&line);
            let write = async { stdin.write_all(line.as_bytes()).await.and(stdin.flush().await) };
            let _ = tokio::time::timeout(limit, write).await;
        }
        let answered = async {
            while recorder.progress().1 && !has_received(&recorder, is_response) {
                let _ = changes.changed().await;
            }
        };
        let _ = tokio::time::timeout(limit, answered).await;
    }
    drop(stdin);
    let exit = match child {
        Some(child) => {
            let exit = child.shutdown().await;
            let last = exit.stderr_tail.trim().lines().last().unwrap_or_default();
            if last.is_empty() { exit.to_string() } else { format!("{exit}: {last}") }
        }
        None => String::new(),
    };
    reader.abort();
    let records = recorder.records();
    let lines: Vec<(bool, FrameText)> = records
        .into_iter()
        .filter_map(|record| match record {
            TranscriptRecord::Line(line) => Some((line.dir == Direction::C2s, FrameText::from(line.line?))),
            _ => None,
        })
        .collect();
    match weigh(&lines.iter().map(|(is_sent, line)| (*is_sent, line)).collect::<Vec<_>>()) {
        Err(NotAnAgentError::Silent) if has_ended => Err(DetectError::Ended { exit }),
        Err(NotAnAgentError::Silent) => Err(DetectError::Silent { limit, exit }),
        weighed => Ok(weighed?),
    }
}

/// Returns `true` if the agent has sent such a line.
fn has_received(recorder: &Recorder, is_wanted: fn(&str) -> bool) -> bool {
    recorder.records().iter().any(|record| match record {
        TranscriptRecord::Line(line) if line.dir != Direction::C2s => {
            line.line.as_deref().is_some_and(is_wanted)
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use agentese::framing::FrameText;

    use super::*;
    use crate::decode::name;

    #[test]
    fn each_framing_gets_a_known_and_an_unknown_command() {
        let asked = probe_requests();
        let names: Vec<String> =
            asked.iter().filter_map(|line| name(&FrameText::from(line.to_string().as_str()))).collect();
        assert_eq!(names.len(), asked.len());
        for spec in SPECS {
            assert!(names.iter().any(|name| spec.command(name).is_some()), "{} has no probe", spec.name);
            assert!(spec.command(UNKNOWN_COMMAND).is_none());
        }
        for revisions in REVISIONS {
            for (place, spec) in revisions.iter().enumerate().skip(1) {
                let is_new = |name: &str| {
                    spec.command(name).is_some()
                        && revisions[..place].iter().all(|older| older.command(name).is_none())
                };
                let reads =
                    spec.commands.iter().any(|row| row.reads && row.required.is_empty() && is_new(row.wire));
                assert_eq!(reads, names.iter().any(|name| is_new(name)), "{}", spec.id());
            }
        }
    }
}
