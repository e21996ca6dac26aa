//! Scales images in results down to the size at which a model sees them.
//!
//! Used by `results`, on worker threads. An image comes from a server and may be a decompression bomb: its
//! dimensions are read before its pixels, and both are limited. An image that cannot be decoded passes if it is
//! small, and is removed otherwise.

use std::io::Cursor;

use base64::Engine as _;
use fast_image_resize::{ResizeOptions, Resizer};
use image::{
    DynamicImage, ImageFormat, ImageReader, Limits,
    codecs::{jpeg::JpegEncoder, png::PngEncoder},
};
use switchboard_wire::json::{JsonEdit, Raw, splice};

use super::{
    BlobPolicy, ImagePolicy, blob,
    content::{PartKind, ResultContent},
    size::group_thousands,
};

/// The longest side of an image that is decoded.
const MAX_SIDE_PIXELS: u32 = 16_384;
/// How much memory decoding may take.
const MAX_DECODE_BYTES: u64 = 256 * 1024 * 1024;
/// The quality of JPEG files that are written.
const JPEG_QUALITY: u8 = 85;
/// How often an image that has too many bytes is made smaller, by a quarter each time.
const MAX_SHRINK_ATTEMPTS: u32 = 8;

/// How an image is made to fit.
enum ImageFit {
    /// The image passes.
    Same,
    /// A smaller image replaces it.
    Scaled { data: String, mime: &'static str },
    /// A text replaces it.
    Gone(String),
}

/// The member that holds the image.
#[derive(Debug, Clone, Copy)]
enum ImagePlace {
    /// `data` of an image item.
    Item,
    /// `resource.blob`: a resource that a tool has embedded in its result.
    EmbeddedResource,
}

/// Makes every image of `content` fit, and returns how many did not. Includes images in embedded resources where
/// blobs stay in the result.
pub(super) fn fit_images(
    content: &mut ResultContent<'_>,
    policy: ImagePolicy,
    blobs: BlobPolicy,
) -> usize {
    let ImagePolicy::Scale { pixels, bytes } = policy else { return 0 };
    let mut changed = 0;
    for at in 0..content.parts.len() {
        let (place, data, mime) = match &content.parts[at].kind {
            PartKind::Image { data, mime } => (ImagePlace::Item, data, mime),
            PartKind::Blob { blob, mime, .. }
                if blobs == BlobPolicy::Leave
                    && content.is_of_tool()
                    && mime.starts_with("image/") =>
            {
                (ImagePlace::EmbeddedResource, blob, mime)
            }
            _ => continue,
        };
        match fit(data, mime, pixels, bytes) {
            ImageFit::Same => continue,
            ImageFit::Scaled { data, mime } => {
                match with_data(&content.parts[at].item, place, &data, mime) {
                    Some(item) => content.replace(at, item),
                    None => continue,
                }
            }
            ImageFit::Gone(note) => content.replace_by_text(at, &note, ""),
        }
        changed += 1;
    }
    changed
}

/// The item with another image; its annotations and `_meta` stay.
fn with_data(item: &str, place: ImagePlace, data: &str, mime: &str) -> Option<String> {
    let (data, mime) = (Raw::string(data), Raw::string(mime));
    let (data_path, mime_path): (&[&str], &[&str]) = match place {
        ImagePlace::Item => (&["data"], &["mimeType"]),
        ImagePlace::EmbeddedResource => (&["resource", "blob"], &["resource", "mimeType"]),
    };
    let edits = [JsonEdit::set(data_path, data.as_str()), JsonEdit::set(mime_path, mime.as_str())];
    splice(item, &edits).ok()
}

fn fit(data: &str, mime: &str, pixels: u32, bytes: usize) -> ImageFit {
    let encoded = data.len().saturating_sub(2);
    let unread = |why: &str| {
        if encoded <= bytes {
            return ImageFit::Same;
        }
        let kind = switchboard_wire::sanitize::sanitize_line(mime);
        let size = group_thousands(encoded as u64);
        ImageFit::Gone(format!("[an image ({kind}, {size} bytes) was left out: {why}]"))
    };
    let Some(file) = blob::decode_base64(data) else { return unread("it is not base64") };
    let Some((format, width, height)) = facts(&file) else {
        return unread("it cannot be read");
    };
    if width.max(height) <= pixels && encoded <= bytes {
        return ImageFit::Same;
    }
    if width.max(height) > MAX_SIDE_PIXELS {
        return ImageFit::Gone(format!("[an image of {width} × {height} pixels was left out]"));
    }
    match decode(&file, format) {
        Some(image) => scale_image(&image, format, pixels, bytes),
        None => ImageFit::Gone(format!(
            "[an image of {width} × {height} pixels was left out: it cannot be read]"
        )),
    }
}

/// Reads the format and dimensions from the first bytes.
fn facts(file: &[u8]) -> Option<(ImageFormat, u32, u32)> {
    let reader = ImageReader::new(Cursor::new(file)).with_guessed_format().ok()?;
    let format = reader.format()?;
    let (width, height) = reader.into_dimensions().ok()?;
    Some((format, width, height))
}

fn decode(file: &[u8], format: ImageFormat) -> Option<DynamicImage> {
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE_PIXELS);
    limits.max_image_height = Some(MAX_SIDE_PIXELS);
    limits.max_alloc = Some(MAX_DECODE_BYTES);
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    reader.limits(limits);
    let image = reader.decode().ok()?;
    // Scaling and encoding support these two pixel layouts.
    Some(if image.color().has_alpha() {
        DynamicImage::ImageRgba8(image.into_rgba8())
    } else {
        DynamicImage::ImageRgb8(image.into_rgb8())
    })
}

fn scale_image(image: &DynamicImage, format: ImageFormat, pixels: u32, bytes: usize) -> ImageFit {
    let long = image.width().max(image.height());
    let mut side = long.min(pixels);
    for _ in 0..MAX_SHRINK_ATTEMPTS {
        let Some((data, mime)) = resize_image(image, side).and_then(|small| write(&small, format))
        else {
            break;
        };
        if data.len() <= bytes {
            return ImageFit::Scaled { data, mime };
        }
        side = (side - side / 4).max(1);
    }
    ImageFit::Gone("[an image was left out: it could not be made small enough]".to_owned())
}

/// Scales the image so that its long side has `side` pixels.
fn resize_image(image: &DynamicImage, side: u32) -> Option<DynamicImage> {
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

/// Encodes the image as base64: PNG and images with transparency as PNG, which stays exact, all others as JPEG,
/// which stays small.
fn write(image: &DynamicImage, format: ImageFormat) -> Option<(String, &'static str)> {
    let mut file = Vec::new();
    let exact = format == ImageFormat::Png || image.color().has_alpha();
    let (written, mime) = if exact {
        (image.write_with_encoder(PngEncoder::new(&mut file)), "image/png")
    } else {
        (
            image.write_with_encoder(JpegEncoder::new_with_quality(&mut file, JPEG_QUALITY)),
            "image/jpeg",
        )
    };
    written.ok()?;
    Some((base64::engine::general_purpose::STANDARD.encode(&file), mime))
}
