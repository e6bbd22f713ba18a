//! `agentese run`: one prompt to an agent of any dialect, without a user.
//!
//! | file | concept |
//! |---|---|
//! | `input` | the prompt, from the command line, stdin and files |
//! | `approvals` | answers to the agent's questions |
//! | `answer_schema` | the JSON Schema of the answer |
//! | `printer` | text and events on stdout, tools on stderr |

mod answer_schema;
mod approvals;
mod input;
mod printer;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agentese::ChildOptions;
use agentese::any::{Agent, Options, RunResult, UserInput};
use agentese_process::stderr::Stderr;

use crate::command_line::RunPrompt;
use crate::error::CliError;
use answer_schema::AnswerSchema;
use approvals::Approvals;
use printer::Printer;

/// Dialect of this program when it serves the agent: the revision with the most events.
const OWN_DIALECT: &str = "pi@1.6";

/// Exit code for a run in which a question of the agent was denied or dismissed.
const DENIED: u8 = 3;

/// Number of further prompts for an answer that does not match its schema.
const SCHEMA_RETRIES: usize = 2;

/// Sends one prompt, prints the answer, and ends the agent. Returns 3 if a question of the agent was denied. Fails if the
/// options or files are invalid, if the agent cannot be used, or if the run fails.
pub(super) fn run(options: RunPrompt, stderr: &Stderr) -> Result<ExitCode, CliError> {
    check(&options)?;
    let input = input::read(&options)?;
    let schema = options.output_schema.as_deref().map(AnswerSchema::read).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|source| CliError::Io { context: "cannot start the runtime".to_owned(), source })?;
    runtime.block_on(async {
        let approvals = Approvals::new(options.approve.clone(), stderr.clone());
        let child = child(&options, stderr)?;
        let mut settings = Options::new().on_question(approvals.handler());
        settings.dialect = match options.agent.is_empty() {
            true => Some(OWN_DIALECT.to_owned()),
            false => options.dialect.clone(),
        };
        let agent = Agent::spawn(child, settings).await.map_err(failed)?;
        approvals.connect(&agent);
        let work = converse(&agent, &options, input, schema.as_ref(), stderr);
        let result = tokio::select! {
            result = within(options.timeout, work) => result,
            () = agentese_process::signals::shutdown_signal() => Err(CliError::Agent("interrupted".to_owned())),
        };
        approvals.disconnect();
        drop(agent.close().await);
        result?;
        Ok(if approvals.denied_any() { DENIED.into() } else { ExitCode::SUCCESS })
    })
}

/// Rejects options that have no effect with another agent.
fn check(options: &RunPrompt) -> Result<(), CliError> {
    let own = [("--model", options.model.is_some()), ("--provider", options.provider.is_some())];
    match own.into_iter().find(|(_, given)| *given && !options.agent.is_empty()) {
        Some((name, _)) => Err(CliError::Usage(format!(
            "{name} selects a model of agentese; give the options of another agent after `--`"
        ))),
        None => Ok(()),
    }
}

/// Returns the start options of the agent: the given command line, or this program.
fn child(options: &RunPrompt, stderr: &Stderr) -> Result<ChildOptions, CliError> {
    let mut child = match options.agent.split_first() {
        Some((program, words)) => ChildOptions::new(program).args(words),
        None => own(options)?,
    };
    child.cwd.clone_from(&options.cwd);
    let stderr = stderr.clone();
    Ok(child.on_stderr_line(move |line: &str| stderr.write_line(line)))
}

/// Returns the command line of this program as an agent.
fn own(options: &RunPrompt) -> Result<ChildOptions, CliError> {
    let program = std::env::current_exe().map_err(|source| CliError::Io {
        context: "cannot find the path of this program".to_owned(),
        source,
    })?;
    let mut child = ChildOptions::new(program).args(["--mode", "rpc", "--dialect", OWN_DIALECT]);
    for (name, value) in [("--model", &options.model), ("--provider", &options.provider)] {
        if let Some(value) = value {
            child = child.arg(name).arg(value);
        }
    }
    Ok(if options.continues { child.arg("--continue") } else { child })
}

async fn within<T>(
    limit: Option<Duration>,
    work: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, work)
            .await
            .unwrap_or_else(|_| Err(CliError::Agent(format!("the run did not end within {limit:?}")))),
        None => work.await,
    }
}

/// Sends the prompt and prints its answer. With a schema, asks again for an answer that does not match it.
async fn converse(
    agent: &Agent,
    options: &RunPrompt,
    input: UserInput,
    schema: Option<&AnswerSchema>,
    stderr: &Stderr,
) -> Result<(), CliError> {
    if options.continues && !options.agent.is_empty() {
        open_newest_session(agent).await?;
    }
    let Some(schema) = schema else {
        let mut printer = Printer::new(options.json, true, stderr.clone());
        follow(agent, input, &mut printer).await?;
        return printer.end();
    };
    let mut next = input;
    next.text = schema.request(&next.text);
    for retries in 0.. {
        let mut printer = Printer::new(options.json, false, stderr.clone());
        let answer = follow(agent, next, &mut printer).await?.text();
        match schema.check(&answer) {
            Ok(_) if options.json => return Ok(()),
            Ok(value) => {
                agentese_process::output::print_json(&format!("{value:#}\n"))?;
                return Ok(());
            }
            Err(reason) if retries == SCHEMA_RETRIES => {
                return Err(CliError::Agent(format!(
                    "the answer does not match the schema after {} prompts: {reason}",
                    retries + 1
                )));
            }
            Err(reason) => {
                stderr.warn(format_args!("the answer does not match the schema: {reason}; asking again"));
                next = schema.correction(&reason).into();
            }
        }
    }
    Ok(())
}

/// Sends a prompt and prints its events. Fails if the run fails or is aborted.
async fn follow(agent: &Agent, input: UserInput, printer: &mut Printer) -> Result<RunResult, CliError> {
    let mut run = agent.prompt(input).await.map_err(failed)?;
    while let Some(event) = run.next().await {
        printer.print(&event.map_err(failed)?)?;
    }
    let result = run.result().await.map_err(failed)?;
    match result.aborted {
        true => Err(CliError::Agent("the run was aborted".to_owned())),
        false => Ok(result),
    }
}

/// Opens the session of the agent that changed last. Fails if the agent cannot list or open sessions, or has no session.
async fn open_newest_session(agent: &Agent) -> Result<(), CliError> {
    let sessions = agent.list_sessions().await.map_err(failed)?;
    let newest = sessions
        .into_iter()
        .reduce(|newest, session| if session.modified > newest.modified { session } else { newest });
    let newest = newest.ok_or_else(|| CliError::Agent("--continue: the agent has no session".to_owned()))?;
    agent.open_session(&newest.session).await.map_err(failed).map(drop)
}

fn failed(error: agentese::Error) -> CliError {
    CliError::Agent(error.to_string())
}

/// The agent whose questions a handler answers. It is released at the end, because the agent owns the handler.
type SharedAgent = Arc<std::sync::Mutex<Option<Agent>>>;
