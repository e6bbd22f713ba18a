//! Tests of pages in Chromium with `browser.mjs`. Without a browser they print a notice and pass; with
//! REQUIRE_BROWSER=1 they fail.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agentese_server::export::{ExportInput, html};

use crate::skip::skipped;
use crate::support::{folder, page, sample, system_prompt, tools};
use crate::{hostile, size};

/// The time limit for the script. It is longer than the script's own limit.
const LONGEST: Duration = Duration::from_secs(420);

/// Returns the browser that `CHROMIUM` names, else an installed one.
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
fn fm_f115_nothing_executes_in_a_browser_and_the_page_is_usable() {
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
        skipped("the exported page in a browser", missing);
        return;
    }

    let session = sample();
    let tools = tools();
    let mut transcript = ExportInput::new(&session.header, &session.entries);
    (transcript.system_prompt, transcript.tools) = (Some(system_prompt()), &tools);
    std::fs::write(folder().join("sample.html"), html(&transcript)).unwrap();
    std::fs::write(folder().join("many.html"), page(&session.header, &size::long_session(2_000))).unwrap();
    let pages = hostile::write_pages();
    // Control page that is not an export. It proves that the test would detect forbidden effects.
    let control = "<!DOCTYPE html><script>pwned('script'); alert('hello')</script><img src='https://h.example/a.png'>\
                   <img src='data:,' onerror=\"pwned('attribute'); attributeRan = true\">";
    std::fs::write(folder().join("control.html"), control).unwrap();

    let mut child = Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export/browser.mjs"))
        .args([driver.as_os_str(), chromium().unwrap().as_os_str(), folder().as_os_str()])
        .arg(pages.to_string())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > LONGEST {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the browser test did not end");
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(status.success(), "see above");
}
