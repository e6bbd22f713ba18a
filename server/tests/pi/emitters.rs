//! Tests of many concurrent emitters that share one output.

use std::sync::Arc;

use agentese::pi::{Event, ExtensionError, InputReceipt, Pi, PromptParams};
use agentese::serve::{Call, CommandError, Options, serve_with};
use agentese::transport::memory_pair;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::support::soon;

const WRITERS: usize = 64;
const EACH: usize = 1_600;

struct ChattyService;

impl agentese::pi::Service for ChattyService {
    async fn prompt(
        &self,
        _: PromptParams,
        call: Call<Pi, Option<InputReceipt>>,
    ) -> Result<Option<InputReceipt>, CommandError> {
        call.answer(None);
        for writer in 0..WRITERS {
            let emitter = call.emitter().clone();
            tokio::spawn(async move {
                for number in 0..EACH {
                    // Lines of very different lengths, with all characters that need an escape.
                    let error = "\n\"\\ü\u{2028}".repeat(number % 50);
                    let path = format!("{writer}");
                    let event = ExtensionError::new(path, number.to_string(), error);
                    emitter.emit(&Event::from(event)).await;
                }
            });
        }
        Ok(None)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fm_f24_frames_of_many_writers_never_interleave() {
    let (ours, theirs) = memory_pair(777);
    let mut options = Options::default();
    options.outbox_bytes = 1 << 16;
    let served = tokio::spawn(serve_with(theirs, Arc::new(ChattyService), options, |_| {}));
    let (reader, mut writer, _) = ours.into_parts();
    writer.write_all(b"{\"id\":1,\"type\":\"prompt\",\"message\":\"\"}\n").await.unwrap();
    let mut lines = BufReader::new(reader).lines();
    let first: Value =
        serde_json::from_str(&soon("the answer", lines.next_line()).await.unwrap().unwrap()).unwrap();
    assert_eq!(first, json!({"id": 1, "type": "response", "command": "prompt", "success": true}));
    let mut next = [0; WRITERS];
    for _ in 0..WRITERS * EACH {
        let line = soon("a frame", lines.next_line()).await.unwrap().unwrap();
        let frame: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let number = |name: &str| frame[name].as_str().unwrap().parse::<usize>().unwrap();
        let (writer, number) = (number("extensionPath"), number("event"));
        assert_eq!(number, next[writer], "each writer's frames keep their order");
        assert_eq!(frame["error"], "\n\"\\ü\u{2028}".repeat(number % 50));
        next[writer] += 1;
    }
    assert_eq!(next, [EACH; WRITERS]);
    drop(writer);
    soon("the end", served).await.unwrap();
}
