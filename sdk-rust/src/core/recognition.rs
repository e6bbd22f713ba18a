//! Frames of other dialects. An agent does not answer a client of another dialect, but its frames show the
//! mismatch.

use crate::generated::recognition::DIALECTS;
use crate::scan::{self, MemberSet, inner, member};
use crate::spec::{Framing, Spec};

/// Frames by which a client of another framing recognises an agent of this dialect.
#[derive(Debug, Clone, Copy)]
pub struct DialectVocabulary {
    /// Name of the dialect.
    pub name: &'static str,
    /// The method of the notifications that carry events, in JSON-RPC.
    pub notification: Option<&'static str>,
    /// The types of the dialect's events; empty in JSON-RPC.
    pub events: &'static [&'static str],
    /// The types of dialog frames; in JSON-RPC, the methods of questions.
    pub questions: &'static [&'static str],
}

static CLASSIFYING_MEMBERS: MemberSet<8> = MemberSet::new([
    member("jsonrpc"),
    member("type"),
    member("method"),
    member("result"),
    member("error"),
    member("success"),
    member("id"),
    inner("event", "type"),
]);

/// Returns the dialects to which a frame may belong, if it cannot belong to the dialect of `spec`. Returns an
/// empty list for any other text.
pub fn other_dialects(spec: &Spec, frame: &str) -> Vec<&'static str> {
    let Ok(found) = scan::scan(frame, &CLASSIFYING_MEMBERS) else { return Vec::new() };
    let kind = found.string(1);
    let is_rpc = matches!(spec.framing, Framing::JsonRpc { .. });
    let fits = |dialect: &&DialectVocabulary| match (is_rpc, &kind) {
        // A line with a type and without members of JSON-RPC.
        (true, Some(kind)) if dialect.notification.is_none() && found.get(0).is_none() => match &**kind {
            "response" => found.boolean(5).is_some(),
            "event" => found.string(7).is_some_and(|inner| dialect.events.contains(&&*inner)),
            kind => dialect.events.contains(&kind) || dialect.questions.contains(&kind),
        },
        (false, None) if dialect.notification.is_some() => match found.string(2) {
            Some(method) => dialect.notification == Some(&*method) || dialect.questions.contains(&&*method),
            None => {
                found.string(0).is_some_and(|version| version == "2.0")
                    && (found.get(3).is_some() || found.get(4).is_some())
            }
        },
        _ => false,
    };
    DIALECTS.iter().filter(fits).map(|dialect| dialect.name).collect()
}

/// Joins names with commas and a final `or`, as in `pi, omp or operator`.
pub fn any_of(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        names => names.concat(),
    }
}

#[cfg(test)]
#[cfg(all(feature = "pi", feature = "opal"))]
mod tests {
    use super::*;
    use crate::opal::Opal;
    use crate::pi::Pi;
    use crate::spec::Dialect;

    #[test]
    fn frames_of_the_other_framing_are_recognised_and_nothing_else() {
        let refused = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}"#;
        assert_eq!(other_dialects(Pi::CLIENT, refused), ["opal", "acp"]);
        let event = r#"{"jsonrpc":"2.0","method":"agent/event","params":{"type":"agent_start"}}"#;
        assert_eq!(other_dialects(Pi::CLIENT, event), ["opal"]);
        let failure = r#"{"type":"response","command":"parse","success":false,"error":"no"}"#;
        assert_eq!(any_of(&other_dialects(Opal::CLIENT, failure)), "pi, omp, pisces or operator");
        assert_eq!(other_dialects(Opal::CLIENT, r#"{"type":"ready"}"#), ["omp"]);
        for other in [
            r#"{"type":"log","level":"info"}"#,
            r#"{"level":"error","error":"no"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#,
            "warning: deprecated",
        ] {
            assert!(other_dialects(Pi::CLIENT, other).is_empty(), "{other}");
            assert!(other_dialects(Opal::CLIENT, other).is_empty(), "{other}");
        }
        assert!(other_dialects(Pi::CLIENT, failure).is_empty());
        assert!(
            other_dialects(Opal::CLIENT, refused).is_empty()
                && other_dialects(Opal::CLIENT, event).is_empty()
        );
    }
}
