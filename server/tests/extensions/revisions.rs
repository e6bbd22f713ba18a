//! Events of extensions in different revisions of pi.

use serde_json::{Value, json};

use super::host::{command, plain};
use crate::support::process::{Agent, Place};

fn agent(place: &Place, revision: &str) -> Agent {
    let mut command = command(place, &["sessions"], plain());
    command.args(["--dialect", revision]);
    Agent::start(command)
}

#[test]
fn another_session_is_a_change_in_older_revisions_and_an_end_and_a_start_in_newer_ones() {
    for (revision, start, switch, fork) in [
        ("pi@0.55", "None", &["session_switch new True"][..], &["session_fork None True"][..]),
        (
            "pi@1.5",
            "startup",
            &["session_shutdown new False", "session_start new True"][..],
            &["session_shutdown fork False", "session_start fork True"][..],
        ),
    ] {
        let place = Place::new();
        let mut agent = agent(&place, revision);
        assert_eq!(agent.noticed(), format!("session_start {start} False"));
        agent.prompt("first");
        agent.until_event("agent_end");
        agent.ask(json!({"type": "abort"}));
        agent.send(json!({"type": "new_session"}));
        for said in switch {
            assert_eq!(agent.noticed(), *said, "{revision}");
        }
        agent.prompt("second");
        agent.until_event("agent_end");
        agent.ask(json!({"type": "abort"}));
        let points = agent.ask(json!({"type": "get_fork_messages"}));
        let entry = points["data"]["messages"][0]["entryId"].clone();
        agent.send(json!({"type": "fork", "entryId": entry}));
        for said in fork {
            assert_eq!(agent.noticed(), *said, "{revision}");
        }
    }
}

#[test]
fn extensions_hear_of_a_run_before_they_are_asked_about_its_context_in_newer_revisions() {
    for revision in ["pi@0.55", "pi@1.5"] {
        let place = Place::new();
        let mut agent = agent(&place, revision);
        agent.noticed();
        agent.prompt("first");
        let failed = |frame: &Value| frame["type"] == "extension_error";
        let mut heard: Vec<Value> =
            (0..2).map(|_| agent.until("a failure", failed).pop().unwrap()["event"].clone()).collect();
        if revision == "pi@0.55" {
            // In this revision, the event and the request are independent, so their order varies.
            heard.sort_by_key(Value::to_string);
        }
        assert_eq!(heard, ["agent_start", "context"], "{revision}");
    }
}
