//! How well the velocities of an axis resolve a gas beside walls.

use std::f64::consts::PI;

use super::Axis;

/// Error of the flux to a wall beyond which a user should know of it.
const FLUX: f64 = 0.025;

/// Step of the logarithm of v in the exact integral along a channel, and the range of that logarithm about the least and the largest speed that count.
const STEP: f64 = 0.02;
const BELOW: f64 = 40.0;
const FASTEST: f64 = 8.0;

fn maxwellian(v: f64) -> f64 {
    (-v * v).exp() / PI.sqrt()
}

impl Axis {
    /// Relative error of the mass that gas at rest brings to a wall normal to this axis: the sum of `w v M` over `v > 0`, whose exact value is `1/(2 sqrt(pi))`.
    ///
    /// Nodes in the middle of cells of width dv have about `dv^2/12`, nodes on v = 0 about `-dv^2/6`.
    pub fn wall_flux_error(&self) -> f64 {
        let pairs = self.nodes().iter().zip(self.weights());
        let flux: f64 = pairs
            .filter(|(v, _)| **v > 0.0)
            .map(|(v, w)| w * v * maxwellian(*v))
            .sum();
        flux * 2.0 * PI.sqrt() - 1.0
    }

    /// The velocities at which molecules of an even number of evenly spaced nodes cross a space between walls; those of the nodes for any other axis.
    ///
    /// At a wall f jumps where v = 0. Midpoint sums of `v f` over one half of the axis then exceed the integral by `dv^2/24 f(0)`. Speeds that take this off f, extrapolated from the three
    /// slowest nodes, are those of Gregory's rule. Both halves cancel where f is smooth, so the gas away from walls keeps its sums.
    pub fn wall_speeds(&self) -> Vec<f64> {
        let mut speeds = self.nodes().to_vec();
        let n = speeds.len();
        let even = n.is_multiple_of(2) && self.is_symmetric();
        let Some(step) = self.spacing().filter(|_| even) else {
            return speeds;
        };
        let slowest = n / 2..n.min(n / 2 + 3);
        for k in slowest.clone() {
            let v = self.nodes()[k];
            let others = slowest.clone().filter(|&m| m != k);
            let weights = others.map(|m| self.nodes()[m] / (self.nodes()[m] - v));
            let change = step / 24.0 * weights.product::<f64>();
            speeds[k] -= change;
            speeds[n - 1 - k] += change;
        }
        speeds
    }

    /// Relative error of the flow along a channel of width delta, normal to this axis, in units of l0.
    ///
    /// It is that of the molecules' first flight, the sum of `w M k(delta/v)` over `v >= 0` with `k(t) = 1 - (1 - e^-t)/t`. In thin gas it is nearly the error of the flow rate.
    pub fn channel_flow_error(&self, delta: f64) -> f64 {
        let share = |v: f64| {
            let t = delta / v;
            if t < 1e-3 {
                t * (0.5 - t / 6.0)
            } else {
                1.0 + (-t).exp_m1() / t
            }
        };
        let pairs = self.nodes().iter().zip(self.weights());
        let found: f64 = pairs
            .filter(|(v, _)| **v >= 0.0)
            // Half of the cell about v = 0 is on this side.
            .map(|(v, w)| {
                if *v == 0.0 {
                    0.5 * w * maxwellian(0.0)
                } else {
                    w * maxwellian(*v) * share(*v)
                }
            })
            .sum();
        let low = delta.min(1.0).ln() - BELOW;
        let steps = ((FASTEST.ln() - low) / STEP).ceil() as usize;
        let exact: f64 = (0..=steps)
            .map(|k| (low + k as f64 * STEP).exp())
            .map(|v| STEP * v * maxwellian(v) * share(v))
            .sum();
        found / exact - 1.0
    }

    /// In words, that the flux to a wall is far off.
    pub fn wall_flux_warning(&self) -> Option<String> {
        let error = self.wall_flux_error();
        let advice = if self.nodes().contains(&0.0) {
            "an even number of velocities has none at rest, and half the error"
        } else {
            "use more velocities"
        };
        (error.abs() > FLUX).then(|| {
            format!(
                "the velocities make the flux of gas to a wall {:.1}% too {}: {advice}",
                100.0 * error.abs(),
                if error < 0.0 { "low" } else { "high" }
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flux_to_a_wall_has_the_error_of_its_rule() {
        for (n, share) in [(40, 1.0 / 12.0), (41, -1.0 / 6.0)] {
            let axis = Axis::uniform(n, -6.0, 6.0).unwrap();
            let expected = share * (12.0 / n as f64).powi(2);
            let error = axis.wall_flux_error();
            assert!((error / expected - 1.0).abs() < 0.05, "{n}: {error}");
        }
        let gauss = Axis::half_range(20, 2).unwrap();
        assert!(gauss.wall_flux_error().abs() < 1e-12);
        assert!(gauss.wall_flux_warning().is_none());
        let odd = Axis::uniform(11, -4.0, 4.0).unwrap();
        let text = odd.wall_flux_warning().unwrap();
        assert!(
            text.contains("9.4%") && text.contains("low") && text.contains("even"),
            "{text}"
        );
    }

    /// By Gregory's rule sums over half of the axis err by the fourth power of dv, where those of midpoints err by the square.
    #[test]
    fn wall_speeds_bring_the_flux_of_half_an_axis_to_fourth_order() {
        let errors = |n: usize, power: i32| {
            let axis = Axis::uniform(n, -6.0, 6.0).unwrap();
            let of = |speeds: &[f64]| -> f64 {
                let nodes = axis.nodes().iter().zip(axis.weights()).zip(speeds);
                let half = nodes.filter(|((v, _), _)| **v > 0.0);
                half.map(|((v, w), c)| w * c * maxwellian(*v) * v.powi(power))
                    .sum()
            };
            let exact = [0.5 / PI.sqrt(), 0.25, 0.5 / PI.sqrt()][power as usize];
            [of(axis.nodes()), of(&axis.wall_speeds())].map(|sum| sum / exact - 1.0)
        };
        let [midpoints, coarse] = errors(24, 0);
        let [_, fine] = errors(48, 0);
        assert!((midpoints / (0.25 / 12.0) - 1.0).abs() < 0.1, "{midpoints}");
        assert!(coarse.abs() < 0.5 * midpoints, "{coarse}");
        assert!(fine.abs() < coarse.abs() / 7.0, "{coarse} {fine}");
        // Momentum and energy across a wall.
        for power in [1, 2] {
            let [_, fine] = errors(48, power);
            assert!(fine.abs() < 2e-3, "{power}: {fine}");
        }
        for axis in [Axis::half_range(8, 2), Axis::uniform(11, -4.0, 4.0)] {
            let axis = axis.unwrap();
            assert_eq!(axis.wall_speeds(), axis.nodes());
        }
        let axis = Axis::uniform(12, -3.0, 3.0).unwrap();
        let speeds = axis.wall_speeds();
        let slowest = [0.421875, 1.5 + 5.0 / 96.0, 2.5 - 1.0 / 64.0].map(|k| 0.5 * k);
        for (found, right) in speeds[6..9].iter().zip(slowest) {
            assert!((found - right).abs() < 1e-14, "{speeds:?}");
        }
        assert_eq!(speeds[9..], axis.nodes()[9..]);
        let opposite = speeds.iter().zip(speeds.iter().rev());
        assert!(opposite.into_iter().all(|(a, b)| *a == -b));
    }

    /// Flow rates of linear BGK by 20 nodes a half axis, beside those of the integral equation.
    #[test]
    fn flow_along_a_channel_has_about_the_error_of_its_first_flight() {
        let axis = Axis::half_range(20, 2).unwrap();
        for (delta, found, right) in [
            (1e-3, 4.2948, 4.2736),
            (1e-4, 5.3496, 5.5573),
            (1e-5, 5.5637, 6.853),
        ] {
            let error = found / right - 1.0;
            let estimate = axis.channel_flow_error(delta);
            assert!(
                (estimate / error - 1.0).abs() < 0.25,
                "{delta}: {estimate} for {error}"
            );
        }
        let fine = Axis::half_range(64, 2).unwrap();
        assert!(fine.channel_flow_error(1e-3).abs() < 5e-4);
    }
}
