//! Tests of the Rust client with `agentese web`, including interrupted connections.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use agentese::pi::{self, Event};
use agentese::tap::{Direction, Tap};
use agentese::view::{Block, ToolState, View};
use agentese::websocket::{self, Options};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

use crate::support::LONG;
use crate::support::process::Place;

/// A running `agentese web` with an agent and its model script; killed on drop.
pub struct Web {
    child: Child,
    pub address: String,
}

impl Web {
    fn start(place: &Place, script: serde_json::Value) -> Self {
        let script = place.script(script);
        let agent = crate::support::agentese();
        let own = ["--mode", "rpc", "--provider", "scripted", "--script", &script, "--no-session"];
        Self::start_with(place, "pi", &[&[agent.to_str().unwrap()], &own[..]].concat())
    }

    /// Starts `agentese web` with the given agent of that dialect.
    pub fn start_with(place: &Place, dialect: &str, agent: &[&str]) -> Self {
        let mut command = place.command(&[&["web", "--no-open", "--dialect", dialect, "--"], agent].concat());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = format!("{}ws", line.trim().replacen("http", "ws", 1));
        Self { child, address }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Tap that passes every frame to a view.
#[derive(Clone)]
struct ViewTap(Arc<Mutex<View>>);

impl Tap for ViewTap {
    fn frame(&self, direction: Direction, line: &str) {
        let mut view = self.0.lock().unwrap();
        match direction {
            Direction::Sent => view.sent(line),
            Direction::Received => view.received(line),
        }
    }
}

/// Open connections, which a test can cut.
#[derive(Clone, Default)]
struct Connections(Arc<Mutex<Vec<AbortHandle>>>);

impl Connections {
    fn options(&self) -> Options {
        let wires = self.clone();
        Options::default().dial(move |address| {
            let wires = wires.clone();
            async move {
                let mut far = TcpStream::connect(address).await?;
                let (ours, mut near) = tokio::io::duplex(1024);
                let carried =
                    tokio::spawn(async move { tokio::io::copy_bidirectional(&mut near, &mut far).await });
                wires.0.lock().unwrap().push(carried.abort_handle());
                Ok(ours)
            }
        })
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn cut(&self) {
        self.0.lock().unwrap().last().unwrap().abort();
    }
}

#[tokio::test]
async fn a_client_of_the_page_loses_nothing_when_its_connection_is_cut() {
    let place = Place::new();
    let web = Web::start(
        &place,
        json!({"responses": [
            {"delay_ms": 10, "blocks": [{"text_repeat": {"chunk": "word ", "n": 80}}, {"tool": {"name": "bash", "args": {"command": "echo once >> ran; cat ran"}}}]},
            {"text": "The end."},
        ]}),
    );
    let wires = Connections::default();
    let transport = websocket::connect_with(&web.address, wires.options()).await.unwrap();
    let shown = ViewTap(Arc::new(Mutex::new(View::open("pi").unwrap())));
    let client = pi::Client::builder().tap(shown.clone()).connect(transport);
    let talk = async {
        let mut run = client.prompt("Go.").await.unwrap();
        let mut updates = 0;
        while let Some(event) = run.next().await {
            if let Event::MessageUpdate(_) = event.unwrap() {
                updates += 1;
                // The connection is cut in three states: before, during and after many pieces.
                if [1, 20, 60].contains(&updates) {
                    wires.cut();
                }
            }
        }
        assert_eq!(wires.count(), 4);
        assert!(updates > 60, "{updates}");
        client.get_messages().await.unwrap()
    };
    let told = tokio::time::timeout(LONG, talk).await.unwrap();
    let conversation = shown.0.lock().unwrap().conversation();
    assert_eq!(conversation.messages.len(), told.messages.len());
    let text: String = conversation.messages.iter().map(|message| message.text()).collect();
    assert_eq!(text.matches("word ").count(), 80);
    let mut blocks = conversation.messages.iter().flat_map(|message| &message.blocks);
    assert!(blocks.any(|block| matches!(block, Block::Tool(tool) if tool.state == ToolState::Done)));
    assert_eq!(std::fs::read_to_string(place.work().join("ran")).unwrap(), "once\n");
}

#[tokio::test]
async fn two_clients_share_one_agent_and_each_gets_its_own_answers() {
    let place = Place::new();
    let web = Web::start(&place, json!({"responses": [{"text": "One."}, {"text": "Two."}]}));
    let talk = async {
        let one = pi::Client::connect(websocket::connect(&web.address).await.unwrap());
        let two = pi::Client::connect(websocket::connect(&web.address).await.unwrap());
        one.prompt("first").await.unwrap().result().await.unwrap();
        two.prompt("second").await.unwrap().result().await.unwrap();
        let (one, two) = tokio::join!(one.get_messages(), two.get_messages());
        assert_eq!(one.unwrap().messages.len(), 4);
        assert_eq!(two.unwrap().messages.len(), 4);
    };
    tokio::time::timeout(LONG, talk).await.unwrap();
}

#[tokio::test]
async fn a_wrong_token_is_refused() {
    let place = Place::new();
    let web = Web::start(&place, json!({"responses": []}));
    let wrong = web.address.replace("/ws", "x/ws");
    let error = websocket::connect(&wrong).await.unwrap_err().to_string();
    assert!(error.ends_with("does not accept a WebSocket: 403 Forbidden"), "{error}");
}
