//! The coefficients in the order of the direct sum.

use std::collections::HashMap;

use rarefy_kernels::WARP;
use rarefy_kernels::collision::{DirectShape, list_of};

use crate::collision::Order;
use crate::collision::coefficients::OrbitTable;

/// The nonzero coefficients, listed as the direct method walks them; [`DirectShape`] says where each list lies.
///
/// The half-space n_x >= 0 with both signs of n_y and n_z represents all n: (n, k, l) and (-n, l, k) are the same pair.
/// The weights account for it, and for zero components, whose two signs coincide:
/// omega times 2 for n_x > 0, times 1/2 for each zero among n_y and n_z. For n = 0 this is omega/4 on four equal products.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DirectLists {
    /// Where the lists lie. `warps` is 1 and for whoever launches a kernel to choose.
    pub shape: DirectShape,
    /// List l is `entries[offsets[l]..offsets[l + 1]]`.
    pub offsets: Vec<u32>,
    /// `|n_y| + 2^16 |n_z|`.
    pub entries: Vec<u32>,
    /// Weight of each entry.
    pub weights: Vec<f64>,
}

impl DirectLists {
    /// The lists for a grid of n^3 cells and coefficients of the given order.
    pub fn new(n: usize, order: Order) -> Self {
        let table = OrbitTable::of(n, order);
        let shape = DirectShape {
            n: n as u32,
            radii: (0..4).map(|c| table.class(c).radii()).max().unwrap_or(0) as u32,
            halves: n.div_ceil(2) as u32,
            warps: 1,
        };
        let lists = (8 * shape.radii * shape.halves) as usize;

        // Two passes over all n: count, then fill; so entries lie in each list by ascending (|n_y|, |n_z|).
        let each = |visit: &mut dyn FnMut(usize, [u32; 3], f64)| {
            for pattern in 0..8u32 {
                let class = table.class(pattern.count_ones());
                let components = |bit: u32| (pattern >> bit & 1..n as u32).step_by(2);
                for nx in components(2) {
                    for ny in components(1) {
                        for nz in components(0) {
                            let half = [nx, ny, nz].map(|n| n as usize / 2);
                            let orbit = class.orbits()[class.orbit_of(pattern, half)];
                            for (r, &omega) in (orbit.first as usize..).zip(class.band(&orbit)) {
                                let list = list_of(
                                    &shape,
                                    pattern >> 2,
                                    pattern >> 1 & 1,
                                    pattern & 1,
                                    class.rho(r),
                                );
                                visit((list * shape.halves + nx / 2) as usize, [nx, ny, nz], omega);
                            }
                        }
                    }
                }
            }
        };
        let mut offsets = vec![0; lists + 1];
        each(&mut |list, _, _| offsets[list + 1] += 1);
        for list in 0..lists {
            offsets[list + 1] += offsets[list];
        }
        let total = offsets[lists] as usize;
        let mut next = offsets.clone();
        let mut entries = vec![0; total];
        let mut weights = vec![0.0; total];
        each(&mut |list, [nx, ny, nz], omega| {
            let at = next[list] as usize;
            next[list] += 1;
            entries[at] = ny | nz << 16;
            let images = if nx > 0 { 2.0 } else { 1.0 };
            let zeros = [ny, nz].iter().filter(|&&n| n == 0).count() as i32;
            weights[at] = omega * images * 0.5f64.powi(zeros);
        });
        Self {
            shape,
            offsets,
            entries,
            weights,
        }
    }

    /// The range of entries for the displacement m (magnitudes) and the given n_x >= 0.
    pub fn range(&self, [mx, my, mz]: [u32; 3], nx: u32) -> std::ops::Range<usize> {
        let rho = mx * mx + my * my + mz * mz;
        let list = (list_of(&self.shape, mx, my, mz, rho) * self.shape.halves + nx / 2) as usize;
        self.offsets[list] as usize..self.offsets[list + 1] as usize
    }
}

/// The blocks of a launch of the direct kernel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DirectTasks {
    /// `[i_x, j_x, n_x, slot]`, the most laborious first.
    pub tasks: Vec<[u32; 4]>,
    /// The slots `first[i_x] .. first[i_x + 1]` hold the parts of the cells with this i_x.
    pub first: Vec<u32>,
}

impl DirectTasks {
    /// One task for each i_x, j_x and n_x >= 0 for which k_x and l_x lie in the grid.
    pub fn new(lists: &DirectLists) -> Self {
        let n = lists.shape.n;
        // Steps that a warp takes for one |m_x| and n_x: entries times chunks of the window, both signs of m_y and m_z.
        let work: HashMap<(u32, u32), u64> = (0..n)
            .flat_map(|mx| (mx & 1..n).step_by(2).map(move |nx| (mx, nx)))
            .map(|(mx, nx)| {
                let mut sum = 0;
                for my in 0..n {
                    for mz in 0..n {
                        let chunks = ((n - my) * (n - mz)).div_ceil(WARP);
                        let images = (1 + u64::from(my > 0)) * (1 + u64::from(mz > 0));
                        let entries = lists.range([mx, my, mz], nx).len() as u64;
                        sum += entries * u64::from(chunks) * images;
                    }
                }
                ((mx, nx), sum)
            })
            .collect();

        let mut tasks = Vec::new();
        let mut first = vec![0];
        for ix in 0..n {
            for jx in 0..n {
                let s = ix + jx;
                // n_x <= min(s, 2 (n-1) - s) keeps l_x >= 0 and k_x < n.
                for nx in (s & 1..=s.min(2 * (n - 1) - s)).step_by(2) {
                    tasks.push([ix, jx, nx, tasks.len() as u32]);
                }
            }
            first.push(tasks.len() as u32);
        }
        tasks.sort_by_key(|&[ix, jx, nx, _]| {
            std::cmp::Reverse(work.get(&(ix.abs_diff(jx), nx)).copied().unwrap_or(0))
        });
        Self { tasks, first }
    }
}
