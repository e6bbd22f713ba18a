//! Tests of forms.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use agentese_server_base::ui::{Notice, Ui};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use super::*;

fn question(schema: Value) -> FormQuestion {
    FormQuestion { name: "value".to_owned(), title: "Which?".to_owned(), schema }
}

/// A user interface with a list of answers. It records the questions.
#[derive(Clone, Default)]
struct ScriptedUi {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    asked: Arc<Mutex<Vec<Dialog>>>,
}

impl Ui for ScriptedUi {
    fn wait_for_reader(&self) -> BoxFuture<'_, ()> {
        futures::future::ready(()).boxed()
    }

    fn show(&self, _: &Notice) {}

    fn show_dialog(&self, dialog: &Dialog) -> Option<BoxFuture<'static, Option<Answer>>> {
        self.asked.lock().unwrap().push(dialog.clone());
        let answer = self.answers.lock().unwrap().pop_front();
        Some(futures::future::ready(answer).boxed())
    }
}

/// Fills in a form. Returns the response and the questions.
fn fill(form: Value, answers: &[Answer]) -> (Value, Vec<Dialog>) {
    let scripted = ScriptedUi::default();
    scripted.answers.lock().unwrap().extend(answers.iter().cloned());
    let ui = ClientUi::new();
    ui.connect(Arc::new(scripted.clone()));
    let form = serde_json::from_value(form).unwrap();
    let answer = fill_form(&ui, form).now_or_never().expect("each question has its answer");
    assert!(scripted.answers.lock().unwrap().is_empty(), "not all questions were asked");
    let asked = scripted.asked.lock().unwrap().clone();
    (serde_json::to_value(answer).unwrap(), asked)
}

fn form(message: &str, properties: Value, required: &[&str]) -> Value {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    json!({"sessionId": "one", "mode": "form", "message": message, "requestedSchema": schema})
}

fn text(text: &str) -> Answer {
    Answer::Value(text.to_owned())
}

fn title(dialog: &Dialog) -> &str {
    match dialog {
        Dialog::Select(dialog, _) => &dialog.title,
        Dialog::Confirm(dialog) => &dialog.title,
        Dialog::Input(dialog) => &dialog.title,
        Dialog::Editor(dialog) => &dialog.title,
    }
}

/// Returns the form of Claude Code for a question with choices: no member is required, and each question has a member
/// for another answer.
fn claude_form() -> Value {
    let choices = json!([
        {"const": "Red", "title": "Red", "description": "Warm"},
        {"const": "Blue", "title": "Blue", "description": "Cold\nand calm"},
    ]);
    let properties = json!({
        "question_0": {"type": "string", "title": "Colour", "oneOf": choices},
        "question_0_custom": {"type": "string", "title": "Other", "description": "Type your own answer (optional)."},
    });
    form("Which colour?", properties, &[])
}

#[test]
fn a_dismissed_optional_member_is_left_out() {
    let (answer, asked) = fill(claude_form(), &[text("Blue"), Answer::Cancelled]);
    assert_eq!(answer, json!({"action": "accept", "content": {"question_0": "Blue"}}));
    assert_eq!(
        title(&asked[0]),
        "Which colour?: Colour (optional)\n  Red: Warm\n  Blue:\n    Cold\n    and calm"
    );
    assert_eq!(title(&asked[1]), "Which colour?: Other (optional)\nType your own answer (optional).");

    // The first member may be dismissed for the sake of the second.
    let (answer, _) = fill(claude_form(), &[Answer::Cancelled, text("Green")]);
    assert_eq!(answer, json!({"action": "accept", "content": {"question_0_custom": "Green"}}));
}

#[test]
fn a_dismissed_required_member_and_an_unanswered_form_cancel() {
    let (answer, _) = fill(claude_form(), &[Answer::Cancelled, Answer::Cancelled]);
    assert_eq!(answer, json!({"action": "cancel"}));

    // The form of an MCP server, in which a member is required.
    let properties =
        json!({"a_note": {"type": "string"}, "branch": {"type": "string"}, "force": {"type": "boolean"}});
    let mcp = || form("Where to?", properties.clone(), &["branch"]);
    let (answer, asked) = fill(mcp(), &[text("now"), Answer::Cancelled]);
    assert_eq!(answer, json!({"action": "cancel"}));
    assert_eq!((title(&asked[0]), title(&asked[1])), ("Where to?: a_note (optional)", "Where to?: branch"));
    let (answer, _) = fill(mcp(), &[Answer::Cancelled, text("main"), Answer::Confirmed(false)]);
    assert_eq!(answer["content"], json!({"branch": "main", "force": false}));

    let single = form("Name?", json!({"name": {"type": "string"}}), &[]);
    assert_eq!(fill(single, &[Answer::Cancelled]).0, json!({"action": "cancel"}));
}

#[test]
fn several_values_are_chosen_one_after_the_other() {
    let items = json!({"anyOf": [{"const": "a", "title": "A", "description": "First"}, {"const": "b"}, {"const": 3}]});
    let many = |limits: Value| {
        let mut member = json!({"type": "array", "items": items, "description": "Which ones?"});
        member.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
        form("Pick", json!({"many": member}), &[])
    };
    let (answer, asked) = fill(many(json!({})), &[text("3"), text("A"), text(NO_MORE)]);
    assert_eq!(answer["content"], json!({"many": [3, "a"]}));
    assert_eq!(title(&asked[0]), "Pick\nWhich ones?\n  A: First\nChoose one after the other.");
    let Dialog::Select(select, _) = &asked[2] else { panic!("{asked:#?}") };
    assert_eq!(select.options, ["b", NO_MORE]);
    let (answer, _) = fill(many(json!({"minItems": 2, "maxItems": 2})), &[text("b"), text("A")]);
    assert_eq!(answer["content"], json!({"many": ["b", "a"]}));
    assert_eq!(fill(many(json!({})), &[text("b"), Answer::Cancelled]).0["action"], "cancel");
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again() {
    let number = || form("How many?", json!({"count": {"type": "integer"}}), &["count"]);
    let (answer, asked) = fill(number(), &[text("seven"), text("7")]);
    assert_eq!(answer["content"], json!({"count": 7}));
    assert_eq!(title(&asked[1]), "How many?\nThe answer must be of type integer.");
    let unfit = Answer::Unreadable("no text".to_owned());
    assert_eq!(fill(number(), &[text("x"), text("y"), unfit]).0, json!({"action": "cancel"}));
}

#[test]
fn choices_have_titles_and_descriptions() {
    let labels = |schema: Value| -> Vec<(String, Value)> {
        choices(&schema).into_iter().map(|choice| (choice.label, choice.value)).collect()
    };
    // MCP servers name the values of `enum` in `enumNames`.
    let named = labels(json!({"enum": ["m", "d"], "enumNames": ["Main"]}));
    assert_eq!(named, [("Main".to_owned(), json!("m")), ("d".to_owned(), json!("d"))]);
    let same = labels(json!({"oneOf": [{"const": 1, "title": "One"}, {"const": 2, "title": "One"}]}));
    assert_eq!(same, [("One (1)".to_owned(), json!(1)), ("One (2)".to_owned(), json!(2))]);
}

#[test]
fn members_become_dialogs_of_their_type() {
    let asked = |schema: Value| question(schema).dialog(false);
    assert!(matches!(asked(json!({"type": "boolean"})), Dialog::Confirm(_)));
    let default = asked(json!({"type": "string", "default": "main", "description": "A branch"}));
    assert!(matches!(&default, Dialog::Editor(editor) if editor.title == "Which?\nA branch"), "{default:?}");
    assert!(matches!(asked(json!({"type": "string"})), Dialog::Input(_)));
    let named = json!({"type": "string", "oneOf": [{"const": "m", "title": "Main"}]});
    assert!(matches!(asked(named.clone()), Dialog::Select(..)));
    let value = |schema: &Value, answer: Answer| question(schema.clone()).value(answer);
    assert_eq!((value(&named, text("Main")), value(&named, text("m"))), (Some(json!("m")), None));
    assert_eq!(value(&json!({"type": "integer"}), text("7")), Some(json!(7)));
    assert_eq!(value(&json!({"type": "integer"}), text("seven")), None);
    assert_eq!(value(&json!({"type": "boolean"}), Answer::Confirmed(false)), Some(json!(false)));
}
