//! The text of one line. It is checked once to be UTF-8, and then shared.

use std::fmt;

use bytes::Bytes;

/// The text of one line, without its line end, known to be UTF-8.
///
/// Clones share the bytes. A text from a large read may share the buffer of that read to avoid a copy. Small
/// texts own their bytes, so they keep no buffer alive.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct FrameText(Bytes);

impl FrameText {
    /// Creates a text from UTF-8 bytes; returns the bytes as the error if they are not UTF-8.
    pub fn from_utf8(bytes: Bytes) -> Result<Self, Bytes> {
        match simdutf8::basic::from_utf8(&bytes) {
            Ok(_) => Ok(Self(bytes)),
            Err(_) => Err(bytes),
        }
    }

    /// Returns the text.
    #[inline]
    pub fn as_str(&self) -> &str {
        // SAFETY: every constructor of a `FrameText` goes through a `&str`, a `String` or `from_utf8`.
        // `Bytes` cannot change after that: the field is private and never lent mutably. Only `slice_of`
        // shares a part, and its argument is itself a `&str` over the same bytes.
        #[allow(unsafe_code)]
        unsafe {
            std::str::from_utf8_unchecked(&self.0)
        }
    }

    /// Returns the bytes of the text.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the length of the text in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` for empty text: a blank line.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Converts the text into its bytes, without the guarantee that they are UTF-8.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Returns a part of this text, which shares the bytes of the whole. Returns `None` if `part` is not inside
    /// this text.
    pub fn slice_of(&self, part: &str) -> Option<Self> {
        if part.is_empty() {
            return Some(Self::default());
        }
        let start = (part.as_ptr() as usize).checked_sub(self.0.as_ptr() as usize)?;
        let end = start.checked_add(part.len())?;
        (end <= self.0.len()).then(|| Self(self.0.slice(start..end)))
    }
}

impl From<String> for FrameText {
    fn from(text: String) -> Self {
        Self(Bytes::from(text))
    }
}

impl From<&str> for FrameText {
    fn from(text: &str) -> Self {
        Self(Bytes::copy_from_slice(text.as_bytes()))
    }
}

impl AsRef<str> for FrameText {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq<str> for FrameText {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for FrameText {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Debug for FrameText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), out)
    }
}

impl fmt::Display for FrameText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_invalid_utf8() {
        assert_eq!(FrameText::from_utf8(Bytes::from_static(b"a\xff")), Err(Bytes::from_static(b"a\xff")));
        assert_eq!(FrameText::from_utf8(Bytes::from_static("ä".as_bytes())).unwrap(), "ä");
    }

    #[test]
    fn shares_a_part_without_copying() {
        let whole = FrameText::from("{\"type\":\"ä\"}".to_owned());
        let part = &whole.as_str()[8..12];
        let shared = whole.slice_of(part).unwrap();
        assert_eq!(shared, "\"ä\"");
        assert_eq!(shared.as_str().as_ptr(), part.as_ptr());
    }

    #[test]
    fn rejects_a_part_of_another_text() {
        let whole = FrameText::from("abc");
        let elsewhere = String::from("abc");
        assert_eq!(whole.slice_of(&elsewhere), None);
        assert_eq!(whole.slice_of("").unwrap(), "");
    }
}
