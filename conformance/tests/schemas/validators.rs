//! Schema validators for each dialect and direction, and for the results of JSON-RPC methods.

use std::collections::HashMap;

use agentese::framing::FrameText;
use agentese::schema::{Side, schema};
use agentese_conformance::Transcript;
use agentese_conformance::transcript::Record;
use jsonschema::Validator;
use serde_json::{Map, Value, json};

pub const DIALECTS: &[&str] = &["pi", "omp", "pisces", "operator", "opal"];

pub struct Validators {
    pub server: Validator,
    pub client: Validator,
    /// Validators for the `result` of a JSON-RPC answer, by method.
    pub results: HashMap<String, Validator>,
}

impl Validators {
    pub fn new(dialect: &str) -> Self {
        let server_schema: Value = serde_json::from_str(schema(dialect, Side::Server).unwrap()).unwrap();
        let client_schema: Value = serde_json::from_str(schema(dialect, Side::Client).unwrap()).unwrap();
        let results = server_schema["x-results"].as_object().cloned().unwrap_or_default();
        let defs = server_schema["$defs"].clone();
        let results = results
            .into_iter()
            .map(|(method, result)| {
                let schema = json!({"$schema": server_schema["$schema"], "$defs": defs, "allOf": [result]});
                (method, jsonschema::validator_for(&schema).unwrap())
            })
            .collect();
        Validators {
            server: jsonschema::validator_for(&server_schema).unwrap(),
            client: jsonschema::validator_for(&client_schema).unwrap(),
            results,
        }
    }

    /// Returns the reason why the schema rejects a frame of the server. Returns `None` if it accepts the
    /// frame. In JSON-RPC, `method` is the answered method.
    pub fn server_error(&self, frame: &Value, method: Option<&str>) -> Option<String> {
        if let Some(error) = self.server.iter_errors(frame).next() {
            return Some(error.to_string().chars().take(300).collect());
        }
        let result = self.results.get(method?)?;
        result.iter_errors(frame.get("result")?).next().map(|error| error.to_string())
    }
}

/// A frame of a transcript, with its number and its method.
pub struct RecordedFrame {
    /// Number of the line among the lines of its direction, from 1.
    pub number: usize,
    pub text: FrameText,
    pub frame: Option<Value>,
    /// Name of the method that the frame answers, in JSON-RPC.
    pub method: Option<String>,
    pub from_server: bool,
}

/// Returns the lines of a transcript in order.
pub fn recorded_frames(transcript: &Transcript) -> Vec<RecordedFrame> {
    let mut methods: Map<String, Value> = Map::new();
    let (mut sent, mut received) = (0, 0);
    let mut all = Vec::new();
    for record in &transcript.records {
        let (text, from_server) = match record {
            Record::Sent(text) => (text, false),
            Record::Received(text) => (text, true),
            Record::Control(_) => continue,
        };
        let frame: Option<Value> = serde_json::from_str(text.as_str()).ok();
        let number = if from_server { &mut received } else { &mut sent };
        *number += 1;
        let id = frame.as_ref().and_then(|frame| frame.get("id")).map(Value::to_string);
        let method = match (&id, from_server) {
            (Some(id), true) => methods.get(id).and_then(Value::as_str).map(str::to_owned),
            (Some(id), false) => {
                if let Some(method) = frame.as_ref().and_then(|frame| frame.get("method")) {
                    methods.insert(id.clone(), method.clone());
                }
                None
            }
            _ => None,
        };
        all.push(RecordedFrame { number: *number, text: text.clone(), frame, method, from_server });
    }
    all
}
