//! Detection of images by their first bytes.

use image::ImageFormat;

/// Number of bytes at the start of a file that [`Kind::of`] examines.
pub(crate) const MAGIC_LENGTH: usize = 12;

/// A kind of image that models accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl Kind {
    /// Returns the format of an image from its first bytes, regardless of its name. Returns `None` if the
    /// bytes are not an image.
    pub(crate) fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => None,
        }
    }

    pub(crate) fn mime_type(self) -> &'static str {
        self.format().to_mime_type()
    }

    pub(crate) fn format(self) -> ImageFormat {
        match self {
            Self::Png => ImageFormat::Png,
            Self::Jpeg => ImageFormat::Jpeg,
            Self::Gif => ImageFormat::Gif,
            Self::Webp => ImageFormat::WebP,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides() {
        let mime_type = |start: &[u8]| Kind::of(start).map(Kind::mime_type);
        assert_eq!(mime_type(b"\x89PNG\r\n\x1a\n...."), Some("image/png"));
        assert_eq!(mime_type(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(mime_type(b"GIF89a"), Some("image/gif"));
        assert_eq!(mime_type(b"RIFF1234WEBPVP8 "), Some("image/webp"));
        for other in [&b""[..], b"GIF88a", b"RIFF1234WAVE", b"\x89PNG\n", b"hello"] {
            assert_eq!(mime_type(other), None);
        }
    }
}
