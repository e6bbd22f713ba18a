//! Tests of the page in Chromium, by `browser.mjs`. Without a browser the test is skipped, with a message.
//! With REQUIRE_BROWSER=1 it fails instead.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::reports::{hostile, written};

/// Time limit of the browser script, which normally ends by itself.
const LONGEST: Duration = Duration::from_secs(150);

/// Finds the browser: the path in `CHROMIUM`, or a browser on `PATH`.
fn chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    on_path(&["chromium", "chromium-browser", "google-chrome"])
}

fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|file| file.is_file())
}

#[test]
fn the_page_works_in_a_browser_and_runs_only_its_own_script() {
    let driver =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdk-ts/node_modules/playwright-core/index.mjs");
    let missing = match (chromium(), on_path(&["node"])) {
        (None, _) => Some("no browser: set CHROMIUM to one, or install chromium"),
        (_, None) => Some("no node"),
        _ if !driver.is_file() => Some("no playwright-core: run npm ci in sdk-ts"),
        _ => None,
    };
    if let Some(missing) = missing {
        assert!(std::env::var_os("REQUIRE_BROWSER").is_none_or(|value| value != "1"), "{missing}");
        // Output of print macros is hidden for tests that pass, so the message is written directly to
        // stderr.
        let _ = writeln!(std::io::stderr(), "skipped: the report in a browser ({missing})");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-pages");
    std::fs::create_dir_all(&folder).unwrap();
    let [_, _, html, _] = written(&hostile());
    std::fs::write(folder.join("report.html"), html).unwrap();
    // A page that is not a report proves that the test would detect a running script.
    let control = "<!DOCTYPE html><script>ran = true; alert('hello')</script>";
    std::fs::write(folder.join("control.html"), control).unwrap();

    let mut child = Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/browser.mjs"))
        .args([driver.as_os_str(), chromium().unwrap().as_os_str(), folder.as_os_str()])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > LONGEST {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the browser test did not end");
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(status.success(), "see above");
}
