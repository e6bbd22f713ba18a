//! Tests of `record --case`: a recorded session becomes a case that plays the same session again.

use std::path::Path;
use std::process::Command;

use agentese::types::Scenario;
use agentese_conformance::Suite;
use agentese_conformance::player::{PlayOptions, play};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_agentese-conformance");

/// Creates a case from a transcript of the suite, by running the binary.
fn made(dialect: &str, name: &str) -> Scenario {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("{name}.json"));
    let transcript =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("transcripts/{dialect}/{name}.jsonl"));
    let mut command = Command::new(PROGRAM);
    command
        .args(["record", "--dialect", dialect])
        .arg("--transcript")
        .arg(transcript)
        .arg("--case")
        .arg(&file);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&file).unwrap();
    let case: Scenario = serde_json::from_str(&text).unwrap();
    assert_eq!(case.name, name);
    case
}

/// Creates a case from a recording, and plays it with an agent that replays the recording.
async fn plays_again(profile: &str, name: &str) {
    let mut profile = Suite::embedded().profile(profile).unwrap();
    (profile.arguments, profile.default_arguments) = (None, None);
    let (dialect, _) = profile.dialect.split_once('@').unwrap();
    let case = made(dialect, name);
    let command = [PROGRAM, "replay", "--dialect", &profile.dialect, name].map(str::to_owned).to_vec();
    let options = PlayOptions { command: Some(command), ..PlayOptions::default() };
    let played = play(&case, &profile, &options).await.unwrap();
    assert_eq!(played.broke_off, None, "{dialect}/{name}: {}", played.recording.text());
}

#[tokio::test]
async fn a_case_of_a_recording_plays_the_recorded_session_again() {
    tokio::join!(
        plays_again("agentese-pi", "prompt-text-anthropic"),
        plays_again("agentese-pi", "tool-multi"),
        plays_again("agentese-pi", "abort-streaming"),
        plays_again("agentese-pi", "ext-ui-two-at-once"),
    );
    tokio::join!(
        plays_again("agentese-omp", "prompt_tool_bash"),
        plays_again("agentese-opal", "12_ask_user"),
        plays_again("agentese-operator", "d03_commands"),
        plays_again("agentese-pisces", "budget_none"),
    );
}

fn responses(case: &Scenario) -> Value {
    serde_json::to_value(case).unwrap()["model"]["responses"].clone()
}

#[test]
fn model_answers_become_the_script() {
    assert_eq!(responses(&made("pi", "prompt-text-anthropic")).as_array().unwrap().len(), 1);
    // The history of another session, which an answer contains, adds nothing to the script.
    assert_eq!(
        responses(&made("pi", "switch-session")),
        json!([{"blocks": [{"text": ["one"]}]}, {"blocks": [{"text": ["continued"]}]}])
    );
    let tool = &responses(&made("pi", "tool-bash-anthropic"))[0]["blocks"][1]["tool"];
    assert_eq!((&tool["id"], &tool["name"]), (&json!("call_bash_1"), &json!("bash")));
}

#[test]
fn generated_values_are_captured() {
    let steps = |case: &Scenario| serde_json::to_value(&case.steps).unwrap();
    let opal = steps(&made("opal", "12_ask_user"));
    assert_eq!(opal[1]["capture"], json!({"V1": "result.session_id"}));
    assert_eq!(opal[2]["send"]["params"]["session_id"], "${V1}");
    assert_eq!((&opal[4]["capture"], &opal[5]["send"]["id"]), (&json!({"V2": "id"}), &json!("${V2}")));
    let pi = steps(&made("pi", "switch-session")).to_string();
    assert!(pi.contains(r#""sessionPath":"${WORK}/old.jsonl""#), "{pi}");
}

#[test]
fn a_transcript_without_a_case_is_refused() {
    let output = Command::new(PROGRAM).args(["record", "--transcript", "session.jsonl"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--case"));
}
