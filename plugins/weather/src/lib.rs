//! A plugin with one tool: today's weather, from the forecast of open-meteo.
//!
//! Built into `switchboard` and used as an example of HTTP requests in a plugin.

mod forecast;

use std::time::Duration;

use http::HeaderMap;
use switchboard_plugin_sdk::{Context, Failure, Result, plugin, tool};
use switchboard_wire::http::{
    EndpointOptions, HttpEndpoint, HttpError, HttpPool, HttpPoolOptions, HttpResponse, ResponseBody,
};
use url::Url;

use forecast::Forecast;

/// The environment variable with another base URL.
const BASE: &str = "SWITCHBOARD_WEATHER_URL";
const USUAL_BASE: &str = "https://api.open-meteo.com";
const PATIENCE: Duration = Duration::from_secs(15);
/// How often cancellation is checked.
const LOOK: Duration = Duration::from_millis(20);

/// Tells today's weather in a city: averages for morning, afternoon and evening, the extremes, and a summary.
#[tool(read_only, open_world)]
fn get_weather(
    /// The name of the city
    city: String,
    /// Its latitude in degrees
    latitude: String,
    /// Its longitude in degrees
    longitude: String,
    cx: &Context,
) -> Result<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a plugin runs in a process of its own and has no other settings"
    )]
    let base = std::env::var(BASE).unwrap_or_else(|_| USUAL_BASE.to_owned());
    let url = place(&base, &latitude, &longitude)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let body = runtime.block_on(async {
        tokio::select! {
            body = tokio::time::timeout(PATIENCE, fetch(url)) => {
                body.map_err(|_| unreachable(&base, "it takes too long"))?
                    .map_err(|error| unreachable(&base, &error.to_string()))
            }
            () = given_up(cx) => Err(Failure::Cancelled),
        }
    })?;
    let forecast: Forecast = serde_json::from_slice(&body)
        .map_err(|error| unreachable(&base, &format!("its answer is no forecast: {error}")))?;
    forecast.tell(&city)
}

fn place(base: &str, latitude: &str, longitude: &str) -> Result<Url> {
    let degrees = |name: &str, text: &str, most: f64| match text.trim().parse::<f64>() {
        Ok(degrees) if degrees.abs() <= most => Ok(degrees.to_string()),
        _ => Err(Failure::new(format!("`{name}` must be a number from -{most} to {most}"))),
    };
    let mut url = Url::parse(base)?.join("/v1/forecast")?;
    url.query_pairs_mut()
        .append_pair("latitude", &degrees("latitude", latitude, 90.0)?)
        .append_pair("longitude", &degrees("longitude", longitude, 180.0)?)
        .append_pair("hourly", "temperature_2m")
        .append_pair("forecast_days", "1")
        .append_pair("timezone", "auto");
    Ok(url)
}

async fn fetch(url: Url) -> std::result::Result<Vec<u8>, HttpError> {
    let pool = HttpPool::new(&HttpPoolOptions::default())?;
    let answer: HttpResponse =
        HttpEndpoint::new(pool, url, EndpointOptions::default()).get(HeaderMap::new()).await?;
    Ok(match answer.body {
        ResponseBody::Json(text) | ResponseBody::Other { text, .. } => text.to_vec(),
        ResponseBody::Empty | ResponseBody::Events(_) => Vec::new(),
    })
}

async fn given_up(cx: &Context) {
    while !cx.is_cancelled() {
        tokio::time::sleep(LOOK).await;
    }
}

fn unreachable(base: &str, why: &str) -> Failure {
    Failure::new(format!("the weather service at {base} cannot be asked: {why}"))
}

plugin! { name: "weather", version: env!("CARGO_PKG_VERSION"), items: [get_weather] }

#[cfg(feature = "export")]
switchboard_plugin_sdk::export!();
