//! What follows of events.

use std::sync::Arc;

use agentese::view::{Block, ToolBlock};

use super::*;

/// An answer of which that much was told, in that state.
fn answer(state: MessageState) -> Arc<Message> {
    let mut message = Message::default();
    (message.key, message.role, message.state) = ("k1".to_owned(), Role::Assistant, state);
    message.blocks = vec![Block::Text { text: "part".to_owned() }];
    Arc::new(message)
}

/// What an answer grows by until it ends in that state, where its text is told or not.
fn grown(state: MessageState, told: bool) -> Vec<StreamEvent> {
    let (mut deeds, now, message) = (Deeds::default(), Conversation::begin("pi"), "k1".to_owned());
    let began = Event::MessageBegan { message: message.clone(), role: Role::Assistant };
    let grew = Event::TextGrew { message, block: 0, text: "part".to_owned() };
    let ended = Event::MessageEnded { message: answer(state) };
    let events = [Some(began), told.then_some(grew), Some(ended)];
    let steps = events.into_iter().flatten().flat_map(|event| deeds.take(event, &now));
    let grew = steps.filter_map(|step| match step {
        Step::Deed(Deed::Grew(event)) => Some(event),
        _ => None,
    });
    grew.collect()
}

#[test]
fn a_block_ends_with_its_answer_unless_that_was_broken_off() {
    use StreamEvent::{Start, TextDelta, TextEnd, TextStart};
    let part = || TextDelta("part".to_owned());
    assert_eq!(grown(MessageState::Done, true), [Start, TextStart, part(), TextEnd]);
    assert_eq!(grown(MessageState::Aborted, true), [Start, TextStart, part()]);
    assert_eq!(grown(MessageState::Failed, true), [Start, TextStart, part()]);
    // What no piece has told is told with the end.
    assert_eq!(grown(MessageState::Aborted, false), [Start, TextStart, part(), TextEnd]);
}

/// A call of that number, with arguments.
fn call(number: usize, arguments: &Value) -> Block {
    let mut tool = ToolBlock::default();
    (tool.call_id, tool.name) = (format!("c{number}"), "bash".to_owned());
    tool.arguments = Some(arguments.clone());
    Block::Tool(Box::new(tool))
}

#[test]
fn arguments_are_told_whole_where_the_tool_has_got_fewer_of_them_meanwhile() {
    let whole = serde_json::json!({"_i": "Looking", "command": "ls"});
    let grew = |block: usize| Event::ArgumentsGrew {
        message: "k1".to_owned(),
        block,
        call_id: format!("c{block}"),
        name: "bash".to_owned(),
        text: None,
        arguments: Some(whole.clone()),
    };
    // The tool of the first call runs already.
    let mut message = Message::default();
    (message.key, message.role) = ("k1".to_owned(), Role::Assistant);
    message.blocks = vec![call(0, &serde_json::json!({"command": "ls"})), call(1, &whole)];
    let mut now = Conversation::begin("omp");
    now.messages = vec![Arc::new(message)];
    let mut deeds = Deeds::default();
    let began = Event::MessageBegan { message: "k1".to_owned(), role: Role::Assistant };
    let steps = [began, grew(0), grew(1)].into_iter().flat_map(|event| deeds.take(event, &now));
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Deed(Deed::Grew(StreamEvent::ToolCallDelta(more))) => text.push_str(&more),
            Step::Deed(Deed::Grew(StreamEvent::ToolCallEnd)) => break,
            _ => {}
        }
    }
    assert_eq!(text, whole.to_string());
}

#[test]
fn a_notice_of_why_a_run_failed_is_not_told_beside_the_answer_that_says_it() {
    let notice = |text: &str| {
        let notice = serde_json::json!({"key": "n1", "level": "error", "text": text});
        Event::Notice { notice: serde_json::from_value(notice).unwrap() }
    };
    let state = |state, error: Option<&str>| Event::State { state, error: error.map(str::to_owned) };
    let (mut deeds, mut now) = (Deeds::default(), Conversation::begin("opal"));
    now.run.error = Some("no such model".to_owned());
    assert_eq!(deeds.take(notice("no such model"), &now).len(), 1, "no run tells it");
    deeds.take(state(RunState::Working, None), &now);
    assert_eq!(deeds.take(notice("no such model"), &now), [], "the end of the run tells it");
    let over = deeds.take(state(RunState::Idle, Some("no such model")), &now);
    assert!(matches!(over[0], Step::Deed(Deed::Answered(_))), "{over:?}");
    assert_eq!(deeds.take(notice("no such model"), &now), []);
    assert_eq!(deeds.take(notice("no more room"), &now).len(), 1);
    assert_eq!(deeds.take(notice("no such model"), &now).len(), 1, "the end was told again already");
}

/// Operator says behind its run that the retry is over, and clients of pi would take it for more to come.
#[test]
fn a_retry_is_over_with_its_answer_and_once() {
    let (mut deeds, now) = (Deeds::default(), Conversation::begin("operator"));
    let mut retry = agentese::view::Retry::default();
    retry.attempt = Some(2);
    let began = Event::MessageBegan { message: "k1".to_owned(), role: Role::Assistant };
    let ended = Event::MessageEnded { message: answer(MessageState::Done) };
    let idle = Event::State { state: RunState::Idle, error: None };
    let events = [Event::RetryBegan { retry }, began, ended, idle, Event::RetryEnded];
    let steps: Vec<Step> = events.into_iter().flat_map(|event| deeds.take(event, &now)).collect();
    let place = |wanted: fn(&Step) -> bool| {
        let places = steps.iter().enumerate().filter(|(_, step)| wanted(step));
        places.map(|(place, _)| place).collect::<Vec<_>>()
    };
    let answered = place(|step| matches!(step, Step::Deed(Deed::Answered(_))));
    let over = place(|step| matches!(step, Step::Deed(Deed::RetryOver { success: true, attempt: 2, .. })));
    assert_eq!(over, [answered[0] + 1]);
}

/// Opal ends an answer with the next one, and tells before that of the words that wait behind it.
#[test]
fn words_of_the_user_stand_behind_the_answer_before_them() {
    let (mut deeds, mut now) = (Deeds::default(), Conversation::begin("opal"));
    now.messages = vec![answer(MessageState::Growing)];
    let began = Event::MessageBegan { message: "k1".to_owned(), role: Role::Assistant };
    let mut words = Message::default();
    (words.key, words.role) = ("k2".to_owned(), Role::User);
    let ended = |message: Arc<Message>| Event::MessageEnded { message };
    let events = [began, ended(words.into()), ended(answer(MessageState::Done))];
    let steps: Vec<Step> = events.into_iter().flat_map(|event| deeds.take(event, &now)).collect();
    let messages = steps.iter().filter_map(|step| match step {
        Step::Deed(Deed::Answered(_)) => Some("answer"),
        Step::Deed(Deed::Said(_)) => Some("words"),
        _ => None,
    });
    assert_eq!(messages.collect::<Vec<_>>(), ["answer", "words"]);
}
