//! Encodings of text files, detected by their byte order marks.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The encoding of a file's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, with or without a byte order mark.
    Utf8,
    /// UTF-16 with the low byte first.
    Utf16Le,
    /// UTF-16 with the high byte first.
    Utf16Be,
}

const MARK: char = '\u{feff}';

impl Encoding {
    /// Returns the encoding of a text that begins with these bytes: UTF-8 unless they are the mark of UTF-16.
    pub fn of(start: &[u8]) -> Self {
        match start {
            // The mark of UTF-32, which is not supported: its bytes are not valid UTF-8.
            [0xff, 0xfe, 0, 0, ..] => Self::Utf8,
            [0xff, 0xfe, ..] => Self::Utf16Le,
            [0xfe, 0xff, ..] => Self::Utf16Be,
            _ => Self::Utf8,
        }
    }

    /// Returns the encoding of a regular file. Returns UTF-8 if the file cannot be read.
    pub fn of_file(path: &Path) -> Self {
        let regular = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        let mut start = Vec::new();
        if regular && let Ok(file) = File::open(path) {
            // A file that ends earlier has no mark.
            let _ = file.take(4).read_to_end(&mut start);
        }
        Self::of(&start)
    }

    /// Returns the text of a whole file, including its byte order mark. Fails with the offset of the first invalid
    /// byte.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, usize> {
        if self == Self::Utf8 {
            return std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| error.valid_up_to());
        }
        let mut text = String::with_capacity(bytes.len());
        let units = bytes.chunks_exact(2).map(|pair| self.unit(pair));
        let mut position = 0;
        for character in char::decode_utf16(units) {
            let character = character.map_err(|_| position)?;
            position += 2 * character.len_utf16();
            text.push(character);
        }
        if bytes.len() % 2 == 1 { Err(bytes.len() - 1) } else { Ok(Cow::Owned(text)) }
    }

    /// Returns the bytes of a text or a part of a text, without adding a mark.
    pub fn encode(self, text: &str) -> Cow<'_, [u8]> {
        match self {
            Self::Utf8 => Cow::Borrowed(text.as_bytes()),
            Self::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        }
    }

    /// Returns the bytes of a whole file with this text. A file in UTF-16 begins with a mark, which is added if
    /// missing.
    pub fn encode_file(self, text: &str) -> Cow<'_, [u8]> {
        if self == Self::Utf8 || text.starts_with(MARK) {
            return self.encode(text);
        }
        self.encode(&format!("{MARK}{text}")).into_owned().into()
    }

    fn unit(self, pair: &[u8]) -> u16 {
        let pair = [pair[0], pair[1]];
        if self == Self::Utf16Be { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
    }
}

/// Converts the bytes of a file to UTF-8 in chunks: UTF-16 is decoded without its mark, other bytes stay unchanged.
/// Invalid UTF-16 becomes U+FFFD.
#[derive(Debug)]
pub struct Utf8Converter {
    encoding: Encoding,
    started: bool,
    /// Bytes of an incomplete character: at most three.
    pending: Vec<u8>,
}

impl Utf8Converter {
    /// Creates a converter for a file with that encoding.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, started: false, pending: Vec::new() }
    }

    /// Returns the next bytes of the file as UTF-8. An incomplete UTF-16 character at their end waits for the next
    /// call.
    pub fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.encoding == Encoding::Utf8 {
            return Cow::Borrowed(bytes);
        }
        self.pending.extend_from_slice(bytes);
        let mut whole = self.pending.len() / 2 * 2;
        // The first half of a surrogate pair waits for the second one.
        if whole >= 2 && is_high(self.encoding.unit(&self.pending[whole - 2..whole])) {
            whole -= 2;
        }
        let rest = self.pending.split_off(whole);
        let ready = std::mem::replace(&mut self.pending, rest);
        Cow::Owned(self.text(&ready).into_bytes())
    }

    /// Returns U+FFFD if the file ended within a UTF-16 character; otherwise nothing.
    pub fn finish(&mut self) -> &'static [u8] {
        if std::mem::take(&mut self.pending).is_empty() { b"" } else { "\u{fffd}".as_bytes() }
    }

    fn text(&mut self, bytes: &[u8]) -> String {
        let units = bytes.chunks_exact(2).map(|pair| self.encoding.unit(pair));
        let text: String =
            char::decode_utf16(units).map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        let is_first = !text.is_empty() && !std::mem::replace(&mut self.started, true);
        match text.strip_prefix(MARK).filter(|_| is_first) {
            Some(text) => text.to_owned(),
            None => text,
        }
    }
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WIDE: [Encoding; 2] = [Encoding::Utf16Le, Encoding::Utf16Be];

    #[test]
    fn the_byte_order_mark_determines_the_encoding() {
        for (start, encoding) in [
            (&b"\xff\xfea\0"[..], Encoding::Utf16Le),
            (b"\xff\xfe\0\0a\0\0\0", Encoding::Utf8),
            (b"\xfe\xff\0a", Encoding::Utf16Be),
            (b"\xef\xbb\xbfa", Encoding::Utf8),
            (b"\xff", Encoding::Utf8),
            (b"", Encoding::Utf8),
        ] {
            assert_eq!(Encoding::of(start), encoding);
        }
    }

    #[test]
    fn invalid_text_is_an_error_with_its_position() {
        assert_eq!(Encoding::Utf16Le.decode(b"\xff\xfea\0\0\xd8b\0"), Err(4));
        assert_eq!(Encoding::Utf16Le.decode(b"\xff\xfea"), Err(2));
        assert_eq!(Encoding::Utf8.decode(b"a\xff"), Err(1));
    }

    proptest! {
        #[test]
        fn a_text_is_the_same_in_each_encoding_and_in_any_pieces(text in "[a\u{e9}\u{20ac}\u{1F600}\n]{0,20}", size in 1usize..7) {
            for encoding in WIDE {
                let bytes = encoding.encode_file(&text).into_owned();
                prop_assert_eq!(Encoding::of(&bytes), encoding);
                let decoded = encoding.decode(&bytes).unwrap();
                prop_assert_eq!(decoded.strip_prefix(MARK), Some(text.as_str()));
                let (mut reader, mut read) = (Utf8Converter::new(encoding), Vec::new());
                for piece in bytes.chunks(size) {
                    read.extend_from_slice(&reader.push(piece));
                }
                read.extend_from_slice(reader.finish());
                prop_assert_eq!(String::from_utf8(read).unwrap(), text.as_str());
            }
        }
    }
}
