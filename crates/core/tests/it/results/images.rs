//! Tests of images in results: scaled, kept or removed.

use std::io::Cursor;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{DynamicImage, ImageFormat, ImageReader, RgbImage, RgbaImage};
use serde_json::{Value, json};
use switchboard_core::results::{ImagePolicy, ResultPolicy};

use super::{Kit, is_same, raw};

fn encoded(image: &DynamicImage, format: ImageFormat) -> String {
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, format).unwrap();
    STANDARD.encode(file.into_inner())
}

fn plain(width: u32, height: u32) -> DynamicImage {
    RgbImage::from_fn(width, height, |x, y| image::Rgb([x.to_le_bytes()[0], y.to_le_bytes()[0], 7]))
        .into()
}

fn clear(width: u32, height: u32) -> DynamicImage {
    RgbaImage::from_fn(width, height, |x, _| {
        image::Rgba([1, 2, 3, [0, 255][usize::from(x % 2 == 1)]])
    })
    .into()
}

fn item(data: &str, mime: &str) -> switchboard_wire::json::Raw {
    raw(json!({"content":[{"type":"image","data":data,"mimeType":mime,"_meta":{"k":1}}]})
        .to_string())
}

fn policy(pixels: u32, bytes: usize) -> ResultPolicy {
    ResultPolicy { images: ImagePolicy::Scale { pixels, bytes }, ..ResultPolicy::local() }
}

#[tokio::test]
async fn large_images_are_scaled_and_stay_what_they_are() {
    let kit = Kit::new().await;
    for (image, format, mime, expected) in [
        (plain(400, 100), ImageFormat::Png, "image/png", ((200, 50), "image/png")),
        (plain(100, 400), ImageFormat::Jpeg, "image/jpeg", ((50, 200), "image/jpeg")),
        (clear(400, 100), ImageFormat::Png, "image/png", ((200, 50), "image/png")),
        (clear(400, 100), ImageFormat::Gif, "image/gif", ((200, 50), "image/png")),
        (plain(400, 100), ImageFormat::WebP, "image/webp", ((200, 50), "image/jpeg")),
        (plain(4000, 1), ImageFormat::Png, "image/png", ((200, 1), "image/png")),
        // What it claims to be does not matter.
        (plain(400, 100), ImageFormat::Png, "image/jpeg", ((200, 50), "image/png")),
    ] {
        let result = item(&encoded(&image, format), mime);
        let kept = kit.tool(&result, &policy(200, 5_000_000)).await;
        assert_eq!(kept.images_scaled, 1, "{format:?}");
        let after: Value = kept.result.decode().unwrap();
        let after = &after["content"][0];
        assert_eq!((&after["type"], &after["_meta"]), (&json!("image"), &json!({"k":1})));
        let file = STANDARD.decode(after["data"].as_str().unwrap()).unwrap();
        let reader = ImageReader::new(Cursor::new(file)).with_guessed_format().unwrap();
        let mime = reader.format().unwrap().to_mime_type();
        assert_eq!(after["mimeType"], json!(mime));
        assert_eq!((reader.into_dimensions().unwrap(), mime), expected, "{format:?}");
    }
}

#[tokio::test]
async fn what_fits_and_what_cannot_be_read_is_left() {
    let kit = Kit::new().await;
    let drawing = STANDARD.encode("<svg/>");
    for (data, mime) in [
        (encoded(&plain(200, 200), ImageFormat::Png), "image/png"),
        (encoded(&plain(200, 10), ImageFormat::Jpeg), "image/jpeg"),
        (drawing, "image/svg+xml"),
        ("!!!".to_owned(), "image/png"),
        (String::new(), ""),
    ] {
        let result = item(&data, mime);
        let kept = kit.tool(&result, &policy(200, 5_000_000)).await;
        assert!(is_same(&kept, &result) && kept.images_scaled == 0, "{mime}");
    }
}

/// Images are limited wherever results are: for a client that takes results of any size they pass.
#[tokio::test]
async fn the_limits_of_settings_count_where_results_are_limited() {
    let kit = Kit::new().await;
    let large = item(&encoded(&plain(2_000, 10), ImageFormat::Png), "image/png");
    let check = async |policy: ResultPolicy, scaled: usize| {
        let kept = kit.tool(&large, &policy).await;
        assert_eq!(kept.images_scaled, scaled, "{policy:?}");
        assert_eq!(is_same(&kept, &large), scaled == 0, "{policy:?}");
    };
    for policy in [
        ResultPolicy::local(),
        ResultPolicy::gateway(),
        ResultPolicy::gateway().with_usual_tokens(9),
    ] {
        check(policy, 1).await;
        check(policy.with_image_limits(Some(2_000), None), 0).await;
        check(policy.with_image_limits(Some(0), None), 0).await;
        check(policy.with_image_limits(None, Some(0)), 1).await;
        check(policy.with_image_limits(Some(2_000), Some(100)), 1).await;
    }
    check(ResultPolicy::unlimited(), 0).await;
    check(ResultPolicy::unlimited().with_image_limits(Some(1), Some(1)), 0).await;
    check(ResultPolicy::unlimited().with_usual_tokens(9), 0).await;
    check(ResultPolicy::gateway().with_usual_tokens(0), 0).await;
}

#[tokio::test]
async fn too_many_bytes_are_too_many() {
    let kit = Kit::new().await;
    let noise = RgbImage::from_fn(180, 180, |x, y| {
        let n = (x * 7919 + y * 104_729).wrapping_mul(2_654_435_761);
        let [_, r, g, b] = n.to_le_bytes();
        image::Rgb([r, g, b])
    });
    let result = item(&encoded(&noise.into(), ImageFormat::Png), "image/png");
    let kept = kit.tool(&result, &policy(200, 20_000)).await;
    let after: Value = kept.result.decode().unwrap();
    let data = after["content"][0]["data"].as_str().unwrap();
    assert!(kept.images_scaled == 1 && data.len() <= 20_000, "{}", data.len());

    let unread = item(&STANDARD.encode(vec![0; 30_000]), "image/x-none");
    let kept = kit.tool(&unread, &policy(200, 20_000)).await;
    let after: Value = kept.result.decode().unwrap();
    let note = "[an image (image/x-none, 40,000 bytes) was left out: it cannot be read]";
    assert_eq!(after["content"], json!([{"type":"text","text":note}]));
}

#[tokio::test]
async fn bombs_are_not_unpacked() {
    let kit = Kit::new().await;
    let gif = |side: u16| {
        let mut file = b"GIF89a".to_vec();
        file.extend(side.to_le_bytes());
        file.extend(side.to_le_bytes());
        file.extend([0x80, 0, 0, 0, 0, 0, 255, 255, 255]);
        file.extend([0x2c, 0, 0, 0, 0]);
        file.extend(side.to_le_bytes());
        file.extend(side.to_le_bytes());
        file.extend([0, 2, 2, 0x44, 1, 0, 0x3b]);
        STANDARD.encode(file)
    };
    for side in [16_000, 65_535] {
        let before = crate::logs::peak_memory();
        let kept = kit.tool(&item(&gif(side), "image/gif"), &ResultPolicy::local()).await;
        let after: Value = kept.result.decode().unwrap();
        let note =
            after["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{side}: {after}"));
        assert!(
            note.contains(&format!("an image of {side} × {side} pixels was left out")),
            "{note}"
        );
        assert!(crate::logs::peak_memory() - before < 400 * 1024 * 1024);
    }
}

/// An image that a tool embeds as a resource costs a model as much as any other. Contents of resources that a client reads
/// are data, and stay.
#[tokio::test]
async fn images_in_embedded_resources_are_scaled() {
    let kit = Kit::new().await;
    let data = encoded(&plain(400, 100), ImageFormat::Png);
    let resource = json!({ "uri": "file:///a.png", "mimeType": "image/png", "blob": data });
    let item =
        json!({ "type": "resource", "resource": resource, "annotations": { "priority": 1 } });
    let result = raw(json!({ "content": [item] }).to_string());
    let images = ImagePolicy::Scale { pixels: 200, bytes: 5_000_000 };
    let policy = ResultPolicy { images, ..ResultPolicy::gateway() };
    let kept = kit.tool(&result, &policy).await;
    assert_eq!(kept.images_scaled, 1);
    let after: Value = kept.result.decode().unwrap();
    let after = &after["content"][0];
    assert_eq!(
        (&after["resource"]["uri"], &after["annotations"]["priority"]),
        (&json!("file:///a.png"), &json!(1))
    );
    let file = STANDARD.decode(after["resource"]["blob"].as_str().unwrap()).unwrap();
    let reader = ImageReader::new(Cursor::new(file)).with_guessed_format().unwrap();
    assert_eq!(reader.into_dimensions().unwrap(), (200, 50));
    let other = json!({ "uri": "file:///a", "mimeType": "application/pdf", "blob": data });
    let other = raw(json!({ "content": [{ "type": "resource", "resource": other }] }).to_string());
    assert_eq!(kit.tool(&other, &policy).await.result, other);
}
