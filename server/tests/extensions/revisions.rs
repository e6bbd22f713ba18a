//! Tests of the events that extensions receive in different revisions of pi.

use serde_json::{Value, json};

use super::host::{command, plain};
use crate::support::process::{Agent, Place};

fn agent(place: &Place, revision: &str) -> Agent {
    let mut command = command(place, &["sessions"], plain());
    command.args(["--dialect", revision]);
    Agent::start(command)
}

#[test]
fn session_switch_is_one_event_in_pi_0_55_and_shutdown_and_start_in_pi_1_5() {
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
        assert_eq!(agent.next_notice(), format!("session_start {start} False"));
        agent.prompt("first");
        agent.until_event("agent_end");
        agent.request(json!({"type": "abort"}));
        agent.send(json!({"type": "new_session"}));
        for notice in switch {
            assert_eq!(agent.next_notice(), *notice, "{revision}");
        }
        agent.prompt("second");
        agent.until_event("agent_end");
        agent.request(json!({"type": "abort"}));
        let points = agent.request(json!({"type": "get_fork_messages"}));
        let entry = points["data"]["messages"][0]["entryId"].clone();
        agent.send(json!({"type": "fork", "entryId": entry}));
        for notice in fork {
            assert_eq!(agent.next_notice(), *notice, "{revision}");
        }
    }
}

#[test]
fn run_start_precedes_the_context_request_in_pi_1_5() {
    for revision in ["pi@0.55", "pi@1.5"] {
        let place = Place::new();
        let mut agent = agent(&place, revision);
        agent.next_notice();
        agent.prompt("first");
        let failed = |frame: &Value| frame["type"] == "extension_error";
        let mut events: Vec<Value> =
            (0..2).map(|_| agent.until("a failure", failed).pop().unwrap()["event"].clone()).collect();
        if revision == "pi@0.55" {
            // In this revision, the event and the request are independent, so their order varies.
            events.sort_by_key(Value::to_string);
        }
        assert_eq!(events, ["agent_start", "context"], "{revision}");
    }
}
