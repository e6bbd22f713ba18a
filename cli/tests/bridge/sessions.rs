//! Sessions of the agent behind a front end that names sessions by their ids.

use agentese::view::Role;

use super::{Pair, nobody, said, soon};

/// The session that a client is told is the agent's, and it is opened again where a client asks for it.
#[tokio::test]
async fn a_session_that_the_agent_keeps_is_opened_by_its_id() {
    for behind in ["pi", "operator"] {
        let mut pair = Pair::new("opal", behind);
        pair.keeps = true;
        let agent = pair.connect(nobody).await;
        said(&agent, "hello").await;
        let id = soon("the state", agent.state()).await.unwrap().session.id.unwrap();
        soon("the end", agent.close()).await;

        let agent = pair.connect(nobody).await;
        assert!(soon("the session", agent.open_session(&id)).await.unwrap(), "{behind}");
        let state = soon("the state", agent.state()).await.unwrap();
        assert_eq!(state.session.id.as_deref(), Some(id.as_str()), "{behind}");
        // Operator agents do not tell what was said before.
        let before = if behind == "pi" { 2 } else { 0 };
        assert_eq!(state.messages, Some(before), "{behind}");
        said(&agent, "second").await;
        soon("the end", agent.close()).await;

        let sessions = walk(&pair.place.path().join("home"));
        let kept: Vec<String> = sessions.into_iter().filter(|text| text.contains("Hello there")).collect();
        let [kept] = &kept[..] else { panic!("{behind}: {kept:#?}") };
        assert!(kept.contains("To the second."), "{behind}: {kept}");
    }
}

/// An id that the agent knows nothing of is the name of a fresh session, as in Opal.
#[tokio::test]
async fn a_session_that_nobody_keeps_begins_under_its_name() {
    let mut pair = Pair::new("opal", "pi");
    pair.keeps = true;
    let agent = pair.connect(nobody).await;
    assert!(soon("the session", agent.open_session("my-own-id")).await.unwrap());
    let state = soon("the state", agent.state()).await.unwrap();
    assert_eq!((state.session.id.as_deref(), state.messages), (Some("my-own-id"), Some(0)));
    let (text, _) = said(&agent, "hello").await;
    assert_eq!(text, "Hello there");
    soon("the end", agent.close()).await;
}

/// A session that the client wants to keep is kept by the agent: its client can go back in it.
#[tokio::test]
async fn a_client_goes_back_in_a_session_that_the_agent_keeps() {
    let pair = Pair::new("opal", "pi");
    let agent = pair.connect(nobody).await;
    said(&agent, "hello").await;
    said(&agent, "second").await;
    let messages = soon("the messages", agent.messages()).await.unwrap();
    let first = messages.iter().find(|message| message.role == Role::Assistant).unwrap();
    soon("the fork", agent.fork(first.id.as_deref().unwrap())).await.unwrap();
    let messages = soon("the messages", agent.messages()).await.unwrap();
    let texts: Vec<String> = messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["hello", "Hello there"]);
    soon("the end", agent.close()).await;
}

/// The texts of all files within a folder.
fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => texts.extend(walk(&path)),
            false => texts.extend(std::fs::read_to_string(&path).ok()),
        }
    }
    texts
}
