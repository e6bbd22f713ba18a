//! Guard against slower code: counts the instructions on hot paths with a simulator. The load of the machine does not
//! affect the counts. The test compares them with the stored counts beside this file.
//!
//! `make test` counts the existing debug build (`counts.txt`). `make test-instructions` counts an optimised
//! build with the profile `counted` (`optimised.txt`), which is the form for users but takes minutes to
//! compile. With `COUNTS=write` it stores new counts;
//! `AGENTESE_COUNTS=write cargo test --workspace --test instructions` stores those of the debug build.
//! Without valgrind the test prints a notice and passes. The test has no harness, because this program is
//! also the measured one.

mod subjects;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use subjects::{BASE, TIMES};

/// The argument for running the measured functions.
const SUBJECTS: &str = "--subjects";

/// Maximum excess over the stored count, in percent. If a count is lower by more than this, the stored count must be
/// updated.
const MARGIN: u64 = 15;

fn stored_counts() -> PathBuf {
    let file = if cfg!(debug_assertions) { "counts.txt" } else { "optimised.txt" };
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions").join(file)
}

/// Returns the number of instructions of each measured function, including the functions that it calls. Returns `None`
/// if they cannot be counted.
fn counted() -> Option<BTreeMap<String, u64>> {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile");
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(std::env::current_exe().unwrap())
        .arg(SUBJECTS)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TMPDIR", folder.path())
        .output();
    let ran = match ran {
        Ok(ran) => ran,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => panic!("valgrind: {error}"),
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let profile = std::fs::read_to_string(profile).unwrap();
    let mut counts = BTreeMap::new();
    let mut called = None;
    // Calls of `all`: `cfn=` names the function, and the line after `calls=` has its total cost.
    let mut lines = profile.lines().skip_while(|line| *line != "fn=instructions::subjects::all");
    lines.next();
    let mut lines = lines.take_while(|line| !line.starts_with("fn="));
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("cfn=instructions::subjects::") {
            called = Some(name.to_owned());
        } else if line.starts_with("calls=")
            && let (Some(name), Some(cost)) = (called.take(), lines.next())
        {
            let cost = cost.split_ascii_whitespace().nth(1).and_then(|cost| cost.parse().ok());
            counts.insert(name, cost.expect("a cost"));
        }
    }
    for (name, base) in BASE {
        let base = counts.remove(*base).expect("the base was counted");
        *counts.get_mut(*name).expect("the function was counted") -= base;
    }
    counts.values_mut().for_each(|count| *count /= TIMES as u64);
    Some(counts)
}

fn hot_paths_take_no_more_instructions_than_before() {
    let Some(counted) = counted() else {
        eprintln!("skipped: instructions are counted by valgrind, which is not installed");
        return;
    };
    if std::env::var_os("AGENTESE_COUNTS").is_some_and(|wish| wish == "write") {
        let lines: String = counted.iter().map(|(name, count)| format!("{name} {count}\n")).collect();
        std::fs::write(stored_counts(), lines).unwrap();
        return;
    }
    let text = std::fs::read_to_string(stored_counts()).unwrap();
    let kept: BTreeMap<String, u64> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, count)| (name.to_owned(), count.parse().expect("a count")))
        .collect();
    assert!(
        counted.keys().eq(kept.keys()),
        "{:?} were counted and {:?} are kept",
        counted.keys(),
        kept.keys()
    );
    let wrong: Vec<String> = counted
        .iter()
        .filter(|(name, count)| {
            **count > kept[*name] * (100 + MARGIN) / 100 || **count < kept[*name] * (100 - MARGIN) / 100
        })
        .map(|(name, count)| format!("{name}: {count} instructions, {} are kept", kept[name]))
        .collect();
    let again = match cfg!(debug_assertions) {
        true => "AGENTESE_COUNTS=write cargo test --workspace --test instructions",
        false => "make test-instructions COUNTS=write",
    };
    assert!(wrong.is_empty(), "{wrong:#?}\nWhere that is right, `{again}` keeps the new counts.");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == SUBJECTS) {
        return subjects::all();
    }
    // A filter for other tests excludes this test.
    let names = arguments.iter().filter(|argument| !argument.starts_with('-')).collect::<Vec<_>>();
    if arguments.iter().any(|argument| argument == "--list")
        || !(names.is_empty() || names.iter().any(|name| "instructions".contains(name.as_str())))
    {
        return;
    }
    hot_paths_take_no_more_instructions_than_before();
}
