//! The text that a terminal shows after a command has written its output.

use std::borrow::Cow;

use super::truncate::{TextSize, char_boundary_from};
use crate::escape_sequences::{EscapeHandler, EscapeParser};

/// Maximum number of lines that the cursor can reach, as on a tall terminal. Lines above them do not change any more.
const ROWS: usize = 50;
/// Maximum length in bytes of a line in which the cursor can move, and its maximum column.
const LONGEST_ROW: usize = 4096;
/// Number of bytes kept beyond the limit. They show if the first line within the limit is complete.
const MARGIN: usize = 8;

/// Returns the text that a terminal of unlimited width shows at the end: without escape sequences and control
/// characters, and with overwritten text replaced.
pub fn render(text: &str) -> Cow<'_, str> {
    if !needs_rendering(text) {
        return Cow::Borrowed(text);
    }
    let mut screen = Screen::new(usize::MAX / 4);
    screen.push(text);
    Cow::Owned(screen.text())
}

fn needs_rendering(text: &str) -> bool {
    let control = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    text.contains(|character| control(character) || ('\u{fff9}'..='\u{fffb}').contains(&character))
}

/// A terminal that processes output as it arrives. It keeps only the end of a long output, in constant memory. It
/// interprets carriage return, backspace, and escape sequences that move the cursor or erase text. It ignores all
/// others.
#[derive(Debug)]
pub(super) struct Screen {
    parser: EscapeParser,
    page: Page,
}

impl Screen {
    /// Creates an empty screen. It keeps the lines that the cursor can reach, and between `keep` and twice as many
    /// bytes of the text.
    pub fn new(keep: usize) -> Self {
        Self { parser: EscapeParser::default(), page: Page::new(keep) }
    }

    /// Draws more output.
    pub fn push(&mut self, text: &str) {
        self.parser.push(text, &mut self.page);
    }

    /// Returns the end of the text, as far as it is kept.
    pub fn text(&self) -> String {
        let mut text = self.page.above.clone();
        self.page.rows_in(&mut text);
        text
    }

    /// Returns the number of lines and bytes of the whole text.
    pub fn total(&self) -> TextSize {
        let mut rows = String::new();
        self.page.rows_in(&mut rows);
        let total = self.page.size.total;
        TextSize {
            lines: total.lines + TextSize::of(&rows).lines - 1,
            bytes: total.bytes + rows.len() as u64,
        }
    }

    /// Returns the size of the last line in bytes. If the text ends with a newline, this is the line before the
    /// newline.
    pub fn last_line(&self) -> u64 {
        let mut rows = String::new();
        self.page.rows_in(&mut rows);
        let SizeTracker { total, line, line_before } = self.page.size;
        let mut size = SizeTracker { total, line, line_before };
        size.push(&rows);
        size.last_line()
    }

    /// Returns true if a sequence moved the cursor, or text was overwritten or erased.
    pub fn is_redrawn(&self) -> bool {
        self.page.redrawn
    }
}

/// The size of a text to which output is appended, and of its last two lines.
#[derive(Debug)]
pub(super) struct SizeTracker {
    pub total: TextSize,
    /// `line`: number of bytes after the last newline. `line_before`: number of bytes of the line that this newline
    /// ended.
    line: u64,
    line_before: u64,
}

impl SizeTracker {
    pub fn new() -> Self {
        Self { total: TextSize { lines: 1, bytes: 0 }, line: 0, line_before: 0 }
    }

    pub fn push(&mut self, text: &str) {
        self.total.bytes += text.len() as u64;
        let mut from = 0;
        for at in memchr::memchr_iter(b'\n', text.as_bytes()) {
            self.total.lines += 1;
            self.line_before = self.line + (at - from) as u64;
            self.line = 0;
            from = at + 1;
        }
        self.line += (text.len() - from) as u64;
    }

    /// Returns the size of the last line in bytes. If the text ends with a newline, this is the line before the
    /// newline.
    pub fn last_line(&self) -> u64 {
        if self.line == 0 { self.line_before } else { self.line }
    }
}

/// The lines of a terminal, and its cursor.
#[derive(Debug)]
struct Page {
    /// The end of the text above `rows`, as far as it is kept.
    above: String,
    /// The size of all text above `rows`.
    size: SizeTracker,
    /// `true` if a sequence moved the cursor, or text was overwritten or erased.
    redrawn: bool,
    /// The lines that the cursor can reach; at least one.
    rows: Vec<Row>,
    /// The index of the cursor's line in `rows`.
    at: usize,
    /// The column of the cursor, counted in characters from 0; `None` at the end of the line.
    column: Option<usize>,
    keep: usize,
}

#[derive(Debug, Default)]
struct Row {
    text: String,
    /// `true` if text of the line was overwritten or erased. Spaces at its end are then not shown.
    edited: bool,
}

impl Row {
    fn shown(&self) -> &str {
        if self.edited { self.text.trim_end_matches(' ') } else { &self.text }
    }

    /// Returns the byte position of a column, or `None` if the line is shorter.
    fn place(&self, column: usize) -> Option<usize> {
        if self.text.is_ascii() {
            return (column <= self.text.len()).then_some(column);
        }
        let mut positions = self.text.char_indices().map(|(position, _)| position).chain([self.text.len()]);
        positions.nth(column)
    }

    fn columns(&self) -> usize {
        self.text.chars().count()
    }

    /// Writes text over the existing text from a column on.
    fn draw(&mut self, column: usize, text: &str) {
        self.edited = true;
        let start = match self.place(column) {
            Some(start) => start,
            None => {
                let missing = column - self.columns();
                self.text.extend(std::iter::repeat_n(' ', missing));
                self.text.len()
            }
        };
        let end = self.place(column + text.chars().count()).unwrap_or(self.text.len());
        self.text.replace_range(start..end, text);
    }

    fn cut(&mut self, column: usize) {
        if let Some(position) = self.place(column) {
            self.edited = true;
            self.text.truncate(position);
        }
    }
}

impl Page {
    fn new(keep: usize) -> Self {
        Self {
            above: String::new(),
            size: SizeTracker::new(),
            redrawn: false,
            rows: vec![Row::default()],
            at: 0,
            column: None,
            keep,
        }
    }

    fn rows_in(&self, text: &mut String) {
        for (index, row) in self.rows.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            text.push_str(row.shown());
        }
    }

    /// Writes text without newlines at the cursor.
    fn draw(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let row = &mut self.rows[self.at];
        match self.column {
            None => row.text.push_str(text),
            Some(column) => {
                self.redrawn = true;
                row.draw(column, text);
                let column = column + text.chars().count();
                self.column = (column < row.columns()).then_some(column);
            }
        }
        if row.text.len() > LONGEST_ROW && self.column.is_none() {
            // A cursor does not go back that far.
            self.scroll(self.at);
            let beginning = std::mem::take(&mut self.rows[0].text);
            self.add(&beginning);
        }
    }

    fn new_line(&mut self) {
        if self.at + 1 < self.rows.len() {
            self.at += 1;
            self.move_to(0);
            return;
        }
        self.scroll(self.rows.len());
        self.rows.push(Row::default());
        self.column = None;
    }

    /// Moves the first `rows` lines to the text above.
    fn scroll(&mut self, rows: usize) {
        for row in self.rows.drain(..rows).collect::<Vec<_>>() {
            self.add(row.shown());
            self.add("\n");
        }
        self.at = self.at.saturating_sub(rows);
    }

    /// Adds text to the text above.
    fn add(&mut self, text: &str) {
        self.size.push(text);
        self.above.push_str(text);
        if self.above.len() > 2 * self.keep {
            let from = self.above.len() - (self.keep + MARGIN).min(self.above.len());
            let from = from.min(self.reach());
            self.above.drain(..char_boundary_from(&self.above, from));
            self.above.shrink_to(2 * self.keep);
        }
    }

    /// Returns the start of the lines above `rows` to which the cursor can still move.
    fn reach(&self) -> usize {
        // The last line may still lack its newline.
        let mut start = memchr::memrchr(b'\n', self.above.as_bytes()).map_or(0, |newline| newline + 1);
        if self.above.len() - start > LONGEST_ROW {
            return self.above.len();
        }
        for _ in 0..ROWS {
            let Some(lines) = self.above[..start].strip_suffix('\n') else { break };
            let line = memchr::memrchr(b'\n', lines.as_bytes()).map_or(0, |before| before + 1);
            if lines.len() - line > LONGEST_ROW {
                break;
            }
            start = line;
        }
        start
    }

    /// Moves the last line of the text above to `rows`, so that the cursor can reach it. Returns false if this is not
    /// possible.
    fn take_back(&mut self) -> bool {
        let Some(lines) = self.above.strip_suffix('\n') else { return false };
        let start = match memchr::memrchr(b'\n', lines.as_bytes()) {
            Some(before) => before + 1,
            // The beginning of the line may be lost.
            None if self.above.len() as u64 == self.size.total.bytes => 0,
            None => return false,
        };
        if self.rows.len() >= ROWS || lines.len() - start > LONGEST_ROW {
            return false;
        }
        let text = lines[start..].to_owned();
        self.size.total.bytes -= text.len() as u64 + 1;
        self.size.total.lines -= 1;
        self.size.line_before = 0;
        self.above.truncate(start);
        self.rows.insert(0, Row { text, edited: false });
        self.at += 1;
        true
    }

    fn up(&mut self, lines: usize) {
        let column = self.column();
        while self.at < lines && self.take_back() {}
        self.at = self.at.saturating_sub(lines);
        self.move_to(column);
    }

    fn down(&mut self, lines: usize) {
        let column = self.column();
        self.at = self.at.saturating_add(lines).min(self.rows.len() - 1);
        self.move_to(column);
    }

    fn column(&self) -> usize {
        self.column.unwrap_or_else(|| self.rows[self.at].columns())
    }

    fn move_to(&mut self, column: usize) {
        let column = column.min(LONGEST_ROW);
        self.column = (column != self.rows[self.at].columns()).then_some(column);
    }

    /// Erases all lines that the cursor can reach.
    fn clear(&mut self) {
        self.up(ROWS);
        self.rows = vec![Row::default()];
        (self.at, self.column) = (0, None);
    }

    fn erase_in_line(&mut self, which: usize) {
        let column = self.column();
        let row = &mut self.rows[self.at];
        match which {
            0 => row.cut(column),
            1 => row.draw(0, &" ".repeat((column + 1).min(row.columns()))),
            _ => row.cut(0),
        }
        self.move_to(column);
    }

    fn erase_below(&mut self) {
        self.erase_in_line(0);
        self.rows.truncate(self.at + 1);
    }

    fn delete(&mut self, characters: usize) {
        let column = self.column();
        let row = &mut self.rows[self.at];
        if let Some(start) = row.place(column) {
            let end = row.place(column.saturating_add(characters)).unwrap_or(row.text.len());
            row.edited = true;
            row.text.replace_range(start..end, "");
        }
        self.move_to(column);
    }
}

impl EscapeHandler for Page {
    fn text(&mut self, text: &str) {
        let mut rest = text;
        if let ([Row { text: beginning, edited: false }], None) = (&mut self.rows[..], self.column)
            && let Some(end) = memchr::memrchr(b'\n', rest.as_bytes())
        {
            // Most output is drawn once, and its lines scroll away at once.
            let beginning = std::mem::take(beginning);
            self.add(&beginning);
            self.add(&rest[..=end]);
            rest = &rest[end + 1..];
        }
        while let Some(end) = memchr::memchr(b'\n', rest.as_bytes()) {
            self.draw(&rest[..end]);
            self.new_line();
            rest = &rest[end + 1..];
        }
        self.draw(rest);
    }

    fn control(&mut self, character: char) {
        match character {
            '\r' => self.move_to(0),
            '\x08' => self.move_to(self.column().saturating_sub(1)),
            _ => {}
        }
    }

    fn sequence(&mut self, parameters: &str, last: char) {
        // Private sequences and sequences with intermediate characters draw nothing.
        if parameters.contains(|letter: char| !matches!(letter, '0'..=':' | ';')) {
            return;
        }
        let mut numbers = parameters.split(';').map(str::parse::<usize>);
        let given = numbers.next().and_then(Result::ok);
        // A missing number and zero mean one, except for erasing.
        let count = given.unwrap_or(1).max(1);
        let column = self.column();
        self.redrawn |= "ABCDEFGHJKPXf`".contains(last);
        match last {
            'A' => self.up(count),
            'B' => self.down(count),
            'C' => self.move_to(column.saturating_add(count)),
            'D' => self.move_to(column.saturating_sub(count)),
            'E' | 'F' => {
                if last == 'E' {
                    self.down(count)
                } else {
                    self.up(count)
                }
                self.move_to(0);
            }
            'G' | '`' => self.move_to(count - 1),
            'H' | 'f' => {
                self.up(ROWS);
                self.down(count - 1);
                self.move_to(numbers.next().and_then(Result::ok).unwrap_or(1).max(1) - 1);
            }
            'J' if matches!(given, None | Some(0)) => self.erase_below(),
            'J' if given == Some(2) => self.clear(),
            'K' => self.erase_in_line(given.unwrap_or(0)),
            'P' => self.delete(count),
            'X' => {
                let width = self.rows[self.at].columns();
                let blanks = " ".repeat(count.min(width.saturating_sub(column)));
                self.rows[self.at].draw(column, &blanks);
                self.move_to(column);
            }
            _ => {}
        }
    }

    fn escape(&mut self, last: char) {
        self.redrawn |= matches!(last, 'c' | 'M');
        match last {
            'c' => self.clear(),
            'M' => self.up(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(given: &str, expected: &str) {
        assert_eq!(render(given), expected, "{given:?}");
    }

    #[test]
    fn plain_text_is_itself() {
        for text in ["", "a", "a\n", "a\tb\n\nc", "é 😀\n", "  two  \n"] {
            assert!(matches!(render(text), Cow::Borrowed(_)));
            check(text, text);
        }
    }

    #[test]
    fn lines_that_a_cursor_reaches_are_kept_although_they_are_long() {
        let mut screen = Screen::new(20);
        screen.push(&format!("{}\n", "a long line ".repeat(30)));
        screen.push("\x1bcend\n");
        assert_eq!(screen.text(), "end\n");
    }

    #[test]
    fn private_sequences_and_intermediate_characters_erase_nothing() {
        check("kept\r\x1b[?K\n", "kept\n");
        check("a\nb\x1b[?2J", "a\nb");
        check("kept\r\x1b[1 K\n", "kept\n");
    }

    #[test]
    fn colours_titles_and_links_are_left_out() {
        check("\x1b[31mred\x1b[0m\r\n", "red\n");
        check("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink");
        check("\u{9b}1mbold\u{9b}m\x00\x07 \u{fff9}x", "bold x");
        check("one\r\ntwo  \r\n", "one\ntwo  \n");
    }

    #[test]
    fn a_line_is_in_its_last_state() {
        check("\x1b[31mred\x1b[0m\rover\n", "over\n");
        check("10%\r20%\r100%\n", "100%\n");
        check("long line\rab\n", "abng line\n");
        check("working...\r\x1b[Kdone\n", "done\n");
        check("working...\r          \rok\n", "ok\n");
        check("a\x08b\x08\x08c\n", "c\n");
        check("spin |\x08/\x08-\x08\\\x08 \n", "spin\n");
        check("abc\x1b[2Dx\n", "axc\n");
        check("abc\x1b[1Gx\x1b[5Gy\n", "xbc y\n");
        check("abcdef\x1b[4G\x1b[1K\n", "    ef\n");
        check("gone\x1b[2K\x1b[1Gnew\n", "new\n");
        check("abcdef\x1b[2G\x1b[2P\x1b[1X\n", "a ef\n");
        check("äöü\rxy\n", "xyü\n");
        check("no end\r", "no end");
    }

    #[test]
    fn five_hundred_frames_of_a_bar_are_one_line() {
        let bar = |frame: usize| format!("\r\x1b[2K[{:<50}] {frame}/500", "#".repeat(frame / 10));
        let frames: String = (0..=500).map(bar).collect();
        check(
            &format!("before\n{frames}\nafter\n"),
            &format!("before\n[{}] 500/500\nafter\n", "#".repeat(50)),
        );
    }

    #[test]
    fn lines_that_are_drawn_again_are_shown_once() {
        let frame = |done: usize| format!("one {done}\x1b[K\ntwo {done}\x1b[K\n");
        let frames: Vec<String> = (0..20).map(frame).collect();
        check(&format!("start\n{}end\n", frames.join("\x1b[2A")), "start\none 19\ntwo 19\nend\n");
        check("a\nb\nc\x1b[2A\rA\x1b[1B\rB\x1b[1B\rC\n", "A\nB\nC\n");
        check("a\nb\nc\x1b[2F\x1b[Jx\n", "x\n");
        // The cursor goes no further than the first line.
        check("a\x1b[9Ab\n", "ab\n");
        check("\x1b[Hone\n\x1b[H\x1b[2Jtwo\n", "two\n");
        check("one\n\x1bctwo\n", "two\n");
    }

    #[test]
    fn lines_that_have_scrolled_away_stay() {
        let lines: String = (0..200).map(|number| format!("{number}\n")).collect();
        let shown = render(&format!("{lines}\x1b[1000Aup\x1b[2Jend\n")).into_owned();
        let expected: String = (0..200 - ROWS + 1).map(|number| format!("{number}\n")).collect();
        assert_eq!(shown, expected + "end\n");
    }

    #[test]
    fn an_output_without_an_end_takes_constant_room() {
        let mut screen = Screen::new(1000);
        for round in 0..2000 {
            screen.push(&"x".repeat(999));
            screen.push(&format!("\x1b[{round}A\x1b[9999Gy\r\x1b[99999999999Cz\n"));
            let room = screen.page.above.capacity() + screen.text().len();
            assert!(room < 2 * ROWS * LONGEST_ROW + 10_000, "{room}");
        }
        let mut screen = Screen::new(1000);
        screen.push(&format!("first\n{}", "y".repeat(1 << 20)));
        assert_eq!(screen.last_line(), 1 << 20);
        assert!(screen.text().len() <= 2000);
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter_and_no_control_is_left(
            text in "[\x1b\\[\\];02ABCGHJKmP\x07\x08\r\n\tx\u{e9}\u{9b}]{0,80}", at in any::<prop::sample::Index>(),
        ) {
            let middle = (0..=at.index(text.len() + 1)).rev().find(|&at| text.is_char_boundary(at)).unwrap();
            let mut screen = Screen::new(usize::MAX / 4);
            screen.push(&text[..middle]);
            screen.push(&text[middle..]);
            let shown = screen.text();
            prop_assert_eq!(render(&text), shown.as_str());
            prop_assert_eq!(screen.total(), TextSize::of(&shown));
            prop_assert!(!needs_rendering(&shown));
        }
    }
}
