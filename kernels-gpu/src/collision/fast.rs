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

/// Threads of a block of [`speed_spectrum()`]: as many warps as tiles are usually unfinished at a time.
pub const SPECTRUM_THREADS: u32 = SPECTRUM_WARPS * WARP;
const SPECTRUM_WARPS: u32 = 12;

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
    /// sums the products over each orbit's images: lanes run along z, so that they read consecutive words of the padded rows. The sums go to
    /// shared memory, columns with the widest boxes first: a group of 32 columns then needs only the orbits and the tiles that
    /// its own widest box holds.
    ///
    /// **Second half.** A warp owns the tiles, 8 consecutive values of rho each, whose number is its own modulo the number of warps, and keeps
    /// 8 x C sums a lane in registers; a coefficient, the same for all lanes, meets C columns. Between chunks the sums of an
    /// unfinished tile wait in shared memory (in the output buffer, where a warp has several). Only the owning warp touches them and
    /// the order of the orbits is fixed, so there is no race and the bits are always the same.
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
        sums: [T; shape.chunk * shape.columns()], held: [T; SPECTRUM_WARPS * TILE * shape.columns()],
        list: [Quad<u32>; shape.chunk], counts: [u32; SPECTRUM_WARPS],
    } {
        let spectrum =
            Spectrum { padded, tasks, orbits, classes, reach, coefficients, spectrum, shape, sums, held, list, counts };
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
    held: Shared<'a, T>,
    list: Shared<'a, Quad<u32>>,
    counts: Shared<'a, u32>,
}

/// What is the same for a whole block.
struct Block<const C: usize> {
    bounds: MassBox,
    /// Half-width in z of the widest box among the 32 columns of each group.
    widths: [u32; C],
    /// Tiles that these boxes reach.
    tiles: [u32; C],
    /// Where the columns that a lane reads have their centre (s - parity) / 2 in the padded distribution.
    centre: [u32; C],
    /// Where their sums go among the columns in shared memory.
    place: [u32; C],
    /// Which column of the output the columns that a lane multiplies are.
    target: [u32; C],
    /// First word of the block's output.
    output: usize,
}

impl<const C: usize> Block<C> {
    /// Columns of the block, a constant so that offsets between rows are part of the instructions.
    const COLUMNS: u32 = C as u32 * WARP;
}

/// Where the sums of a tile are when a chunk begins.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// Nowhere yet.
    Fresh,
    /// In shared memory.
    Held,
    /// In the output buffer.
    Output,
}

/// Values of s_z of one parity in the order of falling half-width: w_max - 2j, where all but the middle of the lattice come twice.
#[derive(Clone, Copy)]
struct ByWidth {
    n: u32,
    pz: u32,
}

impl ByWidth {
    /// Largest half-width.
    #[inline(always)]
    const fn most(self) -> u32 {
        self.n - 1 - ((self.n - 1 - self.pz) & 1)
    }
    /// 1 if the middle of the lattice is among the values.
    #[inline(always)]
    const fn single(self) -> u32 {
        (self.most() == self.n - 1) as u32
    }
    /// Rank of s_z = 2 z + pz.
    #[inline(always)]
    const fn rank(self, z: u32) -> u32 {
        let s = 2 * z + self.pz;
        let upper = (s > self.n - 1) as u32;
        (self.most() - half_width(s, self.n) + upper).saturating_sub(self.single())
    }
    /// Half-width of the value of that rank.
    #[inline(always)]
    const fn width(self, rank: u32) -> u32 {
        self.most() - (rank + self.single()) / 2 * 2
    }
    /// The z of that rank.
    #[inline(always)]
    const fn z(self, rank: u32) -> u32 {
        let upper = (rank + self.single()) & 1;
        let width = self.width(rank);
        let s = if upper == 1 {
            2 * (self.n - 1) - width
        } else {
            width
        };
        (s - self.pz) / 2
    }
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
        let item = quotient(t.block_idx(), shape.launch_tasks);
        let task = shape.first_task + t.block_idx() - item * shape.launch_tasks;
        let block = self.prepare::<C, S>(t, item, task);
        let class = block.bounds.class();
        let tiles = block.tiles[0];

        let mut high = 0;
        let mut held = u32::MAX;
        let mut base = self.classes.get(t, class as usize);
        let end = self.classes.get(t, class as usize + 1);
        while base < end {
            let Quad([_, low, _, _]) = self.orbits.get(t, base as usize);
            if low >= tiles {
                break;
            }
            // Tiles below the first one of the next chunk are finished with this chunk.
            let mut next_low = u32::MAX;
            if base + shape.chunk < end {
                let Quad([_, first, _, _]) = self.orbits.get(t, (base + shape.chunk) as usize);
                next_low = first;
            }
            let count = self.take_up(t, base, &block);
            self.sum_images(t, count, &block);
            t.sync_threads();

            let reach = self.reach.get(t, quotient(base, shape.chunk) as usize);
            let reach = if reach < tiles { reach } else { tiles };
            let start = if low < high { low } else { high };
            let skew = start - quotient(start, t.warps()) * t.warps();
            let mut tile = if t.warp() >= skew {
                start + t.warp() - skew
            } else {
                start + t.warp() + t.warps() - skew
            };
            while tile < reach {
                let source = if tile == held {
                    Source::Held
                } else if tile < high {
                    Source::Output
                } else {
                    Source::Fresh
                };
                let hold = tile >= next_low && tile + t.warps() >= reach;
                self.multiply(t, count, tile, source, hold, &block);
                held = if hold { tile } else { u32::MAX };
                tile += t.warps();
            }
            high = if reach > high { reach } else { high };
            t.sync_threads();
            base += shape.chunk;
        }

        // Values of rho that no orbit reaches.
        let mut tile = high + t.warp();
        while tile < tiles {
            self.multiply(t, 0, tile, Source::Fresh, false, &block);
            tile += t.warps();
        }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn prepare<const C: usize, S: Simt>(&self, t: &S, item: u32, task: u32) -> Block<C> {
        let shape = &self.shape;
        let (n, sets) = (shape.n, shape.sets);
        let Quad([sx, sy, pz, first_tile]) = self.tasks.get(t, task as usize);
        let bounds = MassBox {
            wx: half_width(sx, n),
            wy: half_width(sy, n),
            px: sx & 1,
            py: sy & 1,
            pz,
        };
        let order = ByWidth { n, pz };
        let output = item as usize * shape.tiles as usize + first_tile as usize;
        let mut block = Block {
            bounds,
            widths: [0; C],
            tiles: [0; C],
            centre: [0; C],
            place: [0; C],
            target: [0; C],
            output: output * (TILE * Block::<C>::COLUMNS) as usize,
        };
        let class = bounds.class();
        let mut c = 0;
        while c < C {
            let width = order.width(quotient(c as u32 * WARP, sets));
            let rho = bounds.wx * bounds.wx + bounds.wy * bounds.wy + width * width;
            block.widths[c] = width;
            block.tiles[c] = ((rho - class) >> class_shift(class)) / TILE + 1;

            // Columns past the last one repeat the first one's work; so does the one that the odd parity lacks.
            let column = c as u32 * WARP + t.lane();
            let set = quotient(column, n);
            let z = column - set * n;
            let exists = z + pz < n;
            let fills_up = set >= sets;
            let (set, z) = if fills_up { (0, 0) } else { (set, z) };
            let x = if set & 2 == 0 { sx } else { 2 * (n - 1) - sx };
            let y = if set & 1 == 0 { sy } else { 2 * (n - 1) - sy };
            let near = if exists { z } else { 0 };
            block.centre[c] = item * shape.padded()
                + ((x / 2) * n + y / 2) * shape.stride()
                + near
                + shape.margin();
            let rank = if exists { order.rank(near) } else { n - 1 };
            block.place[c] = if fills_up { column } else { rank * sets + set };

            let rank = quotient(column, sets);
            let set = column - rank * sets;
            let z = if rank + pz < n { order.z(rank) } else { n - 1 };
            block.target[c] = if rank < n { set * n + z } else { column };
            c += 1;
        }
        block
    }

    /// Lists those of the `chunk` orbits from `base` on that fit the box in x and y, each with the number of column groups in whose widest box
    /// they fit in z; returns how many there are.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn take_up<const C: usize, S: Simt>(&self, t: &S, base: u32, block: &Block<C>) -> u32 {
        let bounds = block.bounds;
        let k = t.thread_idx();
        let last = self.shape.chunk - 1;
        let Quad([n, first, tiles, coefficient]) = self
            .orbits
            .get(t, (base + if k < last { k } else { last }) as usize);
        let mut least = u32::MAX;
        let mut image = 0;
        while image < bounds.images() {
            let [nx, ny, nz] = bounds.image(n, image);
            if bounds.contains([nx, ny, nz]) && nz < least {
                least = nz;
            }
            image += 1;
        }
        let mut groups = 0;
        let mut c = 0;
        while c < C {
            groups += u32::from(least <= block.widths[c]);
            c += 1;
        }
        let fits = k <= last && groups > 0;
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
            self.list.set(
                t,
                before,
                Quad([n, first, tiles | groups << 16, coefficient]),
            );
        }
        t.sync_threads();
        total
    }

    /// Sums the products over the images of each listed orbit: one warp an orbit, one lane a column.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn sum_images<const C: usize, S: Simt>(&self, t: &S, count: u32, block: &Block<C>) {
        let (n, stride) = (self.shape.n, self.shape.stride());
        let bounds = block.bounds;
        let MassBox { px, py, pz, .. } = bounds;
        let mut e = t.warp();
        while e < count {
            let Quad([orbit, ..]) = self.list.get(t, e);
            let mut sum = [T::ZERO; C];
            let mut k = 0;
            while k < bounds.images() {
                let [nx, ny, nz] = bounds.image(orbit, k);
                if bounds.contains([nx, ny, nz]) && nz <= block.widths[0] {
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
                        let centre = block.centre[c] as usize;
                        let f = |row: u32, z: u32| {
                            self.padded.get_near(t, centre, row.wrapping_add(z) as i32)
                        };
                        let products = f(kk, kz) * f(ll, lz);
                        let products = f(kk, lz).mul_add(f(ll, kz), products);
                        let products = f(kl, kz).mul_add(f(lk, lz), products);
                        let products = f(kl, lz).mul_add(f(lk, kz), products);
                        sum[c] += products;
                        c += 1;
                    }
                }
                k += 1;
            }
            let mut c = 0;
            while c < C {
                self.sums
                    .set(t, e * Block::<C>::COLUMNS + block.place[c], sum[c]);
                c += 1;
            }
            e += t.warps();
        }
    }

    /// Adds the listed orbits' share to the sums of one tile.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn multiply<const C: usize, S: Simt>(
        &self,
        t: &S,
        count: u32,
        tile: u32,
        source: Source,
        hold: bool,
        block: &Block<C>,
    ) {
        let columns = Block::<C>::COLUMNS;
        let held = t.warp() * TILE * columns + t.lane();
        let output = block.output + (tile * TILE * columns) as usize;
        let mut reached = 0;
        let mut c = 0;
        while c < C {
            reached += u32::from(tile < block.tiles[c]);
            c += 1;
        }

        let mut sum = [[T::ZERO; C]; TILE as usize];
        let mut row = 0;
        while row < TILE {
            let mut c = 0;
            while c < C {
                let column = c as u32 * WARP;
                if source == Source::Held {
                    sum[row as usize][c] = self.held.get(t, held + row * columns + column);
                } else if source == Source::Output && (c as u32) < reached {
                    sum[row as usize][c] = self.spectrum.get_near(
                        t,
                        output + block.target[c] as usize,
                        (row * columns) as i32,
                    );
                }
                c += 1;
            }
            row += 1;
        }

        let mut e = 0;
        while e < count {
            let Quad([_, first, packed, coefficient]) = self.list.get(t, e);
            if first > tile {
                break;
            }
            if tile - first < packed & 0xffff {
                let groups = packed >> 16;
                let groups = if groups < reached { groups } else { reached };
                let quad = 2 * (coefficient + tile - first) as usize;
                let Quad(low) = self.coefficients.get(t, quad);
                let Quad(high) = self.coefficients.get(t, quad + 1);
                let mut c = 0;
                while c < C {
                    if (c as u32) < groups {
                        let value = self.sums.get(t, e * columns + c as u32 * WARP + t.lane());
                        let mut row = 0;
                        while row < 4 {
                            sum[row][c] = low[row].mul_add(value, sum[row][c]);
                            sum[row + 4][c] = high[row].mul_add(value, sum[row + 4][c]);
                            row += 1;
                        }
                    }
                    c += 1;
                }
            }
            e += 1;
        }

        let mut row = 0;
        while row < TILE {
            let mut c = 0;
            while c < C {
                let value = sum[row as usize][c];
                if hold {
                    self.held
                        .set(t, held + row * columns + c as u32 * WARP, value);
                } else if (c as u32) < reached {
                    let centre = output + block.target[c] as usize;
                    self.spectrum
                        .set_near(t, centre, (row * columns) as i32, value);
                }
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
                let mut row = ((rho_xy + pz) - class) >> class_shift(class);
                let mut rho = rho_xy + pz;
                let mut rise = 1 + pz;
                // s_z = 2 i_z + delta for j_z above i_z, 2 i_z - delta below.
                let mut above = first_column + iz;
                let mut below = above.wrapping_sub(pz);
                let mut delta = pz;
                while delta < n {
                    let at = (tile * TILE as usize + row as usize) * columns as usize;
                    let mut pair = T::ZERO;
                    if iz + delta < n {
                        pair = spectrum.get(t, at + above as usize);
                    }
                    if delta > 0 && delta <= iz {
                        pair += spectrum.get(t, at + below as usize);
                    }
                    sum = speed.get(t, rho as usize).mul_add(pair, sum);
                    row += rise >> shift;
                    rho += 4 * (delta + 1);
                    rise += 2;
                    above += 1;
                    below = below.wrapping_sub(1);
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
