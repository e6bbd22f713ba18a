//! Tests of the crate graph in ARCHITECTURE.md, which states the permitted dependencies between crates.
//!
//! `AGENTESE_CRATES=write cargo test --workspace --test crate_dependencies` writes the graph into that file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the crates of this repository that a crate depends on. Leaves out the dependencies of its tests.
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

/// Crates that the server's extensions and subagents may use.
const PROGRAMS: &[&str] = &[
    "agentese",
    "agentese-server-base",
    "agentese-server-engine",
    "agentese-server-models",
    "agentese-server-tools",
];

/// Crates of the server that its facade re-exports.
const SERVER_CRATES: &[&str] = &[
    "agentese-server-base",
    "agentese-server-dialects",
    "agentese-server-engine",
    "agentese-server-extensions",
    "agentese-server-models",
    "agentese-server-providers",
    "agentese-server-sessions",
    "agentese-server-subagents",
    "agentese-server-tools",
];

/// Sources of the server, one folder for each of its crates.
fn sources_of_the_server() -> Vec<String> {
    let crates = SERVER_CRATES.iter().map(|name| name.replacen("agentese-server-", "server/", 1) + "/src");
    crates.chain(["server/src".to_owned()]).collect()
}

#[test]
fn arrows_point_one_way() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("protocol", &[][..]),
        ("codegen", &["agentese-protocol"]),
        ("sdk-rust", &[]),
        ("server/base", &["agentese"]),
        ("server/tools", &["agentese", "agentese-server-base"]),
        ("server/sessions", &["agentese", "agentese-server-base"]),
        ("server/models", &["agentese", "agentese-script", "agentese-server-base"]),
        // A change in a provider recompiles only its crate and the crates that link it.
        ("server/providers", &["agentese", "agentese-server-base", "agentese-server-models"]),
        (
            "server/engine",
            &[
                "agentese",
                "agentese-server-base",
                "agentese-server-models",
                "agentese-server-sessions",
                "agentese-server-tools",
            ],
        ),
        ("server/extensions", PROGRAMS),
        ("server/subagents", PROGRAMS),
        (
            "server/dialects",
            &[
                "agentese",
                "agentese-server-base",
                "agentese-server-engine",
                "agentese-server-extensions",
                "agentese-server-models",
                "agentese-server-sessions",
                "agentese-server-subagents",
                "agentese-server-tools",
            ],
        ),
        ("server", SERVER_CRATES),
        (
            "bridge",
            &[
                "agentese",
                "agentese-process",
                "agentese-server-base",
                "agentese-server-dialects",
                "agentese-server-engine",
                "agentese-server-models",
                "agentese-server-sessions",
                "agentese-server-tools",
            ],
        ),
        ("cli", &["agentese", "agentese-bridge", "agentese-process", "agentese-server"]),
        (
            "cli/process",
            &["agentese", "agentese-server-base", "agentese-server-dialects", "agentese-server-sessions"],
        ),
        ("conformance/script", &["agentese"]),
        ("conformance", &["agentese", "agentese-script"]),
        ("conformance/defects", &["agentese", "agentese-conformance"]),
    ]);
    for (folder, allowed) in allowed {
        for dependency in dependencies(folder) {
            assert!(allowed.contains(&dependency.as_str()), "{folder} depends on {dependency}");
        }
    }
}

/// Returns the members of the workspace, each with the members that it depends on. Leaves out the
/// dependencies of tests.
fn members() -> BTreeMap<String, BTreeSet<String>> {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |package: &serde_json::Value| package["name"].as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap();
    let ours: BTreeSet<String> = packages.iter().map(name).collect();
    let member = |package: &serde_json::Value| {
        let all = package["dependencies"].as_array().unwrap();
        let needed = all.iter().filter(|dependency| dependency["kind"] != "dev").map(name);
        (name(package), needed.filter(|dependency| ours.contains(dependency)).collect())
    };
    packages.iter().map(member).collect()
}

/// Returns `true` if a crate depends on another one, directly or through others.
fn reaches(members: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    members[from].iter().any(|next| next == to || reaches(members, next, to))
}

#[test]
fn the_graph_of_crates_matches_cargo_metadata() {
    const BEGIN: &str = "<!-- crates -->\n";
    const END: &str = "<!-- /crates -->\n";
    let mut graph = "```mermaid\ngraph TD\n".to_owned();
    let members = members();
    for (name, needed) in &members {
        // A dependency that follows from two others is not drawn.
        let is_shown = |dependency: &&String| {
            !needed.iter().any(|other| other != *dependency && reaches(&members, other, dependency))
        };
        let lines: String =
            needed.iter().filter(is_shown).map(|dependency| format!("  {name} --> {dependency}\n")).collect();
        graph.push_str(&lines);
        if needed.is_empty() {
            graph.push_str(&format!("  {name}\n"));
        }
    }
    graph.push_str("```\n");
    let file = root().join("ARCHITECTURE.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("ARCHITECTURE.md has a graph of crates");
    let (held, after) = rest.split_once(END).expect("the graph of crates has an end");
    if std::env::var("AGENTESE_CRATES").is_ok_and(|value| value == "write") {
        return std::fs::write(file, format!("{before}{BEGIN}{graph}{END}{after}")).unwrap();
    }
    assert_eq!(held, graph, "run this test with AGENTESE_CRATES=write");
}

#[test]
fn the_picture_of_folders_names_every_crate() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let picture = text.split("```").nth(1).unwrap();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let named: BTreeSet<String> = picture
        .split("crate ")
        .skip(1)
        .map(|rest| rest.chars().take_while(|c| is_part(*c)).collect())
        .collect();
    assert_eq!(named, members().into_keys().collect(), "crates in the picture, and those of the workspace");
}

/// Users who install the suite or a client must not get crates that serve only the development of this
/// project.
#[test]
fn crates_for_work_on_the_project_are_not_published() {
    for folder in ["codegen/typify-check", "conformance/defects"] {
        let manifest = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        assert!(manifest.contains("\npublish = false\n"), "{folder} is published");
    }
}

#[test]
fn the_declaration_has_no_dependencies() {
    let manifest = std::fs::read_to_string(root().join("protocol/Cargo.toml")).unwrap();
    let section = manifest.split("[dependencies]").nth(1).unwrap().split('[').next().unwrap();
    assert_eq!(section.trim(), "", "the declaration has dependencies");
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| ["rs", "py", "ts", "tsx"].iter().any(|known| extension == *known))
        {
            files.push(path);
        }
    }
}

/// A module with a folder is the file `name.rs` beside the folder.
///
/// Only code that several tests of a crate share is in a `mod.rs`, because Cargo treats every file directly
/// in `tests/` as a test.
#[test]
fn a_module_with_a_folder_is_the_file_beside_it() {
    let root = root();
    let listed =
        std::process::Command::new("git").args(["ls-files", "*.rs"]).current_dir(&root).output().unwrap();
    assert!(listed.status.success(), "git lists no files: {}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.lines().count() > 1000, "git lists too few files:\n{listed}");
    let modules: Vec<&Path> = listed.lines().map(Path::new).filter(|path| path.ends_with("mod.rs")).collect();
    for path in modules {
        let tests = path.parent().and_then(Path::parent).unwrap();
        let is_shared = tests.ends_with("tests") && root.join(tests.with_file_name("Cargo.toml")).exists();
        assert!(is_shared, "{}: name it {}.rs", path.display(), path.parent().unwrap().display());
    }
}

/// The server must not depend on any client crate.
#[test]
fn the_server_never_knows_a_client() {
    let mut files = Vec::new();
    for folder in sources_of_the_server() {
        sources(&root().join(folder), &mut files);
    }
    assert!(files.len() > 10);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for word in ["RpcClient", "agentese::client", "agentese::run::", "pi::Client"] {
            assert!(!text.contains(word), "{} names {word}", file.display());
        }
    }
}

/// Names of commands and events that hand-written files may contain: path, names, and reason. A path that
/// ends with a slash is a folder. An empty list allows all names.
const NAMED: &[(&str, &[&str], &str)] = &[
    ("server/dialects/src/dialects/", &[], "a dialect server speaks its dialect"),
    ("server/providers/src/apis/", &[], "APIs of models have vocabularies of their own"),
    ("conformance/src/model/", &[], "APIs of models have vocabularies of their own"),
    ("conformance/src/attack/", &["bash"], "the name of a tool"),
    ("server/tools/src/", &["bash"], "the name of a tool"),
    ("server/engine/src/prompt/built_in.rs", &["bash"], "the name of a tool"),
    ("server/engine/src/engine/behavior_profile.rs", &["bash"], "the name of a tool"),
    ("server/base/src/config/setting.rs", &["branch"], "the value of a setting"),
    ("server/subagents/src/verification/verifier.rs", &["bash"], "the name of a shell"),
    ("server/sessions/src/export/tool.rs", &["bash"], "the name of a tool"),
    ("server/models/src/scripted/plan.rs", &["bash"], "the name of a tool"),
    ("server/sessions/src/export/page.rs", &["branch"], "a word on an exported page"),
    (
        "server/sessions/src/session/lenient_decode.rs",
        &["abort"],
        "a stop reason in sessions of other programs",
    ),
    ("server/engine/src/engine/error.rs", &["steer"], "the name of a delivery in the extension protocol"),
    ("bridge/src/convert.rs", &["branch", "prompt"], "words of the neutral conversation"),
    ("cli/src/command_line.rs", &["prompt"], "an example in the help of the command line"),
    (
        "sdk-python/python/agentese/view/",
        &["prompt", "steer"],
        "ways in which words wait, in the neutral conversation",
    ),
    ("sdk-ts/src/ui/", &["prompt", "steer"], "ways in which words wait, in the neutral conversation"),
    (
        "sdk-python/python/agentese/any/",
        &["abort", "bash", "compact", "fork", "notice", "prompt", "steer"],
        "intents and events, which no dialect has alone",
    ),
    ("sdk-rust/src/any/event.rs", &["notice"], "an event, which no dialect has alone"),
    (
        "sdk-ts/src/any/",
        &["abort", "bash", "compact", "fork", "notice", "prompt", "steer"],
        "intents and events, which no dialect has alone",
    ),
    ("sdk-ts/src/serve/spec.ts", &["bash"], "the name of a lane"),
    ("sdk-ts/src/client.ts", &["abort"], "the event of an AbortSignal"),
    ("sdk-ts/src/connection/connection.ts", &["abort"], "the event of an AbortSignal"),
    ("sdk-ts/src/serve/serve.ts", &["abort"], "the event of an AbortSignal"),
    ("sdk-ts/src/testing/replay.ts", &["abort"], "the event of an AbortSignal"),
    ("extensions/pi-host/src/exec.ts", &["abort"], "the event of an AbortSignal"),
    ("extensions/pi-host/src/ui.ts", &["abort"], "the event of an AbortSignal"),
    (
        "extensions/pi-host/src/handle.ts",
        &[
            "before_agent_start",
            "resources_discover",
            "session_before_compact",
            "tool_call",
            "tool_result",
            "user_bash",
        ],
        "hooks of pi's extensions, which a live Operator tells as events",
    ),
    ("extensions/pi-host/src/", ACTIONS, "actions of the extension protocol"),
    ("sdk-ts/src/extension.ts", ACTIONS, "actions of the extension protocol"),
    ("extensions/python/agentese_extension.py", ACTIONS, "actions of the extension protocol"),
    ("cli/web/src/dialects/", &[], "how the page says in each dialect what it wants"),
    (
        "cli/web/src/",
        &["abort", "compact", "fork", "prompt", "steer"],
        "controls of the page, ways in which words wait, and names of arguments of tools",
    ),
    ("cli/web/src/parts/tool.tsx", &["bash"], "the name of a language"),
    ("cli/web/src/text/highlight.ts", &["bash"], "the name of a language"),
];

/// Actions of extensions with the same names as commands of dialects.
const ACTIONS: &[&str] = &[
    "abort",
    "compact",
    "fork",
    "get_entries",
    "get_state",
    "new_session",
    "set_model",
    "set_session_name",
    "set_thinking_level",
    "steer",
    "switch_session",
];

/// Returns `true` if code contains the name as a string, in any quotes, or as a string within another string.
fn names(code: &str, name: &str) -> bool {
    code.contains(&format!("\"{name}\""))
        || code.contains(&format!("\\\"{name}\\\""))
        || code.contains(&format!("'{name}'"))
}

#[test]
fn a_name_is_found_in_any_quotes() {
    for code in [r#"x("fork")"#, r#""{\"type\":\"fork\"}""#, "x('fork')"] {
        assert!(names(code, "fork"), "{code}");
    }
    assert!(!names(r#"x("forks")"#, "fork"));
}

/// Only the declaration contains the names of commands and events. All other hand-written files use generated
/// constants, except for the server's dialects.
#[test]
fn hand_written_files_know_no_vocabulary() {
    let mut vocabulary: Vec<&str> = Vec::new();
    for index in &agentese_protocol::Index::all() {
        vocabulary.extend(index.commands.iter().map(|command| command.wire));
        vocabulary.extend(index.events.iter().map(|event| event.name));
    }
    // Other names of protocols are words of the neutral conversation, too.
    let protocols = agentese_protocol::Index::protocols();
    let methods = protocols.iter().flat_map(|index| index.commands.iter().map(|command| command.wire));
    vocabulary.extend(methods.filter(|name| name.contains('/')));
    // Members of envelopes, and of any agent, that are also names of Opal's and Operator's events.
    vocabulary.retain(|name| !matches!(*name, "error" | "unknown" | "context" | "input"));
    let folders = [
        "bridge/src",
        "cli/process/src",
        "cli/src",
        "conformance/src",
        "conformance/defects/src",
        "extensions/python",
        "extensions/pi-host/src",
        "sdk-python/python",
        "sdk-python/src",
        "sdk-rust/src",
        "sdk-ts/src",
        "cli/web/src",
    ];
    let folders = folders.map(str::to_owned).into_iter().chain(sources_of_the_server());
    let mut needed = vec![false; NAMED.len()];
    for folder in folders {
        let mut files = Vec::new();
        sources(&root().join(&folder), &mut files);
        let may_be_one = ["extensions/python", "server/src"].contains(&folder.as_str());
        assert!(files.len() > usize::from(!may_be_one), "{folder} has no sources");
        for file in files {
            let path = file.strip_prefix(root()).unwrap().to_str().unwrap();
            let is_test =
                path.ends_with("tests.rs") || path.ends_with("/testing.rs") || path.contains("/tests/");
            if path.contains("/generated/") || path.ends_with("/generated.rs") || is_test {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            // Unit tests inside a file may contain any name, and so may comments.
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let comments = if path.ends_with(".py") { &["#"][..] } else { &["//", "/*", "*"] };
            let is_code = |line: &&str| !comments.iter().any(|mark| line.trim_start().starts_with(mark));
            let code: String = code.lines().filter(is_code).collect::<Vec<_>>().join("\n");
            for name in vocabulary.iter().filter(|name| names(&code, name)) {
                let reason = NAMED.iter().position(|(place, allowed, _)| {
                    (path == *place || (place.ends_with('/') && path.starts_with(place)))
                        && (allowed.is_empty() || allowed.contains(name))
                });
                let Some(reason) = reason else { panic!("{path} names `{name}`") };
                needed[reason] = true;
            }
        }
    }
    let idle = NAMED.iter().zip(needed).find(|(_, needed)| !needed);
    assert!(idle.is_none(), "an exception that nothing needs: {idle:?}");
}

/// Checks the layers within each crate of the server: the modules that the files of a module may use.
/// [`arrows_point_one_way`] checks the dependencies between the crates.
#[test]
fn server_layers_use_only_lower_layers() {
    let below = [
        "config",
        "export",
        "prompt",
        "providers",
        "resources",
        "dialect_messages",
        "session",
        "tools",
        "ui",
        "runtime",
    ];
    let and = |more: &[&'static str]| below.iter().chain(more).copied().collect::<Vec<_>>();
    let layers: BTreeMap<&str, Vec<&str>> = BTreeMap::from([
        ("base/src/runtime", vec![]),
        ("base/src/processes", vec![]),
        ("base/src/atomic_write", vec![]),
        ("base/src/config", vec!["encoding", "atomic_write"]),
        ("sessions/src/session", vec!["atomic_write", "runtime"]),
        ("sessions/src/export", vec!["clean", "os_error", "atomic_write"]),
        ("engine/src/prompt", vec!["config", "tools"]),
        ("engine/src/resources", vec!["config", "prompt"]),
        ("engine/src/engine", below.to_vec()),
        ("extensions/src/extensions", and(&["engine"])),
        ("extensions/src/mcp", and(&["engine"])),
        ("dialects/src/conversation", and(&["engine", "extensions", "mcp"])),
        ("dialects/src/dialects", and(&["conversation", "engine", "extensions", "mcp", "atomic_write"])),
    ]);
    let family =
        regex::Regex::new(r"\bagentese_server_(?:base|engine|extensions|sessions|dialects)::").unwrap();
    for (folder, allowed) in layers {
        let layer = folder.rsplit('/').next().unwrap();
        let mut files = Vec::new();
        let folder = root().join("server").join(folder);
        sources(&folder, &mut files);
        assert!(!files.is_empty(), "no layer {layer}");
        files.push(folder.with_extension("rs"));
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                assert!(!line.contains("crate::{"), "{}: one `use` for each layer", file.display());
                // The crates of the server re-export the modules of lower crates under the same names.
                let line = family.replace_all(line, "crate::");
                for used in line.split("crate::").skip(1) {
                    let end = used.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(used.len());
                    let used = &used[..end];
                    // A name with a capital letter is re-exported by the root of the crate.
                    if used.is_empty() || used == layer {
                        continue;
                    }
                    assert!(allowed.contains(&used), "{} uses crate::{used}", file.display());
                }
            }
        }
    }
}
