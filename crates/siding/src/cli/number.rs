//! Numbers of options, with their ranges.

use std::time::Duration;

/// A number from `least` to `most`; the error is a sentence.
pub fn number(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let value: Option<f64> = text.parse().ok().filter(|value| (least..=most).contains(value));
    value.ok_or_else(|| format!("expected a number from {least} to {most}"))
}

pub fn cycles(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1e9)
}

pub fn percent(text: &str) -> Result<f64, String> {
    number(text, 0.0, 100.0)
}

pub fn gigahertz(text: &str) -> Result<f64, String> {
    number(text, 0.001, 100.0)
}

/// A part of packets from percent, with or without the sign: `0.01%`.
pub fn loss(text: &str) -> Result<f64, String> {
    Ok(percent(text.trim_end_matches('%'))? / 100.0)
}

/// `10s`, `500ms`, `2m`, `1h`, or seconds without a unit; at least a millisecond.
pub fn duration(text: &str) -> Result<Duration, String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{unit}` is no unit of time; write 10s, 500ms or 2m")),
    };
    let seconds = number.parse().ok().map(|value: f64| value * factor);
    let seconds = seconds.filter(|seconds| (0.001..=1e9).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "write a time of at least 1ms, as 10s or 500ms".to_owned())
}
