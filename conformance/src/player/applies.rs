//! Whether a case is one for an agent.

use agentese::types::{Profile, Scenario};

/// Why a case is none for an agent: it needs or covers what the profile says that the agent does not
/// have. None where it is one.
pub fn not_applicable(case: &Scenario, profile: &Profile) -> Option<String> {
    let claims = profile.claims.as_ref()?;
    let lacks = claims.without.iter().flatten();
    if let Some(need) = case.needs.iter().flatten().find(|need| lacks.clone().any(|lack| lack == *need)) {
        return Some(format!("it needs {need}, and the agent has none"));
    }
    let commands = claims.without_commands.iter().flatten().map(|name| format!("command {name}"));
    let events = claims.without_events.iter().flatten().map(|name| format!("event {name}"));
    let lacks: Vec<String> = commands.chain(events).collect();
    let covers = case.covers.iter().flatten().find(|covers| lacks.contains(covers))?;
    Some(format!("it covers the {covers}, which the agent does not have"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_agent_does_not_claim_is_not_asked_of_it() {
        let case: Scenario = serde_json::from_value(json!({
            "scenario": 1, "name": "n", "dialect": "pi@0.55", "title": "t", "steps": [], "needs": ["extensions"],
            "covers": ["command bash", "event agent_end"],
        }))
        .unwrap();
        let table = [
            (json!({}), None),
            (json!({"without_commands": ["fork"], "without_events": ["bash"]}), None),
            (json!({"without": ["extensions"]}), Some("it needs extensions, and the agent has none")),
            (
                json!({"without_commands": ["bash"]}),
                Some("it covers the command bash, which the agent does not have"),
            ),
        ];
        for (claims, wanted) in table {
            let mut profile = Profile::new(1, "p", "pi@0.55", "a");
            profile.claims = serde_json::from_value(claims).unwrap();
            assert_eq!(not_applicable(&case, &profile).as_deref(), wanted);
        }
    }
}
