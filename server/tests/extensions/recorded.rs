//! Recordings of pi with extensions in TypeScript. The tests reproduce them with extensions in Python.
//!
//! | recording | here |
//! |---|---|
//! | `ext-ui-values`, `-cancelled`, `-timeout`, `-signal`, `-two-at-once`, `ext-tool-guard` | `dialogs.rs` |
//! | `ext-ui-fire-and-forget`, `ext-command-queue`, `ext-messages`, `get-commands` | `commands.rs`, `hooks.rs` |
//! | `ext-errors`, `ext-cancel-switch` | `hooks.rs`, `commands.rs` |
//! | `proto-eof-dialog` | `lifecycle.rs` |
//! | `ext-load-error`, `ext-stdout-noise`, `ext-cancel-auto-compaction` | below |

use serde_json::{Value, json};

use super::host::{agent, check_runs, file, plain};
use crate::support::process::Place;

#[test]
fn failure_during_load_is_reported_on_stderr_and_the_agent_starts() {
    let place = Place::new();
    let mut agent = agent(&place, &["bad", "ui"], plain());
    let listed = agent.request(json!({"type": "get_commands"}));
    let names: Vec<_> =
        listed["data"]["commands"].as_array().unwrap().iter().map(|each| &each["name"]).collect();
    assert!(names.contains(&&json!("ask-select")) && !names.contains(&&json!("never")), "{names:?}");
    assert_eq!(agent.seen.len(), 1, "{:#?}", agent.seen);
    let (status, rest, stderr) = agent.finish();
    assert_eq!((status.code(), rest.as_str()), (Some(0), ""));
    let expected = format!("Failed to load extension \"{}\": load failed", file("bad").display());
    assert!(stderr.contains(&expected), "{stderr}");
    // The author finds the location of the failure on stderr.
    assert!(stderr.contains("raise RuntimeError"), "{stderr}");
}

#[test]
fn fm_f22_printed_output_of_an_extension_is_not_mixed_with_frames() {
    let place = Place::new();
    let mut agent = agent(&place, &["noise"], plain());
    agent.prompt("go");
    agent.until_event("agent_end");
    agent.prompt("/noise");
    assert_eq!(agent.next_notice(), "said");
    agent.request(json!({"type": "get_state"}));
    check_runs(&agent.seen);
    let (status, rest, stderr) = agent.finish();
    assert_eq!(status.code(), Some(0));
    for line in rest.lines() {
        assert!(serde_json::from_str::<Value>(line).unwrap().is_object(), "{line}");
    }
    for text in ["loading noise", "noise in turn {'a': 1}", "to stderr", "no newline"] {
        assert!(stderr.contains(text), "{text}: {stderr}");
    }
}

#[test]
fn automatic_compaction_can_be_cancelled() {
    let place = Place::new();
    let settings = json!({"compaction": {"reserveTokens": 100_000, "keepRecentTokens": 1}});
    place.put("home/.pi/agent/settings.json", settings.to_string());
    // More than the desired context, but less than the window.
    let much = json!({"text": "two", "usage": {"input": 150_000, "output": 1}});
    let script = json!({"responses": [{"text": "one"}, much, {"text": "three"}], "default": {"text": "ok"}});
    let mut agent = agent(&place, &["cancel"], script);
    for question in ["first", "second"] {
        agent.prompt(question);
        agent.until_event("agent_end");
    }
    let stopped = json!({"type": "auto_compaction_end", "result": null, "aborted": true, "willRetry": false});
    let frames = agent.until_event("auto_compaction_end");
    assert!(frames.contains(&json!({"type": "auto_compaction_start", "reason": "threshold"})), "{frames:#?}");
    assert_eq!(*frames.last().unwrap(), stopped);
    // The next prompt repeats the attempt before its run, and the run starts.
    agent.prompt("next");
    let frames = agent.until_event("agent_end");
    assert!(frames.contains(&stopped), "{frames:#?}");
    let state = agent.request(json!({"type": "get_state"}))["data"].clone();
    assert_eq!((&state["messageCount"], &state["isCompacting"]), (&json!(6), &json!(false)));
    assert_eq!(agent.failures(), Vec::<&Value>::new());
}
