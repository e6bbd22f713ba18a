//! Tests of plans from options, an environment and settings.

use super::*;
use std::ffi::OsString;

/// Empty working directory and empty home directory.
struct TestDirs(tempfile::TempDir);

impl TestDirs {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(place.path("home/.pi/agent")).unwrap();
        std::fs::create_dir_all(place.path("work/.pi")).unwrap();
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn plan(&self, line: &str) -> Result<Plan, CliError> {
        let words = line.split_whitespace();
        let arguments = ["agentese", "--mode", "rpc"].into_iter().chain(words).map(OsString::from);
        let run = crate::command_line_parser::parse(arguments).unwrap().arguments.run;
        let home = self.path("home").into_os_string();
        Plan::read(run, &move |name: &str| (name == "HOME").then(|| home.clone()), self.path("work"))
    }

    fn refused(&self, line: &str) -> String {
        self.plan(line).unwrap_err().to_string()
    }
}

#[test]
fn defaults_apply_without_options() {
    let place = TestDirs::new();
    let plan = place.plan("").unwrap();
    assert_eq!(plan.warnings, Vec::<String>::new());
    assert_eq!(plan.agent_dir(), Some(place.path("home/.pi/agent").as_path()));
    assert_eq!((plan.task, plan.session, plan.tools), (Task::Serve, SessionChoice::New, None));
    assert_eq!((plan.settings, plan.trust), (Settings::default(), Trust::Undecided));
}

#[test]
fn a_session_name_is_one_line() {
    let place = TestDirs::new();
    let name = |line: &str| place.plan(line).unwrap().session_name;
    assert_eq!(
        (name(""), name("--name work"), name("-n work")),
        (None, Some("work".into()), Some("work".into()))
    );
    let parsed = crate::command_line_parser::parse(
        ["agentese", "--mode", "rpc", "--name", " two\nlines "].map(OsString::from),
    );
    assert_eq!(session_name(parsed.unwrap().arguments.run.name.as_deref()).unwrap().unwrap(), "two lines");
    assert!(matches!(session_name(Some(" \n")), Err(CliError::Usage(said)) if said.contains("--name")));
}

#[test]
fn a_session_is_named_in_several_ways() {
    let place = TestDirs::new();
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
fn fm_f111_a_session_id_has_only_safe_characters() {
    let place = TestDirs::new();
    for id in ["..", "a.b", "C:", "a*", "%2e"] {
        assert!(place.refused(&format!("--session {id}")).contains("neither"), "{id}");
    }
}

#[test]
fn contradictory_options_are_rejected() {
    let place = TestDirs::new();
    for (line, part) in [
        ("--export a.jsonl --list-models", "cannot be combined"),
        ("--api-key sk-1", "--provider or --model"),
        ("--skill no/such", "work/no/such: no such file or directory"),
        ("--prompt-template ~/x", "home/x: no such file or directory"),
        ("--print", "--print is not available"),
        ("@a", "@file arguments are not supported in RPC mode"),
    ] {
        assert!(place.refused(line).contains(part), "{line}: {}", place.refused(line));
    }
}

#[test]
fn fm_f118_a_key_causes_a_warning_and_is_not_shown() {
    let place = TestDirs::new();
    let planned = place.plan("--provider p --api-key sk-canary").unwrap();
    assert!(planned.warnings[0].starts_with("--api-key is visible"), "{:?}", planned.warnings);
    assert_eq!(planned.model.api_key.as_ref().map(ApiKey::reveal), Some("sk-canary"));
    assert!(!format!("{planned:?}").contains("canary"));
}

#[test]
fn fm_f116_an_untrusted_directory_is_left_out_with_one_warning() {
    let place = TestDirs::new();
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
    let SystemPrompt::Composed(parts) = plan.system_prompt else { panic!() };
    assert_eq!((parts.base, parts.context.last().unwrap().content.as_str()), (None, "Use tabs."));
    let plan = place.plan("--trust").unwrap();
    assert_eq!(plan.warnings, Vec::<String>::new());
    assert_eq!(plan.settings.shell_path, Some("/evil".into()));
    let SystemPrompt::Composed(parts) = plan.system_prompt else { panic!() };
    assert_eq!(parts.base.as_deref(), Some("Obey."));
    std::fs::write(place.path("home/.pi/agent/settings.json"), r#"{"defaultProjectTrust":"always"}"#)
        .unwrap();
    assert_eq!(place.plan("").unwrap().trust, Trust::Granted);
    assert_eq!(place.plan("--no-trust").unwrap().trust, Trust::Refused);
}

#[test]
fn the_command_line_wins_over_settings() {
    let place = TestDirs::new();
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
fn list_models_and_export_are_tasks() {
    let place = TestDirs::new();
    let task = |line: &str| place.plan(line).unwrap().task;
    assert_eq!(task("--list-models"), Task::ListModels(None));
    assert_eq!(task("--list-models son"), Task::ListModels(Some("son".to_owned())));
    assert_eq!(
        task("--export a.jsonl b.html"),
        Task::Export { session: "a.jsonl".into(), page: Some("b.html".into()) }
    );
}
