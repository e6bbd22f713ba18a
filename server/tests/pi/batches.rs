//! Tests of concurrent calls, and of their abort.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentese::types::{AgentMessage, InterruptMode};
use agentese_server::engine::{CallOrder, Delivery, Engine, Event, EventSink, InputQueue, UserInput};
use agentese_server::tools::{Tool, ToolContext, ToolOutput, ToolSet};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};

use crate::support::link::builder;
use crate::support::soon;

/// Synchronisation between several calls of test tools.
struct Rendezvous {
    /// The barrier at which calls of `meet` wait for each other.
    barrier: Barrier,
    /// Number of calls of `alone` that are running.
    alone: AtomicUsize,
    running: AtomicUsize,
    started: Notify,
}

#[derive(Clone)]
struct RendezvousTool(&'static str, Arc<Rendezvous>);

impl Tool for RendezvousTool {
    fn name(&self) -> &str {
        self.0
    }
    fn description(&self) -> &str {
        "meets others"
    }
    fn parameters(&self) -> Value {
        json!({"type": "object"})
    }
    fn read_only(&self) -> bool {
        !matches!(self.0, "alone" | "joins")
    }
    fn execute<'a>(&'a self, context: &'a ToolContext, _: Value) -> BoxFuture<'a, ToolOutput> {
        async move {
            let meeting = &self.1;
            match self.0 {
                "meet" | "joins" => {
                    meeting.running.fetch_add(1, Ordering::SeqCst);
                    meeting.barrier.wait().await;
                    meeting.running.fetch_sub(1, Ordering::SeqCst);
                    ToolOutput::text(format!("met {}", context.call_id.as_deref().unwrap()))
                }
                "alone" => {
                    assert_eq!(meeting.running.load(Ordering::SeqCst), 0, "nothing runs beside it");
                    assert_eq!(meeting.alone.fetch_add(1, Ordering::SeqCst), 0, "nor another of its kind");
                    tokio::task::yield_now().await;
                    meeting.alone.fetch_sub(1, Ordering::SeqCst);
                    ToolOutput::text("alone")
                }
                "ends" => {
                    meeting.started.notified().await;
                    ToolOutput::text("ended")
                }
                _ => {
                    context.abort.cancelled().await;
                    ToolOutput::text("stopped")
                }
            }
        }
        .boxed()
    }
}

/// Records the start and end events of calls.
#[derive(Default)]
struct EventLog(std::sync::Mutex<Vec<String>>, Notify);

impl EventLog {
    fn read(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl EventSink for EventLog {
    fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn push(&self, event: Event<'_>) {
        let line = match event {
            Event::ToolStarted(call) => format!("+{}", call.id),
            Event::ToolEnded(call, output) => {
                format!("-{}{}", call.id, if output.is_error { "!" } else { "" })
            }
            Event::MessageEnded { message: AgentMessage::ToolResult(result), .. } => {
                format!("={}", result.tool_call_id)
            }
            _ => return,
        };
        self.0.lock().unwrap().push(line);
        self.1.notify_one();
    }
}

fn call(id: &str, tool: &str) -> Value {
    json!({"tool": {"id": id, "name": tool, "args": {}}})
}

fn engine(
    calls: CallOrder,
    blocks: Vec<Value>,
) -> (Engine, Arc<EventLog>, Arc<Rendezvous>, tempfile::TempDir) {
    let script = json!({"responses": [{"blocks": blocks}], "default": {"text": "ok"}});
    let (builder, place) = builder(script);
    let meeting = Arc::new(Rendezvous {
        barrier: Barrier::new(3),
        alone: AtomicUsize::new(0),
        running: AtomicUsize::new(0),
        started: Notify::new(),
    });
    let mut tools = ToolSet::none();
    for name in ["meet", "joins", "alone", "ends", "stays"] {
        tools.add(Arc::new(RendezvousTool(name, meeting.clone())));
    }
    let mut options = builder.tools(tools).build_engine_options().0;
    options.profile.tool_calls.order = calls;
    let log = Arc::new(EventLog::default());
    (Engine::new(options, log.clone()), log, meeting, place)
}

#[tokio::test]
async fn shared_calls_run_concurrently_with_results_in_order() {
    let blocks =
        vec![call("a", "meet"), call("b", "meet"), call("c", "meet"), call("d", "alone"), call("e", "alone")];
    let (engine, log, _, _place) = engine(CallOrder::SharedInParallel, blocks);
    engine.accept_prompt(UserInput::text("go"), None).unwrap().start();
    soon("the run", engine.wait_until_idle()).await;
    let expected = "+a +b +c -a =a -b =b -c =c +d -d =d +e -e =e";
    assert_eq!(log.read().join(" "), expected);
}

#[tokio::test]
async fn calls_run_concurrently_for_any_tool_with_calls_together() {
    let blocks = vec![call("a", "joins"), call("b", "meet"), call("c", "joins")];
    let (engine, log, _, _place) = engine(CallOrder::AllInParallel, blocks);
    engine.accept_prompt(UserInput::text("go"), None).unwrap().start();
    soon("the run", engine.wait_until_idle()).await;
    assert_eq!(log.read().join(" "), "+a +b +c -a =a -b =b -c =c");
}

#[tokio::test]
async fn calls_run_sequentially_with_calls_one_by_one() {
    let (engine, log, _, _place) =
        engine(CallOrder::Sequential, vec![call("a", "alone"), call("b", "alone")]);
    engine.accept_prompt(UserInput::text("go"), None).unwrap().start();
    soon("the run", engine.wait_until_idle()).await;
    assert_eq!(log.read().join(" "), "+a -a =a +b -b =b");
}

#[tokio::test]
async fn interrupting_steering_stops_concurrent_calls() {
    let blocks = vec![call("a", "ends"), call("b", "stays"), call("c", "alone")];
    let (engine, log, meeting, _place) = engine(CallOrder::SharedInParallel, blocks);
    engine.accept_prompt(UserInput::text("go"), None).unwrap().start();
    let started = async {
        while log.read().len() < 2 {
            log.1.notified().await;
        }
    };
    soon("the calls to begin", started).await;
    soon("the steering", engine.submit(UserInput::text("stop"), Delivery::Queue(InputQueue::Steer)))
        .await
        .unwrap()
        .start();
    meeting.started.notify_one();
    soon("the run", engine.wait_until_idle()).await;
    assert_eq!(log.read().join(" "), "+a +b -a =a -b! =b +c -c! =c");
}

#[tokio::test]
async fn steering_that_waits_lets_all_calls_run() {
    let (engine, log, meeting, _place) =
        engine(CallOrder::SharedInParallel, vec![call("a", "ends"), call("b", "alone")]);
    engine.set_interrupt_mode(InterruptMode::Wait);
    assert_eq!(engine.status().interrupt_mode, InterruptMode::Wait);
    engine.accept_prompt(UserInput::text("go"), None).unwrap().start();
    soon("the steering", engine.submit(UserInput::text("later"), Delivery::Queue(InputQueue::Steer)))
        .await
        .unwrap()
        .start();
    meeting.started.notify_one();
    soon("the run", engine.wait_until_idle()).await;
    assert_eq!(log.read().join(" "), "+a -a =a +b -b =b");
}

#[tokio::test]
async fn abort_stops_all_concurrent_calls() {
    let (engine, log, _, _place) =
        engine(CallOrder::SharedInParallel, vec![call("a", "stays"), call("b", "stays")]);
    engine.accept_prompt(UserInput::text("go"), None).unwrap().start();
    let started = async {
        while log.read().len() < 2 {
            log.1.notified().await;
        }
    };
    soon("the calls to begin", started).await;
    soon("the abort", engine.abort()).await;
    assert_eq!(log.read().join(" "), "+a +b -a =a -b =b");
}
