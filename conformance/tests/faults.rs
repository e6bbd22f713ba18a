//! Tests of docs/faults.md: every row of the table of faults has a test with its number, or a reason for its
//! absence. Every file that the page names exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Rows of the table of faults.
const ROWS: std::ops::RangeInclusive<u32> = 1..=132;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the numbers after `F` in a text. A range such as `F01–F07` stands for all its numbers.
fn rows(text: &str) -> BTreeSet<u32> {
    let number = |text: &str| text.trim().strip_prefix('F').and_then(|digits| digits.parse::<u32>().ok());
    let mut rows = BTreeSet::new();
    for part in text.split(',') {
        match part.split_once('–') {
            Some((first, last)) => rows.extend(number(first).unwrap()..=number(last).unwrap()),
            None => rows.extend(number(part)),
        }
    }
    rows
}

/// Returns the texts of all files with tests.
fn test_sources() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for part in [
        "server",
        "bridge/src",
        "bridge/tests",
        "cli/process/src",
        "cli/src",
        "cli/tests",
        "sdk-rust",
        "sdk-python/tests",
        "sdk-ts/test",
        "extensions/pi-host/test",
    ] {
        sources(&root().join(part), &mut files);
    }
    files.into_iter().map(|file| (file.clone(), std::fs::read_to_string(&file).unwrap_or_default())).collect()
}

/// Returns `true` if one of the test files has a test with this name, in any language.
fn is_there(name: &str, sources: &[(PathBuf, String)]) -> bool {
    let defined =
        [format!("fn {name}("), format!("def {name}("), format!("test(\"{name}"), format!("\"{name}\"")];
    sources.iter().any(|(_, text)| defined.iter().any(|defined| text.contains(defined)))
}

#[test]
fn every_row_has_a_coverage_and_names_a_test() {
    let page = std::fs::read_to_string(root().join("docs/faults.md")).unwrap();
    let (_, table) = page.split_once("## Row by row").unwrap();
    let sources = test_sources();
    let mut seen = Vec::new();
    for line in table.lines().filter(|line| line.starts_with("| F")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [row, covered, test, missing] = cells[..] else { panic!("{line}") };
        let number: u32 = row[1..].parse().unwrap_or_else(|_| panic!("{line}"));
        seen.push(number);
        match covered {
            "not yet" => assert!(test.is_empty() && !missing.is_empty(), "{line}"),
            "whole" => assert!(missing.is_empty(), "{line}"),
            "in part" => assert!(!missing.is_empty(), "{line}: the missing part is not named"),
            _ => panic!("{line}: `{covered}` is not whole, in part or not yet"),
        }
        if covered != "not yet" {
            let name = test.trim_matches('`');
            let carried = name.to_lowercase().contains(&format!("f{number:02}"));
            assert!(carried, "{line}: the name of the test does not contain the row");
            assert!(is_there(name, &sources), "{line}: the test does not exist");
        }
    }
    assert_eq!(seen, ROWS.collect::<Vec<_>>(), "each row occurs once, in order");
}

/// Returns the row numbers in the first cells of all tables below a heading.
fn first_cells(page: &str, heading: &str) -> BTreeSet<u32> {
    let (_, section) = page.split_once(heading).unwrap_or_else(|| panic!("{heading} is missing"));
    let section = section.split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| F"));
    cells.flat_map(|line| rows(&format!("F{}", line.split(" |").next().unwrap()))).collect()
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["node_modules", "target", "generated", ".venv", "dist"].contains(&name.as_str()) {
                sources(&path, found);
            }
        } else if [".rs", ".py", ".ts", ".json"].iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
}

/// Returns the row numbers in the names of tests, as in `fm_f10_f11_…`.
fn tested() -> BTreeSet<u32> {
    let mut files = Vec::new();
    for part in [
        "server",
        "bridge/src",
        "bridge/tests",
        "cli/process/src",
        "cli/src",
        "cli/tests",
        "sdk-rust",
        "sdk-python/tests",
        "sdk-ts/test",
        "conformance/vectors",
    ] {
        sources(&root().join(part), &mut files);
    }
    let mut rows = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap_or_default().to_lowercase();
        for name in text.split("fm_").skip(1) {
            let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
            let numbers = words.map_while(|word| match word {
                "fm" => Some(None),
                _ => Some(Some(word.strip_prefix('f')?.parse::<u32>().ok()?)),
            });
            rows.extend(numbers.flatten());
        }
        if file.extension().is_some_and(|ending| ending == "json") {
            rows.extend(
                text.split("\"f").skip(1).filter_map(|rest| rest.split('"').next()?.parse::<u32>().ok()),
            );
        }
    }
    rows
}

#[test]
fn every_row_has_a_test_or_a_reason() {
    let page = std::fs::read_to_string(root().join("docs/faults.md")).unwrap();
    let table = page.split_once("## Row by row").unwrap().1;
    let missing: BTreeSet<u32> = table
        .lines()
        .filter(|line| line.contains("| not yet |"))
        .flat_map(|line| rows(line.split('|').nth(1).unwrap()))
        .collect();
    let listed: BTreeSet<u32> =
        first_cells(&page, "## Clients").union(&first_cells(&page, "## Servers")).copied().collect();
    let tested = tested();
    let untested: Vec<u32> = listed.iter().copied().filter(|row| !tested.contains(row)).collect();
    assert_eq!(untested, Vec::<u32>::new(), "rows that the page lists and no test is named after");
    let forgotten: Vec<u32> = ROWS.filter(|row| !listed.contains(row) && !missing.contains(row)).collect();
    assert_eq!(forgotten, Vec::<u32>::new(), "rows that the page does not mention");
    let both: Vec<u32> = missing.intersection(&listed).copied().collect();
    assert_eq!(both, Vec::<u32>::new(), "rows with tests that are listed as missing");
}

#[test]
fn every_file_that_the_page_names_is_there() {
    let page = std::fs::read_to_string(root().join("docs/faults.md")).unwrap();
    let (clients, servers) = page.split_once("## Servers").unwrap();
    let mut checked = 0;
    for (text, base) in [(clients, ""), (servers, "server")] {
        for name in
            text.split('`').skip(1).step_by(2).filter(|name| name.contains('/') && !name.contains('…'))
        {
            for path in expand(name) {
                let bases = [
                    root().join(&path),
                    root().join(base).join(&path),
                    root().join("cli").join(&path),
                    root().join("sdk-rust/tests").join(&path),
                ];
                assert!(
                    bases.iter().any(|path| path.exists() || path.with_extension("rs").exists()),
                    "{path} is not there"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "{checked}");
}

/// Expands a path: `a/{b,c}.rs` becomes two paths.
fn expand(name: &str) -> Vec<String> {
    match (name.find('{'), name.find('}')) {
        (Some(open), Some(close)) => {
            let all = name[open + 1..close].split(',');
            all.map(|part| format!("{}{part}{}", &name[..open], &name[close + 1..])).collect()
        }
        _ => vec![name.to_owned()],
    }
}

#[test]
fn ranges_are_read() {
    assert_eq!(rows("F01–F03, F07").into_iter().collect::<Vec<_>>(), [1, 2, 3, 7]);
}
