//! An hourly forecast of open-meteo, summarized in sentences.
//!
//! Used by the tool `get_weather`. It does not fetch the forecast.

use std::fmt::Write as _;

use serde::Deserialize;
use switchboard_plugin_sdk::{Failure, Result};

#[derive(Debug, Deserialize)]
pub(crate) struct Forecast {
    hourly: Hourly,
    hourly_units: Units,
}

#[derive(Debug, Deserialize)]
struct Hourly {
    time: Vec<String>,
    temperature_2m: Vec<Option<f64>>,
}

#[derive(Debug, Deserialize)]
struct Units {
    temperature_2m: String,
}

/// An hour of the day, and its temperature.
type Hour = (usize, f64);

/// The parts of a day, with their first hour and the first hour after them.
const PARTS: [(&str, usize, usize); 3] =
    [("Morning", 6, 12), ("Afternoon", 12, 18), ("Evening", 18, 24)];

// === impl Forecast ===

impl Forecast {
    pub(crate) fn tell(&self, city: &str) -> Result<String> {
        let hours = self.hours();
        let (coldest, warmest) = extremes(&hours)
            .ok_or_else(|| Failure::new(format!("there is no forecast for {city} today")))?;
        let unit = &self.hourly_units.temperature_2m;
        let mut told = format!("Weather in {city} today\n");
        for (part, from, to) in PARTS {
            if let Some(average) = average(&hours, from, to) {
                let _ = writeln!(told, "{part}: {average:.1} {unit} on average");
            }
        }
        let _ = writeln!(told, "Maximum: {:.1} {unit} at {:02}:00", warmest.1, warmest.0);
        let _ = writeln!(told, "Minimum: {:.1} {unit} at {:02}:00", coldest.1, coldest.0);
        let _ = write!(
            told,
            "In {city} it will be between {:.1} and {:.1} {unit}, warmest around {:02}:00.",
            coldest.1, warmest.1, warmest.0
        );
        Ok(told)
    }

    /// The hours with a temperature; the service omits unknown ones.
    fn hours(&self) -> Vec<Hour> {
        let hour = |time: &String| time.split_once('T')?.1.get(..2)?.parse().ok();
        let all = self.hourly.time.iter().zip(&self.hourly.temperature_2m);
        all.filter_map(|(time, degrees)| Some((hour(time)?, (*degrees)?))).collect()
    }
}

fn extremes(hours: &[Hour]) -> Option<(Hour, Hour)> {
    let coldest = hours.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let warmest = hours.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((coldest, warmest))
}

#[expect(clippy::cast_precision_loss, reason = "a day has few hours")]
fn average(hours: &[Hour], from: usize, to: usize) -> Option<f64> {
    let part: Vec<f64> = hours
        .iter()
        .filter(|(hour, _)| (from..to).contains(hour))
        .map(|(_, value)| *value)
        .collect();
    (!part.is_empty()).then(|| part.iter().sum::<f64>() / part.len() as f64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// An answer of the service, shortened.
    const ANSWER: &str = r#"{"latitude":43.1,"longitude":12.38,"generationtime_ms":0.02,
        "utc_offset_seconds":3600,"timezone":"Europe/Rome","timezone_abbreviation":"GMT+1",
        "elevation":493.0,"hourly_units":{"time":"iso8601","temperature_2m":"°C"},
        "hourly":{"time":["2026-11-15T00:00","2026-11-15T06:00","2026-11-15T11:00",
            "2026-11-15T12:00","2026-11-15T15:00","2026-11-15T20:00","2026-11-15T23:00"],
        "temperature_2m":[4.0,3.0,9.0,12.0,14.0,8.0,null]}}"#;

    #[test]
    fn a_day_is_told_in_sentences() {
        let forecast: Forecast = serde_json::from_str(ANSWER).unwrap();
        let told = forecast.tell("Perugia").unwrap();
        let expected = "Weather in Perugia today\nMorning: 6.0 °C on average\n\
            Afternoon: 13.0 °C on average\nEvening: 8.0 °C on average\n\
            Maximum: 14.0 °C at 15:00\nMinimum: 3.0 °C at 06:00\n\
            In Perugia it will be between 3.0 and 14.0 °C, warmest around 15:00.";
        assert_eq!(told, expected);
        let empty =
            r#"{"hourly_units":{"temperature_2m":"K"},"hourly":{"time":[],"temperature_2m":[]}}"#;
        let empty: Forecast = serde_json::from_str(empty).unwrap();
        assert!(empty.tell("Nowhere").is_err());
    }
}
