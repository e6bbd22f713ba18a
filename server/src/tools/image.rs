//! Images by their first bytes.

/// How many of a file's first bytes [`mime_type`] looks at.
pub const MAGIC_LENGTH: usize = 12;

/// The MIME type of an image that models take, decided by content and never by name; none for everything else.
pub fn mime_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides() {
        assert_eq!(mime_type(b"\x89PNG\r\n\x1a\n...."), Some("image/png"));
        assert_eq!(mime_type(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(mime_type(b"GIF89a"), Some("image/gif"));
        assert_eq!(mime_type(b"RIFF1234WEBPVP8 "), Some("image/webp"));
        for other in [&b""[..], b"GIF88a", b"RIFF1234WAVE", b"\x89PNG\n", b"hello"] {
            assert_eq!(mime_type(other), None);
        }
    }
}
