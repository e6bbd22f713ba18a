//! Receives a given number of events from a child process that writes a file of frames. Reads the delta of
//! every update, and prints counts and times. tools/bench/clients compares it with clients in other languages.
//! cargo run --release --example reading -- agentese frames.jsonl 600000
#![expect(clippy::print_stdout, reason = "it is a program of its own")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::Instant;

use agentese::pi::{self, AssistantMessageEvent as Piece, Event};

/// Command of the child process. It keeps its output open, so that the measurement excludes its exit.
const CHILD: [&str; 3] = ["sh", "-c", "read go; cat \"$0\"; read end"];

/// Number of events, and number of characters in their deltas.
type Counts = (usize, usize);

async fn client(path: &str, count: usize) -> Result<Counts, Box<dyn std::error::Error>> {
    let client = pi::Client::spawn(CHILD.into_iter().chain([path]))?;
    let mut events = client.events()?;
    client.send_raw("go")?;
    let mut seen = (0, 0);
    while let Some(event) = events.next().await {
        if let Event::MessageUpdate(update) = event?
            && let Piece::TextDelta(text) = update.assistant_message_event
        {
            seen.1 += text.delta.len();
        }
        seen.0 += 1;
        if seen.0 == count {
            break;
        }
    }
    Ok(seen)
}

/// Reads the events without a client, and parses each line completely. This is the least work that a program
/// must do.
fn values(path: &str, count: usize) -> Result<Counts, Box<dyn std::error::Error>> {
    let mut child = Command::new(CHILD[0])
        .args(&CHILD[1..])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let missing = || std::io::Error::other("the pipe is missing");
    let mut stdin = child.stdin.take().ok_or_else(missing)?;
    let stdout = BufReader::new(child.stdout.take().ok_or_else(missing)?);
    stdin.write_all(b"go\n")?;
    let mut seen = (0, 0);
    for line in stdout.lines().take(count) {
        let frame: serde_json::Value = serde_json::from_str(&line?)?;
        if frame["type"] == "message_update" {
            seen.1 += frame["assistantMessageEvent"]["delta"].as_str().unwrap_or_default().len();
        }
        seen.0 += 1;
    }
    drop(stdin);
    child.wait()?;
    Ok(seen)
}

/// Returns the processor time of this process in hundredths of a second, on systems with `/proc`.
fn processor() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, path, count] = arguments.as_slice() else {
        return Err("usage: reading CLIENT FILE COUNT".into());
    };
    let count = count.parse()?;
    let (begin, before) = (Instant::now(), processor());
    let (seen, characters) = match name.as_str() {
        "agentese" => client(path, count).await?,
        "values" => values(path, count)?,
        other => return Err(format!("unknown client {other}").into()),
    };
    let (seconds, ticks) = (begin.elapsed().as_secs_f64(), processor() - before);
    println!("[{seen},{characters},{seconds},{}]", ticks as f64 / 100.0);
    Ok(())
}
