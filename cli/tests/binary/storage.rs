//! Tests of storage failures, which are reported in a frame, on stderr, and by the exit code. Also tests
//! files that killed programs left behind.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::skip::skipped;
use crate::support::LONG;
use crate::support::process::{Agent, Place, assert_gone, pid_in};

fn ok() -> Value {
    json!({"responses": [], "default": {"text": "ok"}})
}

/// Returns the notices among the frames, each with its level.
fn notices(frames: &[Value]) -> Vec<(String, String)> {
    let is_notice = |frame: &&Value| frame["type"] == "extension_ui_request" && frame["method"] == "notify";
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    frames
        .iter()
        .filter(is_notice)
        .map(|frame| (text(&frame["notifyType"]), text(&frame["message"])))
        .collect()
}

/// Returns a shell command that limits the agent's files to 4 blocks of 512 bytes, like a full disk.
fn command_on_full_disk(place: &Place, arguments: &[&str]) -> std::process::Command {
    let agent = place.command(arguments);
    let mut command = place.command(&[]);
    let program = agent.get_program().to_owned();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -f 4; exec \"$0\" \"$@\""]).arg(program).args(agent.get_args());
    shell.current_dir(place.work());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    command = shell;
    command
}

#[test]
fn fm_f100_a_full_disk_is_reported_by_notice_stderr_and_exit_code() {
    let place = Place::new();
    let script = place.script(ok());
    // The limit causes the signal SIGXFSZ, which must not end the agent.
    let mut agent = Agent::start(command_on_full_disk(&place, &["--mode", "rpc", "--script", &script]));
    for number in 0..4 {
        agent.send(json!({"type": "prompt", "message": format!("{number} {}", "x".repeat(900))}));
        agent.until_event("agent_end");
    }
    let told = notices(&agent.seen);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, "error");
    assert!(
        told[0].1.starts_with("The session is not saved: ") && told[0].1.contains("File too large"),
        "{told:?}"
    );
    let (status, _, stderr) = agent.finish();
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("Error: part of the conversation could not be saved: "), "{stderr}");
}

#[test]
fn fm_f105_a_session_of_a_newer_version_is_not_lost_silently() {
    let place = Place::new();
    let script = place.script(ok());
    let line = json!({"type": "session", "version": 99, "id": "s", "timestamp": "2026-01-02T03:04:05.678Z", "cwd": "/"});
    let session = place.file("newer.jsonl", format!("{line}\n"));
    let mut agent =
        Agent::start(place.command(&["--mode", "rpc", "--script", &script, "--session", &session]));
    agent.send(json!({"type": "prompt", "message": "kept?"}));
    agent.until_event("agent_end");
    let told = notices(&agent.seen);
    assert!(told.len() == 1 && told[0].1.contains("has version 99"), "{told:?}");
    let (status, _, stderr) = agent.finish();
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("has version 99"), "{stderr}");
    assert_eq!(fs::read_to_string(&session).unwrap(), format!("{line}\n"));
    // Reading a session is possible without data loss.
    let mut agent =
        Agent::start(place.command(&["--mode", "rpc", "--script", &script, "--session", &session]));
    agent.request(json!({"type": "get_messages"}));
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn output_to_a_full_stdout_is_a_failure() {
    let place = Place::new();
    let script = place.script(ok());
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["schema", "--side", "server"],
        &["man"],
        &["help", "call"],
        &["--list-models"],
        &["completions", "bash"],
        &["--mode", "rpc", "--script", &script],
    ] {
        let mut command = place.command(arguments);
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        command.stdin(Stdio::piped()).stdout(full).stderr(Stdio::piped());
        command.env("ANTHROPIC_API_KEY", "c4n4ry-4711-0815");
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let _ = std::io::Write::write_all(&mut stdin, b"{\"type\":\"get_state\"}\n");
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_session_file_truncated_while_in_use_is_restored() {
    let place = Place::new();
    let script = place.script(ok());
    let session = place.file("s.jsonl", "");
    let mut agent =
        Agent::start(place.command(&["--mode", "rpc", "--script", &script, "--session", &session]));
    for message in ["one", "two"] {
        agent.send(json!({"type": "prompt", "message": message}));
        agent.until_event("agent_end");
        File::options().write(true).open(&session).unwrap().set_len(0).unwrap();
    }
    agent.send(json!({"type": "prompt", "message": "three"}));
    agent.until_event("agent_end");
    assert_eq!(agent.finish().0.code(), Some(0));
    let text = fs::read_to_string(&session).unwrap();
    assert!(text.starts_with("{\"type\":\"session\","), "{text}");
    for message in ["one", "two", "three"] {
        assert_eq!(text.matches(&format!("\"{message}\"")).count(), 1, "{text}");
    }
}

#[test]
fn leftovers_of_killed_sessions_are_removed_at_the_next_start() {
    let place = Place::new();
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let id = "0d4d6a4e-1111-4222-8333-444455556666";
    let begun = format!("2026-01-02T03-04-05-678Z_{id}.jsonl");
    for name in [begun.as_str(), "mine.jsonl", ".agentese-0.tmp"] {
        let path = place.put(&format!("kept/{name}"), "");
        File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
    }
    let young = format!("2026-01-02T03-04-06-678Z_{id}.jsonl");
    let kept = place.put(&format!("kept/{young}"), "").parent().unwrap().to_owned();
    let directory = kept.to_str().unwrap();
    let agent =
        Agent::start(place.command(&["--mode", "rpc", "--provider", "scripted", "--session-dir", directory]));
    assert_eq!(agent.finish().0.code(), Some(0));
    let mut names: Vec<_> = fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [young.as_str(), "mine.jsonl"]);
}

#[test]
fn without_a_home_directory_the_agent_starts() {
    let place = Place::new();
    let script = place.script(ok());
    let mut command = place.command(&["--mode", "rpc", "--script", &script]);
    // The home directory in the system's user database must not be used by tests.
    command.env_remove("HOME").env("PI_CODING_AGENT_DIR", place.work().join("agent"));
    let mut agent = Agent::start(command);
    agent.send(json!({"type": "prompt", "message": "go"}));
    agent.until_event("agent_end");
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn without_any_home_directory_the_agent_starts_and_warns() {
    if !rustix::process::geteuid().is_root() {
        return skipped(
            "without a home directory",
            "only the superuser starts programs as somebody without a home directory",
        );
    }
    let place = Place::new();
    let script = place.script(ok());
    let above = place.work().parent().unwrap().to_owned();
    for directory in [above.as_path(), &place.work()] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = place.command(&["--mode", "rpc", "--script", &script]);
    // This user has no entry in the system's user database.
    command.env_remove("HOME").uid(64_917).gid(64_917);
    let mut agent = Agent::start(command);
    agent.send(json!({"type": "prompt", "message": "go"}));
    agent.until_event("agent_end");
    let state = agent.request(json!({"type": "get_state"}));
    assert_eq!(state["data"].get("sessionFile"), None, "{state}");
    let (status, _, stderr) = agent.finish();
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("no home directory was found"), "{stderr}");
}

#[test]
fn fm_f87_the_copy_of_a_torn_file_is_reported_at_the_start() {
    let place = Place::new();
    let script = place.script(ok());
    let copy = place.put("work/.notes.agentese-0123456789abcdef.old", "old");
    let mut command = place.command(&["--mode", "rpc", "--script", &script]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (told, lines) = std::sync::mpsc::channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| told.send(line)));
    let path = copy.to_str().unwrap();
    // The check is part of normal operation. The end of the input would stop it.
    while !lines.recv_timeout(LONG).expect("a line about the copy").contains(path) {}
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(fs::read_to_string(copy).unwrap(), "old");
}

/// A pipe without a writer replaces a file that the agent reads when it starts.
#[test]
fn a_pipe_in_place_of_a_file_does_not_block() {
    for name in ["models.json", "settings.json", "auth.json"] {
        let place = Place::new();
        let script = place.script(ok());
        let path = place.put(&format!("home/.agentese/agent/{name}"), "");
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let mut agent = Agent::start(place.command(&["--mode", "rpc", "--script", &script]));
        agent.request(json!({"type": "get_available_models"}));
        let (status, _, stderr) = agent.finish();
        assert_eq!(status.code(), Some(0), "{name}: {stderr}");
        assert!(stderr.contains(name) && stderr.contains("regular file"), "{name}: {stderr}");
    }
}

#[test]
fn a_key_command_ends_with_a_killed_agent() {
    let place = Place::new();
    let model = json!({"id": "m", "name": "m", "reasoning": false, "input": ["text"],
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}, "contextWindow": 1000, "maxTokens": 100});
    let models = json!({"providers": {"slow": {
        "baseUrl": "http://127.0.0.1:9", "api": "anthropic-messages",
        "apiKey": "!echo $$ > pid; exec sleep 1000", "models": [model],
    }}});
    place.put("home/.agentese/agent/models.json", models.to_string());
    let mut agent = Agent::start(place.command(&["--mode", "rpc", "--model", "slow/m"]));
    agent.send(json!({"type": "prompt", "message": "go"}));
    let pid = pid_in(&place.work().join("pid"));
    agent.signal(Signal::KILL);
    assert_gone(pid);
}

/// Configured keys, in each form in which a session may contain them.
#[test]
fn fm_f118_no_export_shows_a_key_in_any_form() {
    let place = Place::new();
    let secrets = [
        ("auth", "c4n4ry/auth+4711 x"),
        ("environment", "c4n4ry/environment+4711"),
        ("models", "c4n4ry\"models/4711"),
        ("header", "c4n4ry-header/4711"),
        ("command", "c4n4ry&command=4711"),
    ];
    let [auth, environment, literal, header, command] = secrets.map(|(_, secret)| secret);
    let model = json!({"id": "m", "name": "m", "reasoning": false, "input": ["text"],
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}, "contextWindow": 1000, "maxTokens": 100});
    let provider = |key: &str| {
        json!({"baseUrl": "http://127.0.0.1:9", "api": "anthropic-messages", "apiKey": key,
               "headers": {"x-extra": format!("Bearer {header}")}, "models": [model]})
    };
    let models =
        json!({"providers": {"one": provider(literal), "two": provider(&format!("!printf %s '{command}'"))}});
    place.put("home/.agentese/agent/models.json", models.to_string());
    // This key belongs to an unknown provider.
    place.put(
        "home/.agentese/agent/auth.json",
        json!({"elsewhere": {"type": "api_key", "key": auth}}).to_string(),
    );
    let forms = |secret: &str| {
        let encoded: String = secret
            .bytes()
            .map(|byte| match byte.is_ascii_alphanumeric() || byte == b'-' {
                true => char::from(byte).to_string(),
                false => format!("%{byte:02X}"),
            })
            .collect();
        let base64 =
            base64::Engine::encode(&base64::engine::general_purpose::STANDARD, format!("user:{secret}"));
        [
            secret.to_owned(),
            encoded,
            base64,
            json!({"a": secret}).to_string(),
            json!([json!({"a": secret}).to_string()]).to_string(),
        ]
    };
    let all: Vec<String> = secrets.iter().flat_map(|(_, secret)| forms(secret)).collect();
    let script = place.script(ok());
    // No request is sent to a provider. No provider is reachable, and each request would be retried.
    let mut started = place.command(&["--mode", "rpc", "--provider", "scripted", "--script", &script]);
    started.env("OPENAI_API_KEY", environment);
    let mut agent = Agent::start(started);
    agent.send(json!({"type": "prompt", "message": all.join("\n")}));
    agent.until_event("agent_end");
    let state = agent.request(json!({"type": "get_state"}));
    let session = state["data"]["sessionFile"].as_str().unwrap().to_owned();
    let written = agent.request(json!({"type": "export_html", "outputPath": "rpc.html"}));
    assert_eq!(written["success"], true, "{written}");
    agent.finish();
    let mut command = place.command(&["--export", &session, "cli.html"]);
    command.env("OPENAI_API_KEY", environment);
    let (status, _, stderr) = Agent::start(command).finish();
    assert!(status.success(), "{stderr}");
    for page in ["rpc.html", "cli.html"] {
        let page = fs::read_to_string(place.work().join(page)).unwrap();
        assert!(page.matches("[redacted]").count() >= all.len(), "{}", page.matches("[redacted]").count());
        assert!(!page.contains("c4n4ry"), "a key is in the page");
        for form in &all {
            // The form of the key after escaping. Only the middle is compared, because the ends of base64
            // depend on adjacent bytes.
            let escaped = form.replace('&', "&amp;").replace('"', "&quot;");
            assert!(!page.contains(&escaped[8..escaped.len() - 4]), "{form}");
        }
    }
}
