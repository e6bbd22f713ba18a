//! Escape sequences and control characters in the text of a terminal.

/// Maximum length in bytes of the parameters of a sequence. Further bytes are dropped.
const LONGEST: usize = 64;

/// Receives the parts of a terminal's text.
pub trait EscapeHandler {
    /// Receives plain text, including tabs and newlines.
    fn text(&mut self, text: &str);

    /// Receives a control character other than tab and newline.
    fn control(&mut self, _character: char) {}

    /// Receives a control sequence: its parameters and its final character.
    fn sequence(&mut self, _parameters: &str, _last: char) {}

    /// Receives the final character of an escape sequence.
    fn escape(&mut self, _last: char) {}
}

/// Separates ANSI sequences, control characters, and U+FFF9 to U+FFFB from text. The sequences are CSI, OSC, DCS, APC,
/// PM, SOS and two-character ones, in their seven-bit and eight-bit forms. Accepts any division into chunks, in
/// constant memory. Never fails: an unfinished sequence ends at the next newline, so that later text is not lost.
#[derive(Debug, Default)]
pub struct EscapeParser {
    state: ParserState,
    parameters: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum ParserState {
    #[default]
    Text,
    /// The previous character was ESC.
    Escape,
    /// The position is between CSI and its final character.
    Control,
    /// The position is inside a string sequence, up to BEL or ST.
    Command,
    /// The position is inside a string sequence, after an ESC that may be the first character of ST.
    CommandEscape,
}

impl EscapeParser {
    /// Passes the parts of `text` to `handler`.
    pub fn push(&mut self, text: &str, handler: &mut impl EscapeHandler) {
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            // Most output is plain text, which is passed in runs.
            let run = if self.state == ParserState::Text { plain_run(rest) } else { 0 };
            if run > 0 {
                handler.text(&rest[..run]);
                rest = &rest[run..];
                continue;
            }
            let length = character.len_utf8();
            self.state = self.next(&rest[..length], character, handler);
            rest = &rest[length..];
        }
    }

    fn next(&mut self, text: &str, character: char, handler: &mut impl EscapeHandler) -> ParserState {
        match self.state {
            _ if character == '\n' => {
                handler.text(text);
                ParserState::Text
            }
            ParserState::Text => self.plain(text, character, handler),
            ParserState::Escape => match character {
                '[' => self.begin(),
                ']' | 'P' | 'X' | '^' | '_' => ParserState::Command,
                // Intermediate characters precede the final one, as in ESC ( B.
                ' '..='/' => ParserState::Escape,
                '0'..='~' => {
                    handler.escape(character);
                    ParserState::Text
                }
                _ => self.plain(text, character, handler),
            },
            ParserState::Control => match character {
                ' '..='?' => {
                    if self.parameters.len() < LONGEST {
                        self.parameters.push(character);
                    }
                    ParserState::Control
                }
                '@'..='~' => {
                    handler.sequence(&self.parameters, character);
                    ParserState::Text
                }
                _ => self.plain(text, character, handler),
            },
            ParserState::Command => match character {
                '\x07' | '\u{9c}' => ParserState::Text,
                '\x1b' => ParserState::CommandEscape,
                _ => ParserState::Command,
            },
            ParserState::CommandEscape => match character {
                '[' => self.begin(),
                ']' | 'P' | 'X' | '^' | '_' => ParserState::Command,
                '\x1b' => ParserState::CommandEscape,
                _ => ParserState::Text,
            },
        }
    }

    fn begin(&mut self) -> ParserState {
        self.parameters.clear();
        ParserState::Control
    }

    fn plain(&mut self, text: &str, character: char, handler: &mut impl EscapeHandler) -> ParserState {
        match character {
            '\x1b' => return ParserState::Escape,
            '\u{9b}' => return self.begin(),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => return ParserState::Command,
            '\t' => handler.text(text),
            '\u{fff9}'..='\u{fffb}' => {}
            _ if character.is_control() => handler.control(character),
            _ => handler.text(text),
        }
        ParserState::Text
    }
}

/// Returns the length of the printable ASCII text at the start.
fn plain_run(text: &str) -> usize {
    text.bytes().position(|byte| !matches!(byte, b' '..=b'~' | b'\n' | b'\t')).unwrap_or(text.len())
}
