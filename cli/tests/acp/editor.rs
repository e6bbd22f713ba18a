//! Simulated editor that validates every frame.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::{Value, json};

use crate::support::process::{Agent, Place};

/// JSON Schema of the ACP project.
static UPSTREAM_SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let path = "tests/acp/node_modules/@agentclientprotocol/sdk/schema/v1/schema.json";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; run `make test-acp-setup` (npm ci in cli/tests/acp)", path.display())
    });
    serde_json::from_str(&text).unwrap()
});

/// Validators by the name of a definition.
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<jsonschema::Validator>>>> =
    LazyLock::new(Mutex::default);

fn validator(definition: &str) -> Arc<jsonschema::Validator> {
    let mut known = VALIDATORS.lock().unwrap();
    let make = || {
        let mut schema = match definition {
            "ours" => {
                let text = include_str!("../../../sdk-rust/schema/acp@1/server.json");
                return Arc::new(jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap());
            }
            _ => UPSTREAM_SCHEMA.clone(),
        };
        schema.as_object_mut().unwrap().retain(|member, _| ["$schema", "$defs"].contains(&member.as_str()));
        schema["$ref"] = json!(format!("#/$defs/{definition}"));
        Arc::new(jsonschema::validator_for(&schema).unwrap())
    };
    known.entry(definition.to_owned()).or_insert_with(make).clone()
}

fn assert_valid(definition: &str, value: &Value) {
    if let Some(error) = validator(definition).iter_errors(value).next() {
        panic!("{definition} does not accept {value}: {error}");
    }
}

/// Returns the definition of a method's parameters or result.
fn definition(method: &str, ending: &str) -> String {
    let definitions = UPSTREAM_SCHEMA["$defs"].as_object().unwrap();
    let mut found = definitions
        .iter()
        .filter(|(name, schema)| schema["x-method"] == method && name.ends_with(ending))
        .map(|(name, _)| name.clone());
    found.next().unwrap_or_else(|| panic!("no definition of {method} ends in {ending}"))
}

/// Returns the client capabilities for everything except files and terminals.
pub fn all_capabilities() -> Value {
    json!({"elicitation": {"form": {}}, "session": {"notices": {}, "compaction": {}}})
}

pub struct Editor {
    pub agent: Agent,
    pub place: Place,
    /// Methods of requests without a response, by request id.
    open: BTreeMap<u64, &'static str>,
    next: u64,
    /// All received frames.
    pub seen: Vec<Value>,
}

impl Editor {
    /// Starts an editor without optional capabilities.
    pub fn plain(script: Value) -> Self {
        Self::start(Place::new(), script, json!({}))
    }

    /// Starts the agent and sends `initialize`.
    pub fn start(place: Place, script: Value, can: Value) -> Self {
        let script = place.script(script);
        let command = place.command(&["--mode", "acp", "--script", &script]);
        Self::with_command(command, place, can)
    }

    /// Starts an agent with a custom command line and sends `initialize`.
    pub fn with_command(command: Command, place: Place, can: Value) -> Self {
        let mut editor = Self::uninitialized(command, place);
        let initialized =
            editor.query("initialize", json!({"protocolVersion": 1, "clientCapabilities": can}));
        assert_eq!(initialized["result"]["protocolVersion"], 1);
        editor
    }

    /// Starts the agent without sending a request.
    pub fn uninitialized(command: Command, place: Place) -> Self {
        let agent = Agent::start(command);
        Self { agent, place, open: BTreeMap::new(), next: 0, seen: Vec::new() }
    }

    /// Ends the agent in an orderly way, and returns its directory for another agent.
    pub fn end(mut self) -> Place {
        self.agent.close_stdin();
        while self.agent.next_line().is_some() {}
        assert!(self.agent.wait().success());
        self.place
    }

    pub fn request(&mut self, method: &'static str, params: Value) -> u64 {
        self.next += 1;
        self.open.insert(self.next, method);
        self.agent.send(json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.agent.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub fn answer(&mut self, request: &Value, result: Value) {
        self.agent.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    /// Returns the next frame of any kind.
    pub fn read(&mut self) -> Value {
        let line = self.agent.next_line().expect("another frame arrives");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Returns the next frame after validation against both schemas.
    pub fn frame(&mut self) -> Value {
        let frame = self.read();
        assert_valid("ours", &frame);
        match (frame["method"].as_str(), frame["id"].as_u64()) {
            (Some(method), _) => {
                let ending = if frame.get("id").is_some() { "Request" } else { "Notification" };
                assert_valid(&definition(method, ending), &frame["params"]);
            }
            (None, Some(id)) => {
                let method = self.open.remove(&id).unwrap_or_else(|| panic!("no such request: {frame}"));
                match frame.get("error") {
                    Some(error) => assert_valid("Error", error),
                    None => assert_valid(&definition(method, "Response"), &frame["result"]),
                }
            }
            // This is the response to an unreadable line.
            (None, None) => assert_valid("Error", &frame["error"]),
        }
        self.seen.push(frame.clone());
        frame
    }

    /// Returns all frames up to one that satisfies the condition.
    pub fn until(&mut self, what: &str, found: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.frame();
            let is_it = found(&frame);
            assert!(frames.len() < 100_000, "{what} did not arrive");
            frames.push(frame);
            if is_it {
                return frames;
            }
        }
    }

    /// Returns all frames up to the response to a request.
    pub fn until_answer(&mut self, id: u64) -> Vec<Value> {
        self.until("the answer", |frame| frame["id"] == id && frame.get("method").is_none())
    }

    /// Returns all frames up to the response to a request. Requests of the agent are answered in the
    /// meantime.
    pub fn until_answer_with(&mut self, id: u64, mut serve: impl FnMut(&str, &Value) -> Value) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.frame();
            let is_it = frame["id"] == id && frame.get("method").is_none();
            if let (Some(method), true) = (frame["method"].as_str(), frame.get("id").is_some()) {
                let mut answer = serve(method, &frame["params"]);
                answer["jsonrpc"] = json!("2.0");
                answer["id"] = frame["id"].clone();
                self.agent.send(answer);
            }
            frames.push(frame);
            if is_it {
                return frames;
            }
        }
    }

    /// Skips frames up to a request of the agent with that method, and returns the request.
    pub fn until_request(&mut self, method: &str) -> Value {
        self.until(method, |frame| frame["method"] == method).pop().unwrap()
    }

    /// Sends a request and returns its response.
    pub fn query(&mut self, method: &'static str, params: Value) -> Value {
        let id = self.request(method, params);
        self.until_answer(id).pop().unwrap()
    }

    /// Opens a session in the working directory and returns its id.
    pub fn session(&mut self) -> String {
        let work = self.place.work();
        self.session_in(&work)
    }

    pub fn session_in(&mut self, cwd: &Path) -> String {
        let opened = self.query("session/new", json!({"cwd": cwd, "mcpServers": []}));
        opened["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned()
    }

    pub fn prompt(&mut self, session: &str, text: &str) -> u64 {
        self.request(
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}),
        )
    }

    /// Runs a turn to its end and returns its stop reason.
    pub fn run_turn(&mut self, session: &str, text: &str) -> Value {
        let id = self.prompt(session, text);
        let ended = self.until_answer(id).pop().unwrap();
        assert!(ended.get("error").is_none(), "{ended}");
        ended["result"]["stopReason"].clone()
    }
}

/// Returns the updates of one kind among the frames.
pub fn updates<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let all = frames.iter().map(|frame| &frame["params"]["update"]);
    all.filter(|update| update["sessionUpdate"] == kind).collect()
}

/// Returns the joined text of all chunks of one kind.
pub fn text(frames: &[Value], kind: &str) -> String {
    updates(frames, kind).iter().filter_map(|update| update["content"]["text"].as_str()).collect()
}

/// Returns a tool call for a model script.
pub fn call(name: &str, args: Value) -> Value {
    json!({"blocks": [{"tool": {"name": name, "args": args}}]})
}
