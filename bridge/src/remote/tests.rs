//! Event order of a pi agent that the tests play line by line.

use agentese::any::Options;
use agentese::transport::memory_pair;
use agentese_server_engine::engine::StreamingBehavior;
use serde_json::{Value, json};

use super::*;
use crate::far::{Far, soon};

impl Far {
    async fn responds(&mut self, command: &Value, error: Option<&str>) {
        let (id, name) = (&command["id"], &command["type"]);
        let mut frame = json!({"type": "response", "id": id, "command": name, "success": error.is_none()});
        if let Some(error) = error {
            frame["error"] = error.into();
        }
        self.says(frame).await;
    }
}

async fn remote() -> (Arc<Remote>, Far) {
    let (near, far) = memory_pair(1 << 16);
    let agent = Agent::over(near, Options::new().dialect("pi")).await.unwrap();
    (Arc::new(Remote::new(agent, Person::new())), Far::of(far))
}

/// Sends input, and waits for the response of the agent.
fn says(remote: &Arc<Remote>, text: &'static str) -> tokio::task::JoinHandle<Result<(), Unwilling>> {
    let remote = remote.clone();
    tokio::spawn(async move { remote.say(text, &[], Manner::Prompt(Some(StreamingBehavior::Steer))).await })
}

async fn next(remote: &Remote) -> Deed {
    soon("a deed", remote.next()).await
}

#[tokio::test]
async fn a_run_that_ends_before_another_prompt_is_refused_is_followed_by_rest() {
    let (remote, mut far) = remote().await;
    let one = says(&remote, "one");
    let prompt = far.hears("prompt").await;
    far.responds(&prompt, None).await;
    far.says(json!({"type": "agent_start"})).await;
    soon("the first prompt", one).await.unwrap().unwrap();
    assert_eq!(next(&remote).await, Deed::RunBegan);

    let two = says(&remote, "two");
    let prompt = far.hears("prompt").await;
    far.says(json!({"type": "agent_end", "messages": []})).await;
    // The work of the first prompt ends while the second one is in progress.
    soon("the end of the first prompt", async {
        while remote.open.load(Ordering::Acquire) > 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    far.responds(&prompt, Some("no")).await;
    assert_eq!(soon("the second prompt", two).await.unwrap(), Err("no".to_owned()));
    assert_eq!(next(&remote).await, Deed::RunOver { will_retry: false });
    assert_eq!(next(&remote).await, Deed::Rested { aborted: false });
}

#[tokio::test]
async fn nothing_is_told_of_a_prompt_that_is_refused_alone() {
    let (remote, mut far) = remote().await;
    for error in [Some("no"), None] {
        let said = says(&remote, "words");
        let prompt = far.hears("prompt").await;
        far.responds(&prompt, error).await;
        assert_eq!(soon("the prompt", said).await.unwrap().err().as_deref(), error);
    }
    far.says(json!({"type": "agent_start"})).await;
    assert_eq!(next(&remote).await, Deed::RunBegan);
}

#[tokio::test]
async fn images_and_instructions_that_the_agent_does_not_take_are_told_and_images_alone_refused() {
    let (near, far) = memory_pair(1 << 16);
    let agent = Agent::over(near, Options::new().dialect("operator")).await.unwrap();
    let remote = Arc::new(Remote::new(agent, Person::new()));
    let mut far = Far::of(far);
    let image = || {
        vec![serde_json::from_value(json!({"type": "image", "mimeType": "image/png", "data": "aa"})).unwrap()]
    };
    let refused = remote.say(" ", &image(), Manner::Prompt(None)).await.unwrap_err();
    assert!(refused.contains("takes no images"), "{refused}");
    let said = {
        let remote = remote.clone();
        tokio::spawn(async move { remote.say("words", &image(), Manner::Prompt(None)).await })
    };
    let prompt = far.hears("prompt").await;
    assert_eq!(prompt["text"], "words", "{prompt}");
    said.abort();
    let shown = remote.person.waiting();
    assert!(shown.iter().any(|text| text.contains("takes no images")), "{shown:?}");
}

#[test]
fn a_setting_that_is_set_does_not_end_the_wait_for_calls() {
    assert!(!Word::Set.ends_calls() && !Word::Refused.ends_calls());
    assert!(Word::Over(None).ends_calls() && Word::Moved.ends_calls());
}

#[tokio::test]
async fn a_compaction_does_not_end_a_move() {
    let (remote, _far) = remote().await;
    remote.moves.enter(Stage::Asked);
    remote.words.send(Word::Moved).unwrap();
    soon("a compaction", settled(&remote.words)).await;
    assert!(remote.moves.is_at(Stage::Moved));
    soon("the end of the move", arrived(&remote.words)).await;
    assert!(remote.moves.is_at(Stage::Staying));
}
