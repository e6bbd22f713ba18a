//! Player of cases against an agent.
//!
//! Each run has new home and work directories, its own model, and an environment that comes only from the
//! profile. The agent starts in a process group of its own. At the end the player closes the agent's stdin;
//! after a grace period it sends SIGTERM, then SIGKILL, to the whole group. Every wait has a time limit.

mod agent;
mod applies;
mod error;
mod input;
mod job_slots;
mod layout;
mod needs;
mod redact;
mod replies;
mod requests;
mod shell;
mod steps;
mod tools;
mod waits;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentese::types::{ModelRequest, Profile, Scenario, TranscriptHeader};
use agentese::wire::Maybe;
use tokio_util::sync::CancellationToken;

use crate::model::{ModelOptions, ScriptedModel};
use crate::recording::{Recorder, Recording};
use crate::variables::Variables;

pub(crate) use agent::package;
pub(crate) use agent::{child_options, read_lines};
pub use agent::{find_program, relative_argument};
pub use applies::not_applicable;
pub use error::PlayError;
pub use job_slots::JobSlot;
pub(crate) use job_slots::JobSlots;
pub(crate) use layout::RunDirectory;
pub use needs::{commands, needs};
pub use redact::Redactions;
pub use requests::{RequestFinding, check_requests};

use agent::Agent;
use replies::Responder;

/// Time for the agent to end after its stdin is closed, if neither case nor profile sets one.
const EXIT_GRACE: Duration = Duration::from_secs(3);

/// Options of a run.
#[derive(Debug, Clone)]
pub struct PlayOptions {
    /// Program and arguments, in place of the profile's command. A relative path of the program starts at the
    /// working directory of this process, not at the agent's work directory.
    pub command: Option<Vec<String>>,
    /// Factor for all waits of the case.
    pub patience: f64,
    /// Start time of the agent, as a multiple of the usual start time. All waits are multiplied by it.
    pub slowness: f64,
    /// Keeps the directory of the run, and prints its path.
    pub keep: bool,
    /// Additional file to which the model's log is written.
    pub model_log: Option<PathBuf>,
    /// Time limit of the scenario. After that time the scenario breaks off, and the agent is ended. If
    /// `None`, only the waits of the scenario have limits.
    pub limit: Option<Duration>,
    /// Slot for this case, since the number of concurrent cases is limited.
    pub slot: JobSlot,
    /// Token that cancels the scenario.
    pub stop: CancellationToken,
}

/// Reason that the report gives for a cancelled scenario.
pub const INTERRUPTED: &str = "the run was interrupted";

impl Default for PlayOptions {
    fn default() -> Self {
        Self {
            command: None,
            patience: 1.0,
            slowness: 1.0,
            keep: false,
            model_log: None,
            limit: None,
            slot: JobSlot::default(),
            stop: CancellationToken::new(),
        }
    }
}

/// Result of a run.
#[derive(Debug, Clone)]
pub struct PlayResult {
    /// Recorded lines in both directions, redacted.
    pub recording: Recording,
    /// Requests to the model, not redacted.
    pub requests: Vec<ModelRequest>,
    /// Reason why the scenario broke off, such as a wait that timed out; `None` if it reached its end.
    pub broke_off: Option<String>,
    /// Reason why the case does not apply to the agent, if a step found that.
    pub not_applicable: Option<String>,
    /// `true` if the scenario broke off at a wait that timed out while the agent was still running.
    pub wait_timed_out: bool,
    /// `true` if the scenario broke off before the client had sent all its lines. The agent cannot answer the
    /// other lines.
    pub unsent: bool,
    /// Factor for all time limits, without the slow start of the agent.
    pub patience: f64,
    /// Directory of the run, if it was kept.
    pub directory: Option<PathBuf>,
}

/// Plays a case against the agent of a profile.
///
/// # Errors
/// If the case cannot be played at all: the agent does not start, a file cannot be written, or a pattern is
/// invalid. A fault of the agent is not an error. It is described in the [`PlayResult`].
pub async fn play(
    case: &Scenario,
    profile: &Profile,
    options: &PlayOptions,
) -> Result<PlayResult, PlayError> {
    let steps = steps::prepare(case, profile)?;
    let replies = Arc::new(replies::prepare(case.replies.as_deref().unwrap_or_default())?);
    let CaseEnv { model, directory, variables, redactions, environment, argv } =
        prepare_env(case, profile, options).await?;
    let grace = case.exit_grace_ms.or(profile.exit_grace_ms).map_or(EXIT_GRACE, Duration::from_millis);
    let recorder = Arc::new(Recorder::default());
    let agent = Agent::start(&argv, directory.work(), &environment, recorder.clone())?;
    let grace = grace.mul_f64(options.patience * options.slowness);
    let responder = Responder::start(&replies, &variables, agent.input().clone(), recorder.clone());
    let mut runner = steps::CaseRunner {
        agent,
        argv: argv.clone(),
        grace,
        replies,
        responder,
        model: model.as_ref(),
        recorder: recorder.clone(),
        variables,
        environment,
        work: directory.work().to_owned(),
        patience: options.patience * options.slowness,
        slot: options.slot.clone(),
        cursor: 0,
        at: 0,
        wait_timed_out: false,
        found: serde_json::Value::Null,
        not_applicable: None,
    };
    let broke_off = tokio::select! {
        reason = runner.play(&steps) => reason,
        () = options.stop.cancelled() => Some(INTERRUPTED.to_owned()),
        limit = wait_for_limit(options.limit) => Some(format!("the case took longer than {} s", limit.as_secs_f64())),
    };
    let not_applicable = runner.not_applicable.take();
    let broke_off = broke_off.filter(|_| not_applicable.is_none());
    if let Some(reason) = &broke_off {
        recorder.control("player_error", Some(reason.clone()));
    }
    let in_vain = broke_off.is_some() && runner.wait_timed_out;
    let unsent = broke_off.is_some() && steps::sends_input(&steps[runner.at..]);
    runner.agent.finish(grace, "exit").await;
    drop(runner);

    let recording = Recording { header: header(case, profile, &argv), records: recorder.records() };
    let requests = model.as_ref().map(ScriptedModel::requests).unwrap_or_default();
    if let Some(model) = model {
        model.stop().await;
    }
    let kept = options.keep.then(|| directory.keep());
    Ok(PlayResult {
        recording: recording.map(|text| redactions.text(text)),
        requests,
        broke_off: broke_off.map(|reason| redactions.text(&reason)),
        not_applicable,
        wait_timed_out: in_vain,
        unsent,
        patience: options.patience,
        directory: kept,
    })
}

/// Everything that is needed to start an agent: a directory with the files of profile and case, a model, a
/// command line, and an environment.
pub(crate) struct CaseEnv {
    pub(crate) model: Option<ScriptedModel>,
    pub(crate) directory: RunDirectory,
    variables: Variables,
    redactions: Redactions,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) argv: Vec<String>,
}

impl CaseEnv {
    /// Returns the value of a variable, or an empty text if there is no such variable.
    pub(crate) fn variable(&self, name: &str) -> String {
        self.variables.text(&format!("${{{name}}}"))
    }
}

/// Prepares everything except the agent itself.
pub(crate) async fn prepare_env(
    case: &Scenario,
    profile: &Profile,
    options: &PlayOptions,
) -> Result<CaseEnv, PlayError> {
    let script = case.model.as_ref().map(|script| tools::of_profile(script, profile));
    let model = match &script {
        None => None,
        Some(script) => {
            let options = ModelOptions { log: options.model_log.clone(), ..ModelOptions::default() };
            Some(ScriptedModel::start_with(script.clone(), options).await?)
        }
    };
    let directory = RunDirectory::create()?;
    let mut variables = directory.variables(profile);
    variables.set("CASE", &case.name);
    // Without a model, the agent gets an address that refuses connections.
    let host = model.as_ref().map_or("127.0.0.1:9".to_owned(), |model| model.address().to_string());
    variables.set("PORT", host.rsplit(':').next().unwrap_or_default());
    variables.set("MODEL", format!("http://{host}"));
    variables.set("MODEL_HOST", &host);
    if let Some(script) = &script {
        variables.set("SCRIPT", directory.write_script(script)?.to_string_lossy());
    }
    let command = options.command.as_deref().or(profile.command.as_deref()).unwrap_or_default();
    let found = package(command).map(|folder| folder.to_string_lossy().into_owned());
    variables.set("PACKAGE", found.unwrap_or_default());
    let redactions = Redactions::of_run(profile, &variables, &directory, &host);
    directory.write_files(case, profile, &variables)?;

    let environment = environment(case, profile, &variables);
    for command in case.setup.iter().flatten() {
        let command = variables.text(command);
        let output = shell::run(&command, directory.work(), &environment, shell::LIMIT).await;
        if let Some(reason) = output.failure {
            return Err(PlayError::Setup { command, reason });
        }
    }
    let argv = argv(case, profile, options, &variables)?;
    Ok(CaseEnv { model, directory, variables, redactions, environment, argv })
}

/// Waits for the time limit and returns its duration. Never returns if there is no limit.
async fn wait_for_limit(limit: Option<Duration>) -> Duration {
    match limit {
        None => std::future::pending().await,
        Some(limit) => {
            tokio::time::sleep(limit).await;
            limit
        }
    }
}

fn header(case: &Scenario, profile: &Profile, argv: &[String]) -> TranscriptHeader {
    let mut header = TranscriptHeader::new(1, &profile.agent);
    header.version = Maybe::or_null(profile.version.clone());
    header.scenario = Maybe::Value(case.name.clone());
    header.title = Maybe::Value(case.title.clone());
    header.argv = Maybe::Value(argv.to_vec());
    header
}

/// Returns the agent's environment, with only the variables of profile and case.
fn environment(case: &Scenario, profile: &Profile, variables: &Variables) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for (name, value) in profile.environment.iter().chain(&case.environment).flatten() {
        all.retain(|(known, _)| known != name);
        all.push((name.clone(), variables.text(value)));
    }
    all
}

fn argv(
    case: &Scenario,
    profile: &Profile,
    options: &PlayOptions,
    variables: &Variables,
) -> Result<Vec<String>, PlayError> {
    let command = options.command.as_ref().or(profile.command.as_ref()).filter(|command| !command.is_empty());
    let command = command.ok_or_else(|| PlayError::NoCommand { profile: profile.name.clone() })?;
    let given = case.arguments.as_ref().or(profile.default_arguments.as_ref());
    let all = command.iter().chain(profile.arguments.iter().flatten()).chain(given.into_iter().flatten());
    Ok(all.map(|argument| variables.text(argument)).collect())
}
