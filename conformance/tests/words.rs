//! Counts the words in comments and names that docs/glossary.md advises against, for each package.
//!
//! `words/counts.txt` holds the permitted counts. The test fails if a count has risen. It also fails if a
//! count has fallen, until `AGENTESE_WORDS=write cargo test --workspace --test words` stores the lower count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use regex::Regex;

/// Crates and packages, in the order of the table. A file belongs to the package with the longest folder
/// path that contains it.
const PACKAGES: &[&str] = &[
    "bridge",
    "cli",
    "cli/process",
    "cli/web",
    "codegen",
    "codegen/typify-check",
    "conformance",
    "conformance/defects",
    "conformance/interop",
    "conformance/script",
    "docs/site",
    "extensions",
    "extensions/pi-host",
    "protocol",
    "sdk-python",
    "sdk-rust",
    "sdk-ts",
    "server",
    "server/base",
    "server/dialects",
    "server/engine",
    "server/extensions",
    "server/models",
    "server/providers",
    "server/sessions",
    "server/subagents",
    "server/tools",
    "tools",
];

/// Folders without hand-written source files.
const SKIPPED: &[&str] = &[
    ".venv",
    "__pycache__",
    "assets",
    "build",
    "dist",
    "generated",
    "node_modules",
    "target",
    "transcripts",
    "vendor",
];

/// Rules on lines of comments: a name, and the pattern of a line that breaks the rule.
const RULES: &[(&str, &str)] = &[
    ("opener", r"^(What|Who|Whoever|Those|Where|How|Whether|That)\b"),
    ("people", r"(?i)\b(nobody|somebody|whoever|whatever)\b"),
    ("tell-say-hear", r"(?i)\b(tell|tells|told|say|says|said|hear|hears|heard)\b"),
    ("word-for-input", r"(?i)\bwords? (of|from) (a|an|the) (user|person|client|agent|model)\b"),
    ("where-for-if", r"(?i)\bwhere (it|they|that|this|there|nothing|none|no|nobody|one)\b"),
    ("none-for-None", r"\bnone\b"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn counts_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/words/counts.txt")
}

/// Adds the source files of a package, except for generated files and the files of packages within it.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let is_package = PACKAGES.iter().any(|package| path == root().join(package));
            if !is_package && !SKIPPED.contains(&name.as_str()) {
                sources(&path, files);
            }
        } else if language(&path).is_some()
            && !["agentese-pi-host.mjs", "generated.rs"].contains(&name.as_str())
        {
            files.push(path);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    /// Rust, TypeScript and JavaScript, with the comments `//` and `/* … */`.
    Slashes,
    /// Python, with the comments `#` and strings in three quotes.
    Python,
}

/// Returns the language of a file by its extension; `None` if the file is no source file.
fn language(path: &Path) -> Option<Language> {
    match path.extension()?.to_str()? {
        "rs" | "ts" | "tsx" | "mjs" => Some(Language::Slashes),
        "py" | "pyi" => Some(Language::Python),
        _ => None,
    }
}

/// Returns the lines of a text's comments, without comment markers. Code in backticks is replaced.
fn comments(text: &str, language: Language) -> Vec<String> {
    let code = Regex::new("`[^`]*`").unwrap();
    let mut within = false;
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        let comment = match language {
            Language::Slashes => slashes(line, &mut within),
            Language::Python => python(line, &mut within),
        };
        if let Some(comment) = comment {
            found.push(code.replace_all(comment.trim(), "`…`").into_owned());
        }
    }
    found
}

fn slashes<'a>(line: &'a str, within: &mut bool) -> Option<&'a str> {
    if *within {
        *within = !line.contains("*/");
        return Some(line.trim_end_matches("*/").trim_start_matches('*'));
    }
    if let Some(rest) = line.strip_prefix("/*") {
        *within = !rest.contains("*/");
        return Some(rest.trim_end_matches("*/").trim_start_matches(['*', '!']));
    }
    line.strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']))
}

fn python<'a>(line: &'a str, within: &mut bool) -> Option<&'a str> {
    const QUOTES: &str = "\"\"\"";
    if *within {
        *within = !line.contains(QUOTES);
        return Some(line.trim_end_matches(QUOTES));
    }
    let opening = line.strip_prefix(QUOTES).or_else(|| line.strip_prefix("r\"\"\""));
    if let Some(rest) = opening {
        *within = !rest.contains(QUOTES);
        return Some(rest.trim_end_matches(QUOTES));
    }
    line.strip_prefix('#')
}

/// Returns the identifiers that docs/glossary.md bans. They are the code spans in the first column of the
/// table below the heading "Identifiers".
fn banned() -> BTreeSet<String> {
    let glossary = std::fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let (_, table) =
        glossary.split_once("Identifiers\n").expect("docs/glossary.md has a heading `Identifiers`");
    let table = table.split("\n#").next().unwrap();
    let name = Regex::new("`([A-Za-z][A-Za-z0-9_]*)`").unwrap();
    let mut names = BTreeSet::new();
    for row in table.lines().filter(|line| line.starts_with('|')) {
        let cell = row.split('|').nth(1).unwrap_or_default();
        names.extend(name.captures_iter(cell).map(|found| found[1].to_owned()));
    }
    assert!(names.len() > 50, "docs/glossary.md lists {} identifiers", names.len());
    names
}

/// Counts the matches of each rule in each package. Numbers of 0 are omitted.
fn measure() -> BTreeMap<(String, String), usize> {
    let rules: Vec<(&str, Regex)> =
        RULES.iter().map(|(name, pattern)| (*name, Regex::new(pattern).unwrap())).collect();
    let banned = banned();
    let definition = Regex::new(
        r"(?m)^\s*(?:export )?(?:default )?(?:abstract )?(?:pub(?:\([a-z:_ ]+\))? )?(?:struct|enum|trait|type|class|interface) (\w+)",
    )
    .unwrap();
    let mut counts = BTreeMap::new();
    let mut add = |package: &str, rule: &str, count: usize| {
        if count > 0 {
            *counts.entry((package.to_owned(), rule.to_owned())).or_default() += count;
        }
    };
    for package in PACKAGES {
        let mut files = Vec::new();
        sources(&root().join(package), &mut files);
        assert!(!files.is_empty(), "{package} has no sources");
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let comments = comments(&text, language(&file).unwrap());
            for (name, rule) in &rules {
                add(package, name, comments.iter().filter(|line| rule.is_match(line)).count());
            }
            let names = definition.captures_iter(&text).filter(|found| banned.contains(&found[1]));
            add(package, "identifier", names.count());
        }
    }
    counts
}

fn write(counts: &BTreeMap<(String, String), usize>) -> String {
    counts.iter().map(|((package, rule), count)| format!("{package} {rule} {count}\n")).collect()
}

fn read(text: &str) -> BTreeMap<(String, String), usize> {
    let row = |line: &str| {
        let [package, rule, count] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("a line of counts.txt has a package, a rule and a count: {line}");
        };
        ((package.to_owned(), rule.to_owned()), count.parse().unwrap())
    };
    text.lines().map(row).collect()
}

#[test]
fn counts_of_banned_words_only_fall() {
    let counts = measure();
    let file = std::fs::read_to_string(counts_file());
    let mut changed = file.is_err();
    let held = file.map_or_else(|_| counts.clone(), |text| read(&text));
    for (key, count) in &counts {
        let bound = held.get(key).copied().unwrap_or_default();
        assert!(
            *count <= bound,
            "{} has {count} lines of `{}`, at most {bound}: see docs/glossary.md",
            key.0,
            key.1
        );
        changed |= *count < bound;
    }
    changed |= held.keys().any(|key| !counts.contains_key(key));
    if !changed {
        return;
    }
    assert!(
        std::env::var("AGENTESE_WORDS").is_ok_and(|value| value == "write"),
        "fewer than in conformance/tests/words/counts.txt: run this test with AGENTESE_WORDS=write"
    );
    std::fs::write(counts_file(), write(&counts)).unwrap();
}

#[test]
fn every_source_file_belongs_to_a_counted_package() {
    let listed = std::process::Command::new("git").arg("ls-files").current_dir(root()).output().unwrap();
    assert!(listed.status.success(), "git lists no files: {}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).unwrap();
    fn package(path: &Path) -> Option<&str> {
        path.ancestors().skip(1).filter_map(Path::to_str).find(|folder| PACKAGES.contains(folder))
    }
    for path in listed.lines().map(Path::new) {
        let found = package(path);
        if path.ends_with("Cargo.toml")
            && path != Path::new("Cargo.toml")
            && found != Some("conformance/interop")
        {
            assert_eq!(found, path.parent().and_then(Path::to_str), "the crate is not counted");
        }
        assert!(language(path).is_none() || found.is_some(), "{} is not counted", path.display());
    }
}

#[test]
fn comments_are_found_in_three_languages_and_code_in_them_is_not_read() {
    let rust = "//! What it is.\nlet a = 1; // no line of its own\n    /// Returns `None where` it fails.\n";
    assert_eq!(comments(rust, Language::Slashes), ["What it is.", "Returns `…` it fails."]);
    let typescript = "/** One line. */\n/**\n * Two\n * lines.\n */\nconst x = 1;\n";
    let found = comments(typescript, Language::Slashes);
    assert_eq!(
        found.iter().filter(|line| !line.is_empty()).collect::<Vec<_>>(),
        ["One line.", "Two", "lines."]
    );
    let python = "# A comment\ndef f():\n    \"\"\"Doc.\n\n    More.\n    \"\"\"\n    return 1\n";
    let found = comments(python, Language::Python);
    assert_eq!(
        found.iter().filter(|line| !line.is_empty()).collect::<Vec<_>>(),
        ["A comment", "Doc.", "More."]
    );
}

#[test]
fn each_rule_matches_only_lines_that_break_it() {
    let broken = [
        ("opener", "What became of the run.", "Returns what became of it."),
        ("people", "Nobody waits.", "No caller waits."),
        ("tell-say-hear", "Tells the client.", "Sends an event."),
        ("word-for-input", "The words of a user.", "The input of a user."),
        ("where-for-if", "Fails where it is missing.", "The folder where sessions live."),
        ("none-for-None", "The last one; none before the first.", "Returns None before the first."),
    ];
    assert_eq!(broken.len(), RULES.len());
    for ((name, pattern), (rule, bad, good)) in RULES.iter().zip(broken) {
        let pattern = Regex::new(pattern).unwrap();
        assert_eq!(*name, rule);
        assert!(pattern.is_match(bad) && !pattern.is_match(good), "{name}");
    }
}
