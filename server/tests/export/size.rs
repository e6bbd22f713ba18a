//! Long sessions.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{folder, page, sample};

/// The sample again and again, one after the other, with ids of their own.
pub fn long_session(entries: usize) -> Vec<Value> {
    let sample = sample().entries;
    let mut last: Value = Value::Null;
    let mut all = Vec::with_capacity(entries);
    for round in 0.. {
        for entry in &sample {
            let mut entry = entry.clone();
            let renamed = |id: &Value| id.as_str().map_or(Value::Null, |id| json!(format!("{id}-{round}")));
            entry["parentId"] =
                if entry["parentId"].is_null() { last.clone() } else { renamed(&entry["parentId"]) };
            entry["id"] = renamed(&entry["id"]);
            all.push(entry);
            if all.len() == entries {
                return all;
            }
        }
        last = all.last().unwrap()["id"].clone();
    }
    all
}

#[test]
fn ten_thousand_entries_are_one_page() {
    let entries = long_session(10_000);
    let begun = Instant::now();
    let page = page(&sample().header, &entries);
    // No limit of time: machines differ. The figure is for people.
    eprintln!("10,000 entries: {:?}, {} bytes", begun.elapsed(), page.len());
    assert!(page.len() < 24 << 20, "{}", page.len());
    for entry in [&entries[0], &entries[9_999]] {
        assert!(page.contains(&format!("id=\"entry-{}\"", entry["id"].as_str().unwrap())));
    }
    fs::write(folder().join("long.html"), page).unwrap();
}
