//! Tests of extensions for pi in the embedded Node host. They need Node.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::host::{check_runs, command, plain};
use crate::support::process::{Agent, Place, assert_gone};

/// An extension that reports its process id and records its start.
const PROCESS_ID: &str = r#"
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { Type } from "@sinclair/typebox";
export default function (pi: ExtensionAPI) {
  pi.on("session_start", (_event: unknown, ctx: any) => ctx.ui.notify(`NAME is ${process.pid}`));
  pi.registerCommand("NAME", { handler: async (args: string, ctx: any) => ctx.ui.notify(`NAME ${args}`) });
  pi.registerTool({ name: "NAME-tool", label: "NAME", description: "Says NAME", parameters: Type.Object({}),
    execute: async () => ({ content: [{ type: "text", text: "NAME says so" }] }) });
}
"#;

fn install(place: &Place, name: &str) -> String {
    let file = place.put(&format!("installed/{name}.ts"), PROCESS_ID.replace("NAME", name));
    file.to_str().unwrap().to_owned()
}

/// Creates a folder with the script `node`. Returns a `PATH` that begins with this folder.
fn fake_node(place: &Place, script: &str) -> OsString {
    let node = place.put("bin/node", format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&node, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut path = node.parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    path
}

/// Returns the process ids that extensions have reported so far.
fn pids(agent: &Agent) -> Vec<i32> {
    let notices = agent.seen.iter().filter_map(|frame| frame["message"].as_str());
    notices.filter_map(|text| text.split_once(" is ")?.1.parse().ok()).collect()
}

#[test]
fn one_process_serves_all_extensions() {
    let place = Place::new();
    let script = json!({"responses": [
        {"blocks": [{"tool": {"id": "call", "name": "two-tool", "args": {}}}]},
    ], "default": {"text": "done"}});
    let mut command = command(&place, &["ui"], script);
    command.arg("-e").arg(install(&place, "one")).arg("-e").arg(install(&place, "two"));
    let mut agent = Agent::start(command);
    agent.prompt("/one now");
    assert_eq!(
        (agent.next_notice().starts_with("one is "), agent.next_notice().starts_with("two is ")),
        (true, true)
    );
    let pids = pids(&agent);
    assert_eq!((pids.len(), pids[0]), (2, pids[1]));
    assert_eq!(agent.next_notice(), "one now");
    agent.prompt("go");
    let frames = agent.until_event("agent_end");
    assert_eq!(frames.last().unwrap()["messages"][2]["content"][0]["text"], "two says so");
    let listed = agent.request(json!({"type": "get_commands"}));
    let paths: Vec<_> = listed["data"]["commands"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|command| command["name"] == "two")
        .collect();
    assert_eq!(paths[0]["path"], place.work().parent().unwrap().join("installed/two.ts").to_str().unwrap());
    let (status, _, stderr) = agent.finish();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    assert_gone(rustix::process::Pid::from_raw(pids[0]).unwrap());
}

/// Starts an agent with one extension that has this source text.
fn agent_with_source(place: &Place, text: &str) -> Agent {
    let file = place.put("installed/one.ts", text);
    let mut command = command(place, &["ui"], plain());
    command.arg("-e").arg(file);
    Agent::start(command)
}

#[test]
fn non_text_dialog_value_reaches_the_extension_unchanged() {
    let place = Place::new();
    let mut agent = agent_with_source(
        &place,
        r#"export default function (pi: any) {
  pi.registerCommand("enter", { handler: async (args: string, ctx: any) =>
    ctx.ui.notify(JSON.stringify([await (args === "line" ? ctx.ui.input("x") : ctx.ui.editor("x"))])) });
}"#,
    );
    for (command, sent) in [("/enter line", json!(42)), ("/enter text", json!({"a": [true]}))] {
        agent.prompt(command);
        let dialog = agent.next_dialog();
        agent.answer(&dialog, "value", sent.clone());
        assert_eq!(agent.next_notice(), json!([sent]).to_string());
    }
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn provider_without_a_key_blocks_prompts() {
    let place = Place::new();
    let mut agent = agent_with_source(
        &place,
        r#"export default function (pi: any) {
  let key: string | undefined = undefined;
  pi.on("session_start", (_event: unknown, ctx: any) => { ctx.modelRegistry.getApiKey = async () => key; });
  pi.registerCommand("key", { handler: async (args: string) => { key = args; } });
}"#,
    );
    let refused = agent.request(json!({"type": "prompt", "message": "hello"}));
    let error = refused["error"].as_str().unwrap();
    assert!(error.starts_with("No API key found for "), "{error}");
    assert_eq!(agent.request(json!({"type": "get_state"}))["data"]["messageCount"], 0);
    agent.prompt("/key made-up");
    agent.until("the answer", |frame| frame["id"] == "/key made-up");
    agent.prompt("hello");
    let frames = agent.until_event("agent_end");
    assert!(
        frames.iter().all(|frame| !frame.to_string().contains("made-up")),
        "the key stays in its process"
    );
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn provider_with_a_failing_key_blocks_prompts() {
    let place = Place::new();
    let mut agent = agent_with_source(
        &place,
        r#"export default function (pi: any) {
  pi.on("session_start", (_event: unknown, ctx: any) => {
    ctx.modelRegistry.getApiKey = async () => { throw new Error("the keyring is locked"); };
  });
}"#,
    );
    let refused = agent.request(json!({"type": "prompt", "message": "hello"}));
    assert_eq!(refused["error"], "the keyring is locked");
    assert_eq!(agent.request(json!({"type": "get_state"}))["data"]["messageCount"], 0);
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn a_directory_that_is_trusted_later_is_served_by_the_same_process() {
    for outside in [true, false] {
        let place = Place::new();
        place.put("work/.pi/extensions/its.ts", PROCESS_ID.replace("NAME", "its"));
        place.put(
            "work/.pi/extensions/bad.ts",
            "export default function () { throw new Error('load failed'); }",
        );
        let mut command = command(&place, &[], plain());
        if outside {
            command.arg("-e").arg(install(&place, "one")).arg("-e").arg(install(&place, "two"));
        }
        command.arg("--plan");
        let mut agent = Agent::start(command);
        agent.prompt("go");
        let question = agent.until("the question", |frame| frame["method"] == "select").pop().unwrap();
        agent.answer(&question, "value", "Trust it for now");
        agent.until_event("agent_end");
        agent.prompt("/its turn");
        agent.until("the command", |frame| frame["message"] == "its turn");
        let pids = pids(&agent);
        assert_eq!(pids.len(), if outside { 3 } else { 1 });
        assert_eq!(pids, vec![pids[0]; pids.len()], "there is more than one Node process");
        assert_eq!(node_processes(agent.pid()), [pids[0]]);
        let names = |agent: &mut Agent| -> Vec<String> {
            let listed = agent.request(json!({"type": "get_commands"}))["data"]["commands"].clone();
            listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&mut agent), if outside { vec!["one", "two", "its"] } else { vec!["its"] });
        // The end of the process ends all its extensions, with one report.
        rustix::process::kill_process(rustix::process::Pid::from_raw(pids[0]).unwrap(), Signal::KILL)
            .unwrap();
        agent.until_event("extension_error");
        assert_eq!(names(&mut agent), Vec::<String>::new());
        assert_eq!(agent.failures().len(), 1);
        let stderr = agent.finish().2;
        assert!(stderr.contains("bad.ts\": load failed"), "{stderr}");
        assert!(stderr.contains("unknown option --plan: no loaded extension has it"), "{stderr}");
    }
}

/// Returns the ids of all Node processes that descend from a process.
fn node_processes(above: rustix::process::Pid) -> Vec<i32> {
    let mut below = vec![above.as_raw_nonzero().get()];
    let mut all: Vec<(i32, i32, String)> = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // This process has ended meanwhile.
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((head, rest)) = stat.rsplit_once(')') else { continue };
        let parent = rest.split_whitespace().nth(1).unwrap().parse().unwrap();
        let name = std::fs::read_link(entry.path().join("exe")).unwrap_or_default();
        let name =
            name.file_name().map_or_else(|| head.to_owned(), |name| name.to_string_lossy().into_owned());
        all.push((pid, parent, name));
    }
    let mut at = 0;
    while at < below.len() {
        let parent = below[at];
        below.extend(all.iter().filter(|(_, of, _)| *of == parent).map(|(pid, ..)| *pid));
        at += 1;
    }
    let runs_node = |pid: &i32| all.iter().any(|(known, _, name)| known == pid && name == "node");
    below.into_iter().filter(runs_node).collect()
}

#[test]
fn host_is_unpacked_privately() {
    let place = Place::new();
    let mut command = command(&place, &[], plain());
    command.env("XDG_CACHE_HOME", place.work().join("cache")).arg("-e").arg(install(&place, "one"));
    let mut agent = Agent::start(command);
    agent.prompt("/one");
    agent.next_notice();
    agent.finish();
    let folder = place.work().join("cache/agentese");
    let own = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&own)), (0o700, 0o700));
    assert!(own.file_name().unwrap().to_str().unwrap().starts_with("pi-host-"));
    // Compiled code is stored in a private folder.
    assert!(std::fs::read_dir(own.join("compiled")).unwrap().count() > 0);
}

#[test]
fn without_such_extensions_node_is_not_started() {
    let place = Place::new();
    let path = fake_node(&place, "touch \"$TMPDIR/started\"; exit 1");
    let mut command = command(&place, &["ui"], plain());
    command.env("PATH", path);
    let mut agent = Agent::start(command);
    assert_eq!(agent.request(json!({"type": "get_commands"}))["success"], true);
    agent.finish();
    assert!(!place.work().parent().unwrap().join("started").exists());
}

#[test]
fn other_extensions_load_without_a_recent_node() {
    let missing = |_: &Place| OsString::from("/nowhere");
    let old = |place: &Place| fake_node(place, "echo v18.20.4");
    let strange = |place: &Place| fake_node(place, "echo something else");
    type Path<'a> = &'a dyn Fn(&Place) -> OsString;
    let cases: [(Path<'_>, &str); 3] = [
        (&missing, "and `node` did not start: No such file"),
        (&old, "and `node` is v18.20.4"),
        (&strange, "and `node --version` printed \"something else\""),
    ];
    for (path, reason) in cases {
        let place = Place::new();
        let (one, two) = (install(&place, "one"), install(&place, "two"));
        let mut command = command(&place, &[], plain());
        command.env("PATH", path(&place)).arg("-e").arg(&one).arg("-e").arg(&two);
        let mut agent = Agent::start(command);
        assert_eq!(agent.request(json!({"type": "get_state"}))["success"], true);
        let stderr = agent.finish().2;
        let expected = format!("2 extensions of pi are not loaded: they need Node 20 or later, {reason}");
        assert!(stderr.contains(&expected), "{stderr}");
        assert!(stderr.contains(&format!("{one}, {two}")), "{stderr}");
    }
}

#[test]
fn fm_f22_printed_output_is_not_mixed_with_frames() {
    let place = Place::new();
    let noisy = r#"
      console.log("loading");
      export default function (pi: any) {
        pi.on("turn_start", () => process.stdout.write("no newline "));
        pi.registerCommand("noise", { handler: async (_: string, ctx: any) => { console.log({ a: 1 }); ctx.ui.notify("said"); } });
      }"#;
    let mut command = command(&place, &[], plain());
    command.arg("-e").arg(place.put("installed/noisy.ts", noisy));
    let mut agent = Agent::start(command);
    agent.prompt("go");
    agent.until_event("agent_end");
    agent.prompt("/noise");
    assert_eq!(agent.next_notice(), "said");
    check_runs(&agent.seen);
    let (status, rest, stderr) = agent.finish();
    assert_eq!(status.code(), Some(0));
    for line in rest.lines() {
        assert!(serde_json::from_str::<Value>(line).unwrap().is_object(), "{line}");
    }
    for text in ["loading", "no newline", "{ a: 1 }"] {
        assert!(stderr.contains(text), "{stderr}");
    }
}

#[test]
fn fm_f92_the_end_of_their_process_is_one_failure() {
    let place = Place::new();
    let mut command = command(&place, &[], plain());
    let (one, two) = (install(&place, "one"), install(&place, "two"));
    command.arg("-e").arg(&one).arg("-e").arg(&two);
    let mut agent = Agent::start(command);
    // The response ends the command, and the host knows that no extension has work in progress.
    agent.request(json!({"type": "prompt", "message": "/two"}));
    assert!(agent.seen.iter().any(|frame| frame["message"] == "two "));
    let pid = rustix::process::Pid::from_raw(pids(&agent)[0]).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    let failure = agent.until_event("extension_error").pop().unwrap();
    // No extension had work in progress.
    assert_eq!(failure["extensionPath"], "the Node host");
    let expected = format!("signal SIGKILL ended its process (it served {one}, {two})");
    assert_eq!(failure["error"], expected.as_str());
    agent.prompt("go on");
    agent.until_event("agent_end");
    assert_eq!(agent.failures().len(), 1);
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn load_failure_does_not_affect_other_extensions() {
    let place = Place::new();
    let bad =
        place.put("installed/bad.ts", "export default function (pi) { throw new Error('load failed'); }");
    let mut command = command(&place, &[], plain());
    command.arg("-e").arg(&bad).arg("-e").arg(install(&place, "good"));
    let mut agent = Agent::start(command);
    agent.prompt("/good day");
    assert!(agent.next_notice().starts_with("good is "));
    assert_eq!(agent.next_notice(), "good day");
    let stderr = agent.finish().2;
    let expected = format!("Failed to load extension \"{}\": load failed", bad.display());
    assert!(stderr.contains(&expected), "{stderr}");
}
