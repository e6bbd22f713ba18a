//! Tests of the agent's sessions with clients that identify sessions by their ids.

use std::process::Stdio;

use agentese::Error;
use agentese::any::{Agent, Options};
use agentese::transport::ChildOptions;
use agentese::view::Role;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::{Pair, agentese, dismiss_all, run_prompt, soon};

/// The client receives the id of the agent's session, and can open that session again.
#[tokio::test]
async fn a_stored_session_is_opened_by_its_id() {
    for behind in ["pi", "operator"] {
        let mut pair = Pair::new("opal", behind);
        pair.stores_sessions = true;
        let agent = pair.connect(dismiss_all).await;
        run_prompt(&agent, "hello").await;
        let id = soon("the state", agent.state()).await.unwrap().session.id.unwrap();
        soon("the end", agent.close()).await;

        let agent = pair.connect(dismiss_all).await;
        assert!(soon("the session", agent.open_session(&id)).await.unwrap(), "{behind}");
        let state = soon("the state", agent.state()).await.unwrap();
        assert_eq!(state.session.id.as_deref(), Some(id.as_str()), "{behind}");
        // Operator agents do not report earlier messages of a session.
        let before = if behind == "pi" { 2 } else { 0 };
        assert_eq!(state.messages, Some(before), "{behind}");
        run_prompt(&agent, "second").await;
        soon("the end", agent.close()).await;

        let sessions = walk(&pair.place.path().join("home"));
        let kept: Vec<String> = sessions.into_iter().filter(|text| text.contains("Hello there")).collect();
        let [kept] = &kept[..] else { panic!("{behind}: {kept:#?}") };
        assert!(kept.contains("To the second."), "{behind}: {kept}");
    }
}

/// An id that is unknown to the agent is the name of a new session, as in Opal.
#[tokio::test]
async fn an_unknown_session_id_names_a_new_session() {
    let mut pair = Pair::new("opal", "pi");
    pair.stores_sessions = true;
    let agent = pair.connect(dismiss_all).await;
    assert!(soon("the session", agent.open_session("my-own-id")).await.unwrap());
    let state = soon("the state", agent.state()).await.unwrap();
    assert_eq!((state.session.id.as_deref(), state.messages), (Some("my-own-id"), Some(0)));
    let (text, _) = run_prompt(&agent, "hello").await;
    assert_eq!(text, "Hello there");
    soon("the end", agent.close()).await;
}

/// Agent of pi that reports its session once, and rejects later queries.
const STATE_ONCE: &str = r#"
asked=0
while read -r line; do
  id=${line#*\"id\":\"}; id=${id%%\"*}
  type=${line#*\"type\":\"}; type=${type%%\"*}
  says='"success":true,"data":{"models":[],"messages":[],"sessionId":"theirs"}'
  if [ "$type" = get_state ]; then
    asked=$((asked + 1))
    [ $asked = 1 ] || says='"success":false,"error":"the state is out of order"'
  fi
  printf '{"id":"%s","type":"response","command":"%s",%s}\n' "$id" "$type" "$says"
done
"#;

/// If the bridge does not know whether the agent stores a session, it does not replace the session by a new
/// one.
#[tokio::test]
async fn a_session_of_unknown_storage_is_not_replaced() {
    let child = ChildOptions::new(agentese())
        .args(["bridge", "--to", "opal", "--from", "pi", "--", "sh", "-c", STATE_ONCE]);
    let agent = soon("the bridge", Agent::spawn(child, Options::new().dialect("opal"))).await.unwrap();
    let refused = soon("the rejection", agent.open_session("my-own-id")).await.unwrap_err();
    let Error::Refused(refused) = refused else { panic!("{refused}") };
    let reason = format!("{:?}", refused.data);
    assert!(reason.contains("the state is out of order"), "{refused:?}");
    soon("the end", agent.close()).await;
}

/// If the client stores its session, the agent stores it too. The client can then go back to an earlier
/// entry.
#[tokio::test]
async fn a_client_goes_back_in_a_stored_session() {
    let pair = Pair::new("opal", "pi");
    let agent = pair.connect(dismiss_all).await;
    run_prompt(&agent, "hello").await;
    run_prompt(&agent, "second").await;
    let messages = soon("the messages", agent.messages()).await.unwrap();
    let first = messages.iter().find(|message| message.role == Role::Assistant).unwrap();
    soon("the fork", agent.fork(first.id.as_deref().unwrap())).await.unwrap();
    let messages = soon("the messages", agent.messages()).await.unwrap();
    let texts: Vec<String> = messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["hello", "Hello there"]);
    soon("the end", agent.close()).await;
}

/// The bridge rejects a command with hidden output while it does not know the agent's revision. Afterwards it forwards
/// the command, and the output stays hidden from the model.
#[tokio::test]
async fn a_command_that_is_hidden_from_the_model_stays_hidden_or_is_not_run() {
    let mut pair = Pair::new("pi@1.5", "pi");
    pair.stores_sessions = true;
    pair.agent_arguments = ["--dialect", "pi@1.5"].map(str::to_owned).into();
    let agent = pair.connect(dismiss_all).await;
    let refused = soon("the rejection", agent.bash_hidden("echo se\"\"cret")).await.unwrap_err().to_string();
    assert!(
        refused.contains("hide the output of a command from its model") && refused.contains("--from pi@1.5"),
        "{refused}"
    );
    // The response to a prompt reveals the agent's revision.
    run_prompt(&agent, "hello").await;
    let done = soon("the command", agent.bash_hidden("echo hid\"\"den")).await.unwrap();
    assert_eq!(done.output, "hidden\n");
    run_prompt(&agent, "second").await;
    soon("the end", agent.close()).await;
    let kept = walk(&pair.place.path().join("home")).join("\n");
    let command = kept.lines().find(|line| line.contains("hidden\\n")).unwrap_or_else(|| panic!("{kept}"));
    assert!(command.contains(r#""excludeFromContext":true"#), "{command}");
    assert!(!kept.contains("secret"), "{kept}");
}

/// Two sessions that start at the same time would share the agent's only conversation, so one is rejected.
#[tokio::test]
async fn one_of_two_concurrent_sessions_is_rejected() {
    let mut pair = Pair::new("opal", "pi");
    pair.stores_sessions = true;
    let mut command = pair.command(false);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut bridge = command.spawn().unwrap();
    let (mut to, from) = (bridge.stdin.take().unwrap(), bridge.stdout.take().unwrap());
    let start = |id: &str| json!({"jsonrpc": "2.0", "id": id, "method": "session/start", "params": {"session_id": id}});
    let both = format!("{}\n{}\n", start("one"), start("two"));
    to.write_all(both.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(from).lines();
    let mut answers = Vec::new();
    while answers.len() < 2 {
        let line = soon("the answers", lines.next_line()).await.unwrap().unwrap();
        let frame: Value = serde_json::from_str(&line).unwrap();
        if frame["id"].is_string() {
            answers.push(frame);
        }
    }
    let (refused, begun): (Vec<Value>, Vec<Value>) =
        answers.into_iter().partition(|answer| answer["error"].is_object());
    assert_eq!((refused.len(), begun.len()), (1, 1), "{refused:#?} {begun:#?}");
    assert!(refused[0].to_string().contains("one conversation at a time"), "{refused:#?}");
    drop(to);
    soon("the end", bridge.wait()).await.unwrap();
}

/// Returns the contents of all files in a folder.
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
