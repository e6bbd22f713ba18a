//! The examples of the declaration are valid, in the framing of their dialect.

use std::collections::BTreeMap;

use agentese_codegen::examples::{ExampleFrame, client_frames, server_frames};
use agentese_codegen::json_schema::{Draft, Side, schema, type_schema};
use agentese_protocol::Index;
use agentese_protocol::index::declared_types;
use agentese_protocol::view::merged_type;
use serde_json::{Value, json};

fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::validator_for(schema).unwrap_or_else(|error| panic!("the schema itself is wrong: {error}"))
}

fn assert_valid(validator: &jsonschema::Validator, value: &Value, what: &str) {
    if let Some(error) = validator.iter_errors(value).next() {
        panic!("the example of {what} is invalid: {error}\n{value}");
    }
}

#[test]
fn every_command_event_and_dialog_has_an_example_that_validates() {
    for index in Index::all().into_iter().chain(Index::protocols()) {
        for (side, frames) in [(Side::Server, server_frames(&index)), (Side::Client, client_frames(&index))] {
            let schema = serde_json::to_value(schema(&index, side, Draft::Modern)).unwrap();
            let root = validator(&schema);
            for ExampleFrame { row, frame, answers } in frames {
                let what = format!("{} `{row}` ({side:?})", index.dialect.name);
                assert_valid(&root, &frame, &what);
                // The root of a JSON-RPC schema accepts any result; the schema of the method does not.
                if let Some(result) = answers.and_then(|method| schema["x-results"].get(method)) {
                    let own =
                        json!({"$schema": schema["$schema"], "$defs": schema["$defs"], "allOf": [result]});
                    assert_valid(&validator(&own), &frame["result"], &what);
                }
            }
        }
    }
}

#[test]
fn examples_of_types_validate() {
    let types: BTreeMap<_, _> =
        declared_types().into_iter().map(|(name, def)| (name, merged_type(def))).collect();
    let defs: serde_json::Map<String, Value> =
        types.iter().map(|(name, def)| ((*name).to_owned(), type_schema(def, &[], Draft::Modern))).collect();
    let mut checked = 0;
    for (name, def) in &types {
        let Some(example) = def.example else { continue };
        let example: Value = serde_json::from_str(example).unwrap_or_else(|error| panic!("{name}: {error}"));
        let schema = json!({"$defs": defs, "$ref": format!("#/$defs/{name}")});
        assert_valid(&validator(&schema), &example, name);
        checked += 1;
    }
    assert!(checked > 40, "only {checked} types have examples");
}

#[test]
fn fallbacks_of_dialogs_are_answers() {
    for index in Index::all() {
        for dialog in &index.dialogs {
            if let Some(fallback) = dialog.fallback {
                let members: Value = serde_json::from_str(fallback).unwrap();
                assert!(members.is_object() && dialog.answer.is_some(), "{}", dialog.name);
            }
        }
    }
}

#[test]
fn an_unknown_type_is_accepted_only_where_the_set_is_open() {
    for index in Index::all() {
        let server = validator(&serde_json::to_value(schema(&index, Side::Server, Draft::Modern)).unwrap());
        let client = validator(&serde_json::to_value(schema(&index, Side::Client, Draft::Modern)).unwrap());
        let flat = json!({"type": "never_heard_of", "x": 1});
        let (event, command) = match index.dialect.name {
            "operator" => (json!({"type": "event", "event": flat}), flat.clone()),
            "opal" => (
                json!({"jsonrpc": "2.0", "method": "agent/event", "params": {"session_id": "s", "type": "never_heard_of"}}),
                json!({"jsonrpc": "2.0", "id": 1, "method": "never/heard/of", "params": {}}),
            ),
            _ => (flat.clone(), flat.clone()),
        };
        assert!(server.is_valid(&event), "{}", index.dialect.name);
        assert!(!client.is_valid(&command), "{}", index.dialect.name);
    }
}
