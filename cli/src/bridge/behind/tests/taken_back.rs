//! Questions that the agent takes back.

use tokio::sync::mpsc::UnboundedSender;

use super::*;

/// Shows questions, which nobody answers; tells when they come and when they go.
struct Board(UnboundedSender<&'static str>);

impl Ui for Board {
    fn room(&self) -> BoxFuture<'_, ()> {
        futures::future::ready(()).boxed()
    }

    fn show(&self, _: &ui::Notice) {}

    fn ask(&self, _: &ui::Dialog) -> Option<BoxFuture<'static, Option<ui::Answer>>> {
        let shown = Shown(self.0.clone());
        let _ = self.0.send("there");
        let nobody = async move {
            let _shown = shown;
            std::future::pending().await
        };
        Some(nobody.boxed())
    }
}

/// A question that is shown.
struct Shown(UnboundedSender<&'static str>);

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.0.send("gone");
    }
}

#[tokio::test]
async fn a_question_that_the_agent_takes_back_goes_and_the_turn_goes_on() {
    let (agent, mut far) = stage();
    let (told, mut seen) = tokio::sync::mpsc::unbounded_channel();
    agent.connect(Arc::new(Board(told)));
    say(&agent, "go").await;
    let prompt = far.hears("session/prompt").await;
    far.asks("one", 7).await;
    assert_eq!(soon("the question", seen.recv()).await, Some("there"));
    // Nobody asked the first one.
    for id in [json!("7"), json!(7)] {
        far.says(json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": id}})).await;
    }
    let answer = far.hears("").await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32800)), "{answer}");
    assert_eq!(soon("its end", seen.recv()).await, Some("gone"));
    far.tells("one", chunk("so be it")).await;
    far.answers(&prompt, ended("end_turn")).await;
    assert_eq!(grown(&until_rest(&agent).await), "so be it");
}
