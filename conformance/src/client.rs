//! Client mode: the same cases with the sides swapped. The suite plays the agent of a golden transcript and
//! judges a client library, through a small program around it, the *driver*.
//!
//! The driver starts the agent that the suite names: this program, which passes bytes between the client's
//! pipes and the suite. The driver makes the calls of the recorded client. It reports the library's answers,
//! events and dialogs, and the end. `docs/conformance-clients.md` has the protocol.
//!
//! Some cases cannot be played by a client library: they send lines that are written by hand, or parameters
//! that a library rejects. Such a case is not applicable. The suite sees this from the steps and the
//! transcript of the case, not from its name.

mod checks;
mod compare;
mod driver;
mod heard;
mod input;
mod ledger;
mod manner;
mod many;
mod plan;
mod probes;
mod relay;
mod settle;
mod shown;
mod spoken;
mod stage;
mod told;
pub mod torture;

use std::collections::HashMap;
use std::path::PathBuf;

use agentese::spec::Spec;
use agentese::types::{CheckLevel, DriverStart, Scenario, TranscriptHeader};
use tokio::sync::mpsc::unbounded_channel;

pub use self::checks::CHECKS;
use self::checks::Checks;
use self::driver::Driver;
use self::input::Input;
use self::ledger::Ledger;
use self::manner::Manner;
pub use self::many::{ClientRun, run_client};
use self::plan::{Move, plan};
pub use self::probes::{Probe, probes};
use self::relay::Door;
pub use self::relay::{COMMAND, relay};
pub(crate) use self::shown::shown;
use self::stage::{Stage, Stop};
use crate::judge::Judged;
use crate::recording::{Recorder, Recording};
use crate::replay::ends_at_work;
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
pub struct ClientJudged {
    /// Judgement of the case.
    pub judged: Judged,
    /// Name of the library, as reported by its driver.
    pub library: Option<String>,
}

/// Plays a case to a client and judges it.
///
/// A case is not applicable, with a reason, if no client library can play it, or if this library lacks a
/// feature. If the driver does not start, or does not start the agent, the verdict is
/// [`Verdict::Inconclusive`].
pub async fn judge_client(case: &Scenario, golden: &Transcript, client: &Client) -> ClientJudged {
    let unclear = |error: &dyn std::fmt::Display| Stop::Unclear(format!("the dialect: {error}"));
    let part = agentese::dynamic::spec(&case.dialect).map_err(|error| unclear(&error)).and_then(|spec| {
        let moves = plan(spec, case, golden).map_err(Stop::Unsupported)?;
        let cut = ends_at_work(spec, &before_close(golden));
        Ok(Part { spec, moves, cut, manner: Manner::default(), rush: false })
    });
    judge_part(case, part, &golden.header, client).await
}

/// The agent's moves in a case, and their spelling.
struct Part {
    spec: &'static Spec,
    moves: Vec<Move>,
    /// `true` if the agent ends, or the connection closes, during a run.
    cut: bool,
    manner: Manner,
    /// `true` if calls do not wait for the client's reports.
    rush: bool,
}

async fn judge_part(
    case: &Scenario,
    part: Result<Part, Stop>,
    header: &TranscriptHeader,
    client: &Client,
) -> ClientJudged {
    let recorder = Recorder::default();
    let judged = Judged {
        case: case.clone(),
        findings: Vec::new(),
        frames: 0,
        agreed: 0,
        recording: None,
        requests: Vec::new(),
        set_aside: None,
    };
    let mut judged = ClientJudged { judged, library: None };
    let outcome = match part {
        Ok(part) => play(case, part, client, &recorder, &mut judged).await,
        Err(stop) => Err(stop),
    };
    let records = recorder.records();
    // The declared coverage of a case is about agents.
    judged.judged.case.covers = Some(shown(&case.dialect, &records));
    judged.judged.recording = Some(Recording { header: header.clone(), records });
    judged.judged.set_aside = match outcome {
        Ok(()) | Err(Stop::Judged) => None,
        Err(Stop::Unsupported(reason)) => Some((Verdict::NotApplicable, reason)),
        Err(Stop::Unclear(reason)) => Some((Verdict::Inconclusive, reason)),
    };
    judged
}

async fn play(
    case: &Scenario,
    part: Part,
    client: &Client,
    recorder: &Recorder,
    judged: &mut ClientJudged,
) -> Result<(), Stop> {
    let unclear = |what: &str, error: &dyn std::fmt::Display| Stop::Unclear(format!("{what}: {error}"));
    let directory = tempfile::Builder::new().prefix("agentese-client-").tempdir();
    let directory = directory.map_err(|error| unclear("cannot make a directory for the run", &error))?;
    let door = Door::open(directory.path()).map_err(|error| unclear("cannot open a socket", &error))?;
    let start = DriverStart::new(&case.dialect, agent(client, &door));
    let (readers, inbox) = unbounded_channel();
    let driver =
        Driver::start(&client.driver, readers.clone()).map_err(|error| unclear("the driver", &error))?;
    let entered = readers.clone();
    let door = tokio::spawn(async move {
        if let Ok((ears, mouth)) = door.enter().await {
            let _ = entered.send(Input::Agent(ears, mouth));
        }
    });
    let mut stage = Stage {
        spec: part.spec,
        recorder,
        driver,
        inbox,
        readers,
        patience: client.patience,
        cut: part.cut,
        manner: part.manner,
        rush: part.rush,
        checks: Checks::default(),
        ledger: Ledger::default(),
        mouth: None,
        ready: None,
        awaited: None,
        owed: Vec::new(),
        last: HashMap::new(),
        records: 0,
        lines: Vec::new(),
        closing: false,
        deaf: false,
        client_closed: false,
        agent_ended: false,
        closed: false,
        driver_ended: false,
    };
    let outcome = stage.play(start, &part.moves).await;
    door.abort();
    judged.library = stage.ready.take().map(|ready| ready.library);
    (judged.judged.frames, judged.judged.agreed) = stage.ledger.count();
    judged.judged.findings = stage.checks.findings(case.level.unwrap_or(CheckLevel::Should));
    // Ends the agent's process, so that the driver need not wait for it.
    drop(stage.mouth.take());
    stage.driver.end().await;
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
fn agent(client: &Client, door: &Door) -> Vec<String> {
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    vec![text(&client.program), COMMAND.to_owned(), text(door.path())]
}
