//! Driver of this library for `agentese-conformance run --client`: reads instructions from stdin and writes reports to
//! stdout, one line of JSON each, as described in `docs/conformance-clients.md`.
#![expect(clippy::print_stdout, reason = "it reports on stdout")]

use std::io::BufRead as _;
use std::sync::{Arc, Mutex};

use agentese::dialog::{AnswerMembers, DialogHandler};
use agentese::spec::{AnswerTiming, Dialect, RunRole};
use agentese::types::{DriverCall, DriverInstruction as Instruction, DriverStart};
use agentese::wire::{NamedUnion as _, ReplyUnion as _, decode};
use agentese::{
    ChildOptions, EndedBy, Error, ErrorKind, Events, RpcClient, Run, RunResult, omp, opal, operator, pi,
    pisces,
};
use futures::future::BoxFuture;
use serde::ser::{SerializeMap as _, Serializer as _};
use serde_json::{Map, Value, from_str, from_value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

type Inbox = mpsc::Receiver<Instruction>;
type Start<D> = fn(RpcClient<D>, String, Map<String, Value>) -> BoxFuture<'static, Result<Run<D>, Error>>;

fn failure(report: &str, call: &str, kind: &str, error: &Error) -> Value {
    let refused = error.refused();
    let message = refused.map(|refused| refused.message.clone());
    let message = message.or_else(|| error.run_failure().map(|failure| failure.message.clone()));
    let message = message.unwrap_or_else(|| error.to_string());
    let why = match error.kind() {
        // An answer that is the end of a prompt is a rejection if the run failed.
        ErrorKind::Refused | ErrorKind::RunFailed => "refused",
        ErrorKind::Terminated => "terminated",
        ErrorKind::TimedOut | ErrorKind::Stalled => "timed_out",
        _ => "failed",
    };
    json!({"report": report, "call": call, kind: why, "message": message, "code": refused.and_then(|it| it.code)})
}

/// Handler that reports each dialog to the suite and waits for the suite's answer.
#[derive(Clone, Default)]
struct DialogReporter(Arc<Mutex<Vec<Option<Reply>>>>);

type Reply = oneshot::Sender<Option<AnswerMembers>>;

impl<D: Dialect> DialogHandler<D> for DialogReporter {
    fn answer(self: Arc<Self>, dialog: D::Dialog) -> BoxFuture<'static, Option<AnswerMembers>> {
        let mut map = serde_json::value::Serializer.serialize_map(None).unwrap();
        let params = dialog.encode(&mut map).and_then(|()| map.end()).unwrap();
        let (answer, answered) = oneshot::channel();
        let mut waiting = self.0.lock().unwrap();
        waiting.push(Some(answer));
        let name = waiting.len().to_string();
        let report = json!({"report": "dialog", "dialog": name, "method": dialog.name(), "params": params});
        println!("{report}");
        Box::pin(async move { answered.await.unwrap_or_default() })
    }
}

async fn call<D: Dialect>(client: RpcClient<D>, told: DriverCall, start: Start<D>) {
    let DriverCall { call, command, params, .. } = told;
    let spec = client.spec().command(&command);
    let failed = |error| println!("{}", failure("error", &call, "kind", &error));
    // The declared type applies if the data fit one.
    let result = |data: Value| {
        let text = (!data.is_null()).then(|| data.to_string());
        let reply = D::Reply::decode(&command, text.as_deref()).and_then(Result::ok);
        let typed = reply.and_then(|reply| decode(&reply.encode().ok()??).ok());
        println!("{}", json!({"report": "result", "call": call, "value": typed.unwrap_or(data)}));
    };
    if spec.is_none_or(|spec| spec.run != RunRole::Starts) {
        return client.request(&command, &params).await.map_or_else(failed, result);
    }
    let Ok(run) = start(client, command.clone(), params).await.map_err(failed) else { return };
    // If the answer is the end of the run, the run is the call.
    let whole = spec.is_some_and(|spec| spec.answer == AnswerTiming::Done);
    (!whole).then(|| result(run.answer().and_then(|data| decode(data.as_str()).ok()).unwrap_or_default()));
    match run.wait().await {
        Ok(RunResult { ended_by: EndedBy::Answer, failure: Some(failure), .. }) => {
            failed(Error::RunFailed(Box::new(failure)));
        }
        Err(error) if whole => failed(error),
        Err(error) => println!("{}", failure("run_end", &call, "error", &error)),
        Ok(_) => {
            whole.then(|| result(Value::Null));
            println!("{}", json!({"report": "run_end", "call": call}));
        }
    }
}

/// Reports all events, and also the end of the agent if the suite did not request it.
async fn listen<D: Dialect>(client: RpcClient<D>, mut events: Events<D>) {
    while let Some(Ok(event)) = events.next_raw().await {
        let typed = event.decode().ok().and_then(|event| serde_json::to_value(event).ok());
        let event = typed.or_else(|| decode(event.body().as_str()).ok());
        println!("{}", json!({"report": "event", "event": event}));
    }
    let end = client.terminated().await;
    if !end.is_closed_by_us() {
        let exit = end.exit().cloned().unwrap_or_default();
        println!("{}", json!({"report": "terminated", "code": exit.code, "signal": exit.signal}));
    }
}

async fn drive<D: Dialect>(told: DriverStart, mut inbox: Inbox, start: Start<D>) -> Result<(), Error> {
    let asked = DialogReporter::default();
    let (program, arguments) = told.command.split_first().unwrap();
    let builder = RpcClient::<D>::builder().revision(&told.dialect)?.dialogs(asked.clone());
    let client = builder.spawn(ChildOptions::new(program).args(arguments))?;
    let mut tasks = JoinSet::new();
    tasks.spawn(listen(client.clone(), client.events()?));
    let own: Vec<&str> = client.spec().run_end.barrier.iter().map(|barrier| barrier.command).collect();
    let library = concat!("agentese ", env!("CARGO_PKG_VERSION"), " (Rust)");
    println!("{}", json!({"report": "ready", "driver": 1, "library": library, "runs": true, "sends": own}));
    while let Some(instruction) = inbox.recv().await {
        match instruction {
            Instruction::Call(told) => drop(tasks.spawn(call(client.clone(), told, start))),
            Instruction::Answer(told) => {
                let answer = asked.0.lock().unwrap()[told.dialog.parse::<usize>().unwrap() - 1].take();
                let _ = answer.unwrap().send(told.answer.into_option());
            }
            _ => break,
        }
    }
    client.close().await;
    while tasks.join_next().await.is_some() {}
    println!("{}", json!({"report": "closed"}));
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let (told, mut inbox) = mpsc::channel(1);
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines().map_while(Result::ok);
        lines.for_each(|line| drop(told.blocking_send(from_str(&line).unwrap())));
    });
    let Some(Instruction::Start(told)) = inbox.recv().await else { return Ok(()) };
    macro_rules! drive {
        ($dialect:ty, $($command:pat => $helper:ident),*) => {
            drive::<$dialect>(told, inbox, |client, command, params| Box::pin(async move {
                match &*command { $($command => client.$helper(from_value(params.into()).unwrap()).await),* }
            })).await
        };
    }
    match told.dialect.split('@').next() {
        Some("pi") => drive!(pi::Pi, _ => prompt_with),
        Some("omp") => drive!(omp::Omp, "prompt" => prompt_with, _ => abort_and_prompt_with),
        Some("pisces") => drive!(pisces::Pisces, "prompt" => prompt_with, _ => abort_and_prompt_with),
        Some("operator") => drive!(operator::Operator, _ => prompt_with),
        _ => {
            drive::<opal::Opal>(told, inbox, |client, _, params| {
                let text = move |name| params[name].as_str().unwrap().to_owned();
                Box::pin(async move { client.agent_prompt(text("session_id"), text("text")).await })
            })
            .await
        }
    }
}
