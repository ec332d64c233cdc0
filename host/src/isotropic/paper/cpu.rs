//! The stored forms on the CPU: the sum over every coefficient, and the reduced one.

use rarefy_kernels::Real;
use rayon::prelude::*;

use super::tables::{CompactTable, FullTable, TILE};
use crate::isotropic::coefficients::reachable;
use crate::isotropic::cpu::{Operator, Sums, Unmoved, finish, parts_for, split, sum_of_parts};
use crate::isotropic::tables::reduced;
use crate::isotropic::{Rates, reference};

/// Every coefficient.
pub(in crate::isotropic) struct Full<T> {
    cells: usize,
    table: FullTable<T>,
    divisors: Vec<f64>,
}

impl<T: Real> Full<T> {
    pub(in crate::isotropic) fn new(
        cells: usize,
        theta: f64,
        corrected: bool,
        divisors: Vec<f64>,
    ) -> Self {
        Self {
            cells,
            table: FullTable::new(cells, theta, corrected),
            divisors,
        }
    }

    /// Gain, frequency, and frequency of what moves, of each cell.
    fn sums(&self, f: &[f64]) -> Vec<[f64; 3]> {
        let cells = self.cells;
        let reversed: Vec<f64> = f.iter().rev().copied().collect();
        let cell = |i: usize| {
            let (mut gain, mut frequency, mut moving) = (0.0, 0.0, 0.0);
            for j in 0..cells {
                let (first, last) = reachable(i, j, cells);
                let start = self.table.starts[i * cells + j] as usize;
                let row = &self.table.values[start..][..last - first + 1];
                // l = i + j - k falls as k rises.
                let partners = &reversed[first + cells - 1 - i - j..][..row.len()];
                let (mut products, mut all) = ([0.0; 8], [0.0; 8]);
                for (at, ((g, k), l)) in row.iter().zip(&f[first..]).zip(partners).enumerate() {
                    products[at % 8] += g.to_f64() * (k * l);
                    all[at % 8] += g.to_f64();
                }
                let all: f64 = all.iter().sum();
                let stays =
                    row[i - first].to_f64() + if i == j { 0.0 } else { row[j - first].to_f64() };
                gain += products.iter().sum::<f64>();
                frequency += all * f[j];
                moving += (all - stays) * f[j];
            }
            let divisor = self.divisors[i];
            [divisor * gain, divisor * frequency, divisor * moving]
        };
        (0..cells).into_par_iter().map(cell).collect()
    }
}

impl<T: Real> Operator for Full<T> {
    fn rate(&self, f: &[f64], rate: &mut [f64]) {
        let sums = self.sums(f);
        for ((rate, [gain, frequency, _]), f) in rate.iter_mut().zip(sums).zip(f) {
            *rate = gain - frequency * f;
        }
    }

    fn rates(&self, f: &[f64]) -> Rates {
        let mut rates = reference::empty(self.cells);
        for (i, [gain, frequency, moving]) in self.sums(f).into_iter().enumerate() {
            rates.gain[i] = gain;
            rates.frequency[i] = frequency;
            rates.rate[i] = gain - frequency * f[i];
            rates.largest_frequency = rates.largest_frequency.max(moving);
        }
        rates
    }

    fn table_bytes(&self) -> u64 {
        size_of_val(&self.table.values[..]) as u64
    }
}

/// One of each set of equal coefficients.
pub(in crate::isotropic) struct Compact<T> {
    cells: usize,
    theta: f64,
    table: CompactTable<T>,
    divisors: Vec<f64>,
    parts: Vec<std::ops::Range<usize>>,
}

impl<T: Real> Compact<T> {
    pub(in crate::isotropic) fn new(cells: usize, theta: f64, divisors: Vec<f64>) -> Self {
        let cost = |s: usize| reduced(s, cells).1.pow(2) as u64 + 1;
        Self {
            cells,
            theta,
            table: CompactTable::new(cells, theta),
            divisors,
            parts: split(0..2 * cells - 1, parts_for(cells.pow(3) / 6), cost),
        }
    }

    fn sums(&self, f: &[f64], detailed: bool) -> Sums {
        let cells = self.cells;
        sum_of_parts(cells, detailed, &self.parts, |shells, sums| {
            let (mut p, mut y) = (Vec::new(), Vec::new());
            let (mut gain, mut all) = (Vec::new(), Vec::new());
            for s in shells {
                let (first, count) = reduced(s, cells);
                let padded = count.next_multiple_of(TILE);
                // Products of f at a and s - a, and the multiplicity of each: the middle of an even shell is there once.
                p.clear();
                p.extend((first..first + count).map(|a| f[a] * f[s - a]));
                p.resize(padded, 0.0);
                let last = |b: usize| if 2 * (first + b) == s { 1.0 } else { 2.0 };
                for list in [&mut y, &mut gain, &mut all] {
                    list.clear();
                    list.resize(padded, 0.0);
                }
                let tiles = padded / TILE;
                let mut values =
                    self.table.values[self.table.starts[s] as usize..].chunks_exact(TILE);
                for ta in 0..tiles {
                    for tb in ta..tiles {
                        for (a, row) in (ta * TILE..).zip(values.by_ref().take(TILE)) {
                            let columns = tb * TILE..(tb + 1) * TILE;
                            let own = p[a];
                            let mut sum = [0.0; 8];
                            for (at, (g, (y, p))) in row
                                .iter()
                                .zip(y[columns.clone()].iter_mut().zip(&p[columns.clone()]))
                                .enumerate()
                            {
                                let flow = g.to_f64() * (p - own);
                                sum[at % 8] += 2.0 * flow;
                                *y -= 2.0 * flow;
                            }
                            let mut sum: f64 = sum.iter().sum();
                            // The middle counts once; it is the last column.
                            let middle = count - 1;
                            if columns.contains(&middle) && last(middle) == 1.0 {
                                sum -= row[middle % TILE].to_f64() * (p[middle] - own);
                            }
                            y[a] += sum;
                            if detailed {
                                for (b, g) in columns.zip(row) {
                                    let g = g.to_f64();
                                    if g != 0.0 {
                                        gain[a] += g * last(b) * p[b];
                                        all[a] += g * last(b);
                                        gain[b] += g * last(a) * own;
                                        all[b] += g * last(a);
                                    }
                                }
                            }
                        }
                    }
                }
                for a in 0..count {
                    let (i, j) = (first + a, s - first - a);
                    let mut put = |i: usize, j: usize| {
                        sums.flux[i] += y[a];
                        if detailed {
                            sums.gain[i] += gain[a];
                            sums.frequency[i] += all[a] * f[j];
                        }
                    };
                    put(i, j);
                    if i != j {
                        put(j, i);
                    }
                }
            }
        })
    }
}

impl<T: Real> Operator for Compact<T> {
    fn rate(&self, f: &[f64], rate: &mut [f64]) {
        let sums = self.sums(f, false);
        for ((rate, flux), divisor) in rate.iter_mut().zip(&sums.flux).zip(&self.divisors) {
            *rate = divisor * flux;
        }
    }

    fn rates(&self, f: &[f64]) -> Rates {
        // Collisions that keep or exchange energies are on the diagonals that are not stored.
        let unmoved = Unmoved::new(self.cells, self.theta, true);
        finish(&self.sums(f, true), f, &self.divisors, Some(&unmoved))
    }

    fn table_bytes(&self) -> u64 {
        size_of_val(&self.table.values[..]) as u64
    }
}
