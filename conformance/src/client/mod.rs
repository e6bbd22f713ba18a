//! Client mode: the same cases with the sides swapped. The suite plays the agent of a golden transcript
//! and judges a client library, through a small program around it, the *driver*.
//!
//! The driver starts the agent that it is told to start (this program, which passes bytes between the
//! client's pipes and the suite), makes the calls that the recorded client made, and reports what its
//! library gives: answers, events, dialogs, the end. `docs/conformance-clients.md` has the protocol.
//!
//! A case that no client library can play (lines that are written by hand, parameters that a library
//! refuses) is not applicable; that is seen from its steps and its transcript, not from its name.

mod checks;
mod compare;
mod driver;
mod heard;
mod ledger;
mod plan;
mod relay;
mod spoken;
mod stage;
mod told;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;

use agentese::types::{CheckLevel, DriverStart, Scenario};
use tokio::sync::mpsc::unbounded_channel;

pub use self::checks::CHECKS;
use self::checks::Checks;
use self::driver::Driver;
use self::ledger::Ledger;
use self::plan::plan;
pub use self::relay::{COMMAND, relay};
use self::relay::Door;
use self::stage::{Input, Stage, Stop};
use crate::recording::{Recorder, Recording};
use crate::replay::ends_at_work;
use crate::transcript::{Record, Transcript};
use crate::verdict::{Finding, Outcome, Verdict};

/// How cases are played to a client.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The program whose command `client-agent` is the agent: this one.
    pub program: PathBuf,
    /// Factor on all time limits, for slow machines.
    pub patience: f64,
}

/// What came of a case.
#[derive(Debug, Clone)]
pub struct ClientJudged {
    /// The verdict.
    pub verdict: Verdict,
    /// The checks that were made.
    pub findings: Vec<Finding>,
    /// Why it is not applicable, or could not be judged.
    pub reason: Option<String>,
    /// What the client and the suite said to each other.
    pub recording: Recording,
    /// The library that was judged, as its driver calls it.
    pub library: Option<String>,
}

/// Plays a case to a client and judges it.
///
/// Where the driver cannot be started or never gets as far as the agent, the verdict is
/// [`Verdict::Inconclusive`] with a reason.
pub async fn judge_client(
    case: &Scenario,
    golden: &Transcript,
    driver: &[String],
    options: &ClientOptions,
) -> ClientJudged {
    let recorder = Recorder::default();
    let mut judged = ClientJudged {
        verdict: Verdict::Inconclusive,
        findings: Vec::new(),
        reason: None,
        recording: Recording { header: golden.header.clone(), records: Vec::new() },
        library: None,
    };
    let outcome = play(case, golden, driver, options, &recorder, &mut judged).await;
    judged.recording.records = recorder.records();
    judged.reason = outcome.as_ref().err().and_then(|stop| match stop {
        Stop::Judged => None,
        Stop::Unsupported(reason) | Stop::Unclear(reason) => Some(reason.clone()),
    });
    judged.verdict = match outcome {
        Err(Stop::Unsupported(_)) => Verdict::NotApplicable,
        Err(Stop::Unclear(_)) => Verdict::Inconclusive,
        Ok(()) | Err(Stop::Judged) => verdict(&judged.findings),
    };
    judged
}

/// The verdict that findings add up to.
fn verdict(findings: &[Finding]) -> Verdict {
    let any = |is: fn(&Finding) -> bool| findings.iter().any(is);
    if any(|it| matches!(it.outcome, Outcome::Failed(_)) && it.level != CheckLevel::Info) {
        Verdict::Fail
    } else if any(|it| matches!(it.outcome, Outcome::Allowed { .. })) {
        Verdict::Lenient
    } else {
        Verdict::Pass
    }
}

async fn play(
    case: &Scenario,
    golden: &Transcript,
    command: &[String],
    options: &ClientOptions,
    recorder: &Recorder,
    judged: &mut ClientJudged,
) -> Result<(), Stop> {
    let unclear = |what: &str, error: &dyn std::fmt::Display| Stop::Unclear(format!("{what}: {error}"));
    let spec = agentese::dynamic::spec(&case.dialect).map_err(|error| unclear("the dialect", &error))?;
    let moves = plan(spec, case, golden).map_err(Stop::Unsupported)?;
    let directory = tempfile::Builder::new().prefix("agentese-client-").tempdir();
    let directory = directory.map_err(|error| unclear("cannot make a directory for the run", &error))?;
    let door = Door::open(directory.path()).map_err(|error| unclear("cannot open a socket", &error))?;
    let start = DriverStart::new(&case.dialect, agent(options, &door));
    let (readers, inbox) = unbounded_channel();
    let driver = Driver::start(command, readers.clone()).map_err(|error| unclear("the driver", &error))?;
    let entered = readers.clone();
    let door = tokio::spawn(async move {
        if let Ok((ears, mouth)) = door.enter().await {
            let _ = entered.send(Input::Agent(ears, mouth));
        }
    });
    let mut stage = Stage {
        spec,
        recorder,
        driver,
        inbox,
        readers,
        patience: options.patience,
        cut: ends_at_work(spec, &before_close(golden)),
        checks: Checks::default(),
        ledger: Ledger::default(),
        mouth: None,
        ready: None,
        awaited: None,
        owed: Vec::new(),
        last: HashMap::new(),
        records: 0,
        recent: VecDeque::new(),
        closing: false,
        client_closed: false,
        agent_ended: false,
        closed: false,
        driver_ended: false,
    };
    let outcome = stage.play(start, &moves).await;
    door.abort();
    judged.library = stage.ready.take().map(|ready| ready.library);
    judged.findings = stage.checks.findings(case.level.clone().unwrap_or(CheckLevel::Should));
    stage.driver.end().await;
    outcome
}

/// What was said before the client closed the connection.
fn before_close(golden: &Transcript) -> Transcript {
    let closes = |record: &Record| matches!(record, Record::Control(control) if control.event == "stdin_closed");
    let records = golden.records.iter().take_while(|record| !closes(record)).cloned().collect();
    Transcript { header: golden.header.clone(), records }
}

/// The command line of the agent.
fn agent(options: &ClientOptions, door: &Door) -> Vec<String> {
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    vec![text(&options.program), COMMAND.to_owned(), text(door.path())]
}
