//! Reduction of the pixels and bytes of an image.

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, Rgb, RgbImage};

use super::decode::broken;
use super::error::ImageError;
use super::kind::Kind;

/// JPEG qualities, which are tried in this order until the image is small enough.
const QUALITIES: [u8; 4] = [80, 70, 55, 40];
/// Scales, which are tried in this order. For each scale, all qualities are tried.
const SCALES: [f64; 5] = [1.0, 0.75, 0.5, 0.35, 0.25];

/// A reduced image.
pub(super) struct ReducedImage {
    pub bytes: Vec<u8>,
    pub kind: Kind,
    pub pixels: (u32, u32),
}

/// Returns the image with at most `side` pixels in width and height, and with a number of bytes for which
/// `fit` returns true. Returns `None` if this is not possible.
///
/// PNG, GIF and WebP images are usually drawings, so they become PNG without loss if this is small enough.
/// All other images become JPEG, with white in place of transparency.
pub(super) fn shrink(
    image: DynamicImage,
    kind: Kind,
    side: u32,
    fit: impl Fn(usize) -> bool,
) -> Result<Option<ReducedImage>, ImageError> {
    let largest = side.min(image.width().max(image.height()));
    let whole = scaled(image, largest);
    for scale in SCALES {
        let image = match scale {
            1.0 => whole.clone(),
            _ => scaled(whole.clone(), (f64::from(largest) * scale).round() as u32),
        };
        let pixels = (image.width(), image.height());
        if kind != Kind::Jpeg {
            let mut bytes = Vec::new();
            image.write_with_encoder(PngEncoder::new(&mut bytes)).map_err(broken)?;
            if fit(bytes.len()) {
                return Ok(Some(ReducedImage { bytes, kind: Kind::Png, pixels }));
            }
        }
        let opaque = on_white(image);
        for quality in QUALITIES {
            let mut bytes = Vec::new();
            opaque.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, quality)).map_err(broken)?;
            if fit(bytes.len()) {
                return Ok(Some(ReducedImage { bytes, kind: Kind::Jpeg, pixels }));
            }
        }
    }
    Ok(None)
}

/// Returns the image scaled so that its longer side has `largest` pixels, with eight bits per channel.
fn scaled(image: DynamicImage, largest: u32) -> DynamicImage {
    let (width, height) = (image.width(), image.height());
    let factor = f64::from(largest.max(1)) / f64::from(width.max(height).max(1));
    let new = |side: u32| ((f64::from(side) * factor).round() as u32).max(1);
    let (new_width, new_height) = (new(width), new(height));
    // The memory of the good filter grows with the old width; a coarse step before it takes no memory and is
    // fast.
    let image = if width > 2 * new_width && height > 2 * new_height {
        image.thumbnail_exact(2 * new_width, 2 * new_height)
    } else {
        image
    };
    let image = match (image.width(), image.height()) == (new_width, new_height) {
        true => image,
        false => image.resize_exact(new_width, new_height, FilterType::CatmullRom),
    };
    if image.color().has_alpha() { image.into_rgba8().into() } else { image.into_rgb8().into() }
}

fn on_white(image: DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.into_rgb8();
    }
    let image = image.into_rgba8();
    RgbImage::from_fn(image.width(), image.height(), |x, y| {
        let [red, green, blue, alpha] = image.get_pixel(x, y).0.map(u32::from);
        Rgb([red, green, blue].map(|channel| ((channel * alpha + 255 * (255 - alpha) + 127) / 255) as u8))
    })
}
