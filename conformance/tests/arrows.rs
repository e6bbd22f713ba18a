//! The arrows of ARCHITECTURE.md: which crate may know which.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Our own crates that a crate depends on, but for its tests.
fn dependencies(folder: &str) -> Vec<String> {
    let manifest = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
    let mut ours = Vec::new();
    let mut section = String::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim().to_owned();
        }
        let name: String =
            line.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).collect();
        if section == "[dependencies]" && name.starts_with("agentese") {
            ours.push(name);
        }
    }
    ours
}

#[test]
fn arrows_point_one_way() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("protocol", &[][..]),
        ("codegen", &["agentese-protocol"]),
        ("sdk-rust", &[]),
        ("server", &["agentese"]),
        ("conformance", &["agentese"]),
    ]);
    for (folder, allowed) in allowed {
        for dependency in dependencies(folder) {
            assert!(allowed.contains(&dependency.as_str()), "{folder} depends on {dependency}");
        }
    }
}

#[test]
fn the_declaration_depends_on_nothing() {
    let manifest = std::fs::read_to_string(root().join("protocol/Cargo.toml")).unwrap();
    let section = manifest.split("[dependencies]").nth(1).unwrap().split('[').next().unwrap();
    assert_eq!(section.trim(), "", "the declaration has dependencies");
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The server speaks to a client that it does not know.
#[test]
fn the_server_never_knows_a_client() {
    let mut files = Vec::new();
    sources(&root().join("server/src"), &mut files);
    assert!(files.len() > 10);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for word in ["RpcClient", "agentese::client", "agentese::run::", "pi::Client"] {
            assert!(!text.contains(word), "{} names {word}", file.display());
        }
    }
}

/// Names of commands and events belong to the declaration. The hand-written runtime and the conformance
/// suite know the words of the envelopes and nothing of the vocabulary.
#[test]
fn the_runtime_knows_no_vocabulary() {
    let index = agentese_protocol::Index::all();
    let mut files = Vec::new();
    sources(&root().join("sdk-rust/src"), &mut files);
    sources(&root().join("conformance/src"), &mut files);
    // Attacks go about their work as clients do, with a few commands that they name. Nothing is judged by them.
    let attacks = root().join("conformance/src/attack");
    let used = [
        "bash",
        "get_messages",
        "get_state",
        "message_end",
        "session/history",
        "session/start",
        "switch_session",
    ];
    // The APIs of models have vocabularies of their own.
    let models = root().join("conformance/src/model");
    for file in files {
        if file.components().any(|part| part.as_os_str() == "generated") || file.starts_with(&models) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        // Tests inside a file may say what they like.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code: String =
            code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        for index in &index {
            let names = index.commands.iter().map(|c| c.wire).chain(index.events.iter().map(|e| e.name));
            // Words of the envelopes that happen to be names of Opal's events.
            let of_attacks = |name: &str| file.starts_with(&attacks) && used.contains(&name);
            for name in names.filter(|name| !matches!(*name, "error" | "unknown") && !of_attacks(name)) {
                assert!(!code.contains(&format!("\"{name}\"")), "{} names `{name}`", file.display());
            }
        }
    }
}

/// The layers of the server: what each folder of it may use of the others.
#[test]
fn the_layers_of_the_server_know_only_those_below_them() {
    let below = [
        "config",
        "export",
        "prompt",
        "providers",
        "replace",
        "resources",
        "session",
        "tools",
        "ui",
        "world",
    ];
    let and = |more: &[&'static str]| below.iter().chain(more).copied().collect::<Vec<_>>();
    let layers: BTreeMap<&str, Vec<&str>> = BTreeMap::from([
        ("world", vec![]),
        ("replace", vec![]),
        ("config", vec!["replace"]),
        ("session", vec!["replace", "world"]),
        ("tools", vec!["replace", "world"]),
        ("prompt", vec!["config", "tools"]),
        ("resources", vec!["config", "prompt"]),
        ("export", vec!["replace", "tools"]),
        // The value of a key may be what a command prints.
        ("providers", vec!["config", "replace", "tools", "world"]),
        ("engine", below.to_vec()),
        ("extensions", and(&["engine"])),
        ("desk", and(&["engine", "extensions"])),
        ("fronts", and(&["desk", "engine", "extensions"])),
    ]);
    let source = root().join("server/src");
    for (layer, allowed) in layers {
        let mut files = Vec::new();
        sources(&source.join(layer), &mut files);
        assert!(!files.is_empty(), "there is no layer {layer}");
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                assert!(!line.contains("crate::{"), "{}: one `use` for each layer", file.display());
                for used in line.split("crate::").skip(1) {
                    let end = used.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(used.len());
                    let used = &used[..end];
                    // Names that begin with a capital are re-exports of the crate's root.
                    if used.is_empty() || used == layer {
                        continue;
                    }
                    assert!(allowed.contains(&used), "{} uses crate::{used}", file.display());
                }
            }
        }
    }
}
