//! Axes: where figures lie, and the marks with labels.

use super::{Across, Upwards};

pub(super) struct Axis {
    /// The ends of the axis, on its scale.
    first: f64,
    last: f64,
    /// The ends in the picture.
    ends: [f64; 2],
    pub is_logarithmic: bool,
    /// Figures with a mark, ascending.
    pub marks: Vec<f64>,
}

impl Axis {
    pub fn across(figures: impl Iterator<Item = f64>, across: Across, ends: [f64; 2]) -> Axis {
        let figures: Vec<f64> = figures.collect();
        let most = figures.iter().copied().fold(1.0, f64::max);
        match across {
            Across::Linear => {
                let (last, step) = round_steps(most);
                Axis { first: 0.0, last, ends, is_logarithmic: false, marks: steps(last, step.max(1.0)) }
            }
            Across::Logarithmic => {
                let mut marks: Vec<f64> = figures.iter().map(|x| x.max(1.0).floor()).collect();
                marks.sort_unstable_by(f64::total_cmp);
                marks.dedup();
                let first = marks.first().map_or(0.0, |x| x.log10());
                Axis { first, last: most.log10(), ends, is_logarithmic: true, marks }
            }
        }
    }

    pub fn upwards(figures: impl Iterator<Item = f64>, upwards: Upwards, ends: [f64; 2]) -> Axis {
        let figures: Vec<f64> = figures.collect();
        let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if is_logarithmic(figures.iter().copied(), upwards) {
            let least = least_positive(figures.iter().copied());
            let (first, last) = (below(least), above(most));
            let decades = least.log10().floor() as i32..=most.log10().ceil() as i32;
            let fine = if decades.clone().count() <= 4 { &[1.0, 2.0, 5.0][..] } else { &[1.0] };
            let marks = decades.flat_map(|power| fine.iter().map(move |digit| digit * 10f64.powi(power)));
            let within = |mark: &f64| *mark >= first * 0.999 && *mark <= last * 1.001;
            let marks = marks.filter(within).collect();
            return Axis { first: first.log10(), last: last.log10(), ends, is_logarithmic: true, marks };
        }
        let (last, step) = round_steps(if most > 0.0 { most } else { 1.0 });
        Axis { first: 0.0, last, ends, is_logarithmic: false, marks: steps(last, step) }
    }

    /// The position of a figure in the picture.
    pub fn at(&self, figure: f64) -> f64 {
        let scaled = match self.is_logarithmic {
            true => figure.max(f64::MIN_POSITIVE).log10(),
            false => figure,
        };
        let part =
            if self.last > self.first { (scaled - self.first) / (self.last - self.first) } else { 0.5 };
        self.ends[0] + part.clamp(0.0, 1.0) * (self.ends[1] - self.ends[0])
    }
}

/// True when figures stand on a logarithmic axis.
pub(super) fn is_logarithmic(figures: impl Iterator<Item = f64> + Clone, upwards: Upwards) -> bool {
    let most = figures.clone().fold(f64::NEG_INFINITY, f64::max);
    upwards == Upwards::BySpan && most / least_positive(figures) > 10.0
}

/// Infinite when there is none.
fn least_positive(figures: impl Iterator<Item = f64>) -> f64 {
    figures.filter(|figure| *figure > 0.0).fold(f64::INFINITY, f64::min)
}

/// The largest of 1, 2, 5, 10, ... that is not above the figure.
fn below(figure: f64) -> f64 {
    let power = 10f64.powf(figure.log10().floor());
    [5.0, 2.0].map(|digit| digit * power).into_iter().find(|mark| *mark <= figure).unwrap_or(power)
}

/// The smallest of 1, 2, 5, 10, ... that is not below the figure.
fn above(figure: f64) -> f64 {
    let power = 10f64.powf(figure.log10().floor());
    [1.0, 2.0, 5.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(|mark| *mark >= figure)
        .unwrap_or(10.0 * power)
}

fn steps(last: f64, step: f64) -> Vec<f64> {
    (0..=(last / step).round() as u32).map(|i| f64::from(i) * step).collect()
}

/// Rounds up to a multiple of a round step; returns it and the step.
fn round_steps(most: f64) -> (f64, f64) {
    let power = 10f64.powf(most.log10().floor());
    let step = [0.2, 0.5, 1.0, 2.0].map(|s| s * power).into_iter().find(|s| most / s <= 8.0).unwrap_or(power);
    ((most / step).ceil() * step, step)
}

/// A figure in three digits.
pub(super) fn label(figure: f64) -> String {
    let digits = if figure == 0.0 { 0 } else { (2 - figure.abs().log10().floor() as i32).clamp(0, 6) };
    let text = format!("{figure:.*}", digits as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_round() {
        assert_eq!(round_steps(4.0), (4.0, 0.5));
        assert_eq!(round_steps(37.0), (40.0, 5.0));
        assert_eq!(round_steps(99.0), (100.0, 20.0));
        assert_eq!((below(3.7), above(3.7)), (2.0, 5.0));
        assert_eq!((below(0.07), above(70.0)), (0.05, 100.0));
    }

    #[test]
    fn labels_are_short() {
        assert_eq!([0.0, 0.05, 2.5, 1000.0, 12_345.6].map(label), ["0", "0.05", "2.5", "1000", "12346"]);
    }

    #[test]
    fn decades_have_marks_within_the_axis() {
        let axis = Axis::upwards([0.3, 30.0].into_iter(), Upwards::BySpan, [0.0, 1.0]);
        assert_eq!(
            axis.marks.iter().map(|m| label(*m)).collect::<Vec<_>>(),
            ["0.2", "0.5", "1", "2", "5", "10", "20", "50"]
        );
    }
}
