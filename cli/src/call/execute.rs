//! Execution of one command at an agent, and output of its results.

use std::ffi::OsStr;
use std::sync::Arc;

use agentese::ChildOptions;
use agentese::dialog::AnswerMembers;
use agentese::dynamic::{Client, Dialogs, Limit, Options};
use agentese::spec::RunRole;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::command_line::{Output, ParsedCall};
use super::error::CallError;
use super::print::{self, TextPrinter};
use agentese_process::stderr::Stderr;

/// Starts the agent, runs the call, prints its result, and ends the agent.
pub(super) fn run(parsed: ParsedCall, stderr: &Stderr) -> Result<(), CallError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CallError::Agent(format!("cannot start the runtime: {error}")))?;
    runtime.block_on(async {
        let options = options(&parsed, stderr);
        let client = Client::spawn(parsed.grammar.spec, options, child(&parsed, stderr))?;
        let result = tokio::select! {
            result = call(&client, parsed) => result,
            () = agentese_process::signals::shutdown_signal() => Err(CallError::Agent("interrupted".to_owned())),
        };
        drop(client.close().await);
        result
    })
}

fn options(parsed: &ParsedCall, stderr: &Stderr) -> Options {
    let dialogs = Arc::new(PresetAnswers { answers: parsed.answers.clone(), stderr: stderr.clone() });
    Options {
        dialogs: Some(dialogs),
        revision: parsed.grammar.revision,
        timeout: parsed.timeout,
        ..Options::default()
    }
}

fn child(parsed: &ParsedCall, stderr: &Stderr) -> ChildOptions {
    let (program, words) =
        parsed.agent.split_first().map_or((OsStr::new(""), &[][..]), |(program, words)| (program, words));
    let mut child = words.iter().fold(ChildOptions::new(program), ChildOptions::arg);
    let stderr = stderr.clone();
    child.on_stderr_line = Some(Arc::new(move |line: &str| stderr.write_line(line)));
    child
}

/// Handler that prints the agent's questions and answers them from the command line.
struct PresetAnswers {
    answers: Map<String, Value>,
    stderr: Stderr,
}

impl Dialogs for PresetAnswers {
    fn answer(&self, method: &str, params: &str) -> BoxFuture<'static, Option<AnswerMembers>> {
        let answer = self.answers.get(method).and_then(Value::as_object).cloned();
        let done = match &answer {
            Some(members) => format!("answered {}", Value::Object(members.clone())),
            None => "dismissed; use --answer to answer".to_owned(),
        };
        self.stderr.write_line(format_args!("Question of the agent: {method} {params}: {done}"));
        async move { answer }.boxed()
    }
}

/// Sends the command. If it starts a run, follows the run to its end.
async fn call(client: &Client, parsed: ParsedCall) -> Result<(), CallError> {
    let spec = parsed.grammar.spec;
    let mut members = parsed.members;
    if let (Some(opens), Some(member)) = (spec.opens_session, spec.session_member) {
        let takes = parsed.grammar.commands.iter().find(|command| command.name == parsed.command);
        let needs = takes
            .is_some_and(|command| command.params.iter().any(|param| param.name == member && param.required));
        if needs && !members.contains_key(member) {
            let opened = client.call(opens, "{}", Limit::Default).await?;
            let session = opened.and_then(|data| agentese::wire::decode::<Value>(data.as_str()).ok());
            let session = session.and_then(|mut data| data.get_mut(member).map(Value::take));
            let session =
                session.ok_or_else(|| CallError::Agent(format!("`{opens}` returned no `{member}`")))?;
            members.insert(member.to_owned(), session);
        }
    }
    let members = Value::Object(members).to_string();
    if spec.command(parsed.command).is_some_and(|command| command.run == RunRole::Starts) {
        let run =
            follow(client, parsed.command, &members, parsed.events, parsed.output.unwrap_or(Output::Text));
        return match parsed.timeout {
            None => run.await,
            Some(limit) => tokio::time::timeout(limit, run).await.unwrap_or_else(|_| {
                Err(CallError::Agent(format!("the run of `{}` did not end within {limit:?}", parsed.command)))
            }),
        };
    }
    let mut events = parsed.events.then(|| client.events()).transpose()?;
    let answer = client.call(parsed.command, &members, Limit::Default).await?;
    if let Some(events) = &mut events {
        // All events before the response have already arrived, so this loop does not wait.
        while let Some(Some(event)) = events.next_event().now_or_never() {
            print::line(event.body().as_str())?;
        }
    }
    print::answer(
        answer.as_ref().map(agentese::framing::FrameText::as_str),
        parsed.output.unwrap_or(Output::Json),
    )
}

/// Follows a prompt to the end of its run.
async fn follow(
    client: &Client,
    command: &str,
    members: &str,
    events: bool,
    output: Output,
) -> Result<(), CallError> {
    let (mut stream, accepted) = client.start(command, members, Limit::Default)?;
    let answer = accepted.await?;
    let mut printer = TextPrinter::new(client.spec().text, output == Output::Text && !events);
    while let Some(event) = stream.next_event().await {
        if events {
            print::line(event.body().as_str())?;
        } else {
            printer.push_event(event.kind(), event.body().as_str())?;
        }
    }
    let failed = stream.outcome().and_then(|over| over.as_ref().err()).cloned();
    if let Some(error) = failed.clone().filter(|error| error.run_failure().is_none()) {
        return Err(CallError::Client(error));
    }
    // The text of a failed run is printed too.
    match (events, output) {
        (true, _) => {}
        (false, Output::Text) => printer.end()?,
        (false, Output::Json) => {
            print::run(answer.as_ref().map(agentese::framing::FrameText::as_str), &printer.text)?;
        }
    }
    failed.map_or(Ok(()), |error| Err(CallError::Client(error)))
}
