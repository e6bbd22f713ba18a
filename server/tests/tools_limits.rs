//! Tests of the tools on a system that denies descriptors, processes or the listing of a directory. The results name
//! the cause, and the tools work again once the system permits it.
//!
//! Limits apply to a whole process, and these limits do not apply to the superuser. Each test therefore runs
//! in a child of this program with its own rights, without the usual harness. The program is also its own
//! guard.

// A test without a harness prints to stdout.
#![allow(clippy::print_stdout)]

#[path = "tools/support.rs"]
#[allow(dead_code)]
mod support;

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use agentese_server::tools::{LocalSpawner, ToolContext, ToolOutput, guard};
use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};
use serde_json::{Value, json};
use support::skip::skipped;
use support::{LONG, Place, call, succeeds};

const TESTS: &[(&str, fn())] = &[
    ("fm_f83_without_descriptors_calls_fail_and_then_work_again", without_descriptors),
    ("fm_f82_without_processes_calls_fail_and_then_work_again", without_processes),
    ("fm_f82_a_fork_bomb_ends_with_its_call", a_fork_bomb),
    ("directories_that_cannot_be_read_are_left_out_with_a_note", without_rights),
    ("a_file_in_a_directory_that_takes_no_new_file_is_written", in_a_closed_directory),
    ("a_file_of_another_user_is_written_and_keeps_its_owner", file_of_another_user),
    ("an_edit_of_a_large_file_takes_little_more_memory_than_the_file", a_large_file),
    ("a_file_that_is_a_mount_of_its_own_is_written", on_a_mount),
];

fn main() -> ExitCode {
    if let Some(code) = guard::main_if_guard() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(name) = arguments.first().and_then(|first| first.strip_prefix("__run=")) {
        let (_, test) = TESTS.iter().find(|(known, _)| *known == name).expect("a test of that name");
        test();
        return ExitCode::SUCCESS;
    }
    let filters: Vec<_> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    for (name, _) in TESTS {
        if !filters.is_empty() && !filters.iter().any(|filter| name.contains(filter.as_str())) {
            continue;
        }
        if arguments.iter().any(|argument| argument == "--list") {
            println!("{name}: test");
            continue;
        }
        assert!(run_in_child(name), "{name} failed");
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}

/// Id of a user that has no processes. The limit of processes does not apply to the superuser.
const UNUSED_USER_ID: u32 = 64_917;

fn run_in_child(name: &str) -> bool {
    let program = std::env::current_exe().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(&program);
    if getuid().is_root() {
        // The other user may lack access to the original program.
        let copy = directory.path().join("tools-limits");
        fs::copy(&program, &copy).unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        command = Command::new(copy);
        // File of the superuser that all users may write, in a directory that all users may change.
        let shared = directory.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::write(shared.join("file"), "old").unwrap();
        fs::set_permissions(shared.join("file"), fs::Permissions::from_mode(0o666)).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
        command.uid(UNUSED_USER_ID).gid(UNUSED_USER_ID).current_dir("/");
    }
    command.arg(format!("__run={name}")).status().unwrap().success()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(3 * LONG, future).await.expect("the test hangs") })
}

/// Returns a context with a guard and a context without one.
fn contexts(place: &Place) -> [ToolContext; 2] {
    [None, Some(std::env::current_exe().unwrap())].map(|guard| place.context_of(LocalSpawner::new(guard)))
}

/// Returns a successful call of every tool. The calls can be repeated.
fn calls() -> [(&'static str, Value); 7] {
    [
        ("write", json!({"path": "file", "content": "needle\n"})),
        ("read", json!({"path": "file"})),
        ("edit", json!({"path": "file", "oldText": "needle", "newText": "needle."})),
        ("grep", json!({"pattern": "needle"})),
        ("find", json!({"pattern": "file"})),
        ("ls", json!({})),
        ("bash", json!({"command": "echo hi"})),
    ]
}

async fn everything_works(context: &ToolContext) {
    for (tool, arguments) in calls() {
        succeeds(context, tool, arguments).await;
    }
}

#[track_caller]
fn assert_refused(output: &ToolOutput, code: &str) {
    assert!(output.is_error && output.all_text().contains(code), "{output:?}");
}

fn set_limit(resource: Resource, current: u64) {
    setrlimit(resource, Rlimit { current: Some(current), ..getrlimit(resource) }).unwrap();
}

fn open_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn children() -> String {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("children")).ok()).collect()
}

/// Waits until `reached` returns true: some effects, such as the end of guards and threads, follow after a call.
async fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let started = Instant::now();
    while !reached() {
        assert!(started.elapsed() < LONG, "{what}");
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}

fn without_descriptors() {
    let place = Place::new();
    block_on(async {
        for context in contexts(&place) {
            everything_works(&context).await;
            until("a child is left", || children().is_empty()).await;
            let before = open_descriptors();
            let limit = getrlimit(Resource::Nofile).current.unwrap();
            set_limit(Resource::Nofile, 64);
            let mut taken = Vec::new();
            while let Ok(file) = File::open("/dev/null") {
                taken.push(file);
            }
            for (tool, arguments) in calls() {
                assert_refused(&call(&context, tool, arguments).await, "EMFILE: too many open files");
            }
            // The descriptors become free one by one, so that every step of a call fails once.
            let mut worked = false;
            while taken.pop().is_some() {
                let mut all = true;
                for (tool, arguments) in calls() {
                    let output = call(&context, tool, arguments).await;
                    if output.is_error {
                        assert!(!worked, "{tool} worked with less: {output:?}");
                        assert_refused(&output, "EMFILE: too many open files");
                        all = false;
                    }
                }
                worked = all;
            }
            assert!(worked);
            until("a child is left", || children().is_empty()).await;
            until("a descriptor is left", || open_descriptors() == before).await;
            assert_eq!(place.names(), ["file"]);
            set_limit(Resource::Nofile, limit);
            everything_works(&context).await;
        }
    });
}

/// Returns the number of processes and threads of this user.
fn processes() -> u64 {
    let tasks = |process: io::Result<fs::DirEntry>| {
        let path = process.ok()?.path();
        let owner = fs::metadata(&path).ok()?.uid();
        (owner == getuid().as_raw()).then(|| fs::read_dir(path.join("task")).map_or(0, Iterator::count))
    };
    fs::read_dir("/proc").unwrap().filter_map(tasks).sum::<usize>() as u64
}

/// Returns false if this user is exempt from the limit, such as a superuser in a container.
fn limit_holds() -> bool {
    let limit = getrlimit(Resource::Nproc);
    set_limit(Resource::Nproc, 1);
    let started = std::thread::Builder::new().spawn(|| {});
    let _ = setrlimit(Resource::Nproc, limit);
    if started.is_ok() {
        skipped("limits on processes", "this user is exempt from them");
    }
    started.is_err()
}

fn without_processes() {
    if !limit_holds() {
        return;
    }
    let place = Place::new();
    block_on(async {
        for context in contexts(&place) {
            everything_works(&context).await;
            until("a child is left", || children().is_empty()).await;
            let limit = getrlimit(Resource::Nproc);
            set_limit(Resource::Nproc, 1);
            for (tool, arguments) in calls() {
                assert_refused(
                    &call(&context, tool, arguments).await,
                    "EAGAIN: resource temporarily unavailable",
                );
            }
            // One more process is allowed at a time: for the guard, then for its thread, then for the command.
            for room in 0..8 {
                set_limit(Resource::Nproc, processes() + room);
                for (tool, arguments) in calls() {
                    let output = call(&context, tool, arguments).await;
                    assert!(!output.is_error || output.all_text().contains("EAGAIN"), "{output:?}");
                }
            }
            setrlimit(Resource::Nproc, limit).unwrap();
            everything_works(&context).await;
            until("a child is left", || children().is_empty()).await;
        }
    });
}

fn a_fork_bomb() {
    if !limit_holds() {
        return;
    }
    let place = Place::new();
    block_on(async {
        for context in contexts(&place) {
            let limit = getrlimit(Resource::Nproc);
            set_limit(Resource::Nproc, processes() + 40);
            // The duration of the sleep marks all processes of this bomb.
            let mark = format!("60.{}", std::process::id());
            let bomb = format!("bomb() {{ bomb | bomb & sleep {mark}; }}; bomb");
            let output = call(&context, "bash", json!({"command": bomb, "timeout": 0.5})).await;
            assert!(output.is_error, "{output:?}");
            setrlimit(Resource::Nproc, limit).unwrap();
            until("a process of the bomb is left", || !is_running(&mark)).await;
            everything_works(&context).await;
        }
    });
}

fn is_running(mark: &str) -> bool {
    let line = |process: io::Result<fs::DirEntry>| fs::read(process?.path().join("cmdline"));
    let lines = fs::read_dir("/proc").unwrap().filter_map(|process| line(process).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).any(|line| line.contains(mark))
}

fn without_rights() {
    let place = Place::new();
    let closed = place.work().join("src/closed");
    fs::create_dir_all(&closed).unwrap();
    place.file("src/a.rs", "needle\n");
    place.file("src/b.rs", "needle\n");
    fs::set_permissions(place.work().join("src/b.rs"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&closed).is_ok() {
        return skipped("directories that cannot be read", "this user may read everything");
    }
    let context = place.context_of(LocalSpawner::new(None));
    block_on(async {
        assert_eq!(
            succeeds(&context, "find", json!({"pattern": "*.rs", "path": "src"})).await,
            "a.rs\nb.rs\n\n[Left out, since it could not be read: closed (EACCES: permission denied).]"
        );
        assert_eq!(
            succeeds(&context, "grep", json!({"pattern": "needle", "path": "src"})).await,
            "a.rs:1: needle\n\n[Left out, since they could not be read: 2 paths, the first is b.rs (EACCES: permission \
             denied).]"
        );
        for (tool, path, call_name) in [
            ("grep", "src/closed", "scandir"),
            ("find", "src/closed", "scandir"),
            ("ls", "src/closed", "scandir"),
            ("grep", "src/b.rs", "read"),
        ] {
            let output = call(&context, tool, json!({"pattern": "x", "path": path})).await;
            let path = place.work().join(path);
            let expected = format!("EACCES: permission denied, {call_name} '{}'", path.display());
            assert_eq!(output, ToolOutput::error(expected));
        }
    });
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
}

/// Calls `write` and `edit` on a file. Returns the content of the file.
fn written(context: &ToolContext, path: &Path) -> String {
    block_on(async {
        succeeds(context, "write", json!({"path": path, "content": "one two\n"})).await;
        succeeds(context, "edit", json!({"path": path, "oldText": "two", "newText": "three"})).await;
    });
    fs::read_to_string(path).unwrap()
}

fn in_a_closed_directory() {
    let place = Place::new();
    let file = place.file("file", "old");
    let inode = file.metadata().unwrap().ino();
    fs::set_permissions(place.work(), fs::Permissions::from_mode(0o555)).unwrap();
    if File::create(place.work().join("probe")).is_ok() {
        println!("skipped: this user may write everywhere");
    } else {
        let context = place.context_of(LocalSpawner::new(None));
        assert_eq!(written(&context, &file), "one three\n");
        assert_eq!(file.metadata().unwrap().ino(), inode);
        assert_eq!(fs::read_dir(place.temp()).unwrap().count(), 0, "the copy of the old content is left");
        block_on(async {
            let output = call(&context, "write", json!({"path": "new", "content": "x"})).await;
            assert_refused(&output, "EACCES: permission denied");
        });
    }
    fs::set_permissions(place.work(), fs::Permissions::from_mode(0o755)).unwrap();
}

fn file_of_another_user() {
    let file = std::env::current_exe().unwrap().with_file_name("shared").join("file");
    let Ok(before) = file.metadata().map(|metadata| (metadata.uid(), metadata.gid(), metadata.ino())) else {
        println!("skipped: only the superuser can create a file of another user");
        return;
    };
    assert_ne!(before.0, getuid().as_raw());
    let place = Place::new();
    assert_eq!(written(&place.context_of(LocalSpawner::new(None)), &file), "one three\n");
    let after = file.metadata().unwrap();
    assert_eq!((after.uid(), after.gid(), after.ino()), before);
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
}

/// Environment variable that names the mounted file, for the process with its own mounts.
const MOUNTED: &str = "AGENTESE_TEST_MOUNTED";

fn on_a_mount() {
    let place = Place::new();
    if let Some(file) = std::env::var_os(MOUNTED) {
        let file = Path::new(&file);
        assert_eq!(written(&place.context_of(LocalSpawner::new(None)), file), "one three\n");
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 2, "something is left beside it");
        return;
    }
    let (source, target) = (place.file("source", "old"), place.file("target", "covered"));
    // As root of its own name space, a user may mount its own files.
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    let script = "mount --bind \"$1\" \"$2\" || exit 77; exec \"$0\" \"$3\"";
    let program = std::env::current_exe().unwrap();
    command.arg(script).arg(program).args([&source, &target]).env(MOUNTED, &target);
    let status = command.arg("__run=a_file_that_is_a_mount_of_its_own_is_written").status();
    match status.as_ref().map(std::process::ExitStatus::code) {
        Ok(Some(0)) => assert_eq!(fs::read_to_string(&source).unwrap(), "one three\n"),
        Ok(Some(101)) => panic!("the file on the mount was not written"),
        _ => println!("skipped: this user cannot mount ({status:?})"),
    }
}

/// Returns the peak memory of this process in bytes.
fn highest() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn a_large_file() {
    const LINES: usize = 3 << 20;
    let place = Place::new();
    let path = place.work().join("large");
    let mut file = io::BufWriter::new(File::create(&path).unwrap());
    for number in 0..LINES {
        writeln!(file, "{number:010}\r").unwrap();
    }
    writeln!(file, "needle \u{201c}x\u{201d}\r").unwrap();
    drop(file);
    let size = path.metadata().unwrap().len();
    let before = highest();
    // The exact text is missing, so the tool searches twice.
    let edit = json!({"path": path, "oldText": "needle \"x\"\n", "newText": "found\n"});
    block_on(succeeds(&place.context_of(LocalSpawner::new(None)), "edit", edit));
    let more = highest() - before;
    assert!(more < size + (48 << 20), "{more} bytes more for {size}");
    assert!(fs::read(&path).unwrap().ends_with(b"\r\nfound\r\n"));
}
