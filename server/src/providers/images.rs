//! Images that go to a model.

use agentese::types::ImageContent;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The largest image that providers take, in bytes before base64.
const LARGEST: usize = 20 * 1024 * 1024;

/// Whether bytes are of a kind.
type Begins = fn(&[u8]) -> bool;

/// The kinds that all providers read, and how their bytes begin.
const KINDS: &[(&str, Begins)] = &[
    ("image/png", |bytes| bytes.starts_with(b"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", |bytes| bytes.starts_with(b"\xff\xd8\xff")),
    ("image/gif", |bytes| bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a")),
    ("image/webp", |bytes| bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP")),
];

/// An image that no provider would take. `index` counts from 0 among the images of the prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("image {index} {reason}")]
pub struct BadImage {
    /// Which one.
    pub index: usize,
    /// Why.
    pub reason: String,
}

/// Checks the images of a prompt: base64, a kind that providers read, bytes of that kind, and not too
/// large. A provider refuses a conversation for one such image, and then for as long as it is in it.
pub fn check_images(images: &[ImageContent]) -> Result<(), BadImage> {
    for (index, image) in images.iter().enumerate() {
        check(image).map_err(|reason| BadImage { index, reason })?;
    }
    Ok(())
}

fn check(image: &ImageContent) -> Result<(), String> {
    let Some((_, begins)) = KINDS.iter().find(|(kind, _)| *kind == image.mime_type) else {
        let known = KINDS.iter().map(|(kind, _)| *kind).collect::<Vec<_>>().join(", ");
        return Err(format!("is of a kind that models do not read; they read {known}"));
    };
    if image.data.len() / 4 * 3 > LARGEST + 3 {
        return Err(format!("is larger than {} MiB", LARGEST / 1024 / 1024));
    }
    let Ok(bytes) = STANDARD.decode(&image.data) else { return Err("is no base64".to_owned()) };
    match KINDS.iter().find(|(_, begins)| begins(&bytes)) {
        _ if begins(&bytes) => Ok(()),
        Some((found, _)) => Err(format!("is {found}, not {} as it says", image.mime_type)),
        None => Err(format!("is no {}", image.mime_type)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fm_f128_an_image_that_no_provider_would_take_is_refused_by_its_index() {
        let png = STANDARD.encode(b"\x89PNG\r\n\x1a\nrest");
        let good = ImageContent::new(png.clone(), "image/png");
        let error = |data: &str, kind: &str| {
            check_images(&[good.clone(), ImageContent::new(data, kind)]).unwrap_err().to_string()
        };
        assert_eq!(check_images(std::slice::from_ref(&good)), Ok(()));
        assert_eq!(error("%%%", "image/png"), "image 1 is no base64");
        assert_eq!(error("", "image/png"), "image 1 is no image/png");
        assert_eq!(error(&png, "image/jpeg"), "image 1 is image/png, not image/jpeg as it says");
        assert!(error(&png, "application/pdf").starts_with("image 1 is of a kind that models do not read"));
        let large = "A".repeat((LARGEST + 8) / 3 * 4);
        assert_eq!(error(&large, "image/png"), "image 1 is larger than 20 MiB");
    }
}
