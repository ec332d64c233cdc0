//! The same sum restructured: the coefficient depends on i and j only through s = i + j and rho = |i - j|^2.
//!
//! With `P_s(n) = f((s+n)/2) f((s-n)/2)` the gain is `gain_i = sum over j of G(i+j, |i-j|^2)`, where
//! `G(s, rho) = rho^(gamma/2) sum over n of omega(rho, n) P_s(n)`. Three exact reductions follow:
//!
//! 1. omega depends on n only through its orbit under the symmetries of the cube that keep parity, so the products are
//!    summed over each orbit first ([`speed_spectrum()`], first half);
//! 2. for one orbit, omega differs from zero in a band of rho only: G is a banded matrix times a matrix whose
//!    columns are the values of s ([`speed_spectrum()`], second half);
//! 3. rho splits into a part of (x, y) and a part of z, so the sum over j_z is done once for each distinct value of
//!    the former ([`gather_z()`]), and only N^5 additions remain ([`gather_xy()`]).

use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, InOut, Quad, Shared};
use crate::simt::{Simt, WARP};

/// Rows of rho that a warp keeps in registers: the granularity of the stored bands.
pub const TILE: u32 = 8;

/// Threads of a block of [`speed_spectrum()`].
pub const SPECTRUM_THREADS: u32 = 256;

/// The problem of [`speed_spectrum()`], [`gather_z()`] and [`gather_xy()`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct FastShape {
    /// Cells along one axis of the grid.
    pub n: u32,
    /// Mirror images of (s_x, s_y) that one block treats together: 1, 2 (s_y) or 4 (both).
    pub sets: u32,
    /// Orbits that a block takes up at a time.
    pub chunk: u32,
    /// First task of this launch.
    pub first_task: u32,
    /// Tasks in this launch.
    pub launch_tasks: u32,
    /// Tiles of G of one distribution in the buffer of a pass.
    pub tiles: u32,
    /// Words of the z-sums of one distribution.
    pub z_sums: u32,
}

impl FastShape {
    /// Cells of zeros between two rows of the padded distribution.
    #[inline(always)]
    pub const fn margin(&self) -> u32 {
        self.n / 2
    }
    /// Distance of two rows of the padded distribution.
    #[inline(always)]
    pub const fn stride(&self) -> u32 {
        self.n + self.margin()
    }
    /// Words of one padded distribution.
    #[inline(always)]
    pub const fn padded(&self) -> u32 {
        self.n * self.n * self.stride() + self.margin()
    }
    /// Columns of a block: the values of s_z of one parity for each mirror image, padded to whole warps.
    #[inline(always)]
    pub const fn columns(&self) -> u32 {
        (self.sets * self.n).div_ceil(WARP) * WARP
    }
}

kernel! {
    /// Copies distributions into rows with margins of zeros: one thread a cell. The margins are zero beforehand.
    pub fn pad_rows<T: Real>(t, f: In<T>, padded: Out<T>; shape: FastShape) for f32, f64 {
        let cell = t.global_idx();
        if cell < f.len() {
            let n = shape.n;
            let cells = n * n * n;
            let item = quotient(cell as u32, cells);
            let within = cell as u32 - item * cells;
            let row = quotient(within, n);
            let at = row * shape.stride() + shape.margin() + (within - row * n);
            padded.set(t, item as usize * shape.padded() as usize + at as usize, f.get(t, cell));
        }
    }
}

kernel! {
    /// G(s, rho) without the factor rho^(gamma/2), for all s whose first two components are given up to mirror images.
    ///
    /// **Block**: `tasks[b] = [s_x, s_y, parity of s_z, first tile of its output]`; columns are the values of s_z of that parity, for
    /// each mirror image `s -> 2(N-1) - s` of s_y and s_x. All columns of a block see the same orbits, in boxes that differ in z only.
    ///
    /// **First half.** The block takes up the next `chunk` orbits, drops those that do not fit the box in x and y, and
    /// sums the products over each orbit's images: lanes are columns, so that they read consecutive words of the padded rows. The sums go to
    /// shared memory.
    ///
    /// **Second half.** Each warp owns tiles of 8 consecutive values of rho and keeps 8 x C sums a lane in registers; a
    /// coefficient, the same for all lanes, meets C columns. A tile's sums are carried from chunk to chunk in the
    /// output buffer, which only the owning thread touches; the order of the orbits is fixed, so the bits are too.
    ///
    /// **Cost**: a product takes two loads from the L1 cache and one multiply-add; the second half 8 C multiply-adds for two loads of 16 bytes
    /// and C shared loads. In f32 an H200 issues in 37% of its slots at N = 20 and in 47% at N = 32, with L1 at 59% and 53%. Two thirds of the
    /// multiplications are with zeros, as the widest box along z decides for all lanes.
    ///
    /// `orbits[o] = [|n| packed in bytes, first tile, tiles, first coefficient / 8]`, sorted by first tile within each parity class, each class
    /// from `classes[c]` on and filled up to whole chunks with orbits that fit nowhere. In classes 1 and 2 the first byte belongs to the axis whose
    /// parity stands alone. `reach[k]` is the end of the highest tile that the orbits of the class up to chunk k touch.
    /// Coefficients include the multiplicity of an orbit's images.
    pub fn speed_spectrum<T: Real>(
        t, padded: In<T>, tasks: In<Quad<u32>>, orbits: In<Quad<u32>>, classes: In<u32>, reach: In<u32>,
        coefficients: In<Quad<T>>, spectrum: InOut<T>; shape: FastShape,
    ) for f32, f64
    shared {
        sums: [T; shape.chunk * shape.columns()], list: [Quad<u32>; shape.chunk],
        counts: [u32; SPECTRUM_THREADS / WARP],
    } {
        let spectrum = Spectrum { padded, tasks, orbits, classes, reach, coefficients, spectrum, shape, sums, list, counts };
        match shape.columns() / WARP {
            1 => spectrum.block::<1, _>(t),
            2 => spectrum.block::<2, _>(t),
            3 => spectrum.block::<3, _>(t),
            _ => spectrum.block::<4, _>(t),
        }
    }
}

/// The arguments of [`speed_spectrum()`].
struct Spectrum<'a, T: Real> {
    padded: In<'a, T>,
    tasks: In<'a, Quad<u32>>,
    orbits: In<'a, Quad<u32>>,
    classes: In<'a, u32>,
    reach: In<'a, u32>,
    coefficients: In<'a, Quad<T>>,
    spectrum: InOut<'a, T>,
    shape: FastShape,
    sums: Shared<'a, T>,
    list: Shared<'a, Quad<u32>>,
    counts: Shared<'a, u32>,
}

/// The centre-of-mass box of a block's columns in x and y, and the parities of s.
#[derive(Clone, Copy)]
struct MassBox {
    wx: u32,
    wy: u32,
    px: u32,
    py: u32,
    pz: u32,
}

impl MassBox {
    #[inline(always)]
    const fn class(self) -> u32 {
        self.px + self.py + self.pz
    }

    /// Ways to assign the components of an orbit to the axes.
    #[inline(always)]
    const fn images(self) -> u32 {
        if self.class().is_multiple_of(3) { 6 } else { 2 }
    }

    /// The k-th such way: (n_x, n_y, n_z), all at least 0.
    #[inline(always)]
    fn image(self, orbit: u32, k: u32) -> [u32; 3] {
        let [a, b, c] = [orbit & 0xff, orbit >> 8 & 0xff, orbit >> 16 & 0xff];
        let class = self.class();
        if class.is_multiple_of(3) {
            let (x, y, z) = if k < 2 {
                (a, b, c)
            } else if k < 4 {
                (b, a, c)
            } else {
                (c, a, b)
            };
            if k & 1 == 0 { [x, y, z] } else { [x, z, y] }
        } else {
            let (b, c) = if k == 0 { (b, c) } else { (c, b) };
            // The parity that stands alone is odd in class 1, even in class 2.
            let alone = class & 1;
            if self.px == alone {
                [a, b, c]
            } else if self.py == alone {
                [b, a, c]
            } else {
                [b, c, a]
            }
        }
    }

    #[inline(always)]
    fn contains(self, [nx, ny, _]: [u32; 3]) -> bool {
        nx <= self.wx && ny <= self.wy
    }
}

/// Distance of a doubled index from the nearer end of the doubled lattice: the half-width of the centre-of-mass box.
#[inline(always)]
const fn half_width(s: u32, n: u32) -> u32 {
    let mirror = 2 * (n - 1) - s;
    if s < mirror { s } else { mirror }
}

/// Half of a difference that may be negative, in wrapping arithmetic.
#[inline(always)]
const fn half(difference: u32) -> u32 {
    (difference as i32 >> 1) as u32
}

/// Binary logarithm of the distance of two values of rho in a parity class.
#[inline(always)]
const fn class_shift(class: u32) -> u32 {
    if class == 3 { 3 } else { 2 }
}

impl<T: Real> Spectrum<'_, T> {
    /// A block with C columns a lane.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn block<const C: usize, S: Simt>(&self, t: &S) {
        let shape = &self.shape;
        let n = shape.n;
        // As a constant, so that offsets between rows are part of the instructions.
        let columns = C as u32 * WARP;
        let item = quotient(t.block_idx(), shape.launch_tasks);
        let task = shape.first_task + t.block_idx() - item * shape.launch_tasks;
        let Quad([sx, sy, pz, first_tile]) = self.tasks.get(t, task as usize);
        let bounds = MassBox {
            wx: half_width(sx, n),
            wy: half_width(sy, n),
            px: sx & 1,
            py: sy & 1,
            pz,
        };
        let class = bounds.class();
        let wz = n - 1 - ((n - 1 - pz) & 1);
        let rho_max = bounds.wx * bounds.wx + bounds.wy * bounds.wy + wz * wz;
        let tiles = ((rho_max - class) >> class_shift(class)) / TILE + 1;
        let output = (item as usize * shape.tiles as usize + first_tile as usize)
            * (TILE * columns) as usize;

        // Where a lane's columns have their centre (s - parity) / 2 in the padded distribution.
        let mut centre = [0; C];
        let mut c = 0;
        while c < C {
            let column = c as u32 * WARP + t.lane();
            let set = quotient(column, n);
            let z = column - set * n;
            // Columns that fill up the last warp repeat the first one.
            let (set, z) = if set < shape.sets { (set, z) } else { (0, 0) };
            let x = if set & 2 == 0 { sx } else { 2 * (n - 1) - sx };
            let y = if set & 1 == 0 { sy } else { 2 * (n - 1) - sy };
            let z = if z + pz < n { z } else { 0 };
            centre[c] =
                item * shape.padded() + ((x / 2) * n + y / 2) * shape.stride() + z + shape.margin();
            c += 1;
        }

        let mut high = 0;
        let mut base = self.classes.get(t, class as usize);
        let end = self.classes.get(t, class as usize + 1);
        while base < end {
            let Quad([_, low, _, _]) = self.orbits.get(t, base as usize);
            if low >= tiles {
                break;
            }
            let count = self.take_up(t, base, bounds);
            self.sum_images::<C, S>(t, count, bounds, &centre);
            t.sync_threads();

            let reach = self.reach.get(t, quotient(base, shape.chunk) as usize);
            let reach = if reach < tiles { reach } else { tiles };
            let mut tile = (if low < high { low } else { high }) + t.warp();
            while tile < reach {
                let at = output + (tile * TILE * columns + t.lane()) as usize;
                self.multiply::<C, S>(t, count, tile, tile < high, at);
                tile += t.warps();
            }
            high = if reach > high { reach } else { high };
            t.sync_threads();
            base += shape.chunk;
        }

        // Values of rho that no orbit reaches.
        let mut tile = high + t.warp();
        while tile < tiles {
            let mut row = 0;
            while row < TILE {
                let mut c = 0;
                while c < C as u32 {
                    let at = (tile * TILE + row) * columns + c * WARP + t.lane();
                    self.spectrum.set(t, output + at as usize, T::ZERO);
                    c += 1;
                }
                row += 1;
            }
            tile += t.warps();
        }
    }

    /// Lists those of the `chunk` orbits from `base` on that fit the box in x and y; returns their number.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn take_up<S: Simt>(&self, t: &S, base: u32, bounds: MassBox) -> u32 {
        let k = t.thread_idx();
        let last = self.shape.chunk - 1;
        let Quad([n, first, tiles, coefficient]) = self
            .orbits
            .get(t, (base + if k < last { k } else { last }) as usize);
        let mut fits = false;
        let mut image = 0;
        while image < bounds.images() {
            fits |= bounds.contains(bounds.image(n, image));
            image += 1;
        }
        fits &= k <= last;
        let mask = t.ballot(fits);
        if t.lane() == 0 {
            self.counts.set(t, t.warp(), mask.count_ones());
        }
        t.sync_threads();
        let mut before = (mask & !(u32::MAX << t.lane())).count_ones();
        let mut total = 0;
        let mut warp = 0;
        while warp < t.warps() {
            let count = self.counts.get(t, warp);
            before += if warp < t.warp() { count } else { 0 };
            total += count;
            warp += 1;
        }
        if fits {
            self.list
                .set(t, before, Quad([n, first, tiles, coefficient]));
        }
        t.sync_threads();
        total
    }

    /// Sums the products over the images of each listed orbit: one warp an orbit, one lane a column.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn sum_images<const C: usize, S: Simt>(
        &self,
        t: &S,
        count: u32,
        bounds: MassBox,
        centre: &[u32; C],
    ) {
        let (n, stride, columns) = (self.shape.n, self.shape.stride(), C as u32 * WARP);
        let MassBox { px, py, pz, .. } = bounds;
        let mut e = t.warp();
        while e < count {
            let Quad([orbit, ..]) = self.list.get(t, e);
            let mut sum = [T::ZERO; C];
            let mut k = 0;
            while k < bounds.images() {
                let [nx, ny, nz] = bounds.image(orbit, k);
                if bounds.contains([nx, ny, nz]) {
                    // Offsets of k = (s+n)/2 and l = (s-n)/2 from the centre, for the images of n under reflections.
                    let (kx, lx) = (
                        ((nx + px) / 2) * n,
                        half(px.wrapping_sub(nx)).wrapping_mul(n),
                    );
                    let (ky, ly) = ((ny + py) / 2, half(py.wrapping_sub(ny)));
                    let (kz, lz) = ((nz + pz) / 2, half(pz.wrapping_sub(nz)));
                    let kk = kx.wrapping_add(ky).wrapping_mul(stride);
                    let ll = lx.wrapping_add(ly).wrapping_mul(stride);
                    let kl = kx.wrapping_add(ly).wrapping_mul(stride);
                    let lk = lx.wrapping_add(ky).wrapping_mul(stride);
                    let mut c = 0;
                    while c < C {
                        let near = centre[c] as usize;
                        let f = |offset: u32| self.padded.get_near(t, near, offset as i32);
                        let products = f(kk.wrapping_add(kz)) * f(ll.wrapping_add(lz));
                        let products =
                            f(kk.wrapping_add(lz)).mul_add(f(ll.wrapping_add(kz)), products);
                        let products =
                            f(kl.wrapping_add(kz)).mul_add(f(lk.wrapping_add(lz)), products);
                        let products =
                            f(kl.wrapping_add(lz)).mul_add(f(lk.wrapping_add(kz)), products);
                        sum[c] += products;
                        c += 1;
                    }
                }
                k += 1;
            }
            let mut c = 0;
            while c < C {
                self.sums
                    .set(t, e * columns + c as u32 * WARP + t.lane(), sum[c]);
                c += 1;
            }
            e += t.warps();
        }
    }

    /// Adds the listed orbits' share to one tile of the output.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn multiply<const C: usize, S: Simt>(
        &self,
        t: &S,
        count: u32,
        tile: u32,
        carried: bool,
        at: usize,
    ) {
        let columns = C as u32 * WARP;
        let mut sum = [[T::ZERO; C]; TILE as usize];
        if carried {
            let mut row = 0;
            while row < TILE as usize {
                let mut c = 0;
                while c < C {
                    sum[row][c] = self
                        .spectrum
                        .get(t, at + row * columns as usize + c * WARP as usize);
                    c += 1;
                }
                row += 1;
            }
        }
        let mut e = 0;
        while e < count {
            let Quad([_, first, tiles, coefficient]) = self.list.get(t, e);
            if first > tile {
                break;
            }
            if tile - first < tiles {
                let quad = 2 * (coefficient + tile - first) as usize;
                let Quad(low) = self.coefficients.get(t, quad);
                let Quad(high) = self.coefficients.get(t, quad + 1);
                let mut c = 0;
                while c < C {
                    let value = self.sums.get(t, e * columns + c as u32 * WARP + t.lane());
                    let mut row = 0;
                    while row < 4 {
                        sum[row][c] = low[row].mul_add(value, sum[row][c]);
                        sum[row + 4][c] = high[row].mul_add(value, sum[row + 4][c]);
                        row += 1;
                    }
                    c += 1;
                }
            }
            e += 1;
        }
        let mut row = 0;
        while row < TILE as usize {
            let mut c = 0;
            while c < C {
                self.spectrum.set(
                    t,
                    at + row * columns as usize + c * WARP as usize,
                    sum[row][c],
                );
                c += 1;
            }
            row += 1;
        }
    }
}

/// Threads of a block of [`gather_z()`] and [`gather_xy()`].
pub const GATHER_THREADS: u32 = 256;

kernel! {
    /// R(s_x, s_y, rho_xy; i_z) = sum over j_z of rho^(gamma/2) G((s_x, s_y, i_z + j_z), rho), rho = rho_xy + (i_z - j_z)^2, for the
    /// distinct values of rho_xy in the box of (s_x, s_y).
    ///
    /// Block `p = order[first_place + b] = s_x (2N-1) + s_y`; thread k owns the pairs (rho_xy, i_z) with linear index k, k + block_dim, .... For a given |i_z - j_z| neighbouring
    /// threads read neighbouring columns of one row of G.
    ///
    /// `places[2 p] = [first tile for even s_z, for odd s_z, first column, first z-sum]` and `places[2 p + 1] = [first distinct value,
    /// distinct values, first entry of the map, 0]`.
    pub fn gather_z<T: Real>(
        t, spectrum: In<T>, order: In<u32>, places: In<Quad<u32>>, distinct: In<u32>, speed: In<T>, z_sums: Out<T>;
        shape: FastShape, first_place: u32, launch_places: u32,
    ) for f32, f64 {
        let n = shape.n;
        let columns = shape.columns();
        let item = quotient(t.block_idx(), launch_places);
        let place = order.get(t, (first_place + t.block_idx() - item * launch_places) as usize);
        let Quad([even, odd, first_column, first_sum]) = places.get(t, 2 * place as usize);
        let Quad([first_distinct, count, _, _]) = places.get(t, 2 * place as usize + 1);
        let sx = quotient(place, 2 * n - 1);
        let sy = place - sx * (2 * n - 1);
        let parities = (sx & 1) + (sy & 1);
        let source = item as usize * shape.tiles as usize;
        let target = item as usize * shape.z_sums as usize + first_sum as usize;

        let mut k = t.thread_idx();
        while k < count * n {
            let d = quotient(k, n);
            let iz = k - d * n;
            let rho_xy = distinct.get(t, (first_distinct + d) as usize);
            let mut sum = T::ZERO;
            let mut pz = 0;
            while pz < 2 {
                // The squares of the numbers of one parity, less the class, in steps of the class: rows rise by 1, 3, 5, ... for
                // even differences, by 2, 4, 6, ... for odd ones, half of that in class 3.
                let class = parities + pz;
                let shift = class_shift(class) - 2;
                let tile = source + if pz == 0 { even } else { odd } as usize;
                let mut rho = rho_xy + pz;
                let row = (rho - class) >> class_shift(class);
                let mut rise = 1 + pz;
                // Places relative to the first column of the two in the first row: s_z = 2 i_z + delta for j_z above i_z,
                // 2 i_z - delta below. They stay below 2^31 words, as a block's part of G does.
                let first = (tile * TILE as usize + row as usize) * columns as usize;
                let above = first + (first_column + iz) as usize;
                let below = above.wrapping_sub(pz as usize);
                let mut at = 0;
                let mut back = 0;
                let mut delta = pz;
                while delta < n {
                    let mut pair = T::ZERO;
                    if delta < n - iz {
                        pair = spectrum.get_near(t, above, at);
                    }
                    if delta <= iz && delta > 0 {
                        pair += spectrum.get_near(t, below, back);
                    }
                    sum = speed.get(t, rho as usize).mul_add(pair, sum);
                    let down = ((rise >> shift) * columns) as i32;
                    at += down + 1;
                    back += down - 1;
                    rho += 4 * (delta + 1);
                    rise += 2;
                    delta += 2;
                }
                pz += 1;
            }
            z_sums.set(t, target + k as usize, sum);
            k += t.block_dim();
        }
    }
}

kernel! {
    /// gain(i) = sum over j_x, j_y of R(i_x + j_x, i_y + j_y, (i_x - j_x)^2 + (i_y - j_y)^2; i_z).
    ///
    /// Block (i_x, i_y); its threads share out j_x and add up their parts in a fixed order, in f64. `map[first + (|m_x|/2) (w_y/2 + 1) + |m_y|/2]`
    /// is the place of rho_xy among the distinct values of the box.
    pub fn gather_xy<T: Real>(t, z_sums: In<T>, places: In<Quad<u32>>, map: In<u32>, gain: Out<T>; shape: FastShape)
    for f32, f64
    shared { parts: [f64; GATHER_THREADS] } {
        let n = shape.n;
        let item = quotient(t.block_idx(), n * n);
        let row = t.block_idx() - item * n * n;
        let ix = quotient(row, n);
        let iy = row - ix * n;
        let shares = quotient(t.block_dim(), n);
        let share = quotient(t.thread_idx(), n);
        let iz = t.thread_idx() - share * n;
        let source = item as usize * shape.z_sums as usize;

        let mut sum = 0.0;
        let mut jx = share;
        while share < shares && jx < n {
            let mx = ix.abs_diff(jx);
            let mut jy = 0;
            while jy < n {
                let my = iy.abs_diff(jy);
                let place = (ix + jx) * (2 * n - 1) + iy + jy;
                let Quad([_, _, _, first_sum]) = places.get(t, 2 * place as usize);
                let Quad([_, _, first, _]) = places.get(t, 2 * place as usize + 1);
                let d = map.get(t, (first + (mx / 2) * (half_width(iy + jy, n) / 2 + 1) + my / 2) as usize);
                sum += z_sums.get(t, source + (first_sum + d * n + iz) as usize).to_f64();
                jy += 1;
            }
            jx += shares;
        }
        parts.set(t, t.thread_idx(), sum);
        t.sync_threads();
        if share == 0 {
            let mut other = 1;
            while other < shares {
                sum += parts.get(t, other * n + iz);
                other += 1;
            }
            gain.set(t, t.block_idx() as usize * n as usize + iz as usize, T::from_f64(sum));
        }
    }
}
