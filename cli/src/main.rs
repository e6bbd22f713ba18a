//! Program `agentese`: the command line of the reference agent.
//!
//! | file | concept |
//! |---|---|
//! | `command_line`, `command_line_parser`, `api_key`, `limits` | options, with the tolerance of pi |
//! | `plan`, `workspace` | plan of a run, from options and files |
//! | `rpc`, `components`, `trust`, `script_check` | this process as an agent |
//! | `run_prompt` | one prompt to any agent, without a user |
//! | `call` | another agent, called from the command line |
//! | `bridge` | an agent of one dialect behind a client of another |
//! | `schema`, `sessions`, `completions`, `man_page`, `list_models`, `export` | commands that print and exit |
//! | `web` | page for an agent, and for a recorded session |
//! | `table` | tables for users |
//! | `error` | failures that end the program |

mod agent_command;
mod api_key;
mod bridge;
mod call;
mod command_line;
mod command_line_parser;
mod completions;
mod components;
mod error;
mod export;
mod limits;
mod list_models;
mod man_page;
mod plan;
mod rpc;
mod run_prompt;
mod schema;
mod script_check;
mod sessions;
mod table;
mod trust;
mod web;
mod workspace;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use command_line::{Command, RunPrompt};
use command_line_parser::ParsedArguments;
use error::CliError;
use plan::{Plan, Task};

use agentese_process::environment;
use agentese_process::stderr::{FLUSH_LIMIT, Stderr};
use agentese_server::extensions::flag_warnings;

/// Allocator of the program. Opening a session allocates and frees thousands of messages. The system's
/// allocator would return their memory and request it again each time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Time limit for reading further input of a client after a failed start.
const DRAIN_LIMIT: Duration = Duration::from_millis(250);

/// Reads and discards a client's input after a failed start. A client that writes its first command at once
/// then gets no broken pipe, and finds the reason on stderr.
fn drain_stdin() {
    let is_for_a_client = std::env::args_os().any(|argument| argument == "--mode");
    if !is_for_a_client || std::io::stdin().is_terminal() {
        return;
    }
    let (sender, over) = std::sync::mpsc::channel();
    let read = std::thread::Builder::new().spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = sender.send(());
    });
    if read.is_ok() {
        let _ = over.recv_timeout(DRAIN_LIMIT);
    }
}

/// Returns 0 after an orderly end, 1 after a failure and 2 for an invalid command line, both with a message on stderr.
fn main() -> ExitCode {
    // This binary is also the guard process of shell commands, which must be checked first.
    if let Some(code) = agentese_server::tools::guard::main_if_guard() {
        return code;
    }
    // With a handler, a write beyond the file size limit fails with an error. Without one, the signal ends
    // the process silently. Child programs start with the original signal handling.
    let heeded = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, heeded);
    let stderr = Stderr::of_process();
    let code = match command_line_parser::parse(std::env::args_os()) {
        Ok(parsed) => run(parsed, &stderr).unwrap_or_else(|failure| {
            match failure {
                CliError::NoSuchModel(_) => stderr.write_line(&failure),
                _ => stderr.write_line(format_args!("Error: {failure}")),
            }
            failure.exit_code()
        }),
        // clap reports help and version as errors. They go to stdout and exit with success.
        Err(error) if !error.use_stderr() => {
            // A write error may be reported only by the final flush.
            match error.print().and_then(|()| std::io::stdout().flush()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            }
        }
        Err(error) => {
            let text = error.to_string();
            stderr.write_line(format_args!(
                "Error:{}",
                text.strip_prefix("error:").unwrap_or(&text).trim_end()
            ));
            ExitCode::from(error::USAGE)
        }
    };
    stderr.flush(FLUSH_LIMIT);
    if code != ExitCode::SUCCESS {
        drain_stdin();
    }
    code
}

fn run(parsed: ParsedArguments, stderr: &Stderr) -> Result<ExitCode, CliError> {
    let ParsedArguments { arguments, flags, warnings } = parsed;
    for warning in warnings {
        stderr.warn(warning);
    }
    if arguments.command.is_some() {
        flag_warnings(&flags, false).iter().for_each(|complaint| stderr.warn(complaint));
    }
    let run = match arguments.command {
        Some(Command::Run(options)) => return run_prompt::run(options, stderr),
        Some(Command::Call(call)) => return Ok(call::main(&call.words, stderr)),
        Some(Command::Schema(options)) => return schema::print(&options),
        Some(Command::Sessions(options)) => return sessions::print(&options),
        Some(Command::Completions(options)) => return completions::print(&options),
        Some(Command::Man) => return man_page::print(),
        Some(Command::Web(options)) => return web::run(options, stderr),
        Some(Command::Inspect(options)) => return web::inspect(&options, stderr),
        Some(Command::Bridge(options)) => return bridge::run(options, stderr),
        None if arguments.run.resources.print && arguments.run.mode.is_none() => {
            return run_prompt::run(RunPrompt::from_print(arguments.run)?, stderr);
        }
        None => arguments.run,
    };
    rpc::log_to(stderr, run.verbose);
    let cwd = std::env::current_dir()
        .map_err(|source| CliError::Io { context: "cannot find the working directory".to_owned(), source })?;
    let plan = Plan { flags, ..Plan::read(run, &environment::variable, cwd)? };
    for warning in &plan.warnings {
        stderr.warn(warning);
    }
    if plan.task != Task::Serve {
        flag_warnings(&plan.flags, false).iter().for_each(|complaint| stderr.warn(complaint));
    }
    match plan.task.clone() {
        Task::Serve => rpc::run(plan, stderr),
        Task::ListModels(search) => {
            let catalog = components::catalog(&plan, stderr)?;
            list_models::print(&catalog, search.as_deref(), stderr)
        }
        Task::Export { session, page } => {
            let catalog = components::catalog(&plan, stderr)?;
            let session = components::session_file(&plan, &session)?;
            export::write_page(plan.cwd(), &session, page.as_deref(), &catalog, stderr)
        }
    }
}
