//! Check of the names in a profile's claims. A misspelt name would otherwise exclude cases silently.

use std::collections::BTreeSet;

use agentese::types::{CaseNeed, Profile};

use super::{Suite, SuiteError, unknown};
use crate::player::needs;

/// Checks that each name in the claims is declared by the dialect or used by a case of the suite.
///
/// # Errors
/// If a name is unknown. The error contains the first unknown name, and similar names.
pub(super) fn check(suite: &Suite, profile: &Profile) -> Result<(), SuiteError> {
    let Some(claims) = &profile.claims else { return Ok(()) };
    // Other functions report an unknown dialect.
    let Ok(spec) = crate::spec(&profile.dialect) else { return Ok(()) };
    let commands: BTreeSet<&str> = spec.commands.iter().map(|row| row.wire).collect();
    let events: BTreeSet<&str> = spec.events.iter().map(|row| row.name).collect();
    let cases = suite.cases(&profile.dialect).unwrap_or_default();
    let needs: Vec<String> = cases.iter().flat_map(needs).map(|need| need.to_string()).collect();
    let needs: BTreeSet<&str> = needs.iter().map(String::as_str).collect();
    let is_other = |need: &&CaseNeed| matches!(need, CaseNeed::Other(_));
    let without: Vec<String> =
        claims.without.iter().flatten().filter(is_other).map(ToString::to_string).collect();
    let of = |names: &Option<Vec<String>>| names.clone().unwrap_or_default();
    let claimed = [
        ("command", "commands", of(&claims.commands), &commands),
        ("command", "without_commands", of(&claims.without_commands), &commands),
        ("event", "events", of(&claims.events), &events),
        ("event", "without_events", of(&claims.without_events), &events),
        ("need", "without", without, &needs),
    ];
    for (what, member, names, declared) in claimed {
        for name in names.iter().filter(|name| !declared.contains(name.as_str())) {
            // A user's own suite may contain cases about undeclared names.
            let covers = format!("{what} {name}");
            if cases.iter().any(|case| case.covers.iter().flatten().any(|covered| *covered == covers)) {
                continue;
            }
            let known: Vec<String> = declared.iter().map(|name| (*name).to_owned()).collect();
            let all = format!("`claims.{member}` of the profile requires names of {}", spec.id());
            return Err(unknown(what, name, &known, &all));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use agentese::types::ProfileBuilder;
    use serde_json::{Value, json};

    use super::*;

    fn checked(claims: Value) -> Result<(), String> {
        let mut profile = ProfileBuilder {
            profile: 1,
            name: "p".to_owned(),
            dialect: "pi@0.55".to_owned(),
            agent: "a".to_owned(),
        }
        .build();
        profile.claims = serde_json::from_value(claims).unwrap();
        check(&Suite::embedded(), &profile).map_err(|error| error.to_string())
    }

    #[test]
    fn an_unknown_name_is_an_error_with_the_nearest_name() {
        let table = [
            (
                json!({"commands": ["get_mesages"]}),
                "unknown command `get_mesages`; did you mean `get_messages`",
            ),
            (json!({"without_commands": ["abrot"]}), "unknown command `abrot`; did you mean `abort`"),
            (json!({"events": ["agent_ned"]}), "unknown event `agent_ned`; did you mean `agent_end`"),
            (json!({"without_events": ["x"]}), "unknown event `x`; "),
            (json!({"without": ["tolls"]}), "unknown need `tolls`; known: arguments, configuration, "),
        ];
        for (claims, wanted) in table {
            let said = checked(claims).unwrap_err();
            assert!(said.starts_with(wanted), "{said}");
        }
    }

    #[test]
    fn names_of_the_dialect_may_be_claimed() {
        let claims = json!({"commands": ["get_messages"], "events": ["agent_end"], "without_commands": ["abort"],
            "without_events": ["turn_end"], "without": ["tools", "queues"]});
        assert_eq!(checked(claims), Ok(()));
    }
}
