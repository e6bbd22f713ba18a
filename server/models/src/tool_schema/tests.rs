use serde_json::json;

use super::*;

const ALL: [(&str, &ToolRules); 3] = [("anthropic", &ANTHROPIC), ("openai", &OPENAI), ("google", &GOOGLE)];

#[track_caller]
fn check(rules: &ToolRules, schema: Value, expected: Value) {
    let fitted = schema::rewrite(&schema, rules).unwrap();
    assert_eq!(fitted.schema, expected, "{schema}");
}

#[track_caller]
fn check_all(schema: Value, expected: Value) {
    ALL.iter().for_each(|(_, rules)| check(rules, schema.clone(), expected.clone()));
}

#[test]
fn schemas_that_every_api_accepts_stay_unchanged() {
    for tool in agentese_server_tools::ToolSet::available().iter() {
        check_all(tool.parameters(), tool.parameters());
    }
    let usual = json!({
        "type": "object",
        "description": "d",
        "properties": {
            "a": {"type": ["string", "null"], "enum": ["x", null]},
            "b": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {}}]}},
            "c": {"type": "object", "additionalProperties": false},
        },
        "required": ["a"],
    });
    check_all(usual.clone(), usual);
}

#[test]
fn forms_at_the_top_become_one_object() {
    let text = || json!({"type": "string"});
    let forms = |name: &str| {
        json!({"type": "object", name: [
            {"type": "object", "properties": {"id": text(), "kind": text()}, "required": ["id", "kind"]},
            {"properties": {"id": {"type": "integer"}, "name": text()}, "required": ["name", "kind"]},
            {"type": "null"},
        ]})
    };
    for name in ["anyOf", "oneOf"] {
        let expected = json!({
            "type": "object",
            "properties": {"id": {"anyOf": [text(), {"type": "integer"}]}, "kind": text(), "name": text()},
            "required": ["kind"],
        });
        check_all(forms(name), expected);
        let note = schema::rewrite(&forms(name), &OPENAI).unwrap().note.unwrap();
        assert!(note.contains("`id` and `kind`; `name` and `kind`"), "{note}");
    }
    check_all(
        json!({"properties": {"a": text()}, "required": ["a"],
               "allOf": [{"properties": {"b": text()}, "required": ["b"]}, {"anyOf": [{"required": ["a"]}]}],
               "not": {"required": ["c"]}, "if": {}, "then": {}, "else": {}, "enum": [{}]}),
        json!({"properties": {"a": text(), "b": text()}, "required": ["a", "b"], "type": "object"}),
    );
}

#[test]
fn references_are_put_in_place_and_end() {
    check_all(
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#", "$id": "x", "$comment": "y", "type": "object",
            "properties": {
                "a": {"$ref": "#/$defs/name", "description": "own"},
                "b": {"type": "array", "items": {"$ref": "#/definitions/pair"}},
                "c": {"$ref": "#/$defs/a~1b%20c"},
                "definitions": {"type": "string"},
            },
            "$defs": {"name": {"type": "string", "description": "shared"}, "a/b c": {"type": "integer"}},
            "definitions": {"pair": {"type": "object", "properties": {"one": {"$ref": "#/$defs/name"}}}},
        }),
        json!({"type": "object", "properties": {
            "a": {"type": "string", "description": "own"},
            "b": {"type": "array", "items": {"type": "object", "properties": {
                "one": {"type": "string", "description": "shared"}}}},
            "c": {"type": "integer"},
            "definitions": {"type": "string"},
        }}),
    );
    check_all(
        json!({"$ref": "#/$defs/top", "$defs": {"top": {"type": "object", "properties": {}}}}),
        json!({"type": "object", "properties": {}}),
    );
    // A tree ends at its second node, and references elsewhere accept any value.
    check_all(
        json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}, "far": {"$ref": "http://x/y"}},
               "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}}),
        json!({"type": "object", "properties": {
            "tree": {"type": "object", "properties": {"next": {"description": "The same as node."}}},
            "far": {"description": "The same as y."},
        }}),
    );
}

#[test]
fn a_schema_that_grows_without_an_end_is_bounded() {
    // Each level contains the next one twice.
    let level = |number: usize| {
        let next = json!({"$ref": format!("#/$defs/l{}", number + 1)});
        (format!("l{number}"), json!({"type": "object", "properties": {"a": next, "b": next}}))
    };
    let levels: serde_json::Map<_, _> = (0..40).map(level).collect();
    let schema = json!({"type": "object", "properties": {"top": {"$ref": "#/$defs/l0"}}, "$defs": levels});
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"x": deep}});
    }
    for (name, rules) in ALL {
        for schema in [&schema, &deep] {
            let text = schema::rewrite(schema, rules).unwrap().schema.to_string();
            assert!(text.len() < 400_000, "{name}: {} bytes", text.len());
        }
    }
}

#[test]
fn older_drafts_and_gaps_are_mended() {
    check_all(
        json!({"type": ["object", "null"], "required": true, "properties": {
            "list": {"type": "array"},
            "tuple": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
            "number": {"type": "number", "minimum": 0, "exclusiveMinimum": true, "required": false},
            "any": true, "never": false, "none": {"type": "string", "enum": []},
        }}),
        json!({"type": "object", "properties": {
            "list": {"type": "array", "items": {}},
            "tuple": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            "number": {"type": "number", "minimum": 0},
            "any": {}, "none": {"type": "string"},
        }}),
    );
    check_all(json!({}), json!({"type": "object", "properties": {}}));
}

#[test]
fn google_receives_supported_keywords_only() {
    check(
        &GOOGLE,
        json!({"type": "object", "required": ["a", "gone"], "properties": {
            "a": {"const": 7, "contentEncoding": "x"},
            "b": {"allOf": [{"type": "object", "properties": {"c": {"type": "string"}}}, {"required": ["c"]}],
                  "patternProperties": {"x": {}}, "not": {}},
        }}),
        json!({"type": "object", "required": ["a"], "properties": {
            "a": {"enum": [7]},
            "b": {"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]},
        }}),
    );
}

#[test]
fn names_of_properties_come_back() {
    let schema = json!({"type": "object", "required": ["weird key$"], "properties": {
        "weird key$": {"type": "array", "items": {"type": "object", "properties": {"größe": {"type": "string"}}}},
        "weird_key_": {"type": "string"}, "": {}, "fine.name-1": {},
    }});
    let fitted = schema::rewrite(&schema, &ANTHROPIC).unwrap();
    let properties = fitted.schema["properties"].as_object().unwrap();
    let names: Vec<_> = properties.keys().map(String::as_str).collect();
    assert_eq!(names, ["weird_key__2", "weird_key_", "_", "fine.name-1"]);
    assert_eq!(fitted.schema["required"], json!(["weird_key__2"]));
    assert_eq!(fitted.schema["properties"]["weird_key__2"]["title"], "weird key$");
    let arguments = json!({"weird key$": [{"größe": "x"}], "weird_key_": "y", "": 1});
    let sent = fitted.names.to_request(arguments.clone());
    assert_eq!(sent, json!({"weird_key__2": [{"gr__e": "x"}], "weird_key_": "y", "_": 1}));
    assert_eq!(fitted.names.to_original(sent), arguments);
    for rules in [&OPENAI, &GOOGLE] {
        assert!(schema::rewrite(&schema, rules).unwrap().names.is_empty());
    }
}

#[test]
fn schemas_that_cannot_be_sent_are_named() {
    for (schema, expected) in [
        (json!(null), "its schema is null, not an object"),
        (json!([]), "its schema is a list, not an object"),
        (json!({"type": "string"}), "its schema has the type \"string\", not \"object\""),
        (
            json!({"$ref": "#/$defs/x", "$defs": {"x": {"type": "array"}}}),
            "its schema has the type \"array\", not \"object\"",
        ),
    ] {
        assert_eq!(problem(&schema).as_deref(), Some(expected));
    }
    for schema in [json!({}), json!({"type": ["null", "object"]}), json!({"anyOf": []})] {
        assert_eq!(problem(&schema), None);
    }
}
