//! Tests of the guard from outside: exact exit codes, and no remaining processes after any process dies.
//!
//! This test is a program without the usual harness. It must be its own guard, its own server to kill, and a
//! process with measurable memory.

// A test without a harness prints to stdout.
#![allow(clippy::print_stdout)]

#[path = "tools/support.rs"]
#[allow(dead_code)]
mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agentese_server::tools::process::{CommandOutcome, Request, run};
use agentese_server::tools::{Exit, LocalSpawner, ToolContent, ToolContext, Updates, guard, run_rpc_bash};
use serde_json::json;
use support::{LONG, Place, alive, assert_gone, call, fails, kill, succeeds};

const SERVER: &str = "__server";
const WRITER: &str = "__writer";

const TESTS: &[(&str, fn())] = &[
    ("fm_f79_endings_are_exact", fm_f79_endings_are_exact),
    ("ignored_signals_of_the_caller_are_not_inherited", ignored_signals_of_the_caller_are_not_inherited),
    ("starts_that_fail_have_the_systems_error", starts_that_fail_have_the_systems_error),
    ("output_and_abort_work_as_without_a_guard", output_and_abort_work_as_without_a_guard),
    ("fm_f72_process_that_ignores_sigterm_is_killed", fm_f72_process_that_ignores_sigterm_is_killed),
    ("a_command_has_no_terminal", a_command_has_no_terminal),
    ("a_killed_server_leaves_nothing", a_killed_server_leaves_nothing),
    ("a_killed_guard_leaves_nothing", a_killed_guard_leaves_nothing),
    ("a_stopped_guard_leaves_nothing", a_stopped_guard_leaves_nothing),
    (
        "fm_f74_background_processes_live_as_long_as_the_spawner",
        fm_f74_background_processes_live_as_long_as_the_spawner,
    ),
    ("a_dropped_call_leaves_nothing", a_dropped_call_leaves_nothing),
    ("program_that_is_not_a_guard_is_rejected", program_that_is_not_a_guard_is_rejected),
    ("fm_f76_a_flood_takes_constant_memory", fm_f76_a_flood_takes_constant_memory),
    ("fm_f87_a_killed_writer_leaves_old_or_new", fm_f87_a_killed_writer_leaves_old_or_new),
    ("the_binary_is_a_guard", the_binary_is_a_guard),
];

fn main() -> ExitCode {
    if let Some(code) = guard::main_if_guard() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some(SERVER) => server(&arguments[1], arguments[2].as_ref()),
        Some(WRITER) => writer(arguments[1].as_ref()),
        _ => {}
    }
    // Minimal harness for its callers: a filter and a list.
    let filters: Vec<_> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    for (name, test) in TESTS {
        if !filters.is_empty() && !filters.iter().any(|filter| name.contains(filter.as_str())) {
            continue;
        }
        if arguments.iter().any(|argument| argument == "--list") {
            println!("{name}: test");
            continue;
        }
        test();
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(3 * LONG, future).await.expect("the test hangs") })
}

fn this_binary() -> PathBuf {
    std::env::current_exe().unwrap()
}

fn guarded(place: &Place) -> ToolContext {
    place.context_of(LocalSpawner::new(Some(this_binary())))
}

async fn ending(context: &ToolContext, command: &str) -> CommandOutcome {
    run(context, Request { command, timeout: None, clean: false }, &mut |_| {}).await.unwrap().outcome
}

fn fm_f79_endings_are_exact() {
    let place = Place::new();
    let context = guarded(&place);
    block_on(async {
        for code in [0, 1, 3, 126, 127, 128, 137, 255] {
            assert_eq!(
                ending(&context, &format!("exit {code}")).await,
                CommandOutcome::Exited(Exit::Code(code))
            );
        }
        for signal in [1, 2, 6, 9, 11, 13, 15] {
            let command = format!("kill -{signal} $$");
            assert_eq!(ending(&context, &command).await, CommandOutcome::Exited(Exit::Signal(signal)));
        }
    });
}

/// Tests a caller that ignores signals, such as a program under `nohup` or in the background of a script.
fn ignored_signals_of_the_caller_are_not_inherited() {
    let status = Command::new("/bin/sh")
        .args(["-c", r#"trap '' HUP INT QUIT; exec "$0" fm_f79_endings_are_exact"#])
        .arg(this_binary())
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success());
}

fn starts_that_fail_have_the_systems_error() {
    let place = Place::new();
    block_on(async {
        let mut context = guarded(&place);
        context.shell.program = Some("/nowhere/shell".into());
        let error = run_rpc_bash(&context, "pwd", &mut |_| {}).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot start /nowhere/shell: ENOENT: no such file or directory");
        context.shell.program = Some(place.file("not-executable", ""));
        let error = run_rpc_bash(&context, "pwd", &mut |_| {}).await.unwrap_err();
        assert!(error.to_string().ends_with("EACCES: permission denied"), "{error}");
        let mut context = guarded(&place);
        context.cwd = place.work().join("gone");
        assert!(fails(&context, "bash", json!({"command": "pwd"})).await.contains("working directory"));
        let text = fails(&guarded(&place), "bash", json!({"command": "#".repeat(300_000)})).await;
        assert!(text.ends_with("E2BIG: argument list too long"), "{text}");
    });
}

fn output_and_abort_work_as_without_a_guard() {
    let place = Place::new();
    block_on(async {
        let context = guarded(&place);
        let text =
            succeeds(&context, "bash", json!({"command": "echo one; echo two >&2; pwd; cat; printf end"}))
                .await;
        assert_eq!(text, format!("one\ntwo\n{}\nend", place.work().display()));
        let text = fails(&context, "bash", json!({"command": "echo a; sleep 60", "timeout": 3})).await;
        assert_eq!(text, "a\n\n\nCommand timed out after 3 seconds");
        assert_eq!(abort(&place, "echo started; sleep 60").await, "started\n\n\nCommand aborted");
    });
}

/// Aborts a guarded command after its first output. Returns the text of the result.
async fn abort(place: &Place, command: &str) -> String {
    let mut context = guarded(place);
    let abort = context.abort.clone();
    context.updates = Updates::to(move |_| abort.cancel());
    fails(&context, "bash", json!({"command": command})).await
}

fn number(text: &str) -> i32 {
    text.split_whitespace().next().unwrap().parse().unwrap()
}

fn fm_f72_process_that_ignores_sigterm_is_killed() {
    let place = Place::new();
    let started = Instant::now();
    for command in [
        "trap '' TERM; echo $$; while :; do sleep 1; done",
        "(trap '' TERM; echo $BASHPID; exec >/dev/null 2>&1; while :; do sleep 1; done) & wait",
    ] {
        assert_gone(number(&block_on(abort(&place, command))));
    }
    assert!(started.elapsed() >= 2 * guard::GRACE, "the grace was not given");
}

fn a_command_has_no_terminal() {
    let place = Place::new();
    let text = block_on(fails(&guarded(&place), "bash", json!({"command": "cat /dev/tty"})));
    assert!(text.contains("No such device or address"), "{text}");
}

/// Runs a server that starts one command and waits for it forever.
fn server(command: &str, directory: &Path) -> ! {
    let mut context = ToolContext::new(directory, Arc::new(LocalSpawner::new(Some(this_binary()))));
    let go = directory.join("go");
    context.updates = Updates::to(move |update| {
        let ToolContent::Text(text) = &update.content[0] else { return };
        let _ = std::fs::write(&go, "");
        let mut stdout = std::io::stdout();
        let _ = stdout.write_all(text.replace('\n', " ").as_bytes()).and_then(|()| stdout.write_all(b"\n"));
        let _ = stdout.flush();
    });
    block_on(call(&context, "bash", json!({"command": command})));
    std::process::exit(1);
}

/// Starts a process that runs [`server`]. Returns it with the process ids that its command reports.
fn start_server(place: &Place, command: &str, count: usize) -> (Child, Vec<i32>) {
    let mut server = Command::new(this_binary())
        .args([SERVER, command])
        .arg(place.work())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let reported = lines.map(|line| {
        let line = line.unwrap();
        line.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<i32>>()
    });
    let pids = reported.into_iter().find(|pids| pids.len() == count);
    (server, pids.expect("the server ended early"))
}

fn a_killed_server_leaves_nothing() {
    let place = Place::new();
    for command in [
        "echo $$; sleep 300; true",
        "sleep 300 & echo $!; sleep 300 >/dev/null 2>&1 & echo $! $$; wait",
        "trap '' TERM HUP; sleep 300 & echo $!; sleep 300 & echo $! $$; wait; wait; sleep 300; true",
    ] {
        let count = if command.contains("$! $$") { 3 } else { 1 };
        let (mut server, pids) = start_server(&place, command, count);
        assert!(pids.iter().all(|&pid| alive(pid)));
        server.kill().unwrap();
        server.wait().unwrap();
        pids.iter().for_each(|&pid| assert_gone(pid));
    }
}

fn a_killed_guard_leaves_nothing() {
    let place = Place::new();
    let context = guarded(&place);
    block_on(async {
        let output = Arc::new(Mutex::new(String::new()));
        let seen = output.clone();
        let mut context = context;
        let go = place.work().join("go");
        context.updates = Updates::to(move |update| {
            if let ToolContent::Text(text) = &update.content[0] {
                *seen.lock().unwrap() = text.clone();
                // The output proves that the guard has reported the start of its command.
                if !text.is_empty() {
                    std::fs::write(&go, "").unwrap();
                }
            }
        });
        let command = "echo $$; until [ -e go ]; do :; done; kill -9 $PPID; sleep 300; true";
        let text = fails(&context, "bash", json!({"command": command})).await;
        assert!(text.ends_with("Command was lost: the guard process of the command was killed"), "{text}");
        assert_gone(number(&text));
    });
}

/// Stops a guard with SIGSTOP. The guard and its command must end if the call is aborted, and if the server dies.
fn a_stopped_guard_leaves_nothing() {
    let place = Place::new();
    // The guard stops after its report of the start, which the output proves.
    let command =
        "echo $PPID $$; until [ -e go ]; do :; done; kill -STOP $PPID; echo stopped; sleep 300; true";
    let mut context = guarded(&place);
    let (abort, go) = (context.abort.clone(), place.work().join("go"));
    context.updates = Updates::to(move |update| {
        let ToolContent::Text(text) = &update.content[0] else { return };
        std::fs::write(&go, "").unwrap();
        if text.contains("stopped") {
            abort.cancel();
        }
    });
    let text = block_on(fails(&context, "bash", json!({"command": command})));
    let pids: Vec<i32> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    assert_eq!(pids.len(), 2, "{text}");
    pids.into_iter().for_each(assert_gone);

    std::fs::remove_file(place.work().join("go")).unwrap();
    let command = "echo; until [ -e go ]; do :; done; kill -STOP $PPID; echo $PPID $$; sleep 300; true";
    let (mut server, pids) = start_server(&place, command, 2);
    server.kill().unwrap();
    server.wait().unwrap();
    pids.into_iter().for_each(assert_gone);
}

fn fm_f74_background_processes_live_as_long_as_the_spawner() {
    let place = Place::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let context = guarded(&place);
    // Both processes live longer than the time limit of a call.
    let command = "sleep 300 & echo $!; sleep 300 >/dev/null 2>&1 & echo $!";
    let text = runtime.block_on(succeeds(&context, "bash", json!({"command": command})));
    let pids: Vec<i32> = text.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert!(pids.len() == 2 && pids.iter().all(|&pid| alive(pid)));
    drop(context);
    pids.iter().for_each(|&pid| assert_gone(pid));

    // The guard ends together with the last background process.
    let context = guarded(&place);
    let command = "sleep 0.2 >/dev/null 2>&1 & echo $PPID";
    let guard = number(&runtime.block_on(succeeds(&context, "bash", json!({"command": command}))));
    assert_gone(guard);
}

fn a_dropped_call_leaves_nothing() {
    let place = Place::new();
    let mut context = guarded(&place);
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    context.updates = Updates::to(move |update| drop(sender.send(update)));
    let pid = block_on(async {
        tokio::select! {
            output = call(&context, "bash", json!({"command": "echo $$; sleep 300; true"})) => panic!("ended: {output:?}"),
            update = receiver.recv() => match &update.unwrap().content[0] {
                ToolContent::Text(text) => number(text),
                ToolContent::Image { .. } => unreachable!(),
            },
        }
    });
    assert_gone(pid);
}

fn program_that_is_not_a_guard_is_rejected() {
    let place = Place::new();
    for program in ["/bin/true", "/bin/echo", "/nowhere/guard"] {
        let context = place.context_of(LocalSpawner::new(Some(program.into())));
        let text = block_on(fails(&context, "bash", json!({"command": "echo hi"})));
        assert!(text.ends_with("did not start as a guard process") || text.contains("ENOENT"), "{text}");
    }
    let ended = Command::new(this_binary())
        .args([guard::GUARD_COMMAND, "--", "true"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(ended.code(), Some(2));
}

/// Returns the resident memory of this process in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn fm_f76_a_flood_takes_constant_memory() {
    let place = Place::new();
    let mut context = guarded(&place);
    context.output_file_limit = 1024 * 1024;
    let highest = Arc::new(Mutex::new(0));
    let seen = highest.clone();
    context.updates = Updates::to(move |_| {
        let mut highest = seen.lock().unwrap();
        *highest = memory().max(*highest);
    });
    let before = memory();
    for (command, notice) in [
        ("yes 0123456789 | head -c 200M", "[Showing lines "),
        ("head -c 100M /dev/zero >&2", "[Showing last 50.0KB of line 1 (line is 100.0MB). "),
        ("head -c 20M /dev/urandom", "[Showing "),
    ] {
        let text = block_on(succeeds(&context, "bash", json!({"command": command})));
        let notice_at = text.rfind(notice).unwrap_or_else(|| panic!("{}", &text[text.len() - 200..]));
        assert!(text[notice_at..].ends_with(".log (first 1.0MB only)]"), "{}", &text[notice_at..]);
    }
    let (highest, after) = (*highest.lock().unwrap(), memory());
    assert!(
        highest.max(after) < before + 24 * 1024 * 1024,
        "{before} before, at most {highest}, {after} after"
    );
    for entry in std::fs::read_dir(place.temp()).unwrap() {
        assert!(entry.unwrap().metadata().unwrap().len() < 1024 * 1024 + 100);
    }
    // The command ends on request.
    assert!(block_on(abort(&place, "yes")).ends_with("Command aborted"));
}

/// Writes two contents to a file alternately, forever.
fn writer(directory: &Path) -> ! {
    let context = ToolContext::new(directory, Arc::new(LocalSpawner::new(None)));
    block_on(async {
        for letter in ["a", "b"].iter().cycle() {
            succeeds(&context, "write", json!({"path": "f", "content": letter.repeat(3_000_000)})).await;
        }
    });
    std::process::exit(1);
}

fn fm_f87_a_killed_writer_leaves_old_or_new() {
    let place = Place::new();
    place.file("f", "a".repeat(3_000_000));
    for round in 0..12 {
        let mut writer = Command::new(this_binary()).arg(WRITER).arg(place.work()).spawn().unwrap();
        // Any moment is suitable; these are spread over the duration of a write.
        std::thread::sleep(Duration::from_millis(20 + 3 * round));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let content = place.content("f");
        assert!(content.len() == 3_000_000 && content.iter().all(|&byte| byte == content[0]));
    }
}

/// The program `agentese` must work as a guard, just as this test program does.
fn the_binary_is_a_guard() {
    let binary = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("agentese");
    assert!(binary.exists(), "{} is missing: cargo build -p agentese-cli", binary.display());
    let place = Place::new();
    let context = place.context_of(LocalSpawner::new(Some(binary)));
    block_on(async {
        assert_eq!(succeeds(&context, "bash", json!({"command": "echo hi"})).await, "hi\n");
        assert_eq!(ending(&context, "kill -9 $$").await, CommandOutcome::Exited(Exit::Signal(9)));
        let pid =
            number(&fails(&context, "bash", json!({"command": "echo $$; sleep 60", "timeout": 3})).await);
        kill(pid);
        assert_gone(pid);
    });
}
