//! Tests that an agent's choices are compared with its own reported choices, and that all other
//! values must be equal.

use agentese::types::Scenario;
use agentese_conformance::matching::{Choices, Comparison, compare};
use serde_json::{Map, Value, json};

use crate::rows::{assistant, data, with};
use crate::support::{case, failure_lines, rules, transcript};

fn chosen(model: &str, level: &str, file: Value) -> Map<String, Value> {
    let cost = if model == "big" { 3 } else { 0 };
    let model = json!({"id": model, "api": "a", "provider": "p", "cost": {"input": cost}});
    let state = json!({"model": model, "thinkingLevel": level, "autoCompactionEnabled": level != "off", "sessionFile": file});
    state.as_object().unwrap().clone()
}

fn recorded() -> Map<String, Value> {
    chosen("big", "medium", json!("/s/a.jsonl"))
}

fn own() -> Map<String, Value> {
    chosen("tiny", "off", Value::Null)
}

fn held(
    case: &Scenario,
    golden: &[(char, Value)],
    observed: &[(char, Value)],
    own: Option<&Map<String, Value>>,
) -> Vec<String> {
    let choices = Choices::new(Some(&recorded()), own);
    let (golden, observed) = (transcript(golden), transcript(observed));
    let comparison = Comparison {
        golden: &golden,
        alternatives: &[],
        observed: &observed,
        case,
        same_agent: false,
        choices: &choices,
    };
    failure_lines(&compare(rules("pi"), &comparison))
}

fn state(members: &Map<String, Value>) -> Vec<(char, Value)> {
    let mut members = Value::Object(members.clone());
    if members["sessionFile"].is_null() {
        members.as_object_mut().unwrap().remove("sessionFile");
    }
    data("get_state", members)
}

#[test]
fn a_choice_of_the_recorded_agent_is_not_demanded_of_another() {
    let none = case(Vec::new());
    let (golden, mine) = (state(&recorded()), state(&own()));
    assert!(!held(&none, &golden, &mine, None).is_empty());
    assert_eq!(held(&none, &golden, &mine, Some(&own())), [""; 0]);
    // An agent must be consistent in its own choice; the recorded agent's choice is wrong for it.
    assert!(held(&none, &golden, &golden, Some(&own())).len() >= 4);
    let mut changed = own();
    changed["thinkingLevel"] = json!("low");
    assert_eq!(held(&none, &golden, &state(&changed), Some(&own())), ["should answers data.thinkingLevel"]);
}

#[test]
fn messages_have_the_chosen_model_and_its_cost() {
    let none = case(Vec::new());
    let message = |model: &str, cost: Value| {
        let usage = json!({"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": {"input": cost}});
        let frame = with(assistant(usage)[0].1.clone(), "/message/model", json!(model));
        vec![('<', frame)]
    };
    let golden = message("big", json!(0.5));
    assert_eq!(held(&none, &golden, &message("tiny", json!(0)), Some(&own())), [""; 0]);
    assert_eq!(
        held(&none, &golden, &message("other", json!(0)), Some(&own())),
        ["should events message.model"]
    );
    assert_eq!(
        held(&none, &golden, &message("tiny", json!("much")), Some(&own())),
        ["must events message.usage.cost.input"]
    );
    assert_eq!(
        held(&none, &golden, &message("tiny", json!(-1)), Some(&own())),
        ["should events message.usage.cost.input"]
    );
    // The number of tokens is not a choice.
    let mut tokens = message("tiny", json!(0));
    tokens[0].1["message"]["usage"]["input"] = json!(2);
    assert_eq!(held(&none, &golden, &tokens, Some(&own())), ["should events message.usage.input"]);
}

#[test]
fn values_set_by_the_client_are_no_choices() {
    let mut set = case(Vec::new());
    let steps = json!([{"send": {"type": "set_thinking_level", "level": "medium"}}]);
    set.steps = serde_json::from_value(steps).unwrap();
    let of = |level: &str| data("get_state", json!({"thinkingLevel": level}));
    assert_eq!(held(&set, &of("medium"), &of("off"), Some(&own())), ["should answers data.thinkingLevel"]);
    assert_eq!(held(&set, &of("medium"), &of("medium"), Some(&own())), [""; 0]);
}

#[test]
fn null_is_valid_for_a_nullable_choice() {
    let none = case(Vec::new());
    let of = |model: Value| data("get_state", json!({"model": model}));
    let golden = of(json!({"id": "x"}));
    assert_eq!(held(&none, &golden, &of(Value::Null), None), ["should answers data.model"]);
    assert_eq!(held(&none, &golden, &of(json!(1)), None), ["must answers data.model"]);
}
