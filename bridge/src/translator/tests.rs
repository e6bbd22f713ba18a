//! Tests of the steps into which events are translated.

use std::sync::Arc;

use agentese::view::{Block, ToolBlock};

use super::*;

/// Returns an answer in a given state, with the text `part`.
fn answer(state: MessageState) -> Arc<Message> {
    let mut message = Message::default();
    (message.key, message.role, message.state) = ("k1".to_owned(), Role::Assistant, state);
    message.blocks = vec![Block::Text { text: "part".to_owned() }];
    Arc::new(message)
}

/// Returns the stream events of an answer that ends in a given state. If `with_text` is true, the text has events of
/// its own.
fn answer_events(state: MessageState, with_text: bool) -> Vec<StreamEvent> {
    let (mut translator, now, message) =
        (RemoteEventTranslator::default(), Conversation::new("pi"), "k1".to_owned());
    let began = Event::MessageStarted { message: message.clone(), role: Role::Assistant };
    let grew = Event::TextGrew { message, block: 0, text: "part".to_owned() };
    let ended = Event::MessageEnded { message: answer(state) };
    let events = [Some(began), with_text.then_some(grew), Some(ended)];
    let steps = events.into_iter().flatten().flat_map(|event| translator.translate(event, &now));
    let grew = steps.filter_map(|step| match step {
        Step::Event(RemoteEvent::AnswerUpdated(event)) => Some(event),
        _ => None,
    });
    grew.collect()
}

#[test]
fn a_block_ends_with_its_answer_unless_interrupted() {
    use StreamEvent::{Start, TextDelta, TextEnd, TextStart};
    let part = || TextDelta("part".to_owned());
    assert_eq!(answer_events(MessageState::Done, true), [Start, TextStart, part(), TextEnd]);
    assert_eq!(answer_events(MessageState::Aborted, true), [Start, TextStart, part()]);
    assert_eq!(answer_events(MessageState::Failed, true), [Start, TextStart, part()]);
    // Text that no event contained is reported at the end.
    assert_eq!(answer_events(MessageState::Aborted, false), [Start, TextStart, part(), TextEnd]);
}

#[test]
fn text_merged_into_the_previous_block_is_not_repeated() {
    let told = |pieces: &[(usize, &str)], blocks: &[&str]| {
        let (mut translator, mut now) = (RemoteEventTranslator::default(), Conversation::new("pi"));
        let mut whole = (*answer(MessageState::Done)).clone();
        whole.blocks = blocks.iter().map(|text| Block::Text { text: (*text).to_owned() }).collect();
        // The conversation already contains later events.
        now.messages.push(whole.clone().into());
        let grew = |(block, text): &(usize, &str)| Event::TextGrew {
            message: "k1".to_owned(),
            block: *block,
            text: (*text).to_owned(),
        };
        let mut events = vec![Event::MessageStarted { message: "k1".to_owned(), role: Role::Assistant }];
        events.extend(pieces.iter().map(grew));
        events.push(Event::MessageEnded { message: whole.into() });
        let steps = events.into_iter().flat_map(|event| translator.translate(event, &now));
        let texts = steps.filter_map(|step| match step {
            Step::Event(RemoteEvent::AnswerUpdated(StreamEvent::TextDelta(text))) => Some(text),
            _ => None,
        });
        texts.collect::<Vec<_>>()
    };
    assert_eq!(told(&[(0, "one"), (1, "two")], &["one", "two"]), ["one", "two"]);
    assert_eq!(told(&[(0, "one"), (0, "two")], &["one", "two"]), ["one", "two"]);
    assert_eq!(told(&[(0, "onetwothree")], &["one", "two", "three"]), ["onetwothree"]);
    // The agent has now determined the starts of the blocks.
    assert_eq!(
        told(&[(0, "onetwo"), (1, "two"), (2, "three")], &["one", "two", "three"]),
        ["onetwo", "three"]
    );
    assert_eq!(told(&[(0, "onetwo"), (1, "t"), (1, "wo")], &["one", "two"]), ["onetwo"]);
    assert_eq!(told(&[(0, "onetwo"), (1, "two"), (1, "!")], &["one", "two!"]), ["onetwo", "!"]);
    // Another text has replaced the reported one.
    assert_eq!(told(&[(0, "onetwo")], &["x", "two"]), ["onetwo", "two"]);
    // Text that was not reported is reported at the end.
    assert_eq!(told(&[(0, "one")], &["one", "two"]), ["one", "two"]);
    assert_eq!(told(&[(0, "onetwo")], &["one", "two", "three"]), ["onetwo", "three"]);
}

/// Returns a tool call with a number and arguments.
fn call(number: usize, arguments: &Value) -> Block {
    let mut tool = ToolBlock::default();
    (tool.call_id, tool.name) = (format!("c{number}"), "bash".to_owned());
    tool.arguments = Some(arguments.clone());
    Block::Tool(Box::new(tool))
}

#[test]
fn arguments_stay_complete_while_the_tool_has_fewer() {
    let whole = serde_json::json!({"_i": "Looking", "command": "ls"});
    let grew = |block: usize| Event::ArgumentsGrew {
        message: "k1".to_owned(),
        block,
        call_id: format!("c{block}"),
        name: "bash".to_owned(),
        text: None,
        arguments: Some(whole.clone()),
    };
    // The tool of the first call is already running.
    let mut message = Message::default();
    (message.key, message.role) = ("k1".to_owned(), Role::Assistant);
    message.blocks = vec![call(0, &serde_json::json!({"command": "ls"})), call(1, &whole)];
    let mut now = Conversation::new("omp");
    now.messages = vec![Arc::new(message)];
    let mut translator = RemoteEventTranslator::default();
    let began = Event::MessageStarted { message: "k1".to_owned(), role: Role::Assistant };
    let steps = [began, grew(0), grew(1)].into_iter().flat_map(|event| translator.translate(event, &now));
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Event(RemoteEvent::AnswerUpdated(StreamEvent::ToolCallDelta(more))) => text.push_str(&more),
            Step::Event(RemoteEvent::AnswerUpdated(StreamEvent::ToolCallEnd)) => break,
            _ => {}
        }
    }
    assert_eq!(text, whole.to_string());
}

#[test]
fn a_notice_that_repeats_the_run_failure_is_dropped() {
    let notice = |text: &str| {
        let notice = serde_json::json!({"key": "n1", "level": "error", "text": text});
        Event::NoticeAdded { notice: serde_json::from_value(notice).unwrap() }
    };
    let state = |state, error: Option<&str>| Event::StateChanged { state, error: error.map(str::to_owned) };
    let (mut translator, mut now) = (RemoteEventTranslator::default(), Conversation::new("opal"));
    now.run.error = Some("no such model".to_owned());
    assert_eq!(translator.translate(notice("no such model"), &now).len(), 1, "no run reports it");
    translator.translate(state(RunState::Working, None), &now);
    assert_eq!(translator.translate(notice("no such model"), &now), [], "the end of the run reports it");
    let over = translator.translate(state(RunState::Idle, Some("no such model")), &now);
    assert!(matches!(over[0], Step::Event(RemoteEvent::AnswerEnded(_))), "{over:?}");
    assert_eq!(translator.translate(notice("no such model"), &now), []);
    assert_eq!(translator.translate(notice("no more room"), &now).len(), 1);
    assert_eq!(translator.translate(notice("no such model"), &now).len(), 1, "it was repeated already");
}

/// Operator reports the end of a retry only after the run. Clients of pi would then expect another run.
#[test]
fn a_retry_ends_once_with_its_answer() {
    let (mut translator, now) = (RemoteEventTranslator::default(), Conversation::new("operator"));
    let mut retry = agentese::view::Retry::default();
    retry.attempt = Some(2);
    let began = Event::MessageStarted { message: "k1".to_owned(), role: Role::Assistant };
    let ended = Event::MessageEnded { message: answer(MessageState::Done) };
    let idle = Event::StateChanged { state: RunState::Idle, error: None };
    let events = [Event::RetryStarted { retry }, began, ended, idle, Event::RetryEnded];
    let steps: Vec<Step> = events.into_iter().flat_map(|event| translator.translate(event, &now)).collect();
    let place = |wanted: fn(&Step) -> bool| {
        let places = steps.iter().enumerate().filter(|(_, step)| wanted(step));
        places.map(|(place, _)| place).collect::<Vec<_>>()
    };
    let answered = place(|step| matches!(step, Step::Event(RemoteEvent::AnswerEnded(_))));
    let over =
        place(|step| matches!(step, Step::Event(RemoteEvent::RetryEnded { success: true, attempt: 2, .. })));
    assert_eq!(over, [answered[0] + 1]);
}

/// Opal reports the end of an answer only at the start of the next one, and reports queued user messages
/// before that.
#[test]
fn a_user_message_follows_the_answer_before_it() {
    let (mut translator, mut now) = (RemoteEventTranslator::default(), Conversation::new("opal"));
    now.messages = vec![answer(MessageState::Growing)];
    let began = Event::MessageStarted { message: "k1".to_owned(), role: Role::Assistant };
    let mut input = Message::default();
    (input.key, input.role) = ("k2".to_owned(), Role::User);
    let ended = |message: Arc<Message>| Event::MessageEnded { message };
    let grew = Event::TextGrew { message: "k1".to_owned(), block: 0, text: "part".to_owned() };
    let events = [began, grew, ended(input.into()), ended(answer(MessageState::Done))];
    let steps: Vec<Step> = events.into_iter().flat_map(|event| translator.translate(event, &now)).collect();
    let messages = steps.iter().filter_map(|step| match step {
        Step::Event(RemoteEvent::AnswerEnded(_)) => Some("answer"),
        Step::Event(RemoteEvent::MessageAdded(_)) => Some("input"),
        _ => None,
    });
    assert_eq!(messages.collect::<Vec<_>>(), ["answer", "input"]);
}

/// Returns the texts of the reported messages, in order. An answer results in one text for each piece.
fn messages(events: &[Event], now: &Conversation) -> Vec<String> {
    let (mut translator, mut pieces, mut texts) =
        (RemoteEventTranslator::default(), String::new(), Vec::new());
    for step in events.iter().flat_map(|event| translator.translate(event.clone(), now)) {
        match step {
            Step::Event(RemoteEvent::AnswerUpdated(StreamEvent::Start)) => pieces.clear(),
            Step::Event(RemoteEvent::AnswerUpdated(StreamEvent::TextDelta(text))) => pieces.push_str(&text),
            Step::Event(RemoteEvent::AnswerEnded(answer)) => {
                let text = answer.content.iter().filter_map(|block| match block {
                    agentese::types::AssistantBlock::Text(text) => Some(text.text.as_str()),
                    _ => None,
                });
                texts.push(format!("{}/{}", text.collect::<String>(), std::mem::take(&mut pieces)));
            }
            Step::Event(RemoteEvent::MessageAdded(_)) => texts.push("input".to_owned()),
            _ => {}
        }
    }
    texts
}

#[test]
fn an_answer_that_continues_after_user_input_is_split() {
    let key = || "k1".to_owned();
    let grew = |text: &str| Event::TextGrew { message: key(), block: 0, text: text.to_owned() };
    let began = || Event::MessageStarted { message: key(), role: Role::Assistant };
    let of = |text: &str, state| {
        let mut message = (*answer(state)).clone();
        message.blocks = vec![Block::Text { text: text.to_owned() }];
        Arc::new(message)
    };
    let input = |key: &str| {
        let mut input = Message::default();
        (input.key, input.role) = (key.to_owned(), Role::User);
        Event::MessageEnded { message: input.into() }
    };
    let ended = || Event::MessageEnded { message: of("one two three", MessageState::Done) };
    let mut now = Conversation::new("opal");
    // The conversation may already contain later events.
    for further in ["one ", "one two ", "one two three"] {
        now.messages = vec![of(further, MessageState::Growing)];
        let events = [began(), grew("one "), input("k2"), grew("two "), grew("three"), ended()];
        assert_eq!(messages(&events, &now), ["one /one ", "input", "two three/two three"], "{further}");
        // Text that no event contained is reported at the end.
        let events = [began(), grew("one "), input("k2"), ended()];
        assert_eq!(messages(&events, &now), ["one /one ", "input", "two three/two three"], "{further}");
    }
    let often =
        [began(), grew("one "), input("k2"), grew("two "), input("k3"), input("k4"), grew("three"), ended()];
    let parts = ["one /one ", "input", "two /two ", "input", "input", "three/three"];
    assert_eq!(messages(&often, &now), parts);
    let all = [began(), grew("one two three"), input("k2"), ended()];
    assert_eq!(messages(&all, &now), ["one two three/one two three", "input"]);
}

#[test]
fn tool_progress_adds_no_details_to_the_result() {
    let details = |state: ToolState, details: Value| {
        let now = Conversation::new("pi");
        let ended = Event::ToolEnded {
            call_id: "c1".to_owned(),
            name: "bash".to_owned(),
            state,
            result: vec![Block::Text { text: "out".to_owned() }],
            details: Some(details),
        };
        match &RemoteEventTranslator::default().translate(ended, &now)[..] {
            [Step::Event(RemoteEvent::ToolEnded(_, output))] => output.details.clone(),
            other => panic!("{other:?}"),
        }
    };
    let (none, some) = (serde_json::json!({}), serde_json::json!({"exitCode": 1}));
    assert_eq!(details(ToolState::Done, none.clone()), None);
    assert_eq!(details(ToolState::Failed, none.clone()), Some(none));
    assert_eq!(details(ToolState::Done, some.clone()), Some(some));
}
