//! Tests of the files that users of omp have.

use std::ffi::OsString;

use agentese_server::config::{AgentPaths, Trust, agent_dir, load_settings};
use agentese_server::dialects::DialectEntry;
use agentese_server::providers::{Sources, load};

#[test]
fn settings_and_models_are_read_from_the_directory_of_omp() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".omp/agent");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.yml"), "retry:\n  maxRetries: 7\nsteeringMode: all\n").unwrap();
    let models = "
providers:
  near:
    baseUrl: http://127.0.0.1:1/v1
    auth: none
    api: openai-completions
    models:
      - id: small
        contextWindow: 1000
";
    std::fs::write(folder.join("models.yml"), models).unwrap();
    let path = home.path().to_owned();
    let environment = move |name: &str| (name == "HOME").then(|| OsString::from(&path));

    let files: AgentPaths = DialectEntry::find("omp").unwrap().paths();
    let directory = agent_dir(&files, &environment).unwrap();
    assert_eq!(directory, folder);
    let cwd = tempfile::tempdir().unwrap();
    let loaded = load_settings(&files, Some(&directory), cwd.path(), Some(home.path()), Some(true));
    assert_eq!((loaded.warnings.len(), loaded.trust), (0, Trust::Granted));
    assert_eq!(loaded.settings.retry.max_retries, 7);

    let mut sources = Sources::new(Some(directory), std::sync::Arc::new(environment));
    sources.models = files.models;
    let (catalog, warnings) = load(sources);
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(catalog.find("near/small").is_some(), "a provider that asks for no key can be used");
}
