//! Parsing of the bytes of a file into entries.

use std::collections::HashSet;
use std::ops::Range;

use agentese::framing::FrameText;

use super::entry::Entry;
use super::header::{Header, VERSION};
use super::line_text::LineText;
use super::members::Members;
use super::migrate::migrate;

/// Defects of a file that do not prevent it from being opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Number of lines that are not entries. They stay in the file and are ignored.
    pub damaged_lines: usize,
    /// `true` if the last line is incomplete. The next write removes it.
    pub torn_tail: bool,
    /// Number of entries with the id of an earlier entry.
    pub duplicate_ids: usize,
}

/// The state of the last line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// The last line ends with a newline, or the file is empty.
    Whole,
    /// The last line is complete but lacks its newline.
    Unterminated,
    /// The last line is incomplete; it begins at this offset.
    Torn(u64),
}

/// The content of a file.
#[derive(Debug)]
pub(super) struct LoadedFile {
    pub header: Header,
    pub entries: Vec<Entry>,
    pub tail: Tail,
    pub repairs: Repairs,
    /// Version of the file before its migration; `None` if the file has the current version or a later one.
    pub migrated_from: Option<u64>,
}

/// Parses the content of a file. `new_id` generates an identifier, which can be a duplicate. Returns `None` if the file
/// is empty. Fails with a reason that completes the message "is not a session: ...".
pub(super) fn load(
    mut bytes: Vec<u8>,
    mut new_id: impl FnMut() -> String,
) -> Result<Option<LoadedFile>, &'static str> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let tail = tail(&bytes);
    let mut repairs = Repairs { torn_tail: matches!(tail, Tail::Torn(_)), ..Repairs::default() };
    if let Tail::Torn(at) = tail {
        // The offset was computed from a length in memory.
        bytes.truncate(usize::try_from(at).unwrap_or(bytes.len()));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => valid_utf8_lines(error.as_bytes(), &mut repairs),
    };
    let mut lines = lines(&text);
    let header = Header::read(lines.next().map_or("", |range| &text[range]))?;
    let migrated_from = (header.version() < VERSION).then_some(header.version());
    let (header, text, ranges): (_, _, Vec<Range<usize>>) = if migrated_from.is_some() {
        let old: Vec<&str> = lines.map(|range| &text[range]).collect();
        let mut taken = HashSet::new();
        let (header, migrated) =
            migrate(&header, old.iter().copied(), || unique(&mut new_id, |id| !taken.insert(id.to_owned())));
        repairs.damaged_lines += old.len() - migrated.len();
        let text = migrated.join("\n");
        let ranges = self::lines(&text).collect();
        (header, text, ranges)
    } else {
        let ranges = lines.collect();
        (header, text, ranges)
    };
    let text = FrameText::from(text);
    let mut entries = Vec::with_capacity(ranges.len());
    for (line, range) in ranges.into_iter().enumerate() {
        let part = &text.as_str()[range];
        let make_text = || text.slice_of(part).unwrap_or_else(|| part.into()).into();
        match read_entry(part, make_text, line + 1, &entries) {
            Some(entry) => entries.push(entry),
            None => repairs.damaged_lines += 1,
        }
    }
    Ok(Some(LoadedFile { header, entries, tail, repairs, migrated_from }))
}

/// Parses the line of an entry. `before` contains the entries before it. `make_text` returns the text to store. Returns
/// `None` if the line is damaged.
pub(super) fn read_entry(
    line: &str,
    make_text: impl FnOnce() -> LineText,
    number: usize,
    before: &[Entry],
) -> Option<Entry> {
    let entry = Entry::read(line, make_text, number, before.last().map(Entry::id))?;
    // A second header is a trace of two files in one; it is not an entry.
    (!matches!(entry.body(), super::Body::Other(kind) if kind == "session")).then_some(entry)
}

/// Returns an identifier that is not in use. It is longer than eight hex digits only after many collisions.
pub(super) fn unique(new_id: &mut impl FnMut() -> String, mut is_taken: impl FnMut(&str) -> bool) -> String {
    for _ in 0..100 {
        let id = new_id();
        if !is_taken(&id) {
            return id;
        }
    }
    // The prefix makes it unique.
    let mut id = new_id();
    while is_taken(&id) {
        id.push_str(&new_id());
    }
    id
}

/// Returns the state of the last line. The offset of an incomplete line counts from the beginning of `bytes`.
pub(super) fn tail(bytes: &[u8]) -> Tail {
    let begin = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    let last = &bytes[begin..];
    if last.is_empty() {
        Tail::Whole
    } else if std::str::from_utf8(last).is_ok_and(|last| Members::read(last).is_ok()) {
        Tail::Unterminated
    } else {
        Tail::Torn(begin as u64)
    }
}

/// Returns the lines that are valid UTF-8. Counts the others in `repairs`.
fn valid_utf8_lines(bytes: &[u8], repairs: &mut Repairs) -> String {
    let mut text = String::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match std::str::from_utf8(line) {
            Ok(line) => text.push_str(line),
            Err(_) => repairs.damaged_lines += 1,
        }
    }
    text
}

/// Returns the ranges of all lines that are not blank. A range excludes white space and zeros around the line. Zeros
/// can be left by a power failure.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let blank = |character: char| character.is_ascii_whitespace() || character == '\0';
    let mut begin = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let at = begin;
        begin += line.len();
        let trimmed = line.trim_start_matches(blank);
        let from = at + line.len() - trimmed.len();
        let trimmed = trimmed.trim_end_matches(blank);
        (!trimmed.is_empty()).then_some(from..from + trimmed.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s"}"#;
    const ENTRY: &str = r#"{"type":"x","id":"a","parentId":null}"#;

    fn read(bytes: impl Into<Vec<u8>>) -> Result<Option<LoadedFile>, &'static str> {
        load(bytes.into(), || "new".to_owned())
    }

    fn repairs(bytes: impl Into<Vec<u8>>) -> (usize, Repairs, Tail) {
        let loaded = read(bytes).unwrap().unwrap();
        (loaded.entries.len(), loaded.repairs, loaded.tail)
    }

    #[test]
    fn fm_f98_damaged_lines_are_counted_and_the_rest_is_kept() {
        let damaged = |damaged_lines| Repairs { damaged_lines, ..Repairs::default() };
        let whole = format!("{HEADER}\n{ENTRY}\n");
        assert_eq!(repairs(whole.clone()), (1, damaged(0), Tail::Whole));
        for line in
            ["nonsense", "42", "[]", "{}", r#"{"type":"x"}"#, r#"{"id":"b"}"#, "{\"type\":\"x\",", HEADER]
        {
            assert_eq!(
                repairs(format!("{HEADER}\n{line}\n{ENTRY}\n")),
                (1, damaged(1), Tail::Whole),
                "{line}"
            );
        }
        let mut bytes = format!("{HEADER}\n").into_bytes();
        bytes.extend(b"\xff\xfe\x00{\"type\":\n");
        bytes.extend(format!("\n \r\n\0\0\0{ENTRY}\r\n").into_bytes());
        assert_eq!(repairs(bytes), (1, damaged(1), Tail::Whole));
    }

    #[test]
    fn fm_f97_a_torn_tail_differs_from_a_line_without_its_end() {
        let torn = Repairs { torn_tail: true, ..Repairs::default() };
        let begin = format!("{HEADER}\n").len() as u64;
        for cut in 1..ENTRY.len() {
            let text = format!("{HEADER}\n{}", &ENTRY[..cut]);
            assert_eq!(repairs(text), (0, torn, Tail::Torn(begin)), "{cut}");
        }
        assert_eq!(repairs(format!("{HEADER}\n{ENTRY}")), (1, Repairs::default(), Tail::Unterminated));
        let mut bytes = format!("{HEADER}\n").into_bytes();
        bytes.extend("\u{20ac}".as_bytes().iter().take(2));
        assert_eq!(repairs(bytes), (0, torn, Tail::Torn(begin)));
        assert_eq!(repairs(format!("{HEADER}\n\0\0\0\0")), (0, torn, Tail::Torn(begin)));
    }

    #[test]
    fn fm_f98_damaged_and_torn_lines_are_distinguished() {
        let mut bytes = format!("{HEADER}\n").into_bytes();
        bytes.extend(b"\xff\xff\xff\xff\n{\"type\"");
        let both = Repairs { damaged_lines: 1, torn_tail: true, duplicate_ids: 0 };
        let begin = HEADER.len() as u64 + 6;
        assert_eq!(repairs(bytes), (0, both, Tail::Torn(begin)));
    }

    #[test]
    fn fm_f99_a_file_without_a_header_is_rejected() {
        for text in ["x", ENTRY, "{\"type\":\"session\"}\n", &HEADER[..20], "\u{0}"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read([0xff, 0xfe, b'\n']).is_err());
        assert!(read("").unwrap().is_none());
        assert!(read(" \n\n").unwrap().is_none());
    }

    #[test]
    fn identifiers_are_unique_despite_collisions() {
        let mut taken = HashSet::from(["same".to_owned()]);
        assert_eq!(unique(&mut || "same".to_owned(), |id| !taken.insert(id.to_owned())), "samesame");
    }
}
