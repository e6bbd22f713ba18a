//! Tests of changes to another conversation.

use agentese::any::Event;
use agentese::view::Role;

use super::{Pair, dismiss_all, run_prompt, soon};

/// A fork first stops the run. Otherwise an Operator agent would reject the fork, and an omp agent would
/// include the unfinished answer.
#[tokio::test]
async fn a_fork_stops_the_current_answer() {
    for behind in ["operator", "omp"] {
        let pair = Pair::new("pi", behind);
        let agent = pair.connect(dismiss_all).await;
        run_prompt(&agent, "hello").await;
        let points = soon("the places", agent.fork_points()).await.unwrap();
        let mut run = soon("the prompt", agent.prompt("slow")).await.unwrap();
        let (mut grown, mut forked) = (String::new(), false);
        while let Some(Ok(event)) = soon("an event", run.next()).await {
            let Event::TextGrew { text, .. } = event else { continue };
            grown.push_str(&text);
            if !std::mem::replace(&mut forked, true) {
                soon("the fork", agent.fork(&points[0].id)).await.unwrap();
            }
        }
        assert!(forked && grown.len() < "abcdef".len() && "abcdef".starts_with(&grown), "{behind}: {grown}");
        // The aborted text is not reported again.
        let (text, _) = run_prompt(&agent, "hello").await;
        assert!(!text.contains("abc"), "{behind}: {text}");
        assert_eq!(soon("the state", agent.state()).await.unwrap().messages, Some(2), "{behind}");
        soon("the end", agent.close()).await;
    }
}

#[tokio::test]
async fn a_fork_drops_the_messages_after_the_entry() {
    for behind in ["operator", "omp"] {
        let pair = Pair::new("operator", behind);
        let agent = pair.connect(dismiss_all).await;
        let (_, events) = run_prompt(&agent, "hello").await;
        let answer = events.iter().find_map(|event| match event {
            Event::MessageEnded { message } if message.role == Role::Assistant => message.id.clone(),
            _ => None,
        });
        run_prompt(&agent, "second").await;
        let count = async || soon("the state", agent.state()).await.unwrap().messages;
        assert_eq!(count().await, Some(4), "{behind}");
        soon("the fork", agent.fork(&answer.unwrap())).await.unwrap();
        assert_eq!(count().await, Some(2), "{behind}");
        let refused = soon("the rejection", agent.fork("no-such-entry")).await.unwrap_err().to_string();
        assert!(refused.contains("no-such-entry"), "{behind}: {refused}");
        assert_eq!(count().await, Some(2), "{behind}");
        soon("the end", agent.close()).await;
    }
}

#[tokio::test]
async fn fork_points_are_the_known_user_messages() {
    let pair = Pair::new("pi", "opal");
    let agent = pair.connect(dismiss_all).await;
    run_prompt(&agent, "hello").await;
    let points = soon("the places", agent.fork_points()).await.unwrap();
    assert_eq!(points.iter().map(|point| point.text.as_str()).collect::<Vec<_>>(), ["hello"]);
    soon("the end", agent.close()).await;
}
