//! Client mode: the suite plays the agent of a golden transcript and judges a client library. A small
//! program around the library, the *driver*, connects both.
//!
//! The driver starts the agent that the suite names: this program, which passes bytes between the client's
//! pipes and the suite. The driver makes the calls of the recorded client. It reports the library's answers,
//! events and dialogs, and the end. `docs/conformance-clients.md` describes the protocol between suite and
//! driver.
//!
//! Some cases cannot be played by a client library: they send lines that are written by hand, or parameters
//! that a library rejects. Such a case is not applicable. The suite sees this from the steps and the
//! transcript of the case, not from its name.

mod agent_output;
mod batch;
mod case_runner;
mod checks;
mod client_lines;
mod client_only_cases;
mod compare;
mod covered_items;
mod driver;
mod driver_reports;
mod input;
mod line_encoder;
mod pending_reports;
mod plan;
mod relay;
mod report_tracker;
pub mod torture;

use std::collections::HashMap;
use std::path::PathBuf;

use agentese::spec::Spec;
use agentese::types::{CheckLevel, DriverStart, Scenario, TranscriptHeader};
use tokio::sync::mpsc::unbounded_channel;

pub use self::batch::{ClientRun, run_client};
use self::case_runner::{ClientCaseRunner, EarlyEnd};
pub use self::checks::CHECKS;
use self::checks::Checks;
pub use self::client_only_cases::{ClientOnlyCase, client_only_cases};
pub(crate) use self::covered_items::covered_items;
use self::driver::Driver;
use self::input::Input;
use self::line_encoder::LineEncoder;
use self::plan::{PlannedAction, plan};
use self::relay::Listener;
pub use self::relay::{COMMAND, relay};
use self::report_tracker::ReportTracker;
use crate::judge::Judgement;
use crate::recording::{Recorder, Recording};
use crate::replay::ends_during_run;
use crate::transcript::{Record, Transcript};
use crate::verdict::Verdict;

/// The client to judge.
#[derive(Debug, Clone)]
pub struct Client {
    /// The driver's program and its arguments.
    pub driver: Vec<String>,
    /// Path of this program, whose command `client-agent` is the agent.
    pub program: PathBuf,
    /// Factor on all time limits, for slow machines.
    pub patience: f64,
}

/// Outcome of a case.
#[derive(Debug, Clone)]
pub struct ClientJudgement {
    /// Judgement of the case.
    pub judgement: Judgement,
    /// Name of the library, as reported by its driver.
    pub library: Option<String>,
}

/// Plays a case to a client and judges it.
///
/// A case is not applicable, with a reason, if no client library can play it, or if this library lacks a
/// feature. If the driver does not start, or does not start the agent, the verdict is
/// [`Verdict::Inconclusive`].
pub async fn judge_client(case: &Scenario, golden: &Transcript, client: &Client) -> ClientJudgement {
    let unclear =
        |error: &dyn std::fmt::Display| EarlyEnd::Inconclusive(format!("cannot plan the case: {error}"));
    let script = agentese::dynamic::spec(&case.dialect).map_err(|error| unclear(&error)).and_then(|spec| {
        let moves = plan(spec, case, golden).map_err(EarlyEnd::Unsupported)?;
        let cut = ends_during_run(spec, &before_close(golden));
        Ok(AgentScript {
            spec,
            actions: moves,
            ends_mid_run: cut,
            encoder: LineEncoder::default(),
            rush: false,
        })
    });
    judge_script(case, script, &golden.header, client).await
}

/// The actions of the simulated agent in a case, and the encoding of its lines.
struct AgentScript {
    spec: &'static Spec,
    actions: Vec<PlannedAction>,
    /// `true` if the agent ends, or the connection closes, during a run.
    ends_mid_run: bool,
    encoder: LineEncoder,
    /// `true` if the driver receives further calls before it has reported on earlier ones.
    rush: bool,
}

async fn judge_script(
    case: &Scenario,
    script: Result<AgentScript, EarlyEnd>,
    header: &TranscriptHeader,
    client: &Client,
) -> ClientJudgement {
    let recorder = Recorder::default();
    let judgement = Judgement {
        case: case.clone(),
        findings: Vec::new(),
        frames: 0,
        agreed: 0,
        recording: None,
        requests: Vec::new(),
        early_verdict: None,
    };
    let mut judgement = ClientJudgement { judgement, library: None };
    let outcome = match script {
        Ok(part) => play(case, part, client, &recorder, &mut judgement).await,
        Err(stop) => Err(stop),
    };
    let records = recorder.records();
    // The declared coverage of a case is about agents. The coverage of a client is computed from the
    // recorded lines.
    judgement.judgement.case.covers = Some(covered_items(&case.dialect, &records));
    judgement.judgement.recording = Some(Recording { header: header.clone(), records });
    judgement.judgement.early_verdict = match outcome {
        Ok(()) | Err(EarlyEnd::CheckFailed) => None,
        Err(EarlyEnd::Unsupported(reason)) => Some((Verdict::NotApplicable, reason)),
        Err(EarlyEnd::Inconclusive(reason)) => Some((Verdict::Inconclusive, reason)),
    };
    judgement
}

async fn play(
    case: &Scenario,
    script: AgentScript,
    client: &Client,
    recorder: &Recorder,
    judgement: &mut ClientJudgement,
) -> Result<(), EarlyEnd> {
    let unclear =
        |what: &str, error: &dyn std::fmt::Display| EarlyEnd::Inconclusive(format!("{what}: {error}"));
    let directory = tempfile::Builder::new().prefix("agentese-client-").tempdir();
    let directory = directory.map_err(|error| unclear("cannot create a directory for the run", &error))?;
    let listener =
        Listener::bind(directory.path()).map_err(|error| unclear("cannot open a socket", &error))?;
    let start = DriverStart::new(&case.dialect, agent_command(client, &listener));
    let (readers, inbox) = unbounded_channel();
    let driver = Driver::start(&client.driver, readers.clone())
        .map_err(|error| unclear("the driver does not start", &error))?;
    let entered = readers.clone();
    let listener = tokio::spawn(async move {
        if let Ok((reader, writer)) = listener.accept().await {
            let _ = entered.send(Input::Agent(reader, writer));
        }
    });
    let mut runner = ClientCaseRunner {
        spec: script.spec,
        recorder,
        driver,
        inbox,
        inbox_sender: readers,
        patience: client.patience,
        ends_mid_run: script.ends_mid_run,
        encoder: script.encoder,
        rush: script.rush,
        checks: Checks::default(),
        tracker: ReportTracker::default(),
        agent_writer: None,
        ready: None,
        expected_line: None,
        library_commands: Vec::new(),
        last_answers: HashMap::new(),
        records: 0,
        lines: Vec::new(),
        closing: false,
        agent_stdin_closed: false,
        client_closed: false,
        agent_ended: false,
        closed: false,
        driver_ended: false,
    };
    let outcome = runner.play(start, &script.actions).await;
    listener.abort();
    judgement.library = runner.ready.take().map(|ready| ready.library);
    (judgement.judgement.frames, judgement.judgement.agreed) = runner.tracker.count();
    judgement.judgement.findings = runner.checks.findings(case.level.unwrap_or(CheckLevel::Should));
    // Ends the agent's process, so that the driver need not wait for it.
    drop(runner.agent_writer.take());
    runner.driver.end().await;
    outcome
}

/// Returns the part of the transcript before the client closed the connection.
fn before_close(golden: &Transcript) -> Transcript {
    let closes =
        |record: &Record| matches!(record, Record::Control(control) if control.event == "stdin_closed");
    let records = golden.records.iter().take_while(|record| !closes(record)).cloned().collect();
    Transcript { header: golden.header.clone(), records }
}

/// Returns the command line of the agent.
fn agent_command(client: &Client, listener: &Listener) -> Vec<String> {
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    vec![text(&client.program), COMMAND.to_owned(), text(listener.path())]
}
