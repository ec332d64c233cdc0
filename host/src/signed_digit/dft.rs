//! The discrete Fourier transform and its inverse with exact sums.
//!
//! ```text
//! y_k = 1/n sum over j of x_j (cos 2 pi j k / n - i sin 2 pi j k / n),     x_k = sum over j of y_j (cos 2 pi j k / n + i sin 2 pi j k / n)
//! ```
//!
//! (eqs. 3 and 4 of Otsokov and Magomedov). In floating point the error of going there and back grows with the spread of the x_j (fig. 3). Here the x_j are decimal
//! numbers of any length, the cosines and sines are given with P digits after the point, every sum of products is exact, and the division by n
//! comes last. The error that remains is that of the table, about 10^-P of the largest |x|, whatever the spread.
//!
//! Exact sums alone are not enough. The spectrum must be kept unrounded, which [`Spectrum`] does: with y rounded to `f64` the error is that of `f64` again.
//!
//! ```
//! use rarefy::Backend;
//! use rarefy::signed_digit::dft::{Signal, Transform};
//!
//! let backend = Backend::Cpu.resolve()?;
//! let x = Signal::real(["0.1", "1e12", "0.3"].iter().map(|text| text.parse()).collect::<Result<_, _>>()?);
//! let transform = Transform::new(3, 40)?;
//! let y = transform.forward(&x, &backend)?;
//! let back = transform.inverse(&y, &backend)?;
//! assert!(back.relative_error(&x) < 1e-26);
//! assert_eq!(back.round_f64()[0], [0.1, 0.0]);
//! # Ok::<(), rarefy::Error>(())
//! ```
//!
//! **Cost.** 2 n^2 dot products of integers for real input, 4 n^2 for complex, each of w_x w_t products of limbs of radix 10^9. It is meant for up to some
//! thousand points and as many digits as are needed.

mod gpu;
mod table;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::decimal::{Columns, Decimal};
use super::integer::Integers;
use crate::compute::Resolved;
use crate::emulator::Emulator;
use crate::error::{Error, Result};
use crate::memory_plan::{bytes_of, check_host};
use rarefy_kernels::signed_digit::packed::UNITS;

/// Most points of a transform.
pub const MAX_POINTS: usize = 1 << 24;
/// Most digits of a table.
pub const MAX_DIGITS: usize = 100_000;

/// A sequence of real or complex decimal numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Signal {
    /// Real parts.
    pub re: Vec<Decimal>,
    /// Imaginary parts: as many, or none if all are zero.
    pub im: Vec<Decimal>,
}

impl Signal {
    /// A real sequence.
    pub fn real(re: Vec<Decimal>) -> Self {
        Self { re, im: Vec::new() }
    }

    /// Points.
    pub fn len(&self) -> usize {
        self.re.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.re.is_empty()
    }

    /// Number of real parts, then of imaginary ones.
    fn parts(&self) -> usize {
        if self.im.is_empty() { 1 } else { 2 }
    }

    /// All numbers, the real parts first.
    fn all(&self) -> Vec<Decimal> {
        self.re.iter().chain(&self.im).cloned().collect()
    }

    fn part(&self, imaginary: bool, i: usize) -> Decimal {
        let part = if imaginary { &self.im } else { &self.re };
        part.get(i).cloned().unwrap_or_default()
    }
}

/// Exact result of a transform: a sequence over a whole number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Spectrum {
    /// The sequence times the divisor.
    pub scaled: Signal,
    /// The divisor: the number of points. Over 0 nothing has a value: rounded values are NaN.
    pub divisor: u64,
}

impl Spectrum {
    /// Real and imaginary parts, each the nearest `f64`.
    pub fn round_f64(&self) -> Vec<[f64; 2]> {
        let part = |imaginary, i| self.scaled.part(imaginary, i).quotient_f64(self.divisor);
        (0..self.scaled.len())
            .map(|i| [part(false, i), part(true, i)])
            .collect()
    }

    /// Real and imaginary parts with `places` digits after the point.
    pub fn rounded(&self, places: usize) -> Signal {
        let part = |part: &[Decimal]| {
            part.iter()
                .filter_map(|x| x.quotient(self.divisor, places))
                .collect()
        };
        Signal {
            re: part(&self.scaled.re),
            im: part(&self.scaled.im),
        }
    }

    /// The largest relative deviation from a sequence, max |x*_i - x_i| / |x_i| (eq. 5, without its percent).
    ///
    /// Where x_i is zero the deviation is taken relative to the largest |x|.
    pub fn relative_error(&self, x: &Signal) -> f64 {
        let divisor = Decimal::from(self.divisor);
        let mut zeros = Vec::new();
        let mut worst = 0.0_f64;
        let mut largest = Decimal::ZERO;
        for i in 0..x.len().max(self.scaled.len()) {
            let parts = [false, true].map(|imaginary| &x.part(imaginary, i) * &divisor);
            let found = [false, true].map(|imaginary| self.scaled.part(imaginary, i));
            let [re, im] =
                [0, 1].map(|part| found[part].plus(&-parts[part].clone()).unwrap_or_default());
            let scale = parts
                .map(|part| part.abs())
                .into_iter()
                .max()
                .unwrap_or_default();
            if scale.is_zero() {
                zeros.push([re, im]);
                continue;
            }
            let magnitude = x
                .part(false, i)
                .ratio(&scale)
                .hypot(x.part(true, i).ratio(&scale))
                * self.divisor as f64;
            worst = worst.max(re.ratio(&scale).hypot(im.ratio(&scale)) / magnitude);
            largest = largest.max(scale);
        }
        for [re, im] in zeros {
            if !(re.is_zero() && im.is_zero()) {
                worst = worst.max(re.ratio(&largest).hypot(im.ratio(&largest)));
            }
        }
        worst
    }
}

/// Products of limbs that a transform of `x` and the way back take with cosines of so many digits, and as many for the digits of the table.
pub fn products(x: &Signal, digits: usize) -> f64 {
    let nonzero = || x.re.iter().chain(&x.im).filter(|number| !number.is_zero());
    let base = nonzero().map(Decimal::scale).min().unwrap_or(0);
    let top = nonzero().map(Decimal::top).max().unwrap_or(0);
    let table = (digits / LIMB_DIGITS + 1) as f64;
    let limbs = base.abs_diff(top) as f64 + 1.0;
    let points = x.len() as f64;
    let there = 2.0 * points * points * x.parts() as f64 * limbs * table;
    let back = 4.0 * points * points * (limbs + table) * table;
    there + back + DIGITS_OF_A_LIMB * (points / 4.0 + 2.0) * table * table
}

/// Decimal digits of a limb.
const LIMB_DIGITS: usize = 9;
/// Time of the digits of a cosine, in products of the square of its limbs.
const DIGITS_OF_A_LIMB: f64 = 4.0;

/// A transform of so many points, with its table.
#[derive(Clone, Debug)]
pub struct Transform {
    points: usize,
    cosines: Vec<Decimal>,
    sines: Vec<Decimal>,
    /// Cosines, then sines, in limbs.
    table: Integers,
    /// The weight of the first limb is 10^(9 base).
    base: i64,
}

impl Transform {
    /// With cosines and sines of `digits` digits after the point, each the nearest number of that many digits.
    ///
    /// # Errors
    /// No points or more than 2^24, no digits or more than 100000; a table that does not fit into memory.
    pub fn new(points: usize, digits: usize) -> Result<Self> {
        if points == 0 || points > MAX_POINTS {
            return Err(Error::invalid(
                "points",
                points,
                format!("a transform of 1 to {MAX_POINTS} points"),
            ));
        }
        if digits == 0 || digits > MAX_DIGITS {
            return Err(Error::invalid(
                "digits",
                digits,
                format!("1 to {MAX_DIGITS} digits"),
            ));
        }
        check_host(
            &format!("a table of {points} cosines and sines of {digits} digits"),
            bytes_of::<u8>(4 * points as u64 * digits as u64),
            "use fewer points or digits",
        )?;
        let (cosines, sines) = table::cosines_and_sines(points, digits);
        Self::with_table(cosines, sines)
    }

    /// With any numbers in the places of cos 2 pi j / n and sin 2 pi j / n.
    ///
    /// # Errors
    /// Tables of different lengths or of none.
    pub fn with_table(cosines: Vec<Decimal>, sines: Vec<Decimal>) -> Result<Self> {
        let points = cosines.len();
        if points == 0 || points != sines.len() {
            return Err(Error::invalid(
                "sines",
                format!("{} sines and {points} cosines", sines.len()),
                "as many sines as cosines, at least one",
            ));
        }
        let all: Vec<Decimal> = cosines.iter().chain(&sines).cloned().collect();
        let (base, table) = packed(&all)?;
        Ok(Self {
            points,
            cosines,
            sines,
            table,
            base,
        })
    }

    /// Points.
    pub fn points(&self) -> usize {
        self.points
    }

    /// cos 2 pi j / n, as the table has them.
    pub fn cosines(&self) -> &[Decimal] {
        &self.cosines
    }

    /// sin 2 pi j / n, as the table has them.
    pub fn sines(&self) -> &[Decimal] {
        &self.sines
    }

    /// The transform (eq. 3), exactly for this table.
    ///
    /// # Errors
    /// Another number of points; numbers whose exponents are so far apart that they do not fit into memory.
    pub fn forward(&self, x: &Signal, backend: &Resolved) -> Result<Spectrum> {
        Ok(Spectrum {
            scaled: self.sums(x, false, backend)?,
            divisor: self.points as u64,
        })
    }

    /// The inverse transform (eq. 4), exactly for this table.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn inverse(&self, y: &Spectrum, backend: &Resolved) -> Result<Spectrum> {
        Ok(Spectrum {
            scaled: self.sums(&y.scaled, true, backend)?,
            divisor: y.divisor,
        })
    }

    /// The sums of products, without a division.
    fn sums(&self, x: &Signal, inverse: bool, backend: &Resolved) -> Result<Signal> {
        let n = self.points;
        if x.len() != n || !(x.im.is_empty() || x.im.len() == n) {
            return Err(Error::invalid(
                "x",
                format!("{} numbers and {} imaginary parts", x.len(), x.im.len()),
                format!("{n} numbers, one for each point, and as many imaginary parts or none"),
            ));
        }
        if let Resolved::Reference = backend {
            return self.plain_sums(x, inverse);
        }
        let (base, limbs) = packed(&x.all())?;
        let columns = match backend {
            Resolved::Emulator => gpu::transform(
                &Emulator::default(),
                &limbs,
                &self.table,
                x.parts(),
                inverse,
            )?,
            Resolved::Cuda(device) => {
                gpu::transform(device, &limbs, &self.table, x.parts(), inverse)?
            }
            _ => (0..2 * n)
                .into_par_iter()
                .map(|output| column_sums(&limbs, &self.table, x.parts(), inverse, output))
                .collect(),
        };
        let mut values = columns
            .into_par_iter()
            .map(|columns| {
                Columns::from(columns)
                    .into_decimal()
                    .shifted(base + self.base)
            })
            .collect::<Vec<_>>();
        let im = values.split_off(n);
        Ok(Signal { re: values, im })
    }

    /// The same, number by number.
    fn plain_sums(&self, x: &Signal, inverse: bool) -> Result<Signal> {
        let n = self.points;
        let sum = |k: usize, imaginary: bool| {
            let mut columns = Columns::default();
            for j in 0..n {
                let angle = (j as u64 * k as u64 % n as u64) as usize;
                let (cos, sin) = (&self.cosines[angle], &self.sines[angle]);
                columns.add_product(&x.part(imaginary, j), cos)?;
                // (a + ib) (c -+ is) = ac +- bs + i (bc -+ as)
                let other = x.part(!imaginary, j);
                let minus = imaginary != inverse;
                columns.add_product(&if minus { -other } else { other }, sin)?;
            }
            Ok(columns.into_decimal())
        };
        Ok(Signal {
            re: (0..n).map(|k| sum(k, false)).collect::<Result<_>>()?,
            im: (0..n).map(|k| sum(k, true)).collect::<Result<_>>()?,
        })
    }
}

/// Numbers in rows of limbs, and the position of their first limb.
fn packed(numbers: &[Decimal]) -> Result<(i64, Integers)> {
    let nonzero = || numbers.iter().filter(|number| !number.is_zero());
    let base = nonzero().map(Decimal::scale).min().unwrap_or(0);
    let top = nonzero().map(Decimal::top).max().unwrap_or(0);
    Ok((
        base,
        Integers::aligned(numbers, base, base.abs_diff(top).max(1))?,
    ))
}

/// Columns of one output: output k < n is the real part k, n + k the imaginary one.
fn column_sums(
    x: &Integers,
    table: &Integers,
    parts: usize,
    inverse: bool,
    output: usize,
) -> Vec<i128> {
    let n = table.len() / 2;
    let (k, imaginary) = (output % n, output >= n);
    let (wx, wt) = (x.width(), table.width());
    let mut columns = vec![0i128; wx + wt];
    let mut sums = vec![0i64; wx + wt];
    let mut units = 0;
    let mut cut = |sums: &mut [i64]| {
        for (sum, column) in sums.iter_mut().zip(&mut columns) {
            *column += i128::from(std::mem::take(sum));
        }
    };
    for part in 0..parts {
        let sine = (part == 1) != imaginary;
        let minus = sine && imaginary != inverse;
        let mut angle = 0;
        for j in 0..n {
            let row = &x.limbs()[(part * n + j) * wx..][..wx];
            let entry = &table.limbs()[(usize::from(sine) * n + angle) * wt..][..wt];
            // Products of the highest limbs count more than one unit: three more of a pair of rows in all.
            units += 3;
            for (p, &a) in row.iter().enumerate() {
                if units >= UNITS {
                    cut(&mut sums);
                    units = 3;
                }
                units += 1;
                let a = i64::from(if minus { -a } else { a });
                for (sum, &b) in sums[p..].iter_mut().zip(entry) {
                    *sum += a * i64::from(b);
                }
            }
            angle += k;
            if angle >= n {
                angle -= n;
            }
        }
    }
    cut(&mut sums);
    columns
}
