//! Tests of the scanner that skips unwanted members, compared with serde_json.
#![allow(non_snake_case, reason = "tests carry the number of the fault they guard against")]

use agentese::scan::{
    JsonKind, MAX_DEPTH, MemberSet, ScanError, boolean, inner, is_null, member, scan, string, unsigned,
};
use proptest::prelude::*;
use serde_json::Value;

const WANTED: MemberSet<6> = MemberSet::new([
    member("type"),
    member("id"),
    member("event"),
    inner("event", "type"),
    inner("event", "delta"),
    inner("data", "id"),
]);

fn check(text: &str, wanted: [Option<&str>; 6]) {
    let found = scan(text, &WANTED).unwrap();
    assert_eq!(std::array::from_fn(|index| found[index]), wanted, "{text}");
}

fn rejected(text: &str, wanted: ScanError) {
    assert_eq!(scan(text, &WANTED).unwrap_err(), wanted, "{text}");
}

#[test]
fn finds_members_in_any_order_and_space() {
    check(r#"{"type":"a","id":7}"#, [Some("\"a\""), Some("7"), None, None, None, None]);
    check(
        " { \"event\" : { \"delta\" : \"d\" , \"x\" : [ { } ] , \"type\" : \"t\" } , \"type\" : null } ",
        [
            Some("null"),
            None,
            Some("{ \"delta\" : \"d\" , \"x\" : [ { } ] , \"type\" : \"t\" }"),
            Some("\"t\""),
            Some("\"d\""),
            None,
        ],
    );
    check("{}", [None; 6]);
    check(
        r#"{"event":[{"type":"no"}],"data":"id"}"#,
        [None, None, Some(r#"[{"type":"no"}]"#), None, None, None],
    );
    check(r#"{"data":{"data":{"id":1},"event":{"type":2}}}"#, [None; 6]);
}

#[test]
fn strings_hide_structure() {
    check(r#"{"a":"\"}{[\\","type":"\\\""}"#, [Some(r#""\\\"""#), None, None, None, None, None]);
    check(r#"{"\"type\"":1,"type\\":2,"typ\u0065":3}"#, [Some("3"), None, None, None, None, None]);
}

#[test]
fn fm_F17_the_last_of_two_members_counts() {
    check(r#"{"type":1,"type":2}"#, [Some("2"), None, None, None, None, None]);
    check(
        r#"{"event":{"type":1,"delta":2},"event":{"type":3}}"#,
        [None, None, Some(r#"{"type":3}"#), Some("3"), None, None],
    );
    check(r#"{"event":{"type":1},"event":5}"#, [None, None, Some("5"), None, None, None]);
}

#[test]
fn fm_F16_deep_nesting_is_rejected_without_recursion() {
    let levels = |count: usize| format!("{{\"type\":{}{}}}", "[".repeat(count), "]".repeat(count));
    assert!(scan(&levels(MAX_DEPTH - 1), &WANTED).is_ok());
    rejected(&levels(MAX_DEPTH), ScanError::TooDeep { limit: MAX_DEPTH, offset: 8 + MAX_DEPTH - 1 });
    rejected(&levels(100_000), ScanError::TooDeep { limit: MAX_DEPTH, offset: 8 + MAX_DEPTH - 1 });
    let objects = "{\"data\":".repeat(100_000);
    assert!(matches!(scan(&objects, &WANTED), Err(ScanError::TooDeep { .. })));
    rejected(&"[".repeat(100_000), ScanError::NotAnObject { found: JsonKind::Array });
}

#[test]
fn fm_F19_other_kinds_are_distinguished() {
    for (text, found) in [
        ("[1]", JsonKind::Array),
        ("\"text\"", JsonKind::String),
        (" -1", JsonKind::Number),
        ("12", JsonKind::Number),
        ("true", JsonKind::Boolean),
        ("false ", JsonKind::Boolean),
        ("null", JsonKind::Null),
    ] {
        rejected(text, ScanError::NotAnObject { found });
    }
    assert_eq!(scan("[]", &WANTED).unwrap_err().to_string(), "expected an object, found an array");
    rejected("", ScanError::Blank);
    rejected(" \t", ScanError::Blank);
    rejected("hello", ScanError::Malformed { expected: "an object", offset: 0 });
    rejected("\u{feff}{}", ScanError::Malformed { expected: "an object", offset: 0 });
}

#[test]
fn broken_structure_is_rejected() {
    for text in [
        "{",
        "{\"a",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":[1",
        "{\"a\":\"\\\"}",
        "{\"event\":{\"type\":1}",
    ] {
        rejected(text, ScanError::Unfinished);
    }
    for text in
        ["{a:1}", "{\"a\" 1}", "{\"a\":}", "{\"a\":1 2}", "{\"a\":[}", "{\"a\":1,}", "{,}", "{\"a\":1]"]
    {
        assert!(matches!(scan(text, &WANTED), Err(ScanError::Malformed { .. })), "{text}");
    }
    rejected("{} x", ScanError::TrailingText { offset: 3 });
    rejected("{}{}", ScanError::TrailingText { offset: 2 });
}

#[test]
fn fm_F10_strings_are_unescaped_and_lone_surrogates_replaced() {
    for (raw, text) in [
        (r#""plain ä""#, "plain ä"),
        (r#""\"\\\/\b\f\n\r\t\u00e4""#, "\"\\/\u{8}\u{c}\n\r\tä"),
        (r#""\ud83e\udd80!""#, "🦀!"),
        (r#""a\ud800b""#, "a\u{fffd}b"),
        (r#""\udc00\ud800\u0041""#, "\u{fffd}\u{fffd}A"),
        (r#""\ud800\ud83e\udd80""#, "\u{fffd}🦀"),
        (r#""""#, ""),
    ] {
        assert_eq!(string(raw).as_deref(), Some(text), "{raw}");
    }
    for raw in ["1", "\"", "", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\", "\"\\u00ä\"", "\"\\u+123\""] {
        assert_eq!(string(raw), None, "{raw}");
    }
    assert!(matches!(string("\"shared\""), Some(std::borrow::Cow::Borrowed("shared"))));
}

#[test]
fn fm_F18_integers_are_exact_or_rejected() {
    assert_eq!(unsigned("0"), Some(0));
    assert_eq!(unsigned("9007199254740993"), Some(9_007_199_254_740_993));
    assert_eq!(unsigned("18446744073709551615"), Some(u64::MAX));
    for raw in ["18446744073709551616", "-0", "-1", "1e3", "1.0", "01", "", "+1", "\"1\"", "null"] {
        assert_eq!(unsigned(raw), None, "{raw}");
    }
    assert_eq!((boolean("true"), boolean("false"), boolean("1")), (Some(true), Some(false), None));
    assert!(is_null("null") && !is_null("0"));
}

/// Returns arbitrary JSON text with arbitrary spacing. Member names of its objects may be repeated.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        Just("-1.5e-7".to_owned()),
        text(),
    ];
    leaf.prop_recursive(4, 48, 6, |value| {
        prop_oneof![
            proptest::collection::vec(value.clone(), 0..5)
                .prop_map(|values| format!("[{}]", values.join(" , "))),
            object(value),
        ]
    })
}

fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let name = prop_oneof![
        4 => prop::sample::select(vec!["type", "id", "event", "delta", "data", "typ\\u0065", "\\u0069d", ""])
            .prop_map(|name| format!("\"{name}\"")),
        1 => text(),
    ];
    let space = prop::sample::select(vec!["", " ", "\t", "\r", " \n"]);
    proptest::collection::vec((name, value, space), 0..6).prop_map(|members| {
        let members: Vec<_> = members
            .iter()
            .map(|(name, value, space)| format!("{space}{name}{space}:{space}{value}{space}"))
            .collect();
        format!("{{{}}}", members.join(","))
    })
}

/// Returns a JSON string with any of the escapes that a serializer may use.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z{}\\[\\]:, ]{0,4}",
        "\\PC"
            .prop_map(|text| Value::from(text).to_string().trim_matches('"').to_owned())
            .prop_filter("a quote or a backslash lost its escape", |text| !text.contains(['"', '\\'])),
        prop::sample::select(vec!["\\\"", "\\\\", "\\n", "\\/", "\\u0041", "\\ud83e\\udd80"])
            .prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..5).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

proptest! {
    #[test]
    fn finds_what_serde_json_finds(text in object(json())) {
        let whole: Value = serde_json::from_str(&text).unwrap();
        let found = scan(&text, &WANTED).unwrap();
        let at = |pointer: &str| match pointer.split_once('.') {
            None => whole.get(pointer),
            Some((outer, name)) => whole.get(outer).filter(|value| value.is_object()).and_then(|value| value.get(name)),
        };
        for (index, pointer) in ["type", "id", "event", "event.type", "event.delta", "data.id"].iter().enumerate() {
            let value: Option<Value> = found[index].map(|raw| serde_json::from_str(raw).unwrap());
            prop_assert_eq!(value.as_ref(), at(pointer), "{}", pointer);
            let plain = value.as_ref().and_then(Value::as_str);
            let scanned = found.string(index);
            prop_assert_eq!(scanned.as_deref(), plain);
            prop_assert_eq!(found.unsigned(index), value.as_ref().and_then(Value::as_u64));
        }
    }

    /// The scanner accepts every object that serde_json accepts. Invalid JSON never causes a panic.
    #[test]
    fn never_panics_and_never_rejects_an_object(text in "[ {}\\[\\]:,\"\\\\a1ntu\\n\u{e4}]{0,30}") {
        let outcome = scan(&text, &WANTED);
        if serde_json::from_str::<serde_json::Map<String, Value>>(&text).is_ok() {
            prop_assert!(outcome.is_ok(), "{:?}", outcome);
        }
        if let Ok(found) = outcome {
            for index in 0..6 {
                let _ = (found.string(index), found.unsigned(index), found.boolean(index));
            }
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _ = scan(&text, &WANTED);
        let _ = scan(&format!("{{\"event\":{{{text}"), &WANTED);
        let _ = string(&format!("\"{text}\""));
        let _ = string(&format!("\"\\u{text}\""));
    }

    /// A damaged frame: one byte of a valid object is changed.
    #[test]
    fn damaged_objects_never_panic(text in object(json()), at in any::<prop::sample::Index>(), with in "[{}\\[\\]\",:\\\\]") {
        let mut damaged: Vec<char> = text.chars().collect();
        let at = at.index(damaged.len());
        damaged[at] = with.chars().next().unwrap();
        let damaged: String = damaged.into_iter().collect();
        if scan(&damaged, &WANTED).is_err() {
            let object = serde_json::from_str::<serde_json::Map<String, Value>>(&damaged);
            prop_assert!(object.is_err(), "refused {}", damaged);
        }
    }
}
