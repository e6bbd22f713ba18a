//! Tests of the published schemas of the file formats, with an independent validator.

use std::path::{Path, PathBuf};

use agentese_conformance::Suite;
use jsonschema::Validator;
use serde_json::{Value, json};

fn validator(format: &str) -> Validator {
    let schema: Value = serde_json::from_str(agentese::schema::format(format).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    let mut left = vec![root];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found
}

fn value(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn cases_and_profiles_are_of_their_schemas() {
    let is_of_defaults = |path: &PathBuf| path.parent().is_some_and(|folder| folder.ends_with("cases"));
    let (defaults, cases): (Vec<_>, Vec<_>) = files("cases", "json").into_iter().partition(is_of_defaults);
    for (folder, files, format, least) in [
        ("cases", cases, "scenario", 350),
        ("cases", defaults, "case-defaults", 1),
        ("profiles", files("profiles", "json"), "profile", 8),
    ] {
        let validator = validator(format);
        assert!(files.len() >= least, "{folder}: {}", files.len());
        for path in files {
            if let Some(error) = validator.iter_errors(&value(&path)).next() {
                panic!("{}: {error} at {}", path.display(), error.instance_path());
            }
        }
    }
}

/// The files in the binary must equal the files in the folders.
#[test]
fn the_program_has_all_files() {
    let suite = Suite::embedded();
    let folder = Suite::at(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(suite.dialects(), folder.dialects());
    assert_eq!(suite.protocols(), folder.protocols());
    assert_eq!(suite.profiles(), folder.profiles());
    for dialect in suite.dialects().into_iter().chain(suite.protocols()) {
        assert_eq!(suite.cases(&dialect).unwrap(), folder.cases(&dialect).unwrap(), "{dialect}");
        for case in suite.cases(&dialect).unwrap() {
            let lines =
                |suite: &Suite| suite.golden(&dialect, &case.name).unwrap().map(|it| it.records.len());
            assert_eq!(lines(&suite), lines(&folder), "{dialect}/{}", case.name);
        }
    }
}

#[test]
fn invalid_files_are_rejected() {
    let case = |member: &str, value: Value| {
        let mut case = json!({"scenario": 1, "name": "n", "dialect": "pi@0.55", "title": "t", "steps": []});
        case[member] = value;
        case
    };
    let failures = |value: Value| json!({"expected_failures": 1, "failures": [value]});
    let table = [
        ("scenario", case("steps", json!([])), true),
        ("scenario", case("steps", json!([{"sent": {}}])), false),
        ("scenario", case("steps", json!([{"wait": {}, "timeout_ms": -1}])), false),
        ("scenario", case("steps", json!([{"close_stdin": false}])), false),
        ("scenario", case("level", json!("perhaps")), false),
        ("scenario", case("files", json!({"work/a": 1})), false),
        ("scenario", case("model", json!({"responses": [{"blocks": [{"text": 1}]}]})), false),
        ("scenario", case("requests", json!([{"request": 0, "expect": {}}])), false),
        ("scenario", case("expect", json!([{"check": "c", "says": "s", "of": {}, "frames": []}])), true),
        ("scenario", case("expect", json!([{"check": "c", "says": "s", "exit": 0}])), true),
        ("scenario", case("expect", json!([{"check": "c", "says": "s", "of": {}, "path": "a"}])), false),
        ("scenario", case("expect", json!([{"says": "s", "of": {}, "frames": []}])), false),
        ("scenario", case("steps", json!([{"hold_reading": true}, {"resume_reading": true}])), true),
        ("scenario", case("steps", json!([{"hold_reading": false}])), false),
        ("profile", json!({"profile": 1, "name": "n", "dialect": "d", "agent": "a"}), true),
        ("profile", json!({"profile": 1, "name": "n", "dialect": "d"}), false),
        ("expected-failures", failures(json!({"case": "c", "check": "k", "reason": "r"})), true),
        ("expected-failures", failures(json!({"case": "c", "check": "k"})), false),
        ("model-script", json!({"responses": [{"when": {"user": "x"}, "text": "y"}]}), true),
        ("model-script", json!({"default": {}}), false),
    ];
    for (format, value, wanted) in table {
        assert_eq!(validator(format).is_valid(&value), wanted, "{format}: {value}");
    }
}
