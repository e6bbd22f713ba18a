//! `record`: records a transcript of a real client and a real agent.

use std::path::PathBuf;
use std::process::ExitCode;

use agentese::transport::{ChildOptions, stdio};
use agentese::types::TranscriptHeader;
use agentese::wire::Maybe;
use agentese_conformance::detect::detect;
use agentese_conformance::player::Redactions;
use agentese_conformance::record::case::{case, text};
use agentese_conformance::record::{redacted, tee};
use agentese_conformance::recording::Recording;
use anyhow::{Context as _, anyhow};
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

/// Record a session: a client starts this command in place of the agent.
///
/// The command starts the agent. All bytes pass through unchanged, and the exit code is the exit code of the
/// agent. The recorded lines have placeholders for keys, the home directory, the working directory and the
/// directory for temporary files. If a text still looks like a key, nothing is written, and the exit code is 3.
///
/// With `--case` the session becomes a case for `run --suite`. The session may also come from an earlier
/// transcript.
#[derive(Debug, Args)]
pub(super) struct Record {
    /// Output file of the transcript.
    #[arg(long, short, value_name = "FILE", required_unless_present = "case")]
    out: Option<PathBuf>,
    /// Create a case from the session: the actions of the client become steps, the output of the model becomes
    /// its script. The file name is the name of the case.
    #[arg(long, value_name = "FILE")]
    case: Option<PathBuf>,
    /// Create the case from this transcript, and record nothing.
    #[arg(long, value_name = "FILE", requires = "case", conflicts_with_all = ["out", "command"])]
    transcript: Option<PathBuf>,
    /// Dialect of the case, such as `pi` or `pi@0.55`. Default: detected from the session.
    #[arg(long, value_name = "NAME", requires = "case")]
    dialect: Option<String>,
    /// Name of the agent in the header. Default: the name of the program.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Title of the session in the header.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Replace a text in the recorded lines, before the default replacements; may be repeated.
    #[arg(long, value_name = "FROM=TO", value_parser = replacement)]
    redact: Vec<(String, String)>,
    /// Command of the agent.
    #[arg(last = true, required_unless_present = "transcript", value_name = "COMMAND")]
    command: Vec<String>,
}

fn replacement(text: &str) -> Result<(String, String), String> {
    let (from, to) = text.split_once('=').ok_or("expected FROM=TO")?;
    if from.is_empty() {
        return Err("FROM must not be empty".to_owned());
    }
    Ok((from.to_owned(), to.to_owned()))
}

impl Record {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        if let Some(transcript) = &self.transcript {
            self.write_case(&Recording::load(transcript)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        let (program, arguments) =
            self.command.split_first().context("pass the command of the agent after `--`")?;
        let (mut interrupted, mut ended) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let stop = async move {
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = ended.recv() => {}
            }
        };
        let options = ChildOptions::new(program).args(arguments).on_stderr_line(|line| eprintln!("{line}"));
        let (records, exit) = tee(stdio()?, options, stop).await?;
        let name = std::path::Path::new(program).file_stem().unwrap_or_default().to_string_lossy();
        let mut header = TranscriptHeader::new(1, self.agent.clone().unwrap_or_else(|| name.into_owned()));
        header.title = self.title.clone().map_or(Maybe::Absent, Maybe::Value);
        header.argv = Maybe::Value(self.command.clone());
        let recording =
            match redacted(header, records, &Redactions::new(directory_replacements(self.redact.clone()))) {
                Ok(recording) => recording,
                Err(error) => {
                    eprintln!("error: {error}");
                    return Ok(ExitCode::from(3));
                }
            };
        if let Some(out) = &self.out {
            recording.write(out).with_context(|| format!("cannot write {}", out.display()))?;
        }
        self.write_case(&recording)?;
        let code = exit.code.or(exit.signal.map(|signal| 128 + signal)).unwrap_or(1);
        Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
    }

    fn write_case(&self, session: &Recording) -> anyhow::Result<()> {
        let Some(file) = &self.case else { return Ok(()) };
        let spec = match &self.dialect {
            Some(dialect) => agentese::dynamic::spec(dialect)?,
            None => {
                let guesses = detect(&session.transcript()?)
                    .context("cannot detect the dialect of the session; pass --dialect")?;
                guesses.first().context("cannot detect the dialect of the session; pass --dialect")?.spec
            }
        };
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let made = case(spec, &name, session)
            .map_err(|reason| anyhow!("cannot create a case from the session: {reason}"))?;
        std::fs::write(file, text(&made)).with_context(|| format!("cannot write {}", file.display()))
    }
}

/// Returns the given replacements, and then replacements for the directories of this machine, the longest
/// path first. The working directory often lies in the home directory, so the order matters.
fn directory_replacements(mut pairs: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut places = Vec::new();
    let mut place = |path: Option<PathBuf>, name: &str| {
        let Some(path) = path.and_then(|path| path.to_str().map(str::to_owned)) else { return };
        let path = path.trim_end_matches('/').to_owned();
        // Skips a root directory, which would match every path.
        if path.len() > 1 {
            places.push((path.clone(), format!("/{name}")));
            places.push((path.trim_start_matches('/').replace('/', "-"), name.to_owned()));
        }
    };
    place(std::env::current_dir().ok(), "work-dir");
    place(std::env::var_os("HOME").map(PathBuf::from), "home-dir");
    place(Some(std::env::temp_dir()), "tmp-dir");
    places.retain(|(path, _)| path.contains(['/', '-']));
    places.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    pairs.extend(places);
    pairs
}
