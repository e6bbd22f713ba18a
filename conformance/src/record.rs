//! Recording what a real client and a real agent say to each other.
//!
//! The recorder stands between the two as a process of its own: the client starts it in the agent's
//! place. Bytes pass through untouched in both directions; what is written down is redacted, and not
//! kept at all where something that looks like a key is left.

pub mod case;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use agentese::redact::redact;
use agentese::transport::{BoxReader, BoxWriter, ChildOptions, Exit, SpawnError, Transport};
use agentese::types::{TranscriptHeader, TranscriptRecord};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::leaks::{Leak, known_leaks, leaks, secrets_of_environment};
use crate::player::Redactions;
use crate::recording::{Recorder, Recording};

/// How long what the agent wrote before its end may take to be passed on.
const DRAIN: Duration = Duration::from_secs(2);

/// Why a session cannot be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The agent does not start.
    #[error("the agent does not start: {0}")]
    Spawn(#[from] SpawnError),
    /// Something that looks like a key is left.
    #[error("not kept: record {record} has {} in it (`{}…`); replace it with --redact", leak.kind, leak.beginning)]
    Leak {
        /// The record's number in the transcript, from 1 behind the header.
        record: usize,
        /// What was found.
        leak: Leak,
    },
}

/// Stands between a client and an agent until both have ended. Gives what was said, and how the agent
/// ended. `stop` ends the agent before its time.
///
/// # Errors
/// Where the agent does not start.
pub async fn tee(
    client: Transport,
    agent: ChildOptions,
    stop: impl Future<Output = ()>,
) -> Result<(Vec<TranscriptRecord>, Exit), SpawnError> {
    let (stdout, stdin, child) = Transport::from_child(agent)?.into_parts();
    let (client_in, client_out, _) = client.into_parts();
    let recorder = Arc::new(Recorder::default());
    let to_agent = tokio::spawn(pass(client_in, stdin, Direction::ToAgent, recorder.clone()));
    let mut to_client = tokio::spawn(pass(stdout, client_out, Direction::ToClient, recorder.clone()));
    let exit = match child {
        None => Exit::default(),
        Some(child) => {
            tokio::select! {
                exit = child.exit() => {
                    let _ = tokio::time::timeout(DRAIN, &mut to_client).await;
                    exit
                }
                () = stop => {
                    recorder.control("stopped", None);
                    let exit = child.shutdown().await;
                    let _ = tokio::time::timeout(DRAIN, &mut to_client).await;
                    exit
                }
            }
        }
    };
    to_agent.abort();
    to_client.abort();
    let code = exit.code.map(i64::from).or(exit.signal.map(|signal| -i64::from(signal)));
    recorder.exit("exit", code, Some(exit.stderr_tail.clone()));
    Ok((recorder.records(), exit))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToAgent,
    ToClient,
}

/// Passes bytes on as they come, and writes down the lines that they make.
async fn pass(mut from: BoxReader, mut to: BoxWriter, direction: Direction, recorder: Arc<Recorder>) {
    let mut line: Vec<u8> = Vec::new();
    let mut buffer = Vec::with_capacity(64 << 10);
    loop {
        buffer.clear();
        match from.read_buf(&mut buffer).await {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        }
        // Written down first: an answer never stands before its question.
        let mut rest = &buffer[..];
        while let Some(end) = memchr::memchr(b'\n', rest) {
            line.extend_from_slice(&rest[..end]);
            write_down(&recorder, direction, &line, true);
            line.clear();
            rest = &rest[end + 1..];
        }
        line.extend_from_slice(rest);
        if to.write_all(&buffer).await.is_err() || to.flush().await.is_err() {
            break;
        }
    }
    if !line.is_empty() {
        write_down(&recorder, direction, &line, false);
    }
    match direction {
        Direction::ToAgent => recorder.control("stdin_closed", None),
        Direction::ToClient => recorder.end(),
    }
    // Dropping the writer is the other side's end of input.
}

fn write_down(recorder: &Recorder, direction: Direction, line: &[u8], is_whole: bool) {
    let text = String::from_utf8_lossy(line);
    match (direction, is_whole) {
        (Direction::ToAgent, true) => recorder.sent(&format!("{text}\n")),
        (Direction::ToAgent, false) => recorder.sent(&text),
        (Direction::ToClient, true) => recorder.received(&text, None),
        (Direction::ToClient, false) => recorder.received(&text, Some("")),
    }
}

/// A transcript that may be shown to others: keys and paths are replaced.
///
/// # Errors
/// Where something that looks like a key is left.
pub fn redacted(
    header: TranscriptHeader,
    records: Vec<TranscriptRecord>,
    redactions: &Redactions,
) -> Result<Recording, RecordError> {
    let recording = Recording { header, records }.map(|text| redactions.text(&redact(text)));
    let secrets = secrets_of_environment();
    for (at, record) in recording.records.iter().enumerate() {
        // The texts themselves, not their JSON: there every quote has a backslash.
        let texts = match record {
            TranscriptRecord::Line(line) => [line.line.as_deref(), None],
            TranscriptRecord::Note(note) => [Some(note.line.as_str()), None],
            TranscriptRecord::Control(control) => {
                [control.text.as_deref(), control.stderr.as_option().map(String::as_str)]
            }
            TranscriptRecord::Header(_) => [None, None],
        };
        for text in texts.into_iter().flatten() {
            let mut found = leaks(text);
            found.extend(known_leaks(text, &secrets));
            if let Some(leak) = found.into_iter().next() {
                return Err(RecordError::Leak { record: at + 1, leak });
            }
        }
    }
    let arguments = recording.header.argv.as_option().map(|argv| argv.join(" ")).unwrap_or_default();
    if let Some(leak) = leaks(&arguments).into_iter().chain(known_leaks(&arguments, &secrets)).next() {
        return Err(RecordError::Leak { record: 0, leak });
    }
    Ok(recording)
}
