//! Loading of files that are too large for memory. They are read in parts, and the texts of their lines stay in the
//! file.

use std::io;
use std::sync::Arc;

use super::entry::Entry;
use super::header::{Header, VERSION};
use super::line_text::{LazyFile, LineText};
use super::load::{LoadedFile, Repairs, Tail, lines, load, read_entry, tail};
use super::storage::StoredFile;

/// Size of one read in bytes.
const PART: usize = 1 << 20;

/// Loads a file as [`load`] does, but the texts of the lines stay in the file. A file of an older version is loaded
/// into memory, because each of its lines changes. Fails if the file cannot be read.
pub(super) fn load_large(
    lazy_file: Arc<LazyFile>,
    new_id: impl FnMut() -> String,
) -> io::Result<Result<Option<LoadedFile>, &'static str>> {
    let file = lazy_file.file()?;
    let length = file.length()?;
    let mut loader = LargeFileLoader {
        lazy_file,
        header: None,
        entries: Vec::new(),
        repairs: Repairs::default(),
        lines: 0,
        is_reserved: false,
    };
    let mut part = Vec::new();
    // Offset of `part` in the file.
    let mut begin = 0;
    loop {
        let has_more = fill(&*file, &mut part, begin)?;
        let whole = match memchr::memrchr(b'\n', &part) {
            Some(last) => last + 1,
            None if has_more => continue,
            None => 0,
        };
        if let Err(reason) = loader.take(&part[..whole], begin) {
            return Ok(Err(reason));
        }
        if loader.header.as_ref().is_some_and(|header| header.version() < VERSION) {
            return file.read().map(|bytes| load(bytes, new_id));
        }
        loader.reserve(length, begin + whole as u64);
        if !has_more {
            return Ok(loader.end(&part, whole, begin));
        }
        part.drain(..whole);
        begin += whole as u64;
    }
}

/// Reads the next part of the file and appends it to `part`, which begins at the offset `begin`. Returns false at the
/// end of the file.
fn fill(file: &dyn StoredFile, part: &mut Vec<u8>, begin: u64) -> io::Result<bool> {
    let before = part.len();
    part.resize(before + PART, 0);
    let mut at = before;
    while at < part.len() {
        match file.read_at(&mut part[at..], begin + at as u64) {
            Ok(0) => break,
            Ok(count) => at += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let has_more = at == part.len();
    part.truncate(at);
    Ok(has_more)
}

struct LargeFileLoader {
    lazy_file: Arc<LazyFile>,
    header: Option<Header>,
    entries: Vec<Entry>,
    repairs: Repairs,
    /// Number of lines that were read, without blank lines and the header.
    lines: usize,
    is_reserved: bool,
}

impl LargeFileLoader {
    /// Parses whole lines, of which the first begins at the offset `begin` of the file.
    fn take(&mut self, bytes: &[u8], begin: u64) -> Result<(), &'static str> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            let mut at = begin;
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                match std::str::from_utf8(line) {
                    Ok(line) => self.text(line, at)?,
                    Err(_) => self.repairs.damaged_lines += 1,
                }
                at += line.len() as u64;
            }
            return Ok(());
        };
        self.text(text, begin)
    }

    fn text(&mut self, text: &str, begin: u64) -> Result<(), &'static str> {
        for range in lines(text) {
            let (line, at) = (&text[range.clone()], begin + range.start as u64);
            if self.header.is_none() {
                self.header = Some(Header::read(line)?);
                continue;
            }
            self.lines += 1;
            match read_entry(line, || LineText::in_file(&self.lazy_file, at, line), self.lines, &self.entries)
            {
                Some(entry) => self.entries.push(entry),
                None => self.repairs.damaged_lines += 1,
            }
        }
        Ok(())
    }

    /// Reserves memory for the remaining entries. Their number is estimated from the first part. Without a reservation,
    /// the list would need 50 % more memory while it grows.
    fn reserve(&mut self, length: u64, read: u64) {
        if !std::mem::replace(&mut self.is_reserved, true) {
            let bytes = (read / (self.entries.len() as u64).max(1)).max(1);
            let rest = length.saturating_sub(read) / bytes;
            self.entries.reserve_exact(usize::try_from(rest + rest / 16).unwrap_or(0));
        }
    }

    /// Returns the loaded file. `part` is the last part, which begins at the offset `begin`. Its first `whole` bytes
    /// are lines that were already parsed.
    fn end(mut self, part: &[u8], whole: usize, begin: u64) -> Result<Option<LoadedFile>, &'static str> {
        let rest = &part[whole..];
        if self.header.is_none() && rest.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let tail = match tail(rest) {
            Tail::Torn(at) => Tail::Torn(begin + whole as u64 + at),
            other => other,
        };
        self.repairs.torn_tail = matches!(tail, Tail::Torn(_));
        if tail == Tail::Unterminated {
            self.take(rest, begin + whole as u64)?;
        }
        let header = match self.header {
            Some(header) => header,
            None => Header::read("")?,
        };
        let (entries, repairs) = (self.entries, self.repairs);
        Ok(Some(LoadedFile { header, entries, tail, repairs, migrated_from: None }))
    }
}

#[cfg(test)]
mod tests;
