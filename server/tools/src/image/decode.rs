//! Decoding of images, within limits.

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder, ImageReader, Limits};

use super::error::ImageError;
use super::kind::Kind;

/// Maximum number of pixels on a side of a decoded image.
const LARGEST_SIDE: u32 = 65_535;
/// Maximum number of pixels of an image: cameras produce up to fifty million.
const MOST_PIXELS: u64 = 50_500_000;
/// Memory limit of a decoder, in bytes.
const MOST_MEMORY: u64 = 512 * 1024 * 1024;

/// Decodes an image and rotates it according to its metadata. Of an animation, decodes the first picture. If
/// the header declares too many pixels, fails before decoding.
pub(super) fn decode(bytes: &[u8], kind: Kind) -> Result<DynamicImage, ImageError> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), kind.format());
    // The sides are checked below, so that the error contains them.
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MOST_MEMORY);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let too_many = width.max(height) > LARGEST_SIDE || u64::from(width) * u64::from(height) > MOST_PIXELS;
    if too_many || decoder.total_bytes() > MOST_MEMORY {
        return Err(ImageError::Dimensions { width, height });
    }
    if width == 0 || height == 0 {
        return Err(ImageError::Broken("it has no pixels".to_owned()));
    }
    let orientation = decoder.orientation().map_err(broken)?;
    let mut image = DynamicImage::from_decoder(decoder).map_err(broken)?;
    image.apply_orientation(orientation);
    Ok(image)
}

pub(super) fn broken(error: image::ImageError) -> ImageError {
    ImageError::Broken(error.to_string())
}
