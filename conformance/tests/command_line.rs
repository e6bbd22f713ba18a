//! Tests of the command line: its output, and its error messages.

use std::process::{Command, Output};

#[path = "../../sdk-rust/tests/support/long.rs"]
mod long;
use long::LONG;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_agentese-conformance")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn list_filters_cases_by_dialect_and_covered_item() {
    let all = stdout(&run(&["list"]));
    assert!(all.lines().count() > 250, "{all}");
    let few = stdout(&run(&["list", "--dialect", "pi", "--covering", "command fork"]));
    assert!(few.lines().count() >= 1 && few.lines().all(|line| line.starts_with("pi@0.55 ")), "{few}");
    assert!(few.contains("fork"), "{few}");
    let json = stdout(&run(&["list", "--dialect", "opal@0.1", "--json"]));
    for line in json.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(case["dialect"], "opal@0.1");
        assert!(["must", "should", "info"].contains(&case["level"].as_str().unwrap()), "{line}");
    }
    assert!(stdout(&run(&["list", "--profiles"])).contains("agentese-pi"));
}

#[test]
fn errors_are_one_line_and_list_the_valid_names() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.json");
    std::fs::write(&script, r#"{"responses": [{"txt": "x"}]}"#).unwrap();
    let table: [(&[&str], &str); 9] = [
        (&["run"], "the following required arguments were not provided: --dialect <NAME>"),
        (&["rnu"], "unrecognized subcommand 'rnu'"),
        (&["detect"], "pass a command after `--`, --profile or --transcript"),
        (
            &["list", "--dialect", "nope"],
            "unknown dialect `nope`; known: acp, omp, opal, operator, pi, pisces",
        ),
        (
            &["run", "--dialect", "pi", "--only", "bahs-basic"],
            "no case matches `bahs-basic`; did you mean `bash-basic`",
        ),
        (&["run", "--profile", "nope"], "unknown profile `nope`; see `list --profiles`"),
        (
            &["run", "--only", "/nope.json", "--profile", "pi"],
            "cannot read /nope.json: No such file or directory",
        ),
        (
            &["run", "--profile", "pi", "--only", "bash", "--model-log", "/nope"],
            "--model-log requires a single case, and ",
        ),
        (&["model", "--script", script.to_str().unwrap()], "unknown member `responses[0].txt`"),
    ];
    for (arguments, wanted) in table {
        let output = run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.starts_with("error: ") && said.contains(wanted), "{arguments:?}: {said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        assert!(said.matches("os error").count() <= 1, "{said}");
        assert!(said.len() < 400, "{said}");
    }
}

/// A missing program is reported once, in one sentence.
#[test]
fn a_missing_program_is_reported_once() {
    for arguments in [
        &["detect", "--", "agentese-no-such-program"][..],
        &["detect", "--profile", "pi", "--", "agentese-no-such-program"],
    ] {
        let said = String::from_utf8(run(arguments).stderr).unwrap();
        let wanted =
            "error: the agent does not start: cannot start agentese-no-such-program: program not found\n";
        assert_eq!(said, wanted, "{arguments:?}");
    }
}

/// Client mode needs a recording, which a case from a file does not have.
#[test]
fn a_case_in_a_file_is_no_case_for_a_client() {
    let output = Command::new(env!("CARGO_BIN_EXE_agentese-conformance"))
        .args(["run", "--client", "--dialect", "pi", "--only", "mine.json", "--", "true"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let wanted = "error: --client requires recorded cases, and the case in mine.json has no recording\n";
    assert_eq!((said.as_str(), output.status.code()), (wanted, Some(2)));
}

/// The subcommand `model` prints its address, logs requests, and ends on a signal.
#[test]
fn the_model_serves_until_a_signal() {
    use std::io::{Read as _, Write as _};
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("script.json"), r#"{"responses": [{"text": "from the script"}]}"#).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_agentese-conformance"))
        .args([
            "model",
            "--script",
            &path("script.json"),
            "--port-file",
            &path("port"),
            "--log",
            &path("log"),
        ])
        .spawn()
        .unwrap();
    let begin = std::time::Instant::now();
    let port = loop {
        if let Ok(port) = std::fs::read_to_string(path("port")) {
            break port.parse::<u16>().unwrap();
        }
        assert!(begin.elapsed() < LONG && child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    };
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 13\r\n\r\n{\"model\":\"m\"}").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert!(said.contains("from the script"), "{said}");
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    let log = std::fs::read_to_string(path("log")).unwrap();
    let request: serde_json::Value = serde_json::from_str(log.trim()).unwrap();
    assert_eq!((&request["model"], &request["answer"]), (&"m".into(), &0.into()));
}

/// The subcommand `detect` names the dialect of a transcript. Its exit code is for scripts.
#[test]
fn detect_names_the_dialect_of_a_transcript() {
    let transcripts = concat!(env!("CARGO_MANIFEST_DIR"), "/transcripts");
    let table = [
        ("pi/tool-multi", "pi@0.55"),
        ("pisces/budget_cost", "pisces@13.18"),
        ("operator/d01_prompt_answered_at_completion", "operator@seed"),
        ("opal/03_prompt_text", "opal@0.1"),
    ];
    for (name, wanted) in table {
        let output = run(&["detect", "--transcript", &format!("{transcripts}/{name}.jsonl")]);
        assert!(stdout(&output).starts_with(wanted), "{name}: {}", stdout(&output));
        assert!(output.status.success());
    }
    // In this session, omp and pisces do not differ.
    let output = run(&["detect", "--json", "--transcript", &format!("{transcripts}/omp/bash.jsonl")]);
    let said: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!((&said["sure"], &said["guesses"][0]["dialect"]), (&false.into(), &"omp@13.19".into()));
}

/// The subcommand `detect` probes a program that plays a transcript and so answers like the recorded
/// agent.
#[test]
fn detect_probes_a_program() {
    let program = env!("CARGO_BIN_EXE_agentese-conformance");
    let output = run(&["detect", "--", program, "replay", "--dialect", "pi", "auto-flags"]);
    assert!(stdout(&output).starts_with("pi@0.55"), "{}", stdout(&output));
    let failure = |timeout: &str, script: &str| {
        let output = run(&["detect", "--timeout", timeout, "--", "sh", "-c", script]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let ended = failure("60000", "echo why not >&2; exit 1");
    assert_eq!(ended, "error: the agent ended without output (exited with code 1: why not)\n");
    let silent = failure("200", "cat >/dev/null");
    assert!(silent.starts_with("error: no output from the agent within 200 ms ("), "{silent}");
}

/// Two live agents get the same commands and report the same state. One of them has a command that the
/// document does not declare.
#[test]
fn detect_distinguishes_revisions_of_operator() {
    let seed = r#"
        state='{"phase":"idle","is_streaming":false,"session_file":"/s/a.jsonl","session_id":"s1","session_name":null,"context_tokens":12,"context_window":200000,"message_count":1}'
        said() { printf '{"type":"response","command":"%s","success":%s,"id":"%s"}\n' "$1" "$2" "$id"; }
        while read -r line; do
          id=${line#*'"id":"'}; id=${id%%'"'*}
          name=${line#*'"type":"'}; name=${name%%'"'*}
          case $line in
            *'"jsonrpc"'*) ;;
            *'"type":"get_state"'*) said get_state "true,\"data\":$state" ;;
            *) said "$name" "false,\"error\":\"Unknown command: '$name'\"" ;;
          esac
        done"#;
    let live = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/independent_agents/agents/operator_live.py");
    for (agent, wanted) in [(["python3", live, ""], "operator@live"), (["sh", "-c", seed], "operator@seed")] {
        let words = agent.into_iter().filter(|word| !word.is_empty());
        let output = run(&["detect", "--"].into_iter().chain(words).collect::<Vec<_>>());
        let told = stdout(&output);
        assert!(told.starts_with(wanted), "{told}{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{told}");
    }
}

/// A program that is not an agent is reported, with the exit code for unknown dialects.
#[test]
fn detect_reports_programs_that_are_no_agents() {
    let echo = "not an agent: the program echoes its input";
    let of = |arguments: &[&str], script: &str| {
        let mut all = vec!["detect"];
        all.extend(arguments);
        all.extend(["--", "sh", "-c", script]);
        let output = run(&all);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{script}: {said}");
        stdout(&output)
    };
    assert_eq!(of(&[], "cat"), format!("{echo}\n"));
    let json: serde_json::Value = serde_json::from_str(&of(&["--json"], "cat")).unwrap();
    assert_eq!(json, serde_json::json!({"sure": false, "reason": echo, "guesses": []}));
    let noise = of(&[], "while read -r line; do echo what; done");
    assert_eq!(noise, "not an agent: the output has no JSON object; it starts with `what`\n");
    // A server of another protocol that uses the same framing.
    let other = of(
        &[],
        r#"while read -r line; do echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}'; done"#,
    );
    assert!(other.starts_with("no known dialect; "), "{other}");
}

/// A misspelt name in the claims is an error, because it would silently exclude cases.
#[test]
fn misspelt_claims_are_refused_when_the_profile_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.json");
    let table = [
        (r#"{"commands": ["get_mesages"]}"#, "unknown command `get_mesages`; did you mean `get_messages`"),
        (r#"{"without": ["tolls"]}"#, "unknown need `tolls`; known: "),
    ];
    for (claims, wanted) in table {
        let profile = format!(
            r#"{{"profile": 1, "name": "n", "dialect": "pi@0.55", "agent": "a", "command": ["cat"], "claims": {claims}}}"#
        );
        std::fs::write(&path, profile).unwrap();
        let path = path.to_str().unwrap();
        for arguments in [&["run", "--profile", path][..], &["detect", "--profile", path]] {
            let output = run(arguments);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(
                said.starts_with(&format!("error: {wanted}"))
                    && said.contains("tools") == wanted.contains("tolls"),
                "{said}"
            );
        }
    }
}

/// The agent starts in another directory, so a relative argument refers to no file there. The message
/// names the argument.
#[test]
fn a_relative_file_argument_is_named_for_a_silent_agent() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("my_agent.sh"), "exit 0\n").unwrap();
    let hint = "`my_agent.sh` is a relative path, which is not resolved; use an absolute path";
    for arguments in [&["detect"][..], &["run", "--profile", "pi", "--only", "bash-basic"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentese-conformance"));
        command.current_dir(folder.path()).args(arguments).args(["--", "sh", "my_agent.sh"]);
        let output = command.output().unwrap();
        let said = stdout(&output) + &String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(hint) && output.status.code() == Some(2), "{arguments:?}: {said}");
    }
}
