//! Walls that move: only the part of a body's velocity along its walls acts, for a wall that moves along its normal would let gas through.

use super::case::Case;

/// Share of a body's motion across its walls beyond which it is warned of. The ends of a thin plate that slides have less.
const MOST_ACROSS: f64 = 0.25;

/// The motion of a body's walls, weighed by length or area.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Motion {
    whole: f64,
    across: f64,
}

impl Motion {
    /// Adds a part of the wall: its length or area, its velocity, and its normal.
    pub(super) fn add<const N: usize>(&mut self, size: f64, velocity: [f64; N], normal: [f64; N]) {
        let dot = |a: [f64; N], b: [f64; N]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        self.whole += size * dot(velocity, velocity).sqrt();
        self.across += size * dot(velocity, normal).abs();
    }
}

/// The warnings of bodies that move across their walls.
pub(super) fn warnings(case: &Case, motions: &[Motion]) -> Vec<String> {
    let moves_across = |motion: &Motion| motion.across > MOST_ACROSS * motion.whole;
    let bodies = motions.iter().enumerate();
    bodies
        .filter(|(_, motion)| moves_across(motion))
        .map(|(k, _)| {
            let name = case.bodies.get(k).and_then(|body| body.name.clone());
            format!(
                "{} moves across its walls, and only the part of its motion along them acts: let the gas stream past a body at rest",
                name.unwrap_or_else(|| format!("body {}", k + 1))
            )
        })
        .collect()
}
