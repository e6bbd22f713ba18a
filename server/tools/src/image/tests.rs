use std::io::Cursor;

use image::codecs::png::PngEncoder;
use image::{DynamicImage, ExtendedColorType, ImageEncoder, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};

use super::*;

fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// Returns an image that no encoder can compress.
fn noise(width: u32, height: u32) -> DynamicImage {
    let mut state = 1u32;
    RgbImage::from_fn(width, height, |_, _| {
        Rgb([(); 3].map(|()| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        }))
    })
    .into()
}

fn plain(width: u32, height: u32) -> DynamicImage {
    RgbImage::new(width, height).into()
}

fn pixels(prepared: &PreparedImage) -> (u32, u32) {
    let bytes = STANDARD.decode(&prepared.data).unwrap();
    let kind = Kind::of(&bytes).unwrap();
    assert_eq!(kind.mime_type(), prepared.mime_type);
    let image = decode::decode(&bytes, kind).unwrap();
    (image.width(), image.height())
}

fn prepared(bytes: &[u8], side: u32, size: u64) -> Result<PreparedImage, ImageError> {
    prepare(bytes, Kind::of(bytes).unwrap(), ImageLimits { side: Some(side), size })
}

#[test]
fn an_image_within_the_limits_stays_unchanged() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let bytes = encoded(&plain(20, 10), format);
        let data = STANDARD.encode(&bytes);
        let image = prepare_image(&data, format.to_mime_type(), true).unwrap();
        assert_eq!(image, PreparedImage { data, mime_type: format.to_mime_type(), resized: None });
    }
}

#[test]
fn an_image_with_too_many_pixels_is_reduced() {
    for (format, mime_type) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/png"),
        (ImageFormat::WebP, "image/png"),
    ] {
        let image = prepared(&encoded(&plain(90, 30), format), 40, 10_000).unwrap();
        assert_eq!(image.resized, Some(ResizeInfo { original: (90, 30), shown: (40, 13) }));
        assert_eq!((image.mime_type, pixels(&image)), (mime_type, (40, 13)));
        assert_eq!(
            image.resized.unwrap().note(),
            "[The image has 90x30 pixels and is shown with 40x13. Multiply coordinates by 2.25 for the original.]"
        );
    }
    let thin = prepared(&encoded(&plain(1, 90), ImageFormat::Png), 40, 10_000).unwrap();
    assert_eq!(pixels(&thin), (1, 40));
    let bytes = encoded(&plain(90, 30), ImageFormat::Png);
    let kept = prepare(&bytes, Kind::Png, ImageLimits { side: None, size: 10_000 }).unwrap();
    assert_eq!((kept.resized, pixels(&kept)), (None, (90, 30)));
}

#[test]
fn an_image_with_too_many_bytes_loses_quality_and_then_pixels() {
    let bytes = encoded(&noise(64, 64), ImageFormat::Png);
    let image = prepared(&bytes, 64, 6_000).unwrap();
    assert_eq!((image.mime_type, image.resized, pixels(&image)), ("image/jpeg", None, (64, 64)));
    let image = prepared(&bytes, 64, 1_600).unwrap();
    let shown = image.resized.unwrap().shown;
    assert!(image.data.len() <= 1_600 && shown.0 < 64 && shown == pixels(&image));
    let error = prepared(&bytes, 64, 100).unwrap_err();
    assert!(matches!(error, ImageError::Size { limit: 100, .. }), "{error}");
    let error = prepare(&bytes, Kind::Png, ImageLimits { side: None, size: 6_000 }).unwrap_err();
    assert!(matches!(error, ImageError::Size { .. }), "{error}");
}

#[test]
fn transparency_becomes_white_in_a_jpeg() {
    let mut clear = RgbaImage::from_pixel(64, 64, Rgba([0, 0, 0, 0]));
    noise(64, 32).to_rgba8().enumerate_pixels().for_each(|(x, y, pixel)| clear.put_pixel(x, y, *pixel));
    let image = prepared(&encoded(&clear.into(), ImageFormat::Png), 64, 6_000).unwrap();
    assert_eq!(image.mime_type, "image/jpeg");
    let bytes = STANDARD.decode(&image.data).unwrap();
    let seen = decode::decode(&bytes, Kind::Jpeg).unwrap().to_rgb8();
    assert!(seen.get_pixel(60, 60).0.iter().all(|&channel| channel > 240));
}

#[test]
fn a_turned_photograph_is_upright_after_a_resize() {
    let jpeg = encoded(&plain(90, 30), ImageFormat::Jpeg);
    // An APP1 segment after the start marker: TIFF, little endian, one tag: orientation 6.
    let exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    let mut turned = jpeg[..2].to_vec();
    turned.extend([0xff, 0xe1, 0, exif.len() as u8 + 2]);
    turned.extend(exif);
    turned.extend(&jpeg[2..]);
    let image = prepared(&turned, 40, 10_000).unwrap();
    assert_eq!(image.resized, Some(ResizeInfo { original: (30, 90), shown: (13, 40) }));
}

/// Checks images whose headers declare many pixels but which have little data.
#[test]
fn fm_f90_bombs_are_refused_by_their_header() {
    let mut png = Vec::new();
    PngEncoder::new(&mut png).write_image(&[0], 1, 1, ExtendedColorType::L8).unwrap();
    png[16..24].copy_from_slice(&[0, 0, 0xc3, 0x50, 0, 0, 0xc3, 0x50]);
    let checksum = crc32(&png[12..29]);
    png[29..33].copy_from_slice(&checksum.to_be_bytes());

    let mut gif = encoded(&plain(1, 1), ImageFormat::Gif);
    gif[6..10].fill(0xff);

    let mut jpeg = encoded(&plain(8, 8), ImageFormat::Jpeg);
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].fill(0xff);

    // Lossless WebP: after the signature 0x2f two times fourteen bits, each the side less one.
    let webp =
        [b"RIFF\x16\0\0\0WEBPVP8L\x0a\0\0\0\x2f".as_slice(), &[0xfe, 0xbf, 0xff, 0x0f], &[0; 5]].concat();

    for (bytes, sides) in
        [(png, (50_000, 50_000)), (gif, (65_535, 65_535)), (jpeg, (65_535, 65_535)), (webp, (16_383, 16_383))]
    {
        let kind = Kind::of(&bytes).unwrap();
        match prepare_file(&bytes, kind, true) {
            Err(ImageError::Dimensions { width, height }) => assert_eq!((width, height), sides),
            other => panic!("{kind:?}: {other:?}"),
        }
    }
}

/// Returns the checksum of PNG chunks.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    })
}

#[test]
fn fm_f90_broken_images_are_errors_and_no_panics() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let bytes = encoded(&noise(16, 16), format);
        let kind = Kind::of(&bytes).unwrap();
        let cut = prepare_file(&bytes[..MAGIC_LENGTH.max(bytes.len() / 8)], kind, true);
        assert!(matches!(cut, Err(ImageError::Broken(_))), "{format:?}: {cut:?}");
        // Damage at any position causes at most an error.
        for at in MAGIC_LENGTH..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] = !damaged[at];
            let _ = prepare_file(&damaged, kind, true);
        }
    }
}

#[test]
fn fm_f128_an_error_describes_the_problem_of_a_prompts_image() {
    let png = STANDARD.encode(encoded(&plain(2, 2), ImageFormat::Png));
    for (data, mime_type, words) in [
        ("not base64!", "image/png", "not valid base64"),
        (&png[..png.len() - 1], "image/png", "not valid base64"),
        ("data:image/png;base64,AAAA", "image/png", "not valid base64"),
        ("", "image/png", "not a PNG, JPEG, GIF or WebP"),
        ("aGk=", "image/png", "not a PNG, JPEG, GIF or WebP"),
        (&png, "image/jpeg", "declared as image/jpeg, but its data is image/png"),
        (&png, "", "declared as , but its data is image/png"),
        ("iVBORw0KGgowMTIzNDU2Nzg5", "image/png", "cannot be decoded"),
    ] {
        let error = prepare_image(data, mime_type, true).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    assert!(prepare_image(&png, "Image/PNG", true).is_ok());
    let large = "A".repeat(90_000_000);
    let error = prepare_image(&large, "image/png", true).unwrap_err();
    assert!(error.to_string().contains("85.8MB as base64, more than the 4.5MB"), "{error}");
}
