//! The jump pairs in O(M^2): a jump m -> m + d of one particle meets the jumps j -> j - d of all partners at once.
//!
//! For each d the rate coefficients of both directions are (S by rows of m; Sx the sums of f from a cell to the top)
//!
//! ```text
//! up    alpha = S(m, m+d) Sx[m+d+1] + u,              u = sum over l < m of S(l, l+d) f_(l+d)
//! down  beta  = S(m, m+d) (Sx[m+1] - Sx[M-d]) + v,    v = sum over l < m of S(l, l+d) f_l
//! ```
//!
//! The loops run over m outside and d inside, so that u and v are arrays and nothing in the inner loop waits for its neighbour.
//! Uncorrected coefficients differ between the directions; gain and loss of a cell then use those of its own jumps and the fluxes
//! no longer cancel.

use std::ops::Range;
use std::sync::OnceLock;

use rarefy_kernels::Real;

use super::operator::{Operator, Sums, Unmoved, finish, parts_for, split, sum_of_parts};
use crate::isotropic::Rates;
use crate::isotropic::coefficients::Coefficients;
use crate::isotropic::tables::{Jump, JumpRows, row_start};
use crate::simd::{Job, fma, on_widest};

/// Coefficients of jumps in `T`.
enum Table<T> {
    /// By rows of m.
    Rows(Vec<T>),
    /// The same for all d: one for each m.
    Uniform(Vec<T>),
}

impl<T: Real> Table<T> {
    fn rows(cells: usize, theta: f64, jump: Jump) -> Self {
        let rows = JumpRows::new(cells, theta, jump).into_values();
        Self::Rows(rows.into_iter().map(T::from_f64).collect())
    }

    fn bytes(&self) -> u64 {
        let (Self::Rows(values) | Self::Uniform(values)) = self;
        size_of_val(&values[..]) as u64
    }
}

/// Jump pairs on the CPU.
pub(super) struct Pairs<T> {
    cells: usize,
    theta: f64,
    corrected: bool,
    up: Table<T>,
    /// Where it differs from `up`.
    down: Option<Table<T>>,
    divisors: Vec<f64>,
    /// Ranges of d of about equal work.
    parts: Vec<Range<usize>>,
    /// Made when gain and frequency are asked for.
    unmoved: OnceLock<Unmoved>,
}

impl<T: Real> Pairs<T> {
    pub(super) fn new(cells: usize, theta: f64, corrected: bool, divisors: Vec<f64>) -> Self {
        let (up, down) = if !corrected {
            let down = Table::rows(cells, theta, Jump::Down);
            (Table::rows(cells, theta, Jump::Up), Some(down))
        } else if theta == 1.0 {
            let values = (0..cells).map(|m| T::from_f64(Coefficients::hard_spheres(m)));
            (Table::Uniform(values.collect()), None)
        } else {
            (Table::rows(cells, theta, Jump::Both), None)
        };
        Self {
            cells,
            theta,
            corrected,
            up,
            down,
            divisors,
            parts: split(1..cells, parts_for(cells * cells / 2), |d| {
                (cells - d) as u64
            }),
            unmoved: OnceLock::new(),
        }
    }

    fn sums(&self, f: &[f64], detailed: bool) -> Sums {
        let cells = self.cells;
        // Sums from each cell to the top, compensated: the smallest come first, but there may be many.
        let mut above = vec![0.0; cells + 1];
        let (mut sum, mut carry) = (0.0_f64, 0.0_f64);
        for i in (0..cells).rev() {
            let term = f[i] - carry;
            let next = sum + term;
            carry = (next - sum) - term;
            sum = next;
            above[i] = sum;
        }
        // Sx[M-d] by d.
        let tail: Vec<f64> = (0..=cells).map(|d| above[cells - d]).collect();
        let fields = Fields {
            cells,
            f,
            above: &above,
            tail: &tail,
        };
        sum_of_parts(cells, detailed, &self.parts, |part, sums| {
            let sweep = Sweep {
                fields,
                up: &self.up,
                down: self.down.as_ref(),
                part,
                sums,
                detailed,
            };
            on_widest(sweep);
        })
    }
}

impl<T: Real> Operator for Pairs<T> {
    fn rate(&self, f: &[f64], rate: &mut [f64]) {
        let sums = self.sums(f, false);
        for ((rate, flux), divisor) in rate.iter_mut().zip(&sums.flux).zip(&self.divisors) {
            *rate = divisor * flux;
        }
    }

    fn rates(&self, f: &[f64]) -> Rates {
        let unmoved = self
            .unmoved
            .get_or_init(|| Unmoved::new(self.cells, self.theta, self.corrected));
        finish(&self.sums(f, true), f, &self.divisors, Some(unmoved))
    }

    fn largest_frequency(&self, f: &[f64]) -> f64 {
        finish(&self.sums(f, true), f, &self.divisors, None).largest_frequency
    }

    fn table_bytes(&self) -> u64 {
        self.up.bytes() + self.down.as_ref().map_or(0, Table::bytes)
    }
}

/// The distribution and its sums.
#[derive(Clone, Copy)]
struct Fields<'a> {
    cells: usize,
    f: &'a [f64],
    above: &'a [f64],
    tail: &'a [f64],
}

/// The jumps of a range of d.
struct Sweep<'a, T> {
    fields: Fields<'a>,
    up: &'a Table<T>,
    down: Option<&'a Table<T>>,
    part: Range<usize>,
    sums: &'a mut Sums,
    /// Whether gain and frequency are wanted besides the rate.
    detailed: bool,
}

/// Partial sums that fill a vector register.
const LANES: usize = 8;

impl<T: Real> Job for Sweep<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        if self.down.is_some() {
            self.both_ways::<FMA>();
        } else if self.detailed {
            self.sweep::<FMA, true>();
        } else {
            self.sweep::<FMA, false>();
        }
    }
}

/// The jumps between a cell m and the cells above it.
struct Row<'a, T> {
    /// Coefficients.
    t: &'a [T],
    /// f in m and above it.
    a: f64,
    b: &'a [f64],
    /// Sx[m+1], Sx[m+d+1] and Sx[M-d].
    from_here: f64,
    beyond: &'a [f64],
    tail: &'a [f64],
}

/// Jumps m <-> m + d for neighbouring d: rate coefficients up and down, and the flows.
#[derive(Clone, Copy)]
struct Flows<const N: usize> {
    up: [f64; N],
    down: [f64; N],
    rise: [f64; N],
    fall: [f64; N],
    net: [f64; N],
}

impl<T: Real> Row<'_, T> {
    /// The jumps from the `k`-th on, which are then in u and v. All loads precede all stores, so the compiler makes vectors of the lanes.
    #[inline(always)]
    fn flows<const FMA: bool, const N: usize>(
        &self,
        k: usize,
        u: &mut [f64],
        v: &mut [f64],
    ) -> Flows<N> {
        let (t, b) = (&self.t[k..][..N], &self.b[k..][..N]);
        let (beyond, tail) = (&self.beyond[k..][..N], &self.tail[k..][..N]);
        let (u, v) = (&mut u[k..][..N], &mut v[k..][..N]);
        let mut flows = Flows::none();
        let (mut next_u, mut next_v) = ([0.0; N], [0.0; N]);
        for lane in 0..N {
            let t = t[lane].to_f64();
            flows.up[lane] = fma::<f64, FMA>(t, beyond[lane], u[lane]);
            flows.down[lane] = fma::<f64, FMA>(t, self.from_here - tail[lane], v[lane]);
            flows.rise[lane] = flows.up[lane] * self.a;
            flows.fall[lane] = flows.down[lane] * b[lane];
            flows.net[lane] = flows.fall[lane] - flows.rise[lane];
            next_u[lane] = fma::<f64, FMA>(t, b[lane], u[lane]);
            next_v[lane] = fma::<f64, FMA>(t, self.a, v[lane]);
        }
        u.copy_from_slice(&next_u);
        v.copy_from_slice(&next_v);
        flows
    }
}

impl<const N: usize> Flows<N> {
    #[inline(always)]
    fn none() -> Self {
        Self {
            up: [0.0; N],
            down: [0.0; N],
            rise: [0.0; N],
            fall: [0.0; N],
            net: [0.0; N],
        }
    }

    /// Adds to the sums of cell m, lane by lane.
    #[inline(always)]
    fn add<const K: usize>(&mut self, other: &Flows<K>) {
        for lane in 0..K {
            self.up[lane] += other.up[lane];
            self.fall[lane] += other.fall[lane];
            self.net[lane] += other.net[lane];
        }
    }

    /// Adds to the sums of the cells above, from `at` on.
    #[inline(always)]
    fn enter<const DETAILED: bool>(&self, sums: &mut Sums, at: usize) {
        let flux = &mut sums.flux[at..][..N];
        for (flux, net) in flux.iter_mut().zip(self.net) {
            *flux -= net;
        }
        if DETAILED {
            let (gain, frequency) = (&mut sums.gain[at..][..N], &mut sums.frequency[at..][..N]);
            for lane in 0..N {
                gain[lane] += self.rise[lane];
                frequency[lane] += self.down[lane];
            }
        }
    }
}

impl<T: Real> Sweep<'_, T> {
    /// The coefficients of row m for the jumps of the part.
    #[inline(always)]
    fn row<'b>(&self, table: &'b Table<T>, m: usize, uniform: &'b mut [T]) -> &'b [T] {
        let cells = self.fields.cells;
        let count = self.part.end.min(cells - m) - self.part.start;
        match table {
            Table::Rows(values) => &values[row_start(cells, m) + self.part.start - 1..][..count],
            Table::Uniform(values) => {
                uniform[..count].fill(values[m]);
                &uniform[..count]
            }
        }
    }

    /// Forward and backward alike.
    #[inline(always)]
    fn sweep<const FMA: bool, const DETAILED: bool>(self) {
        let Fields {
            cells,
            f,
            above,
            tail,
        } = self.fields;
        let d0 = self.part.start;
        let width = self.part.len();
        let (mut u, mut v) = (vec![0.0; width], vec![0.0; width]);
        let mut uniform = vec![T::ZERO; width];
        for m in 0..cells - d0 {
            let t = self.row(self.up, m, &mut uniform);
            let n = t.len();
            let row = Row {
                t,
                a: f[m],
                b: &f[m + d0..][..n],
                from_here: above[m + 1],
                beyond: &above[m + d0 + 1..][..n],
                tail: &tail[d0..][..n],
            };
            let mut own = Flows::<LANES>::none();
            let whole = n - n % LANES;
            for k in (0..whole).step_by(LANES) {
                let flows = row.flows::<FMA, LANES>(k, &mut u, &mut v);
                own.add(&flows);
                flows.enter::<DETAILED>(self.sums, m + d0 + k);
            }
            for k in whole..n {
                let flows = row.flows::<FMA, 1>(k, &mut u, &mut v);
                own.add(&flows);
                flows.enter::<DETAILED>(self.sums, m + d0 + k);
            }
            self.sums.flux[m] += own.net.iter().sum::<f64>();
            if DETAILED {
                self.sums.gain[m] += own.fall.iter().sum::<f64>();
                self.sums.frequency[m] += own.up.iter().sum::<f64>();
            }
        }
    }

    /// Each direction with its own coefficients.
    #[inline(always)]
    fn both_ways<const FMA: bool>(self) {
        let Fields {
            cells,
            f,
            above,
            tail,
        } = self.fields;
        let Some(down) = self.down else { return };
        let d0 = self.part.start;
        let zeros = vec![0.0; self.part.len()];
        let (mut u_up, mut v_up) = (zeros.clone(), zeros.clone());
        let (mut u_down, mut v_down) = (zeros.clone(), zeros);
        let mut none = Vec::new();
        let mut none_either = Vec::new();
        for m in 0..cells - d0 {
            let t_up = self.row(self.up, m, &mut none);
            let t_down = self.row(down, m, &mut none_either);
            let a = f[m];
            for k in 0..t_up.len() {
                let (i, d) = (m + d0 + k, d0 + k);
                let (up, down) = (t_up[k].to_f64(), t_down[k].to_f64());
                let b = f[i];
                let (beyond, below) = (above[i + 1], above[m + 1] - tail[d]);
                // Of cell m, whose particle is the lowest of the four or whose partner falls into a lower one.
                let alpha = fma::<f64, FMA>(up, beyond, u_down[k]);
                let into_m = b * fma::<f64, FMA>(up, below, v_down[k]);
                // Of cell m + d, likewise.
                let beta = fma::<f64, FMA>(down, below, v_up[k]);
                let into_i = a * fma::<f64, FMA>(down, beyond, u_up[k]);
                self.sums.flux[m] += into_m - a * alpha;
                self.sums.flux[i] += into_i - b * beta;
                if self.detailed {
                    self.sums.gain[m] += into_m;
                    self.sums.gain[i] += into_i;
                    self.sums.frequency[m] += alpha;
                    self.sums.frequency[i] += beta;
                }
                u_up[k] += up * b;
                v_up[k] += up * a;
                u_down[k] += down * b;
                v_down[k] += down * a;
            }
        }
    }
}
