//! Sends an agent one prompt and streams its answer: thinking, tools, text.
//!
//! ```text
//! cargo run -p agentese --example demo -- "What is in this repository?" agentese --mode rpc
//! ```

use std::io::Write as _;

use agentese::pi::{self, AssistantMessageEvent as Inside, Event, InputBlock};

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    match demo().await {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "Error: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

async fn demo() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let question = words.next().ok_or("usage: demo QUESTION PROGRAM [ARGUMENTS…]")?;
    let command: Vec<String> = words.collect();
    if command.is_empty() {
        return Err("usage: demo QUESTION PROGRAM [ARGUMENTS…]".into());
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "$ {}\n> {question}\n", command.join(" "))?;

    let client = pi::Client::spawn(command)?;
    let mut run = client.prompt(question).await?;
    let mut shown = false;
    while let Some(event) = run.next().await {
        match event? {
            Event::MessageUpdate(update) => match update.assistant_message_event {
                Inside::ThinkingDelta(thinking) => write!(out, "{}", thinking.delta)?,
                Inside::ThinkingEnd(_) => writeln!(out, "\n")?,
                Inside::TextDelta(text) => {
                    shown = true;
                    write!(out, "{}", text.delta)?;
                }
                Inside::TextEnd(_) => writeln!(out)?,
                _ => {}
            },
            Event::ToolExecutionStart(tool) => {
                writeln!(out, "\n[{}] {}", tool.tool_name, summary(&tool.args))?
            }
            Event::ToolExecutionEnd(tool) => {
                for block in &tool.result.content {
                    if let InputBlock::Text(text) = block {
                        writeln!(out, "{}", indented(&text.text))?;
                    }
                }
            }
            _ => {}
        }
        out.flush()?;
    }
    run.result().await?;
    let stats = client.get_messages().await?;
    let termination = client.close().await;
    writeln!(out, "\n({} messages; {termination})", stats.messages.len())?;
    if shown { Ok(()) } else { Err("the agent answered without a word".into()) }
}

/// Returns the first argument of a tool on one line.
fn summary(args: &serde_json::Map<String, serde_json::Value>) -> String {
    let text = args
        .values()
        .next()
        .map_or_else(String::new, |value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let more = if text.lines().count() > 1 { " …" } else { "" };
    format!("{}{more}", text.lines().next().unwrap_or_default())
}

/// Returns the first lines of a tool's output.
fn indented(text: &str) -> String {
    const LINES: usize = 6;
    let mut lines: Vec<String> = text.lines().take(LINES).map(|line| format!("    {line}")).collect();
    let rest = text.lines().count().saturating_sub(LINES);
    if rest > 0 {
        lines.push(format!("    … {rest} more lines"));
    }
    lines.join("\n")
}
