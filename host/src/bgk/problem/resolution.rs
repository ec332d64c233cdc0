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
