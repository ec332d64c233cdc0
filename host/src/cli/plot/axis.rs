//! The ranges of axes, and round numbers on them.

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Scale {
    Linear,
    /// Points that are not positive are left out.
    Logarithmic,
}

impl Scale {
    /// The place of a value; not finite if it has none.
    pub(super) fn of(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic if value > 0.0 => value.log10(),
            Self::Logarithmic => f64::NAN,
        }
    }
}

/// Round numbers between the least and the largest of some values, about as many as asked for, and their texts.
pub(in crate::cli) fn round_levels(
    values: impl Iterator<Item = f64>,
    count: f64,
) -> Vec<(f64, String)> {
    let axis = Axis::tight(values, count);
    let mut levels = axis.ticks();
    levels.retain(|(value, _)| *value > axis.min && *value < axis.max);
    levels
}

/// The range of an axis, and the distance of its ticks.
pub(super) struct Axis {
    min: f64,
    max: f64,
    step: f64,
}

impl Axis {
    /// From the smallest to the largest value.
    pub(super) fn tight(values: impl Iterator<Item = f64>, ticks: f64) -> Self {
        let (min, max) = range(values);
        Self {
            min,
            max,
            step: nice((max - min) / ticks),
        }
    }

    /// From the tick at or below the smallest value to the tick at or above the largest.
    pub(super) fn rounded(values: impl Iterator<Item = f64>, ticks: f64) -> Self {
        let (min, max) = range(values);
        let step = nice((max - min) / ticks);
        // A value that is a tick but for roundoff does not open another interval.
        Self {
            min: (min / step + 1e-9).floor() * step,
            max: (max / step - 1e-9).ceil() * step,
            step,
        }
    }

    /// With this share of its length added at both ends.
    pub(super) fn widened(self, share: f64) -> Self {
        let more = share * (self.max - self.min);
        Self {
            min: self.min - more,
            max: self.max + more,
            ..self
        }
    }

    /// Ticks; on a logarithmic axis, which runs over exponents of ten, they are at round numbers.
    pub(super) fn ticks_of(&self, scale: Scale) -> Vec<(f64, String)> {
        if scale == Scale::Linear {
            return self.ticks();
        }
        let (low, high) = (10f64.powf(self.min), 10f64.powf(self.max));
        // Within a decade the ticks of a linear axis; beyond, 1, 2 and 5 times powers of ten, or the powers alone.
        if high < 10.0 * low {
            let linear = Self {
                min: low,
                max: high,
                step: nice((high - low) / 6.0),
            };
            return linear
                .ticks()
                .into_iter()
                .map(|(value, label)| (value.log10(), label))
                .collect();
        }
        let factors: &[u32] = if high < 200.0 * low { &[1, 2, 5] } else { &[1] };
        let mut ticks = Vec::new();
        for exponent in self.min.floor() as i32..=self.max.ceil() as i32 {
            for &factor in factors {
                let place = f64::from(factor).log10() + f64::from(exponent);
                if (self.min..=self.max).contains(&place) {
                    let label = if (-2..4).contains(&exponent) {
                        format!("{}", f64::from(factor) * 10f64.powi(exponent))
                    } else {
                        format!("{factor}e{exponent}")
                    };
                    ticks.push((place, label.replace('-', "\u{2212}")));
                }
            }
        }
        ticks
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        (value - self.min) / (self.max - self.min)
    }

    /// The value at a share of the axis.
    pub(super) fn value(&self, share: f64) -> f64 {
        self.min + share * (self.max - self.min)
    }

    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let first = (self.min / self.step - 1e-9).ceil() as i64;
        let last = (self.max / self.step + 1e-9).floor() as i64;
        let largest = self.min.abs().max(self.max.abs());
        let exponent = self.step.log10().floor();
        (first..=last)
            .map(|i| {
                let value = i as f64 * self.step;
                let label = if i == 0 {
                    "0".into()
                } else if (1e-3..1e6).contains(&largest) {
                    format!("{value:.*}", (-exponent).clamp(0.0, 9.0) as usize)
                } else {
                    let digits = ((value.abs() * (1.0 + 1e-9)).log10().floor() - exponent)
                        .clamp(0.0, 9.0) as usize;
                    format!("{value:.digits$e}").replacen(".0e", "e", 1)
                };
                (value, label.replace('-', "\u{2212}"))
            })
            .collect()
    }
}

/// Smallest and largest value, apart from each other even if all are the same.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (min, max) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
        (a.min(v), b.max(v))
    });
    if min > max {
        return (0.0, 1.0);
    }
    let least = 1e-3 * min.abs().max(max.abs());
    if max - min > least {
        (min, max)
    } else {
        let middle = (min + max) / 2.0;
        let half = if middle == 0.0 {
            1.0
        } else {
            0.05 * middle.abs()
        };
        (middle - half, middle + half)
    }
}

/// The number of the form 1, 2 or 5 times a power of ten at or above `step`.
fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|f| f * power >= step * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        let labels =
            |axis: Axis| -> Vec<String> { axis.ticks().into_iter().map(|t| t.1).collect() };
        let axis = Axis::rounded([0.0, 0.0317].into_iter(), 7.0);
        assert_eq!(
            labels(axis),
            [
                "0", "0.005", "0.010", "0.015", "0.020", "0.025", "0.030", "0.035"
            ]
        );
        let axis = Axis::tight([-6.175, 6.175].into_iter(), 10.0);
        assert_eq!(
            labels(axis),
            ["\u{2212}6", "\u{2212}4", "\u{2212}2", "0", "2", "4", "6"]
        );
        let axis = Axis::rounded([2e-7, 9e-7].into_iter(), 5.0);
        assert_eq!(
            labels(axis),
            [
                "2e\u{2212}7",
                "4e\u{2212}7",
                "6e\u{2212}7",
                "8e\u{2212}7",
                "1e\u{2212}6"
            ]
        );
    }

    #[test]
    fn levels_are_round_and_inside() {
        let levels = round_levels([-0.0931, 0.012].into_iter(), 6.0);
        let labels: Vec<_> = levels.iter().map(|level| level.1.as_str()).collect();
        assert_eq!(
            labels,
            [
                "\u{2212}0.08",
                "\u{2212}0.06",
                "\u{2212}0.04",
                "\u{2212}0.02",
                "0"
            ]
        );
    }
}
