//! Tests of an interrupted run, which ends all processes that it started and still writes its report.

use std::io::Read as _;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::long::LONG;
use crate::support::{Suite, verdicts};

#[test]
fn an_interruption_ends_the_agents_and_reports() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    // The agent answers the probe. In a case, it writes its process id to a file and runs on forever, even
    // after SIGTERM.
    let agent = format!(
        r#"while read -r line; do echo '{{"type":"agent_start"}}'; case "$line" in *abort*) echo $$ >{0}.part; mv {0}.part {0}; trap '' TERM; while :; do sleep 1; done;; esac; done"#,
        pid.display()
    );
    let suite = Suite::new(&agent);
    suite.case("first", &json!({}));
    suite.case("second", &json!({}));
    let report = suite.file("report.json");
    let mut child = suite.command(&["--jobs", "1", "--json", report.to_str().unwrap()]).spawn().unwrap();
    let begin = Instant::now();
    let agent = loop {
        if let Ok(text) = std::fs::read_to_string(&pid) {
            break text.trim().to_owned();
        }
        assert!(begin.elapsed() < LONG && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(10));
    };
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, Signal::INT).unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{said}");
    assert!(said.contains("interrupted: ") && out.contains("The run was interrupted."), "{said}{out}");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    assert_eq!(verdicts(&report).join(", "), "first inconclusive, second inconclusive");
    assert_eq!(
        (&report["interrupted"], &report["cases"][0]["reason"]),
        (&true.into(), &"the run was interrupted".into())
    );
    assert_eq!(report["cases"][1]["reason"], "the run was interrupted before this case");
    let stat = std::fs::read_to_string(format!("/proc/{agent}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "the agent still runs: {stat}");
}
