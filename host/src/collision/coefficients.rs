//! The coefficients of the collision sum: solid angles, and tables of them.
//!
//! A pair of cells i, j collides with the relative displacement m = i - j (in cells) and the doubled centre of mass
//! s = i + j. Isotropic scattering distributes the relative velocity over the sphere of radius |m|. With
//! piecewise constant f the post-collision pair lies in the cells k = (s + n)/2, l = (s - n)/2 exactly if
//! |m| u is in n + [-1, 1]^3; u is the unit vector of scattering. So the coefficients of eqs. (6)-(10) of Aristov et al. (2011) are
//!
//! ```text
//! A(m, n) = C h^(3+gamma) |m|^gamma omega(|m|^2, n),       B(m) = C h^(3+gamma) |m|^gamma 4 pi,
//! omega(rho, n) = solid angle of { u : sqrt(rho) u in n + [-1, 1]^3 },      sum over n = m (mod 2) of omega = 4 pi.
//! ```
//!
//! omega depends only on rho and on the magnitudes of the components of n, whatever the order; gamma, h and C factor
//! out. One table for a grid of N^3 cells therefore serves every gas and every cell width.
//!
//! **Fourth order.** The leading error of these coefficients is that of averaging the products P(n) = f_k f_l over the cube
//! n + [-1, 1]^3, which adds a sixth of the Laplacian of P, taken in units of n. A second difference of P along each axis takes it back. By summation by parts it may
//! act on the coefficients instead ([`Order::Fourth`]),
//!
//! ```text
//! omega4(rho, n) = omega(rho, n) - (1/24) sum over axes a of [omega(rho, n + 2 e_a) - 2 omega(rho, n) + omega(rho, n - 2 e_a)],
//! ```
//!
//! which still sums to 4 pi, depends on rho and the orbit of n only, and for each orbit differs from zero in a contiguous, somewhat wider band of rho. Products with
//! a cell outside the grid are zero, so nothing else in the sum changes. Some of these coefficients are negative.

use std::collections::HashMap;
use std::f64::consts::PI;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::Order;

use rayon::prelude::*;

/// Solid angle, in steradians, of the directions u for which `sqrt(rho) u` lies in the cube `n + [-1, 1]^3`.
///
/// Symmetry reduces the cube to the positive octant: an axis with n_a = 0 contributes the interval [0, 1] twice.
/// Inclusion and exclusion over the eight corners then leaves areas of the kind { u_x > p, u_y > q, u_z > r }, which the
/// Gauss-Bonnet theorem computes in closed form. Such a piece is a triangle bounded by three small circles. Integer tests decide whether
/// a corner lies outside the sphere and whether the sphere meets the cube at all,
/// so zeros are exact. Absolute error about 1e-14.
pub fn omega(rho: u32, n: [i32; 3]) -> f64 {
    if rho == 0 {
        return if n == [0; 3] { 4.0 * PI } else { 0.0 };
    }
    // In one order, so that displacements of an orbit have the same bits.
    let mut n = n.map(i32::unsigned_abs);
    n.sort_unstable();
    let [x, y, z] = n.map(folded_interval);
    let (near, far) = support(n);
    if u64::from(rho) <= near || u64::from(rho) >= far {
        return 0.0;
    }
    let zeros = n.iter().filter(|&&n| n == 0).count() as i32;
    let mut sum = 0.0;
    for corner in 0..8 {
        let pick = |interval: [u32; 2], bit: u32| interval[(corner >> bit & 1) as usize];
        let area = octant_area(rho, [pick(x, 0), pick(y, 1), pick(z, 2)]);
        if u32::count_ones(corner) % 2 == 0 {
            sum += area;
        } else {
            sum -= area;
        }
    }
    // The sum can fall below zero by roundoff only.
    (2f64.powi(zeros) * sum).max(0.0)
}

/// The coefficient of the given order for any n: [`omega`], or its combination with the six neighbours of n.
pub fn coefficient(order: Order, rho: u32, n: [i32; 3]) -> f64 {
    combined(order, n, |n| omega(rho, n))
}

/// The coefficient of the given order, from omega of n and of its neighbours.
fn combined(order: Order, n: [i32; 3], omega: impl Fn([i32; 3]) -> f64) -> f64 {
    match order {
        Order::Second => omega(n),
        Order::Fourth => {
            let around: f64 = neighbours(n).map(&omega).sum();
            1.25 * omega(n) - around / 24.0
        }
    }
}

/// n +- 2 e_a for the three axes: the cubes that share a face with that of n.
fn neighbours(n: [i32; 3]) -> impl Iterator<Item = [i32; 3]> {
    (0..3).flat_map(move |a| {
        [-2, 2].map(|by| {
            let mut n = n;
            n[a] += by;
            n
        })
    })
}

/// The interval of |n_a| + [-1, 1] on the positive half-axis.
fn folded_interval(n: u32) -> [u32; 2] {
    if n == 0 { [0, 1] } else { [n - 1, n + 1] }
}

/// Squared distances of the nearest and farthest point of the cube `n + [-1, 1]^3`: omega > 0 exactly strictly between them.
fn support(n: [u32; 3]) -> (u64, u64) {
    n.map(folded_interval)
        .iter()
        .fold((0, 0), |(near, far), &[lo, hi]| {
            (
                near + u64::from(lo) * u64::from(lo),
                far + u64::from(hi) * u64::from(hi),
            )
        })
}

/// Area on the unit sphere of { sqrt(rho) u_x > p, sqrt(rho) u_y > q, sqrt(rho) u_z > r } for p, q, r >= 0.
fn octant_area(rho: u32, [p, q, r]: [u32; 3]) -> f64 {
    let square = |a: u32| i64::from(a) * i64::from(a);
    let excess = i64::from(rho) - square(p) - square(q) - square(r);
    if excess <= 0 {
        return 0.0;
    }
    let (excess, rho) = (excess as f64, f64::from(rho));
    let [p, q, r] = [p, q, r].map(f64::from);
    // Angle of the triangle at the corner of the planes a and b.
    let angle = |a: f64, b: f64| (rho * (rho - a * a - b * b)).sqrt().atan2(a * b);
    // Length, as an angle about the axis of e, of the side in the plane e. A B - a b is written as a quotient free of cancellation.
    let arc = |a: f64, b: f64, e: f64| {
        let rest = rho - e * e;
        let (big_a, big_b) = ((rest - b * b).sqrt(), (rest - a * a).sqrt());
        (rest * excess / (big_a * big_b + a * b)).atan2(a * big_a + b * big_b)
    };
    angle(q, r) + angle(p, r) + angle(p, q)
        - PI
        - (p * arc(q, r, p) + q * arc(p, r, q) + r * arc(p, q, r)) / rho.sqrt()
}

/// All n that differ only in signs and in the order of components of equal parity: they share their coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Orbit {
    /// |n|, first the component with a parity of its own, the others descending.
    pub n: [u32; 3],
    /// First radius index of the band of coefficients.
    pub first: u32,
    /// Radius indices of the band; outside it all coefficients are zero.
    pub count: u32,
    /// Where they start in [`OrbitClass::omega`].
    pub offset: u32,
}

/// The coefficients for displacements with a given number of odd components.
///
/// That number c is rho modulo 4; in class 3 moreover rho = 3 (mod 8). Radii are numbered r = (rho - c) / 4, or (rho - 3) / 8 in class 3.
#[derive(Clone, Debug)]
pub struct OrbitClass {
    class: u32,
    shift: u32,
    radii: usize,
    halves: usize,
    orbits: Vec<Orbit>,
    omega: Vec<f64>,
    lookup: Vec<u32>,
}

/// Binary digits by which rho exceeds the radius index.
const fn shift(class: u32) -> u32 {
    if class == 3 { 3 } else { 2 }
}

/// One displacement of each orbit of a class, in the order of |n|^2. In class 1 the odd component comes first, in class 2 the even one.
fn representatives(n: u32, class: u32) -> Vec<[u32; 3]> {
    let parity = match class {
        0 => [0, 0, 0],
        1 => [1, 0, 0],
        2 => [0, 1, 1],
        _ => [1, 1, 1],
    };
    let mixed = class == 1 || class == 2;
    let components = |role: usize| (parity[role]..n).step_by(2);
    let mut found = Vec::new();
    for a in components(0) {
        for b in components(1) {
            for c in components(2) {
                if b >= c && (mixed || a >= b) {
                    found.push([a, b, c]);
                }
            }
        }
    }
    found.sort_by_key(|n| (n.iter().map(|n| n * n).sum::<u32>(), *n));
    found
}

/// The coefficients of a displacement that do not vanish, of `radii` radii, and the index of the first; `solid` is those of second order.
fn band(
    order: Order,
    class: u32,
    radii: u32,
    n: [u32; 3],
    solid: impl Fn(u32, [i32; 3]) -> f64,
) -> (u32, Vec<f64>) {
    let shift = shift(class);
    let n = n.map(|n| n as i32);
    // The cubes that contribute. Cubes with a common face have overlapping intervals of rho, so their union is an interval
    // too and the wanted radii are consecutive. rho = 0 belongs to n = 0 by definition, and rho = 1 .. 2 follow it.
    let mut cubes = vec![n];
    if order == Order::Fourth {
        cubes.extend(neighbours(n));
    }
    let supports: Vec<_> = cubes
        .iter()
        .map(|n| (*n == [0; 3], support(n.map(i32::unsigned_abs))))
        .collect();
    let wanted = |r: &u32| {
        let rho = u64::from(class + (r << shift));
        supports.iter().any(|&(origin, (near, far))| {
            if rho == 0 {
                origin
            } else {
                near < rho && rho < far
            }
        })
    };
    let near = supports
        .iter()
        .map(|(_, (near, _))| *near)
        .min()
        .unwrap_or(0);
    let far = supports.iter().map(|(_, (_, far))| *far).max().unwrap_or(0);
    let first = u32::try_from(near)
        .unwrap_or(u32::MAX)
        .saturating_sub(class)
        >> shift;
    let wanted: Vec<u32> = (first..radii)
        .take_while(|r| u64::from(class + (r << shift)) < far)
        .filter(wanted)
        .collect();
    debug_assert!(wanted.is_sorted_by(|a, b| a + 1 == *b), "{n:?}");
    let values = wanted
        .iter()
        .map(|r| combined(order, n, |n| solid(class + (r << shift), n)))
        .collect();
    (wanted.first().copied().unwrap_or(0), values)
}

impl OrbitClass {
    /// Computes the class `class` for a grid of n^3 cells.
    fn new(n: usize, order: Order, class: u32) -> Self {
        let shift = shift(class);
        let largest = 3 * (n as u32 - 1).pow(2);
        let radii = largest
            .checked_sub(class)
            .map_or(0, |span| (span >> shift) as usize + 1);
        let halves = n.div_ceil(2);

        let mixed = class == 1 || class == 2;
        let found = representatives(n as u32, class);
        // Neighbours share their solid angles, which take longer than all else.
        let second = (order == Order::Fourth).then(|| Self::new(n + 2, Order::Second, class));
        let bands: Vec<(u32, Vec<f64>)> = found
            .par_iter()
            .map(|&n| match &second {
                Some(second) => band(order, class, radii as u32, n, |rho, n| {
                    second.coefficient(rho, n.map(i32::unsigned_abs))
                }),
                None => band(order, class, radii as u32, n, omega),
            })
            .collect();

        let mut orbits = Vec::with_capacity(found.len());
        let mut omega = Vec::new();
        let mut lookup = vec![u32::MAX; halves.pow(3)];
        for (o, (n, (first, values))) in found.into_iter().zip(bands).enumerate() {
            let [a, b, c] = n.map(|n| n as usize / 2);
            let images: &[[usize; 3]] = if mixed {
                &[[a, b, c], [a, c, b]]
            } else {
                &[
                    [a, b, c],
                    [a, c, b],
                    [b, a, c],
                    [b, c, a],
                    [c, a, b],
                    [c, b, a],
                ]
            };
            for &[a, b, c] in images {
                lookup[(a * halves + b) * halves + c] = o as u32;
            }
            orbits.push(Orbit {
                n,
                first,
                count: values.len() as u32,
                offset: omega.len() as u32,
            });
            omega.extend(values);
        }
        Self {
            class,
            shift,
            radii,
            halves,
            orbits,
            omega,
            lookup,
        }
    }

    /// Number of odd components.
    pub fn class(&self) -> u32 {
        self.class
    }
    /// Radius indices, from 0.
    pub fn radii(&self) -> usize {
        self.radii
    }
    /// rho of a radius index.
    pub fn rho(&self, radius: usize) -> u32 {
        self.class + ((radius as u32) << self.shift)
    }
    /// Radius index of a rho of this class.
    pub fn radius(&self, rho: u32) -> usize {
        ((rho - self.class) >> self.shift) as usize
    }
    /// The orbits, by ascending |n|^2.
    pub fn orbits(&self) -> &[Orbit] {
        &self.orbits
    }
    /// The coefficients in the bands, orbit after orbit.
    pub fn omega(&self) -> &[f64] {
        &self.omega
    }
    /// The coefficients of one orbit at its radii `first .. first + count`.
    pub fn band(&self, orbit: &Orbit) -> &[f64] {
        &self.omega[orbit.offset as usize..][..orbit.count as usize]
    }
    /// Index of the orbit of n, given `|n_a| / 2` on the axes x, y, z and the parity pattern of n (bit 2 for x, 1 for y, 0 for z).
    pub fn orbit_of(&self, pattern: u32, [x, y, z]: [usize; 3]) -> usize {
        // The axis with a parity of its own goes first; classes 0 and 3 have none, and any order will do.
        let roles = match pattern {
            0b010 | 0b101 => [y, x, z],
            0b001 | 0b110 => [z, x, y],
            _ => [x, y, z],
        };
        self.lookup[(roles[0] * self.halves + roles[1]) * self.halves + roles[2]] as usize
    }
    /// The coefficient of rho and n, of this class.
    fn coefficient(&self, rho: u32, n: [u32; 3]) -> f64 {
        let orbit = self.orbits[self.orbit_of(pattern_of(n), n.map(|n| n as usize / 2))];
        let at = (self.radius(rho) as u32).wrapping_sub(orbit.first);
        self.band(&orbit).get(at as usize).copied().unwrap_or(0.0)
    }
}

/// The coefficients of a grid of N^3 cells, gathered by orbits: 41 thousand numbers for N = 20, 4 million for N = 64, about twice
/// as many in fourth order.
#[derive(Clone, Debug)]
pub struct OrbitTable {
    n: usize,
    order: Order,
    classes: [OrbitClass; 4],
}

impl OrbitTable {
    /// The table for a grid of n^3 cells, computed at the first call for this n and order and kept for the life of the process.
    ///
    /// 1 <= n <= 64 is what the rest of the library uses; the table grows as n^4.
    pub fn of(n: usize, order: Order) -> Arc<Self> {
        type Tables = HashMap<(usize, Order), Arc<OrbitTable>>;
        static TABLES: OnceLock<Mutex<Tables>> = OnceLock::new();
        let tables = || {
            TABLES
                .get_or_init(Mutex::default)
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(table) = tables().get(&(n, order)) {
            return Arc::clone(table);
        }
        // Computed outside the lock: a worker that waits in here may pick up a task that asks for a table too.
        let table = Arc::new(Self {
            n,
            order,
            classes: [0, 1, 2, 3].map(|class| OrbitClass::new(n, order, class)),
        });
        Arc::clone(tables().entry((n, order)).or_insert(table))
    }

    /// Cells along an axis.
    pub fn n(&self) -> usize {
        self.n
    }
    /// Order of the coefficients.
    pub fn order(&self) -> Order {
        self.order
    }
    /// The coefficients for displacements with `class` odd components, 0 to 3.
    pub fn class(&self, class: u32) -> &OrbitClass {
        &self.classes[class as usize]
    }
    /// The coefficient of rho and n for a displacement and an n of the same parity that both fit into the grid.
    pub fn omega(&self, rho: u32, n: [u32; 3]) -> f64 {
        self.class(pattern_of(n).count_ones()).coefficient(rho, n)
    }
    /// Coefficients in all bands of all classes.
    pub fn nonzeros(&self) -> usize {
        self.classes.iter().map(|class| class.omega.len()).sum()
    }
}

/// Parity pattern of a displacement: bit 2 for x, bit 1 for y, bit 0 for z.
pub(crate) fn pattern_of([x, y, z]: [u32; 3]) -> u32 {
    (x & 1) << 2 | (y & 1) << 1 | z & 1
}

/// Powers of the relative speed, `rho^(gamma/2)` for rho = 0 ..= 3 (n-1)^2, in lattice units. 0^0 is 1.
pub fn speeds(n: usize, gamma: f64) -> Vec<f64> {
    (0..=3 * (n - 1) * (n - 1))
        .map(|rho| (rho as f64).powf(0.5 * gamma))
        .collect()
}

/// Coefficients of the collision frequency, `b[mx][my][mz] = 4 pi |m|^gamma` for 0 <= m < n, in lattice units (eq. 7).
pub fn frequency_coefficients(n: usize, gamma: f64) -> Vec<f64> {
    let speeds = speeds(n, gamma);
    let mut b = Vec::with_capacity(n.pow(3));
    for mx in 0..n {
        for my in 0..n {
            b.extend((0..n).map(|mz| 4.0 * PI * speeds[mx * mx + my * my + mz * mz]));
        }
    }
    b
}
