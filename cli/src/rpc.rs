//! Option `agentese --mode rpc`: this process as an agent.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use agentese::serve::Options;
use tracing_subscriber::EnvFilter;

use super::command_line::Run;
use super::components::{
    catalog, discover, extensions, mcp_servers, persist, policies, session, shell, tools,
};
use super::error::CliError;
use super::plan::Plan;
use super::trust;
use agentese_process::environment::variable;
use agentese_process::stderr::Stderr;
use agentese_process::stdio::serve;
use agentese_server::config::SettingsStore;
use agentese_server::conversation::AgentComponents;
use agentese_server::extensions;
use agentese_server::providers::{Catalog, SecretString};
use agentese_server::server::{Builder, Server};
use agentese_server::tools::LocalSpawner;

/// Sends logs and panics to stderr without blocking any thread.
pub(super) fn log_to(stderr: &Stderr, verbose: bool) {
    stderr.take_panics();
    // The MCP SDK logs messages, which may contain secrets, so its log is off. This program logs the
    // relevant errors itself.
    let default = if verbose { "info,rmcp=off" } else { "warn,rmcp=off" };
    let requested = std::env::var("AGENTESE_LOG").unwrap_or_default();
    let filter =
        EnvFilter::try_new(if requested.is_empty() { default } else { &requested }).unwrap_or_else(|error| {
            stderr.warn(format_args!("AGENTESE_LOG is not a valid log filter ({error}); using `{default}`"));
            EnvFilter::new(default)
        });
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr.clone())
        .with_ansi(false)
        .try_init();
}

/// Serves stdin and stdout. Fails before it reads any input if a component of the plan is unavailable.
pub(super) fn run(mut plan: Plan, stderr: &Stderr) -> Result<ExitCode, CliError> {
    agentese_server::tools::open_files::raise_limit();
    let max_line = plan.max_line;
    let api_key = plan.model.api_key.clone();
    let cwd = plan.cwd().to_owned();
    let persist = persist(&plan, stderr);
    let catalog = catalog(&plan, stderr)?;
    let components_factory = plan.session_options.take().map(|run| CliComponentsFactory {
        run: *run,
        flags: plan.flags.clone(),
        catalog: catalog.clone(),
        persist: persist.clone(),
        stderr: stderr.clone(),
    });
    let mut builder = builder(plan, catalog, stderr)?.persist(persist.clone());
    if let Some(elsewhere) = components_factory {
        builder = builder.components_factory(Arc::new(elsewhere));
    }
    let server = builder.try_build()?;
    if let Some(key) = api_key {
        server.set_api_key(SecretString::from(key.reveal()));
    }
    if let Some(reason) = server.start_error() {
        return Err(CliError::NoModel(reason.to_owned()));
    }
    if let Some(reason) = server.missing_model_reason() {
        stderr.warn(format_args!("no model is selected; prompts will be rejected: {reason}"));
    }
    // The work runs on a separate thread, so that a large directory or a slow disk does not delay the
    // start.
    drop(
        std::thread::Builder::new()
            .spawn(move || agentese_server::atomic_write::log_abandoned_backups(&cwd, None)),
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|source| CliError::Io { context: "cannot start the runtime".to_owned(), source })?;
    let mut options = Options::default();
    options.max_line = max_line;
    // A larger queue would not make the output faster, because a pipe holds at most a megabyte.
    options.outbox_bytes = 4 << 20;
    let code = runtime.block_on(serve(server, options, stderr));
    // A thread that waits for a terminal or a stuck file system must not delay the exit.
    runtime.shutdown_background();
    persist.finish();
    Ok(code?)
}

/// Returns the builder of the server for a plan.
fn builder(plan: Plan, catalog: Catalog, stderr: &Stderr) -> Result<Builder, CliError> {
    let (store, session) = session(&plan, stderr)?;
    let found = discover(&plan.extensions, stderr);
    let policies = policies(&plan);
    let undecided = trust::pending_trust(&plan, &found, &policies, stderr);
    let more_may_come =
        undecided.is_some() && plan.untrusted_files.contains(&plan.workspace.project_extensions());
    if found.is_empty() {
        let warnings = extensions::flag_warnings(&plan.flags, more_may_come);
        warnings.iter().filter(|text| !plan.warnings.contains(text)).for_each(|text| stderr.warn(text));
    }
    let extensions =
        extensions::HostOptions { has_untrusted_extensions: more_may_come, ..extensions(&plan, found) };
    let mcp = mcp_servers(&plan);
    let others = !mcp.definitions.is_empty() || undecided.is_some();
    let Plan { workspace, settings, model, trust, .. } = plan;
    let agent_dir = workspace.agent_dir;
    tracing::debug!(?agent_dir, ?trust, "start");
    let mut builder: Builder = Server::builder()
        .catalog(catalog)
        .models(model.scope)
        .system_prompt(plan.system_prompt)
        .resources(plan.resources)
        .extensions(extensions)
        .mcp(mcp)
        .spawner(Arc::new(LocalSpawner::guarded_by_this_binary()))
        .shell(shell(agent_dir.as_deref(), &settings))
        .settings(settings)
        .dialect(plan.dialect)
        .updates(plan.updates)
        .cwd(workspace.cwd);
    if let Some(names) = plan.tools {
        builder = builder.tools(tools(names, others, &policies, stderr));
    }
    builder = builder.subagents(policies);
    if let Some(undecided) = undecided {
        builder = builder.pending_trust(undecided);
    }
    if let Some(store) = store {
        builder = builder.store(store);
    }
    if let Some(session) = session {
        builder = builder.session(session);
    }
    if let Some(name) = plan.session_name {
        builder = builder.session_name(name);
    }
    if let Some(provider) = model.provider {
        builder = builder.provider(provider);
    }
    if let Some(model) = model.model {
        builder = builder.model(model);
    }
    if let Some(level) = model.thinking {
        builder = builder.thinking(level);
    }
    Ok(builder)
}

/// Factory of components for sessions in other directories. They have the same options as this process.
struct CliComponentsFactory {
    run: Run,
    flags: Vec<extensions::CommandLineFlag>,
    /// Models and keys of this process, which all its sessions share.
    catalog: Catalog,
    persist: Arc<dyn SettingsStore>,
    stderr: Stderr,
}

impl agentese_server::conversation::ComponentsFactory for CliComponentsFactory {
    fn components(&self, cwd: &Path) -> Result<AgentComponents, String> {
        let plan =
            Plan::read(self.run.clone(), &variable, cwd.to_owned()).map_err(|error| error.to_string())?;
        let plan = Plan { flags: self.flags.clone(), ..plan };
        plan.warnings.iter().for_each(|warning| self.stderr.warn(warning));
        let builder = builder(plan, self.catalog.clone(), &self.stderr).map_err(|error| error.to_string())?;
        builder.persist(self.persist.clone()).build_components().map_err(|error| error.to_string())
    }
}
