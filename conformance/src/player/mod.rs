//! Playing a case against an agent.
//!
//! A run has a directory of its own with a fresh home and work directory, a model of its own, and an
//! environment that the profile alone decides. The agent is started in a process group of its own; at
//! the end its stdin is closed, after a grace it gets SIGTERM, then SIGKILL, and what it left behind in
//! its group goes the same way. Every wait is bounded.

mod agent;
mod applies;
mod error;
mod layout;
mod needs;
mod redact;
mod requests;
mod room;
mod shell;
mod steps;
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
pub(crate) use layout::RunDirectory;
pub use needs::{commands, needs};
pub use redact::Redactions;
pub use requests::{RequestFinding, check_requests};
pub use room::Room;
pub(crate) use room::Rooms;

use agent::Agent;

/// How long an agent may take to end once its stdin is closed, where neither case nor profile say so.
const EXIT_GRACE: Duration = Duration::from_secs(3);

/// How a case is played.
#[derive(Debug, Clone)]
pub struct PlayOptions {
    /// Program and arguments, in place of the profile's. Relative paths of the program are looked up from
    /// here, not from the work directory.
    pub command: Option<Vec<String>>,
    /// Waits are that many times as long as the case says.
    pub patience: f64,
    /// How many times as long as usual the agent takes to start. Waits are longer to the same degree.
    pub slowness: f64,
    /// Keeps the directory of the run, and says where it is.
    pub keep: bool,
    /// Where the log of the model goes as well.
    pub model_log: Option<PathBuf>,
    /// How long the scenario may take; no limit but those of its waits by default. Where it is over, the
    /// scenario breaks off and the agent is ended.
    pub limit: Option<Duration>,
    /// The room that the case takes among those that are played side by side.
    pub room: Room,
    /// Breaks the scenario off.
    pub stop: CancellationToken,
}

/// Why a scenario broke off that somebody stopped.
pub const STOPPED: &str = "it was interrupted";

impl Default for PlayOptions {
    fn default() -> Self {
        Self {
            command: None,
            patience: 1.0,
            slowness: 1.0,
            keep: false,
            model_log: None,
            limit: None,
            room: Room::default(),
            stop: CancellationToken::new(),
        }
    }
}

/// What came of playing a case.
#[derive(Debug, Clone)]
pub struct Played {
    /// What was said, redacted.
    pub recording: Recording,
    /// What the model received. Not redacted.
    pub requests: Vec<ModelRequest>,
    /// Why the scenario broke off, where it did: a wait that was in vain, say.
    pub broke_off: Option<String>,
    /// Whether it broke off at a wait whose time was over, with an agent that had not ended.
    pub in_vain: bool,
    /// Whether it broke off before the client had said everything: what it did not say, nobody can answer.
    pub unsent: bool,
    /// How many times as long as usual everything may take, whatever the agent takes to start.
    pub patience: f64,
    /// The directory of the run, where it was kept.
    pub directory: Option<PathBuf>,
}

/// Plays a case against the agent of a profile.
///
/// # Errors
/// Where the case cannot be played at all: the agent does not start, a file cannot be laid out, a
/// pattern is wrong. What the agent does wrong is no error but part of what was [`Played`].
pub async fn play(case: &Scenario, profile: &Profile, options: &PlayOptions) -> Result<Played, PlayError> {
    let steps = steps::prepare(case, profile)?;
    let Ground { model, directory, variables, redactions, environment, argv } =
        lay_out(case, profile, options).await?;
    let grace = case.exit_grace_ms.or(profile.exit_grace_ms).map_or(EXIT_GRACE, Duration::from_millis);
    let recorder = Arc::new(Recorder::default());
    let agent = Agent::start(&argv, directory.work(), &environment, recorder.clone())?;
    let mut stage = steps::Stage {
        agent,
        model: model.as_ref(),
        recorder: recorder.clone(),
        variables,
        environment,
        work: directory.work().to_owned(),
        patience: options.patience * options.slowness,
        room: options.room.clone(),
        cursor: 0,
        at: 0,
        in_vain: false,
    };
    let broke_off = tokio::select! {
        reason = stage.play(&steps) => reason,
        () = options.stop.cancelled() => Some(STOPPED.to_owned()),
        limit = over(options.limit) => Some(format!("the case took longer than {} s", limit.as_secs_f64())),
    };
    if let Some(reason) = &broke_off {
        recorder.control("player_error", Some(reason.clone()));
    }
    let in_vain = broke_off.is_some() && stage.in_vain;
    let unsent = broke_off.is_some() && steps::say_something(&steps[stage.at..]);
    stage.agent.finish(grace.mul_f64(options.patience * options.slowness)).await;

    let recording = Recording { header: header(case, profile, &argv), records: recorder.records() };
    let requests = model.as_ref().map(ScriptedModel::requests).unwrap_or_default();
    if let Some(model) = model {
        model.stop().await;
    }
    let kept = options.keep.then(|| directory.keep());
    Ok(Played {
        recording: recording.map(|text| redactions.text(text)),
        requests,
        broke_off: broke_off.map(|reason| redactions.text(&reason)),
        in_vain,
        unsent,
        patience: options.patience,
        directory: kept,
    })
}

/// What an agent needs to be started: a directory of its own with the files of profile and case, a model, a command
/// line and an environment.
pub(crate) struct Ground {
    pub(crate) model: Option<ScriptedModel>,
    pub(crate) directory: RunDirectory,
    variables: Variables,
    redactions: Redactions,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) argv: Vec<String>,
}

impl Ground {
    /// The value of a variable; empty if there is no such variable.
    pub(crate) fn variable(&self, name: &str) -> String {
        self.variables.text(&format!("${{{name}}}"))
    }
}

/// Prepares everything but the agent itself.
pub(crate) async fn lay_out(
    case: &Scenario,
    profile: &Profile,
    options: &PlayOptions,
) -> Result<Ground, PlayError> {
    let model = match &case.model {
        None => None,
        Some(script) => {
            let options = ModelOptions { log: options.model_log.clone(), ..ModelOptions::default() };
            Some(ScriptedModel::start_with(script.clone(), options).await?)
        }
    };
    let directory = RunDirectory::create()?;
    let mut variables = directory.variables(profile);
    variables.set("CASE", &case.name);
    // Without a model, nobody listens where the profile says that it is.
    let host = model.as_ref().map_or("127.0.0.1:9".to_owned(), |model| model.address().to_string());
    variables.set("PORT", host.rsplit(':').next().unwrap_or_default());
    variables.set("MODEL", format!("http://{host}"));
    variables.set("MODEL_HOST", &host);
    if let Some(script) = &case.model {
        variables.set("SCRIPT", directory.write_script(script)?.to_string_lossy());
    }
    let command = options.command.as_deref().or(profile.command.as_deref()).unwrap_or_default();
    let found = package(command).map(|folder| folder.to_string_lossy().into_owned());
    variables.set("PACKAGE", found.unwrap_or_default());
    let redactions = Redactions::of_run(profile, &variables, &directory, &host);
    directory.lay_out(case, profile, &variables)?;

    let environment = environment(case, profile, &variables);
    for command in case.setup.iter().flatten() {
        let command = variables.text(command);
        let output = shell::run(&command, directory.work(), &environment, shell::LIMIT).await;
        if let Some(reason) = output.failure {
            return Err(PlayError::Setup { command, reason });
        }
    }
    let argv = argv(case, profile, options, &variables)?;
    Ok(Ground { model, directory, variables, redactions, environment, argv })
}

/// When the time is over; never where there is no limit.
async fn over(limit: Option<Duration>) -> Duration {
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

/// The agent's environment: what profile and case say, and nothing else.
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
