//! Sums and dot products of packed integers on a machine that runs kernels: the launches.

use std::fmt;

use rarefy_kernels::Quad;
use rarefy_kernels::signed_digit::packed::{
    self as kernels, Deal, EXTRA_LIMBS, LONG_THREADS, LongShape, MAX_ROWS, SHORT_PARTS,
    SHORT_THREADS, SHORT_WIDTH, UNITS,
};

use super::matrix::Integers;
use crate::error::{Error, Result};
use crate::machine::{Grid, Machine};
use crate::memory_plan::bytes_of;
use crate::signed_digit::decimal::{Columns, Decimal};
use crate::signed_digit::limb::{DIGITS, same_length};
use crate::signed_digit::lines::{lines, tasks};
use rayon::prelude::*;

/// Bytes of a matrix that are on the machine at a time.
const CHUNK_BYTES: u64 = 1 << 30;
/// Blocks of [`kernels::column_sums`] that one multiprocessor holds.
const SUM_BLOCKS: u32 = 4;
/// Quads that a thread of it sums at least, where there are enough for all: what a block adds to the columns in the end takes time too.
const SUM_QUADS: u64 = 4;
/// Blocks of the dot products that one multiprocessor is given.
const DOT_BLOCKS: u32 = 8;
/// Threads of a block of the kernels with a warp or a thread an item.
const THREADS: u32 = 128;

/// Numbers that are summed in one go.
fn rows_at_a_time(bytes_of_row: u64, free: u64) -> usize {
    let bytes = CHUNK_BYTES.min(free / 4);
    // Whole quads, however wide a row is.
    let rows = (bytes / bytes_of_row.max(1)).min(MAX_ROWS) / 4 * 4;
    rows.max(4) as usize
}

/// The sum of all numbers, some at a time.
pub(super) fn sum<M: Machine>(machine: &M, numbers: &Integers) -> Result<Decimal> {
    let rows = rows_at_a_time(
        bytes_of::<i32>(numbers.width() as u64),
        machine.limits()?.free_bytes,
    );
    let mut columns = Columns::default();
    for quads in numbers.limbs.chunks(rows * numbers.width() / 4) {
        let count = (quads.len() * 4 / numbers.width()).min(numbers.len());
        let mut resident = Resident::upload(machine, quads, count, numbers.width())?;
        resident.add_to(machine, &mut columns)?;
    }
    Ok(columns.into_decimal())
}

/// The dot product, some pairs at a time.
pub(super) fn dot<M: Machine>(machine: &M, x: &Integers, y: &Integers) -> Result<Decimal> {
    let width = product_width(x, y);
    let (wide_x, wide_y);
    let mut pair = (x, y);
    if x.width() != width {
        wide_x = x.widened(width);
        pair.0 = &wide_x;
    }
    if y.width() != width {
        wide_y = y.widened(width);
        pair.1 = &wide_y;
    }
    let balanced = pair.0.balanced && pair.1.balanced;
    let rows = rows_at_a_time(
        2 * bytes_of::<i32>(width as u64),
        machine.limits()?.free_bytes,
    );
    let quads = rows * width / 4;
    let mut columns = Columns::default();
    for (xs, ys) in pair.0.limbs.chunks(quads).zip(pair.1.limbs.chunks(quads)) {
        let count = (xs.len() * 4 / width).min(x.len());
        let mut resident = ResidentPair {
            x: machine.upload(xs)?,
            y: machine.upload(ys)?,
            pairs: count as u64,
            width: width as u32,
            balanced,
            parts: machine.allocate(parts_of(width as u32))?,
            blocks: dot_blocks(machine)?,
        };
        resident.add_to(machine, &mut columns)?;
    }
    Ok(columns.into_decimal())
}

/// Limbs of the rows that are multiplied: as [`kernels::short_dot`] or [`kernels::long_dot`] takes them.
fn product_width(x: &Integers, y: &Integers) -> usize {
    let width = x.width().max(y.width());
    match width {
        5 | 6 => SHORT_WIDTH as usize,
        _ => width.next_multiple_of(4),
    }
}

/// Column sums of products, in low and high parts.
fn parts_of(width: u32) -> usize {
    if width == SHORT_WIDTH {
        SHORT_PARTS as usize
    } else {
        4 * width as usize
    }
}

fn dot_blocks<M: Machine>(machine: &M) -> Result<u32> {
    Ok(DOT_BLOCKS * machine.limits()?.multiprocessors.max(1))
}

fn clear<M: Machine>(machine: &M, columns: &mut M::Buffer<u64>, len: usize) -> Result<()> {
    Ok(machine.launch(
        Grid::per_item(len, THREADS),
        kernels::clear_columns { columns },
    )?)
}

/// Integers in the memory of a machine, to be summed without another copy.
pub struct Resident<M: Machine> {
    limbs: M::Buffer<Quad<i32>>,
    deal: Deal,
    columns: M::Buffer<u64>,
    blocks: u32,
}

impl<M: Machine> fmt::Debug for Resident<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resident")
            .field("width", &self.deal.width)
            .finish_non_exhaustive()
    }
}

impl<M: Machine> Resident<M> {
    /// Copies integers to the machine.
    ///
    /// # Errors
    /// Where they do not fit there, or are more than 2^31.
    pub fn new(machine: &M, numbers: &Integers) -> Result<Self> {
        Self::upload(machine, &numbers.limbs, numbers.len(), numbers.width())
    }

    fn upload(machine: &M, quads: &[Quad<i32>], rows: usize, width: usize) -> Result<Self> {
        Self::over(machine, machine.upload(quads)?, rows, width)
    }

    fn over(machine: &M, limbs: M::Buffer<Quad<i32>>, rows: usize, width: usize) -> Result<Self> {
        let fits = u32::try_from(width)
            .ok()
            .filter(|_| rows as u64 <= MAX_ROWS);
        let Some(width) = fits else {
            return Err(Error::invalid(
                "integers",
                rows,
                format!("at most {MAX_ROWS} integers of 4294967295 limbs for one sum on a device"),
            ));
        };
        let deal = Deal::new(rows as u64, width);
        // As many as the machine holds at once, but no more than there is work for, and whole periods.
        let wanted = SUM_BLOCKS * machine.limits()?.multiprocessors.max(1);
        let per_group = u64::from(deal.period) * u64::from(deal.stacked);
        let groups = deal
            .quads
            .div_ceil(SUM_QUADS * per_group.max(1))
            .clamp(1, u64::from((wanted / deal.tiles).max(1)));
        Ok(Self {
            limbs,
            deal,
            columns: machine.allocate(width as usize)?,
            blocks: groups as u32 * deal.tiles,
        })
    }

    /// Copies a text with one integer a line, and packs its digits there; `None` if a line is no integer.
    ///
    /// # Errors
    /// Where it does not fit, or has more than 2^32 limbs; lines that reach beyond the text.
    pub fn from_text(machine: &M, text: &[u8], lines: &TextLines) -> Result<Option<Self>> {
        // Kernels look at the text where the lines say.
        if let Some(end) = lines.end.last().filter(|&&end| end as usize > text.len()) {
            return Err(Error::invalid(
                "lines",
                format!("lines up to byte {end}"),
                format!("lines of this text, which has {} bytes", text.len()),
            ));
        }
        let width = lines.width();
        let quads = (lines.len() as u64)
            .saturating_mul(width as u64)
            .div_ceil(4);
        if quads > u64::from(u32::MAX / 4) {
            return Err(Error::invalid(
                "text",
                "more than 4294967292 limbs",
                "a text packed in parts",
            ));
        }
        let mut limbs = machine.allocate(quads as usize)?;
        if quads > 0 {
            let mut faults = machine.upload(&[0u32])?;
            machine.launch(
                Grid::per_item(quads as usize, THREADS),
                kernels::pack_digits {
                    text: &machine.upload(text)?,
                    start: &machine.upload(&lines.start)?,
                    end: &machine.upload(&lines.end)?,
                    limbs: &mut limbs,
                    faults: &mut faults,
                    width: width as u32,
                },
            )?;
            let mut found = [0];
            machine.read(&faults, &mut found)?;
            if found != [0] {
                return Ok(None);
            }
        }
        Self::over(machine, limbs, lines.len(), width).map(Some)
    }

    /// Starts the kernels of the sum.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn launch(&mut self, machine: &M) -> Result<()> {
        clear(machine, &mut self.columns, self.deal.width as usize)?;
        if self.deal.quads == 0 {
            return Ok(());
        }
        Ok(machine.launch(
            Grid {
                blocks: self.blocks,
                threads: self.deal.threads(),
            },
            kernels::column_sums {
                limbs: &self.limbs,
                columns: &mut self.columns,
                deal: self.deal,
            },
        )?)
    }

    /// The sum.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn sum(&mut self, machine: &M) -> Result<Decimal> {
        let mut columns = Columns::default();
        self.add_to(machine, &mut columns)?;
        Ok(columns.into_decimal())
    }

    pub(crate) fn add_to(&mut self, machine: &M, columns: &mut Columns) -> Result<()> {
        self.launch(machine)?;
        let mut sums = vec![0u64; self.deal.width as usize];
        machine.read(&self.columns, &mut sums)?;
        let sums: Vec<i64> = sums.into_iter().map(u64::cast_signed).collect();
        columns.add_columns(0, &sums)
    }
}

/// Pairs of integers in the memory of a machine, to be multiplied and summed without another copy.
pub struct ResidentPair<M: Machine> {
    x: M::Buffer<Quad<i32>>,
    y: M::Buffer<Quad<i32>>,
    pairs: u64,
    width: u32,
    balanced: bool,
    parts: M::Buffer<u64>,
    blocks: u32,
}

impl<M: Machine> fmt::Debug for ResidentPair<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidentPair")
            .field("pairs", &self.pairs)
            .field("width", &self.width)
            .finish_non_exhaustive()
    }
}

impl<M: Machine> ResidentPair<M> {
    /// Copies two vectors of integers to the machine.
    ///
    /// # Errors
    /// Where they are of different lengths, do not fit, or are more than 2^31.
    pub fn new(machine: &M, x: &Integers, y: &Integers) -> Result<Self> {
        same_length(x.len(), y.len())?;
        let width = product_width(x, y);
        if x.len() as u64 > MAX_ROWS || width as u64 * 4 > u64::from(u32::MAX) {
            return Err(Error::invalid(
                "pairs",
                x.len(),
                format!(
                    "at most {MAX_ROWS} pairs of {width} limbs for one dot product on a device"
                ),
            ));
        }
        let (x, y) = (x.widened(width), y.widened(width));
        Ok(Self {
            x: machine.upload(&x.limbs)?,
            y: machine.upload(&y.limbs)?,
            pairs: x.len() as u64,
            width: width as u32,
            balanced: x.balanced && y.balanced,
            parts: machine.allocate(parts_of(width as u32))?,
            blocks: dot_blocks(machine)?,
        })
    }

    /// Starts the kernels of the dot product.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn launch(&mut self, machine: &M) -> Result<()> {
        clear(machine, &mut self.parts, parts_of(self.width))?;
        if self.pairs == 0 {
            return Ok(());
        }
        let blocks = |items: u64, tiles: u32| {
            let wanted = u64::from((self.blocks / tiles).max(1));
            items.clamp(1, wanted) as u32 * tiles
        };
        if self.width == SHORT_WIDTH {
            // Two pairs a step have this many units in the fullest column.
            let units = 2 * (SHORT_WIDTH + if self.balanced { 0 } else { 2 });
            return Ok(machine.launch(
                Grid {
                    blocks: blocks(self.pairs.div_ceil(2 * u64::from(SHORT_THREADS)), 1),
                    threads: SHORT_THREADS,
                },
                kernels::short_dot {
                    x: &self.x,
                    y: &self.y,
                    parts: &mut self.parts,
                    pairs: self.pairs,
                    run: UNITS / units,
                },
            )?);
        }
        let shape = LongShape::new(self.pairs, self.width / 4);
        let side = 32 / shape.lanes() * (LONG_THREADS / 32);
        Ok(machine.launch(
            Grid {
                blocks: blocks(self.pairs.div_ceil(u64::from(side)), shape.tiles),
                threads: LONG_THREADS,
            },
            kernels::long_dot {
                x: &self.x,
                y: &self.y,
                parts: &mut self.parts,
                shape,
            },
        )?)
    }

    /// The dot product.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn dot(&mut self, machine: &M) -> Result<Decimal> {
        let mut columns = Columns::default();
        self.add_to(machine, &mut columns)?;
        Ok(columns.into_decimal())
    }

    fn add_to(&mut self, machine: &M, columns: &mut Columns) -> Result<()> {
        self.launch(machine)?;
        let mut parts = vec![0u64; parts_of(self.width)];
        machine.read(&self.parts, &mut parts)?;
        columns.add_columns(0, &joined(&parts))
    }
}

/// Columns from their low and high parts.
pub(crate) fn joined(parts: &[u64]) -> Vec<i128> {
    let (low, high) = parts.split_at(parts.len() / 2);
    let high = high.iter().map(|&high| i128::from(high.cast_signed()));
    low.iter()
        .zip(high)
        .map(|(&low, high)| i128::from(low) + (high << 32))
        .collect()
}

/// Sums of groups of rows.
pub(super) fn segmented_sums<M: Machine>(
    machine: &M,
    numbers: &Integers,
    first: &[usize],
) -> Result<Vec<Decimal>> {
    let width = numbers.width();
    let groups = first.len() - 1;
    let limit = u32::MAX as usize;
    if groups > limit || numbers.len() > limit || width + EXTRA_LIMBS as usize > limit {
        return Err(Error::invalid(
            "groups",
            groups,
            format!("at most {limit} sums of {} integers at once", numbers.len()),
        ));
    }
    let starts: Vec<u32> = first.iter().map(|&row| row as u32).collect();
    let limbs = machine.upload(numbers.limbs())?;
    let mut columns = machine.allocate(groups * width)?;
    // A warp a group.
    let grid = Grid::per_item(groups.saturating_mul(32), THREADS);
    machine.launch(
        grid,
        kernels::segmented_sums {
            limbs: &limbs,
            first: &machine.upload(&starts)?,
            columns: &mut columns,
            groups: groups as u32,
            width: width as u32,
        },
    )?;
    let len = width + EXTRA_LIMBS as usize;
    let mut ordinary = machine.allocate(groups * len)?;
    let mut sign = machine.allocate(groups)?;
    machine.launch(
        grid,
        kernels::release_carries {
            columns: &columns,
            limbs: &mut ordinary,
            sign: &mut sign,
            sums: groups as u32,
            width: width as u32,
        },
    )?;
    let mut limbs = vec![0i32; groups * len];
    let mut signs = vec![0i32; groups];
    machine.read(&ordinary, &mut limbs)?;
    machine.read(&sign, &mut signs)?;
    let sums = limbs.chunks(len).zip(signs).map(|(limbs, sign)| {
        let limbs = limbs.iter().map(|&limb| limb.cast_unsigned()).collect();
        Decimal::from_limbs(sign < 0, limbs, 0)
    });
    Ok(sums.collect())
}

/// Places of the integers of a text, one a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextLines {
    start: Vec<u32>,
    end: Vec<u32>,
    longest: u32,
}

impl TextLines {
    /// Finds the lines that are not blank, without the white space around them.
    ///
    /// # Errors
    /// A text of more than 4 GiB; it is read in parts.
    pub fn of(text: &[u8]) -> Result<Self> {
        if u32::try_from(text.len()).is_err() {
            return Err(Error::invalid(
                "text",
                "more than 4 GiB",
                "a text read in parts",
            ));
        }
        let parts: Vec<Self> = tasks(text)
            .into_par_iter()
            .map(|task| {
                let mut part = Self::default();
                for line in lines(task) {
                    let line = line.trim_ascii();
                    // Where the line lies in the text.
                    let start = (line.as_ptr() as usize - text.as_ptr() as usize) as u32;
                    part.start.push(start);
                    part.end.push(start + line.len() as u32);
                    part.longest = part.longest.max(line.len() as u32);
                }
                part
            })
            .collect();
        let mut all = Self::default();
        for part in parts {
            all.start.extend(part.start);
            all.end.extend(part.end);
            all.longest = all.longest.max(part.longest);
        }
        Ok(all)
    }

    /// Lines with something on them.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// Limbs that the longest line may need.
    pub fn width(&self) -> usize {
        (self.longest as usize).div_ceil(DIGITS).max(1)
    }
}
