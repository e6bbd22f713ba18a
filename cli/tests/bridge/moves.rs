//! Moves between conversations while the agent is at work.

use agentese::any::Event;

use super::{Pair, nobody, said, soon};

#[tokio::test]
async fn an_answer_is_told_whole_where_the_agent_refuses_a_fork_meanwhile() {
    let pair = Pair::new("pi", "operator");
    let agent = pair.connect(nobody).await;
    said(&agent, "hello").await;
    let points = soon("the places", agent.fork_points()).await.unwrap();
    let mut run = soon("the prompt", agent.prompt("slow")).await.unwrap();
    let mut grown = String::new();
    let mut refused = None;
    while let Some(event) = soon("an event", run.next()).await {
        let Event::TextGrew { text, .. } = event else { continue };
        grown.push_str(&text);
        if refused.is_none() {
            refused = Some(soon("the fork", agent.fork(&points[0].id)).await.is_err());
        }
    }
    assert_eq!(refused, Some(true));
    assert_eq!(grown, "abcdef");
    assert_eq!(soon("the end", run.result()).await.unwrap().text(), "abcdef");
    soon("the end", agent.close()).await;
}
