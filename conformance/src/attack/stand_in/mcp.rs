//! An MCP server with a defect.

use std::fs::File;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;

use serde_json::{Value, json};

/// Name of the tool that the server offers.
pub(in crate::attack) const TOOL: &str = "stand_in_echo";

/// Number of tools that the server with the defect "too many tools" offers.
pub(in crate::attack) const MANY: usize = 5000;

pub(super) fn run(defect: &str, log: &Path) -> io::Result<()> {
    let mut log = File::options().create(true).append(true).open(log)?;
    let mut out = io::stdout().lock();
    if defect == "babbles" {
        out.write_all(b"Starting up...\n\xff\xfe\0\n[]\n{\"jsonrpc\":\"2.0\"}\n")?;
        writeln!(out, "{}", "[".repeat(200_000))?;
        writeln!(out, r#"{{"jsonrpc":"2.0","id":99,"result":{{}}}}"#)?;
        out.flush()?;
    }
    for line in io::stdin().lock().lines() {
        let Ok(frame) = serde_json::from_str::<Value>(&line?) else { continue };
        let method = frame["method"].as_str().unwrap_or_default();
        writeln!(log, "{method}")?;
        let Some(id) = frame.get("id") else { continue };
        if defect == "says-nothing" {
            continue;
        }
        let result = match method {
            "initialize" => json!({
                "protocolVersion": frame["params"]["protocolVersion"],
                "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "stand-in", "version": "1"},
            }),
            "tools/list" => tools(defect),
            "tools/call" => match defect {
                "dies-in-a-call" => std::process::exit(3),
                "hangs-in-a-call" => continue,
                _ => json!({"content": [{"type": "text", "text": "OK."}]}),
            },
            _ => json!({}),
        };
        writeln!(out, "{}", json!({"jsonrpc": "2.0", "id": id, "result": result}))?;
        if defect == "changes-its-tools" && method == "tools/list" {
            writeln!(out, "{}", json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))?;
        }
        out.flush()?;
    }
    Ok(())
}

fn tools(defect: &str) -> Value {
    let tool =
        |name: &str| json!({"name": name, "description": "Echoes.", "inputSchema": {"type": "object"}});
    match defect {
        "offers-many" => {
            let many = (0..MANY).map(|number| tool(&format!("{TOOL}_{number}")));
            json!({"tools": std::iter::once(tool(TOOL)).chain(many).collect::<Vec<_>>()})
        }
        "lists-without-end" => json!({"tools": [tool(TOOL)], "nextCursor": "again"}),
        _ => json!({"tools": [tool(TOOL)]}),
    }
}
