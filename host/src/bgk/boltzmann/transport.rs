//! Streaming on the host.

use rarefy_kernels::boltzmann::{Lines, end, write};
use rayon::prelude::*;

use super::engine::{Pass, Shift};
use crate::bgk::FaceFlux;
use crate::bgk::transient::{Node, van_leer};

/// The molecules of consecutive nodes, with one velocity along the lines, on one line. Places are counted from the end where they come in.
struct Beam<'a> {
    pass: &'a Pass,
    from: &'a [f64],
    ghosts: &'a [f64],
    /// Molecules that are sent in, without those that a wall mirrors, at unit density, and the density.
    comes: &'a [f64],
    density: f64,
    row: usize,
    shift: Shift,
    /// The first of the nodes, and of those with the opposite velocity.
    first: usize,
    opposite: usize,
}

/// The values of a beam at a place.
enum Values<'a> {
    Inside(&'a [f64]),
    Sent(&'a [f64], f64),
    Returned(&'a [f64], f64, &'a [f64], f64),
    Beyond(&'a [f64], &'a [f64]),
}

impl Values<'_> {
    fn at(&self, k: usize) -> f64 {
        match self {
            Self::Inside(f) => f[k],
            Self::Sent(f, density) => density * f[k],
            Self::Returned(f, density, image, share) => share.mul_add(image[k], density * f[k]),
            Self::Beyond(last, before) => (2.0 * last[k] - before[k]).max(0.0),
        }
    }
}

impl<'a> Beam<'a> {
    fn of(
        pass: &'a Pass,
        [from, ghosts]: [&'a [f64]; 2],
        densities: &[f64],
        row: usize,
        run: usize,
    ) -> Self {
        let lines = &pass.lines;
        let (count, size) = (lines.count as usize, lines.run as usize);
        let j = run % count;
        let shift = pass.shifts[j];
        let side = usize::from(!shift.forward);
        let kind = [lines.low, lines.high][side];
        let first = run * size;
        Self {
            pass,
            from,
            ghosts,
            comes: &pass.comes[side][first..][..size],
            density: match kind {
                end::WALL => densities[side * lines.rows() as usize + row],
                _ => 1.0,
            },
            row,
            shift,
            first,
            opposite: (run + count - 1 - 2 * j) * size,
        }
    }

    fn length(&self) -> isize {
        self.pass.lines.length as isize
    }

    /// Kind of the end where they come in, and of the end where they leave.
    fn ends(&self) -> [u32; 2] {
        let lines = &self.pass.lines;
        if self.shift.forward {
            [lines.low, lines.high]
        } else {
            [lines.high, lines.low]
        }
    }

    /// The values of nodes from `first` on in the cell at a place.
    fn inside(&self, first: usize, place: isize) -> &'a [f64] {
        let lines = &self.pass.lines;
        let last = self.length() - 1;
        let place = place.clamp(0, last);
        let place = if self.shift.forward {
            place
        } else {
            last - place
        };
        let cell = lines.cell(self.row as u32, place as u32) as usize;
        &self.from[cell * lines.nodes as usize + first..][..lines.run as usize]
    }

    /// The values in the `d`-th ghost beyond the end where the molecules come in, or leave.
    fn ghost(&self, leaves: bool, d: isize) -> Values<'a> {
        let lines = &self.pass.lines;
        let side = u32::from(self.shift.forward == leaves);
        let first = lines.ghost(side, d as u32, self.row as u32) as usize + self.first;
        Values::Inside(&self.ghosts[first..][..lines.run as usize])
    }

    fn at(&self, place: isize) -> Values<'a> {
        let lines = &self.pass.lines;
        let length = self.length();
        let [enters, leaves] = self.ends();
        let own = |place| Values::Inside(self.inside(self.first, place));
        let image = |place| self.inside(self.opposite, place);
        if place < 0 {
            match enters {
                end::STREAM => Values::Sent(self.comes, self.density),
                end::PERIODIC => own(place + length),
                end::MIRROR => Values::Inside(image(-1 - place)),
                end::CUT => self.ghost(false, -1 - place),
                _ => {
                    let shares = [lines.low_mirrors, lines.high_mirrors];
                    let share = shares[usize::from(!self.shift.forward)];
                    Values::Returned(self.comes, self.density, image(-1 - place), share)
                }
            }
        } else if place >= length {
            match leaves {
                end::MIRROR => Values::Inside(image(2 * length - 1 - place)),
                end::PERIODIC => own(place - length),
                end::CUT => self.ghost(true, place - length),
                _ if lines.write == write::SHIFTED => own(length - 1),
                _ => Values::Beyond(
                    self.inside(self.first, length - 1),
                    self.inside(self.first, length - 2),
                ),
            }
        } else {
            own(place)
        }
    }

    /// Van Leer's slope at a place, of the values before it, there and after it.
    fn slope(&self, place: isize, [before, here, after]: [f64; 3]) -> f64 {
        let [enters, _] = self.ends();
        let sloped = self.pass.lines.sloped != 0;
        let flat = place < 0 && (enters == end::STREAM || enters == end::WALL);
        if flat || !sloped {
            0.0
        } else {
            van_leer(2.0, here - before, after - here)
        }
    }

    /// Molecules of the node `k` that leave: without slopes, and by them.
    fn leaves(&self, k: usize) -> [f64; 2] {
        let last = self.length() - 1;
        let whole = self.shift.whole as isize;
        let cells = (0..whole).map(|m| self.inside(self.first, last - m)[k]);
        let p = last - whole;
        let here = self.inside(self.first, p)[k];
        let around = [
            self.inside(self.first, p - 1)[k],
            here,
            self.at(p + 1).at(k),
        ];
        let Shift { fraction, rest, .. } = self.shift;
        [
            cells.sum::<f64>() + fraction * here,
            0.5 * fraction * rest * self.slope(p, around),
        ]
    }

    /// Molecules of the node `k` that come in.
    fn enters(&self, k: usize) -> f64 {
        let whole = self.shift.whole as isize;
        let ghosts = (0..whole).map(|m| self.at(-1 - m).at(k));
        ghosts.sum::<f64>() + self.shift.fraction * self.at(-1 - whole).at(k)
    }
}

/// The line of a cell, and its place on it from the low end.
fn place(lines: &Lines, cell: u32) -> [u32; 2] {
    let all = cell / lines.distance;
    let beside = all / lines.length;
    let along = cell % lines.distance;
    [beside * lines.distance + along, all % lines.length]
}

impl Pass {
    fn runs(&self) -> usize {
        (self.lines.nodes / self.lines.run) as usize
    }

    /// The densities with which walls send molecules back, `[end][line]`: as much mass returns as leaves by the scheme's own sums.
    pub(super) fn densities(&self, from: &[f64]) -> Vec<f64> {
        let rows = self.lines.rows() as usize;
        let kinds = [self.lines.low, self.lines.high];
        let shares = [self.lines.low_mirrors, self.lines.high_mirrors];
        let unknown = vec![0.0; 2 * rows];
        (0..2 * rows)
            .into_par_iter()
            .map(|index| {
                let (side, row) = (index / rows, index % rows);
                if kinds[side] != end::WALL {
                    return 0.0;
                }
                let (mut flat, mut slopes) = (0.0, 0.0);
                for run in 0..self.runs() {
                    // No ghosts are read: a wall is no cut.
                    let beam = Beam::of(self, [from, &[]], &unknown, row, run);
                    if beam.shift.forward == (side == 1) {
                        for k in 0..self.lines.run as usize {
                            let [more, sloped] = beam.leaves(k);
                            flat += more;
                            slopes += sloped;
                        }
                    }
                }
                ((1.0 - shares[side]) * flat + slopes) / self.units[side]
            })
            .collect()
    }

    /// Streams all distributions, or finds their rates of change. Beyond a cut lie `ghosts`, as [`Lines::ghost`] has them.
    pub(super) fn stream(&self, [from, ghosts]: [&[f64]; 2], densities: &[f64], to: &mut [f64]) {
        let lines = &self.lines;
        let sloped = lines.sloped != 0;
        let size = lines.run as usize;
        to.par_chunks_exact_mut(lines.nodes as usize)
            .enumerate()
            .for_each(|(cell, to)| {
                let [row, place] = place(lines, cell as u32);
                for (run, to) in to.chunks_exact_mut(size).enumerate() {
                    let beam = Beam::of(self, [from, ghosts], densities, row as usize, run);
                    let place = match beam.shift.forward {
                        true => place,
                        false => lines.length - 1 - place,
                    };
                    let p = place as isize - beam.shift.whole as isize;
                    // Slopes alone need values farther away, and ghosts as deep.
                    let (first, after) = if sloped { (p - 2, p + 1) } else { (p, p) };
                    let [first, before, here, after] =
                        [first, p - 1, p, after].map(|place| beam.at(place));
                    let Shift { fraction, rest, .. } = beam.shift;
                    for (k, to) in to.iter_mut().enumerate() {
                        let (before, here) = (before.at(k), here.at(k));
                        let base = match lines.write {
                            write::SHIFTED => here,
                            write::RATES => 0.0,
                            _ => *to,
                        };
                        let mut value = fraction.mul_add(before - here, base);
                        if sloped {
                            let slopes = beam.slope(p, [before, here, after.at(k)])
                                - beam.slope(p - 1, [first.at(k), before, here]);
                            value = (-0.5 * fraction * rest).mul_add(slopes, value);
                        }
                        *to = value;
                    }
                }
            });
    }

    /// Mass, momentum and energy that the gas receives through the low and the high end of each line, in a unit of time and area. None where molecules are mirrored or come back at the other end, and none at a cut.
    pub(super) fn exchange(
        &self,
        nodes: &[Node],
        volume: f64,
        step: f64,
        from: &[f64],
        densities: &[f64],
    ) -> [Vec<FaceFlux>; 2] {
        let lines = &self.lines;
        let time = if lines.write == write::SHIFTED {
            step
        } else {
            1.0
        };
        let scale = volume * self.width / time;
        let of_line = |side: usize, row: usize| {
            let mut flux = FaceFlux::default();
            for run in 0..self.runs() {
                let beam = Beam::of(self, [from, &[]], densities, row, run);
                for (k, node) in nodes[beam.first..][..lines.run as usize].iter().enumerate() {
                    let amount = if beam.shift.forward == (side == 0) {
                        beam.enters(k)
                    } else {
                        let [flat, slopes] = beam.leaves(k);
                        -(flat + slopes)
                    };
                    flux += node.carries(amount * scale);
                }
            }
            flux
        };
        [0, 1].map(|side| match [lines.low, lines.high][side] {
            end::MIRROR | end::PERIODIC | end::CUT => Vec::new(),
            _ => (0..lines.rows() as usize)
                .into_par_iter()
                .map(|row| of_line(side, row))
                .collect(),
        })
    }
}
