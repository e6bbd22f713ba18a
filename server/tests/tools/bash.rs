use std::io;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use agentese_server::tools::{CommandLine, ProcessHandle, Spawner, ToolUpdate, Updates};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::support::{Place, alive, assert_gone, call, fails, kill, succeeds};

#[tokio::test]
async fn results_read_as_recorded() {
    let place = Place::new();
    let context = place.context();
    for (command, text) in [
        ("echo one; echo two >&2; echo three", "one\ntwo\nthree\n"),
        ("true", "(no output)"),
        ("printf abc", "abc"),
        // The tool returns terminal sequences unchanged; only the command on the wire removes them.
        (r"printf '\033[31mred\033[0m\rX\n\001\002bin\n'", "\x1b[31mred\x1b[0m\rX\n\x01\x02bin\n"),
    ] {
        let output = call(&context, "bash", json!({"command": command})).await;
        assert_eq!(
            (output.all_text().as_str(), output.is_error, output.details),
            (text, false, None),
            "{command}"
        );
    }
    for (arguments, text) in [
        (json!({"command": "echo out; echo err >&2; exit 3"}), "out\nerr\n\n\nCommand exited with code 3"),
        (json!({"command": "exit 1"}), "(no output)\n\nCommand exited with code 1"),
        (
            json!({"command": "echo begin; exec sleep 60", "timeout": 3}),
            "begin\n\n\nCommand timed out after 3 seconds",
        ),
        (json!({"command": "exec sleep 60", "timeout": "0.1"}), "Command timed out after 0.1 seconds"),
    ] {
        assert_eq!(fails(&context, "bash", arguments).await, text);
    }
}

#[tokio::test]
async fn long_output_shows_its_end_and_the_path_of_the_rest() {
    let place = Place::new();
    let output = call(&place.context(), "bash", json!({"command": "seq 1 3000"})).await;
    let details = output.details.clone().unwrap();
    let path = details["fullOutputPath"].as_str().unwrap();
    let text = output.all_text();
    assert!(text.starts_with("1002\n1003\n"));
    let end = format!("\n3000\n\n\n[Showing lines 1002-3001 of 3001. Full output: {path}]");
    assert!(text.ends_with(&end), "{}", &text[text.len() - 200..]);
    assert_eq!(details["truncation"]["totalBytes"], 13893);
    let kept = std::fs::read_to_string(path).unwrap();
    assert_eq!(kept.lines().count(), 3000);
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(path.starts_with(place.temp().to_str().unwrap()));

    let command = "for i in 1 2 3; do head -c 40000 /dev/zero | tr '\\0' x; echo; done; exit 2";
    let text = fails(&place.context(), "bash", json!({"command": command})).await;
    let notice = text.rsplit("\n\n").nth(1).unwrap();
    assert!(notice.starts_with("[Showing lines 3-4 of 4 (50.0KB limit). Full output: "), "{notice}");
    assert!(text.ends_with("]\n\nCommand exited with code 2"));
}

#[tokio::test]
async fn fm_f77_one_long_line_shows_its_tail() {
    let place = Place::new();
    for (command, size) in [
        ("head -c 120000 /dev/zero | tr '\\0' 'x'; printf end", "117.2KB"),
        ("head -c 120000 /dev/zero | tr '\\0' 'x'; echo end", "117.2KB"),
        ("(head -c 30000000 /dev/zero | tr '\\0' 'x'; echo end) >&2", "28.6MB"),
    ] {
        let text = succeeds(&place.context(), "bash", json!({"command": command})).await;
        let (shown, notice) = text.trim_end().rsplit_once("\n\n").unwrap();
        assert!(shown.trim_end().ends_with("xxend") && shown.len() >= 51_000, "{command}");
        assert!(
            notice.starts_with(&format!("[Showing last 50.0KB of line 1 (line is {size}). Full output: ")),
            "{notice}"
        );
    }
}

#[tokio::test]
async fn updates_grow_towards_the_result() {
    let place = Place::new();
    let updates: Arc<Mutex<Vec<ToolUpdate>>> = Arc::default();
    let mut context = place.context();
    let receiver = updates.clone();
    context.updates = Updates::to(move |update| receiver.lock().unwrap().push(update));
    let text = succeeds(
        &context,
        "bash",
        json!({"command": "echo one; sleep 0.3; echo two; sleep 0.3; echo three"}),
    )
    .await;
    let updates = updates.lock().unwrap();
    assert!(!updates.is_empty());
    for update in updates.iter() {
        let agentese_server::tools::ToolContent::Text(part) = &update.content[0] else { panic!() };
        assert!(!part.is_empty() && text.starts_with(part.as_str()));
        assert_eq!(update.details, Some(json!({})));
    }
}

#[tokio::test]
async fn an_abort_before_the_start_runs_nothing() {
    let place = Place::new();
    let context = place.context();
    context.abort.cancel();
    assert_eq!(
        fails(&context, "bash", json!({"command": "touch ran"})).await,
        "Not started: the run was aborted."
    );
    assert_eq!(place.names(), [""; 0]);
}

/// Aborts a command after its first output. Returns the text of the result.
async fn abort_at_first_output(place: &Place, command: &str) -> String {
    let mut context = place.context();
    let abort = context.abort.clone();
    context.updates = Updates::to(move |_| abort.cancel());
    fails(&context, "bash", json!({"command": command})).await
}

fn first_number(text: &str) -> i32 {
    text.split_whitespace().next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn an_abort_keeps_the_output_and_ends_the_group() {
    let place = Place::new();
    let text = abort_at_first_output(&place, "sleep 60 & echo $!; wait").await;
    assert_eq!(text, format!("{}\n\n\nCommand aborted", first_number(&text)));
    assert_gone(first_number(&text));
}

#[tokio::test]
async fn fm_f72_a_command_that_ignores_sigterm_is_killed_after_the_grace() {
    let place = Place::new();
    let text = abort_at_first_output(&place, "trap '' TERM; echo $$; while :; do sleep 1; done").await;
    assert!(text.ends_with("Command aborted"));
    assert_gone(first_number(&text));
    // Also a process that has closed the pipe and whose shell has exited.
    let text = abort_at_first_output(
        &place,
        "(trap '' TERM; echo $BASHPID; exec >/dev/null 2>&1; while :; do sleep 1; done) & wait",
    )
    .await;
    assert_gone(first_number(&text));
}

#[tokio::test]
async fn fm_f73_a_daemon_is_never_waited_for() {
    let place = Place::new();
    let text = abort_at_first_output(&place, "setsid sh -c 'echo $$; exec sleep 60' & wait").await;
    assert!(text.ends_with("Command aborted"));
    // A process that left the group is not followed.
    kill(first_number(&text));
}

#[tokio::test]
async fn fm_f74_a_background_child_with_the_pipe_does_not_hold_the_call() {
    let place = Place::new();
    // The child lives longer than the time limit of a call.
    let text = succeeds(&place.context(), "bash", json!({"command": "sleep 600 & echo $!"})).await;
    let child = first_number(&text);
    assert!(alive(child), "a background child outlives its call");
    kill(child);
    // A process with endless output also ends.
    let text = succeeds(&place.context(), "bash", json!({"command": "yes & echo $! >&2; exit 0"})).await;
    assert!(!text.is_empty());
    let pid = std::fs::read_dir("/proc").unwrap().find_map(|entry| {
        let entry = entry.unwrap();
        let environment = std::fs::read_link(entry.path().join("cwd")).ok()?;
        let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        let ours = environment == place.work() && name.trim() == "yes";
        ours.then(|| entry.file_name().to_string_lossy().parse().unwrap())
    });
    if let Some(pid) = pid {
        // The process receives SIGPIPE, because the pipe has no reader.
        assert_gone(pid);
    }
}

#[tokio::test]
async fn fm_f75_a_command_that_reads_gets_the_end_of_input() {
    let place = Place::new();
    assert_eq!(succeeds(&place.context(), "bash", json!({"command": "cat; echo done"})).await, "done\n");
}

#[tokio::test]
async fn fm_f78_any_bytes_give_text() {
    let place = Place::new();
    let command = r"printf 'a\303'; printf '\251\377\342\202b\007'; head -c 3000 /dev/urandom";
    let text = succeeds(&place.context(), "bash", json!({"command": command})).await;
    assert!(text.starts_with("aé\u{fffd}\u{fffd}b\x07"), "{text:.20}");
}

#[tokio::test]
async fn fm_f79_signals_and_codes_are_failures_by_name() {
    let place = Place::new();
    for (command, failure) in [
        ("kill -9 $$", "Command was killed by signal SIGKILL"),
        ("kill -SEGV $$", "Command was killed by signal SIGSEGV"),
        ("kill -TERM $$", "Command was killed by signal SIGTERM"),
        ("exit 255", "Command exited with code 255"),
        ("sh -c 'kill -9 $$'; exit $?", "Command exited with code 137"),
    ] {
        let text = fails(&place.context(), "bash", json!({"command": command})).await;
        assert!(text.ends_with(&format!("\n\n{failure}")), "{text}");
    }
}

#[tokio::test]
async fn fm_f80_odd_timeouts_are_none() {
    let place = Place::new();
    for timeout in [json!(0), json!(-1), json!(-0.5), json!(1e300), json!(i64::MAX), json!(null)] {
        let text =
            succeeds(&place.context(), "bash", json!({"command": "echo ok", "timeout": timeout})).await;
        assert_eq!(text, "ok\n");
    }
    let text = fails(&place.context(), "bash", json!({"command": "echo ok", "timeout": "soon"})).await;
    assert!(text.contains("  - timeout: must be number\n"), "{text}");
}

#[tokio::test]
async fn fm_f81_missing_working_directory_is_named() {
    let place = Place::new();
    let mut context = place.context();
    context.cwd = place.work().join("gone");
    let text = fails(&context, "bash", json!({"command": "pwd"})).await;
    assert_eq!(
        text,
        format!(
            "The command did not run: cannot run in the working directory {}: ENOENT: no such file or directory",
            context.cwd.display()
        )
    );
    context.cwd = place.file("file", "");
    let text = fails(&context, "bash", json!({"command": "pwd"})).await;
    assert!(text.contains("working directory") && text.contains("not a directory"), "{text}");
    assert_eq!(succeeds(&place.context(), "bash", json!({"command": "echo lives"})).await, "lives\n");
}

struct FailingSpawner(i32);

impl Spawner for FailingSpawner {
    fn spawn<'a>(&'a self, _: &'a CommandLine) -> BoxFuture<'a, io::Result<Box<dyn ProcessHandle>>> {
        async { Err(io::Error::from_raw_os_error(self.0)) }.boxed()
    }
}

#[tokio::test]
async fn fm_f82_f83_a_start_that_fails_is_an_error_result() {
    let place = Place::new();
    let mut context = place.context();
    for (code, words) in [
        (rustix::io::Errno::AGAIN, "EAGAIN: resource temporarily unavailable"),
        (rustix::io::Errno::MFILE, "EMFILE: too many open files"),
    ] {
        context.spawner = Arc::new(FailingSpawner(code.raw_os_error()));
        let text = fails(&context, "bash", json!({"command": "pwd"})).await;
        assert!(
            text.starts_with("The command did not run: cannot start ") && text.ends_with(words),
            "{text}"
        );
    }
    let mut context = place.context();
    context.shell.program = Some("/nowhere/shell".into());
    let text = fails(&context, "bash", json!({"command": "pwd"})).await;
    assert_eq!(
        text,
        "The command did not run: cannot start /nowhere/shell: ENOENT: no such file or directory"
    );
    let text = fails(&place.context(), "bash", json!({"command": "a\u{0}b"})).await;
    assert!(text.contains("nul byte"), "{text}");
    let text = fails(&place.context(), "bash", json!({"command": "#".repeat(300_000)})).await;
    assert!(text.ends_with("E2BIG: argument list too long"), "{text}");
}

#[tokio::test]
async fn fm_f89_a_command_that_looks_like_an_option_is_a_command() {
    let place = Place::new();
    place.file("-x", "");
    let text = fails(&place.context(), "bash", json!({"command": "-x --version"})).await;
    assert!(text.contains("-x: command not found"), "{text}");
}

#[tokio::test]
async fn a_dropped_call_leaves_no_process() {
    let place = Place::new();
    let mut context = place.context();
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    context.updates = Updates::to(move |update| drop(sender.send(update)));
    let pid = {
        let call = call(&context, "bash", json!({"command": "echo $$; sleep 60; true"}));
        tokio::select! {
            output = call => panic!("ended: {output:?}"),
            update = receiver.recv() => {
                let agentese_server::tools::ToolContent::Text(text) = &update.unwrap().content[0] else { panic!() };
                first_number(text)
            }
        }
    };
    assert_gone(pid);
}

#[tokio::test]
async fn shell_settings_apply() {
    let place = Place::new();
    let mut context = place.context();
    context.shell.prefix = Some("greeting=hello".into());
    context.shell.path_prefix = Some("/agent/bin".into());
    context.shell.environment = vec![("AGENTESE_TEST".into(), "yes".into())];
    let command = "echo $greeting $AGENTESE_TEST ${PATH%%:*}; pwd";
    let text = succeeds(&context, "bash", json!({"command": command})).await;
    assert_eq!(text, format!("hello yes /agent/bin\n{}\n", place.work().display()));
}
