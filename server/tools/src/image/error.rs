//! Reasons for rejecting an image.

use super::super::truncate::format_size;

/// Reason for rejecting an image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The data is not valid base64.
    #[error("the image data is not valid base64")]
    Base64,
    /// The first bytes do not belong to a known image format.
    #[error("the data is not a PNG, JPEG, GIF or WebP image")]
    Unknown,
    /// The declared MIME type differs from the detected one.
    #[error("the image is declared as {declared:.100}, but its data is {found}")]
    Declared {
        /// The MIME type that was declared for the image.
        declared: String,
        /// The format according to the image's first bytes.
        found: &'static str,
    },
    /// The decoded image would need too much memory.
    #[error("the image has {width}x{height} pixels, more than can be decoded")]
    Dimensions {
        /// The width in the header.
        width: u32,
        /// The height in the header.
        height: u32,
    },
    /// The bytes are damaged, incomplete, or of a kind that is not supported.
    #[error("the image cannot be decoded: {0}")]
    Broken(String),
    /// The image has too many bytes. It could not be reduced, or this was not requested.
    #[error("the image has {} as base64, more than the {} that can be sent", format_size(*size), format_size(*limit))]
    Size {
        /// The length of its base64 text.
        size: u64,
        /// Maximum length of the base64 text.
        limit: u64,
    },
}
