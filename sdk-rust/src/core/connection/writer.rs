//! The writer of a connection. It writes whole lines in order, even if the callers that sent them are
//! cancelled.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use super::shared::{Outgoing, PanicGuard, Shared};
use crate::spec::{Framing, Spec};
use crate::tap::Direction;
use crate::termination::{Cause, Termination};
use crate::transport::BoxWriter;

/// Maximum number of lines in one write.
const BATCH: usize = 64;

/// Maximum capacity of the buffer that is kept after a write, in bytes. A buffer that grew larger for one long
/// line is freed.
const KEEP_CAPACITY: usize = 1 << 20;

pub(super) async fn run(
    shared: Arc<Shared>,
    mut inbox: mpsc::UnboundedReceiver<Outgoing>,
    mut writer: BoxWriter,
) {
    let mut lines = Vec::new();
    let mut bytes = Vec::new();
    let _settles = PanicGuard(shared.clone());
    loop {
        let received = tokio::select! {
            received = inbox.recv_many(&mut lines, BATCH) => received,
            () = shared.stop.cancelled() => 0,
        };
        let mut end = received == 0;
        let mut written_to = None;
        for outgoing in lines.drain(..) {
            match outgoing {
                Outgoing::Line(line) => {
                    shared.tap_frame(Direction::Sent, &line);
                    shared.watch(Direction::Sent, &line);
                    bytes.extend_from_slice(line.as_bytes());
                    bytes.push(b'\n');
                }
                Outgoing::End(written) => {
                    end = true;
                    written_to = Some(written);
                }
            }
        }
        if !bytes.is_empty() {
            let written = tokio::select! {
                written = async { writer.write_all(&bytes).await?; writer.flush().await } => written,
                () = shared.stop.cancelled() => return,
            };
            shared.unsent.fetch_sub(bytes.len(), Ordering::Relaxed);
            bytes.clear();
            if bytes.capacity() > KEEP_CAPACITY {
                bytes = Vec::new();
            }
            if let Err(error) = written {
                // The exit code of an ended peer is a better cause than the write error, so the exit gets
                // time to arrive first.
                let cause = Cause::Io { kind: error.kind(), text: error.to_string() };
                let pause = tokio::time::sleep(super::reader::EXIT_WITHIN);
                tokio::select! {
                    () = pause => {}
                    // The exit is known: the reader reports it after reading the rest.
                    () = shared.exited.cancelled() => return,
                    () = shared.stop.cancelled() => return,
                }
                shared.settle(Termination::new(cause));
                return;
            }
        }
        if end {
            if let Some(written) = written_to {
                let _ = written.send(());
            }
            let _ = writer.shutdown().await;
            return;
        }
    }
}

/// Returns the line of a command. `members` is the raw JSON object of its parameters.
pub(super) fn command_line(spec: &Spec, command: &str, id: &str, members: &str) -> String {
    let name = serde_json::Value::from(command);
    match spec.framing {
        Framing::JsonRpc { .. } => {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{name},\"params\":{members}}}")
        }
        _ => {
            let rest = members.strip_prefix('{').unwrap_or("}");
            let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
            format!("{{\"id\":{id},\"type\":{name}{comma}{rest}")
        }
    }
}
