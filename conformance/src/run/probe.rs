//! Test start of an agent before its cases are played.

use std::time::Duration;

use agentese::types::{Direction, Profile, Scenario, ScenarioBuilder, SendStep, TranscriptRecord, WaitStep};
use serde_json::{Map, Value, json};

use super::RunOptions;
use crate::decode::protocol;
use crate::detect::{DialectGuess, detect, detect_case};
use crate::matching::{Rules, short};
use crate::player::{PlayOptions, play, relative_argument};
use crate::transcript::Transcript;

/// Upper limit of the usual time until an agent's first output, in milliseconds.
const USUAL_START_MS: f64 = 1500.0;

/// Time limit for the agent's answers.
const LONGEST: Duration = Duration::from_secs(60);

/// Maximum factor by which the waits for a slow agent are extended.
const SLOWEST: f64 = 10.0;

/// Confidence from which another dialect is reported. If that dialect has another framing, the cases are not
/// played.
const MIN_CONFIDENCE: f64 = 0.95;

/// Result of a probe.
#[derive(Debug)]
pub enum ProbeResult {
    /// The agent answers in a known dialect.
    Recognized {
        /// Remark if another dialect with the same framing fits better.
        remark: Option<String>,
        /// The agent's own choices, from its answer to the state query.
        choices: Option<Map<String, Value>>,
        /// Start time as a multiple of the usual start time; at least 1.
        slowness: f64,
    },
    /// The agent cannot be judged, for this reason.
    Unusable(String),
}

/// Starts the agent once, and checks that it speaks the dialect of its profile.
pub async fn probe(profile: &Profile, options: &RunOptions) -> ProbeResult {
    let play_options = PlayOptions {
        command: options.command.clone(),
        patience: options.patience * SLOWEST,
        limit: Some(options.limit.min(LONGEST)),
        stop: options.stop.clone(),
        ..PlayOptions::default()
    };
    let is_protocol = protocol(&profile.dialect).is_some();
    let case = match is_protocol {
        true => protocol_case(&profile.dialect),
        false => detect_case(&profile.dialect),
    };
    let played = match play(&case, profile, &play_options).await {
        Ok(played) => played,
        Err(error) => return ProbeResult::Unusable(error.to_string()),
    };
    let Ok(transcript) = played.recording.transcript() else {
        return ProbeResult::Unusable("cannot record the output of the agent".to_owned());
    };
    let is_json = |line: &str| serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok();
    if !transcript.received().any(|line| is_json(line.as_str())) {
        let end = end(&played.recording.records);
        let command = options.command.as_ref().or(profile.command.as_ref());
        let hint = command.and_then(|command| relative_argument(command));
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        let seen = match transcript.received().next() {
            None => "no output from the agent".to_owned(),
            Some(line) => format!("no frames from the agent: its line {} is not JSON", short(line.as_str())),
        };
        return ProbeResult::Unusable(format!("{seen}: {end}{hint}"));
    }
    let slowness = (first_output_ms(&played.recording.records) / USUAL_START_MS).clamp(1.0, SLOWEST);
    if is_protocol {
        return ProbeResult::Recognized { remark: None, choices: None, slowness };
    }
    match detect(&transcript) {
        Ok(guesses) => judge(&guesses, &profile.dialect, slowness, choices(&transcript, &profile.dialect)),
        Err(error) => ProbeResult::Unusable(error.to_string()),
    }
}

/// Returns a case that sends the first request of a protocol, which every agent of the protocol answers. Its parameters
/// are those of the first version.
fn protocol_case(dialect: &str) -> Scenario {
    let spec = protocol(dialect);
    let first = spec.and_then(|spec| spec.commands.first());
    let params: Map<String, Value> =
        first.iter().flat_map(|first| first.required).map(|name| ((*name).to_owned(), json!(1))).collect();
    let method = first.map_or("", |first| first.wire);
    let request = json!({"jsonrpc": "2.0", "id": "probe", "method": method, "params": params});
    let mut answer = WaitStep::new(json!({"id": "probe"}));
    answer.optional = Some(true);
    ScenarioBuilder {
        scenario: 1,
        name: "probe".to_owned(),
        dialect: dialect.to_owned(),
        title: "the first request".to_owned(),
        steps: vec![SendStep::new(request).into(), answer.into()],
    }
    .build()
}

/// Returns the time of the agent's first output, in milliseconds.
fn first_output_ms(records: &[TranscriptRecord]) -> f64 {
    let mut times = records.iter().filter_map(|record| match record {
        TranscriptRecord::Line(line) if line.dir == Direction::S2c => line.t.as_ref()?.as_f64(),
        _ => None,
    });
    times.next().unwrap_or_default()
}

/// Returns the choices of an agent that has just started, from its answer to the probe command of its
/// dialect.
pub(crate) fn choices(transcript: &Transcript, dialect: &str) -> Option<Map<String, Value>> {
    let question = Rules::of(dialect)?.probe_command();
    let mut answers =
        transcript.received().filter_map(|line| serde_json::from_str::<Value>(line.as_str()).ok());
    answers.find_map(|mut answer| {
        let is_it = answer["command"] == question && answer["success"] == true;
        match answer.get_mut("data").filter(|_| is_it)?.take() {
            Value::Object(data) => Some(data),
            _ => None,
        }
    })
}

fn judge(
    guesses: &[DialectGuess],
    dialect: &str,
    slowness: f64,
    choices: Option<Map<String, Value>>,
) -> ProbeResult {
    let of_profile = guesses.iter().find(|guess| guess.spec.id() == dialect);
    match (guesses.first(), of_profile) {
        (Some(best), Some(own)) if best.spec.id() != dialect && best.confidence >= MIN_CONFIDENCE => {
            let message = format!("the agent speaks {}, not {dialect}", best.spec.id());
            let is_of_a_kind =
                std::mem::discriminant(&best.spec.framing) == std::mem::discriminant(&own.spec.framing);
            if !is_of_a_kind {
                return ProbeResult::Unusable(message);
            }
            ProbeResult::Recognized { remark: Some(format!("it seems that {message}")), choices, slowness }
        }
        _ => ProbeResult::Recognized { remark: None, choices, slowness },
    }
}

/// Describes the exit of an agent that sent no frame.
fn end(records: &[TranscriptRecord]) -> String {
    let last = records.iter().rev().find_map(|record| match record {
        TranscriptRecord::Control(control) if control.event == "exit" => Some(control),
        _ => None,
    });
    let Some(last) = last else { return "it is still running".to_owned() };
    let code = match last.code.as_option() {
        Some(code) if *code < 0 => format!("ended by signal {}", -code),
        Some(code) => format!("exit code {code}"),
        None => "ended".to_owned(),
    };
    let stderr = last.stderr.as_option().map(|text| text.trim()).unwrap_or_default();
    match stderr.lines().last() {
        None => code,
        Some(line) => format!("{code}: {line}"),
    }
}
