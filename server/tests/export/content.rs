//! Tests of the content that a page shows.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use agentese_server::export::{ExportInput, default_name, from_file, html, write};
use serde_json::{Value, json};

use crate::support::{Sample, page, sample, text_of};

#[test]
fn every_entry_has_its_place_and_its_row() {
    let session = sample();
    let page = page(&session.header, &session.entries);
    for entry in &session.entries {
        let id = entry["id"].as_str().unwrap();
        assert_eq!(page.matches(&format!("id=\"entry-{id}\"")).count(), 1, "{entry}");
        assert!(page.contains(&format!("<a href=\"#entry-{id}\"")), "{entry}");
    }
}

#[test]
fn page_contains_every_message() {
    let session = sample();
    let text = text_of(&page(&session.header, &session.entries));
    for words in [
        "Timeouts that survive a suspended laptop",
        "/home/ada/courier",
        "Two ways to mend it",
        "compares two wall-clock readings",
        "SystemTimeError(2.41s)",
        "Successfully wrote 434 bytes",
        "self.since.elapsed().is_ok_and",
        "disallowed-types",
        "Rain, then sun.",
        "git diff --stat",
        "exit code 2",
        "/tmp/pi-bash-0f3a.log",
        "name the clock in the doc comment",
        "529 overloaded_error",
        "Label “the mending”",
        "State of todo-list",
        "21,480 tokens",
        "of an extension nobody here knows",
        "спасибо, 谢谢",
        "Cut off at the output limit",
        "Thinking that the provider does not disclose",
        "2 branches",
        "anthropic/claude-sonnet-4-5",
        "openai/gpt-5-mini",
        "21 November 2026, 09:14 – 09:18 UTC",
    ] {
        assert!(text.contains(words), "{words}");
    }
    assert!(!text.contains('\u{1b}'), "escape sequences of terminals");
}

#[test]
fn totals_are_those_of_all_branches() {
    let session = sample();
    let page = page(&session.header, &session.entries);
    let total = |name: &str| {
        let rest = page.split(&format!("<dt>{name}</dt><dd><strong>")).nth(1).unwrap();
        rest.split("</strong>").next().unwrap().to_owned()
    };
    let messages = session.entries.iter().filter(|entry| entry["type"] == "message");
    assert_eq!(total("Messages"), messages.clone().count().to_string());
    let usages = session.entries.iter().map(|entry| match entry["type"] == "message" {
        true => &entry["message"]["usage"],
        false => &entry["usage"],
    });
    let cost: f64 = usages.clone().filter_map(|usage| usage["cost"]["total"].as_f64()).sum();
    assert_eq!(total("Cost"), format!("${cost:.2}"));
    let output: u64 = usages.filter_map(|usage| usage["output"].as_u64()).sum();
    assert_eq!(total("Tokens out").replace(',', ""), output.to_string());
    assert_eq!(total("Tool calls"), "7");
}

#[test]
fn leaf_selects_the_branch() {
    let session = sample();
    let leaf = session.entries.iter().find(|entry| {
        entry["message"]["content"][0]["text"].as_str().is_some_and(|text| text.starts_with("Clippy"))
    });
    let mut transcript = ExportInput::new(&session.header, &session.entries);
    transcript.leaf = leaf.unwrap()["id"].as_str();
    let page = html(&transcript);
    let branches = page.matches("<details class=\"branch").count();
    assert_eq!(branches, 2, "the line that continues, and the other question");
    // Branches appear at the point of the branching, so the former trunk comes first.
    assert!(page.find("Cut off at the output limit").unwrap() < page.rfind("disallowed-types").unwrap());
}

#[test]
fn an_empty_session_is_a_page() {
    let page = page(&json!({"type": "session", "id": "s"}), &[]);
    assert!(text_of(&page).contains("No messages yet."));
}

#[test]
fn any_session_version_and_content_is_exported() {
    let values = [
        json!(null),
        json!(7),
        json!("x"),
        json!([]),
        json!({}),
        json!([{}]),
        json!([[1]]),
        json!({"a": {}}),
    ];
    let session = sample();
    for entry in &session.entries {
        for member in entry.as_object().unwrap().keys().chain(["message"].map(String::from).iter()) {
            for value in &values {
                let mut entry = entry.clone();
                entry[member.as_str()] = value.clone();
                assert!(page(&session.header, &[entry]).ends_with("</html>\n"));
            }
        }
        let Some(message) = entry["message"].as_object() else { continue };
        for member in message.keys() {
            for value in &values {
                let mut entry = entry.clone();
                entry["message"][member.as_str()] = value.clone();
                assert!(page(value, &[entry]).ends_with("</html>\n"));
            }
        }
    }
}

/// Returns the value with `prefix` before every text. Texts that determine the type of an object stay unchanged.
fn prefixed(value: &Value, prefix: &str) -> Value {
    match value {
        Value::String(text) => format!("{prefix}{text}").into(),
        Value::Array(items) => items.iter().map(|item| prefixed(item, prefix)).collect(),
        Value::Object(members) => {
            let member = |(name, member): (&String, &Value)| match name.as_str() {
                "type" | "role" | "mimeType" => (name.clone(), member.clone()),
                _ => (name.clone(), prefixed(member, prefix)),
            };
            Value::Object(members.iter().map(member).collect())
        }
        other => other.clone(),
    }
}

#[test]
fn fm_f118_keys_do_not_reach_the_page() {
    let session = sample();
    let key = "sk-ant-api03-0123456789abcdefghij";
    let entries: Vec<Value> =
        session.entries.iter().map(|entry| prefixed(entry, &format!("{key} canary-7f3a "))).collect();
    let secrets = ["canary-7f3a".to_owned()];
    let header =
        json!({"type": "session", "id": "s", "cwd": format!("/{key}"), "parentSession": "/canary-7f3a"});
    let mut transcript = ExportInput::new(&header, &entries);
    transcript.secrets = &secrets;
    transcript.system_prompt = Some("canary-7f3a");
    let tools = [("canary-7f3a".to_owned(), key.to_owned())];
    transcript.tools = &tools;
    let page = html(&transcript);
    assert!(!page.contains("sk-ant-api03") && !page.contains("canary-7f3a"));
    assert!(page.matches("[redacted]").count() > 60);
}

#[test]
fn a_file_becomes_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("2026_a.jsonl");
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/export/sample.jsonl"), &input).unwrap();
    let session = from_file(&input).unwrap();
    assert_eq!(session.skipped, 0);
    let output = directory.path().join(default_name("pi-session", &input));
    let transcript = ExportInput::new(&session.header, &session.entries);
    write(&transcript, &output).unwrap();
    assert_eq!(fs::metadata(&output).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(fs::read_to_string(output).unwrap(), html(&transcript));
    assert_eq!(Sample::from(session), sample());
}

/// The umask applies to the whole process, so this test runs the test above in another process.
#[test]
fn fm_f110_exports_are_private_for_any_umask() {
    let script = "umask 000; exec \"$0\" --exact content::a_file_becomes_a_file";
    let played =
        Command::new("sh").args(["-c", script]).arg(std::env::current_exe().unwrap()).output().unwrap();
    let output = String::from_utf8_lossy(&played.stdout);
    assert!(played.status.success() && output.contains("1 passed"), "{output}");
}
