//! Start of extensions: their processes are started and report their contents.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use agentese::types::{
    HostFrame, HostInitialize, HostInitializeBuilder, HostLoad, HostMode, Initialized, SessionReason,
    SessionStartHook,
};
use futures::future::join_all;

use super::calls::{Asked, Failed};
use super::guards::guards;
use super::host::{Around, Host, Member};
use super::process::{Process, name_of};
use super::settings::DEPTH;
use super::underway::Underway;
use super::wire::type_of;
use super::{Found, Limits, Start};
use crate::tools::CommandLine;

/// Version of the protocol.
const PROTOCOL: u64 = 1;

impl Host {
    /// Loads further extensions, for example after the user trusts a directory.
    pub async fn load(&self, found: &[Found]) {
        self.expect(found);
        self.load_expected(found, self.arriving.begin()).await;
    }

    /// Loads extensions that were passed to [`Host::expect`].
    pub(super) async fn load_expected(&self, found: &[Found], arriving: Underway) {
        let loading = self.loading.lock().await;
        let path = |found: &Found| found.path.to_string_lossy().into_owned();
        let Limits { depth, .. } = self.options.limits;
        if self.options.limits.are_too_deep() && !found.is_empty() {
            let count = found.len();
            let paths: Vec<String> = found.iter().map(path).collect();
            self.guards.are_gone(&paths, &format!("{depth} agents stand above this one"));
            tracing::error!(
                "{count} extensions are not loaded: {depth} agents stand above this one, each started by an extension"
            );
            return;
        }
        let for_node: Vec<String> = found.iter().filter(|one| one.start == Start::Node).map(path).collect();
        let programs = found.iter().filter_map(|found| match &found.start {
            Start::Program(words) => Some((words.clone(), vec![path(found)])),
            Start::Node => None,
            Start::Never(why) => {
                self.guards.are_gone(&[path(found)], why);
                None
            }
        });
        let programs = join_all(programs.map(|(words, paths)| self.start(words, paths)));
        let (started, for_node) = tokio::join!(programs, self.load_for_node(for_node));
        let mut members: Vec<Member> = started.into_iter().flatten().chain(for_node).collect();
        let place = |member: &Member| found.iter().position(|found| path(found) == member.path);
        members.sort_by_key(|member| place(member).unwrap_or(usize::MAX));
        self.state().members.extend(members.iter().cloned());
        drop((loading, arriving));
        self.welcome(&members).await;
    }

    /// Registers extensions before they are loaded. No tool runs until it is known whether they guard tools.
    pub(super) fn expect(&self, found: &[Found]) {
        found.iter().for_each(|found| self.guards.expect(&found.path.to_string_lossy(), found.guards));
        let places = found.iter().map(|found| (found.path.to_string_lossy().into_owned(), found.location));
        self.state().locations.extend(places);
    }

    /// Sends the first events to new extensions.
    pub(super) async fn welcome(&self, new: &[Member]) {
        for member in new.iter().filter(|member| member.hears(type_of::<SessionStartHook>())) {
            let mut event = SessionStartHook::new();
            event.reason = self.sessions_start_anew().then_some(SessionReason::Startup);
            let _ = self.ask(member, event).await;
        }
        self.discover_resources(new).await;
    }

    /// Loads extensions into the running Node host, or into a new one if no Node host is running.
    pub(super) async fn load_for_node(&self, paths: Vec<String>) -> Vec<Member> {
        let there = self.processes().into_iter().find(|process| process.loads_more() && !process.has_ended());
        let Some(process) = there.filter(|_| !paths.is_empty()) else {
            return match self.node(paths).await {
                Some((words, paths)) => self.start(words, paths).await,
                None => Vec::new(),
            };
        };
        process.serve(&paths);
        let frame = |id: String| HostFrame::from(HostLoad::new(id, paths.clone()));
        self.introduce(&process, frame, paths.len()).await
    }

    /// Returns the command line of the Node host and the extensions that it is to load. Returns `None` if
    /// there are no extensions, or if the host is unavailable.
    async fn node(&self, paths: Vec<String>) -> Option<(Vec<OsString>, Vec<String>)> {
        if paths.is_empty() {
            return None;
        }
        let Around { spawner, cwd, hidden } = &self.around;
        match self.options.node_host.command(spawner.as_ref(), cwd.clone(), hidden.clone()).await {
            Ok(words) => Some((words, paths)),
            Err(reason) => {
                self.guards.are_gone(&paths, &reason.to_string());
                tracing::error!(
                    "{} extensions of pi are not loaded: {reason}: {}",
                    paths.len(),
                    paths.join(", ")
                );
                None
            }
        }
    }

    /// Starts a process and requests its contents. A process that does not start or does not report its
    /// contents is one failure.
    pub(super) async fn start(&self, words: Vec<OsString>, paths: Vec<String>) -> Vec<Member> {
        let Some(me) = self.me.upgrade() else { return Vec::new() };
        let mut words = words.into_iter();
        let line = CommandLine {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            cwd: self.around.cwd.clone(),
            environment: vec![(DEPTH.into(), self.options.limits.depth.saturating_add(1).to_string().into())],
            hidden: self.around.hidden.clone(),
        };
        let listener = Arc::new(super::requests::Ears(self.me.clone()));
        let process = match Process::start(
            self.around.spawner.as_ref(),
            &line,
            paths.clone(),
            self.options.limits.hook,
            listener,
        )
        .await
        {
            Ok(process) => process,
            Err(error) => {
                let error = format!("{} did not start: {error}", line.program.to_string_lossy());
                me.guards.are_gone(&paths, &error);
                me.fail(&name_of(&paths), "start", &error);
                return Vec::new();
            }
        };
        self.state().processes.push(process.clone());
        let frame = |id: String| HostFrame::from(self.hello(id, paths.clone()));
        self.introduce(&process, frame, paths.len()).await
    }

    /// Requests the contents of the last `count` extensions of a process. A process that does not report them
    /// is one failure and is ended, unless it also serves other extensions.
    async fn introduce(
        &self,
        process: &Arc<Process>,
        frame: impl FnOnce(String) -> HostFrame,
        count: usize,
    ) -> Vec<Member> {
        // The process loads them one after another.
        let limit = self.options.limits.start * u32::try_from(count).unwrap_or(u32::MAX).max(1);
        let answer = process.ask(Asked::new(""), frame, Some(limit)).await;
        let said =
            answer.map(|answer| serde_json::from_value::<Initialized>(answer).map_err(|e| e.to_string()));
        let wrong = match said {
            Ok(Ok(said)) if said.protocol == PROTOCOL => return self.members(process, said),
            Ok(Ok(said)) => {
                format!("it speaks version {} of the protocol, the agent {PROTOCOL}", said.protocol)
            }
            Ok(Err(error)) => format!("what it says about itself is wrong: {error}"),
            Err(Failed::Said(error)) => error,
            Err(Failed::TimedOut(limit)) => {
                format!("it did not say within {} ms what it brings", limit.as_millis())
            }
            // The end of the process was reported already.
            Err(Failed::Gone) => return Vec::new(),
        };
        match process.paths().get(count..) {
            // The other extensions of the process continue.
            Some([_, ..]) => {
                let paths = process.paths();
                let missing = &paths[paths.len() - count..];
                self.guards.are_gone(missing, &wrong);
                self.fail(&name_of(missing), "start", &wrong);
            }
            _ => process.fault(wrong),
        }
        Vec::new()
    }

    fn hello(&self, id: String, paths: Vec<String>) -> HostInitialize {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        let agent_dir = self.options.agent_dir.as_ref().map(text).unwrap_or_default();
        let version = env!("CARGO_PKG_VERSION");
        HostInitializeBuilder {
            id,
            protocol: PROTOCOL,
            agent_version: version.into(),
            mode: HostMode::Rpc,
            has_ui: true,
            cwd: text(&self.around.cwd),
            agent_dir,
            extensions: paths,
        }
        .build()
    }

    fn members(&self, process: &Arc<Process>, said: Initialized) -> Vec<Member> {
        process.introduce();
        process.set_loads_more(said.loads_more == Some(true) || process.loads_more());
        self.watch.add(process, said.watch.as_deref().unwrap_or_default());
        let (paths, mut members) = (process.paths(), Vec::new());
        for offered in said.extensions {
            let path = offered.path.clone();
            if !paths.contains(&path) {
                tracing::warn!("{}: it was not asked for {path}", process.name());
            } else if let Some(error) = &offered.error {
                self.guards.refuses(&path, error);
                self.not_loaded(&path, error);
            } else {
                self.guards.has_started(&path, guards(&offered));
                let (silent, offered) = (Arc::default(), self.usable(offered));
                members.push(Member { path, process: process.clone(), offered, silent });
            }
        }
        members
    }

    /// Logs the message of pi for an extension that does not load, to stderr as in pi. The agent continues.
    fn not_loaded(&self, path: &str, reason: &str) {
        tracing::error!("Failed to load extension \"{path}\": {reason}");
    }
}
