//! Tests that the schemas accept every frame of the recordings, except for listed exceptions.

use agentese_conformance::transcript::recorded;

use crate::exceptions;
use crate::validators::{DIALECTS, Validators, recorded_frames};

/// Returns `true` for recordings whose frames the schemas must accept. For Operator, these are only the
/// scenarios derived from its document, because its recorded servers deviate from the document.
fn is_judged(dialect: &str, name: &str) -> bool {
    dialect != "operator" || ["d01", "d03", "d04"].iter().any(|prefix| name.starts_with(prefix))
}

#[test]
fn schemas_accept_frames_of_real_agents() {
    let exceptions = exceptions::load();
    let mut used = Vec::new();
    let mut refused = String::new();
    let mut frames = 0;
    for dialect in DIALECTS {
        let validators = Validators::new(dialect);
        for (name, transcript) in recorded(dialect).unwrap() {
            if !is_judged(dialect, &name) {
                continue;
            }
            for seen in recorded_frames(&transcript) {
                frames += 1;
                let side = if seen.from_server { "server" } else { "client" };
                let problem = match &seen.frame {
                    None => Some("no JSON".to_owned()),
                    Some(frame) if seen.from_server => validators.server_error(frame, seen.method.as_deref()),
                    Some(frame) => validators.client.iter_errors(frame).next().map(|error| error.to_string()),
                };
                let key = (format!("{dialect}/{name}"), side.to_owned(), seen.number);
                match (problem, exceptions.contains_key(&key)) {
                    (None, false) => {}
                    (Some(_), true) => used.push(key),
                    (None, true) => {
                        refused.push_str(&format!(
                            "{} {} {}: is accepted; take its line out\n",
                            key.0, key.1, key.2
                        ));
                    }
                    (Some(problem), false) => {
                        let text: String = seen.text.as_str().chars().take(200).collect();
                        let problem: String = problem.chars().take(160).collect();
                        refused
                            .push_str(&format!("{} {} {} {problem}\n        {text}\n", key.0, key.1, key.2));
                    }
                }
            }
        }
    }
    for key in exceptions.keys().filter(|key| !used.contains(key)) {
        refused
            .push_str(&format!("{} {} {}: there is no such frame, or it is accepted\n", key.0, key.1, key.2));
    }
    assert!(frames > 9_000, "only {frames} frames were checked");
    assert!(refused.is_empty(), "schema and recordings disagree:\n{refused}");
}
