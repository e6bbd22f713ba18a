//! Images for models: detection, validation and reduction.
//!
//! | file | |
//! |---|---|
//! | `kind` | PNG, JPEG, GIF, WebP by their first bytes |
//! | `decode` | from bytes to pixels; limits are checked first |
//! | `shrink` | from too many pixels or bytes to fewer |

mod decode;
mod error;
mod kind;
mod shrink;

use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

pub use error::ImageError;
pub(crate) use kind::{Kind, MAGIC_LENGTH};

/// An image that can be sent to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedImage {
    /// The bytes in standard base64.
    pub data: String,
    /// The MIME type. Reducing an image can change it.
    pub mime_type: &'static str,
    /// Original and reduced size, if the number of pixels was reduced.
    pub resized: Option<ResizeInfo>,
}

/// The size of an image before and after it was reduced, as width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResizeInfo {
    /// Size before the reduction.
    pub original: (u32, u32),
    /// Size after the reduction.
    pub shown: (u32, u32),
}

impl ResizeInfo {
    /// Returns the factor that converts coordinates in the reduced image to coordinates in the original.
    pub fn factor(&self) -> f64 {
        let (original, shown) = (self.original.0.max(self.original.1), self.shown.0.max(self.shown.1));
        f64::from(original) / f64::from(shown.max(1))
    }

    /// Returns a note for the model with both sizes and the factor.
    pub fn note(&self) -> String {
        let ((width, height), (shown_width, shown_height)) = (self.original, self.shown);
        let factor = self.factor();
        format!(
            "[The image has {width}x{height} pixels and is shown with {shown_width}x{shown_height}. Multiply coordinates \
             by {factor:.2} for the original.]"
        )
    }
}

/// Limits for an image that a model receives.
#[derive(Clone, Copy, Debug)]
struct ImageLimits {
    /// Maximum width and height in pixels; `None` if images are not reduced.
    side: Option<u32>,
    /// Maximum length of the base64 text. Providers reject longer texts.
    size: u64,
}

const LARGEST_SIDE: u32 = 2000;
const LARGEST_SIZE: u64 = 4_718_592;
/// Maximum size in bytes of a file that is treated as an image.
pub(crate) const LARGEST_FILE: u64 = 64 * 1024 * 1024;

impl ImageLimits {
    fn new(auto_resize: bool) -> Self {
        Self { side: auto_resize.then_some(LARGEST_SIDE), size: LARGEST_SIZE }
    }
}

/// Checks an image that a client sent as base64. With `auto_resize`, reduces an image that is too large for models.
///
/// Fails if the data is not a PNG, JPEG, GIF or WebP image in base64, is damaged, or has another type than declared.
/// Also fails if the image has too many pixels or bytes. Blocks, up to seconds for a large image. Images are processed
/// one at a time.
pub fn prepare_image(data: &str, mime_type: &str, auto_resize: bool) -> Result<PreparedImage, ImageError> {
    if data.len() as u64 > LARGEST_FILE / 3 * 4 {
        return Err(ImageError::Size { size: data.len() as u64, limit: LARGEST_SIZE });
    }
    let bytes = STANDARD.decode(data).map_err(|_| ImageError::Base64)?;
    let kind = Kind::of(&bytes).ok_or(ImageError::Unknown)?;
    let declared = mime_type.trim().to_ascii_lowercase();
    if declared != kind.mime_type() && !(declared == "image/jpg" && kind == Kind::Jpeg) {
        return Err(ImageError::Declared { declared: mime_type.to_owned(), found: kind.mime_type() });
    }
    prepare(&bytes, kind, ImageLimits::new(auto_resize))
}

/// Checks and reduces an image as [`prepare_image`] does, but from the bytes of a file.
pub(crate) fn prepare_file(bytes: &[u8], kind: Kind, auto_resize: bool) -> Result<PreparedImage, ImageError> {
    prepare(bytes, kind, ImageLimits::new(auto_resize))
}

/// Lock that permits one image at a time in the process. Several images at once would need too much memory.
static DECODE_LOCK: Mutex<()> = Mutex::new(());

fn prepare(bytes: &[u8], kind: Kind, bounds: ImageLimits) -> Result<PreparedImage, ImageError> {
    let _alone = DECODE_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    // Even an unchanged image is decoded: a service rejects a broken image, and with it every conversation
    // that contains the image.
    let image = decode::decode(bytes, kind)?;
    let original = (image.width(), image.height());
    let fits = bounds.side.is_none_or(|side| original.0.max(original.1) <= side);
    let size = base64_size(bytes.len());
    if fits && size <= bounds.size {
        let data = STANDARD.encode(bytes);
        return Ok(PreparedImage { data, mime_type: kind.mime_type(), resized: None });
    }
    let Some(side) = bounds.side else { return Err(ImageError::Size { size, limit: bounds.size }) };
    let small = shrink::shrink(image, kind, side, |length| base64_size(length) <= bounds.size)?;
    let Some(small) = small else { return Err(ImageError::Size { size, limit: bounds.size }) };
    let resized = ResizeInfo { original, shown: small.pixels };
    Ok(PreparedImage {
        data: STANDARD.encode(small.bytes),
        mime_type: small.kind.mime_type(),
        resized: (resized.original != resized.shown).then_some(resized),
    })
}

/// Returns the length of the base64 text for a number of bytes.
fn base64_size(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(3) * 4
}

#[cfg(test)]
mod tests;
