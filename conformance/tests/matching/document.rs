//! Tests of docs/conformance-matching.md, which must list every check and every allowance with its
//! reason, and nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use agentese_conformance::matching::checks;
use agentese_conformance::matching::tables::AllowanceScope;

use crate::support::{DIALECTS, rules};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/conformance-matching.md");
    std::fs::read_to_string(path).unwrap()
}

/// Returns the rows of the table after a heading.
fn table<'p>(page: &'p str, heading: &str) -> Vec<&'p str> {
    let (_, section) =
        page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    let section = section.split("\n## ").next().unwrap();
    section.lines().filter(|line| line.starts_with("| `")).collect()
}

#[test]
fn every_check_is_on_the_page() {
    let page = page();
    let named: Vec<&str> = table(&page, "Checks")
        .iter()
        .map(|line| line.trim_start_matches("| `").split('`').next().unwrap())
        .collect();
    assert_eq!(named, checks::ALL);
}

#[test]
fn every_allowance_is_on_the_page() {
    let mut rows: BTreeSet<String> = BTreeSet::new();
    for dialect in DIALECTS {
        for row in rules(dialect).allowances() {
            let same = |dialect: &&str| {
                rules(dialect).allowances().any(|other| {
                    (other.name, other.statement, other.reason) == (row.name, row.statement, row.reason)
                })
            };
            let dialects: Vec<&str> = DIALECTS.into_iter().filter(same).collect();
            let holds = match row.scope {
                AllowanceScope::Everywhere => "everywhere",
                AllowanceScope::InCases => "in cases",
            };
            rows.insert(format!(
                "| `{}` | {} | {holds} | {} | {} |",
                row.name,
                dialects.join(", "),
                row.statement,
                row.reason
            ));
        }
    }
    let page = page();
    let named: BTreeSet<String> = table(&page, "Allowances").into_iter().map(str::to_owned).collect();
    let expected: Vec<&String> = rows.difference(&named).collect();
    let stale: Vec<&String> = named.difference(&rows).collect();
    let lines = |rows: &[&String]| rows.iter().map(|row| row.as_str()).collect::<Vec<_>>().join("\n");
    assert!(
        expected.is_empty() && stale.is_empty(),
        "to add:\n{}\nto remove:\n{}",
        lines(&expected),
        lines(&stale)
    );
}

/// Only the declaration contains names of a dialect. The matcher uses only members of envelopes.
#[test]
fn the_matcher_knows_no_wire_name() {
    let mut left = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/matching")];
    let mut checked = 0;
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        if path.file_name().is_some_and(|name| name == "tests.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for index in agentese_protocol::Index::all() {
            let names =
                index.commands.iter().map(|row| row.wire).chain(index.events.iter().map(|row| row.name));
            let names =
                names.chain(index.dialogs.iter().map(|row| row.wire)).chain(index.types.keys().copied());
            // `error` is a member of envelopes, and also the name of an event of one dialect.
            for name in names.filter(|name| *name != "error") {
                assert!(!code.contains(&format!("\"{name}\"")), "{} names `{name}`", path.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 1000);
}
