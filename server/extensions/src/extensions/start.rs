//! Start of extensions: starts their processes, and requests the contents of each extension.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use agentese::types::{
    HostFrame, HostInitialize, HostInitializeBuilder, HostLoad, HostMode, InitializeResult, SessionReason,
    SessionStartHook,
};
use futures::future::join_all;

use super::calls::{CallError, PendingCall};
use super::guards::subscribes_to_tool_calls;
use super::host::{Host, HostContext, LoadedExtension};
use super::pending_starts::PendingStartGuard;
use super::process::{Process, display_name};
use super::settings::DEPTH;
use super::wire::type_of;
use super::{DiscoveredExtension, ExtensionLimits, LaunchMethod};
use crate::tools::CommandLine;

/// Version of the extension protocol.
const PROTOCOL: u64 = 1;

impl Host {
    /// Loads further extensions, for example after the user trusts a directory.
    pub async fn load(&self, found: &[DiscoveredExtension]) {
        self.expect(found);
        self.load_expected(found, self.pending_loads.start()).await;
    }

    /// Loads extensions that were passed to [`Host::expect`].
    pub(super) async fn load_expected(&self, found: &[DiscoveredExtension], pending_load: PendingStartGuard) {
        let loading = self.loading.lock().await;
        let path = |found: &DiscoveredExtension| found.path.to_string_lossy().into_owned();
        let ExtensionLimits { depth, .. } = self.options.limits;
        if self.options.limits.are_too_deep() && !found.is_empty() {
            let count = found.len();
            let paths: Vec<String> = found.iter().map(path).collect();
            self.guards.record_absence(&paths, &format!("this agent is nested in {depth} others"));
            tracing::error!(
                "{count} extensions are not loaded: this agent is nested in {depth} others, each started by an extension"
            );
            return;
        }
        let for_node: Vec<String> =
            found.iter().filter(|one| one.launch == LaunchMethod::Node).map(path).collect();
        let programs = found.iter().filter_map(|found| match &found.launch {
            LaunchMethod::Program(command) => Some((command.clone(), vec![path(found)])),
            LaunchMethod::Node => None,
            LaunchMethod::Unusable(why) => {
                self.guards.record_absence(&[path(found)], why);
                None
            }
        });
        let programs = join_all(programs.map(|(command, paths)| self.start_process(command, paths)));
        let (started, for_node) = tokio::join!(programs, self.load_for_node(for_node));
        let mut members: Vec<LoadedExtension> = started.into_iter().flatten().chain(for_node).collect();
        let position = |member: &LoadedExtension| found.iter().position(|found| path(found) == member.path);
        members.sort_by_key(|member| position(member).unwrap_or(usize::MAX));
        self.registry().loaded.extend(members.iter().cloned());
        drop((loading, pending_load));
        self.send_start_events(&members).await;
    }

    /// Registers extensions that are about to be loaded. Tools are blocked until it is known which of the extensions
    /// are guards.
    pub(super) fn expect(&self, found: &[DiscoveredExtension]) {
        found.iter().for_each(|found| self.guards.expect(&found.path.to_string_lossy(), found.guards));
        let locations = found.iter().map(|found| (found.path.to_string_lossy().into_owned(), found.location));
        self.registry().locations.extend(locations);
    }

    /// Sends new extensions the events about the start of the session.
    pub(super) async fn send_start_events(&self, new: &[LoadedExtension]) {
        for member in new.iter().filter(|member| member.subscribes_to(type_of::<SessionStartHook>())) {
            let mut event = SessionStartHook::new();
            event.reason = self.restarts_sessions().then_some(SessionReason::Startup);
            let _ = self.request(member, event).await;
        }
        self.discover_resources(new).await;
    }

    /// Loads extensions into the running Node host, or into a new one if no Node host is running.
    pub(super) async fn load_for_node(&self, paths: Vec<String>) -> Vec<LoadedExtension> {
        let there = self.processes().into_iter().find(|process| process.loads_more() && !process.has_ended());
        let Some(process) = there.filter(|_| !paths.is_empty()) else {
            return match self.node_command(paths).await {
                Some((command, paths)) => self.start_process(command, paths).await,
                None => Vec::new(),
            };
        };
        process.add_extensions(&paths);
        let frame = |id: String| HostFrame::from(HostLoad::new(id, paths.clone()));
        self.request_contents(&process, frame, paths.len()).await
    }

    /// Returns the command line of the Node host, and the given paths. Returns `None` if there are no paths, or if the
    /// host is unavailable.
    async fn node_command(&self, paths: Vec<String>) -> Option<(Vec<OsString>, Vec<String>)> {
        if paths.is_empty() {
            return None;
        }
        let HostContext { spawner, cwd, hidden } = &self.context;
        match self.options.node_host.command(spawner.as_ref(), cwd.clone(), hidden.clone()).await {
            Ok(command) => Some((command, paths)),
            Err(reason) => {
                self.guards.record_absence(&paths, &reason.to_string());
                tracing::error!(
                    "{} extensions of pi are not loaded: {reason}: {}",
                    paths.len(),
                    paths.join(", ")
                );
                None
            }
        }
    }

    /// Starts a process, and requests the contents of its extensions. If the process does not start or does not answer,
    /// one failure is reported for all of them.
    pub(super) async fn start_process(
        &self,
        command: Vec<OsString>,
        paths: Vec<String>,
    ) -> Vec<LoadedExtension> {
        let Some(me) = self.me.upgrade() else { return Vec::new() };
        let mut command = command.into_iter();
        let line = CommandLine {
            program: command.next().unwrap_or_default(),
            arguments: command.collect(),
            cwd: self.context.cwd.clone(),
            environment: vec![(DEPTH.into(), self.options.limits.depth.saturating_add(1).to_string().into())],
            hidden: self.context.hidden.clone(),
        };
        let listener = Arc::new(super::dispatch::WeakHost(self.me.clone()));
        let process = match Process::start(
            self.context.spawner.as_ref(),
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
                me.guards.record_absence(&paths, &error);
                me.report_failure(&display_name(&paths), "start", &error);
                return Vec::new();
            }
        };
        self.registry().processes.push(process.clone());
        let frame = |id: String| HostFrame::from(self.initialize_frame(id, paths.clone()));
        self.request_contents(&process, frame, paths.len()).await
    }

    /// Requests the contents of the extensions that were added last to a process; `count` is their number. If the
    /// process does not answer, one failure is reported. The process is then ended, unless it also runs other
    /// extensions.
    async fn request_contents(
        &self,
        process: &Arc<Process>,
        frame: impl FnOnce(String) -> HostFrame,
        count: usize,
    ) -> Vec<LoadedExtension> {
        // The process loads them one after another.
        let limit = self.options.limits.start * u32::try_from(count).unwrap_or(u32::MAX).max(1);
        let answer = process.request(PendingCall::new(""), frame, Some(limit)).await;
        let contents = answer
            .map(|answer| serde_json::from_value::<InitializeResult>(answer).map_err(|e| e.to_string()));
        let wrong = match contents {
            Ok(Ok(contents)) if contents.protocol == PROTOCOL => {
                return self.register_contents(process, contents);
            }
            Ok(Ok(contents)) => {
                format!("it uses version {} of the protocol, the agent version {PROTOCOL}", contents.protocol)
            }
            Ok(Err(error)) => format!("the report of its contents is not valid: {error}"),
            Err(CallError::Extension(error)) => error,
            Err(CallError::TimedOut(limit)) => {
                format!("it did not report its contents within {} ms", limit.as_millis())
            }
            // The end of the process was reported already.
            Err(CallError::Disconnected) => return Vec::new(),
        };
        match process.paths().get(count..) {
            // The other extensions of the process continue.
            Some([_, ..]) => {
                let paths = process.paths();
                let missing = &paths[paths.len() - count..];
                self.guards.record_absence(missing, &wrong);
                self.report_failure(&display_name(missing), "start", &wrong);
            }
            _ => process.fail(wrong),
        }
        Vec::new()
    }

    fn initialize_frame(&self, id: String, paths: Vec<String>) -> HostInitialize {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        let agent_dir = self.options.agent_dir.as_ref().map(text).unwrap_or_default();
        let version = env!("CARGO_PKG_VERSION");
        HostInitializeBuilder {
            id,
            protocol: PROTOCOL,
            agent_version: version.into(),
            mode: HostMode::Rpc,
            has_ui: true,
            cwd: text(&self.context.cwd),
            agent_dir,
            extensions: paths,
        }
        .build()
    }

    fn register_contents(
        &self,
        process: &Arc<Process>,
        initialized: InitializeResult,
    ) -> Vec<LoadedExtension> {
        process.set_introduced();
        process.set_loads_more(initialized.loads_more == Some(true) || process.loads_more());
        self.state_subscribers.add(process, initialized.watch.as_deref().unwrap_or_default());
        let (paths, mut members) = (process.paths(), Vec::new());
        for offered in initialized.extensions {
            let path = offered.path.clone();
            if !paths.contains(&path) {
                tracing::warn!("{}: it returned {path}, which was not requested", process.name());
            } else if let Some(error) = &offered.error {
                self.guards.record_load_failure(&path, error);
                self.log_load_failure(&path, error);
            } else {
                self.guards.record_start(&path, subscribes_to_tool_calls(&offered));
                let (silent, offered) = (Arc::default(), self.drop_invalid_tools(offered));
                members.push(LoadedExtension {
                    path,
                    process: process.clone(),
                    offered,
                    unresponsive: silent,
                });
            }
        }
        members
    }

    /// Logs pi's message about an extension that cannot be loaded to stderr, as pi does. The agent continues.
    fn log_load_failure(&self, path: &str, reason: &str) {
        tracing::error!("Failed to load extension \"{path}\": {reason}");
    }
}
