//! Molecules that rotate, as the kernels have them.

use rarefy_kernels::bgk::rotating::Rotating;

use crate::bgk::Rotation;

/// The numbers of a gas that its relaxation needs.
pub(super) fn rotating(rotation: &Rotation) -> Rotating {
    // The matrix is linear in 1/Z.
    let at = |rate: f64| {
        let [[tt, tr], [rt, rr]] = rotation.matrix(1.0 / rate);
        [tt, tr, rt, rr]
    };
    let (matrix, other) = (at(0.0), at(1.0));
    Rotating {
        freedom: rotation.freedom,
        rates: rotation.rates_of_relaxation(),
        fastest: 1.0 / rotation.least_relaxation(),
        matrix,
        growth: [0, 1, 2, 3].map(|k| other[k] - matrix[k]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgk::RotationalCollisions;

    #[test]
    fn rates_and_matrices_are_those_of_the_gas() {
        let given = [
            RotationalCollisions::Constant(5.5),
            RotationalCollisions::NITROGEN,
            RotationalCollisions::Air,
        ];
        for (collisions, eucken) in given.into_iter().zip([None, None, Some([2.3, 1.4])]) {
            let rotation = Rotation {
                freedom: 2.3,
                collisions,
                eucken,
                kelvin: 320.0,
                ..Rotation::default()
            };
            let of = rotating(&rotation);
            for temperature in [0.05_f64, 0.6, 1.0, 7.5] {
                let root = 1.0 / temperature.sqrt();
                let [a, b, c] = of.rates;
                let rate = (a + root * (b + root * c)).min(of.fastest);
                let z = rotation.relaxation_of(temperature);
                assert!((rate * z - 1.0).abs() < 1e-14, "{rotation:?} {temperature}");
                let expected = rotation.matrix(z);
                for (k, expected) in expected.as_flattened().iter().enumerate() {
                    let found = of.matrix[k] + rate * of.growth[k];
                    assert!((found - expected).abs() < 1e-14, "{rotation:?}: {found}");
                }
            }
        }
    }
}
