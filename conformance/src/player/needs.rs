//! Needs of a case: the commands that it sends, and the features that it requires.

use std::collections::BTreeSet;

use agentese::types::{CaseNeed, Profile, Scenario, ScenarioStep, ScriptBlock, ScriptResponse};
use base64::Engine as _;
use serde_json::Value;

/// Returns the features that a case requires: the declared `needs`, and further ones that its content
/// implies.
pub fn needs(case: &Scenario) -> Vec<CaseNeed> {
    let answers: Vec<&ScriptResponse> =
        case.model.iter().flat_map(|model| model.responses.iter().chain(&model.default)).collect();
    let blocks = || answers.iter().flat_map(|answer| answer.blocks.iter().flatten());
    let is_own = |name: &String| name.starts_with("agent/") || name.starts_with("home/");
    let own_files = case.files.iter().flatten().any(|(name, _)| is_own(name));
    let seen = [
        // A script that only has a default answer does not imply that the case needs a model.
        (CaseNeed::Model, case.model.as_ref().is_some_and(|model| !model.responses.is_empty())),
        (CaseNeed::Tools, blocks().any(|block| matches!(block, ScriptBlock::Tool(_)))),
        (
            CaseNeed::Thinking,
            blocks().any(|block| matches!(block, ScriptBlock::Thinking(_) | ScriptBlock::ThinkingRepeat(_))),
        ),
        (CaseNeed::ModelFailures, answers.iter().any(|answer| fails(answer))),
        (CaseNeed::Arguments, case.arguments.is_some() || case.environment.is_some()),
        (CaseNeed::Configuration, case.settings.is_some() || case.models.is_some() || own_files),
    ];
    let mut all: Vec<CaseNeed> = case.needs.clone().unwrap_or_default();
    all.extend(seen.into_iter().filter(|(_, seen)| *seen).map(|(need, _)| need));
    all
}

/// Returns `true` if an answer of the script fails or breaks off. An answer that hangs is not a failure,
/// because it waits for an abort.
fn fails(answer: &ScriptResponse) -> bool {
    let breaks = [answer.drop_after, answer.fin_after, answer.stream_error_after];
    let cut = answer.cut_after_bytes.is_some() || answer.no_end == Some(true) || answer.raw.is_some();
    cut || breaks.iter().any(Option::is_some) || answer.error.is_some() || answer.empty_error.is_some()
}

/// Returns the commands of the case's dialect that the case sends, by their wire names.
pub fn commands(case: &Scenario) -> BTreeSet<String> {
    let Ok(spec) = crate::spec(&case.dialect) else { return BTreeSet::new() };
    let names = case.steps.iter().flat_map(values).filter_map(|value| {
        let name = value.get("method").or_else(|| value.get("type"))?.as_str()?.to_owned();
        spec.command(&name).is_some().then_some(name)
    });
    names.collect()
}

/// Returns `true` if the agent plays the model script itself. Then the suite does not receive the requests to
/// the model.
pub(super) fn plays_the_script(profile: &Profile) -> bool {
    profile.claims.as_ref().is_some_and(|claims| claims.embedded_model == Some(true))
}

/// Returns the JSON values that a step sends.
fn values(step: &ScenarioStep) -> Vec<Value> {
    let text = match step {
        ScenarioStep::Send(step) => return vec![step.send.clone()],
        ScenarioStep::Raw(step) => step.raw.clone(),
        ScenarioStep::Bytes(step) => {
            let decode = |piece| base64::engine::general_purpose::STANDARD.decode(piece).unwrap_or_default();
            String::from_utf8_lossy(&step.bytes.iter().flat_map(decode).collect::<Vec<u8>>()).into_owned()
        }
        _ => return Vec::new(),
    };
    // Two objects in one line are both examined, because some agents read them as two commands.
    let values = text.split('\n').flat_map(|line| serde_json::Deserializer::from_str(line).into_iter());
    values.map_while(Result::ok).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn case(members: &Value) -> Scenario {
        let mut case = json!({"scenario": 1, "name": "n", "dialect": "pi@0.55", "title": "t", "steps": []});
        for (name, value) in members.as_object().unwrap() {
            case[name] = value.clone();
        }
        serde_json::from_value(case).unwrap()
    }

    #[test]
    fn needs_are_seen_from_the_case() {
        let model = |answer: Value| json!({"model": {"responses": [answer]}});
        let table = [
            (json!({}), vec![]),
            (json!({"model": {"responses": []}}), vec![]),
            (json!({"needs": ["images"], "arguments": []}), vec![CaseNeed::Images, CaseNeed::Arguments]),
            (json!({"files": {"work/a": "x"}}), vec![]),
            (json!({"files": {"agent/a": "x"}}), vec![CaseNeed::Configuration]),
            (model(json!({"text": "a"})), vec![CaseNeed::Model]),
            (model(json!({"text": "a", "hang_after": 1})), vec![CaseNeed::Model]),
            (model(json!({"text": "a", "fin_after": 1})), vec![CaseNeed::Model, CaseNeed::ModelFailures]),
            (
                model(json!({"blocks": [{"thinking": "x"}, {"tool": {"name": "ls"}}]})),
                vec![CaseNeed::Model, CaseNeed::Tools, CaseNeed::Thinking],
            ),
        ];
        for (members, wanted) in table {
            assert_eq!(needs(&case(&members)), wanted, "{members}");
        }
    }

    #[test]
    fn commands_are_read_from_sent_lines() {
        let case = case(&json!({"steps": [
            {"send": {"type": "prompt"}}, {"send": {"type": "no_such"}}, {"raw": "{\"type\": \"abort\"}\nno {"},
            {"raw": "{\"type\":\"fork\"}{\"type\":\"bash\"}"}, {"wait": {"type": "compact"}},
            {"bytes": ["eyJ0eXBlIjoi", "Z2V0X3N0YXRlIn0K"]},
        ]}));
        assert_eq!(Vec::from_iter(commands(&case)), ["abort", "bash", "fork", "get_state", "prompt"]);
    }
}
