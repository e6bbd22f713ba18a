//! Tests of cases whose agent replays the recording of the same case. The result must equal the recording.

use agentese::types::TranscriptRecord;
use agentese_conformance::Suite;
use agentese_conformance::player::{PlayOptions, play};
use serde_json::Value;

async fn plays(profile: &str, name: &str) {
    let suite = Suite::embedded();
    let profile = suite.profile(profile).unwrap();
    let case = suite.case(&profile.dialect, name).unwrap();
    let golden = suite.golden(&profile.dialect, name).unwrap().unwrap();
    let mut profile = profile;
    profile.arguments = None;
    profile.default_arguments = None;
    let command = [env!("CARGO_BIN_EXE_agentese-conformance"), "replay", "--dialect", &profile.dialect, name];
    let options =
        PlayOptions { command: Some(command.map(str::to_owned).to_vec()), ..PlayOptions::default() };
    let mut case = case;
    case.arguments = None;
    let played = play(&case, &profile, &options).await.unwrap();
    assert_eq!(played.broke_off, None, "{name}: {}", played.recording.text());
    let said: Vec<Value> = played
        .recording
        .records
        .iter()
        .filter_map(|record| match record {
            TranscriptRecord::Line(line) if line.dir == agentese::types::Direction::S2c => {
                serde_json::from_str(line.line.as_deref()?).ok()
            }
            _ => None,
        })
        .collect();
    let wanted: Vec<Value> =
        golden.received().map(|line| serde_json::from_str(line.as_str()).unwrap()).collect();
    assert_eq!(said.len(), wanted.len(), "{name}");
    for (said, wanted) in said.iter().zip(&wanted) {
        // The agent chooses the ids of dialogs, so these are unchanged. The ids of answers are those of
        // this client.
        assert_eq!(said, wanted, "{name}");
    }
}

#[tokio::test]
async fn pi_text_tools_and_dialogs() {
    tokio::join!(
        plays("agentese-pi", "prompt-text-anthropic"),
        plays("agentese-pi", "tool-multi"),
        plays("agentese-pi", "ext-ui-values"),
        plays("agentese-pi", "queue-modes"),
    );
}

#[tokio::test]
async fn omp_ready_and_tools() {
    tokio::join!(plays("omp", "prompt_tool_bash"), plays("omp", "session_stats"));
}

#[tokio::test]
async fn opal_sessions() {
    tokio::join!(plays("agentese-opal", "02_session_start"), plays("agentese-opal", "03_prompt_text"));
}
