//! Tests of the formats of a report.

use serde_json::{Value, json};

use crate::support::{AGENT, Suite, answers, text};

/// Text that damages a report unless it is escaped correctly.
const HOSTILE: &str = "<script>alert(1)</script> ]]> \u{1b}[31m \u{0} & \" ' <!-- \u{fffe} \u{2028}";

/// Creates a suite with a case for every verdict. Its agent prints texts that could damage a
/// report.
pub fn hostile() -> Suite {
    let noise = r#"printf '{"type":"agent_start","x":"<img src=x onerror=alert(2)> ]]>"}\n'; printf '</pre><script>alert(3)</script>\033[2J]]>\n'; "#;
    let suite = Suite::new(&format!("{noise}{AGENT}"));
    suite.case("bad", &json!({"expect": answers(false, "must"), "title": HOSTILE}));
    suite.case("known", &json!({"expect": answers(false, "must"), "title": HOSTILE}));
    suite.case("none", &json!({"needs": ["extensions"], "title": HOSTILE}));
    suite.case("unsure", &json!({"setup": ["printf '<b>]]>\\033' >&2; exit 1"], "title": HOSTILE}));
    let line = |check: &str, path: Option<&str>| {
        let mut line = json!({"case": "known", "check": check, "reason": HOSTILE});
        if let Some(path) = path {
            line["path"] = path.into();
        }
        line
    };
    suite.write(
        "expected.json",
        &json!({"expected_failures": 1, "failures": [line("expect answers", Some("success")), line("noise", None)]}),
    );
    suite
}

pub fn written(suite: &Suite) -> [String; 4] {
    let file = |name: &str| suite.file(name).to_str().unwrap().to_owned();
    let (json, junit, html, folder) = (file("r.json"), file("r.xml"), file("r.html"), file("transcripts"));
    let expected = file("expected.json");
    let output = suite.run(&[
        "--expected",
        &expected,
        "--json",
        &json,
        "--junit",
        &junit,
        "--html",
        &html,
        "--transcripts",
        &folder,
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(name).unwrap();
    [read(&json), read(&junit), read(&html), text(&output.stdout)]
}

#[test]
fn the_json_report_is_of_its_schema() {
    let suite = hostile();
    let [json, _, _, _] = written(&suite);
    let schema: Value = serde_json::from_str(agentese::schema::format("suite-report").unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let report: Value = serde_json::from_str(&json).unwrap();
    if let Some(error) = validator.iter_errors(&report).next() {
        panic!("{error} at {}", error.instance_path());
    }
    assert_eq!(
        report["totals"],
        json!({"pass": 0, "lenient": 0, "fail": 1, "expected_failure": 1, "inconclusive": 1, "not_applicable": 1})
    );
    let mut wrong = report.clone();
    wrong["cases"][0]["verdict"] = "perhaps".into();
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn junit_is_well_formed_for_any_output_of_an_agent() {
    let [_, junit, _, _] = written(&hostile());
    let document = roxmltree::Document::parse(&junit).unwrap_or_else(|error| panic!("{error}\n{junit}"));
    let suites: Vec<_> = document.descendants().filter(|node| node.has_tag_name("testsuite")).collect();
    let [suite] = suites[..] else { panic!("{junit}") };
    let counts = ["tests", "failures", "errors", "skipped"].map(|name| suite.attribute(name).unwrap());
    assert_eq!(counts, ["4", "1", "1", "2"], "{junit}");
    let of = |name: &str| suite.children().find(|node| node.attribute("name") == Some(name)).unwrap();
    let child = |name: &str, kind: &str| of(name).children().any(|node| node.has_tag_name(kind));
    assert!(
        child("bad", "failure")
            && child("known", "skipped")
            && child("none", "skipped")
            && child("unsure", "error")
    );
    let failure = of("bad").descendants().find(|node| node.has_tag_name("failure")).unwrap();
    assert!(failure.text().unwrap().contains("expected <- {\"success\":»false«}"), "{junit}");
}

#[test]
fn the_page_escapes_its_content() {
    let [_, _, html, _] = written(&hostile());
    assert_eq!(html.matches("<script").count(), 1, "the page's own");
    assert!(!html.contains("<img") && !html.contains("onerror=alert(2)>"), "text stays text");
    assert!(html.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"));
    assert!(!html.contains("http://") && !html.contains("https://"));
}

#[test]
fn the_text_does_not_move_the_cursor() {
    let [_, _, _, said] = written(&hostile());
    assert!(!said.contains('\u{1b}') && said.contains("cases that fail  bad"), "{said}");
    assert!(said.contains("known failure  known: ") && said.contains("inconclusive  unsure: "), "{said}");
}

#[test]
fn transcripts_are_written_and_can_be_read() {
    let suite = hostile();
    written(&suite);
    let path = suite.file("transcripts").join("bad.jsonl");
    let transcript = agentese_conformance::Transcript::load(&path).unwrap();
    assert_eq!(transcript.sent().count(), 1);
    assert!(!suite.file("transcripts").join("none.jsonl").exists());
}

/// A report path that cannot be written is reported before the first case.
#[test]
fn an_unwritable_report_is_an_error_before_the_run() {
    let suite = Suite::new(AGENT);
    let played = suite.file("played");
    suite.case("one", &json!({"setup": [format!("touch {}", played.display())]}));
    let file = suite.file("profiles/pi.json");
    let (nowhere, below) = ("/nonexistent/report", file.join("x"));
    for (option, path) in [
        ("--html", nowhere),
        ("--json", nowhere),
        ("--junit", nowhere),
        ("--transcripts", below.to_str().unwrap()),
    ] {
        let output = suite.run(&[option, path]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option}: {said}");
        assert!(said.starts_with("error: cannot write ") && said.contains(path), "{said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        assert!(!played.exists(), "{option}: a case was played");
    }
    let output = suite.run(&["--html", suite.file("r.html").to_str().unwrap()]);
    assert!(output.status.success() && played.exists(), "{}", text(&output.stderr));
}
