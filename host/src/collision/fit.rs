//! Whether a velocity grid is wide and fine enough for a distribution, and the grid that would be.
//!
//! **Fine enough.** The narrowest part of f along an axis shows in the squares of its differences from cell to cell. Sampled from a Gaussian of
//! standard deviation s at distances h, `sum (f_(i+1) - f_i)^2 / sum f_i^2 = 2 (1 - exp(-h^2 / 4 s^2))`, and likewise of several apart. This is
//! solved for s; the temperature would also count the distance between beams.
//!
//! **Wide enough.** With m_1 and m_2 the shares of the density in the outermost layer of cells and in the next, the part that a geometric continuation
//! puts outside is m_1 r / (1 - r), r = m_1 / m_2. A Gaussian tail falls faster than that. One part in ten thousand, which is a Maxwellian in a
//! box of half width 4.2 sqrt(T), is too much.

use super::{Moments, VelocityGrid};

/// Width of cells in thermal speeds sqrt(T) beyond which a grid is too coarse, and that of an advised grid.
const WIDTH: (f64, f64) = (1.0, 0.7);
/// Share of the density that may be lost outside of the box.
const LOST: f64 = 1e-4;
/// Thermal speeds that a box should reach beyond every beam.
const REACH: f64 = 4.5;

/// A sum of Maxwellians that is sampled on a grid: the temperature of the coldest and the largest speed along an axis of all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beams {
    /// Temperature of the coldest.
    pub coldest: f64,
    /// Temperature of the hottest.
    pub hottest: f64,
    /// The largest mean velocity along an axis, in magnitude.
    pub fastest: f64,
}

impl VelocityGrid {
    /// Whether the cells are too wide for the distribution `f`, or the box too narrow; each text says the grid that would do.
    ///
    /// # Panics
    /// If there are fewer values than cells.
    pub fn warnings(&self, f: &[f64]) -> Vec<String> {
        if let Some(coarse) = self.coarse(f) {
            // Beside cells that are too wide, what lies in the outermost ones says nothing about the box.
            return vec![coarse];
        }
        self.narrow(f).into_iter().collect()
    }

    /// The same of a distribution that is known to be a sum of Maxwellians.
    pub fn warnings_of(&self, f: &[f64], beams: &Beams) -> Vec<String> {
        let thermal = beams.coldest.sqrt();
        let needed = beams.fastest + REACH * beams.hottest.sqrt();
        let h = self.spacing();
        if h <= WIDTH.0 * thermal {
            return self.warnings(f);
        }
        let (low, high) = (self.min.min(-needed), self.max.max(needed));
        vec![format!(
            "cells are {} thermal speeds sqrt(T) wide; {}",
            short(h / thermal),
            advice(low, high, thermal, "")
        )]
    }

    fn coarse(&self, f: &[f64]) -> Option<String> {
        let n = self.n;
        let squares: f64 = f.iter().map(|f| f * f).sum();
        let h = self.spacing();
        let strides = [n * n, n, 1];
        let widths = strides.map(|stride| {
            let lines = f.chunks_exact(stride * n);
            let changes = lines.flat_map(|line| line[stride..].iter().zip(line));
            let changes: f64 = changes.map(|(next, f)| (next - f).powi(2)).sum();
            let share = (1.0 - 0.5 * changes / squares).clamp(0.0, 1.0);
            // In cells; 0 where single cells hold all of f.
            0.5 / share.ln().abs().sqrt()
        });
        let (axis, width) = widths
            .into_iter()
            .enumerate()
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        if width * WIDTH.0 >= 1.0 || width.is_nan() {
            return None;
        }
        let name = ["x", "y", "z"][axis];
        Some(if width < 0.5 {
            format!(
                "f lives in single cells along {name}, and a grid says nothing about what is narrower than a cell; it takes cells at most \
                 {WIDTH_IN_WORDS} sqrt(T) wide, so {} or more along an axis here",
                4 * n
            )
        } else {
            format!(
                "cells are {} thermal speeds sqrt(T) wide for the narrowest part of f along {name}; {}",
                short(1.0 / width),
                advice(self.min, self.max, width * h, "at least ")
            )
        })
    }

    fn narrow(&self, f: &[f64]) -> Option<String> {
        let n = self.n;
        let mut layers = [0.0; 2];
        // Along each axis, the two planes of cells at either end.
        let mut planes = [[[0.0; 2]; 2]; 3];
        let total: f64 = f.iter().sum();
        let depth = |i: usize| i.min(n - 1 - i);
        for (row, line) in f.chunks_exact(n).enumerate() {
            let [ix, iy] = [row / n, row % n];
            let of_row = depth(ix).min(depth(iy));
            // Only the ends of a row inside lie in the outermost layers.
            let inside = of_row >= layers.len() && n > 2 * layers.len();
            let skipped = match inside {
                true => layers.len()..n - layers.len(),
                false => 0..0,
            };
            for iz in (0..skipped.start).chain(skipped.end..n) {
                let f = line[iz];
                if let Some(layer) = layers.get_mut(of_row.min(depth(iz))) {
                    *layer += f;
                }
                for (axis, i) in [ix, iy, iz].into_iter().enumerate() {
                    for (side, depth) in [i, n - 1 - i].into_iter().enumerate() {
                        if let Some(plane) = planes[axis][side].get_mut(depth) {
                            *plane += f;
                        }
                    }
                }
            }
        }
        let [outer, next] = layers.map(|layer| layer / total);
        let ratio = outer / next;
        let advice = || self.wider(f, &planes);
        if ratio < 0.9 {
            let lost = outer * ratio / (1.0 - ratio);
            (lost > LOST).then(|| {
                format!(
                    "f is not small at the boundary of the velocity box: the outermost cells hold {} of the density, and about {} of it is lost outside; {}",
                    percent(outer),
                    percent(lost),
                    advice()
                )
            })
        } else {
            (outer > LOST).then(|| {
                format!(
                    "f does not fall off at the boundary of the velocity box: the outermost cells hold {} of the density, and as much or more is lost outside; {}",
                    percent(outer),
                    advice()
                )
            })
        }
    }

    /// A box that would do, from how f falls off towards each face: a Gaussian about the mean velocity has F_0 / F_1 = exp(-(x_0^2 - x_1^2) / 2 s^2)
    /// in the two outermost planes.
    fn wider(&self, f: &[f64], planes: &[[[f64; 2]; 2]; 3]) -> String {
        let centre = Moments::of(self, f).velocity;
        let h = self.spacing();
        let mut needed = [self.min, self.max];
        let mut falls = true;
        for (axis, sides) in planes.iter().enumerate() {
            for (side, [outer, next]) in sides.iter().enumerate() {
                let sign = [-1.0, 1.0][side];
                let x = sign * (needed[side].clamp(self.min, self.max) - centre[axis]) - 0.5 * h;
                let fall = (next / outer).ln();
                let variance = (x * x - (x - h) * (x - h)) / (2.0 * fall);
                if !(fall > 0.0 && variance > 0.0) {
                    falls &= *outer == 0.0;
                    continue;
                }
                let end = sign.mul_add(REACH * variance.sqrt(), centre[axis]);
                needed[side] = if side == 0 {
                    needed[side].min(end)
                } else {
                    needed[side].max(end)
                };
            }
        }
        let rule = format!("enlarge the box to at least {REACH} sqrt(T) around every beam");
        if falls && needed != [self.min, self.max] {
            format!("{rule}, here to [{:.3}, {:.3}]", needed[0], needed[1])
        } else {
            format!("{rule}, here to twice its width or more")
        }
    }
}

/// [`WIDTH`]'s advised one, as it is printed.
const WIDTH_IN_WORDS: &str = "0.7";

/// The cells along an axis that this box takes for the thermal speed.
fn advice(low: f64, high: f64, thermal: f64, least: &str) -> String {
    let cells = ((high - low) / (WIDTH.1 * thermal)).ceil().max(1.0);
    let most = VelocityGrid::MAX_N;
    if cells > most as f64 {
        format!(
            "the box [{low:.4}, {high:.4}] takes {least}{cells} cells along an axis, more than the {most} that a grid may have"
        )
    } else {
        format!("the box [{low:.4}, {high:.4}] takes {least}{cells} cells along an axis")
    }
}

fn short(value: f64) -> String {
    format!("{value:.2}")
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent >= 1.0 {
        format!("{percent:.1}%")
    } else {
        format!("{percent:.1e}%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collision::initial::{TwoMaxwellians, maxwellian};

    fn warnings(n: usize, vmax: f64, temperature: f64) -> Vec<String> {
        let grid = VelocityGrid::new(n, -vmax, vmax).expect("a grid");
        grid.warnings(&maxwellian(&grid, 1.0, [0.0; 3], temperature))
    }

    #[test]
    fn lost_mass_of_a_maxwellian_is_estimated() {
        let warning = |vmax: f64| warnings(16, vmax, 1.0);
        assert!(warning(4.5).is_empty());
        // The exact share outside is 1 - 0.99271327.
        let text = warning(3.0).concat();
        assert!(text.contains("about 1.1% of it"), "{text}");
        assert!(text.contains("here to [-4.500, 4.500]"), "{text}");
        let text = warning(0.5).concat();
        assert!(text.contains("does not fall off"), "{text}");
        assert!(text.contains("here to [-4.500, 4.500]"), "{text}");
    }

    #[test]
    fn widths_of_cells_are_read_off_the_distribution() {
        for (n, vmax, temperature) in [
            (16, 5.0, 1.0),
            (20, 6.5, 1.0),
            (11, 5.0, 1.0),
            (20, 50.0, 30.0),
        ] {
            let found = warnings(n, vmax, temperature);
            assert!(found.is_empty(), "{found:?}");
        }
        // Cells 1.25 wide: the estimate is 1% low on so few.
        let text = warnings(8, 5.0, 1.0).concat();
        assert!(
            text.contains("1.24 thermal speeds") && text.contains("takes at least 15 cells"),
            "{text}"
        );
        // Much narrower than a cell: there is no telling by how much.
        let text = warnings(9, 5.0, 0.01).concat();
        assert!(
            text.contains("single cells") && text.contains("36 or more"),
            "{text}"
        );
        assert!(warnings(12, 50.0, 1.0).concat().contains("at least"));
    }

    #[test]
    fn beams_far_apart_take_more_cells_and_no_wider_box() {
        let beams = TwoMaxwellians {
            speed: 100.0,
            ..TwoMaxwellians::default()
        };
        let grid = VelocityGrid::new(8, -105.0, 105.0).expect("a grid");
        let f = beams.sample(&grid);
        let known = Beams {
            coldest: 1.0,
            hottest: 1.0,
            fastest: 100.0,
        };
        let text = grid.warnings_of(&f, &known).concat();
        assert!(
            text.contains("takes 300 cells") && text.contains("more than the 64"),
            "{text}"
        );
        assert!(!text.contains("enlarge"), "{text}");
        assert!(!grid.warnings(&f).concat().contains("enlarge"));
    }
}
