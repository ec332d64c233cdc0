//! The collision frequency as a convolution: a real transform padded with zeros, by small dense matrices.
//!
//! `nu_i = sum_j b(i - j) f_j` with `b(m) = 4 pi |m|^gamma`, which is even in each component of m. Let `P = 2 N - 1`, the least period
//! at which no image of f reaches into the grid. About the centre of the grid, the waves `cos` and `sin` of `2 pi k (j - (N-1)/2) / P`, 0 <= k < N,
//! are then eigenvectors of the convolution along each axis, with the same real eigenvalue for both of them; a cosine sees only the even part of f along its axis and a sine
//! only the odd one. So everything is real, and each transform takes N/2 rows to N. Along z no transform is made: for each wave along x and y the
//! symmetric Toeplitz matrix `T(k_x, k_y; |i_z - j_z|)` takes as many operations as the transforms there and back would.
//!
//! **Accuracy.** A transform's error is relative to the largest nu, not to each one: all arithmetic is f64, also for f in f32, and
//! the cell with the largest |f| is left out of the transform and its term added at the end. Without it each remaining nu_i is at least
//! `4 pi` times the sum of the f left, or of the cell left out, and at most `(sqrt(3) N)^gamma` times that: no nu is small beside the error, be f a single cell.
//! (f >= 0 is meant; where some values are negative the error is small beside the largest nu all the same.)
//!
//! Both kernels sum in an order that depends on N alone: an item has the same bits in a batch of any size.

use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, Shared};
use crate::simt::{Simt, WARP};

/// The grid and its padded transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ConvolutionShape {
    /// Cells along one axis of the grid.
    pub n: u32,
    /// Columns along x that a block of [`frequency_of_waves()`] sums.
    pub columns: u32,
}

impl ConvolutionShape {
    /// Cells in half a row, the middle one included.
    #[inline(always)]
    pub const fn half(&self) -> u32 {
        self.n.div_ceil(2)
    }
    /// Length of a row, of cells or waves, filled up with zeros to whole groups of eight.
    #[inline(always)]
    pub const fn row(&self) -> u32 {
        self.n.next_multiple_of(8)
    }
    /// Half of that, whole groups of four.
    #[inline(always)]
    pub const fn half_row(&self) -> u32 {
        self.row() / 2
    }
    /// Distance of rows in shared memory whose neighbours are read together: odd, so that they lie in different banks.
    #[inline(always)]
    pub const fn stride(&self) -> u32 {
        self.row() + 1
    }
    /// Waves along one axis: N cosines, k = 0 .. N-1, then N - 1 sines, k = 1 .. N-1.
    #[inline(always)]
    pub const fn waves(&self) -> u32 {
        2 * self.n - 1
    }
    /// Threads that a block of [`convolve_waves()`] needs at least: in its third step a thread has one task at most.
    #[inline(always)]
    pub const fn least_threads(&self) -> u32 {
        self.row() / 8 * self.row()
    }
    /// Numbers of one distribution between the two kernels: `[wave along x][parity along y][iy < half][iz]`.
    #[inline(always)]
    pub const fn spectrum(&self) -> u32 {
        self.waves() * 2 * self.half() * self.n
    }
}

/// A table on its way from global to shared memory: a thread fetches its first pair early and stores it late, and the latency passes behind other work.
#[derive(Clone, Copy)]
struct Fetch<'a> {
    table: In<'a, f64>,
    start: u32,
    len: u32,
    pair: [f64; 2],
}

impl<'a> Fetch<'a> {
    /// `len` numbers from `start` on, both even.
    #[inline(always)]
    #[track_caller]
    fn begin<S: Simt>(t: &S, table: In<'a, f64>, start: u32, len: u32) -> Self {
        let k = 2 * t.thread_idx();
        let pair = if k < len {
            table.get_run(t, (start + k) as usize)
        } else {
            [0.0; 2]
        };
        Self {
            table,
            start,
            len,
            pair,
        }
    }
    /// Stores them; what comes after the first pair of each thread is fetched only now.
    #[inline(always)]
    #[track_caller]
    fn store<S: Simt>(self, t: &S, to: Shared<'_, f64>) {
        let mut k = 2 * t.thread_idx();
        if k < self.len {
            to.set_run(t, k, self.pair);
        }
        k += 2 * t.block_dim();
        while k < self.len {
            to.set_run(
                t,
                k,
                self.table.get_run::<2, S>(t, (self.start + k) as usize),
            );
            k += 2 * t.block_dim();
        }
    }
}

kernel! {
    /// The convolution for one wave along x.
    ///
    /// **Block** `(item, wave, parity)`, parity along y fastest, in four steps with a barrier between them:
    /// 1. reduces f by the symmetry of the waves about the centres of x and y, and sums over x with the wave: `reduced[y][z]`, a thread a column (y, z), neighbours
    ///    neighbouring z. Each value of f is read once by the block, and the largest |f| is found on the way; the first warp sums
    ///    its column again without it;
    /// 2. sums over y with the cosines or sines: `rows[z][k]`, a thread one k and four z;
    /// 3. multiplies by the Toeplitz matrix along z, in place: a thread one k and eight z; the coefficient of one cell and its neighbour is
    ///    handed on through registers, so 64 multiply-adds take 16 loads;
    /// 4. sums over the waves k along y and writes `spectrum[item][wave][parity][y][z]`, a thread one z and four y.
    ///
    /// **Cost** of a block: N^3 words read, mostly from the L2 cache, and N^3/4 + N^3/2 + N^3 + N^3/2 multiply-adds; there are 2 (2N - 1) blocks an item.
    /// A small grid is bound by latency: the tables are fetched while step 1 waits for f.
    ///
    /// Tables, zero where an index is past the grid or the waves: `forward[sine][j < half_row][k]` the waves, half of them at the middle cell, which
    /// the reduction counts twice; `back[sine][k][j < half_row]` the waves; `table[k_x][m][k_y]` the transform of b along x and y, scaled for the way back.
    ///
    /// `peaks[item]` is the cell that was left out, the first one of the largest |f| in an order that is the same for all blocks.
    ///
    /// **No race**: a thread writes only its own elements of an array, which others read after the barrier; in step 3 all have read before the first one
    /// writes; the one element that the first warp writes anew it writes between two barriers. A block has [`ConvolutionShape::least_threads`] or more.
    /// Shared memory: 25 KiB at N = 32, 97 KiB at N = 64.
    pub fn convolve_waves<T: Real>(
        t, f: In<T>, forward: In<f64>, back: In<f64>, table: In<f64>, spectrum: Out<f64>, peaks: Out<u32>; shape: ConvolutionShape,
    ) for f32, f64
    shared {
        reduced: [f64; shape.half_row() * shape.row()],
        waves: [f64; shape.half_row() * shape.row()],
        coefficients: [f64; shape.row() * shape.row()],
        rows: [f64; shape.row() * shape.stride()],
        largest: [T; WARP], keys: [u32; WARP],
    } {
        let (n, half, row, half_row) = (shape.n, shape.half(), shape.row(), shape.half_row());
        let stride = shape.stride();
        let sine_y = t.block_idx() % 2;
        let item = quotient(t.block_idx() / 2, shape.waves());
        let wave = t.block_idx() / 2 - item * shape.waves();
        let (sine_x, k_x) = if wave < n { (0, wave) } else { (1, wave - n + 1) };
        let sign = |sine: u32| if sine == 0 { 1.0 } else { -1.0 };
        let (sign_x, sign_y) = (sign(sine_x), sign(sine_y));
        let plane = n * n;
        let origin = item * n * plane;
        let table_of_y = sine_y * half_row * row;
        let forward_waves = Fetch::begin(t, forward, table_of_y, half_row * row);
        let back_waves = Fetch::begin(t, back, table_of_y, half_row * row);
        let toeplitz = Fetch::begin(t, table, k_x * row * row, row * row);
        // The cells of column (y, z) at x: it and its mirror images.
        let images = |x: u32, y: u32, z: u32| {
            let (low, high) = (origin + x * plane + z, origin + (n - 1 - x) * plane + z);
            let (near, far) = (y * n, (n - 1 - y) * n);
            [low + near, low + far, high + near, high + far]
        };
        let reduce = |v: [f64; 4]| sign_x.mul_add(sign_y.mul_add(v[3], v[2]), sign_y.mul_add(v[1], v[0]));
        // The wave along x, zero past the middle; the reduction counts the middle cell twice.
        let wave_x = (sine_x * row + k_x) * half_row;
        let weight_of = |x: u32| {
            let wave = back.get(t, (wave_x + x) as usize);
            if 2 * x + 1 == n { 0.5 * wave } else { wave }
        };

        // Step 1. A key orders the cells among which equal values stay distinct.
        let mut best = -T::ONE;
        let mut key = 0;
        let mut column = t.thread_idx();
        while column < half_row * row {
            let y = quotient(column, row);
            let z = column - y * row;
            let mut sum = 0.0;
            if y < half && z < n {
                let mut first = 0;
                while first < half {
                    let mut values = [[T::ZERO; 4]; 4];
                    let mut weights = [0.0; 4];
                    for u in 0..4 {
                        let x = first + u as u32;
                        let images = images(if x < half { x } else { half - 1 }, y, z);
                        values[u] = images.map(|cell| f.get(t, cell as usize));
                        weights[u] = weight_of(x);
                    }
                    for u in 0..4 {
                        let v = values[u];
                        sum = weights[u].mul_add(reduce(v.map(T::to_f64)), sum);
                        let most = v[0].abs().max(v[1].abs()).max(v[2].abs().max(v[3].abs()));
                        if most > best {
                            best = most;
                            key = column * half_row + first + u as u32;
                        }
                    }
                    first += 4;
                }
            }
            reduced.set(t, column, sum);
            column += t.block_dim();
        }
        forward_waves.store(t, waves);
        toeplitz.store(t, coefficients);
        let first_of = |a: (T, u32), b: (T, u32)| if b.0 > a.0 || (b.0 == a.0 && b.1 < a.1) { b } else { a };
        let mut peak = (best, key);
        let mut mask = WARP / 2;
        while mask > 0 {
            peak = first_of(peak, (t.shuffle_xor(peak.0, mask), t.shuffle_xor(peak.1, mask)));
            mask /= 2;
        }
        if t.lane() == 0 {
            largest.set(t, t.warp(), peak.0);
            keys.set(t, t.warp(), peak.1);
        }
        t.sync_threads();
        if t.warp() == 0 {
            let warp = if t.lane() < t.warps() { t.lane() } else { 0 };
            let mut peak = (largest.get(t, warp), keys.get(t, warp));
            let mut mask = WARP / 2;
            while mask > 0 {
                peak = first_of(peak, (t.shuffle_xor(peak.0, mask), t.shuffle_xor(peak.1, mask)));
                mask /= 2;
            }
            let column = quotient(peak.1, half_row);
            let y = quotient(column, row);
            let z = column - y * row;
            let there = images(peak.1 - column * half_row, y, z);
            let is_peak = |cell: u32| f.get(t, cell as usize).abs() == peak.0;
            let cell = if is_peak(there[0]) {
                there[0]
            } else if is_peak(there[1]) {
                there[1]
            } else if is_peak(there[2]) {
                there[2]
            } else {
                there[3]
            };
            let mut sum = 0.0;
            let mut x = t.lane();
            while x < half {
                let weight = weight_of(x);
                let others = images(x, y, z).map(|other| {
                    if other == cell { 0.0 } else { f.get(t, other as usize).to_f64() }
                });
                sum = weight.mul_add(reduce(others), sum);
                x += WARP;
            }
            let mut mask = WARP / 2;
            while mask > 0 {
                sum += t.shuffle_xor(sum, mask);
                mask /= 2;
            }
            if t.lane() == 0 {
                reduced.set(t, column, sum);
                if wave == 0 && sine_y == 0 {
                    peaks.set(t, item as usize, cell - origin);
                }
            }
        }
        t.sync_threads();

        // Step 2.
        let mut task = t.thread_idx();
        while task < row / 4 * row {
            let z = quotient(task, row) * 4;
            let k = task - z / 4 * row;
            let mut sum = [0.0; 4];
            let mut first = 0;
            while first < half_row {
                let mut weights = [0.0; 4];
                let mut values = [[0.0; 2]; 8];
                for u in 0..4 {
                    let y = first + u as u32;
                    weights[u] = waves.get(t, y * row + k);
                    values[2 * u] = reduced.get_run(t, y * row + z);
                    values[2 * u + 1] = reduced.get_run(t, y * row + z + 2);
                }
                for u in 0..4 {
                    for c in 0..4 {
                        sum[c] = weights[u].mul_add(values[2 * u + c / 2][c % 2], sum[c]);
                    }
                }
                first += 4;
            }
            for c in 0..4 {
                rows.set(t, (z + c as u32) * stride + k, sum[c]);
            }
            task += t.block_dim();
        }
        t.sync_threads();

        // Step 3.
        back_waves.store(t, reduced);
        let task = t.thread_idx();
        let z = quotient(task, row) * 8;
        let k = task - z / 8 * row;
        let mut sum = [0.0; 8];
        if task < shape.least_threads() {
            let coefficient = |m: u32| coefficients.get(t, m * row + k);
            // behind[c] belongs to the distance z + c - first, ahead[r] to z - r - first.
            let mut behind = [0.0; 8];
            for c in 1..8 {
                behind[c] = coefficient(z + c as u32);
            }
            let mut first = 0;
            while first < row {
                let mut ahead = [0.0; 8];
                let mut values = [0.0; 8];
                for r in 0..8 {
                    let j = first + r as u32;
                    ahead[r] = coefficient(z.abs_diff(j));
                    values[r] = rows.get(t, j * stride + k);
                }
                for r in 0..8 {
                    for c in 0..8 {
                        let b: f64 = if c > r { behind[c - r] } else { ahead[r - c] };
                        sum[c] = b.mul_add(values[r], sum[c]);
                    }
                }
                for c in 1..8 {
                    behind[c] = ahead[8 - c];
                }
                first += 8;
            }
        }
        t.sync_threads();
        if task < shape.least_threads() {
            for c in 0..8 {
                rows.set(t, (z + c as u32) * stride + k, sum[c]);
            }
        }
        t.sync_threads();

        // Step 4. The waves lie where the reduced columns were.
        let to = ((item * shape.waves() + wave) * 2 + sine_y) * half * n;
        let mut task = t.thread_idx();
        while task < half_row / 4 * row {
            let y = quotient(task, row) * 4;
            let z = task - y / 4 * row;
            let mut sum = [0.0; 4];
            let mut first = 0;
            while first < row {
                let mut values = [0.0; 4];
                let mut weights = [[0.0; 2]; 8];
                for u in 0..4 {
                    let k = first + u as u32;
                    let at = k * half_row + y;
                    values[u] = rows.get(t, z * stride + k);
                    weights[2 * u] = reduced.get_run(t, at);
                    weights[2 * u + 1] = reduced.get_run(t, at + 2);
                }
                for u in 0..4 {
                    for c in 0..4 {
                        sum[c] = weights[2 * u + c / 2][c % 2].mul_add(values[u], sum[c]);
                    }
                }
                first += 4;
            }
            for c in 0..4 {
                let y = y + c as u32;
                if y < half && z < n {
                    spectrum.set(t, (to + y * n + z) as usize, sum[c]);
                }
            }
            task += t.block_dim();
        }
    }
}

kernel! {
    /// The collision frequency from the spectrum that [`convolve_waves()`] leaves: sums over the waves along x, expands the symmetric parts, and adds the term of the cell left out.
    ///
    /// **Block** `(item, group)` keeps a group of columns along x (iy < half, iz) of both parities for all waves in shared memory, `tile[sine][k][parity][column]`, and the
    /// waves along x, `waves[sine][k][j]`; zeros fill both up to whole rows. A thread owns one column and one x, and with them the four cells that are mirror images in x and
    /// y: of 6 loads a wave come 4 multiply-adds. Each word of the spectrum is read once, in whole sectors of 32 bytes where the number of columns is a multiple of
    /// four. No race: a thread writes only its own elements, and each cell is one thread's. Shared memory: 12 KiB at N = 32 with 4 columns, 48 KiB at N = 64 with 8.
    ///
    /// `b[mx][my][mz] = 4 pi |m|^gamma` for 0 <= m < n.
    pub fn frequency_of_waves<T: Real>(
        t, f: In<T>, b: In<f64>, back: In<f64>, spectrum: In<f64>, peaks: In<u32>, frequency: Out<T>; shape: ConvolutionShape,
    ) for f32, f64
    shared {
        tile: [f64; 4 * shape.row() * shape.columns],
        waves: [f64; 2 * shape.row() * shape.half_row()],
    } {
        let (n, half, row, width) = (shape.n, shape.half(), shape.row(), shape.columns);
        let half_row = shape.half_row();
        let columns = half * n;
        let groups = quotient(columns + width - 1, width);
        let item = quotient(t.block_idx(), groups);
        let first = (t.block_idx() - item * groups) * width;
        let origin = item * n * n * n;
        let peak = peaks.get(t, item as usize);

        let copy = Fetch::begin(t, back, 0, 2 * row * half_row);
        let lines = item * shape.waves() * 2;
        let mut at = t.thread_idx();
        while at < 4 * row * width {
            let line = quotient(at, width);
            let column = first + at - line * width;
            let sine = if line < 2 * row { 0 } else { 1 };
            let k = line / 2 - sine * row;
            let exists = k >= sine && k < n && column < columns;
            let from = lines + 2 * (sine * (n - 1) + k) + line % 2;
            let value = if exists { spectrum.get(t, (from * columns + column) as usize) } else { 0.0 };
            tile.set(t, at, value);
            at += t.block_dim();
        }
        copy.store(t, waves);
        let peak_f = f.get(t, (origin + peak) as usize).to_f64();
        let peak_row = quotient(peak, n);
        let peak_x = quotient(peak_row, n);
        let (peak_y, peak_z) = (peak_row - peak_x * n, peak - peak_row * n);
        t.sync_threads();

        let mut task = t.thread_idx();
        while task < half * width {
            let x = quotient(task, width);
            let c = task - x * width;
            let column = first + c;
            if column < columns {
                let y = quotient(column, n);
                let z = column - y * n;
                let (mirror_x, mirror_y) = (n - 1 - x, n - 1 - y);
                let cells = [(x, y), (x, mirror_y), (mirror_x, y), (mirror_x, mirror_y)];
                // Asked for early, needed late.
                let b = cells.map(|(x, y)| {
                    let m = (x.abs_diff(peak_x) * n + y.abs_diff(peak_y)) * n + z.abs_diff(peak_z);
                    b.get(t, m as usize)
                });
                // [parity along y] of the part that is even along x, and of the odd one.
                let mut even = [0.0; 2];
                let mut odd = [0.0; 2];
                let mut k = 0;
                while k < row {
                    let mut weights = [[0.0; 2]; 4];
                    let mut values = [[0.0; 4]; 4];
                    for u in 0..4 {
                        let cosine = k + u as u32;
                        let sine = row + cosine;
                        weights[u] = [cosine, sine].map(|wave| waves.get(t, wave * half_row + x));
                        values[u] = [2 * cosine, 2 * cosine + 1, 2 * sine, 2 * sine + 1]
                            .map(|line| tile.get(t, line * width + c));
                    }
                    for u in 0..4 {
                        let ([cosine, sine], v) = (weights[u], values[u]);
                        even = [cosine.mul_add(v[0], even[0]), cosine.mul_add(v[1], even[1])];
                        odd = [sine.mul_add(v[2], odd[0]), sine.mul_add(v[3], odd[1])];
                    }
                    k += 4;
                }
                let (low, high) = ([even[0] + odd[0], even[1] + odd[1]], [even[0] - odd[0], even[1] - odd[1]]);
                let sums = [low[0] + low[1], low[0] - low[1], high[0] + high[1], high[0] - high[1]];
                for k in 0..4 {
                    // The middle plane and the middle row are their own images.
                    let repeated = (k >= 2 && mirror_x == x) || (k % 2 == 1 && mirror_y == y);
                    if !repeated {
                        let (x, y) = cells[k];
                        let nu = b[k].mul_add(peak_f, sums[k]);
                        frequency.set(t, (origin + (x * n + y) * n + z) as usize, T::from_f64(nu));
                    }
                }
            }
            task += t.block_dim();
        }
    }
}
