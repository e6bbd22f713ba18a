//! Line-by-line search in files: patterns, and collection of matching lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use tokio_util::sync::CancellationToken;

use super::listing::Listing;
use super::truncate::format_size;

/// Maximum length of a line in a result, in characters.
pub(crate) const LONGEST_LINE: usize = 500;
/// Maximum length of a pattern, in bytes; longer patterns are rejected.
const LONGEST_PATTERN: usize = 64 * 1024;
/// Maximum size of a compiled pattern in bytes. It bounds the time that matching needs for each byte of text.
const LARGEST_PROGRAM: usize = 10 * 1024 * 1024;
/// Maximum nesting depth of a pattern. Deeper nesting could overflow the stack.
const DEEPEST_PATTERN: u32 = 250;
/// Maximum size of the search buffer in bytes. It must hold a line and the context before it. A file with a longer line
/// does not count as text.
const LARGEST_BUFFER: usize = 32 * 1024 * 1024;

/// A compiled pattern for lines.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(RegexMatcher);

impl Pattern {
    /// Compiles a regular expression, or a literal text. Fails with a text for the model if the expression is invalid
    /// or too large.
    pub(crate) fn new(text: &str, literal: bool, ignore_case: bool) -> Result<Self, String> {
        if text.len() > LONGEST_PATTERN {
            let (size, limit) = (format_size(text.len() as u64), format_size(LONGEST_PATTERN as u64));
            return Err(format!("The pattern has {size}, more than the {limit} that grep takes."));
        }
        RegexMatcherBuilder::new()
            .fixed_strings(literal)
            .case_insensitive(ignore_case)
            .multi_line(true)
            .crlf(true)
            .size_limit(LARGEST_PROGRAM)
            .dfa_size_limit(LARGEST_PROGRAM)
            .nest_limit(DEEPEST_PATTERN)
            .build(text)
            .map(Self)
            .map_err(|error| format!("The pattern cannot be used: {error}"))
    }
}

/// A search through several files, up to a maximum number of lines.
pub(crate) struct Search {
    pattern: Pattern,
    searcher: Searcher,
    collector: MatchCollector,
}

impl Search {
    /// Creates a search for at most `limit` matching lines, with `context` lines before and after each.
    pub(crate) fn new(pattern: Pattern, context: usize, limit: u64) -> Self {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LARGEST_BUFFER))
            .before_context(context)
            .after_context(context)
            .build();
        let collector = MatchCollector { limit, with_context: context > 0, ..MatchCollector::default() };
        Self { pattern, searcher, collector }
    }

    /// Searches one regular file. Results show `name` as its name. A binary file has no matches. Fails if the file
    /// cannot be read, and soon after `stop` is cancelled.
    pub(crate) fn file(&mut self, path: &Path, name: &str, stop: &CancellationToken) -> io::Result<()> {
        self.reader(StoppableFile { file: open(path)?, stop }, name)
    }

    fn reader(&mut self, reader: impl Read, name: &str) -> io::Result<()> {
        name.clone_into(&mut self.collector.name);
        self.collector.begin_group();
        self.searcher.search_reader(&self.pattern.0, reader, &mut self.collector)
    }

    /// Returns true if there are more matches than the limit, so that the search can end.
    pub(crate) fn is_full(&self) -> bool {
        self.collector.full
    }

    /// Returns the results, with a note about truncated lines.
    pub(crate) fn finish(self) -> Listing {
        let mut listing = self.collector.listing;
        if self.collector.cut {
            listing.notice(format!("Lines are cut at {LONGEST_LINE} characters; read shows them whole."));
            listing.detail("linesTruncated", true);
        }
        listing
    }
}

fn open(path: &Path) -> io::Result<File> {
    // The path may have become a FIFO or a link meanwhile.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::NOFOLLOW;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

/// A file that returns errors after `stop` is cancelled.
struct StoppableFile<'a> {
    file: File,
    stop: &'a CancellationToken,
}

impl Read for StoppableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() { Err(io::Error::other("stopped")) } else { self.file.read(buffer) }
    }
}

/// Collects the lines of the result.
#[derive(Default)]
struct MatchCollector {
    listing: Listing,
    name: String,
    with_context: bool,
    limit: u64,
    found: u64,
    full: bool,
    cut: bool,
    /// Lines before the next match. They are added with it, unless it exceeds the limit.
    pending: Vec<String>,
}

impl MatchCollector {
    /// Begins a new group of lines. If context is shown, a separator precedes the group, as in grep.
    fn begin_group(&mut self) {
        self.pending.clear();
        if self.with_context && !self.listing.is_empty() {
            self.pending.push("--".to_owned());
        }
    }

    fn line(&mut self, mark: char, number: Option<u64>, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let (name, number) = (&self.name, number.unwrap_or_default());
        match text.char_indices().nth(LONGEST_LINE) {
            Some((end, _)) => {
                self.cut = true;
                format!("{name}{mark}{number}{mark} {}… [cut]", &text[..end])
            }
            None => format!("{name}{mark}{number}{mark} {text}"),
        }
    }

    fn flush(&mut self) {
        for line in self.pending.drain(..) {
            self.listing.push(&line);
        }
    }
}

impl Sink for MatchCollector {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.found == self.limit {
            self.full = true;
            return Ok(false);
        }
        self.found += 1;
        self.flush();
        let line = self.line(':', found.line_number(), found.bytes());
        self.listing.push(&line);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let line = self.line('-', context.line_number(), context.bytes());
        match context.kind() {
            SinkContextKind::Before => self.pending.push(line),
            _ => self.listing.push(&line),
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.begin_group();
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn search(pattern: &str, context: usize, limit: u64, text: &str) -> (String, bool) {
        let mut search = Search::new(Pattern::new(pattern, false, false).unwrap(), context, limit);
        search.reader(text.as_bytes(), "f").unwrap();
        let full = search.is_full();
        (search.finish().finish("nothing").all_text(), full)
    }

    #[test]
    fn lines_and_their_surroundings() {
        assert_eq!(search("b", 0, 9, "a\nb\r\nab"), ("f:2: b\nf:3: ab".into(), false));
        assert_eq!(search("b$", 0, 9, "b\r\nbc\n"), ("f:1: b".into(), false));
        assert_eq!(search("x", 0, 9, "a\n"), ("nothing".into(), false));
        assert_eq!(
            search("x", 1, 9, "1\nx\n3\nx\n5\n6\n7\nx"),
            ("f-1- 1\nf:2: x\nf-3- 3\nf:4: x\nf-5- 5\n--\nf-7- 7\nf:8: x".into(), false)
        );
    }

    #[test]
    fn no_context_is_shown_for_lines_beyond_the_limit() {
        assert_eq!(search("x", 1, 1, "1\nx\n3\n4\n5\nx\n"), ("f-1- 1\nf:2: x\nf-3- 3".into(), true));
        assert_eq!(search("x", 0, 2, "x\nx\n"), ("f:1: x\nf:2: x".into(), false));
        assert_eq!(search("x", 0, 2, "x\nx\nx"), ("f:1: x\nf:2: x".into(), true));
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let text = format!("{}\nx{}\n", "é".repeat(501), "é".repeat(499));
        let (found, _) = search("é", 0, 9, &text);
        let lines: Vec<_> = found.lines().collect();
        assert_eq!(lines[0], format!("f:1: {}… [cut]", "é".repeat(500)));
        assert_eq!(lines[1], format!("f:2: x{}", "é".repeat(499)));
        assert_eq!(lines[3], "[Lines are cut at 500 characters; read shows them whole.]");
    }

    #[test]
    fn fm_f88_patterns_are_refused_by_size() {
        for pattern in ["(a{1000}){1000}", r"(\w{200}){200}", "((((a{30}){30}){30}){30}){30}"] {
            let error = Pattern::new(pattern, false, false).unwrap_err();
            assert!(error.contains("size limit"), "{pattern}: {error}");
        }
        let deep = format!("{}a{}", "(".repeat(1000), ")".repeat(1000));
        assert!(Pattern::new(&deep, false, false).unwrap_err().contains("nest"));
        let long = "a".repeat(LONGEST_PATTERN + 1);
        assert!(Pattern::new(&long, true, false).unwrap_err().contains("64.0KB"));
        for pattern in ["(", "a{2,1}", "[z-a]", r"(a)\1", "(?=a)", "a\nb"] {
            let error = Pattern::new(pattern, false, false).unwrap_err();
            assert!(error.starts_with("The pattern cannot be used: "), "{pattern}: {error}");
        }
        assert!(Pattern::new("(a+)+$ [", true, true).is_ok());
    }

    /// Checks a pattern that would take a backtracking engine 2^1000000 steps.
    #[test]
    fn fm_f88_no_pattern_backtracks() {
        let text = format!("{}!", "a".repeat(1 << 20));
        for pattern in ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^([a-z]+)*$", "^(.*?,){11}P"] {
            let mut search = Search::new(Pattern::new(pattern, false, false).unwrap(), 0, 9);
            let mut reads = CountingReader { text: text.as_bytes(), bytes: 0 };
            search.reader(&mut reads, "f").unwrap();
            assert!(search.finish().is_empty(), "{pattern}");
            assert_eq!(reads.bytes, text.len(), "the text is read once");
        }
    }

    #[test]
    fn a_line_without_end_takes_a_bounded_buffer() {
        let mut search = Search::new(Pattern::new("b", false, false).unwrap(), 0, 9);
        let error = search.reader(io::repeat(b'a'), "f").unwrap_err();
        assert!(error.to_string().contains("limit"), "{error}");
        search.reader(&b"b"[..], "g").unwrap();
        assert_eq!(search.finish().finish("").all_text(), "g:1: b");
    }

    struct CountingReader<'a> {
        text: &'a [u8],
        bytes: usize,
    }

    impl Read for CountingReader<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.text.read(buffer)?;
            self.bytes += count;
            Ok(count)
        }
    }
}
