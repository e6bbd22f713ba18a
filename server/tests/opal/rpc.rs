//! A client that numbers its requests, as Opal's own client does.

use agentese::frame::ServerFrame;
use agentese::framing::FrameText;
use agentese::opal::Opal;
use agentese_server::Builder;
use serde_json::{Value, json};

use crate::support::link::{Link, builder};

/// A served agent, with the number of the last request.
pub struct Rpc {
    pub link: Link,
    last: u64,
}

impl Rpc {
    pub fn serving(builder: Builder) -> Self {
        Self { link: Link::for_dialect::<Opal>(builder), last: 0 }
    }

    /// Starts an agent with a model script.
    pub fn scripted(script: Value) -> (Self, tempfile::TempDir) {
        let (builder, place) = builder(script);
        (Self::serving(builder), place)
    }

    /// Sends a request; returns its id.
    pub async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        self.link.send(json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})).await;
        self.last
    }

    /// Reads until the response to the request with this id. Earlier frames are kept in `link.seen`.
    pub async fn answer(&mut self, id: u64) -> Value {
        let is_it = |frame: &Value| frame["id"] == id && frame.get("method").is_none();
        self.link.until("the answer", is_it).await.pop().unwrap()
    }

    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        let answer = self.answer(id).await;
        check(method, &answer);
        answer
    }

    /// Returns the result of a request that must succeed.
    pub async fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Returns the error of a request that must fail.
    pub async fn error(&mut self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params).await;
        assert!(answer.get("result").is_none(), "{method}: {answer}");
        answer["error"].clone()
    }

    /// Starts a session; returns its id.
    pub async fn start(&mut self, params: Value) -> String {
        self.result("session/start", params).await["session_id"].as_str().unwrap().to_owned()
    }

    /// Sends a prompt and returns the events of its run, including its end.
    pub async fn run(&mut self, session: &str, text: &str) -> Vec<Value> {
        let begin = self.link.seen.len();
        let answer = self.result("agent/prompt", json!({"session_id": session, "text": text})).await;
        assert_eq!(answer, json!({"queued": false}));
        self.until_end(session).await;
        events(&self.link.seen[begin..], session)
    }

    /// Reads until the run has ended.
    pub async fn until_end(&mut self, session: &str) {
        let ends = ["agent_end", "agent_abort", "error", "agent_recovered"];
        let is_end = |frame: &Value| {
            frame["params"]["session_id"] == session && ends.iter().any(|end| frame["params"]["type"] == *end)
        };
        if !self.link.seen.last().is_some_and(is_end) {
            self.link.until("the end of the run", is_end).await;
        }
    }

    /// Reads until an event of the type `kind`, and returns it.
    pub async fn until(&mut self, kind: &str) -> Value {
        let frames = self.link.until(kind, |frame| frame["params"]["type"] == kind).await;
        frames.last().unwrap()["params"].clone()
    }
}

/// Returns the events of a session among frames.
pub fn events(frames: &[Value], session: &str) -> Vec<Value> {
    let events = frames.iter().filter(|frame| frame["method"] == "agent/event");
    let events = events.map(|frame| frame["params"].clone());
    events.filter(|event| event["session_id"] == session).collect()
}

/// Returns the types of events.
pub fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// Checks that a response has the declared form.
fn check(method: &str, answer: &Value) {
    let line = answer.to_string();
    let typed = ServerFrame::<Opal>::decode(&FrameText::from(line.as_str()), |_| Some(method.into()))
        .unwrap_or_else(|error| panic!("{method}: {error}: {line}"));
    assert_eq!(serde_json::from_str::<Value>(&typed.encode().unwrap()).unwrap(), *answer);
}
