//! Tests of several conversations in one process, and of reports about servers to a dialect server.

use std::sync::{Arc, Mutex};

use agentese_server::Server;
use agentese_server::conversation::{AgentComponents, ConversationService, UpdateContent};
use agentese_server::engine::{Event, EventSink};
use agentese_server::mcp::{self, McpLimits, McpPaths, ServerState};
use agentese_server::ui::{Answer, Dialog, Notice, Ui};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::harness::{USER_CONFIG, log, zoo};
use crate::support::clock::TickingClock;
use crate::support::process::{Place, assert_gone, is_alive, pid_in};
use crate::support::soon;

struct NullClient;

/// Records the failures of extensions that a conversation reports.
#[derive(Default)]
struct FailureSink(Mutex<Vec<String>>);

impl EventSink for FailureSink {
    fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
    fn push(&self, event: Event<'_>) {
        if let Event::ExtensionFailed { extension, error, .. } = event {
            self.0.lock().unwrap().push(format!("{extension}: {error}"));
        }
    }
}

impl EventSink for NullClient {
    fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
    fn push(&self, _: Event<'_>) {}
}

impl Ui for NullClient {
    fn wait_for_reader(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
    fn show(&self, _: &Notice) {}
    fn show_dialog(&self, _: &Dialog) -> Option<BoxFuture<'static, Option<Answer>>> {
        None
    }
}

fn conversation(components: AgentComponents) -> ConversationService {
    let service = ConversationService::new(components, Arc::new(NullClient), CancellationToken::new());
    service.connect(Arc::new(NullClient));
    service
}

#[tokio::test]
async fn conversations_share_servers_and_the_last_one_ends_them() {
    let place = Place::new();
    let pids = place.work().parent().unwrap().join("pids");
    let servers =
        json!({"zoo": zoo(&["--pid", pids.to_str().unwrap()]), "off": {"command": "x", "disabled": true}});
    place.put(USER_CONFIG, json!({"servers": servers}).to_string());
    let agent_dir = place.work().parent().unwrap().join("home/.pi/agent");
    let places = McpPaths { cwd: &place.work(), home: None, agent_dir: Some(&agent_dir) };
    let found = mcp::read_config(places, &|_: &str| None, false);
    let options = mcp::McpOptions {
        definitions: found.definitions,
        limits: McpLimits { wait: crate::support::LONG, ..McpLimits::default() },
        ..mcp::McpOptions::default()
    };
    let (engine, session) = Server::builder().cwd(place.work()).build_engine_options();
    let components = AgentComponents {
        options: engine,
        session,
        extensions: Default::default(),
        mcp: options,
        pending_trust: None,
        updates: UpdateContent::default(),
        has_default_tools: true,
        components_factory: None,
        remote_agents: None,
    };
    let (first, second) =
        (conversation(components.for_session(None)), conversation(components.for_session(None)));
    for service in [&first, &second] {
        soon("the servers", service.mcp().ready()).await;
        let status = service.mcp().status();
        let states: Vec<_> = status.iter().map(|one| (one.name.as_str(), one.state)).collect();
        assert_eq!(states, [("zoo", ServerState::Running), ("off", ServerState::Disabled)]);
        assert!(
            status[0].tools.contains(&"echo".to_owned()) && status[0].tools.contains(&"zoo_read".to_owned())
        );
        assert_eq!(
            (status[0].prompts.as_slice(), status[0].reason.as_ref()),
            (&["feed".to_owned()][..], None)
        );
        assert!(service.engine().tools().get("echo").is_some());
    }
    let pid = pid_in(&pids);
    // A conversation without servers has no tools of servers, and the other conversations keep them.
    second.mcp().set_enabled(false);
    assert!(second.engine().tools().get("echo").is_none() && second.mcp().status().is_empty());
    second.mcp().set_enabled(true);
    second.mcp().enable_tools(Some(vec!["ec*".to_owned()]));
    soon("the servers", second.mcp().ready()).await;
    let tools = second.engine().tools();
    assert!(tools.get("echo").is_some() && tools.get("huge").is_none());
    soon("the end of one", first.shut_down()).await;
    assert!(is_alive(pid) && second.engine().tools().get("echo").is_some());
    assert_eq!(log(&pids).len(), 1, "it was started once");
    soon("the end of the other", second.shut_down()).await;
    assert_gone(pid);
}

/// Returns the components of an agent that has one server and a given clock.
fn components_with(place: &Place, server: &[&str], clock: TickingClock) -> AgentComponents {
    place.put(USER_CONFIG, json!({"servers": {"zoo": zoo(server)}}).to_string());
    let agent_dir = place.work().parent().unwrap().join("home/.pi/agent");
    let places = McpPaths { cwd: &place.work(), home: None, agent_dir: Some(&agent_dir) };
    let (engine, session) = Server::builder().cwd(place.work()).clock(Arc::new(clock)).build_engine_options();
    AgentComponents {
        options: engine,
        session,
        extensions: Default::default(),
        mcp: mcp::McpOptions {
            definitions: mcp::read_config(places, &|_: &str| None, false).definitions,
            limits: McpLimits { wait: crate::support::LONG, ..McpLimits::default() },
            ..mcp::McpOptions::default()
        },
        pending_trust: None,
        updates: UpdateContent::default(),
        has_default_tools: true,
        components_factory: None,
        remote_agents: None,
    }
}

#[tokio::test]
async fn endless_change_notifications_are_rate_limited() {
    let (place, clock) = (Place::new(), TickingClock::default());
    let log_file = place.work().parent().unwrap().join("log");
    let service = conversation(components_with(
        &place,
        &["--restless", "--log", log_file.to_str().unwrap()],
        clock.clone(),
    ));
    soon("the server", service.mcp().ready()).await;
    let lists = || log(&log_file).iter().filter(|line| *line == "tools/list").count();
    for pause in 1..5 {
        assert_eq!(lists(), pause);
        clock.tick();
        soon("another list", async {
            while lists() == pause {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        })
        .await;
        // A response of the server proves that it has read the earlier messages.
        let _ = service.mcp().expand("/feed cats").await;
    }
    service.shut_down().await;
}

#[tokio::test]
async fn status_reports_excluded_tools() {
    let place = Place::new();
    let service = conversation(components_with(&place, &["--tools", "1500"], TickingClock::default()));
    soon("the server", service.mcp().ready()).await;
    let status = service.mcp().status();
    assert_eq!(status[0].tools.len(), 1000);
    assert_eq!(status[0].left_out.as_deref(), Some("it offers 1500 tools; only the first 1000 are used"));
    service.shut_down().await;
}

#[tokio::test]
async fn status_names_unsupported_tools() {
    let place = Place::new();
    let service = conversation(components_with(&place, &["--odd"], TickingClock::default()));
    soon("the server", service.mcp().ready()).await;
    let status = service.mcp().status();
    assert!(status[0].tools.contains(&"echo".to_owned()) && status[0].prompts == ["feed"]);
    let left_out = status[0].left_out.as_deref().unwrap();
    assert!(left_out.contains("the tool \"missing\" is left out: it has no inputSchema"), "{left_out}");
    service.shut_down().await;
}

#[tokio::test]
async fn every_conversation_receives_the_excluded_tools() {
    let place = Place::new();
    let components = components_with(&place, &["--tools", "1500"], TickingClock::default());
    let mut services = Vec::new();
    for number in 0..2 {
        let failures = Arc::<FailureSink>::default();
        let service = ConversationService::new(
            components.for_session(None),
            failures.clone(),
            CancellationToken::new(),
        );
        service.connect(Arc::new(NullClient));
        soon("the server", service.mcp().ready()).await;
        let reports = failures.0.lock().unwrap().clone();
        let expected = ["mcp:zoo: it offers 1500 tools; only the first 1000 are used"];
        assert_eq!(reports, expected, "conversation {number}");
        services.push(service);
    }
    for service in services {
        soon("the end", service.shut_down()).await;
    }
}
