//! Numbers of options, with their ranges.

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
