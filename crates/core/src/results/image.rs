//! Images that a model can look at: not larger than it would see them anyway.
//!
//! An image comes from a server and may be a bomb: its size is read before its pixels, and there are limits to
//! both. What cannot be read passes if it is small, and is taken out if it is not.

use std::io::Cursor;

use base64::Engine as _;
use fast_image_resize::{ResizeOptions, Resizer};
use image::{
    DynamicImage, ImageFormat, ImageReader, Limits,
    codecs::{jpeg::JpegEncoder, png::PngEncoder},
};
use switchboard_wire::json::{Edit, Raw, splice};

use super::{
    ImagePolicy, blob,
    content::{Content, PartKind},
    size::grouped,
};

/// The longest side that is decoded.
const LONGEST_SIDE: u32 = 16_384;
/// The most memory that decoding may take.
const MOST_MEMORY: u64 = 256 * 1024 * 1024;
/// The quality of a JPEG that is written.
const QUALITY: u8 = 85;
/// How often an image is made smaller still, by a quarter each time, if it has too many bytes.
const TRIES: u32 = 8;

/// What is to be done with an image.
enum Fit {
    /// It passes.
    Same,
    /// It is replaced by a smaller one.
    Scaled { data: String, mime: &'static str },
    /// It is replaced by words.
    Gone(String),
}

/// Makes every image of `content` fit; how many did not.
pub(super) fn fit_all(content: &mut Content<'_>, policy: ImagePolicy) -> usize {
    let ImagePolicy::Scale { pixels, bytes } = policy else { return 0 };
    let mut changed = 0;
    for at in 0..content.parts.len() {
        let PartKind::Image { data, mime } = &content.parts[at].kind else { continue };
        match fit(data, mime, pixels, bytes) {
            Fit::Same => continue,
            Fit::Scaled { data, mime } => match with_data(&content.parts[at].item, &data, mime) {
                Some(item) => content.replace(at, item),
                None => continue,
            },
            Fit::Gone(note) => content.replace_by_text(at, &note, ""),
        }
        changed += 1;
    }
    changed
}

/// The same item with other pixels; its annotations and `_meta` stay.
fn with_data(item: &str, data: &str, mime: &str) -> Option<String> {
    let (data, mime) = (Raw::string(data), Raw::string(mime));
    let edits = [Edit::set(&["data"], data.as_str()), Edit::set(&["mimeType"], mime.as_str())];
    splice(item, &edits).ok()
}

fn fit(data: &str, mime: &str, pixels: u32, bytes: usize) -> Fit {
    let encoded = data.len().saturating_sub(2);
    let unread = |why: &str| {
        if encoded <= bytes {
            return Fit::Same;
        }
        let kind = switchboard_wire::sanitize::line(mime);
        let size = grouped(encoded as u64);
        Fit::Gone(format!("[an image ({kind}, {size} bytes) was left out: {why}]"))
    };
    let Some(file) = blob::decoded(data) else { return unread("it is not base64") };
    let Some((format, width, height)) = facts(&file) else {
        return unread("it cannot be read");
    };
    if width.max(height) <= pixels && encoded <= bytes {
        return Fit::Same;
    }
    if width.max(height) > LONGEST_SIDE {
        return Fit::Gone(format!("[an image of {width} × {height} pixels was left out]"));
    }
    match decode(&file, format) {
        Some(image) => scaled(&image, format, pixels, bytes),
        None => Fit::Gone(format!(
            "[an image of {width} × {height} pixels was left out: it cannot be read]"
        )),
    }
}

/// What kind of image it is and how large, told from its first bytes.
fn facts(file: &[u8]) -> Option<(ImageFormat, u32, u32)> {
    let reader = ImageReader::new(Cursor::new(file)).with_guessed_format().ok()?;
    let format = reader.format()?;
    let (width, height) = reader.into_dimensions().ok()?;
    Some((format, width, height))
}

fn decode(file: &[u8], format: ImageFormat) -> Option<DynamicImage> {
    let mut limits = Limits::default();
    limits.max_image_width = Some(LONGEST_SIDE);
    limits.max_image_height = Some(LONGEST_SIDE);
    limits.max_alloc = Some(MOST_MEMORY);
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    reader.limits(limits);
    let image = reader.decode().ok()?;
    // Two layouts are all that scaling and writing have to know.
    Some(if image.color().has_alpha() {
        DynamicImage::ImageRgba8(image.into_rgba8())
    } else {
        DynamicImage::ImageRgb8(image.into_rgb8())
    })
}

fn scaled(image: &DynamicImage, format: ImageFormat, pixels: u32, bytes: usize) -> Fit {
    let long = image.width().max(image.height());
    let mut side = long.min(pixels);
    for _ in 0..TRIES {
        let Some((data, mime)) = resized(image, side).and_then(|small| write(&small, format))
        else {
            break;
        };
        if data.len() <= bytes {
            return Fit::Scaled { data, mime };
        }
        side = (side - side / 4).max(1);
    }
    Fit::Gone("[an image was left out: it could not be made small enough]".to_owned())
}

/// The image with its long side `side` pixels long.
fn resized(image: &DynamicImage, side: u32) -> Option<DynamicImage> {
    let long = image.width().max(image.height());
    if side == long {
        return Some(image.clone());
    }
    let scale = |length: u32| {
        let scaled = u64::from(length) * u64::from(side) / u64::from(long);
        u32::try_from(scaled).unwrap_or(side).max(1)
    };
    let mut small = DynamicImage::new(scale(image.width()), scale(image.height()), image.color());
    Resizer::new().resize(image, &mut small, &ResizeOptions::new()).ok()?;
    Some(small)
}

/// The image as base64. Screenshots and drawings stay exact; photographs stay small.
fn write(image: &DynamicImage, format: ImageFormat) -> Option<(String, &'static str)> {
    let mut file = Vec::new();
    let exact = format == ImageFormat::Png || image.color().has_alpha();
    let (written, mime) = if exact {
        (image.write_with_encoder(PngEncoder::new(&mut file)), "image/png")
    } else {
        (image.write_with_encoder(JpegEncoder::new_with_quality(&mut file, QUALITY)), "image/jpeg")
    };
    written.ok()?;
    Some((base64::engine::general_purpose::STANDARD.encode(&file), mime))
}
