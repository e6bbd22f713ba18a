//! The generated files on disk equal the output of the generators. The check for this names the command that
//! updates them.

use std::path::{Path, PathBuf};

use agentese_codegen::output::{self, GENERATED_FOLDERS};
use agentese_codegen::{Artefact, COMMAND, artefacts};
use agentese_protocol::Index;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

#[test]
fn generated_files_are_fresh() {
    if let Err(stale) = output::check(&root(), &artefacts()) {
        panic!("{stale}");
    }
}

#[test]
fn a_file_that_was_edited_deleted_or_added_fails_with_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let files = vec![
        Artefact::new("sdk-rust/src/generated/a.rs", "one\ntwo\n".to_owned()),
        Artefact::new("sdk-rust/schema/b.json", "{}\n".to_owned()),
    ];
    output::write(folder.path(), &files).unwrap();
    output::check(folder.path(), &files).unwrap();

    std::fs::write(folder.path().join("sdk-rust/src/generated/a.rs"), "one\n2\n").unwrap();
    let edited = output::check(folder.path(), &files).unwrap_err().to_string();
    assert!(edited.contains("differs: sdk-rust/src/generated/a.rs") && edited.contains("-2"), "{edited}");
    assert!(edited.contains(COMMAND), "{edited}");

    output::write(folder.path(), &files).unwrap();
    std::fs::remove_file(folder.path().join("sdk-rust/schema/b.json")).unwrap();
    let deleted = output::check(folder.path(), &files).unwrap_err().to_string();
    assert!(deleted.contains("missing: sdk-rust/schema/b.json") && deleted.contains(COMMAND), "{deleted}");

    output::write(folder.path(), &files).unwrap();
    std::fs::write(folder.path().join("sdk-rust/schema/old.json"), "{}\n").unwrap();
    let added = output::check(folder.path(), &files).unwrap_err().to_string();
    assert!(added.contains("no longer generated: sdk-rust/schema/old.json"), "{added}");
}

#[test]
fn every_generated_file_has_the_banner_and_is_in_a_generated_folder() {
    for artefact in artefacts() {
        let path = artefact.path.display().to_string();
        let head: String = artefact.text.chars().take(400).collect();
        let in_folder = GENERATED_FOLDERS.iter().any(|folder| artefact.path.starts_with(folder));
        // The location of a Python module is its name: `agentese.pi` cannot live elsewhere.
        let is_module = path.starts_with("sdk-python/python/agentese/");
        // The module of a folder of generated Rust is the file beside it.
        let is_root = GENERATED_FOLDERS.iter().any(|folder| path == format!("{folder}.rs"));
        assert!(in_folder || is_root || is_module || path == "protocol/model.json", "{path}");
        // OpenRPC has no place for comments before its description.
        assert!(head.contains(COMMAND) || path.ends_with("openrpc.json"), "{path} does not name the command");
    }
}

/// Each dialect has a Cargo feature for its generated Rust code. If a dialect inherits declarations from a parent,
/// its feature enables the feature of the parent. Features of protocols that are not dialects are off by default.
/// Any other feature must enable an optional dependency.
#[test]
fn the_features_of_the_rust_crate_are_the_dialects() {
    let manifest = std::fs::read_to_string(root().join("sdk-rust/Cargo.toml")).unwrap();
    let section = manifest.split("[features]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let found: Vec<&str> =
        section.lines().filter(|line| line.contains('=') && !line.contains("[\"dep:")).collect();
    let dialects = Index::pinned();
    let names: Vec<String> = dialects.iter().map(|index| format!("{:?}", index.dialect.name)).collect();
    let mut expected = vec![format!("default = [{}]", names.join(", "))];
    for index in dialects.iter().chain(&Index::protocols()) {
        let parent = index.dialect.parent.map(|parent| format!("{:?}", parent.name)).unwrap_or_default();
        expected.push(format!("{} = [{parent}]", index.dialect.name));
    }
    assert_eq!(found, expected);
}

#[test]
fn generation_is_deterministic() {
    assert_eq!(artefacts(), artefacts());
}
