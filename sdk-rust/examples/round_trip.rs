//! Round-trip time of `get_state`, compared with `cat` echoing a line of the same length as the answer.
//!
//! Interleaved rounds over plain pipes, and the same through the typed client. Pin it to one core:
//!
//! ```text
//! taskset -c 0 cargo run --release -p agentese --example round_trip -- target/release/agentese --mode rpc
//! ```

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use agentese::pi;

const ROUNDS: usize = 15;
const EACH: usize = 2_000;
const QUESTION: &str = r#"{"id":"1","type":"get_state"}"#;

/// A program at the other end of two pipes.
struct Echo {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
}

impl Echo {
    fn start(command: &[String]) -> std::io::Result<Self> {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let missing = || std::io::Error::other("the pipe is missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        Ok(Echo { child, stdin, stdout, line: String::new() })
    }

    /// Makes one round trip; returns the length of the answer.
    fn turn(&mut self, line: &[u8]) -> std::io::Result<usize> {
        self.stdin.write_all(line)?;
        self.line.clear();
        self.stdout.read_line(&mut self.line)
    }

    fn times(&mut self, line: &[u8]) -> std::io::Result<Vec<Duration>> {
        (0..EACH)
            .map(|_| {
                let start = Instant::now();
                self.turn(line)?;
                Ok(start.elapsed())
            })
            .collect()
    }

    fn end(mut self) -> std::io::Result<()> {
        drop(self.stdin);
        self.child.wait().map(drop)
    }
}

fn percentile(times: &mut [Duration], part: f64) -> Duration {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * part) as usize]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let command: Vec<String> = std::env::args().skip(1).collect();
    if command.is_empty() {
        return Err("usage: round_trip PROGRAM [ARGUMENTS…]".into());
    }
    let mut agent = Echo::start(&command)?;
    let mut cat = Echo::start(&["cat".to_owned()])?;
    let question = format!("{QUESTION}\n");
    let length = agent.turn(question.as_bytes())?;
    let same = format!("{}\n", "x".repeat(length - 1));

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let client = {
        let _inside = runtime.enter();
        pi::Client::spawn(&command)?
    };

    let (mut ratios, mut typed_ratios) = (Vec::new(), Vec::new());
    let (mut all_agent, mut all_cat, mut all_typed) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut by_cat = cat.times(same.as_bytes())?;
        let mut by_agent = agent.times(question.as_bytes())?;
        let mut by_client = runtime.block_on(async {
            let mut times = Vec::new();
            for _ in 0..EACH {
                let start = Instant::now();
                client.get_state().await?;
                times.push(start.elapsed());
            }
            Ok::<_, agentese::Error>(times)
        })?;
        let base = percentile(&mut by_cat, 0.5).as_secs_f64();
        ratios.push(percentile(&mut by_agent, 0.5).as_secs_f64() / base);
        typed_ratios.push(percentile(&mut by_client, 0.5).as_secs_f64() / base);
        all_cat.extend(by_cat);
        all_agent.extend(by_agent);
        all_typed.extend(by_client);
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "get_state, answer of {length} bytes, {ROUNDS} interleaved rounds of {EACH}")?;
    let rows = [
        ("cat, a line as long as the answer", &mut all_cat, vec![1.0; ROUNDS]),
        ("the agent over plain pipes", &mut all_agent, ratios),
        ("the agent through RpcClient", &mut all_typed, typed_ratios),
    ];
    for (name, times, mut ratios) in rows {
        ratios.sort_by(f64::total_cmp);
        writeln!(
            out,
            "{name:36} p50 {:>8.1?}  p99 {:>8.1?}  p50 / cat {:.2} (median of rounds)",
            percentile(times, 0.5),
            percentile(times, 0.99),
            ratios[ROUNDS / 2]
        )?;
    }
    runtime.block_on(client.close());
    agent.end()?;
    cat.end()?;
    Ok(())
}
