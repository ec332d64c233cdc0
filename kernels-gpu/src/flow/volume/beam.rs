//! Velocities with the same components along x and y: the parts of the formulas of [`gas`](super::gas) that they share.

use super::gas::{Coefficients, DRIFT, MOMENTS, UNKNOWNS, about};
use crate::bgk::exponential::fast_exponential;
use crate::math::Real;

/// A pair (v_x, v_y) in the equilibrium of a cell or a face.
#[derive(Clone, Copy)]
pub struct Beam<T> {
    /// Velocity along x and y about that of the sums.
    across: [T; 2],
    /// The square of this velocity.
    square: T,
    /// k along it.
    heat: T,
    /// Density and drift along it, of the linearised equation; of internal energy what b has along it.
    drift: T,
    /// The velocity along z that the sums are about.
    about: T,
}

impl<T: Real> Beam<T> {
    /// The shared parts at a pair of velocities.
    #[inline(always)]
    pub fn new<const LINEAR: bool, const INTERNAL: bool>(
        c: &Coefficients<T>,
        [vx, vy]: [T; 2],
    ) -> Self {
        let about = about::<T, LINEAR>(c);
        let [x, y] = [vx - about[0], vy - about[1]];
        Self {
            across: [x, y],
            square: x.mul_add(x, y * y),
            heat: c[5].mul_add(x, c[6] * y),
            drift: if INTERNAL {
                c[DRIFT].mul_add(x, c[DRIFT + 1] * y)
            } else {
                c[1].mul_add(x, c[2].mul_add(y, c[0]))
            },
            about: about[2],
        }
    }

    /// Velocity along z about that of the sums.
    #[inline(always)]
    pub fn own(&self, vz: T) -> T {
        vz - self.about
    }

    /// The equilibrium at a velocity along z, [`own`](Self::own).
    #[inline(always)]
    pub fn equilibrium<const LINEAR: bool, const INTERNAL: bool>(
        &self,
        c: &Coefficients<T>,
        own: T,
    ) -> T {
        let number = T::from_f64;
        let square = own.mul_add(own, self.square);
        let heat = c[7].mul_add(own, self.heat);
        if LINEAR {
            let drift = c[3].mul_add(own, self.drift);
            heat.mul_add(
                square - number(2.5),
                c[4].mul_add(square - number(1.5), drift),
            )
        } else {
            let square = square * c[4];
            let maxwellian = c[0] * fast_exponential(-square);
            let mut weighed = heat * (square - number(2.5));
            if INTERNAL {
                weighed += c[DRIFT + 2].mul_add(own, self.drift);
            }
            maxwellian.mul_add(weighed, maxwellian)
        }
    }

    /// Adds to a cell's sums, [`add_sums`](super::gas::add_sums), those of a batch with this volume across, from its moments along z: 1, c, c^2 and c^3.
    #[inline(always)]
    pub fn add_sums(&self, sums: &mut [T; UNKNOWNS], weight: T, moments: [T; 4]) {
        let [m0, m1, m2, m3] = moments;
        let [x, y] = self.across;
        let mass = weight * m0;
        let along = weight * m1;
        let energy = weight * self.square.mul_add(m0, m2);
        let half = T::from_f64(0.5);
        let half_energy = half * energy;
        sums[0] += mass;
        sums[1] = x.mul_add(mass, sums[1]);
        sums[2] = y.mul_add(mass, sums[2]);
        sums[3] += along;
        sums[4] += energy;
        sums[5] = x.mul_add(half_energy, sums[5]);
        sums[6] = y.mul_add(half_energy, sums[6]);
        sums[7] = (half * weight).mul_add(self.square.mul_add(m1, m3), sums[7]);
    }
}

/// The moments of a flux, [`add_flux`](super::gas::add_flux), of a batch with this volume across, from its moments along z: 1, v and v^2.
#[inline(always)]
pub fn flux_of<T: Real>([vx, vy]: [T; 2], weight: T, [m0, m1, m2]: [T; 3]) -> [T; MOMENTS] {
    let mass = weight * m0;
    let square = vx.mul_add(vx, vy * vy);
    [
        mass,
        vx * mass,
        vy * mass,
        weight * m1,
        weight * square.mul_add(m0, m2),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::gas;
    use super::*;

    const C: Coefficients<f64> = [
        0.2, 0.3, -0.4, 0.1, 1.2, 0.05, -0.02, 0.03, 0.7, 0.04, 0.01, -0.06,
    ];
    const HEIGHTS: [f64; 4] = [0.2, 0.7, 1.4, 2.3];

    fn check<const LINEAR: bool, const INTERNAL: bool>() {
        let (v, weight) = ([0.6, -1.1], 0.3);
        let beam = Beam::new::<LINEAR, INTERNAL>(&C, v);
        let mut expected = [0.0; UNKNOWNS];
        let mut crossing = [0.0; MOMENTS];
        let (mut m, mut through) = ([0.0; 4], [0.0; 3]);
        for (k, vz) in HEIGHTS.into_iter().enumerate() {
            let d = 0.1 - 0.07 * k as f64;
            let own = beam.own(vz);
            let velocity = [v[0], v[1], vz];
            let s = gas::equilibrium::<f64, LINEAR, INTERNAL, false>(&C, velocity, f64::exp);
            assert!((beam.equilibrium::<LINEAR, INTERNAL>(&C, own) - s).abs() < 1e-15);
            let about = gas::about::<f64, LINEAR>(&C);
            let c = [0, 1, 2].map(|k: usize| velocity[k] - about[k]);
            gas::add_sums::<f64, false>(&mut expected, c, weight * d);
            gas::add_flux::<f64, false>(&mut crossing, velocity, weight * d);
            for (power, m) in m.iter_mut().enumerate() {
                *m += d * own.powi(power as i32);
            }
            for (power, m) in through.iter_mut().enumerate() {
                *m += d * vz.powi(power as i32);
            }
        }
        let mut sums = [0.0; UNKNOWNS];
        beam.add_sums(&mut sums, weight, m);
        let found = flux_of(v, weight, through);
        for (a, b) in sums
            .iter()
            .zip(&expected)
            .chain(found.iter().zip(&crossing))
        {
            assert!((a - b).abs() < 1e-15, "{sums:?} {expected:?}");
        }
    }

    #[test]
    fn beams_have_the_equilibria_and_sums_of_their_velocities() {
        check::<false, false>();
        check::<false, true>();
        check::<true, false>();
    }
}
