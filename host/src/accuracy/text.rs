//! Estimates in words.

use std::fmt;

use super::Finding;
use super::estimate::ITERATION;

/// Largest relative error that passes without a warning.
const TOLERATED: f64 = 0.01;
/// The largest factor by which a warning has an error fall.
const MOST_REMEDY: f64 = 16.0;
/// Quantities that a warning names.
const MOST_NAMED: usize = 3;

impl fmt::Display for Finding {
    /// The name, the value to the digit of its error, and the error with its parts: `Pi 0.3389 +- 0.0002 (cells 1e-5, velocities 2e-4)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, value) = (&self.quantity.name, self.quantity.value);
        let error = self.error.total;
        if !error.is_finite() {
            write!(f, "{name} {value:.6}, error unknown")?;
        } else if error == 0.0 {
            write!(f, "{name} {value} +- 0")?;
        } else {
            let (digit, place) = leading(error);
            let plain = (1e-3..1e6).contains(&value.abs()) || value == 0.0;
            if plain && place <= 5 {
                let decimals = (-place).clamp(0, 14) as usize;
                write!(f, "{name} {value:.decimals$} +- ")?;
            } else {
                let first = value.abs().max(f64::MIN_POSITIVE).log10().floor() as i32;
                let decimals = (first - place).clamp(0, 14) as usize;
                write!(f, "{name} {value:.decimals$e} +- ")?;
            }
            if (-4..=5).contains(&place) {
                let decimals = (-place).max(0) as usize;
                write!(f, "{:.decimals$}", digit * 10_f64.powi(place))?;
            } else {
                write!(f, "{digit}e{place}")?;
            }
        }
        // The iteration mostly leaves nothing beside the rest.
        let shown = |part: &&(&str, f64)| part.0 != ITERATION || part.1 > 0.01 * error;
        let parts: Vec<String> = (self.error.parts.iter().filter(shown))
            .map(|&(name, error)| match leading(error) {
                _ if !error.is_finite() => format!("{name} unknown"),
                _ if error == 0.0 => format!("{name} 0"),
                (digit, place) => format!("{name} {digit}e{place}"),
            })
            .collect();
        if parts.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", parts.join(", "))
    }
}

/// The first digit of an error, rounded up, and its place.
fn leading(error: f64) -> (f64, i32) {
    let place = error.log10().floor() as i32;
    // Roundoff does not reach the next digit.
    let digit = (error / 10_f64.powi(place) - 1e-9).ceil();
    if digit > 9.0 {
        (1.0, place + 1)
    } else {
        (digit, place)
    }
}

/// The warning of quantities that are off by more than one per cent, or by an unknown error: the largest errors first, and the axis to refine.
pub fn warning(findings: &[Finding]) -> Option<String> {
    warned(findings, None)
}

/// The same, with the settings of a finer grid.
pub(super) fn warned(findings: &[Finding], remedy: Option<&str>) -> Option<String> {
    let wrong = wrong(findings);
    let worst = wrong.first()?;
    let off = |finding: &&Finding| {
        let (name, error) = (&finding.quantity.name, finding.relative());
        match error {
            _ if !error.is_finite() => format!("{name} by an unknown amount"),
            _ if error < 1.0 => format!("{name} by {}", per_cent(error)),
            _ => format!("{name} by as much as itself"),
        }
    };
    let off_by: Vec<String> = wrong.iter().take(MOST_NAMED).map(off).collect();
    let (axis, _) = largest(worst)?;
    let more = match axis {
        "dt" => "use a shorter one".to_owned(),
        "emax" => "use a larger one, and as many more cells".to_owned(),
        "box" => "use a larger vmax, and as many more velocities".to_owned(),
        "length" => "use a longer domain, and as many more cells".to_owned(),
        _ => "use more".to_owned(),
    };
    let named = match axis {
        "dt" => "time step",
        name => name,
    };
    let remedy = match remedy {
        _ if axis == ITERATION => {
            "most of it is left by the iteration: go on to a smaller residual".to_owned()
        }
        Some(settings) => format!(
            "most of it is that of the {named}: take {settings}, or ask for an accuracy of {TOLERATED}"
        ),
        None if axis == "emax" => format!("most of it is that of emax: {more}"),
        None => format!("most of it is that of the {named}: {more}"),
    };
    Some(format!(
        "the discretisation leaves errors: {}; {remedy}",
        off_by.join(", ")
    ))
}

/// Quantities beyond the tolerated error, the largest errors first.
fn wrong(findings: &[Finding]) -> Vec<&Finding> {
    let mut wrong: Vec<&Finding> = (findings.iter())
        .filter(|finding| finding.misses(TOLERATED))
        .collect();
    wrong.sort_by(|a, b| b.relative().total_cmp(&a.relative()));
    wrong
}

/// The part of an error that is the largest.
fn largest(finding: &Finding) -> Option<(&'static str, f64)> {
    let mut parts = finding.error.parts.iter();
    let first = *parts.next()?;
    Some(parts.fold(
        first,
        |most, part| if part.1 > most.1 { *part } else { most },
    ))
}

/// The axis of the largest error beyond the tolerated one, and the factor by which it is to fall.
pub(super) fn wanting(findings: &[Finding]) -> Option<(&'static str, f64)> {
    let worst = *wrong(findings).first()?;
    let (axis, part) = largest(worst)?;
    let tolerated = TOLERATED * worst.quantity.scale;
    // Half of what is tolerated is left to the other axes where these need more.
    let left = (tolerated - (worst.error.total - part)).max(0.5 * tolerated);
    let factor = 1.2 * part / left;
    factor
        .is_finite()
        .then_some((axis, factor.clamp(1.5, MOST_REMEDY)))
}

/// A share in per cent, to two digits.
fn per_cent(share: f64) -> String {
    let value = 100.0 * share;
    if value < 10.0 {
        format!("{value:.1}%")
    } else {
        format!("{value:.0}%")
    }
}
