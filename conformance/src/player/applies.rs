//! Decision if a case applies to an agent.

use std::collections::BTreeSet;

use agentese::types::{CaseNeed, Profile, Scenario, ScenarioStep};

use super::needs::{commands, needs};
use crate::matching::Rules;

/// Returns the reason why a case does not apply to an agent. The profile may exclude something that the case
/// needs, sends or covers. Returns `None` if the case applies.
pub fn not_applicable(case: &Scenario, profile: &Profile) -> Option<String> {
    if let Some(name) = not_chosen(case, profile) {
        return Some(format!("the case requires `{name}`, which the agent has not chosen"));
    }
    let claims = profile.claims.as_ref()?;
    let lacks = |need: &CaseNeed| claims.without.iter().flatten().any(|lack| lack == need);
    if let Some(need) = needs(case).iter().find(|need| lacks(need)) {
        return Some(format!(
            "the case requires {}, which the agent lacks",
            need.to_string().replace('_', " ")
        ));
    }
    let covered = |kind: &'static str| {
        let names = case.covers.iter().flatten().filter_map(move |covers| covers.strip_prefix(kind));
        names.map(str::to_owned).collect::<BTreeSet<String>>()
    };
    let lacking = |names: BTreeSet<String>, claimed: &Option<Vec<String>>, without: &Option<Vec<String>>| {
        let lacks = |name: &String| {
            without.iter().flatten().any(|lack| lack == name)
                || claimed.as_ref().is_some_and(|claimed| !claimed.contains(name))
        };
        names.into_iter().find(lacks)
    };
    let mut asked = commands(case);
    asked.extend(covered("command "));
    if let Some(name) = lacking(asked, &claims.commands, &claims.without_commands) {
        return Some(format!("the case tests the command {name}, which the agent lacks"));
    }
    let name = lacking(covered("event "), &claims.events, &claims.without_events)?;
    Some(format!("the case tests the event {name}, which the agent does not send"))
}

/// Returns a state member that the case reads and that the agent omits by its own choice, such as the session
/// file. Returns `None` if there is no such member.
fn not_chosen(case: &Scenario, profile: &Profile) -> Option<String> {
    let (choices, rules) = (profile.choices.as_ref()?, Rules::of(&case.dialect)?);
    let read = case.steps.iter().flat_map(|step| match step {
        ScenarioStep::Wait(wait) => wait.capture.iter().flatten().map(|(_, path)| path.as_str()).collect(),
        _ => Vec::new(),
    });
    let mut members = read.filter_map(|path| path.rsplit('.').next());
    let lacks =
        |name: &&str| rules.may_lack(name) && choices.get(*name).is_none_or(serde_json::Value::is_null);
    members.find(lacks).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use agentese::types::ProfileBuilder;
    use serde_json::json;

    use super::*;

    #[test]
    fn state_members_that_an_agent_omits_are_not_required() {
        let case: Scenario = serde_json::from_value(json!({
            "scenario": 1, "name": "n", "dialect": "pi@0.55", "title": "t",
            "steps": [{"wait": {"type": "response"}, "capture": {"FILE": "data.sessionFile"}}],
        }))
        .unwrap();
        let mut profile: Profile = serde_json::from_value(json!({
            "profile": 1, "name": "p", "dialect": "pi@0.55", "agent": "a", "command": ["a"], "environment": {},
        }))
        .unwrap();
        assert_eq!(not_applicable(&case, &profile), None);
        let mut chosen = |choices: serde_json::Value| {
            profile.choices = serde_json::from_value(choices).unwrap();
            not_applicable(&case, &profile)
        };
        assert_eq!(chosen(json!({"sessionFile": "/s.jsonl"})), None);
        let message = "the case requires `sessionFile`, which the agent has not chosen";
        assert_eq!(chosen(json!({"thinkingLevel": "off"})).as_deref(), Some(message));
    }

    #[test]
    fn unclaimed_items_are_not_required() {
        let case: Scenario = serde_json::from_value(json!({
            "scenario": 1, "name": "n", "dialect": "pi@0.55", "title": "t", "needs": ["extensions"],
            "steps": [{"send": {"type": "prompt"}}], "model": {"responses": [{"error": {"status": 500}}]},
            "covers": ["command bash", "event agent_end"],
        }))
        .unwrap();
        let table = [
            (json!({}), None),
            (json!({"without_commands": ["fork"], "without_events": ["bash"]}), None),
            (json!({"without": ["extensions"]}), Some("the case requires extensions, which the agent lacks")),
            (
                json!({"without_commands": ["bash"]}),
                Some("the case tests the command bash, which the agent lacks"),
            ),
            (json!({"commands": ["bash"]}), Some("the case tests the command prompt, which the agent lacks")),
            (json!({"commands": ["bash", "prompt"], "events": ["agent_end"]}), None),
            (
                json!({"events": ["agent_start"]}),
                Some("the case tests the event agent_end, which the agent does not send"),
            ),
            (
                json!({"without": ["model_failures"]}),
                Some("the case requires model failures, which the agent lacks"),
            ),
        ];
        for (claims, wanted) in table {
            let mut profile = ProfileBuilder {
                profile: 1,
                name: "p".to_owned(),
                dialect: "pi@0.55".to_owned(),
                agent: "a".to_owned(),
            }
            .build();
            profile.claims = serde_json::from_value(claims).unwrap();
            assert_eq!(not_applicable(&case, &profile).as_deref(), wanted);
        }
    }
}
