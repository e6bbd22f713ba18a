//! Call of an agent: one command and its effects.

use std::sync::Arc;

use agentese::ChildOptions;
use agentese::dialog::Members;
use agentese::dynamic::{Client, Dialogs, Limit, Options};
use agentese::spec::RunRole;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::error::Failure;
use super::line::{Output, Said};
use super::show::{self, Growing};
use agentese_process::stderr::Stderr;

/// Starts the agent, runs the call, prints its result, and ends the agent.
pub(super) fn run(said: Said, stderr: &Stderr) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Agent(format!("cannot begin: {error}")))?;
    runtime.block_on(async {
        let options = options(&said, stderr);
        let client = Client::spawn(said.grammar.spec, options, child(&said, stderr)?)?;
        let result = tokio::select! {
            result = call(&client, said) => result,
            () = agentese_process::signals::asked_to_stop() => Err(Failure::Agent("stopped".to_owned())),
        };
        drop(client.close().await);
        result
    })
}

fn options(said: &Said, stderr: &Stderr) -> Options {
    let dialogs = Arc::new(Told { answers: said.answers.clone(), stderr: stderr.clone() });
    Options {
        dialogs: Some(dialogs),
        revision: said.grammar.revision,
        timeout: said.timeout,
        ..Options::default()
    }
}

fn child(said: &Said, stderr: &Stderr) -> Result<ChildOptions, Failure> {
    let mut child = match said.agent.split_first() {
        Some((program, words)) => words.iter().fold(ChildOptions::new(program), ChildOptions::arg),
        None => {
            let program = std::env::current_exe();
            let program =
                program.map_err(|error| Failure::Agent(format!("this program is nowhere: {error}")))?;
            ChildOptions::new(program).args(["--mode", "rpc", "--dialect"]).arg(&said.dialect)
        }
    };
    let stderr = stderr.clone();
    child.on_stderr_line = Some(Arc::new(move |line: &str| stderr.say(line)));
    Ok(child)
}

/// Handler that answers the agent's questions from the command line, and prints them.
struct Told {
    answers: Map<String, Value>,
    stderr: Stderr,
}

impl Dialogs for Told {
    fn ask(&self, method: &str, params: &str) -> BoxFuture<'static, Option<Members>> {
        let answer = self.answers.get(method).and_then(Value::as_object).cloned();
        let done = match &answer {
            Some(members) => format!("answered {}", Value::Object(members.clone())),
            None => "dismissed (--answer gives an answer)".to_owned(),
        };
        self.stderr.say(format_args!("The agent says {method} {params}: {done}"));
        async move { answer }.boxed()
    }
}

/// Sends the command. If it starts a run, follows the run to its end.
async fn call(client: &Client, said: Said) -> Result<(), Failure> {
    let spec = said.grammar.spec;
    let mut members = said.members;
    if let (Some(opens), Some(member)) = (spec.opens_session, spec.session_member) {
        let takes = said.grammar.commands.iter().find(|command| command.name == said.command);
        let needs = takes
            .is_some_and(|command| command.params.iter().any(|param| param.name == member && param.required));
        if needs && !members.contains_key(member) {
            let opened = client.call(opens, "{}", Limit::Default).await?;
            let session = opened.and_then(|data| agentese::wire::decode::<Value>(data.as_str()).ok());
            let session = session.and_then(|mut data| data.get_mut(member).map(Value::take));
            let session = session.ok_or_else(|| Failure::Agent(format!("{opens} gave no {member}")))?;
            members.insert(member.to_owned(), session);
        }
    }
    let members = Value::Object(members).to_string();
    if spec.command(said.command).is_some_and(|command| command.run == RunRole::Starts) {
        let run = follow(client, said.command, &members, said.events, said.output.unwrap_or(Output::Text));
        return match said.timeout {
            None => run.await,
            Some(limit) => tokio::time::timeout(limit, run).await.unwrap_or_else(|_| {
                Err(Failure::Agent(format!("the run of `{}` is not over after {limit:?}", said.command)))
            }),
        };
    }
    let mut events = said.events.then(|| client.events()).transpose()?;
    let answer = client.call(said.command, &members, Limit::Default).await?;
    if let Some(events) = &mut events {
        // Events that precede the response are already available, so no wait is needed.
        while let Some(Some(event)) = events.next_event().now_or_never() {
            show::line(event.body().as_str())?;
        }
    }
    show::answer(
        answer.as_ref().map(agentese::framing::FrameText::as_str),
        said.output.unwrap_or(Output::Json),
    )
}

/// Follows a prompt to the end of its run.
async fn follow(
    client: &Client,
    command: &str,
    members: &str,
    events: bool,
    output: Output,
) -> Result<(), Failure> {
    let (mut stream, accepted) = client.start(command, members, Limit::Default)?;
    let answer = accepted.await?;
    let mut growing = Growing::new(client.spec().text, output == Output::Text && !events);
    while let Some(event) = stream.next_event().await {
        if events {
            show::line(event.body().as_str())?;
        } else {
            growing.take(event.kind(), event.body().as_str())?;
        }
    }
    let failed = stream.over().and_then(|over| over.as_ref().err()).cloned();
    if let Some(error) = failed.clone().filter(|error| error.run_failure().is_none()) {
        return Err(Failure::Client(error));
    }
    // The text of a failed run is displayed too.
    match (events, output) {
        (true, _) => {}
        (false, Output::Text) => growing.end()?,
        (false, Output::Json) => {
            show::run(answer.as_ref().map(agentese::framing::FrameText::as_str), &growing.text)?;
        }
    }
    failed.map_or(Ok(()), |error| Err(Failure::Client(error)))
}
