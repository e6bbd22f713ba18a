//! What ends a run that nobody stopped: agents that die or do not start, and more than the bridge has room for; and what
//! nobody can bridge.

use super::*;

/// How many threads have an agent.
const MOST: usize = 16;

impl Bridge {
    /// Asks for a run that is refused; gives the status and the reason.
    async fn refused(&self, thread: &str, words: &str) -> (u16, String) {
        let mut input = json!({"threadId": thread, "runId": "r1", "tools": [], "context": []});
        input.as_object_mut().unwrap().extend(said(words).as_object().unwrap().clone());
        let json = [("content-type", "application/json")];
        let (status, _, mut rest) = self.request("POST", &self.path, &json, &input.to_string()).await;
        let mut body = String::new();
        soon("the body", rest.read_to_string(&mut body)).await.unwrap();
        (status, serde_json::from_str::<Value>(&body).unwrap()["error"].as_str().unwrap().to_owned())
    }

    /// Waits until that many agents are there.
    async fn agents(&self, count: usize) {
        soon("the agents", async {
            while self.children().len() != count {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_run_waits_for_the_one_before_it_as_long_as_it_was_told() {
    let bridge = Bridge::start("pi", &json!({}), &["--wait", "1"]);
    let mut run = bridge.ask("t", said("hang")).await;
    run.until("TEXT_MESSAGE_CONTENT").await;
    let (status, reason) = bridge.refused("t", "hello").await;
    assert_eq!((status, reason.as_str()), (409, "a run of this thread is going on"));
    drop(run);
    // The run is stopped, and the thread is free then.
    let events = bridge.say("t", "hello").await;
    assert_eq!(text(&events, "TEXT_MESSAGE_CONTENT"), "Hello there", "{events:#?}");
}

#[tokio::test]
async fn the_agent_that_was_used_longest_ago_makes_place_for_another() {
    let bridge = Bridge::start("pi", &json!({}), &[]);
    for thread in 0..MOST {
        bridge.say(&thread.to_string(), "hello").await;
    }
    bridge.agents(MOST).await;
    assert_eq!(roles(&bridge.say("0", "hello").await).len(), 6);
    bridge.say("another", "hello").await;
    bridge.agents(MOST).await;
    // The first one is there still, and the second has begun anew.
    assert_eq!(roles(&bridge.say("0", "hello").await).len(), 9);
    assert_eq!(roles(&bridge.say("1", "hello").await).len(), 3);
    bridge.agents(MOST).await;
}

#[tokio::test]
async fn there_is_no_place_while_all_threads_have_a_run() {
    let bridge = Bridge::start("pi", &json!({}), &[]);
    let mut runs = Vec::new();
    for thread in 0..MOST {
        let mut run = bridge.ask(&thread.to_string(), said("hang")).await;
        run.until("TEXT_MESSAGE_CONTENT").await;
        runs.push(run);
    }
    let (status, reason) = bridge.refused("another", "hello").await;
    assert_eq!(status, 503);
    assert!(reason.starts_with("16 threads have a run that is going on"), "{reason}");
    bridge.agents(MOST).await;
}

#[tokio::test]
async fn an_agent_that_does_not_start_fails_the_run() {
    for (agent, why) in [(&["/nowhere/agent"][..], "/nowhere/agent"), (&["sh", "-c", "exit 3"], "code 3")] {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("work")).unwrap();
        let agent: Vec<&OsStr> = agent.iter().map(OsStr::new).collect();
        // Agents of Opal are asked for a session before anything is said to them.
        let bridge = Bridge::before(place, "opal", &agent, &[]);
        let events = bridge.say("t", "hello").await;
        let error = events.last().unwrap();
        assert_eq!(error["code"], "agent_failed", "{events:#?}");
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
        bridge.agents(0).await;
    }
}

#[tokio::test]
async fn an_agent_that_dies_fails_its_run_and_the_next_one_has_another() {
    let mut bridge = Bridge::start("pi", &json!({}), &[]);
    let mut run = bridge.ask("t", said("hang")).await;
    run.until("TEXT_MESSAGE_CONTENT").await;
    for child in bridge.children() {
        assert!(Command::new("kill").args(["-KILL", &child]).status().unwrap().success());
    }
    while run.next().await.is_some() {}
    assert_eq!(run.seen.last().unwrap()["code"], "agent_gone", "{:#?}", run.seen);
    let mut again = said("hang")["messages"].as_array().unwrap().clone();
    again.extend(said("hello")["messages"].as_array().unwrap().clone());
    let events = bridge.ask("t", json!({"messages": again})).await.rest().await;
    assert_eq!(text(&events, "TEXT_MESSAGE_CONTENT"), "Hello there", "{events:#?}");
    assert_eq!(custom(&events, "agentese.unheard"), Some(&json!({"messages": ["my-hang"]})), "{events:#?}");

    let pid = bridge.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let ended = soon("the end", async {
        loop {
            if let Some(status) = bridge.child.try_wait().unwrap() {
                break status;
            }
            tokio::task::yield_now().await;
        }
    });
    assert!(ended.await.success());
    let report = std::fs::read_to_string(bridge.place.path().join("report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["front"], &report["rows"][0]["count"]), (&json!("agui@1"), &json!(2)), "{report:#}");
}

#[test]
fn what_cannot_be_bridged_is_refused_and_losses_are_explained() {
    for (words, said) in [
        (&["--to", "ag-ui", "--from", "acp", "--", "true"][..], "not of acp"),
        (&["--to", "pi", "--from", "ag-ui", "--", "true"], "no agent is driven by ag-ui"),
        (&["--to", "pi", "--port", "4711", "--", "true"], "go with --to ag-ui"),
        (&["--to", "ag-ui", "--", "/nowhere/agent"], "/nowhere/agent"),
    ] {
        let done = Command::new(agentese()).arg("bridge").args(words).output().unwrap();
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && stderr.contains(said), "{words:?}: {stderr}");
    }
    let explained = |agent: &str| -> Value {
        let words = ["bridge", "--json", "--explain", "ag-ui", agent];
        let done = Command::new(agentese()).args(words).output().unwrap();
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let pi = explained("pi");
    let row = |name: &str| {
        pi["rows"].as_array().unwrap().iter().find(|row| row["row"] == name).unwrap()["fate"].clone()
    };
    assert_eq!((row("run_agent"), row("TEXT_MESSAGE_CONTENT")), (json!("carried"), json!("carried")));
    assert_eq!(row("RUN_FINISHED"), "approximated");
    let operator = explained("operator");
    assert!(operator["rows"][0]["reason"].as_str().unwrap().contains("images"), "{operator:#}");
}
