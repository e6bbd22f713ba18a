//! Lanes: an abort is never queued behind what it should stop; and the end of input.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use agentese::omp::Omp;
use agentese::pi::Pi;
use agentese::serve::{Ended, Options};
use serde_json::json;

use crate::service::{Small, SmallOmp, start, within};

#[tokio::test]
async fn the_answer_to_a_prompt_stands_before_its_events() {
    let mut wire = start::<Pi, Small>(Arc::default(), Options::default());
    assert_eq!(wire.ask(r#"{"id":1,"type":"prompt","message":"go"}"#).await["command"], "prompt");
    assert_eq!(wire.hear().await, json!({"type": "agent_start"}));
    assert_eq!(wire.hear().await, json!({"type": "agent_end", "messages": []}));
}

/// F47: `abort_bash` and questions are answered while commands run; commands run side by side.
#[tokio::test]
async fn fm_f47_immediate_commands_pass_what_runs() {
    let mut wire = start::<Pi, Small>(Arc::default(), Options::default());
    wire.say(r#"{"id":"b1","type":"bash","command":"wait"}"#).await;
    wire.say(r#"{"id":"c1","type":"compact"}"#).await;
    wire.say(r#"{"id":"c2","type":"prompt","message":"after the compaction"}"#).await;
    assert_eq!(wire.ask(r#"{"id":"s","type":"get_state"}"#).await["id"], "s");
    assert_eq!(wire.ask(r#"{"id":"b2","type":"bash","command":"quick"}"#).await["id"], "b2");
    wire.say(r#"{"id":"a","type":"abort_bash"}"#).await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        let frame = wire.hear().await;
        ids.push(frame.get("id").or(frame.get("type")).unwrap().as_str().unwrap().to_owned());
    }
    // The session lane keeps its order: the prompt after the compaction.
    let at = |id: &str| ids.iter().position(|other| other == id).unwrap_or_else(|| panic!("{id} in {ids:?}"));
    assert!(at("c1") < at("c2") && at("c2") < at("agent_start"), "{ids:?}");
    assert!(ids.contains(&"a".to_owned()) && ids.contains(&"b1".to_owned()), "{ids:?}");
}

#[tokio::test]
async fn pipelined_commands_are_answered_in_order() {
    let mut wire = start::<Pi, Small>(Arc::default(), Options::default());
    let lines: String = (0..500).map(|n| format!("{{\"id\":{n},\"type\":\"get_state\"}}\n")).collect();
    wire.write(lines.as_bytes()).await;
    for n in 0..500 {
        assert_eq!(wire.hear().await["id"], n);
    }
}

/// pi lets running work finish when stdin ends; omp stops it.
#[tokio::test]
async fn the_end_of_input_is_the_dialects() {
    let small = Arc::new(Small::default());
    let mut wire = start::<Pi, Small>(small.clone(), Options::default());
    wire.say(r#"{"id":"b1","type":"bash","command":"wait"}"#).await;
    wire.say(r#"{"id":"s","type":"get_state"}"#).await;
    assert_eq!(wire.hear().await["id"], "s");
    tokio::io::AsyncWriteExt::shutdown(&mut wire.writer).await.unwrap();
    tokio::task::yield_now().await;
    assert!(!wire.served.is_finished(), "the running command was not waited for");
    small.release.notify_waiters();
    assert_eq!(wire.hear().await["id"], "b1");
    assert_eq!(within("the end", wire.served).await.unwrap(), Ended::EndOfInput);
    assert!(small.settled.load(Ordering::SeqCst) && !small.stopped.load(Ordering::SeqCst));

    let wire = start::<Omp, SmallOmp>(Arc::default(), Options::default());
    assert_eq!(wire.end().await, Ended::EndOfInput);
}

/// F31: a client that is gone ends serving, and running work with it.
#[tokio::test]
async fn fm_f31_a_broken_stdout_stops_everything() {
    let small = Arc::new(Small::default());
    let mut wire = start::<Pi, Small>(small.clone(), Options::default());
    wire.say(r#"{"id":"b1","type":"bash","command":"wait"}"#).await;
    wire.say(r#"{"id":"s","type":"get_state"}"#).await;
    assert_eq!(wire.hear().await["id"], "s");
    let served = wire.served;
    drop((wire.writer, ()));
    small.release.notify_waiters();
    let ended = within("the end", served).await.unwrap();
    assert!(matches!(ended, Ended::EndOfInput | Ended::BrokenOutput), "{ended:?}");
}

#[tokio::test]
async fn a_token_ends_serving() {
    let small = Arc::new(Small::default());
    let options = Options::default();
    let stop = options.stop.clone();
    let mut wire = start::<Pi, Small>(small.clone(), options);
    wire.say(r#"{"id":"b1","type":"bash","command":"wait"}"#).await;
    stop.cancel();
    assert_eq!(within("the end", wire.served).await.unwrap(), Ended::Stopped);
    assert!(small.stopped.load(Ordering::SeqCst));
}
