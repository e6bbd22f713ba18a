//! An agent that does no work and records everything that it receives.

use std::fs::File;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;

use agentese::spec::{Framing, Spec};
use serde_json::{Value, json};

/// Id of the only question that this agent asks. The question follows its first command.
pub(in crate::attack) const QUESTION: &str = "stand-in-question";

pub(super) fn run(dialect: &str, log: &Path) -> io::Result<()> {
    let spec = agentese::dynamic::spec(dialect).map_err(io::Error::other)?;
    let mut log = File::options().create(true).append(true).open(log)?;
    let mut stdout = io::stdout().lock();
    let mut asked = false;
    for line in io::stdin().lock().split(b'\n') {
        let mut line = line?;
        line.push(b'\n');
        // The line is recorded in the file before its response is visible.
        log.write_all(&line)?;
        let Ok(frame) = serde_json::from_slice::<Value>(&line) else { continue };
        if let Some(answer) = answer(spec, &frame) {
            writeln!(stdout, "{answer}")?;
        }
        if let (false, Some(question)) = (asked, question(spec)) {
            asked = true;
            writeln!(stdout, "{question}")?;
        }
        stdout.flush()?;
    }
    Ok(())
}

fn answer(spec: &Spec, frame: &Value) -> Option<Value> {
    let id = frame.get("id")?;
    Some(match spec.framing {
        Framing::JsonRpc { .. } => {
            frame.get("method")?;
            let session = spec.session_member.map(|member| (member.to_owned(), json!("s")));
            let result: serde_json::Map<String, Value> = session.into_iter().collect();
            json!({"jsonrpc": "2.0", "id": id, "result": result})
        }
        _ => {
            json!({"type": "response", "command": frame.get("type")?, "success": true, "id": id, "data": {}})
        }
    })
}

fn question(spec: &Spec) -> Option<Value> {
    let dialog = spec.dialogs.iter().find(|dialog| dialog.answered && dialog.frames.is_none())?;
    Some(match (spec.framing, &spec.dialog_frames) {
        (Framing::JsonRpc { .. }, _) => json!({
            "jsonrpc": "2.0", "id": QUESTION, "method": dialog.wire,
            "params": {"session_id": "s", "title": "?", "message": "?"},
        }),
        (_, frames) => json!({
            "type": frames.as_ref()?.request, "id": QUESTION, "method": dialog.wire, "title": "?", "message": "?",
            "options": ["a"],
        }),
    })
}
