use super::*;
use std::time::Duration;

use agentese::dynamic;
use agentese::framing::FrameText;

fn hub(dialect: &str, policy: AccessPolicy) -> Hub {
    Hub::new(dynamic::client(dialect).unwrap().0, policy, AgentInfo::default())
}

fn tab_query(name: &str, have: Option<u64>) -> TabQuery {
    TabQuery { name: name.to_owned(), have, all: true }
}

fn line(text: &str) -> FrameText {
    FrameText::from(text)
}

/// Reader of the messages that a tab has not read yet.
struct Reader {
    tab_id: TabId,
    next: u64,
}

impl Reader {
    fn join(hub: &mut Hub, name: &str) -> Self {
        let joined = hub.join(&tab_query(name, None), Instant::now());
        Self { tab_id: joined.tab_id, next: joined.next }
    }

    fn read(&mut self, hub: &Hub) -> Vec<Value> {
        let (texts, next) = hub.tabs.read(self.tab_id, self.next, usize::MAX).unwrap();
        self.next = next;
        texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    }
}

fn sent(hub: &mut Hub, tab: &Reader, text: &str) -> Value {
    match hub.handle_tab_line(tab.tab_id, text) {
        LineOutcome::Forward(line) => serde_json::from_str(&line).unwrap(),
        other => panic!("{other:?}"),
    }
}

const STATE: &str = r#"{"id":"1","type":"get_state"}"#;

#[test]
fn each_tab_has_its_own_ids() {
    let mut hub = hub("pi", AccessPolicy::default());
    let (mut one, mut two) = (Reader::join(&mut hub, "one"), Reader::join(&mut hub, "two"));
    let (first, second) = (sent(&mut hub, &one, STATE), sent(&mut hub, &two, STATE));
    assert_ne!(first["id"], second["id"]);
    let answer = json!({"id": second["id"], "type": "response", "command": "get_state", "success": true});
    hub.handle_agent_line(&line(&answer.to_string()), Instant::now());
    assert!(one.read(&hub).is_empty());
    assert_eq!(
        two.read(&hub),
        [json!({"id": "1", "type": "response", "command": "get_state", "success": true})]
    );
    let failure = r#"{"type":"response","command":"get_state","success":false,"error":"no"}"#;
    hub.handle_agent_line(&line(failure), Instant::now());
    assert_eq!(one.read(&hub), [serde_json::from_str::<Value>(failure).unwrap()]);
    assert!(two.read(&hub).is_empty());
}

#[test]
fn other_tabs_receive_commands_with_effects() {
    let mut hub = hub("pi", AccessPolicy::default());
    let (mut one, two) = (Reader::join(&mut hub, "one"), Reader::join(&mut hub, "two"));
    let frame = sent(&mut hub, &two, r#"{"id":"1","type":"steer","message":"x"}"#);
    let answer =
        json!({"id": frame["id"], "type": "response", "command": "steer", "success": true}).to_string();
    hub.handle_agent_line(&line(&answer), Instant::now());
    let received = one.read(&hub);
    assert_eq!(received[0]["agentese"], "sent");
    assert_eq!(serde_json::from_str::<Value>(received[0]["line"].as_str().unwrap()).unwrap(), frame);
    assert_eq!(received[1], json!({"agentese": "told", "line": answer}));
}

#[test]
fn json_rpc_ids_are_restored() {
    let mut hub = hub("opal", AccessPolicy::default());
    let mut tab = Reader::join(&mut hub, "one");
    let frame = sent(&mut hub, &tab, r#"{"jsonrpc":"2.0","id":7,"method":"opal/ping","params":{}}"#);
    hub.handle_agent_line(
        &line(&json!({"jsonrpc": "2.0", "id": frame["id"], "result": {}}).to_string()),
        Instant::now(),
    );
    assert_eq!(tab.read(&hub), [json!({"jsonrpc": "2.0", "id": 7, "result": {}})]);
}

#[test]
fn a_new_tab_receives_the_current_session() {
    let mut hub = hub("opal", AccessPolicy::default());
    let tab = Reader::join(&mut hub, "one");
    assert_eq!(hub.join(&tab_query("two", None), Instant::now()).hello["session"], Value::Null);
    sent(&mut hub, &tab, r#"{"jsonrpc":"2.0","id":1,"method":"agent/state","params":{"session_id":"s1"}}"#);
    assert_eq!(hub.join(&tab_query("three", None), Instant::now()).hello["session"], "s1");
}

#[test]
fn a_repeated_command_is_not_run_twice() {
    let mut hub = hub("pi", AccessPolicy::default());
    let tab = Reader::join(&mut hub, "one");
    sent(&mut hub, &tab, STATE);
    assert_eq!(hub.handle_tab_line(tab.tab_id, STATE), LineOutcome::Done);
}

#[test]
fn a_reconnected_tab_receives_missed_messages() {
    let mut hub = hub("pi", AccessPolicy::default());
    let tab = Reader::join(&mut hub, "one");
    let event = |hub: &mut Hub, text: &str| {
        hub.handle_agent_line(&line(&json!({"type": text}).to_string()), Instant::now())
    };
    for text in ["a", "b", "c"] {
        event(&mut hub, text);
    }
    hub.tabs.leave(tab.tab_id);
    event(&mut hub, "d");
    let back = hub.join(&tab_query("one", Some(2)), Instant::now());
    assert_eq!(
        (back.tab_id, &back.hello["back"], &back.hello["lost"]),
        (tab.tab_id, &json!(true), &json!(false))
    );
    let mut reader = Reader { tab_id: back.tab_id, next: back.next };
    assert_eq!(reader.read(&hub), [json!({"type": "c"}), json!({"type": "d"})]);
    for (have, is_back) in [(0, true), (4, true), (5, false)] {
        assert_eq!(hub.join(&tab_query("one", Some(have)), Instant::now()).hello["back"], is_back, "{have}");
    }
    let unknown = hub.join(&tab_query("never seen", Some(2)), Instant::now());
    assert_eq!((&unknown.hello["back"], &unknown.hello["lost"]), (&json!(false), &json!(true)));
}

#[test]
fn dropped_messages_cannot_be_read() {
    let mut hub = hub("pi", AccessPolicy::default());
    hub.tabs = Tabs::new(100);
    let tab = Reader::join(&mut hub, "one");
    for number in 0..20 {
        hub.handle_agent_line(&line(&json!({"type": "x", "number": number}).to_string()), Instant::now());
    }
    assert!(hub.tabs.read(tab.tab_id, tab.next, usize::MAX).is_none());
    assert_eq!(hub.join(&tab_query("one", Some(1)), Instant::now()).hello["lost"], true);
    assert!(hub.tabs.read(tab.tab_id, hub.tabs.log.first(), usize::MAX).is_some());
}

const QUESTION: &str = r#"{"type":"extension_ui_request","id":"q","method":"confirm","title":"Go?","message":"","timeout":5000}"#;
const YES: &str = r#"{"type":"extension_ui_response","id":"q","confirmed":true}"#;

#[test]
fn the_first_answer_to_a_question_applies() {
    let mut hub = hub("pi", AccessPolicy::default());
    let (one, mut two) = (Reader::join(&mut hub, "one"), Reader::join(&mut hub, "two"));
    let now = Instant::now();
    hub.handle_agent_line(&line(QUESTION), now);
    let late = hub.join(&tab_query("three", None), now + Duration::from_secs(2));
    assert_eq!(late.hello["questions"], json!([{"line": QUESTION, "ago": 2000}]));
    assert_eq!(hub.handle_tab_line(one.tab_id, YES), LineOutcome::Forward(YES.to_owned()));
    assert_eq!(hub.handle_tab_line(two.tab_id, YES), LineOutcome::Done);
    assert_eq!(two.read(&hub)[1], json!({"agentese": "withdrawn", "id": "q"}));
    assert_eq!(hub.join(&tab_query("four", None), now).hello["questions"], json!([]));
}

#[test]
fn an_expired_question_is_not_offered() {
    let mut hub = hub("pi", AccessPolicy::default());
    let now = Instant::now();
    hub.handle_agent_line(&line(QUESTION), now);
    hub.handle_agent_line(&line(r#"{"type":"x"}"#), now + Duration::from_secs(6));
    assert_eq!(hub.join(&tab_query("one", None), now).hello["questions"], json!([]));
}

#[test]
fn read_only_blocks_commands_with_effects() {
    let mut hub = hub("pi", AccessPolicy { read_only: true, deny: Vec::new() });
    let mut tab = Reader::join(&mut hub, "one");
    hub.handle_agent_line(&line(QUESTION), Instant::now());
    for text in [
        r#"{"id":"1","type":"prompt","message":"x"}"#,
        r#"{"id":"2","type":"nothing_known"}"#,
        r#"{"id":"3","type":"get_state","type":"bash","command":"x"}"#,
        r#"{"agentese":"restart"}"#,
        YES,
        "[1]",
    ] {
        assert_eq!(hub.handle_tab_line(tab.tab_id, text), LineOutcome::Done, "{text}");
    }
    let seen = tab.read(&hub);
    let denied: Vec<_> =
        seen.iter().filter(|frame| frame["type"] == "response").map(|frame| &frame["id"]).collect();
    assert_eq!(denied, ["1", "2", "3"]);
    sent(&mut hub, &tab, r#"{"id":"4","type":"get_state"}"#);
}

#[test]
fn a_late_tab_receives_the_earlier_messages() {
    let mut hub = hub("pi", AccessPolicy::default());
    let now = Instant::now();
    let tab = Reader::join(&mut hub, "one");
    sent(&mut hub, &tab, r#"{"id":"1","type":"prompt","message":"x"}"#);
    sent(&mut hub, &tab, r#"{"id":"2","type":"get_state"}"#);
    let event =
        |hub: &mut Hub, text: &str| hub.handle_agent_line(&line(&json!({"type": text}).to_string()), now);
    for text in ["agent_start", "turn_start", "message_update", "message_update"] {
        event(&mut hub, text);
    }
    let begun = |hub: &mut Hub, name: &str| {
        hub.join(&tab_query(name, None), now).hello["begun"].as_array().unwrap().len()
    };
    assert_eq!(begun(&mut hub, "two"), 4);
    let program = hub.join(&TabQuery { all: false, ..tab_query("program", None) }, now);
    assert_eq!(program.hello["begun"].as_array().unwrap().len(), 3);
    event(&mut hub, "agent_end");
    assert_eq!(begun(&mut hub, "three"), 5);
    let long = json!({"type": "tool_execution_start", "args": "x".repeat(MAX_HISTORY_BYTES)}).to_string();
    hub.handle_agent_line(&line(&long), now);
    assert_eq!(begun(&mut hub, "four"), 0);
    for text in ["agent_start", "turn_start"] {
        event(&mut hub, text);
    }
    assert_eq!(begun(&mut hub, "five"), 2);
}

#[test]
fn one_tab_resumes_after_a_restart() {
    let mut hub = hub("pi", AccessPolicy::default());
    let (mut one, mut two) = (Reader::join(&mut hub, "one"), Reader::join(&mut hub, "two"));
    sent(&mut hub, &two, STATE);
    hub.ended("exited with code 1", "boom", true);
    assert_eq!(hub.handle_tab_line(one.tab_id, STATE), LineOutcome::Done);
    assert_eq!(
        hub.join(&tab_query("three", None), Instant::now()).hello["ended"]["text"],
        "exited with code 1"
    );
    hub.started();
    let resumes = |frames: Vec<Value>| frames.last().unwrap()["resume"].clone();
    assert_eq!((resumes(one.read(&hub)), resumes(two.read(&hub))), (json!(false), json!(true)));
    // Only the tab that was requested to reopen the session can confirm it.
    hub.handle_tab_line(one.tab_id, r#"{"agentese":"resumed"}"#);
    assert!(two.read(&hub).is_empty());
    hub.handle_tab_line(two.tab_id, r#"{"agentese":"resumed"}"#);
    assert_eq!(one.read(&hub), [json!({"agentese": "resumed"})]);
    assert!(two.read(&hub).is_empty());
}

#[test]
fn only_a_page_resumes_and_another_one_takes_over() {
    let mut hub = hub("pi", AccessPolicy::default());
    let program = hub.join(&TabQuery { all: false, ..tab_query("program", None) }, Instant::now()).tab_id;
    let (one, mut two) = (Reader::join(&mut hub, "one"), Reader::join(&mut hub, "two"));
    hub.handle_tab_line(program, STATE);
    hub.ended("exited with code 1", "", true);
    hub.started();
    assert_eq!(two.read(&hub).last().unwrap()["resume"], false);
    hub.leave(one.tab_id);
    assert_eq!(two.read(&hub), [json!({"agentese": "started", "resume": true})]);
    hub.leave(two.tab_id);
    assert_eq!(hub.resuming, None);
}

#[test]
fn the_history_for_a_late_tab_is_bounded() {
    let mut hub = hub("pi", AccessPolicy::default());
    let now = Instant::now();
    hub.handle_agent_line(&line(r#"{"type":"agent_start"}"#), now);
    for number in 0..2 {
        let long = json!({"type": "tool_execution_start", "number": number, "args": "x".repeat(1024 * 1024)});
        hub.handle_agent_line(&line(&long.to_string()), now);
    }
    assert_eq!(hub.join(&tab_query("early", None), now).hello["cut"], false);
    for number in 4..12 {
        let long = json!({"type": "tool_execution_start", "number": number, "args": "x".repeat(1024 * 1024)});
        hub.handle_agent_line(&line(&long.to_string()), now);
    }
    let hello = hub.join(&tab_query("late", None), now).hello;
    assert_eq!(hello["cut"], true);
    let told = hello["begun"].to_string();
    assert!(
        told.len() < 2 * MAX_HISTORY_BYTES && told.contains("agent_start") && told.contains(r#"number\":11"#)
    );
}

#[test]
fn line_ends_hide_no_second_command() {
    let mut hub = hub("pi", AccessPolicy::default());
    let tab = Reader::join(&mut hub, "a");
    let LineOutcome::Forward(line) = hub.handle_tab_line(tab.tab_id, "{\"type\":\"get_state\",\r\n\"x\":1}")
    else {
        panic!()
    };
    assert!(!line.contains(['\r', '\n']), "{line:?}");
}

/// In dialects with a frame for each kind of question, a progress frame keeps a question open and an answer
/// closes it. Both keep the id of the question.
#[test]
fn answer_frames_reach_the_agent_unchanged() {
    let mut hub = hub("omp", AccessPolicy::default());
    let tab = Reader::join(&mut hub, "a");
    let question = r#"{"type":"host_tool_call","id":"q","toolCallId":"t","toolName":"look","arguments":{}}"#;
    hub.handle_agent_line(&line(question), Instant::now());
    let progress = r#"{"type":"host_tool_update","id":"q","partialResult":{"content":[]}}"#;
    let answer = r#"{"type":"host_tool_result","id":"q","result":{"content":[]}}"#;
    for frame in [progress, answer] {
        assert_eq!(sent(&mut hub, &tab, frame), serde_json::from_str::<Value>(frame).unwrap());
    }
    assert_eq!(hub.handle_tab_line(tab.tab_id, answer), LineOutcome::Done, "no tab waits for it");
}

#[test]
fn an_event_member_decides_about_the_end_of_a_run() {
    let mut hub = hub("pi@0.55", AccessPolicy::default());
    let event = |hub: &mut Hub, text: &str| hub.handle_agent_line(&line(text), Instant::now());
    event(&mut hub, r#"{"type":"agent_start"}"#);
    assert!(hub.running);
    event(&mut hub, r#"{"type":"auto_retry_end","success":false,"attempt":3}"#);
    assert!(!hub.running, "the last retry has failed");
}

#[test]
fn chunked_frames_are_assembled_for_tabs() {
    use base64::Engine;
    let mut hub = hub("omp", AccessPolicy::default());
    let mut tab = Reader::join(&mut hub, "a");
    let whole = r#"{"type":"agent_start"}"#;
    let chunks = hub.spec.chunks.unwrap();
    for (index, piece) in [&whole[..9], &whole[9..]].into_iter().enumerate() {
        let data = base64::engine::general_purpose::STANDARD.encode(piece);
        let mut frame = json!({"type": chunks.event, chunks.id: "c", chunks.index: index});
        frame[chunks.count] = 2.into();
        frame[chunks.length] = whole.len().into();
        frame[chunks.data] = data.into();
        hub.handle_agent_line(&line(&frame.to_string()), Instant::now());
    }
    assert_eq!(tab.read(&hub), [serde_json::from_str::<Value>(whole).unwrap()]);
}

#[test]
fn events_with_a_key_reach_tabs_without_members() {
    let mut hub = hub("operator", AccessPolicy::default());
    let mut tab = Reader::join(&mut hub, "a");
    let event = json!({"type": "before_provider_request", "options": {"plain": "very-private-0123"}});
    hub.handle_agent_line(&line(&event.to_string()), Instant::now());
    hub.handle_agent_line(&line(&json!({"type": "event", "event": event}).to_string()), Instant::now());
    let shown = json!({"type": "before_provider_request"});
    assert_eq!(tab.read(&hub), [shown.clone(), json!({"type": "event", "event": shown})]);
    let late = hub.join(&tab_query("late", None), Instant::now());
    assert!(!late.hello.to_string().contains("very-private"), "{}", late.hello);
}

#[test]
fn commands_have_the_names_and_length_limit_of_the_revision() {
    let mut hub = hub("operator", AccessPolicy::default());
    let mut tab = Reader::join(&mut hub, "a");
    let prompt = |id: &str, text: &str| json!({"id": id, "type": "prompt", "text": text}).to_string();
    let first = sent(&mut hub, &tab, &prompt("1", "hi"));
    assert_eq!((&first["text"], &first["message"]), (&json!("hi"), &json!("hi")), "no event has arrived yet");
    let half = "y".repeat(40_000);
    let first = sent(&mut hub, &tab, &prompt("2", &half));
    assert_eq!((&first["text"], first.get("message")), (&json!(half), None), "both would be too long");
    hub.handle_agent_line(&line(r#"{"type":"save_point"}"#), Instant::now());
    let known = sent(&mut hub, &tab, &prompt("3", "hi"));
    assert_eq!((known.get("text"), &known["message"]), (None, &json!("hi")));
    tab.read(&hub);
    assert_eq!(hub.handle_tab_line(tab.tab_id, &prompt("4", &"x".repeat(70_000))), LineOutcome::Done);
    let refused = tab.read(&hub);
    assert_eq!((&refused[0]["id"], &refused[0]["success"]), (&json!("4"), &json!(false)));
    let reason = refused[0]["error"].as_str().unwrap();
    assert!(reason.contains("the limit of operator@live is 65536 bytes"), "{reason}");
    hub.handle_agent_line(
        &line(r#"{"type":"extension_ui_request","id":"q","method":"input","title":"?"}"#),
        Instant::now(),
    );
    tab.read(&hub);
    let answer =
        |value: &str| json!({"type": "extension_ui_response", "id": "q", "value": value}).to_string();
    assert_eq!(hub.handle_tab_line(tab.tab_id, &answer(&"x".repeat(70_000))), LineOutcome::Done);
    assert_eq!(tab.read(&hub)[0]["agentese"], "refused");
    sent(&mut hub, &tab, &answer("short"));
}

/// Frames with ambiguous members: JSON parsers may use the first member, the last one, or ignore the case of
/// names.
#[test]
fn a_frame_with_two_commands_reaches_no_agent() {
    for (dialect, deny, texts) in [
        (
            "pi",
            "bash",
            &[
                r#"{"type":"bash","type":"get_state","id":"1"}"#,
                r#"{"type":"get_state","type":"get_state","id":"1"}"#,
                r#"{"type":"bash","ty\u0070e":"get_state","id":"1"}"#,
                r#"{"Type":"bash","type":"get_state","id":"1"}"#,
                r#"{"id":"2","type":"get_state","id":"1"}"#,
                " \r\n\t{\"type\":\"bash\",\"type\":\"get_state\",\"id\":\"1\"}",
                "\u{feff}{\"type\":\"get_state\",\"id\":\"1\"}",
                r#"[{"type":"get_state","id":"1"}]"#,
                r#"{"type":["bash"],"id":"1"}"#,
            ][..],
        ),
        (
            "opal",
            "agent/prompt",
            &[
                r#"{"jsonrpc":"2.0","id":2,"method":"agent/prompt","method":"opal/ping","params":{}}"#,
                r#"{"jsonrpc":"2.0","id":2,"method":"agent/prompt","m\u0065thod":"opal/ping","params":{}}"#,
                r#"{"jsonrpc":"2.0","id":2,"method":"opal/ping","params":{},"params":{}}"#,
                r#"{"jsonrpc":"2.0","id":2,"id":3,"method":"opal/ping","params":{}}"#,
                r#"[{"jsonrpc":"2.0","id":2,"method":"opal/ping","params":{}}]"#,
            ],
        ),
    ] {
        for policy in [
            AccessPolicy { read_only: true, deny: Vec::new() },
            AccessPolicy { read_only: false, deny: vec![deny.to_owned()] },
            AccessPolicy::default(),
        ] {
            let mut hub = hub(dialect, policy);
            let mut tab = Reader::join(&mut hub, "one");
            for text in texts {
                assert_eq!(hub.handle_tab_line(tab.tab_id, text), LineOutcome::Done, "{text}");
                let told = tab.read(&hub);
                assert!(told.len() == 1 && told[0].get("error").is_some(), "{text}: {told:?}");
            }
        }
    }
}

#[test]
fn a_frame_with_a_method_is_never_an_answer() {
    let mut opal = hub("opal", AccessPolicy { read_only: false, deny: vec!["agent/prompt".to_owned()] });
    let mut tab = Reader::join(&mut opal, "one");
    let question = r#"{"jsonrpc":"2.0","id":"s2c-0","method":"client/confirm","params":{"session_id":"s","title":"Go?"}}"#;
    opal.handle_agent_line(&line(question), Instant::now());
    tab.read(&opal);
    for method in ["null", "5", "true", r#"["agent/prompt"]"#, "{}", r#""agent/prompt""#, r#""opal/ping""#] {
        for more in ["", r#","result":{}"#, r#","error":{"code":1,"message":"no"}"#, r#","method":null"#] {
            if (method, more) == (r#""opal/ping""#, "") {
                continue;
            }
            let text = format!(r#"{{"jsonrpc":"2.0","id":"s2c-0","method":{method},"params":{{}}{more}}}"#);
            assert_eq!(opal.handle_tab_line(tab.tab_id, &text), LineOutcome::Done, "{text}");
            assert!(tab.read(&opal)[0].get("error").is_some(), "{text}");
        }
    }
    let no_answer = r#"{"jsonrpc":"2.0","id":"s2c-0","params":{}}"#;
    assert_eq!(opal.handle_tab_line(tab.tab_id, no_answer), LineOutcome::Done);
    sent(&mut opal, &tab, r#"{"jsonrpc":"2.0","id":"s2c-0","result":{"action":"allow"}}"#);

    let mut pi = hub("pi", AccessPolicy::default());
    let tab = Reader::join(&mut pi, "one");
    pi.handle_agent_line(&line(QUESTION), Instant::now());
    let text = YES.replace(r#""id""#, r#""method":null,"id""#);
    assert_eq!(pi.handle_tab_line(tab.tab_id, &text), LineOutcome::Done);
    assert_eq!(pi.handle_tab_line(tab.tab_id, YES), LineOutcome::Forward(YES.to_owned()));
}

#[test]
fn the_ids_of_commands_are_bounded_in_length_and_number() {
    let mut hub = hub("pi", AccessPolicy { read_only: false, deny: vec!["bash".to_owned()] });
    let mut tab = Reader::join(&mut hub, "one");
    let bash = |id: &str| json!({"id": id, "type": "bash", "command": "x"}).to_string();
    assert_eq!(hub.handle_tab_line(tab.tab_id, &bash(&"x".repeat(20_000))), LineOutcome::Done);
    let told = tab.read(&hub);
    assert_eq!(told[0]["agentese"], "refused");
    assert!(told[0].to_string().len() < 200, "{told:?}");
    // A rejected command is not remembered, so its repetition is rejected too.
    for _ in 0..2 {
        assert_eq!(hub.handle_tab_line(tab.tab_id, &bash("1")), LineOutcome::Done);
        assert_eq!(tab.read(&hub)[0]["id"], "1");
    }
    for number in 0..MAX_PENDING_COMMANDS {
        sent(&mut hub, &tab, &json!({"id": number, "type": "get_state"}).to_string());
    }
    assert_eq!(hub.handle_tab_line(tab.tab_id, r#"{"id":"more","type":"get_state"}"#), LineOutcome::Done);
    let told = tab.read(&hub);
    assert!(told[0]["error"].as_str().unwrap().contains("await responses"), "{told:?}");
}

#[test]
fn questions_for_a_late_tab_are_bounded_and_all_can_be_answered() {
    let mut hub = hub("pi", AccessPolicy::default());
    let mut early = Reader::join(&mut hub, "early");
    let ask = |hub: &mut Hub, number: usize| {
        let question = json!({"type": "extension_ui_request", "id": number.to_string(), "method": "confirm",
            "title": "Go?", "message": "x".repeat(1024)});
        hub.handle_agent_line(&line(&question.to_string()), Instant::now());
    };
    const ASKED: usize = 16 * 1024;
    (0..ASKED).for_each(|number| ask(&mut hub, number));
    assert_eq!(early.read(&hub).len(), ASKED);
    let hello = hub.join(&tab_query("late", None), Instant::now()).hello;
    let shown = hello["questions"].as_array().unwrap().len();
    assert!(hello.to_string().len() < 5 * 1024 * 1024 && shown > 3000, "{shown}");
    assert_eq!(hello["unshown"], ASKED - shown);
    // Further questions are not sent to the tabs. The agent receives the declared fallback, and the tabs
    // receive one report.
    assert_eq!(hub.take_dismissals(), Vec::<String>::new());
    ask(&mut hub, ASKED);
    ask(&mut hub, ASKED + 7);
    let told = early.read(&hub);
    assert_eq!((told.len(), &told[0]["agentese"]), (1, &json!("noise")));
    let dismissed =
        |number: usize| json!({"type": "extension_ui_response", "id": number.to_string(), "cancelled": true});
    let lines: Vec<Value> =
        hub.take_dismissals().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, [dismissed(ASKED), dismissed(ASKED + 7)]);
    let answer =
        |number: usize| json!({"type": "extension_ui_response", "id": number.to_string(), "confirmed": true});
    sent(&mut hub, &early, &answer(ASKED - 1).to_string());
    sent(&mut hub, &early, &answer(0).to_string());
    ask(&mut hub, ASKED + 1);
    let hello = hub.join(&tab_query("later", None), Instant::now()).hello;
    let last = hello["questions"].as_array().unwrap().last().unwrap()["line"].as_str().unwrap().to_owned();
    assert!(last.contains(&format!("\"{}\"", ASKED + 1)), "an answered question leaves room: {last}");
}

#[test]
fn a_question_with_a_long_id_is_dismissed_by_the_declared_policy() {
    let long = "x".repeat(2000);
    for (dialect, question, member, value) in [
        (
            "pi",
            json!({"type": "extension_ui_request", "id": long, "method": "confirm", "title": "Go?", "message": ""}),
            "cancelled",
            json!(true),
        ),
        (
            "opal",
            json!({"jsonrpc": "2.0", "id": long, "method": "client/confirm", "params": {"session_id": "s"}}),
            "result",
            json!({"action": "deny"}),
        ),
        (
            "opal",
            json!({"jsonrpc": "2.0", "id": long, "method": "client/input", "params": {"session_id": "s"}}),
            "error",
            json!({"code": -32000, "message": "No user is available to answer"}),
        ),
    ] {
        let mut hub = hub(dialect, AccessPolicy { read_only: true, deny: Vec::new() });
        let mut tab = Reader::join(&mut hub, "one");
        for _ in 0..2 {
            hub.handle_agent_line(&line(&question.to_string()), Instant::now());
            let lines = hub.take_dismissals();
            let answer: Value = serde_json::from_str(&lines[0]).unwrap();
            assert_eq!(
                (lines.len(), &answer["id"], &answer[member]),
                (1, &json!(long), &value),
                "{question}"
            );
        }
        let told = tab.read(&hub);
        assert_eq!(told.len(), 1, "it is reported once: {told:?}");
        let error = told[0]["error"].as_str().unwrap();
        assert!(error.contains("2002 bytes") && error.contains("1024") && error.len() < 300, "{error}");
    }
}
