//! The common parts of a dialect's cases.

use agentese::types::{CaseDefaults, ModelScript, Scenario};

/// Adds the common parts to a case.
pub(super) fn apply(mut case: Scenario, defaults: Option<&CaseDefaults>) -> Scenario {
    let Some(defaults) = defaults else { return case };
    if case.model.is_none() {
        case.model = defaults.model.as_ref().and_then(|model| used(model, &case));
    }
    case.replies.get_or_insert_default().extend(defaults.replies.iter().flatten().cloned());
    case.expect.get_or_insert_default().extend(defaults.expect.iter().flatten().cloned());
    case
}

/// Returns the answers whose condition on the user's text occurs in a step of the case. The needs of a case follow
/// from its answers, so it gets no others. Returns `None` for a case without such a text.
fn used(model: &ModelScript, case: &Scenario) -> Option<ModelScript> {
    let steps = serde_json::to_string(&case.steps).unwrap_or_default();
    let mut model = model.clone();
    model.responses.retain(|answer| {
        let text = answer.when.as_ref().and_then(|condition| condition.user.as_ref());
        text.is_some_and(|text| steps.contains(text.as_str()))
    });
    (!model.responses.is_empty()).then_some(model)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn case(members: &Value) -> Scenario {
        let mut case = json!({"scenario": 1, "name": "n", "dialect": "acp@1", "title": "t",
            "steps": [{"send": {"prompt": "say hello"}}]});
        for (name, value) in members.as_object().unwrap() {
            case[name] = value.clone();
        }
        serde_json::from_value(case).unwrap()
    }

    #[test]
    fn a_case_gets_the_common_parts_after_its_own() {
        let check = |name: &str| json!({"check": name, "says": "s", "of": {}, "every": {}});
        let defaults: CaseDefaults = serde_json::from_value(json!({
            "case_defaults": 1, "replies": [{"to": {"method": "b"}}], "expect": [check("theirs")],
            "model": {"responses": [
                {"when": {"user": "say hello"}, "text": "Hello."}, {"when": {"user": "say more"}, "text": "More."},
            ]},
        }))
        .unwrap();
        let own = case(&json!({"replies": [{"to": {"method": "a"}}], "expect": [check("own")]}));
        let applied = serde_json::to_value(apply(own, Some(&defaults))).unwrap();
        assert_eq!(applied["replies"], json!([{"to": {"method": "a"}}, {"to": {"method": "b"}}]));
        assert_eq!(applied["expect"], json!([check("own"), check("theirs")]));
        assert_eq!(applied["model"]["responses"], json!([{"when": {"user": "say hello"}, "text": "Hello."}]));
        let silent = case(&json!({"steps": []}));
        assert_eq!(apply(silent, Some(&defaults)).model, None);
        let with_model = case(&json!({"model": {"responses": []}}));
        assert_eq!(apply(with_model.clone(), Some(&defaults)).model, with_model.model);
        assert_eq!(apply(with_model.clone(), None), with_model);
    }
}
