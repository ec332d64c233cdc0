//! Directions on a half sphere, with weights: Lebedev's rules.
//!
//! Lebedev, USSR Comput. Math. Math. Phys. 16 (1976) 10. The rules have the octahedral symmetry of the velocity grid, so the sums keep the 48 symmetries of the cube exactly. One
//! of each pair of opposite directions represents both. The rule of degree 13 has a negative weight and is left out.

use std::f64::consts::PI;

use crate::error::{Error, Result};

/// The degrees of the rules that there are.
pub const DEGREES: [u8; 7] = [5, 7, 9, 11, 15, 17, 21];

/// A direction of the half sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direction {
    /// Unit vector; its last component that is not zero is positive.
    pub e: [f64; 3],
    /// Solid angle; those of a rule add up to 2 pi.
    pub weight: f64,
}

/// A point of each orbit, before normalisation, and the weight of each point of the orbit as a share of the sphere.
type Orbit = ([f64; 3], f64);

const LEVEL: [f64; 3] = [0.0, 0.0, 1.0];
const EDGE: [f64; 3] = [0.0, 1.0, 1.0];
const CORNER: [f64; 3] = [1.0, 1.0, 1.0];

#[allow(clippy::excessive_precision, reason = "digits as published")]
fn orbits(degree: u8) -> &'static [Orbit] {
    match degree {
        5 => &[(LEVEL, 1.0 / 15.0), (CORNER, 3.0 / 40.0)],
        7 => &[
            (LEVEL, 1.0 / 21.0),
            (EDGE, 4.0 / 105.0),
            (CORNER, 9.0 / 280.0),
        ],
        9 => &[
            (LEVEL, 1.0 / 105.0),
            (CORNER, 9.0 / 280.0),
            ([0.0, 0.4597008433809831, 0.8880738339771153], 1.0 / 35.0),
        ],
        11 => &[
            (LEVEL, 4.0 / 315.0),
            (EDGE, 64.0 / 2835.0),
            (CORNER, 27.0 / 1280.0),
            ([1.0, 1.0, 3.0], 14641.0 / 725760.0),
        ],
        15 => &[
            (LEVEL, 0.011544011544011541),
            (CORNER, 0.01194390908585628),
            (
                [0.3696028464541502, 0.3696028464541502, 0.8525183117012676],
                0.0111105557106034,
            ),
            (
                [0.1890635528853950, 0.6943540066026664, 0.6943540066026664],
                0.011876501294537141,
            ),
            (
                [0.0, 0.3742430390903412, 0.9273306571511725],
                0.011812303746904481,
            ),
        ],
        17 => &[
            (LEVEL, 0.0038282704949371615),
            (CORNER, 0.0097937375124875128),
            (
                [0.1851156353447362, 0.1851156353447362, 0.9651240350865941],
                0.0082117372831911114,
            ),
            (
                [0.2159572918458484, 0.6904210483822922, 0.6904210483822922],
                0.009942814891178103,
            ),
            (
                [0.3956894730559419, 0.3956894730559419, 0.8287699812525923],
                0.0095954713360709622,
            ),
            (
                [0.0, 0.4783690288121502, 0.8781589106040661],
                0.0096949963616630285,
            ),
        ],
        _ => &[
            (LEVEL, 0.0055448429020373653),
            (EDGE, 0.0060713327706707516),
            (CORNER, 0.0063836747735150929),
            (
                [0.2551252621114134, 0.2551252621114134, 0.9326425903126906],
                0.0051833875877478908,
            ),
            (
                [0.3007935951377015, 0.6743601460362766, 0.6743601460362766],
                0.0063179290098137253,
            ),
            (
                [0.4318910696719410, 0.4318910696719410, 0.7917955593934921],
                0.0062016700065890768,
            ),
            (
                [0.0, 0.2613931360335988, 0.9652324219764484],
                0.0054771433851373477,
            ),
            (
                [0.1446630744325115, 0.4990453161796037, 0.8544158046846588],
                0.0059683839876811563,
            ),
        ],
    }
}

/// Checks that there is a rule of the degree.
pub(crate) fn check(degree: u8) -> Result<()> {
    if DEGREES.contains(&degree) {
        Ok(())
    } else {
        let names = DEGREES.map(|degree| degree.to_string()).join(", ");
        Err(Error::invalid(
            "degree",
            degree,
            format!("a degree of the rule on the sphere that is one of {names}"),
        ))
    }
}

/// The half rule of a degree. A degree that does not exist counts as the highest.
pub fn half_sphere(degree: u8) -> Vec<Direction> {
    let mut directions = Vec::new();
    for (point, weight) in orbits(degree) {
        let length = point.iter().map(|x| x * x).sum::<f64>().sqrt();
        for e in images(*point) {
            if e.iter()
                .rev()
                .find(|&&x| x != 0.0)
                .is_some_and(|&x| x > 0.0)
            {
                directions.push(Direction {
                    e: e.map(|x| x / length),
                    weight: 4.0 * PI * weight,
                });
            }
        }
    }
    directions
}

/// Directions of the half rule of a degree.
pub fn directions(degree: u8) -> usize {
    half_sphere(degree).len()
}

/// All permutations and signs of a triple, each once.
fn images([a, b, c]: [f64; 3]) -> Vec<[f64; 3]> {
    let mut images: Vec<[f64; 3]> = Vec::new();
    for [x, y, z] in [
        [a, b, c],
        [a, c, b],
        [b, a, c],
        [b, c, a],
        [c, a, b],
        [c, b, a],
    ] {
        for signs in 0..8 {
            let sign = |bit: u32, value: f64| {
                if value != 0.0 && signs >> bit & 1 == 1 {
                    -value
                } else {
                    value
                }
            };
            let image = [sign(0, x), sign(1, y), sign(2, z)];
            if !images.contains(&image) {
                images.push(image);
            }
        }
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `int x^2i y^2j z^2k / 4 pi = (2i-1)!! (2j-1)!! (2k-1)!! / (2i+2j+2k+1)!!`; odd powers cancel between opposite points.
    #[test]
    fn rules_integrate_polynomials_up_to_their_degree() {
        let double = |n: i32| (1..=n).rev().step_by(2).map(f64::from).product::<f64>();
        for (degree, points) in DEGREES.into_iter().zip([7, 13, 19, 25, 43, 55, 85]) {
            let rule = half_sphere(degree);
            assert_eq!(rule.len(), points, "degree {degree}");
            let half = i32::from(degree) / 2;
            for i in 0..=half {
                for j in 0..=half - i {
                    for k in 0..=half - i - j {
                        let sum: f64 = rule
                            .iter()
                            .map(|d| {
                                let [x, y, z] = d.e;
                                d.weight * x.powi(2 * i) * y.powi(2 * j) * z.powi(2 * k)
                            })
                            .sum();
                        let exact = double(2 * i - 1) * double(2 * j - 1) * double(2 * k - 1)
                            / double(2 * (i + j + k) + 1);
                        let error = (sum / (2.0 * PI) - exact).abs();
                        assert!(error < 5e-15, "degree {degree}, {i} {j} {k}: {error:e}");
                    }
                }
            }
        }
    }
}
