//! Tests of the order of events, with a pi agent that is simulated line by line.

use agentese::any::Options;
use agentese::transport::memory_pair;
use agentese_server_engine::engine::InputQueue;
use serde_json::{Value, json};

use super::*;
use crate::fake_agent::{FakeAgent, soon};

impl FakeAgent {
    async fn send_response(&mut self, command: &Value, error: Option<&str>) {
        let (id, name) = (&command["id"], &command["type"]);
        let mut frame = json!({"type": "response", "id": id, "command": name, "success": error.is_none()});
        if let Some(error) = error {
            frame["error"] = error.into();
        }
        self.send(frame).await;
    }
}

async fn remote() -> (Arc<DialectRemoteAgent>, FakeAgent) {
    let (near, far) = memory_pair(1 << 16);
    let agent = Agent::from_transport(near, Options::new().dialect("pi")).await.unwrap();
    (Arc::new(DialectRemoteAgent::new(agent, ClientUi::new())), FakeAgent::of(far))
}

/// Starts to send input on a task, which ends with the response of the agent.
fn spawn_prompt(
    remote: &Arc<DialectRemoteAgent>,
    text: &'static str,
) -> tokio::task::JoinHandle<Result<(), RemoteError>> {
    let remote = remote.clone();
    tokio::spawn(async move { remote.submit(text, &[], Delivery::Prompt(Some(InputQueue::Steer))).await })
}

async fn next(remote: &DialectRemoteAgent) -> RemoteEvent {
    soon("an event", remote.next_event()).await
}

#[tokio::test]
async fn idle_follows_a_run_that_ends_before_a_rejected_prompt() {
    let (remote, mut fake) = remote().await;
    let one = spawn_prompt(&remote, "one");
    let prompt = fake.receive("prompt").await;
    fake.send_response(&prompt, None).await;
    fake.send(json!({"type": "agent_start"})).await;
    soon("the first prompt", one).await.unwrap().unwrap();
    assert_eq!(next(&remote).await, RemoteEvent::RunStarted);

    let two = spawn_prompt(&remote, "two");
    let prompt = fake.receive("prompt").await;
    fake.send(json!({"type": "agent_end", "messages": []})).await;
    // The work of the first prompt ends while the second one is in progress.
    soon("the end of the first prompt", async {
        while remote.open_prompts.load(Ordering::Acquire) > 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    fake.send_response(&prompt, Some("no")).await;
    assert_eq!(soon("the second prompt", two).await.unwrap(), Err("no".to_owned()));
    assert_eq!(next(&remote).await, RemoteEvent::RunEnded { will_retry: false });
    assert_eq!(next(&remote).await, RemoteEvent::Settled { aborted: false });
}

#[tokio::test]
async fn a_rejected_prompt_alone_emits_no_events() {
    let (remote, mut fake) = remote().await;
    for error in [Some("no"), None] {
        let prompted = spawn_prompt(&remote, "input");
        let prompt = fake.receive("prompt").await;
        fake.send_response(&prompt, error).await;
        assert_eq!(soon("the prompt", prompted).await.unwrap().err().as_deref(), error);
    }
    fake.send(json!({"type": "agent_start"})).await;
    assert_eq!(next(&remote).await, RemoteEvent::RunStarted);
}

#[tokio::test]
async fn unsupported_images_are_reported_and_images_alone_rejected() {
    let (near, far) = memory_pair(1 << 16);
    let agent = Agent::from_transport(near, Options::new().dialect("operator")).await.unwrap();
    let remote = Arc::new(DialectRemoteAgent::new(agent, ClientUi::new()));
    let mut fake = FakeAgent::of(far);
    let image = || {
        vec![serde_json::from_value(json!({"type": "image", "mimeType": "image/png", "data": "aa"})).unwrap()]
    };
    let error = remote.submit(" ", &image(), Delivery::Prompt(None)).await.unwrap_err();
    assert!(error.contains("does not accept images"), "{error}");
    let prompted = {
        let remote = remote.clone();
        tokio::spawn(async move { remote.submit("input", &image(), Delivery::Prompt(None)).await })
    };
    let prompt = fake.receive("prompt").await;
    assert_eq!(prompt["text"], "input", "{prompt}");
    prompted.abort();
    let shown = remote.ui.early_texts();
    assert!(shown.iter().any(|text| text.contains("does not accept images")), "{shown:?}");
}

#[test]
fn a_finished_setting_does_not_end_the_wait_for_calls() {
    assert!(!Control::SettingFinished.ends_calls() && !Control::PromptRejected.ends_calls());
    assert!(Control::PromptEnded(None).ends_calls() && Control::SessionSwitched.ends_calls());
}

#[tokio::test]
async fn a_compaction_does_not_end_a_switch() {
    let (remote, _far) = remote().await;
    remote.switch.enter(SwitchStage::Requested);
    remote.control.send(Control::SessionSwitched).unwrap();
    soon("a compaction", mark_reported(&remote.control)).await;
    assert!(remote.switch.is_at(SwitchStage::Switched));
    soon("the end of the switch", end_switch(&remote.control)).await;
    assert!(remote.switch.is_at(SwitchStage::Idle));
}
