//! Recording of a session between a real client and a real agent.
//!
//! The recorder is a process between the two, which the client starts in place of the agent. Bytes pass
//! through unchanged in both directions. The recorded lines are redacted. No transcript is written if a text
//! still looks like a key.

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

/// Time limit for output that the agent wrote before its end.
const DRAIN: Duration = Duration::from_secs(2);

/// Reason why a session cannot be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The agent does not start.
    #[error("the agent does not start: {0}")]
    Spawn(#[from] SpawnError),
    /// A text still looks like a key.
    #[error("transcript not written: record {record} contains {} (`{}…`); replace it with --redact", leak.kind, leak.beginning)]
    Leak {
        /// Number of the record in the transcript, counted from 1 after the header.
        record: usize,
        /// Description of the key.
        leak: Leak,
    },
}

/// Passes bytes between a client and an agent until both have ended. Returns the records and the exit status
/// of the agent. Ends the agent when `stop` completes.
///
/// # Errors
/// If the agent does not start.
pub async fn tee(
    client: Transport,
    agent: ChildOptions,
    stop: impl Future<Output = ()>,
) -> Result<(Vec<TranscriptRecord>, Exit), SpawnError> {
    let (stdout, stdin, child) = Transport::from_child(agent)?.into_parts();
    let (client_in, client_out, _) = client.into_parts();
    let recorder = Arc::new(Recorder::default());
    let to_agent = tokio::spawn(forward(client_in, stdin, PipeDirection::ToAgent, recorder.clone()));
    let mut to_client = tokio::spawn(forward(stdout, client_out, PipeDirection::ToClient, recorder.clone()));
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
enum PipeDirection {
    ToAgent,
    ToClient,
}

/// Passes bytes on as they arrive, and records the lines.
async fn forward(mut from: BoxReader, mut to: BoxWriter, direction: PipeDirection, recorder: Arc<Recorder>) {
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
        // A line is recorded before it is passed on, so that an answer never precedes its command.
        let mut rest = &buffer[..];
        while let Some(end) = memchr::memchr(b'\n', rest) {
            line.extend_from_slice(&rest[..end]);
            record_line(&recorder, direction, &line, true);
            line.clear();
            rest = &rest[end + 1..];
        }
        line.extend_from_slice(rest);
        if to.write_all(&buffer).await.is_err() || to.flush().await.is_err() {
            break;
        }
    }
    if !line.is_empty() {
        record_line(&recorder, direction, &line, false);
    }
    match direction {
        PipeDirection::ToAgent => recorder.control("stdin_closed", None),
        PipeDirection::ToClient => recorder.end(),
    }
    // The writer is dropped here, which ends the input of the receiver.
}

fn record_line(recorder: &Recorder, direction: PipeDirection, line: &[u8], is_whole: bool) {
    let text = String::from_utf8_lossy(line);
    match (direction, is_whole) {
        (PipeDirection::ToAgent, true) => recorder.sent(&format!("{text}\n")),
        (PipeDirection::ToAgent, false) => recorder.sent(&text),
        (PipeDirection::ToClient, true) => recorder.received(&text, None),
        (PipeDirection::ToClient, false) => recorder.received(&text, Some("")),
    }
}

/// Creates a transcript that can be published: keys and paths are replaced.
///
/// # Errors
/// If a text still looks like a key.
pub fn redacted(
    header: TranscriptHeader,
    records: Vec<TranscriptRecord>,
    redactions: &Redactions,
) -> Result<Recording, RecordError> {
    let recording = Recording { header, records }.map(|text| redactions.text(&redact(text)));
    let secrets = secrets_of_environment();
    for (at, record) in recording.records.iter().enumerate() {
        // The texts themselves are searched. In their JSON form, every quote has a backslash.
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
