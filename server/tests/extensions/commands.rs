//! Tests of slash commands, notices and messages of extensions.

use serde_json::{Value, json};

use super::host::{agent, command, file, plain};
use crate::support::process::{Agent, Place};

fn slow() -> Value {
    json!({"responses": [{"blocks": [{"text": ["a", "b", "c"]}], "delay_ms": 150}], "default": {"text": "ok"}})
}

#[test]
fn notices_are_shown_in_order_before_the_answer() {
    let place = Place::new();
    let mut agent = agent(&place, &["ui"], plain());
    agent.prompt("/show-all with words");
    let frames = agent.until("the answer", |frame| frame["id"] == "/show-all with words");
    let shown: Vec<String> = frames[..frames.len() - 1]
        .iter()
        .map(|frame| {
            let mut frame = frame.clone();
            frame.as_object_mut().unwrap().shift_remove("id");
            frame.as_object_mut().unwrap().shift_remove("type");
            frame.to_string()
        })
        .collect();
    assert_eq!(
        shown,
        [
            r#"{"method":"notify","message":"plain"}"#,
            r#"{"method":"notify","message":"know","notifyType":"info"}"#,
            r#"{"method":"notify","message":"warn","notifyType":"warning"}"#,
            r#"{"method":"notify","message":"err","notifyType":"error"}"#,
            r#"{"method":"setStatus","statusKey":"k","statusText":"text"}"#,
            r#"{"method":"setStatus","statusKey":"k"}"#,
            r#"{"method":"setWidget","widgetKey":"w","widgetLines":["l1","l2"]}"#,
            r#"{"method":"setWidget","widgetKey":"w","widgetLines":["b"],"widgetPlacement":"belowEditor"}"#,
            r#"{"method":"setWidget","widgetKey":"w","widgetLines":["a"],"widgetPlacement":"aboveEditor"}"#,
            r#"{"method":"setWidget","widgetKey":"w"}"#,
            r#"{"method":"setTitle","title":"title"}"#,
            r#"{"method":"set_editor_text","text":"editor text"}"#,
            r#"{"method":"notify","message":"hasUI=true","notifyType":"info"}"#,
            r#"{"method":"notify","message":"args=\"with words\"","notifyType":"info"}"#,
        ]
    );
}

#[test]
fn commands_run_at_once_while_the_agent_works_and_cannot_be_queued() {
    let place = Place::new();
    let mut agent = agent(&place, &["ui"], slow());
    agent.prompt("go");
    agent.until_event("message_update");
    agent.send(json!({"id": "x1", "type": "prompt", "message": "/show-all now"}));
    agent.send(json!({"id": "x2", "type": "steer", "message": "/show-all x"}));
    agent.send(json!({"id": "x3", "type": "follow_up", "message": "/show-all y"}));
    agent.send(json!({"id": "x4", "type": "prompt", "message": "/show-all z", "streamingBehavior": "steer"}));
    let frames = agent.until_event("agent_end");
    let answer = |id: &str| frames.iter().find(|frame| frame["id"] == id).unwrap();
    let refused = "Extension command \"/show-all\" cannot be queued. Use prompt() or execute the command when not \
                   streaming.";
    assert_eq!((&answer("x1")["success"], &answer("x4")["success"]), (&json!(true), &json!(true)));
    for id in ["x2", "x3"] {
        assert_eq!((&answer(id)["success"], &answer(id)["error"]), (&json!(false), &json!(refused)));
    }
    let plain = frames.iter().filter(|frame| frame["message"] == "plain").count();
    assert_eq!(plain, 2);
    assert_eq!(agent.request(json!({"type": "get_state"}))["data"]["pendingMessageCount"], 0);
}

#[test]
fn extension_commands_are_listed_without_terminal_commands() {
    let place = Place::new();
    let mut agent = agent(&place, &["ui", "misc"], plain());
    let listed = agent.request(json!({"type": "get_commands"}));
    let commands = listed["data"]["commands"].as_array().unwrap();
    let find = |name: &str| commands.iter().find(|command| command["name"] == name);
    let path = file("ui");
    assert_eq!(
        *find("ask-select").unwrap(),
        json!({"name": "ask-select", "description": "Ask with select", "source": "extension", "path": path})
    );
    assert_eq!(find("slow").unwrap().get("description"), None);
    assert!(find("say-custom").is_some());
    for of_terminals in ["settings", "model", "quit", "new", "compact"] {
        assert!(find(of_terminals).is_none());
    }
    // The model receives this text as normal input.
    agent.prompt("/settings");
    let frames = agent.until_event("agent_end");
    assert_eq!(frames.last().unwrap()["messages"][0]["content"][0]["text"], "/settings");
}

#[test]
fn pi_1_5_reports_the_source_of_a_command() {
    let place = Place::new();
    let put = |folder: &str, name: &str| {
        let entry = place.put(&format!("{folder}/{name}.py"), std::fs::read(file(name)).unwrap());
        let manifest = json!({"runtime": "python3", "entry": entry}).to_string();
        place.put(&format!("{folder}/extension.json"), manifest);
        entry
    };
    let own = put("home/.pi/agent/extensions/mine", "ui");
    let project = put("work/.pi/extensions/theirs", "misc");
    let mut command = command(&place, &[], plain());
    command.args(["--dialect", "pi@1.5", "--trust"]);
    let mut agent = Agent::start(command);
    let listed = agent.request(json!({"type": "get_commands"}));
    let commands = listed["data"]["commands"].as_array().unwrap();
    let info = |path: &std::path::Path| {
        let path = path.to_string_lossy();
        let ours = |command: &&Value| command["sourceInfo"]["path"] == *path;
        commands.iter().find(ours).unwrap_or_else(|| panic!("{path}: {commands:#?}"))["sourceInfo"].clone()
    };
    let origin = |info: &Value| {
        [&info["source"], &info["scope"]].map(|word| word.as_str().unwrap().to_owned()).join(" ")
    };
    assert_eq!(origin(&info(&own)), "auto user");
    assert_eq!(origin(&info(&project)), "auto project");
    let base = project.ancestors().nth(3).unwrap().to_string_lossy().into_owned();
    assert_eq!(info(&project)["baseDir"], base);
}

#[test]
fn pi_1_5_answers_a_command_after_its_end() {
    let place = Place::new();
    let mut command = command(&place, &["ui"], plain());
    command.args(["--dialect", "pi@1.5"]);
    let mut agent = Agent::start(command);
    agent.send(json!({"id": "d1", "type": "prompt", "message": "/ask-select"}));
    let dialog = agent.until("the question", |frame| frame["method"] == "select").pop().unwrap();
    // Other commands continue meanwhile.
    agent.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    let frames = agent.until_event("agent_settled");
    assert!(frames.iter().all(|frame| frame["id"] != "d1"), "{frames:#?}");
    agent.send(json!({"type": "extension_ui_response", "id": dialog["id"], "value": "green"}));
    let frames = agent.until("the answer", |frame| frame["id"] == "d1");
    assert_eq!(frames[0]["method"], "notify", "{frames:#?}");
    assert_eq!(frames.last().unwrap()["data"], json!({"disposition": "handled"}));
    // A command that the end of input cancels has no response.
    agent.send(json!({"id": "d2", "type": "prompt", "message": "/ask-confirm"}));
    agent.until("the question", |frame| frame["method"] == "confirm");
    agent.close_stdin();
    let mut rest = Vec::new();
    while let Some(frame) = agent.next() {
        rest.push(frame);
    }
    assert!(rest.iter().all(|frame| frame["id"] != "d2"), "{rest:#?}");
}

#[test]
fn extensions_come_before_templates_and_skills() {
    let place = Place::new();
    place.put("home/.pi/agent/prompts/review.md", "---\ndescription: Review something\n---\nReview $1.\n");
    place.put(
        "home/.pi/agent/skills/search/SKILL.md",
        "---\nname: search\ndescription: Searches\n---\nSearch.\n",
    );
    let mut agent = agent(&place, &["ui", "misc"], plain());
    let listed = agent.request(json!({"type": "get_commands"}));
    let commands = listed["data"]["commands"].as_array().unwrap();
    let mut sources: Vec<_> = commands.iter().map(|command| command["source"].as_str().unwrap()).collect();
    sources.dedup();
    assert_eq!(sources, ["extension", "prompt", "skill"], "{commands:#?}");
    let names: Vec<_> = commands.iter().map(|command| command["name"].as_str().unwrap()).collect();
    let position = |name: &str| names.iter().position(|other| *other == name).unwrap();
    // The commands of one extension keep their order, after those of the previous extension.
    assert!(
        position("ask-select") < position("ask-confirm") && position("slow") < position("say-custom"),
        "{names:?}"
    );
    assert_eq!(names[names.len() - 2..], ["review", "skill:search"]);
}

#[test]
fn failed_command_is_reported_and_accepted() {
    let place = Place::new();
    let mut agent = agent(&place, &["ui", "misc"], plain());
    agent.prompt("/boom");
    let frames = agent.until("the answer", |frame| frame["id"] == "/boom");
    assert_eq!(
        frames[0].to_string(),
        r#"{"type":"extension_error","extensionPath":"command:boom","event":"command","error":"boom from command"}"#
    );
    assert_eq!(frames[1]["success"], true);
    agent.prompt("/boom-bare");
    let frames = agent.until("the answer", |frame| frame["id"] == "/boom-bare");
    assert_eq!((&frames[0]["error"], &frames[1]["success"]), (&json!("LookupError"), &json!(true)));
    agent.prompt("/wrong");
    let frames = agent.until("the answer", |frame| frame["id"] == "/wrong");
    assert_eq!(frames[0]["error"], "unknown entry nowhere");
}

#[test]
fn slow_command_is_accepted_early() {
    let place = Place::new();
    let mut agent = agent(&place, &["ui"], plain());
    // The command takes ten times the waiting time of the test.
    agent.prompt("/slow");
    agent.until("the answer", |frame| frame["id"] == "/slow");
    // The command does not delay the end of the agent.
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn messages_of_extensions_join_the_conversation() {
    let place = Place::new();
    let mut agent = agent(&place, &["misc"], plain());
    agent.prompt("/say-custom");
    let frames = agent.until("the answer", |frame| frame["id"] == "/say-custom");
    let kinds: Vec<_> = frames.iter().map(|frame| frame["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message_start", "message_end", "response"]);
    let mut message = frames[0]["message"].clone();
    assert!(message["timestamp"].as_i64().unwrap() > 0);
    message["timestamp"] = json!(0);
    assert_eq!(
        message.to_string(),
        r#"{"role":"custom","customType":"note","content":"custom text","display":true,"details":{"a":1},"timestamp":0}"#
    );

    agent.prompt("/say-trigger");
    let frames = agent.until_event("agent_end");
    assert_eq!(frames[0]["id"], "/say-trigger");
    assert_eq!(frames.last().unwrap()["messages"][0]["content"], "please answer");

    agent.prompt("/say-later");
    agent.until("the answer", |frame| frame["id"] == "/say-later");
    agent.prompt("/say-user hello there");
    let frames = agent.until_event("agent_end");
    assert_eq!(frames[0]["id"], "/say-user hello there");
    let messages = &frames.last().unwrap()["messages"];
    assert_eq!(messages[0]["content"][0]["text"], "hello there");
    assert_eq!(messages[1]["content"], "with the next prompt");
    let all = agent.request(json!({"type": "get_messages"}));
    let roles: Vec<_> =
        all["data"]["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["custom", "custom", "assistant", "user", "custom", "assistant"]);
}

#[test]
fn entries_names_and_labels_are_kept_in_the_file() {
    let place = Place::new();
    let mut agent = agent(&place, &["misc"], plain());
    agent.prompt("hello");
    agent.until_event("agent_end");
    agent.prompt("/append");
    let kinds = agent.next_notice();
    assert!(kinds.contains("custom,session_info"), "{kinds}");
    let state = agent.request(json!({"type": "get_state"}));
    assert_eq!(state["data"]["sessionName"], "named");
    let text = std::fs::read_to_string(state["data"]["sessionFile"].as_str().unwrap()).unwrap();
    assert!(text.contains(r#""customType":"my-state","data":{"n":1}"#), "{text}");
    assert!(text.contains(r#""label":"here""#), "{text}");
}

#[test]
fn sessions_states_and_the_end() {
    let place = Place::new();
    let mut agent = agent(&place, &["misc"], slow());
    agent.prompt("go");
    agent.until_event("message_update");
    agent.prompt("/wait-idle");
    assert_eq!(agent.next_notice(), "waiting");
    let frames = agent.until("idle", |frame| frame["message"] == "idle");
    assert!(frames.iter().any(|frame| frame["type"] == "agent_end"), "{frames:#?}");
    let before = agent.request(json!({"type": "get_state"}))["data"]["sessionId"].clone();
    agent.prompt("/fresh");
    assert_eq!(agent.next_notice(), "fresh True");
    assert_ne!(agent.request(json!({"type": "get_state"}))["data"]["sessionId"], before);
    agent.prompt("/look");
    assert_eq!(agent.next_notice(), "idle=True model=scripted tools=read,dice");
    agent.prompt("/bye");
    let frames = agent.until("the farewell", |frame| frame["message"] == "shutting down");
    assert!(frames.iter().any(|frame| frame["id"] == "/bye"), "{frames:#?}");
    assert!(agent.next().is_none());
    assert_eq!(agent.wait().code(), Some(0));
}
