//! Tests of the player, with agents that are short shell scripts, and with replayed agents.

mod agents;
#[path = "../../../sdk-rust/tests/support/long.rs"]
mod long;
mod replayed;

use agentese::types::{Profile, Scenario, TranscriptRecord};
use agentese_conformance::player::{PlayOptions, PlayResult, play};
use serde_json::{Value, json};

/// Returns a profile whose agent is a shell script.
fn shell(script: &str) -> Profile {
    let profile = json!({
        "profile": 1, "name": "shell", "dialect": "pi@0.55", "agent": "shell", "command": ["/bin/sh", "-c", script],
        "environment": {"PATH": "/usr/bin:/bin", "HOME": "${HOME}"}, "agent_directory": "home/.agent",
    });
    serde_json::from_value(profile).unwrap()
}

/// Returns a case with these steps.
fn case(steps: Value) -> Scenario {
    let case = json!({"scenario": 1, "name": "c", "dialect": "pi@0.55", "title": "t", "steps": steps});
    serde_json::from_value(case).unwrap()
}

async fn run(case: &Scenario, profile: &Profile) -> PlayResult {
    play(case, profile, &PlayOptions::default()).await.unwrap()
}

/// Returns a line for each record, without times.
fn outline(played: &PlayResult) -> Vec<String> {
    let records = played.recording.records.iter();
    let line = |record: &TranscriptRecord| match record {
        TranscriptRecord::Line(line) => {
            let eol = line.eol.as_option().map(|eol| format!(" {eol:?}")).unwrap_or_default();
            format!("{} {}{eol}", line.dir, line.line.as_deref().unwrap_or_default())
        }
        TranscriptRecord::Control(control) => {
            let code = control.code.as_option().map(|code| format!(" {code}")).unwrap_or_default();
            format!("ctl {}{code}", control.event)
        }
        TranscriptRecord::Note(note) => format!("note {}", note.line),
        TranscriptRecord::Header(_) => "header".to_owned(),
    };
    records.map(line).collect()
}
