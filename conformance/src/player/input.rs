//! The agent's stdin. The steps of a case and its automatic replies write to it.

use std::sync::Arc;
use std::time::Duration;

use agentese::transport::BoxWriter;
use tokio::io::AsyncWriteExt;
use tokio::sync::Mutex;

use crate::recording::Recorder;

/// Time limit of a write.
const WRITE: Duration = Duration::from_secs(20);

/// Writer of whole lines to an agent, which several tasks share.
pub(super) struct AgentInput {
    /// `None` after stdin was closed.
    writer: Mutex<Option<BoxWriter>>,
    recorder: Arc<Recorder>,
}

impl AgentInput {
    pub(super) fn new(writer: BoxWriter, recorder: Arc<Recorder>) -> Self {
        Self { writer: Mutex::new(Some(writer)), recorder }
    }

    /// Writes a text. Records it before, so that the record of an answer never precedes the record of its
    /// command.
    pub(super) async fn write(&self, text: &str) -> Result<(), String> {
        let mut writer = self.writer.lock().await;
        self.recorder.sent(text);
        self.write_to(&mut writer, text.as_bytes()).await
    }

    /// Writes bytes without a record.
    pub(super) async fn write_bytes(&self, bytes: &[u8]) -> Result<(), String> {
        let mut writer = self.writer.lock().await;
        self.write_to(&mut writer, bytes).await
    }

    async fn write_to(&self, writer: &mut Option<BoxWriter>, bytes: &[u8]) -> Result<(), String> {
        let Some(writer) = writer else { return Err("stdin is closed".to_owned()) };
        let write = async {
            writer.write_all(bytes).await?;
            writer.flush().await
        };
        match tokio::time::timeout(WRITE, write).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                // The agent may end at any time: the comparison judges its end, and later steps of the
                // scenario fail anyway.
                self.recorder.control("player_error", Some(format!("cannot write to stdin: {error}")));
                Ok(())
            }
            Err(_) => Err(format!("the agent did not read stdin for {} s", WRITE.as_secs())),
        }
    }

    /// Closes stdin. Returns `false` if it was closed before.
    pub(super) async fn close(&self) -> bool {
        let was_open = self.writer.lock().await.take().is_some();
        if was_open {
            self.recorder.control("stdin_closed", None);
        }
        was_open
    }
}
