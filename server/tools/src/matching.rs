//! Search for the text that an edit replaces. If there is no exact match, typographic differences are
//! ignored. The result is a range of the original text.

use std::ops::Range;

use memchr::memmem;

use super::normalize::{NormalizedLine, normalize};

/// Reason why a search found no single match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchError {
    Missing,
    /// There are several matches; their number is given here.
    Ambiguous(usize),
}

/// Returns the range of the only match of `old` in `text`. Line endings are ignored. If this finds no match,
/// typography and white space at line ends are ignored too. Fails if there is no match, or more than one.
pub(crate) fn find(text: &str, old: &str) -> Result<Range<usize>, MatchError> {
    let old = old.replace("\r\n", "\n");
    // A carriage return in the file is part of a line ending, or both searches would find it.
    let exact = if text.contains("\r\n") {
        View::find(text, false, &old, |view, range| view.range(range, false))
    } else {
        only_match(occurrences(text, &old).map(|at| at..at + old.len()))
    };
    exact.or_else(
        |no_match| if no_match == MatchError::Missing { find_normalised(text, &old) } else { Err(no_match) },
    )
}

fn find_normalised(text: &str, old: &str) -> Result<Range<usize>, MatchError> {
    let found = View::find(text, true, &normalize(old, true), |view, range| view.range(range, false));
    let ends_in_space = old.trim_end_matches(|c: char| c != '\n' && c.is_whitespace()).len() < old.len();
    if found != Err(MatchError::Missing) || !ends_in_space {
        return found;
    }
    // White space at the end of `old` may match other white space, but only at the end of a line.
    View::find(text, true, &normalize(old, false), |view, range| {
        let at_end = view.text[range.end..].is_empty() || view.text[range.end..].starts_with('\n');
        if at_end { view.range(range, true) } else { None }
    })
}

/// Approximate number of bytes that are searched at once. Searching needs several times this memory.
#[cfg(not(test))]
const PART: usize = 4 << 20;
#[cfg(test)]
const PART: usize = 8;

/// Splits a text into parts for searching. Each result is the range of a part, and the number of its bytes at
/// which matches can begin (about [`PART`]). A part also contains `reach` further lines, into which a match
/// can extend.
fn parts(text: &str, reach: usize) -> impl Iterator<Item = (Range<usize>, usize)> + '_ {
    let line_end = |from: usize| memchr::memchr(b'\n', &text.as_bytes()[from..]).map(|at| from + at + 1);
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next?;
        let own = (start + PART < text.len()).then(|| line_end(start + PART)).flatten();
        next = own;
        let Some(own) = own else { return Some((start..text.len(), text.len() - start + 1)) };
        let end = (0..reach).try_fold(own, |at, _| line_end(at)).unwrap_or(text.len());
        Some((start..end, own - start))
    })
}

/// A copy of a text with LF as line ending, and with normalised lines on request. It maps positions back to
/// the original.
struct View<'a> {
    original: &'a str,
    text: String,
    lines: Vec<LineStart>,
    normalised: bool,
}

struct LineStart {
    original: usize,
    view: usize,
}

impl<'a> View<'a> {
    fn new(original: &'a str, normalised: bool) -> Self {
        let mut view =
            Self { original, text: String::with_capacity(original.len()), lines: Vec::new(), normalised };
        let mut at = 0;
        // The last piece is empty if the text ends with a newline: a position of its own, at the end.
        for line in original.split('\n') {
            view.lines.push(LineStart { original: at, view: view.text.len() });
            at += line.len() + 1;
            let ended = at <= original.len();
            let line = if ended { line.strip_suffix('\r').unwrap_or(line) } else { line };
            if normalised {
                view.text.push_str(&NormalizedLine::new(line).text);
            } else {
                view.text.push_str(line);
            }
            if ended {
                view.text.push('\n');
            }
        }
        view
    }

    /// Searches `text` part by part and returns the only match of `old`.
    fn find(
        text: &'a str,
        normalised: bool,
        old: &str,
        range: impl Fn(&Self, Range<usize>) -> Option<Range<usize>>,
    ) -> Result<Range<usize>, MatchError> {
        // One line more than a match has, so that the part includes the text after the match.
        let reach = memchr::memchr_iter(b'\n', old.as_bytes()).count() + 2;
        only_match(parts(text, reach).flat_map(|(part, own)| {
            let view = Self::new(&text[part.clone()], normalised);
            // Start of the first line that belongs only to the next part.
            let end =
                view.lines.iter().find(|start| start.original >= own).map_or(usize::MAX, |start| start.view);
            let found = occurrences(&view.text, old)
                .take_while(|at| *at < end)
                .filter_map(|at| range(&view, at..at + old.len()))
                .map(|range| part.start + range.start..part.start + range.end)
                .take(MOST_COUNTED);
            found.collect::<Vec<_>>()
        }))
    }

    /// Converts a range of the copy to a range of the original. With `with_space`, it includes the white
    /// space at the end of the last line.
    fn range(&self, range: Range<usize>, with_space: bool) -> Option<Range<usize>> {
        let (line, start) = self.original_position(range.start)?;
        // A match that begins with a line end excludes the white space before it.
        let at_line_end = self.text[range.start..].starts_with('\n');
        let start = if at_line_end { self.line_end(line) } else { start };
        let (line, end) = self.original_position(range.end)?;
        let end = if with_space { self.line_end(line) } else { end };
        (start <= end).then_some(start..end)
    }

    /// Converts a position in the copy to the number of its line and the position in the original.
    fn original_position(&self, at: usize) -> Option<(usize, usize)> {
        let line = self.lines.partition_point(|start| start.view <= at) - 1;
        let start = &self.lines[line];
        let offset = at - start.view;
        let offset = if self.normalised {
            NormalizedLine::new(&self.original[start.original..self.line_end(line)]).original(offset)?
        } else {
            offset
        };
        Some((line, start.original + offset))
    }

    /// Returns the end of a line in the original, before its line ending.
    fn line_end(&self, line: usize) -> usize {
        let Some(next) = self.lines.get(line + 1) else { return self.original.len() };
        let end = next.original - 1;
        if self.original[self.lines[line].original..end].ends_with('\r') { end - 1 } else { end }
    }
}

/// Returns the start of every match of `old`, including overlapping ones.
fn occurrences<'a>(text: &'a str, old: &'a str) -> impl Iterator<Item = usize> + 'a {
    let finder = memmem::Finder::new(old.as_bytes());
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + finder.find(text.as_bytes().get(from..)?)?;
        from = at + step;
        Some(at)
    })
    .filter(move |_| !old.is_empty())
}

/// Maximum number of matches that are counted. For more matches, the exact number does not matter.
const MOST_COUNTED: usize = 1000;

fn only_match(mut ranges: impl Iterator<Item = Range<usize>>) -> Result<Range<usize>, MatchError> {
    let first = ranges.next().ok_or(MatchError::Missing)?;
    match ranges.take(MOST_COUNTED - 1).count() {
        0 => Ok(first),
        more => Err(MatchError::Ambiguous(more + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn finds(text: &str, old: &str, expected: &str) {
        assert_eq!(find(text, old).map(|range| &text[range]), Ok(expected));
    }

    #[track_caller]
    fn fails(text: &str, old: &str, expected: MatchError) {
        assert_eq!(find(text, old), Err(expected));
    }

    #[test]
    fn exact_first() {
        finds("alpha\nbeta\n", "beta", "beta");
        finds("“a” \"a\"", "\"a\"", "\"a\"");
        finds("a\r\nb\r\nc", "a\nb", "a\r\nb");
        finds("a\r\nb\nc\r\n", "b\nc\n", "b\nc\r\n");
        finds("a\r\nb", "\nb", "\r\nb");
        finds("a\nb", "a\r\nb", "a\nb");
        finds("a\rb", "\r", "\r");
        finds("x\n", "\n", "\n");
        fails("abc", "d", MatchError::Missing);
        fails("a a", "a", MatchError::Ambiguous(2));
        fails("aaa", "aa", MatchError::Ambiguous(2));
        fails("“a” ‘a’ “a”", "\"a\"", MatchError::Ambiguous(2));
    }

    #[test]
    fn normalised_matches_are_ranges_of_the_original() {
        finds("say “hi” – now", "\"hi\" - ", "“hi” – ");
        finds("x\u{a0}= 1  \ny = 2\t\nz", "x = 1\ny = 2", "x\u{a0}= 1  \ny = 2");
        finds("x = 1  \r\ny = “2”\r\n", "x = 1\ny = \"2\"\n", "x = 1  \r\ny = “2”\r\n");
        finds("e\u{301}té", "\u{e9}te\u{301}", "e\u{301}té");
        finds("a  \nb”", "\nb\"", "\nb”");
        finds("foo()\t\nbar", "foo()  ", "foo()\t");
        finds("foo()\t", "foo() ", "foo()\t");
        fails("foobar", "foo ", MatchError::Missing);
        // A part of an expanded character is not a position in the file.
        fails("a…b", "a..", MatchError::Missing);
        fails("ﬁ", "f", MatchError::Missing);
        finds("a…b", "a...", "a…");
    }

    #[test]
    fn parts_change_nothing() {
        // Every part is small here: a match extends over several.
        let lines: Vec<String> = (0..40).map(|number| format!("line {number}\r\n")).collect();
        let text = lines.concat();
        for from in 0..39 {
            for to in from + 1..40.min(from + 6) {
                let old = lines[from..to].concat().replace("\r\n", "\n");
                finds(&text, &old, &lines[from..to].concat());
                finds(&text.replace("\r\n", " \n"), &old, &lines[from..to].concat().replace("\r\n", " \n"));
            }
        }
        fails(&text, "\nline 1", MatchError::Ambiguous(11));
        fails(&text.repeat(100), "\nline 1", MatchError::Ambiguous(MOST_COUNTED));
    }

    proptest! {
        #[test]
        fn every_part_of_a_text_is_found_at_its_position(
            text in "[a-c “”\u{a0}…\r\n]{1,30}", from in any::<prop::sample::Index>(), length in 1usize..10,
        ) {
            let starts: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
            let start = starts[from.index(starts.len())];
            let old: String = text[start..].chars().take(length).collect();
            // Half a line ending is not a valid search text.
            if old.ends_with('\r') || (old.starts_with('\n') && text[..start].ends_with('\r')) {
                return Ok(());
            }
            match find(&text, &old) {
                Ok(range) => prop_assert_eq!(&text[range], old),
                Err(no_match) => prop_assert!(matches!(no_match, MatchError::Ambiguous(_))),
            }
        }

        #[test]
        fn retyped_text_matches_its_original(text in "[a-c“”\u{a0}…é \n]{1,30}") {
            let retyped = normalize(&text, true);
            prop_assume!(!retyped.is_empty());
            if let Ok(range) = find(&text, &retyped) {
                prop_assert_eq!(normalize(&text[range], true).trim_end().to_owned(), retyped.trim_end());
            }
        }
    }
}
