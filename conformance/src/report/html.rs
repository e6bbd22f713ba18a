//! The report as one HTML page. It needs no network and no other file, and is readable without its script.

mod case;
mod frames;

use std::sync::LazyLock;

use agentese::types::{CaseVerdict, ReportCase, SuiteReport};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use super::Report;
use super::causes::causes;
use super::text::covered;
use crate::recording::Recording;
use crate::suggestions::counted;

const STYLE: &str = include_str!("html/assets/page.css");
const SCRIPT: &str = include_str!("html/assets/page.js");

/// Colour themes of the page: the id in the style sheet, and the displayed name.
const THEMES: [(&str, &str); 3] = [("theme-auto", "Auto"), ("theme-light", "Light"), ("theme-dark", "Dark")];

/// Content security policy: allows only the style and the script of this file, by their hashes.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
});

/// Returns the class and the displayed name of a case's outcome.
fn kind(case: &ReportCase) -> (&'static str, &'static str) {
    match case.verdict {
        CaseVerdict::Pass => ("pass", "pass"),
        CaseVerdict::Lenient => ("lenient", "lenient"),
        CaseVerdict::Fail if case.expected == Some(true) => ("known", "known to fail"),
        CaseVerdict::Fail => ("fail", "fail"),
        CaseVerdict::Inconclusive => ("unsure", "inconclusive"),
        CaseVerdict::NotApplicable => ("none", "not applicable"),
    }
}

/// Number of bytes on the page up to which whole lines are displayed, for failed cases first. Beyond it,
/// only beginnings of lines and excerpts around differences are displayed.
const WHOLE: usize = 400_000;

/// Renders the whole page as HTML.
pub fn html(report: &Report) -> String {
    let data = &report.data;
    let mut left = WHOLE;
    let cases = in_order(report).into_iter().map(|(at, (case, recording))| {
        let shown = case::case(at, case, recording.as_ref(), left > 0);
        left = left.saturating_sub(shown.0.len());
        shown
    });
    let cases: Vec<Markup> = cases.collect();
    let title = format!("{} and {}", data.agent, data.dialect);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(*POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                meta name="robots" content="noindex";
                meta name="generator" content={ "agentese-conformance " (data.suite) };
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @for (id, _) in THEMES { input type="radio" name="theme" id=(id) checked[id == "theme-auto"]; }
                @for (class, word, _) in views(data) {
                    input type="radio" name="view" id={ "view-" (class) } aria-label={ "Show: " (word) } checked[class == "all"];
                }
                div.page {
                    (heading(data))
                    main {
                        (bar(data))
                        (causes_of(data))
                        div.cases {
                            @for case in &cases { (case) }
                            p.nothing #nothing hidden { "No case matches." }
                        }
                    }
                    footer { "agentese-conformance " (data.suite) ", profile " (data.profile) "." }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Returns the cases with their indexes, failed ones first.
fn in_order(report: &Report) -> Vec<(usize, (&ReportCase, &Option<Recording>))> {
    let mut cases: Vec<_> = report.data.cases.iter().zip(&report.recordings).enumerate().collect();
    cases.sort_by_key(|(_, (case, _))| match kind(case).0 {
        "fail" => 0,
        "unsure" => 1,
        "known" => 2,
        _ => 3,
    });
    cases
}

/// Renders the causes, with links to their cases.
fn causes_of(data: &SuiteReport) -> Markup {
    let causes = causes(data);
    let place = |name: &str| data.cases.iter().position(|case| case.name == name).unwrap_or_default();
    html! {
        @if !causes.is_empty() {
            section.causes {
                h2 { (counted(causes.len(), "cause", "causes")) }
                ol {
                    @for cause in &causes {
                        li {
                            (cause.check.check) " (" (cause.check.level) ")"
                            @if let Some(path) = cause.path() { " at " code { (path) } }
                            ": " (cause.check.says.as_deref().unwrap_or_default()) " In "
                            @for (at, case) in cause.cases.iter().enumerate() {
                                @if at > 0 { ", " }
                                a href={ "#case-" (place(&case.name)) } { (case.name) }
                            }
                            "."
                        }
                    }
                }
            }
        }
    }
}

/// Returns the filters of the page: CSS class, displayed name, number of cases.
fn views(data: &SuiteReport) -> Vec<(&'static str, &'static str, usize)> {
    let words = [
        ("all", "all"),
        ("fail", "fail"),
        ("known", "known to fail"),
        ("lenient", "lenient"),
        ("pass", "pass"),
        ("unsure", "inconclusive"),
        ("none", "not applicable"),
    ];
    let count = |class| data.cases.iter().filter(|case| class == "all" || kind(case).0 == class).count();
    words.into_iter().map(|(class, word)| (class, word, count(class))).collect()
}

fn heading(data: &SuiteReport) -> Markup {
    let (class, sum) = match data.exit_code {
        0 => ("good", "as expected"),
        1 => ("bad", "not as expected"),
        _ => ("unsure", "not judged"),
    };
    html! {
        header {
            h1 { (data.agent) " and " (data.dialect) ": " span.sum.(class) { (sum) } }
            p.place {
                (counted(data.cases.len(), "case", "cases")) " in " (seconds(data.ms)) ", checks from the level " code { (data.level) }
                " on. " code { (data.command.join(" ")) }
                @if data.interrupted == Some(true) { " The run was interrupted." }
            }
            @for note in data.notes.iter().flatten() { p.note { (note) } }
            p.covers { "Shown by cases that pass: " (covered(data)) "." }
            @if !data.problems.is_empty() {
                div.problems { @for problem in &data.problems { p { (problem) } } }
            }
        }
    }
}

fn bar(data: &SuiteReport) -> Markup {
    html! {
        div.bar {
            @for (class, word, count) in views(data) {
                @if count > 0 || class == "fail" { label for={ "view-" (class) } { (word) " " b { (count) } } }
            }
            input.search #search type="search" placeholder="name or covered item" aria-label="Search" hidden;
            div.theme { @for (id, name) in THEMES { label for=(id) title={ "Colours: " (name) } { (name) } } }
        }
    }
}

fn seconds(ms: u64) -> String {
    format!("{:.1} s", ms as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with all details of a hundred failed cases would need forty megabytes.
    #[test]
    fn a_page_about_many_failures_has_less_than_two_megabytes() {
        use serde_json::json;

        let line =
            |at: usize| json!({"type": "message_update", "at": at, "text": "x".repeat(4000)}).to_string();
        let frame = |at: usize| json!({"record": at, "dir": "s2c", "line": line(at)});
        let check = |at: usize| {
            json!({"check": "events", "level": "must", "outcome": "failed", "path": "at", "says": format!("it is {at}"),
                "expected": frame(0), "found": frame(at)})
        };
        let case = |name: usize| {
            json!({"name": format!("case-{name}"), "title": "t", "level": "must", "verdict": "fail", "frames": 100,
                "agreed": 90, "covers": [], "checks": (0..10).map(check).collect::<Vec<_>>()})
        };
        let data = serde_json::from_value(json!({
            "report": 1, "suite": "0", "dialect": "pi@0.55", "profile": "p", "agent": "a", "command": ["a"],
            "level": "should", "ms": 1, "exit_code": 1, "problems": [],
            "totals": {
                "pass": 0, "lenient": 0, "fail": 100, "expected_failure": 0, "inconclusive": 0, "not_applicable": 0,
            },
            "cases": (0..100).map(case).collect::<Vec<_>>(),
        }))
        .unwrap();
        let record =
            |at: usize| serde_json::from_value(json!({"t": at, "dir": "s2c", "line": line(at)})).unwrap();
        let recording = Recording {
            header: agentese::types::TranscriptHeader::new(1, "a"),
            records: (0..100).map(record).collect(),
        };
        let page = html(&Report { data, recordings: vec![Some(recording); 100] });
        assert!(page.len() < 2_000_000, "{} bytes", page.len());
        assert!(page.contains("case-99") && page.contains("<mark>3</mark>"));
    }

    /// Each of these texts would end the element that contains it.
    #[test]
    fn style_and_script_stay_in_their_elements() {
        assert!(!STYLE.contains('<') && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
        assert!(
            !STYLE.contains('\r') && !SCRIPT.contains('\r'),
            "browsers hash after they changed line ends"
        );
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }
}
