//! From options, environment and settings to what is to be done.

use std::path::{Path, PathBuf};

use agentese::types::ThinkingLevel;

use super::Failure;
use super::api_key::ApiKey;
use super::arguments::Run;
use super::surroundings::{Surroundings, names};
use agentese_server::config::{Environment, Settings, Trust, expand_home};
use agentese_server::desk::Updates;
use agentese_server::extensions;
use agentese_server::fronts::{self, FRONTENDS, Frontend};
use agentese_server::mcp;
use agentese_server::prompt::SystemPrompt;
use agentese_server::resources::Resources;
use agentese_server::session::one_line;

/// What a run of the agent is to be: everything is read and checked, and nothing is built.
#[derive(Debug)]
pub(super) struct Plan {
    pub task: Task,
    pub surroundings: Surroundings,
    /// Whether what the working directory brings along counts.
    pub trust: Trust,
    /// What would count if it were trusted.
    pub left_out: Vec<PathBuf>,
    /// The user's settings, and those of a trusted working directory.
    pub settings: Settings,
    pub model: ModelChoice,
    pub system_prompt: SystemPrompt,
    pub resources: Resources,
    /// The names of tools; none: the default ones.
    pub tools: Option<Vec<String>>,
    pub session: SessionChoice,
    /// What it is to be called.
    pub session_name: Option<String>,
    /// Where sessions are, if not in the agent directory.
    pub session_dir: Option<PathBuf>,
    pub dialect: &'static Frontend,
    /// The options, for sessions in other directories where the protocol has them.
    pub again: Option<Box<Run>>,
    pub updates: Updates,
    pub max_line: usize,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Where is looked for extensions.
    pub extensions: extensions::Wanted,
    /// The MCP servers that files name.
    pub servers: Vec<mcp::Definition>,
    /// Options that may be flags of extensions.
    pub flags: Vec<extensions::GivenFlag>,
}

/// The mode that speaks the Agent Client Protocol.
const ACP: &str = "acp";

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Task {
    /// Serve stdin and stdout.
    Serve,
    /// Print the models, or those that match.
    ListModels(Option<String>),
    /// Write a session file as HTML.
    Export { session: PathBuf, page: Option<PathBuf> },
}

/// Which model is asked.
#[derive(Debug, Default)]
pub(super) struct ModelChoice {
    /// What the command line says: a model that has to be there.
    pub provider: Option<String>,
    pub model: Option<String>,
    pub thinking: Option<ThinkingLevel>,
    pub api_key: Option<ApiKey>,
    /// The models that cycling goes through, as patterns; empty: all.
    pub scope: Vec<String>,
    pub script: Option<PathBuf>,
}

/// Which session the agent begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionChoice {
    /// A new one that is kept in memory only.
    InMemory,
    /// A new one.
    New,
    /// The newest of the working directory, or a new one.
    Newest,
    /// The one in this file, which may not exist yet.
    File(PathBuf),
    /// The one whose id begins like this.
    Id(String),
}

impl Plan {
    /// Reads settings, prompts, skills and context files. Fails for options that contradict each other or mean
    /// nothing.
    pub fn read(run: Run, environment: &dyn Environment, cwd: PathBuf) -> Result<Self, Failure> {
        let task = task(&run)?;
        check(&run, &task)?;
        let is_acp = run.mode.as_deref() == Some(ACP);
        let dialect = match is_acp {
            true => &fronts::ACP,
            false => Frontend::find(&run.dialect).map_err(|error| Failure::Usage(error.to_string()))?,
        };
        let again = is_acp.then(|| Box::new(run.clone()));
        let mut warnings = warnings(&run, &task);
        let surroundings = Surroundings::of(&run, dialect.home(), environment, cwd);
        let trust = if run.no_trust { Some(false) } else { run.trust.then_some(true) };
        let found = surroundings.read(trust)?;
        warnings.extend(found.warnings);
        let (cwd, home) = (&surroundings.cwd, surroundings.home.as_deref());
        warnings.extend(left_out(cwd, &found.left_out));
        Ok(Self {
            session: session(&run, cwd, home)?,
            session_name: session_name(run.name.as_deref())?,
            session_dir: run.session_dir.map(|directory| cwd.join(expand_home(&directory, home))),
            task,
            trust: found.trust,
            left_out: found.left_out,
            model: ModelChoice {
                provider: run.provider,
                model: run.model,
                thinking: run.thinking,
                api_key: run.api_key,
                scope: match (run.models, &found.settings.enabled_models) {
                    (models, Some(enabled)) if models.is_empty() => enabled.clone(),
                    (models, _) => models,
                },
                script: run.script,
            },
            surroundings,
            settings: found.settings,
            system_prompt: found.system_prompt,
            resources: found.resources,
            tools: tools(run.tools, run.no_tools),
            dialect,
            again,
            updates: run.updates.into(),
            max_line: run.max_line,
            extensions: found.extensions,
            servers: found.servers,
            flags: Vec::new(),
            warnings,
        })
    }

    /// The working directory.
    pub fn cwd(&self) -> &Path {
        &self.surroundings.cwd
    }

    /// The directory with the user's settings; none without a home directory.
    pub fn agent_dir(&self) -> Option<&Path> {
        self.surroundings.agent_dir.as_deref()
    }
}

/// What is said about the command line itself.
fn warnings(run: &Run, task: &Task) -> Vec<String> {
    let advice = "use the provider's environment variable instead";
    let all = [
        (!run.messages.is_empty() && *task == Task::Serve).then(|| extensions::NO_MESSAGES.to_owned()),
        run.api_key.is_some().then(|| format!("--api-key is visible to everybody on this machine; {advice}")),
        (!run.resources.theme.is_empty())
            .then(|| "--theme has no effect: this agent has no user interface".to_owned()),
    ];
    all.into_iter().flatten().collect()
}

fn task(run: &Run) -> Result<Task, Failure> {
    let mut export = run.export.iter().cloned();
    match (export.next(), &run.list_models) {
        (Some(_), Some(_)) => refuse("--export cannot be combined with --list-models"),
        (Some(session), None) => Ok(Task::Export { session, page: export.next() }),
        (None, Some(search)) => Ok(Task::ListModels(search.clone())),
        (None, None) => Ok(Task::Serve),
    }
}

/// What to say to somebody who did not say how to talk to the agent.
fn no_mode(run: &Run) -> String {
    match run.messages.first() {
        Some(word) => {
            format!("unknown command \"{word}\"; to serve, use --mode rpc; see agentese --help")
        }
        None => "no mode was given; to serve, use agentese --mode rpc; see agentese --help".to_owned(),
    }
}

/// What can be refused without reading anything.
fn check(run: &Run, task: &Task) -> Result<(), Failure> {
    if *task == Task::Serve {
        match run.mode.as_deref() {
            _ if run.resources.print => {
                return refuse("--print is not available in this version; use --mode rpc");
            }
            Some("rpc") => {}
            Some(ACP) => check_acp(run)?,
            None => return refuse(no_mode(run)),
            Some(mode) => {
                return refuse(format!(
                    "--mode {mode} is not available in this version; use --mode rpc or --mode acp"
                ));
            }
        }
    }
    if run.messages.iter().any(|message| message.starts_with('@')) {
        // The text is pi's.
        return refuse("@file arguments are not supported in RPC mode");
    }
    if run.api_key.as_ref().is_some_and(ApiKey::is_empty) {
        return refuse("--api-key is empty");
    }
    if run.api_key.is_some() && run.provider.is_none() && run.model.is_none() {
        return refuse("--api-key needs --provider or --model, which say whose key it is");
    }
    Ok(())
}

/// What means nothing to a client that opens sessions itself.
fn check_acp(run: &Run) -> Result<(), Failure> {
    if run.dialect != FRONTENDS[0].spec().name {
        return refuse("--dialect cannot be combined with --mode acp, which is a protocol of its own");
    }
    if run.session.is_some() || run.continues || run.resume {
        return refuse(
            "--session, --continue and --resume cannot be combined with --mode acp: the client opens sessions",
        );
    }
    if run.name.is_some() {
        return refuse("--name cannot be combined with --mode acp: the client opens sessions");
    }
    Ok(())
}

/// The tools that are named; `--tools ""` names none.
fn tools(named: Option<Vec<String>>, none: bool) -> Option<Vec<String>> {
    let trimmed = |names: Vec<String>| names.iter().map(|name| name.trim().to_owned()).collect::<Vec<_>>();
    let named = named.map(|names| trimmed(names).into_iter().filter(|name| !name.is_empty()).collect());
    named.or(none.then(Vec::new))
}

/// The name for the session, on one line.
fn session_name(name: Option<&str>) -> Result<Option<String>, Failure> {
    let name = name.map(|name| one_line(name).trim().to_owned());
    match name.as_deref() {
        Some("") => refuse("--name needs a name that is not empty"),
        _ => Ok(name),
    }
}

fn session(run: &Run, cwd: &Path, home: Option<&Path>) -> Result<SessionChoice, Failure> {
    let newest = run.continues || run.resume;
    match (&run.session, newest, run.no_session) {
        (Some(_), true, _) => refuse("--session cannot be combined with --continue or --resume"),
        (Some(_), _, true) | (_, true, true) => {
            refuse("--no-session cannot be combined with --session, --continue or --resume")
        }
        (None, false, true) => Ok(SessionChoice::InMemory),
        (None, true, false) => Ok(SessionChoice::Newest),
        (None, false, false) => Ok(SessionChoice::New),
        // As in pi: whatever looks like a path is one.
        (Some(name), ..) if name.contains(['/', '\\']) || name.ends_with(".jsonl") => {
            Ok(SessionChoice::File(cwd.join(expand_home(Path::new(name), home))))
        }
        (Some(id), ..) => {
            let allowed = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
            if id.is_empty() || !id.chars().all(allowed) {
                return refuse(format!(
                    "--session {id:?} is neither a file nor the beginning of a session id"
                ));
            }
            Ok(SessionChoice::Id(id.clone()))
        }
    }
}

/// One sentence about everything that would count if the working directory were trusted.
fn left_out(cwd: &Path, files: &[PathBuf]) -> Option<String> {
    let (verb, them) = if files.len() == 1 { ("is", "it") } else { ("are", "them") };
    let names = names(cwd, files);
    (!files.is_empty()).then(|| {
        format!("{names} {verb} not read because the directory is not trusted; use --trust to read {them}")
    })
}

fn refuse<T>(text: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Usage(text.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    /// An empty working directory and home.
    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            let place = Self(tempfile::tempdir().unwrap());
            std::fs::create_dir_all(place.path("home/.pi/agent")).unwrap();
            std::fs::create_dir_all(place.path("work/.pi")).unwrap();
            place
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn plan(&self, line: &str) -> Result<Plan, Failure> {
            let words = line.split_whitespace();
            let arguments = ["agentese", "--mode", "rpc"].into_iter().chain(words).map(OsString::from);
            let run = crate::parse::parse(arguments).unwrap().arguments.run;
            let home = self.path("home").into_os_string();
            Plan::read(run, &move |name: &str| (name == "HOME").then(|| home.clone()), self.path("work"))
        }

        fn refused(&self, line: &str) -> String {
            self.plan(line).unwrap_err().to_string()
        }
    }

    #[test]
    fn without_options_the_defaults_count() {
        let place = Place::new();
        let plan = place.plan("").unwrap();
        assert_eq!(plan.warnings, Vec::<String>::new());
        assert_eq!(plan.agent_dir(), Some(place.path("home/.pi/agent").as_path()));
        assert_eq!((plan.task, plan.session, plan.tools), (Task::Serve, SessionChoice::New, None));
        assert_eq!((plan.settings, plan.trust), (Settings::default(), Trust::Undecided));
    }

    #[test]
    fn a_session_is_given_a_name_on_one_line() {
        let place = Place::new();
        let name = |line: &str| place.plan(line).unwrap().session_name;
        assert_eq!(
            (name(""), name("--name work"), name("-n work")),
            (None, Some("work".into()), Some("work".into()))
        );
        let parsed =
            crate::parse::parse(["agentese", "--mode", "rpc", "--name", " two\nlines "].map(OsString::from));
        assert_eq!(
            session_name(parsed.unwrap().arguments.run.name.as_deref()).unwrap().unwrap(),
            "two lines"
        );
        assert!(matches!(session_name(Some(" \n")), Err(Failure::Usage(said)) if said.contains("--name")));
    }

    #[test]
    fn a_session_is_named_in_several_ways() {
        let place = Place::new();
        let session = |line: &str| place.plan(line).unwrap().session;
        assert_eq!(session("--no-session"), SessionChoice::InMemory);
        assert_eq!(session("--no-session --session-dir /tmp"), SessionChoice::InMemory);
        assert_eq!(session("-c"), SessionChoice::Newest);
        assert_eq!(session("--resume"), SessionChoice::Newest);
        assert_eq!(session("--session x.jsonl"), SessionChoice::File(place.path("work/x.jsonl")));
        assert_eq!(session("--session ~/x"), SessionChoice::File(place.path("home/x")));
        assert_eq!(session("--session 12ab-"), SessionChoice::Id("12ab-".to_owned()));
        assert!(place.refused("--session a -c").contains("cannot be combined"));
        assert!(place.refused("--no-session -r").contains("cannot be combined"));
        let directory = place.plan("--session-dir ~/s").unwrap().session_dir;
        assert_eq!(directory, Some(place.path("home/s")));
    }

    #[test]
    fn fm_f111_an_id_cannot_be_anything_else() {
        let place = Place::new();
        for id in ["..", "a.b", "C:", "a*", "%2e"] {
            assert!(place.refused(&format!("--session {id}")).contains("neither"), "{id}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let place = Place::new();
        for (line, part) in [
            ("--export a.jsonl --list-models", "cannot be combined"),
            ("--api-key sk-1", "--provider or --model"),
            ("--skill no/such", "work/no/such: there is no such file or directory"),
            ("--prompt-template ~/x", "home/x: there is no such file or directory"),
            ("--print", "--print is not available"),
            ("@a", "@file arguments are not supported in RPC mode"),
        ] {
            assert!(place.refused(line).contains(part), "{line}: {}", place.refused(line));
        }
    }

    #[test]
    fn fm_f118_a_key_is_warned_of_and_not_shown() {
        let place = Place::new();
        let planned = place.plan("--provider p --api-key sk-canary").unwrap();
        assert!(planned.warnings[0].starts_with("--api-key is visible"), "{:?}", planned.warnings);
        assert_eq!(planned.model.api_key.as_ref().map(ApiKey::reveal), Some("sk-canary"));
        assert!(!format!("{planned:?}").contains("canary"));
    }

    #[test]
    fn fm_f116_an_untrusted_directory_is_left_out_with_one_warning() {
        let place = Place::new();
        std::fs::write(place.path("work/.pi/settings.json"), r#"{"shellPath":"/evil"}"#).unwrap();
        std::fs::write(place.path("work/.pi/SYSTEM.md"), "Obey.").unwrap();
        std::fs::write(place.path("work/AGENTS.md"), "Use tabs.").unwrap();
        let plan = place.plan("").unwrap();
        assert_eq!(
            plan.warnings,
            [
                ".pi/settings.json, .pi/SYSTEM.md are not read because the directory is not trusted; use --trust to read them"
            ]
        );
        assert_eq!(plan.settings.shell_path, None);
        let SystemPrompt::Parts(parts) = plan.system_prompt else { panic!() };
        assert_eq!((parts.base, parts.context.last().unwrap().content.as_str()), (None, "Use tabs."));
        let plan = place.plan("--trust").unwrap();
        assert_eq!(plan.warnings, Vec::<String>::new());
        assert_eq!(plan.settings.shell_path, Some("/evil".into()));
        let SystemPrompt::Parts(parts) = plan.system_prompt else { panic!() };
        assert_eq!(parts.base.as_deref(), Some("Obey."));
        std::fs::write(place.path("home/.pi/agent/settings.json"), r#"{"defaultProjectTrust":"always"}"#)
            .unwrap();
        assert_eq!(place.plan("").unwrap().trust, Trust::Granted);
        assert_eq!(place.plan("--no-trust").unwrap().trust, Trust::Refused);
    }

    #[test]
    fn the_command_line_wins_over_settings() {
        let place = Place::new();
        let text = r#"{"enabledModels":["a","b"],"retry":{"enabled":7}}"#;
        std::fs::write(place.path("home/.pi/agent/settings.json"), text).unwrap();
        let planned = place.plan("").unwrap();
        assert_eq!(planned.model.scope, ["a", "b"]);
        assert!(planned.warnings[0].contains("retry.enabled"), "{:?}", planned.warnings);
        assert_eq!(place.plan("--models c").unwrap().model.scope, ["c"]);
        assert_eq!(place.plan("--no-tools").unwrap().tools, Some(Vec::new()));
        assert_eq!(place.plan("--no-tools --tools read").unwrap().tools, Some(vec!["read".to_owned()]));
        assert_eq!(place.plan("--tools=").unwrap().tools, Some(Vec::new()));
        assert!(place.plan("--offline").is_ok());
    }

    #[test]
    fn there_is_more_to_do_than_serving() {
        let place = Place::new();
        let task = |line: &str| place.plan(line).unwrap().task;
        assert_eq!(task("--list-models"), Task::ListModels(None));
        assert_eq!(task("--list-models son"), Task::ListModels(Some("son".to_owned())));
        assert_eq!(
            task("--export a.jsonl b.html"),
            Task::Export { session: "a.jsonl".into(), page: Some("b.html".into()) }
        );
    }
}
