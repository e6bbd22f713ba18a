//! An agent under attack, with its lines, its memory and its processes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use agentese::transport::{BoxReader, BoxWriter, ChildProcess, Exit, Transport};
use agentese::types::{ModelRequest, Profile, Scenario};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::codec::{DialectCodec, LineKind};
use super::surfaces::{Surfaces, fill};
use super::{AttackError, usage};
use crate::model::ScriptedModel;
use crate::player::{CaseEnv, PlayError, PlayOptions, child_options, find_program, prepare_env};

/// Time limit for any line that the agent has to send.
pub(super) const LONG: Duration = Duration::from_secs(60);
/// Time limit for the end of the processes that the agent started. The commands of the attacks run for 60 seconds, so a
/// process that is left behind still runs at this limit.
const EXIT_LIMIT: Duration = Duration::from_secs(15);
/// Environment variable that marks the agent and all of its descendants.
const MARK: &str = "AGENTESE_ATTACKED";

/// Settings for the start of agents.
#[derive(Debug, Clone)]
pub(super) struct AgentConfig {
    pub profile: Profile,
    pub command: Option<Vec<String>>,
    /// Limit of an agent's memory in MiB.
    pub memory: u64,
    pub surfaces: Surfaces,
}

/// Environment of the attacked agents: a directory with files, and a scripted model. Agents run in it one
/// after the other, or concurrently.
pub(super) struct AttackEnv {
    case_env: CaseEnv,
    codec: DialectCodec,
    mark: String,
}

impl AttackEnv {
    /// Creates the files and starts a model that plays a script.
    pub(super) async fn new(config: &AgentConfig, script: Value) -> Result<Self, AttackError> {
        Self::with(config, script, Value::Null).await
    }

    /// Works as [`AttackEnv::new`] does, and adds members to the case: `files`, `settings`, `setup`.
    pub(super) async fn with(config: &AgentConfig, script: Value, more: Value) -> Result<Self, AttackError> {
        let mut case = json!({
            "scenario": 1, "name": "attack", "dialect": config.profile.dialect, "title": "an attack", "steps": [],
            "model": script,
        });
        if let (Some(case), Value::Object(more)) = (case.as_object_mut(), more) {
            case.extend(more);
        }
        let case: Scenario = serde_json::from_value(case).expect("cases of attacks are valid");
        let options = PlayOptions { command: config.command.clone(), ..PlayOptions::default() };
        let mut case_env = prepare_env(&case, &config.profile, &options).await?;
        let mark = case_env.directory.work().to_string_lossy().into_owned();
        case_env.environment.push((MARK.to_owned(), mark.clone()));
        let codec = DialectCodec::of(&config.profile.dialect).ok_or_else(|| {
            AttackError::Environment(format!("unknown dialect `{}`", config.profile.dialect))
        })?;
        Ok(Self { case_env, codec, mark })
    }

    /// Returns the agent's home directory.
    pub(super) fn home(&self) -> Option<&str> {
        let mut all = self.case_env.environment.iter();
        all.find(|(name, _)| name == "HOME").map(|(_, value)| value.as_str())
    }

    /// Starts an agent and sends its first query.
    pub(super) async fn start(&self) -> Result<AgentUnderTest, AttackError> {
        self.start_wrapped(&[]).await
    }

    /// Starts an agent through a wrapper program, which replaces itself by the agent with `exec`.
    pub(super) async fn start_wrapped(&self, wrapper: &[String]) -> Result<AgentUnderTest, AttackError> {
        let mut agent = self.case_env.argv.clone();
        if let (false, Some(program)) = (wrapper.is_empty(), agent.first_mut()) {
            // The wrapper starts the agent in another directory, so the path is made absolute.
            *program = find_program(program).to_string_lossy().into_owned();
        }
        self.open(self.spawn(&[wrapper, &agent].concat(), self.codec.clone())?).await
    }

    /// Starts an agent with additional arguments.
    pub(super) async fn start_with(&self, more: &[String]) -> Result<AgentUnderTest, AttackError> {
        self.open(self.spawn(&[&self.case_env.argv, more].concat(), self.codec.clone())?).await
    }

    /// Opens a session if the dialect needs one, and sends the first query.
    pub(super) async fn open(&self, mut agent: AgentUnderTest) -> Result<AgentUnderTest, AttackError> {
        if let Some(line) = agent.codec.opening_request("open") {
            let answer = agent.request("open", line).await?;
            agent.codec.set_session(&answer);
        }
        let question = agent.codec.query("first");
        agent.request("first", question).await?;
        Ok(agent)
    }

    /// Returns the command line of a program around the agent, with placeholders replaced. `agent` is the
    /// command line of the agent that the program starts.
    pub(super) fn surface(&self, line: &str, agent: &[String], more: &[(&str, Vec<String>)]) -> Vec<String> {
        let found = |program: &String| find_program(program).to_string_lossy().into_owned();
        let program = self.case_env.argv.first().map(found).unwrap_or_default();
        let mut agent = agent.to_vec();
        if let Some(first) = agent.first_mut() {
            *first = found(first);
        }
        let mut values = vec![
            ("program", vec![program]),
            ("agent", agent),
            ("dialect", vec![self.codec.spec.id()]),
            ("script", vec![self.case_env.variable("SCRIPT")]),
        ];
        values.extend_from_slice(more);
        fill(line, &values)
    }

    /// Returns the agent's command line.
    pub(super) fn agent(&self) -> &[String] {
        &self.case_env.argv
    }

    pub(super) fn work(&self) -> &Path {
        self.case_env.directory.work()
    }

    /// Returns the requests that the model has received.
    pub(super) fn requests(&self) -> Vec<ModelRequest> {
        self.case_env.model.as_ref().map(ScriptedModel::requests).unwrap_or_default()
    }

    pub(super) fn codec(&self) -> &DialectCodec {
        &self.codec
    }

    /// Starts a program in this environment; its lines are in the dialect of `codec`.
    pub(super) fn spawn(&self, argv: &[String], codec: DialectCodec) -> Result<AgentUnderTest, AttackError> {
        let options = child_options(argv, self.case_env.directory.work(), &self.case_env.environment)
            .graces(Duration::from_secs(5), Duration::from_secs(3));
        let (stdout, stdin, process) = Transport::from_child(options).map_err(PlayError::from)?.into_parts();
        let process =
            process.ok_or_else(|| AttackError::Environment("the agent has no process".to_owned()))?;
        // The channel holds a single line, like a full pipe. If the receiver stops reading, the output of the
        // agent is no longer read.
        let (lines, receiver) = mpsc::channel(1);
        tokio::spawn(read(stdout, lines));
        let (writes, written) = mpsc::unbounded_channel();
        tokio::spawn(write(stdin, written));
        Ok(AgentUnderTest { process, writer: Some(writes), lines: receiver, codec, answers: BTreeMap::new() })
    }

    /// Waits until all processes of this environment have ended. Fails with the names of processes that are
    /// still running.
    pub(super) async fn check_no_processes(&self) -> Result<(), AttackError> {
        let begun = Instant::now();
        loop {
            let left = marked_processes(&self.mark);
            if left.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > EXIT_LIMIT {
                for (pid, _) in &left {
                    let _ = kill_process(*pid, Signal::KILL);
                }
                let names: Vec<&str> = left.iter().map(|(_, name)| name.as_str()).collect();
                return Err(AttackError::finding(format!(
                    "processes are still running: {}",
                    names.join(", ")
                )));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Returns the running processes with this mark in their environment. The list is empty on systems without
/// `/proc`.
fn marked_processes(mark: &str) -> Vec<(Pid, String)> {
    let wanted = format!("{MARK}={mark}");
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    all.filter_map(|entry| {
        let path = entry.ok()?.path();
        let pid = Pid::from_raw(path.file_name()?.to_str()?.parse().ok()?)?;
        // An ended process that was not reaped has no readable environment.
        let environment = std::fs::read(path.join("environ")).ok()?;
        let has = environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes());
        let name = || std::fs::read_to_string(path.join("comm")).unwrap_or_default().trim().to_owned();
        has.then(|| (pid, name()))
    })
    .collect()
}

/// A line that the agent sent.
#[derive(Debug)]
pub(super) struct ReceivedLine {
    pub bytes: Vec<u8>,
    pub kind: LineKind,
}

impl ReceivedLine {
    pub(super) fn value(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    pub(super) fn answers(&self, id: &str) -> bool {
        matches!(&self.kind, LineKind::Answer(Some(own), _) if own == id)
    }
}

/// A running agent, killed on drop.
pub(super) struct AgentUnderTest {
    process: ChildProcess,
    /// The sender of lines for stdin; `None` after stdin was closed.
    writer: Option<mpsc::UnboundedSender<Vec<u8>>>,
    lines: mpsc::Receiver<Vec<u8>>,
    pub codec: DialectCodec,
    /// Number of successful and of failed answers, by the id of the command.
    pub answers: BTreeMap<String, [u32; 2]>,
}

impl AgentUnderTest {
    /// Queues a line for the agent; does not wait until the agent reads it.
    pub(super) fn send(&self, bytes: impl Into<Vec<u8>>) {
        if let Some(writes) = &self.writer {
            let _ = writes.send(bytes.into());
        }
    }

    /// Returns the next line; `None` at the end. Fails if the line is not a frame, or if no line arrives in
    /// time.
    pub(super) async fn next(
        &mut self,
        what: &str,
        limit: Duration,
    ) -> Result<Option<ReceivedLine>, AttackError> {
        let line = match tokio::time::timeout(limit, self.lines.recv()).await {
            Ok(line) => line,
            Err(_) => return Err(self.timeout_error(what)),
        };
        let Some(bytes) = line else { return Ok(None) };
        let said = self.codec.classify(&bytes);
        match &said {
            LineKind::Invalid => {
                let shown: String = String::from_utf8_lossy(&bytes).chars().take(200).collect();
                return Err(AttackError::finding(format!("invalid frame from the agent: {shown}")));
            }
            LineKind::Answer(Some(id), success) => {
                self.answers.entry(id.clone()).or_default()[usize::from(!success)] += 1;
            }
            _ => {}
        }
        Ok(Some(ReceivedLine { bytes, kind: said }))
    }

    fn timeout_error(&self, what: &str) -> AttackError {
        let end = self
            .process
            .exited()
            .map_or("the agent is running".to_owned(), |exit| format!("the agent ended: {exit}"));
        AttackError::finding(format!(
            "timeout: {what} did not arrive within {} s; {end}{}",
            LONG.as_secs(),
            self.stderr_tail()
        ))
    }

    fn stderr_tail(&self) -> String {
        let stderr = self.process.stderr_tail();
        let last = stderr.trim().lines().last().unwrap_or_default();
        if last.is_empty() { String::new() } else { format!("; last line of stderr: {last}") }
    }

    /// Reads lines until `found` returns `true` for one of them; returns that line.
    pub(super) async fn read_until(
        &mut self,
        what: &str,
        found: impl FnMut(&DialectCodec, &ReceivedLine) -> bool,
    ) -> Result<ReceivedLine, AttackError> {
        self.read_until_within(LONG, what, found).await
    }

    /// Reads lines until `found` returns `true` for one of them; returns that line. `total` limits the whole time.
    /// Within it, each line restarts the time limit for the next one.
    pub(super) async fn read_until_within(
        &mut self,
        total: Duration,
        what: &str,
        mut found: impl FnMut(&DialectCodec, &ReceivedLine) -> bool,
    ) -> Result<ReceivedLine, AttackError> {
        let deadline = Instant::now() + total;
        loop {
            let limit = deadline.saturating_duration_since(Instant::now()).min(LONG);
            let Some(line) = self.next(what, limit).await? else {
                let exit = self.process.exit().await;
                return Err(AttackError::finding(format!(
                    "the agent ended before {what} ({exit}){}",
                    self.stderr_tail()
                )));
            };
            if found(&self.codec, &line) {
                return Ok(line);
            }
        }
    }

    /// Sends a line and waits for its answer.
    pub(super) async fn request(&mut self, id: &str, line: String) -> Result<Vec<u8>, AttackError> {
        self.send(line);
        Ok(self.read_until(&format!("the answer to {id}"), |_, received| received.answers(id)).await?.bytes)
    }

    /// Sends a query without effects, and waits for the answer.
    pub(super) async fn check_responsive(&mut self, id: &str) -> Result<(), AttackError> {
        let line = self.codec.query(id);
        self.request(id, line).await.map(drop)
    }

    /// Checks that every id was answered once, or as often as its command allows.
    pub(super) fn check_answered_once(
        &self,
        ids: impl Iterator<Item = (String, bool)>,
    ) -> Result<u64, AttackError> {
        let mut count = 0;
        for (id, may_fail_later) in ids {
            count += 1;
            match (self.answers.get(&id).copied().unwrap_or_default(), may_fail_later) {
                ([1, 0] | [0, 1], _) | ([1, 1], true) => {}
                ([done, failed], _) => {
                    return Err(AttackError::finding(format!("{id} was answered {} times", done + failed)));
                }
            }
        }
        Ok(count)
    }

    /// Returns the peak of the agent's memory in MiB; `None` if the system does not report it.
    pub(super) fn memory(&self) -> Option<u64> {
        usage::peak_memory(self.process.id())
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the next line of any kind; `None` at the end.
    pub(super) async fn line(&mut self, what: &str) -> Result<Option<Vec<u8>>, AttackError> {
        match tokio::time::timeout(LONG, self.lines.recv()).await {
            Ok(line) => Ok(line),
            Err(_) => Err(self.timeout_error(what)),
        }
    }

    /// Checks that the agent used no more memory than the limit.
    pub(super) fn check_memory(&self, config: &AgentConfig) -> Result<u64, AttackError> {
        match self.memory() {
            Some(taken) if taken > config.memory => Err(AttackError::finding(format!(
                "the agent used {taken} MiB of memory; the limit is {} MiB",
                config.memory
            ))),
            taken => Ok(taken.unwrap_or_default()),
        }
    }

    pub(super) fn kill(&self) {
        if let Some(pid) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw)
            && self.process.exited().is_none()
        {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// Closes stdin, reads the remaining output, and waits for the end of the agent.
    pub(super) async fn finish(mut self, grace: Duration) -> Result<(Exit, String), AttackError> {
        self.writer = None;
        self.process.close_stdin();
        let lines = &mut self.lines;
        let drained = async {
            while lines.recv().await.is_some() {}
            // If stdout ends first, the agent may still be running.
            std::future::pending::<()>().await;
        };
        // If the agent ends first, a process that it left behind may hold stdout open.
        let exit = self.process.exit();
        let exit = async {
            tokio::select! {
                exit = exit => exit,
                () = drained => Exit::default(),
            }
        };
        let Ok(exit) = tokio::time::timeout(grace, exit).await else {
            return Err(AttackError::finding(format!(
                "the agent is still running {} s after the end of its stdin",
                grace.as_secs()
            )));
        };
        Ok((exit, self.process.stderr_tail()))
    }
}

impl Drop for AgentUnderTest {
    fn drop(&mut self) {
        self.process.kill();
    }
}

/// Forwards lines without their ends, as fast as the receiver takes them.
async fn read(mut stdout: BoxReader, lines: mpsc::Sender<Vec<u8>>) {
    let mut buffer: Vec<u8> = Vec::new();
    let mut searched = 0;
    loop {
        while let Some(end) = memchr::memchr(b'\n', &buffer[searched..]) {
            let rest = buffer.split_off(searched + end + 1);
            let mut line = std::mem::replace(&mut buffer, rest);
            line.pop();
            searched = 0;
            if lines.send(line).await.is_err() {
                return;
            }
        }
        searched = buffer.len();
        buffer.reserve(64 << 10);
        match stdout.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

async fn write(mut stdin: BoxWriter, mut written: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(bytes) = written.recv().await {
        // The error is ignored: if the agent no longer reads, the missing answers show that.
        if stdin.write_all(&bytes).await.and(stdin.flush().await).is_err() {
            return;
        }
    }
}
