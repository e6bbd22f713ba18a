//! The driver of this library for `agentese-conformance run --client`: instructions on stdin, reports on
//! stdout, each a line of JSON, as `docs/conformance-clients.md` has them.

use std::io::{BufRead as _, Write as _};
use std::sync::{Arc, Mutex};

use agentese::dialog::{DialogSink, Members};
use agentese::spec::{Answer, Dialect, RunRole};
use agentese::transport::ChildOptions;
use agentese::types::{DriverCall, DriverInstruction as Instruction, DriverStart};
use agentese::wire::{Answered as _, Named as _};
use agentese::{Error, ErrorKind, Events, RpcClient, Run, omp, opal, operator, pi, pisces};
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde::ser::{SerializeMap as _, Serializer as _};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

type Inbox = mpsc::Receiver<Instruction>;
type Start<D> = fn(RpcClient<D>, String, Map<String, Value>) -> BoxFuture<'static, Result<Run<D>, Error>>;

fn report(line: &Value) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

fn from<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the suite keeps to the protocol and to the declaration")
}

fn failure(report: &str, call: &str, kind: &str, error: &Error) -> Value {
    let refused = error.refused();
    let message = refused.map_or_else(|| error.to_string(), |refused| refused.message.clone());
    let code = refused.and_then(|refused| refused.code);
    let why = match error.kind() {
        ErrorKind::Refused => "refused",
        ErrorKind::Terminated => "terminated",
        ErrorKind::TimedOut | ErrorKind::Stalled => "timed_out",
        _ => "failed",
    };
    json!({"report": report, "call": call, kind: why, "message": message, "code": code})
}

/// Reports dialogs; each waits until the suite has said how to answer it.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<Option<oneshot::Sender<Option<Members>>>>>>);

impl<D: Dialect> DialogSink<D> for Asked {
    fn ask(self: Arc<Self>, dialog: D::Dialog) -> BoxFuture<'static, Option<Members>> {
        let mut params = serde_json::value::Serializer.serialize_map(None).expect("it is a map");
        dialog.encode(&mut params).expect("declared types are written");
        let params = params.end().expect("declared types are written");
        let (answer, answered) = oneshot::channel();
        let mut waiting = self.0.lock().expect("nobody panics with it");
        waiting.push(Some(answer));
        let name = waiting.len().to_string();
        report(&json!({"report": "dialog", "dialog": name, "method": dialog.name(), "params": params}));
        // Where the suite says nothing, the dialog stays open until the connection is over.
        Box::pin(async move { answered.await.unwrap_or_default() })
    }
}

/// The data of an answer, through the declared type where it fits one.
fn typed<D: Dialect>(command: &str, data: Value) -> Value {
    let reply = D::Reply::decode(command, (!data.is_null()).then(|| data.to_string()).as_deref());
    let text = reply.and_then(Result::ok).and_then(|reply| reply.encode().ok().flatten());
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(data)
}

async fn call<D: Dialect>(client: RpcClient<D>, told: DriverCall, start: Start<D>) {
    let DriverCall { call, command, params, .. } = told;
    let spec = client.spec().command(&command);
    let failed = |error| report(&failure("error", &call, "kind", &error));
    let result = |data| {
        let value = typed::<D>(&command, data);
        report(&json!({"report": "result", "call": call, "value": value}));
    };
    if spec.is_none_or(|spec| spec.run != RunRole::Starts) {
        return client.request(&command, &params).await.map_or_else(failed, result);
    }
    let run = match start(client, command.clone(), params).await {
        Ok(run) => run,
        Err(error) => return failed(error),
    };
    // Where the answer comes at the end, the run is the call.
    let whole = spec.is_some_and(|spec| spec.answer == Answer::Done);
    if !whole {
        let data = run.answer().and_then(|data| serde_json::from_str(data.as_str()).ok());
        result(data.unwrap_or_default());
    }
    match run.result().await {
        Err(error) if whole => failed(error),
        Err(error) => report(&failure("run_end", &call, "error", &error)),
        Ok(_) => {
            whole.then(|| result(Value::Null));
            report(&json!({"report": "run_end", "call": call}));
        }
    }
}

/// Reports all events, and the end where the agent came to it by itself.
async fn listen<D: Dialect>(mut events: Events<D>) {
    while let Some(event) = events.next_raw().await {
        match event {
            Ok(event) => {
                let typed = event.decode().ok().and_then(|event| serde_json::to_value(event).ok());
                let raw = || serde_json::from_str(event.body().as_str()).unwrap_or_default();
                report(&json!({"report": "event", "event": typed.unwrap_or_else(raw)}));
            }
            Err(Error::Terminated(end)) if !end.is_closed_by_us() => {
                let exit = end.exit().cloned().unwrap_or_default();
                report(&json!({"report": "terminated", "code": exit.code, "signal": exit.signal}));
            }
            Err(_) => {}
        }
    }
}

async fn drive<D: Dialect>(told: DriverStart, mut inbox: Inbox, start: Start<D>) -> Result<(), Error> {
    let asked = Asked::default();
    let (program, arguments) = told.command.split_first().expect("a program is named");
    let builder = RpcClient::<D>::builder().revision(&told.dialect)?.dialogs(asked.clone());
    let client = builder.spawn(ChildOptions::new(program).args(arguments))?;
    let mut tasks = JoinSet::new();
    tasks.spawn(listen(client.events()?));
    let own: Vec<&str> = client.spec().run_end.barrier.iter().map(|barrier| barrier.command).collect();
    let library = concat!("agentese ", env!("CARGO_PKG_VERSION"), " (Rust)");
    report(&json!({"report": "ready", "driver": 1, "library": library, "runs": true, "sends": own}));
    while let Some(instruction) = inbox.recv().await {
        match instruction {
            Instruction::Call(told) => drop(tasks.spawn(call(client.clone(), told, start))),
            Instruction::Answer(told) => {
                let mut waiting = asked.0.lock().expect("nobody panics with it");
                let place = told.dialog.parse::<usize>().expect("it is one of ours") - 1;
                waiting[place].take().map(|answer| answer.send(told.answer.into_option()));
            }
            _ => break,
        }
    }
    client.close().await;
    while tasks.join_next().await.is_some() {}
    report(&json!({"report": "closed"}));
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let (told, mut inbox) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let _ = told.blocking_send(from(line.parse().expect("instructions are JSON")));
        }
    });
    let Some(Instruction::Start(told)) = inbox.recv().await else { return Ok(()) };
    let name = told.dialect.split('@').next().unwrap_or_default().to_owned();
    macro_rules! drive {
        ($dialect:ty, $($command:pat => $helper:ident),*) => {
            drive::<$dialect>(told, inbox, |client, command, params| Box::pin(async move {
                match &*command { $($command => client.$helper(from(Value::Object(params))).await),* }
            })).await
        };
    }
    match &*name {
        "pi" => drive!(pi::Pi, _ => prompt_with),
        "omp" => drive!(omp::Omp, "prompt" => prompt_with, _ => abort_and_prompt_with),
        "pisces" => drive!(pisces::Pisces, "prompt" => prompt_with, _ => abort_and_prompt_with),
        "operator" => drive!(operator::Operator, _ => prompt_with),
        _ => {
            drive::<opal::Opal>(told, inbox, |client, _, params| {
                let text = |name| params[name].as_str().unwrap_or_default().to_owned();
                let (session, text) = (text("session_id"), text("text"));
                Box::pin(async move { client.agent_prompt(session, text).await })
            })
            .await
        }
    }
}
