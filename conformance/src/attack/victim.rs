//! An agent under attack: its lines, its memory, and the processes that it leaves behind.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use agentese::transport::{BoxReader, BoxWriter, ChildProcess, Exit, Transport};
use agentese::types::{ModelRequest, Profile, Scenario};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::speech::{Said, Speech};
use super::surfaces::{Surfaces, fill};
use super::{Trouble, usage};
use crate::model::ScriptedModel;
use crate::player::{Ground, PlayError, PlayOptions, child_options, find_program, lay_out};

/// Time limit for a line that the agent has to send.
pub(super) const LONG: Duration = Duration::from_secs(60);
/// Time limit for the end of the processes that the agent started. The commands of the attacks run for 60 seconds, so a
/// process that is left behind still runs at this limit.
const GONE: Duration = Duration::from_secs(15);
/// Environment variable that marks the agent and all of its descendants.
const MARK: &str = "AGENTESE_ATTACKED";

/// Settings for the start of agents.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub profile: Profile,
    pub command: Option<Vec<String>>,
    /// Limit of an agent's memory in MiB.
    pub memory: u64,
    pub surfaces: Surfaces,
}

/// A directory with files and a model in which agents run, one after the other or side by side.
pub(super) struct Site {
    ground: Ground,
    speech: Speech,
    mark: String,
}

impl Site {
    /// Creates the files and starts a model that plays a script.
    pub(super) async fn new(field: &Field, script: Value) -> Result<Self, Trouble> {
        Self::with(field, script, Value::Null).await
    }

    /// Does the same as [`Site::new`], with more members of the case: `files`, `settings`, `setup`.
    pub(super) async fn with(field: &Field, script: Value, more: Value) -> Result<Self, Trouble> {
        let mut case = json!({
            "scenario": 1, "name": "attack", "dialect": field.profile.dialect, "title": "an attack", "steps": [],
            "model": script,
        });
        if let (Some(case), Value::Object(more)) = (case.as_object_mut(), more) {
            case.extend(more);
        }
        let case: Scenario = serde_json::from_value(case).expect("cases of attacks are valid");
        let options = PlayOptions { command: field.command.clone(), ..PlayOptions::default() };
        let mut ground = lay_out(&case, &field.profile, &options).await?;
        let mark = ground.directory.work().to_string_lossy().into_owned();
        ground.environment.push((MARK.to_owned(), mark.clone()));
        let speech = Speech::of(&field.profile.dialect)
            .ok_or_else(|| Trouble::Ground(format!("{} is not known", field.profile.dialect)))?;
        Ok(Self { ground, speech, mark })
    }

    /// Returns the agent's home directory.
    pub(super) fn home(&self) -> Option<&str> {
        let mut all = self.ground.environment.iter();
        all.find(|(name, _)| name == "HOME").map(|(_, value)| value.as_str())
    }

    /// Starts an agent and sends its first query.
    pub(super) async fn start(&self) -> Result<Victim, Trouble> {
        self.start_within(&[]).await
    }

    /// Starts an agent through a wrapper program that turns into the agent with `exec`.
    pub(super) async fn start_within(&self, wrapper: &[String]) -> Result<Victim, Trouble> {
        let mut agent = self.ground.argv.clone();
        if let (false, Some(program)) = (wrapper.is_empty(), agent.first_mut()) {
            // The wrapper starts the agent from another directory.
            *program = find_program(program).to_string_lossy().into_owned();
        }
        self.open(self.spawn(&[wrapper, &agent].concat(), self.speech.clone())?).await
    }

    /// Starts an agent with additional arguments.
    pub(super) async fn start_with(&self, more: &[String]) -> Result<Victim, Trouble> {
        self.open(self.spawn(&[&self.ground.argv, more].concat(), self.speech.clone())?).await
    }

    /// Opens a session if the dialect needs one, and sends the first query.
    pub(super) async fn open(&self, mut victim: Victim) -> Result<Victim, Trouble> {
        if let Some(line) = victim.speech.opening("open") {
            let answer = victim.ask("open", line).await?;
            victim.speech.opened(&answer);
        }
        let question = victim.speech.question("first");
        victim.ask("first", question).await?;
        Ok(victim)
    }

    /// Returns the command line of a surface, with the values of this site. `agent` is the command behind the surface.
    pub(super) fn surface(&self, line: &str, agent: &[String], more: &[(&str, Vec<String>)]) -> Vec<String> {
        let found = |program: &String| find_program(program).to_string_lossy().into_owned();
        let program = self.ground.argv.first().map(found).unwrap_or_default();
        let mut agent = agent.to_vec();
        if let Some(first) = agent.first_mut() {
            *first = found(first);
        }
        let mut values = vec![
            ("program", vec![program]),
            ("agent", agent),
            ("dialect", vec![self.speech.spec.id()]),
            ("script", vec![self.ground.variable("SCRIPT")]),
        ];
        values.extend_from_slice(more);
        fill(line, &values)
    }

    /// Returns the agent's command line.
    pub(super) fn agent(&self) -> &[String] {
        &self.ground.argv
    }

    pub(super) fn work(&self) -> &Path {
        self.ground.directory.work()
    }

    /// Returns the requests that the model has received.
    pub(super) fn requests(&self) -> Vec<ModelRequest> {
        self.ground.model.as_ref().map(ScriptedModel::requests).unwrap_or_default()
    }

    pub(super) fn speech(&self) -> &Speech {
        &self.speech
    }

    /// Starts a program at this site; its lines are in the dialect of `speech`.
    pub(super) fn spawn(&self, argv: &[String], speech: Speech) -> Result<Victim, Trouble> {
        let options = child_options(argv, self.ground.directory.work(), &self.ground.environment)
            .graces(Duration::from_secs(5), Duration::from_secs(3));
        let (stdout, stdin, process) = Transport::from_child(options).map_err(PlayError::from)?.into_parts();
        let process = process.ok_or_else(|| Trouble::Ground("there is no agent to start".to_owned()))?;
        // As narrow as a pipe: a caller that stops reading here stops reading from the agent.
        let (lines, heard) = mpsc::channel(1);
        tokio::spawn(read(stdout, lines));
        let (writes, written) = mpsc::unbounded_channel();
        tokio::spawn(write(stdin, written));
        Ok(Victim { process, writes: Some(writes), heard, speech, answers: BTreeMap::new() })
    }

    /// Waits until no process from this site lives. Fails with the names of those that still live.
    pub(super) async fn nothing_is_left(&self) -> Result<(), Trouble> {
        let begun = Instant::now();
        loop {
            let left = marked(&self.mark);
            if left.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > GONE {
                for (pid, _) in &left {
                    let _ = kill_process(*pid, Signal::KILL);
                }
                let names: Vec<&str> = left.iter().map(|(_, name)| name.as_str()).collect();
                return Err(Trouble::found(format!("processes live on: {}", names.join(", "))));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Returns the living processes with this mark in their environment; an empty list if the system does not show them.
fn marked(mark: &str) -> Vec<(Pid, String)> {
    let wanted = format!("{MARK}={mark}");
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    all.filter_map(|entry| {
        let path = entry.ok()?.path();
        let pid = Pid::from_raw(path.file_name()?.to_str()?.parse().ok()?)?;
        // An ended process that was not reaped has no environment.
        let environment = std::fs::read(path.join("environ")).ok()?;
        let has = environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes());
        let name = || std::fs::read_to_string(path.join("comm")).unwrap_or_default().trim().to_owned();
        has.then(|| (pid, name()))
    })
    .collect()
}

/// A line of an agent.
#[derive(Debug)]
pub(super) struct Heard {
    pub bytes: Vec<u8>,
    pub said: Said,
}

impl Heard {
    pub(super) fn value(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    pub(super) fn answers(&self, id: &str) -> bool {
        matches!(&self.said, Said::Answer(Some(own), _) if own == id)
    }
}

/// A running agent, killed on drop.
pub(super) struct Victim {
    process: ChildProcess,
    /// `None` once stdin is closed.
    writes: Option<mpsc::UnboundedSender<Vec<u8>>>,
    heard: mpsc::Receiver<Vec<u8>>,
    pub speech: Speech,
    /// Number of answers to each command by its id: successes and failures.
    pub answers: BTreeMap<String, [u32; 2]>,
}

impl Victim {
    /// Queues a line for the agent; does not wait until the agent reads it.
    pub(super) fn send(&self, bytes: impl Into<Vec<u8>>) {
        if let Some(writes) = &self.writes {
            let _ = writes.send(bytes.into());
        }
    }

    /// Returns the next line; `None` at the end. Fails if the line is no frame, or if no line arrives in time.
    pub(super) async fn next(&mut self, what: &str, limit: Duration) -> Result<Option<Heard>, Trouble> {
        let line = match tokio::time::timeout(limit, self.heard.recv()).await {
            Ok(line) => line,
            Err(_) => return Err(self.silent(what)),
        };
        let Some(bytes) = line else { return Ok(None) };
        let said = self.speech.read(&bytes);
        match &said {
            Said::Broken => {
                let shown: String = String::from_utf8_lossy(&bytes).chars().take(200).collect();
                return Err(Trouble::found(format!("it said what is no frame: {shown}")));
            }
            Said::Answer(Some(id), success) => {
                self.answers.entry(id.clone()).or_default()[usize::from(!success)] += 1;
            }
            _ => {}
        }
        Ok(Some(Heard { bytes, said }))
    }

    fn silent(&self, what: &str) -> Trouble {
        let end = self.process.exited().map_or("it lives".to_owned(), |exit| format!("it ended: {exit}"));
        Trouble::found(format!(
            "{what}: did not come within {} s; {end}{}",
            LONG.as_secs(),
            self.last_words()
        ))
    }

    fn last_words(&self) -> String {
        let stderr = self.process.stderr_tail();
        let last = stderr.trim().lines().last().unwrap_or_default();
        if last.is_empty() { String::new() } else { format!("; last on its stderr: {last}") }
    }

    /// Reads lines until `found` returns `true` for one of them; returns that line.
    pub(super) async fn until(
        &mut self,
        what: &str,
        mut found: impl FnMut(&Speech, &Heard) -> bool,
    ) -> Result<Heard, Trouble> {
        let deadline = Instant::now() + LONG;
        loop {
            let limit = deadline.saturating_duration_since(Instant::now());
            let Some(heard) = self.next(what, limit).await? else {
                let exit = self.process.exit().await;
                return Err(Trouble::found(format!("{what}: it ended ({exit}){}", self.last_words())));
            };
            if found(&self.speech, &heard) {
                return Ok(heard);
            }
        }
    }

    /// Sends a line and waits for its answer.
    pub(super) async fn ask(&mut self, id: &str, line: String) -> Result<Vec<u8>, Trouble> {
        self.send(line);
        Ok(self.until(&format!("the answer to {id}"), |_, heard| heard.answers(id)).await?.bytes)
    }

    /// Sends a query without effects, and waits for the answer.
    pub(super) async fn is_well(&mut self, id: &str) -> Result<(), Trouble> {
        let line = self.speech.question(id);
        self.ask(id, line).await.map(drop)
    }

    /// Checks that every id was answered once, or as often as its command allows.
    pub(super) fn each_is_answered_once(
        &self,
        ids: impl Iterator<Item = (String, bool)>,
    ) -> Result<u64, Trouble> {
        let mut count = 0;
        for (id, may_fail_later) in ids {
            count += 1;
            match (self.answers.get(&id).copied().unwrap_or_default(), may_fail_later) {
                ([1, 0] | [0, 1], _) | ([1, 1], true) => {}
                ([done, failed], _) => {
                    return Err(Trouble::found(format!("{id} was answered {} times", done + failed)));
                }
            }
        }
        Ok(count)
    }

    /// Returns the peak of the agent's memory in MiB; `None` if the system does not report it.
    pub(super) fn memory(&self) -> Option<u64> {
        usage::peak(self.process.id())
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the next line of any kind; `None` at the end.
    pub(super) async fn line(&mut self, what: &str) -> Result<Option<Vec<u8>>, Trouble> {
        match tokio::time::timeout(LONG, self.heard.recv()).await {
            Ok(line) => Ok(line),
            Err(_) => Err(self.silent(what)),
        }
    }

    /// Checks that the agent used no more memory than the limit.
    pub(super) fn memory_is_bounded(&self, field: &Field) -> Result<u64, Trouble> {
        match self.memory() {
            Some(taken) if taken > field.memory => {
                Err(Trouble::found(format!("it took {taken} MiB of memory; {} are allowed", field.memory)))
            }
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

    /// Closes stdin and waits for the end of the agent; reads the remaining output.
    pub(super) async fn finish(mut self, grace: Duration) -> Result<(Exit, String), Trouble> {
        self.writes = None;
        self.process.close_stdin();
        let heard = &mut self.heard;
        let drained = async {
            while heard.recv().await.is_some() {}
            // The end of stdout is not the end of the agent.
            std::future::pending::<()>().await;
        };
        // Nor is the end of the agent the end of stdout: a process that it left behind may hold it open.
        let exit = self.process.exit();
        let exit = async {
            tokio::select! {
                exit = exit => exit,
                () = drained => Exit::default(),
            }
        };
        let Ok(exit) = tokio::time::timeout(grace, exit).await else {
            return Err(Trouble::found(format!("it does not end {} s after its stdin", grace.as_secs())));
        };
        Ok((exit, self.process.stderr_tail()))
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.process.kill();
    }
}

/// Forwards lines without their end, at the speed of the receiver.
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
        // An agent that no longer reads is detected by missing answers.
        if stdin.write_all(&bytes).await.and(stdin.flush().await).is_err() {
            return;
        }
    }
}
