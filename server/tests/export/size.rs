//! Tests of long sessions.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Write};
use std::{fs, str};

use agentese_server::export::{Entries, ExportInput, html, write_html};
use serde_json::{Value, json};

use crate::support::{folder, page, sample};

/// Returns a session that repeats the sample until it has `entries` entries. Their ids are unique.
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
    let page = page(&sample().header, &entries);
    assert!(page.len() < 24 << 20, "{}", page.len());
    for entry in [&entries[0], &entries[9_999]] {
        assert!(page.contains(&format!("id=\"entry-{}\"", entry["id"].as_str().unwrap())));
    }
    fs::write(folder().join("long.html"), page).unwrap();
}

/// Entries that are created when they are requested. Counts the requests for each entry.
struct GeneratedEntries<'a> {
    entries: &'a [Value],
    requested: RefCell<Vec<usize>>,
}

impl Entries for GeneratedEntries<'_> {
    fn count(&self) -> usize {
        self.entries.len()
    }

    fn entry(&self, at: usize) -> Cow<'_, Value> {
        self.requested.borrow_mut()[at] += 1;
        Cow::Owned(self.entries[at].clone())
    }
}

/// The written page, with the length of the longest write.
#[derive(Default)]
struct PageWriter {
    page: String,
    longest: usize,
}

impl Write for PageWriter {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.page.push_str(str::from_utf8(piece).map_err(io::Error::other)?);
        self.longest = self.longest.max(piece.len());
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_page_is_written_entry_by_entry() {
    let entries = long_session(2_000);
    let header = sample().header;
    let made = GeneratedEntries { entries: &entries, requested: vec![0; entries.len()].into() };
    let mut written = PageWriter::default();
    write_html(&ExportInput::new(&header, &made), &mut written).unwrap();
    assert!(written.page == html(&ExportInput::new(&header, &entries)), "the same page");
    // Style and heading are one piece.
    assert!(written.longest < 64 << 10, "{}", written.longest);
    let requested = made.requested.into_inner();
    assert!(requested.iter().all(|times| (1..=3).contains(times)), "the title's entry thrice, others twice");
    assert!(requested.iter().filter(|times| **times > 2).count() <= 1);
}
