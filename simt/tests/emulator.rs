//! The emulator: broken kernels, one for each fault, which it must name; and correct ones, which it must let pass with the
//! same bits in every order of threads.

use proptest::prelude::*;
use rarefy_simt::emulator::{
    Access, Activity, Emulator, Fault, FaultKind, Memory, Statistics, ThreadOrder,
};
use rarefy_simt::machine::{DeviceMemory, Element, Grid, Kernel, Machine};
use rarefy_simt::{Error, In, Real, Region, WARP, kernel};

const ORDERS: [ThreadOrder; 5] = [
    ThreadOrder::Ascending,
    ThreadOrder::Descending,
    ThreadOrder::Random(1),
    ThreadOrder::Random(2),
    ThreadOrder::Random(3),
];

fn fetch<T: Element + Default>(
    machine: &Emulator,
    buffer: &<Emulator as DeviceMemory>::Buffer<T>,
) -> Vec<T> {
    let mut data = vec![T::default(); buffer.len()];
    machine.read(buffer, &mut data).unwrap();
    data
}

fn grid(blocks: u32, threads: u32) -> Grid {
    Grid { blocks, threads }
}

/// The fault that a launch must end with.
#[track_caller]
fn fault_of<K: Kernel<Emulator>>(machine: &Emulator, grid: Grid, kernel: K) -> Fault {
    match machine.launch(grid, kernel) {
        Err(Error::Fault(fault)) => {
            let line = fault.to_string();
            println!("{line}");
            assert!(!line.contains('\n'));
            *fault
        }
        Err(other) => panic!("another error: {other}"),
        Ok(()) => panic!("no fault was found"),
    }
}

/// Asserts where a fault happened: kernel, block, thread and index.
#[track_caller]
fn assert_at(fault: &Fault, kernel: &str, block: u32, thread: u32, index: Option<usize>) {
    assert_eq!(
        (fault.kernel, fault.block, fault.thread, fault.index),
        (kernel, block, thread, index),
        "{fault}"
    );
    if !matches!(fault.kind, FaultKind::Panic(_)) {
        assert!(
            fault.location.unwrap().file().ends_with("emulator.rs"),
            "{fault}"
        );
    }
}

/// Asserts which thread the fault names besides.
#[track_caller]
fn assert_other(fault: &Fault, block: u32, thread: u32) {
    let other = fault.other.unwrap();
    assert_eq!((other.block, other.thread), (block, thread), "{fault}");
}

// ---- Broken kernels -------------------------------------------------------------------------------------------------

kernel! {
    /// Reads one element past the end in the last thread.
    pub fn reads_past_the_end(t, x: In<f32>, out: Out<f32>) {
        let i = t.global_idx();
        out.set(t, i, x.get(t, i + 1));
    }
}

kernel! {
    /// Writes far away.
    pub fn writes_past_the_end(t, out: Out<f32>) {
        let i = t.global_idx();
        out.set(t, if i == 40 { usize::MAX } else { i }, 1.0);
    }
}

kernel! {
    /// Adds past the end of shared memory.
    pub fn adds_past_the_end_of_shared(t, out: Out<u32>) shared { tile: [u32; 32], guard: [u32; 32] } {
        let k = t.thread_idx();
        guard.set(t, k, 0);
        tile.set(t, k, 0);
        t.sync_threads();
        out.set(t, t.global_idx(), tile.atomic_add(t, k + u32::from(k == 5) * 27, 1));
    }
}

#[test]
fn out_of_bounds_is_found() {
    let machine = Emulator::default();
    let x = machine.upload(&[0.0f32; 64]).unwrap();
    let mut out = machine.allocate::<f32>(64).unwrap();
    let fault = fault_of(
        &machine,
        grid(2, 32),
        reads_past_the_end {
            x: &x,
            out: &mut out,
        },
    );
    assert_eq!(
        fault.kind,
        FaultKind::OutOfBounds {
            access: Access::Read,
            len: 64
        }
    );
    assert_eq!(fault.memory, Some(Memory::Global { view: Some(0) }));
    assert_at(&fault, "reads_past_the_end", 1, 31, Some(64));

    let fault = fault_of(&machine, grid(2, 32), writes_past_the_end { out: &mut out });
    assert_eq!(
        fault.kind,
        FaultKind::OutOfBounds {
            access: Access::Write,
            len: 64
        }
    );
    assert_at(&fault, "writes_past_the_end", 1, 8, Some(usize::MAX));

    let mut out = machine.allocate::<u32>(32).unwrap();
    let fault = fault_of(
        &machine,
        grid(1, 32),
        adds_past_the_end_of_shared { out: &mut out },
    );
    assert_eq!(
        fault.kind,
        FaultKind::OutOfBounds {
            access: Access::Atomic,
            len: 32
        }
    );
    assert_eq!(fault.memory, Some(Memory::Shared { offset: 0 }));
    assert_at(&fault, "adds_past_the_end_of_shared", 0, 5, Some(32));
}

kernel! {
    /// Copies what nobody wrote.
    pub fn copies(t, x: InOut<u32>, out: Out<u32>) {
        let i = t.global_idx();
        out.set(t, i, x.get(t, i));
    }
}

kernel! {
    /// Adds to what nobody wrote.
    pub fn adds_to_nothing(t, x: InOut<u32>) {
        x.atomic_add(t, 3 + t.global_idx(), 1);
    }
}

#[test]
fn unwritten_memory_is_found() {
    let machine = Emulator::default();
    let mut x = machine.allocate::<u32>(64).unwrap();
    let mut out = machine.allocate::<u32>(64).unwrap();
    let fault = fault_of(
        &machine,
        grid(2, 32),
        copies {
            x: &mut x,
            out: &mut out,
        },
    );
    assert_eq!(fault.kind, FaultKind::Unwritten);
    assert_eq!(fault.memory, Some(Memory::Global { view: Some(0) }));
    assert_at(&fault, "copies", 0, 0, Some(0));

    let fault = fault_of(&machine, grid(1, 32), adds_to_nothing { x: &mut x });
    assert_eq!(fault.kind, FaultKind::Unwritten);
    assert_at(&fault, "adds_to_nothing", 0, 0, Some(3));

    machine.write(&mut x, &[7; 64]).unwrap();
    machine
        .launch(
            grid(2, 32),
            copies {
                x: &mut x,
                out: &mut out,
            },
        )
        .unwrap();
    assert_eq!(fetch(&machine, &out), [7; 64]);
}

kernel! {
    /// Block 0 fills shared memory, and block 1 expects to find it filled.
    pub fn shared_of_another_block(t, out: Out<u32>) shared { pad: [u32; 4], tile: [u32; 32] } {
        let k = t.thread_idx();
        if t.block_idx() == 0 {
            if k < 4 {
                pad.set(t, k, k);
            }
            tile.set(t, k, k);
        }
        t.sync_threads();
        out.set(t, t.global_idx(), tile.get(t, k));
    }
}

#[test]
fn shared_memory_of_another_block_is_undefined() {
    let machine = Emulator::default();
    let mut out = machine.allocate::<u32>(64).unwrap();
    let fault = fault_of(
        &machine,
        grid(2, 32),
        shared_of_another_block { out: &mut out },
    );
    assert_eq!(fault.kind, FaultKind::Unwritten);
    assert_eq!(fault.memory, Some(Memory::Shared { offset: 16 }));
    assert_at(&fault, "shared_of_another_block", 1, 0, Some(0));
    // Nor does a launch find what the one before left.
    machine
        .launch(grid(1, 32), shared_of_another_block { out: &mut out })
        .unwrap();
    let fault = fault_of(
        &machine,
        grid(2, 32),
        shared_of_another_block { out: &mut out },
    );
    assert_at(&fault, "shared_of_another_block", 1, 0, Some(0));
}

#[test]
fn copying_what_nobody_wrote_is_found() {
    let machine = Emulator::default();
    let mut out = machine.allocate::<f32>(40).unwrap();
    let x = machine.upload(&[0.0f32; 33]).unwrap();
    machine
        .launch(
            grid(1, 32),
            reads_past_the_end {
                x: &x,
                out: &mut out,
            },
        )
        .unwrap();
    let Err(Error::Fault(fault)) = machine.read(&out, &mut [0.0; 40]) else {
        panic!("no fault was found")
    };
    assert_eq!(
        (fault.kind.clone(), fault.index),
        (FaultKind::UnwrittenCopy, Some(32))
    );
    assert!(fault.to_string().contains("element 32"));
}

kernel! {
    /// Every thread reads its neighbour's word without waiting for it.
    pub fn forgets_the_barrier(t, out: Out<u32>) shared { tile: [u32; 64] } {
        let k = t.thread_idx();
        tile.set(t, k, k);
        tile.set(t, k, k + 1);
        t.sync_warp();
        out.set(t, t.global_idx(), tile.get(t, (k + 63) % 64));
    }
}

kernel! {
    /// A tree sum that starts the next level before the other threads have read the last.
    pub fn reads_then_overwrites(t, out: Out<u32>) shared { tile: [u32; 64] } {
        let k = t.thread_idx();
        tile.set(t, k, k);
        t.sync_threads();
        let neighbour = tile.get(t, (k + 1) % 64);
        tile.set(t, k, neighbour);
        t.sync_threads();
        out.set(t, t.global_idx(), tile.get(t, k));
    }
}

kernel! {
    /// All blocks write element 0.
    pub fn blocks_write_one_element(t, out: Out<u32>) {
        if t.thread_idx() == 7 {
            out.set(t, 0, t.block_idx());
        }
        t.sync_threads();
    }
}

kernel! {
    /// Reads what another block writes.
    pub fn reads_another_blocks_element(t, x: InOut<u32>) {
        let i = t.global_idx();
        x.set(t, i, 1);
        t.sync_threads();
        if t.block_idx() == 2 && t.thread_idx() == 9 {
            x.get(t, 3);
        }
    }
}

kernel! {
    /// Reads a counter while others add to it.
    pub fn reads_while_others_add(t, x: InOut<u32>) {
        x.atomic_add(t, 1, 1);
        if t.thread_idx() == 33 {
            x.get(t, 1);
        }
    }
}

#[test]
fn races_in_a_block_are_found() {
    let machine = Emulator::default();
    let mut out = machine.allocate::<u32>(64).unwrap();
    // Thread 0 reads before thread 63 writes; in descending order thread 32 meets what thread 31 has not yet written.
    let fault = fault_of(&machine, grid(1, 64), forgets_the_barrier { out: &mut out });
    assert_eq!(fault.kind, FaultKind::Unwritten);
    assert_at(&fault, "forgets_the_barrier", 0, 0, Some(63));
    let fault = fault_of(
        &Emulator::new(ThreadOrder::Descending),
        grid(1, 64),
        forgets_the_barrier { out: &mut out },
    );
    assert_eq!(fault.kind, FaultKind::Unwritten);
    assert_at(&fault, "forgets_the_barrier", 0, 32, Some(31));

    let fault = fault_of(
        &machine,
        grid(1, 64),
        reads_then_overwrites { out: &mut out },
    );
    assert_eq!(
        fault.kind,
        FaultKind::Race {
            access: Access::Write,
            other: Access::Read
        }
    );
    assert_eq!(fault.memory, Some(Memory::Shared { offset: 0 }));
    assert_at(&fault, "reads_then_overwrites", 0, 1, Some(1));
    assert_other(&fault, 0, 0);
    let fault = fault_of(
        &Emulator::new(ThreadOrder::Descending),
        grid(1, 64),
        reads_then_overwrites { out: &mut out },
    );
    assert_eq!(
        fault.kind,
        FaultKind::Race {
            access: Access::Read,
            other: Access::Write
        }
    );
    assert_at(&fault, "reads_then_overwrites", 0, 62, Some(63));
    assert_other(&fault, 0, 63);

    let mut x = machine.upload(&[0u32; 2]).unwrap();
    let fault = fault_of(&machine, grid(1, 64), reads_while_others_add { x: &mut x });
    assert_eq!(
        fault.kind,
        FaultKind::Race {
            access: Access::Read,
            other: Access::Atomic
        }
    );
    assert_eq!(fault.memory, Some(Memory::Global { view: Some(0) }));
    assert_at(&fault, "reads_while_others_add", 0, 33, Some(1));
    assert_other(&fault, 0, 0);
}

#[test]
fn races_between_blocks_are_found() {
    let machine = Emulator::default();
    let mut out = machine.allocate::<u32>(96).unwrap();
    let fault = fault_of(
        &machine,
        grid(3, 32),
        blocks_write_one_element { out: &mut out },
    );
    assert_eq!(
        fault.kind,
        FaultKind::Race {
            access: Access::Write,
            other: Access::Write
        }
    );
    assert_at(&fault, "blocks_write_one_element", 1, 7, Some(0));
    assert_other(&fault, 0, 7);

    let fault = fault_of(
        &machine,
        grid(3, 32),
        reads_another_blocks_element { x: &mut out },
    );
    assert_eq!(
        fault.kind,
        FaultKind::Race {
            access: Access::Read,
            other: Access::Write
        }
    );
    assert_at(&fault, "reads_another_blocks_element", 2, 9, Some(3));
    assert_other(&fault, 0, 3);
    // With one block, or in a launch of its own, each of them is correct.
    machine
        .launch(grid(1, 32), blocks_write_one_element { out: &mut out })
        .unwrap();
    machine
        .launch(grid(1, 32), blocks_write_one_element { out: &mut out })
        .unwrap();
}

kernel! {
    /// Threads past the end of the data leave before the barrier.
    pub fn leaves_before_the_barrier(t, out: Out<u32>; n: u32) {
        if t.global_idx() as u32 >= n {
            return;
        }
        t.sync_threads();
        out.set(t, t.global_idx(), 1);
    }
}

kernel! {
    /// Two barriers, each reached by half of the threads.
    pub fn waits_at_two_barriers(t, out: Out<u32>) {
        #[allow(clippy::if_same_then_else, reason = "the two barriers are the point")]
        if t.thread_idx() < 32 {
            t.sync_threads();
        } else {
            t.sync_threads();
        }
        out.set(t, t.global_idx(), 1);
    }
}

#[test]
fn barriers_that_some_do_not_reach_are_found() {
    for order in ORDERS {
        let machine = Emulator::new(order);
        let mut out = machine.allocate::<u32>(128).unwrap();
        let fault = fault_of(
            &machine,
            grid(2, 64),
            leaves_before_the_barrier {
                out: &mut out,
                n: 100,
            },
        );
        assert_eq!(
            fault.kind,
            FaultKind::Barrier {
                instead: Activity::Exited
            }
        );
        assert_at(&fault, "leaves_before_the_barrier", 1, 0, None);
        assert_other(&fault, 1, 36);

        let fault = fault_of(
            &machine,
            grid(1, 64),
            waits_at_two_barriers { out: &mut out },
        );
        assert_eq!(
            fault.kind,
            FaultKind::Barrier {
                instead: Activity::Barrier
            }
        );
        assert_at(&fault, "waits_at_two_barriers", 0, 0, None);
        assert_other(&fault, 0, 32);
        assert_ne!(fault.location, fault.other.unwrap().location);
    }
}

kernel! {
    /// Which lanes do what: 0 warp barrier, 1 shuffle from lane 0, 2 ballot, 3 block barrier, 4 leave.
    pub fn diverges(t, what: In<u32>, out: Out<u32>) {
        let word = match what.get(t, t.thread_idx() as usize) {
            0 => {
                t.sync_warp();
                0
            }
            1 => t.shuffle(t.thread_idx(), 0),
            2 => t.ballot(true),
            3 => {
                t.sync_threads();
                0
            }
            _ => return,
        };
        out.set(t, t.global_idx(), word);
    }
}

#[test]
fn lanes_missing_from_a_warp_operation_are_found() {
    let cases = [
        (0, 4, Activity::WarpBarrier, Activity::Exited),
        (2, 4, Activity::Ballot, Activity::Exited),
        (2, 3, Activity::Ballot, Activity::Barrier),
        (0, 3, Activity::WarpBarrier, Activity::Barrier),
        (0, 2, Activity::WarpBarrier, Activity::Ballot),
        (1, 0, Activity::Shuffle, Activity::WarpBarrier),
        (1, 3, Activity::Shuffle, Activity::Barrier),
        (1, 4, Activity::Shuffle, Activity::Exited),
    ];
    for (many, one, operation, instead) in cases {
        for order in ORDERS {
            let machine = Emulator::new(order);
            let mut what = [3; 96];
            what[32..64].fill(many);
            what[50] = one;
            let what = machine.upload(&what).unwrap();
            let mut out = machine.allocate::<u32>(96).unwrap();
            let fault = fault_of(
                &machine,
                grid(1, 96),
                diverges {
                    what: &what,
                    out: &mut out,
                },
            );
            assert_eq!(fault.kind, FaultKind::WarpOperation { operation, instead });
            assert_at(&fault, "diverges", 0, 32, None);
            assert_other(&fault, 0, 50);
        }
    }
}

kernel! {
    /// out = c + a b, with a of 16 x 16, b of 16 x 8 and c of 16 x 8 elements, all row by row.
    pub fn multiplies_a_tile<T: Real>(t, a: In<T>, b: In<T>, c: In<T>, out: Out<T>) for f32, f64 {
        let (g, k) = (t.lane() as usize / 4, t.lane() as usize % 4);
        let left = [0, 8].map(|eight| [[g, k], [g + 8, k], [g, k + 4], [g + 8, k + 4]].map(|[row, k]| a.get(t, 16 * row + eight + k)));
        let right = [0, 8].map(|eight| [k, k + 4].map(|k| b.get(t, 8 * (eight + k) + g)));
        let places = [8 * g + 2 * k, 8 * g + 2 * k + 1, 8 * (g + 8) + 2 * k, 8 * (g + 8) + 2 * k + 1];
        let sums = t.multiply_tiles(left, right, places.map(|place| c.get(t, place)));
        for (place, sum) in places.into_iter().zip(sums) {
            out.set(t, place, sum);
        }
    }
}

fn tiles_are_multiplied<T: Real>() {
    // Small integers: exact in any order.
    let matrix = |len: usize, step: usize| {
        (0..len)
            .map(|k| T::from_f64((k * step % 23) as f64 - 11.0))
            .collect::<Vec<_>>()
    };
    let (a, b, c) = (matrix(256, 7), matrix(128, 5), matrix(128, 3));
    for order in ORDERS {
        let machine = Emulator::new(order);
        let [a_there, b_there, c_there] =
            [&a, &b, &c].map(|matrix| machine.upload(matrix).unwrap());
        let mut out = machine.allocate::<T>(128).unwrap();
        let kernel = multiplies_a_tile {
            a: &a_there,
            b: &b_there,
            c: &c_there,
            out: &mut out,
        };
        machine.launch(grid(1, 32), kernel).unwrap();
        let mut found = vec![T::ZERO; 128];
        machine.read(&out, &mut found).unwrap();
        for (place, found) in found.into_iter().enumerate() {
            let (row, column) = (place / 8, place % 8);
            let product: f64 = (0..16)
                .map(|k| a[16 * row + k].to_f64() * b[8 * k + column].to_f64())
                .sum();
            assert_eq!(
                found.to_f64(),
                product + c[place].to_f64(),
                "({row}, {column}) in {}",
                T::NAME
            );
        }
    }
}

#[test]
fn a_warp_multiplies_a_tile_of_matrices() {
    tiles_are_multiplied::<f32>();
    tiles_are_multiplied::<f64>();
}

kernel! {
    /// The values of every other 16 bytes, zeros for the rest, by way of shared memory and back to front.
    pub fn copies_16_bytes<T: Real>(t, from: In<T>, out: Out<T>) for f32, f64
    shared { staged: [T; 16 * COPY_THREADS / size_of::<T>() as u32] } {
        let run = 16 / size_of::<T>() as u32;
        let place = t.thread_idx() * run;
        staged.copy_16(t, place, from, place as usize, t.thread_idx().is_multiple_of(2));
        t.end_copies();
        t.wait_copies(0);
        t.sync_threads();
        let mut k = 0;
        while k < run {
            let last = t.block_dim() * run - 1;
            out.set(t, (place + k) as usize, staged.get(t, last - place - k));
            k += 1;
        }
    }
}

/// Threads of a block of [`copies_16_bytes()`].
const COPY_THREADS: u32 = 64;

fn sixteen_bytes_are_copied<T: Real>() {
    let run = 16 / size_of::<T>();
    let values: Vec<T> = (0..64 * run).map(|k| T::from_f64(k as f64 + 1.0)).collect();
    for order in ORDERS {
        let machine = Emulator::new(order);
        let from = machine.upload(&values).unwrap();
        let mut out = machine.allocate::<T>(values.len()).unwrap();
        let kernel = copies_16_bytes {
            from: &from,
            out: &mut out,
        };
        machine.launch(grid(1, COPY_THREADS), kernel).unwrap();
        let mut found = vec![T::ZERO; values.len()];
        machine.read(&out, &mut found).unwrap();
        for (k, found) in found.into_iter().rev().enumerate() {
            let expected = if (k / run).is_multiple_of(2) {
                k as f64 + 1.0
            } else {
                0.0
            };
            assert_eq!(found.to_f64(), expected, "{k} in {}", T::NAME);
        }
    }
}

#[test]
fn copies_of_16_bytes_arrive_or_are_zeros() {
    sixteen_bytes_are_copied::<f32>();
    sixteen_bytes_are_copied::<f64>();
}

kernel! {
    /// Reads its own copy when it has waited for all groups but the last `left`; the copy is in a group that has not ended if `open` is 1.
    pub fn reads_its_copy(t, from: In<u32>, out: Out<u32>; open: u32, left: u32) shared { pad: [u32; 4], tile: [u32; 128] } {
        let k = t.thread_idx();
        if k < 4 {
            pad.set(t, k, k);
        }
        from.copy_to::<4, _>(t, 4 * k as usize, tile, 4 * k);
        if open == 0 {
            t.end_copies();
        }
        t.wait_copies(left);
        out.set(t, t.global_idx(), tile.get(t, 4 * k + 2));
    }
}

kernel! {
    /// Does not wait, and reads its own copy, writes there, copies there again, or adds there.
    pub fn touches_its_copy(t, from: In<u32>, out: Out<u32>; how: u32) shared { tile: [u32; 128] } {
        let k = t.thread_idx();
        from.copy_to::<4, _>(t, 4 * k as usize, tile, 4 * k);
        t.end_copies();
        match how {
            0 => out.set(t, t.global_idx(), tile.get_run::<2, _>(t, 4 * k)[0]),
            1 => tile.set(t, 4 * k, 1),
            2 => from.copy_to::<1, _>(t, 0, tile, 4 * k),
            _ => {
                tile.atomic_add(t, 4 * k, 1);
            }
        }
        t.wait_copies(0);
    }
}

#[test]
fn accesses_to_own_copies_before_the_wait_are_found() {
    let machine = Emulator::default();
    let from = machine.upload(&[5; 128]).unwrap();
    let mut out = machine.allocate::<u32>(32).unwrap();
    for (open, left) in [(0, 1), (1, 0)] {
        let kernel = reads_its_copy {
            from: &from,
            out: &mut out,
            open,
            left,
        };
        let fault = fault_of(&machine, grid(1, 32), kernel);
        assert_eq!(
            fault.kind,
            FaultKind::CopyUnderWay {
                access: Access::Read
            }
        );
        assert_eq!(fault.memory, Some(Memory::Shared { offset: 16 }));
        assert_at(&fault, "reads_its_copy", 0, 0, Some(2));
        assert_other(&fault, 0, 0);
        let started = fault.other.unwrap().location.unwrap();
        assert!(started.line() < fault.location.unwrap().line(), "{fault}");
        let said = "reads element 2 of the shared array at byte 16 before it has waited for its copy there (";
        assert!(fault.to_string().contains(said), "{fault}");
    }
    // The next launch holds nothing that a fault left held.
    let kernel = reads_its_copy {
        from: &from,
        out: &mut out,
        open: 0,
        left: 0,
    };
    machine.launch(grid(1, 32), kernel).unwrap();
    assert_eq!(fetch(&machine, &out), [5; 32]);

    let all = [Access::Read, Access::Write, Access::Write, Access::Atomic];
    for (how, access) in (0..).zip(all) {
        let kernel = touches_its_copy {
            from: &from,
            out: &mut out,
            how,
        };
        let fault = fault_of(&machine, grid(1, 32), kernel);
        assert_eq!(fault.kind, FaultKind::CopyUnderWay { access });
        assert_at(&fault, "touches_its_copy", 0, 0, Some(0));
        assert_other(&fault, 0, 0);
    }
}

kernel! {
    /// The second warp reads what the first one copies. `waits` and `barrier` say when the first warp waits and when a barrier comes: 0 first, 1 second,
    /// 2 not before the second warp reads.
    pub fn reads_the_copy_of_another(t, from: In<f64>, out: Out<f64>; waits: u32, barrier: u32) shared { tile: [f64; 64] } {
        let k = t.thread_idx();
        let copies = k < 32;
        if copies {
            tile.copy_16(t, 2 * k, from, 2 * k as usize, k != 9);
            t.end_copies();
        }
        let mut step = 0;
        while step < 2 {
            if waits == step && copies {
                t.wait_copies(0);
            }
            if barrier == step {
                t.sync_threads();
            }
            step += 1;
        }
        if !copies {
            out.set(t, t.global_idx() - 32, tile.get(t, 2 * (k - 32) + 1));
        }
        t.sync_threads();
        t.wait_copies(0);
    }
}

#[test]
fn reads_of_other_threads_copies_are_found() {
    let values: Vec<f64> = (0..64).map(f64::from).collect();
    let run = |order, waits, barrier| {
        let machine = Emulator::new(order);
        let from = machine.upload(&values).unwrap();
        let mut out = machine.allocate::<f64>(32).unwrap();
        let kernel = reads_the_copy_of_another {
            from: &from,
            out: &mut out,
            waits,
            barrier,
        };
        if (waits, barrier) == (0, 1) {
            machine.launch(grid(1, 64), kernel).unwrap();
            let expected: Vec<_> = (0..32)
                .map(|k| if k == 9 { 0.0 } else { values[2 * k + 1] })
                .collect();
            assert_eq!(fetch(&machine, &out), expected);
            None
        } else {
            Some(fault_of(&machine, grid(1, 64), kernel))
        }
    };
    let under_way = FaultKind::CopyUnderWay {
        access: Access::Read,
    };
    let race = FaultKind::Race {
        access: Access::Read,
        other: Access::Write,
    };
    for order in ORDERS {
        assert_eq!(run(order, 0, 1), None);
    }
    // A barrier and no wait before it. Where one comes before the read all the same, in the reader's phase, whether it has come depends on the order.
    for (order, waits, kind, reader) in [
        (ThreadOrder::Ascending, 2, &under_way, 32),
        (ThreadOrder::Descending, 2, &under_way, 63),
        (ThreadOrder::Descending, 1, &under_way, 63),
        (ThreadOrder::Ascending, 1, &race, 32),
    ] {
        let fault = run(order, waits, 0).unwrap();
        assert_eq!(fault.kind, *kind);
        assert_eq!(fault.memory, Some(Memory::Shared { offset: 0 }));
        let index = 2 * (reader as usize - 32) + 1;
        assert_at(&fault, "reads_the_copy_of_another", 0, reader, Some(index));
        assert_other(&fault, 0, reader - 32);
        if fault.kind == under_way {
            let started = fault.other.unwrap().location.unwrap();
            assert!(started.line() < fault.location.unwrap().line(), "{fault}");
            let said = format!(
                "before thread {} has waited for its copy there",
                reader - 32
            );
            assert!(fault.to_string().contains(&said), "{fault}");
        }
    }
    // A wait and no barrier.
    let fault = run(ThreadOrder::Ascending, 0, 2).unwrap();
    assert_eq!(fault.kind, race);
    assert_at(&fault, "reads_the_copy_of_another", 0, 32, Some(1));
}

kernel! {
    /// The first warp copies its words of x, and before it waits they are changed: 0 by itself, or else by the second warp, 1 with a barrier before the
    /// change and one behind it, 2 with no barrier behind it, 3 by additions that all have seen. Otherwise only when it has waited.
    pub fn changes_what_it_copies(t, x: InOut<u32>; how: u32) shared { tile: [u32; 32] } {
        let k = t.thread_idx();
        let (copies, own) = (k < 32, k as usize % 32);
        if copies {
            x.set(t, own, k);
            x.copy_to::<1, _>(t, own, tile, k);
            t.end_copies();
        }
        if how == 0 && copies {
            x.set(t, own, k);
        }
        t.sync_threads();
        if how == 3 && !copies {
            x.atomic_add(t, own, 0);
        } else if how < 3 && !copies {
            x.set(t, own, k);
        }
        if how != 2 {
            t.sync_threads();
        }
        if how == 3 {
            x.get(t, own);
        }
        t.wait_copies(0);
        if how > 3 && copies {
            x.set(t, own, tile.get(t, k) + 1);
        }
    }
}

#[test]
fn changes_of_what_a_copy_reads_are_found() {
    let run = |order, how| {
        let machine = Emulator::new(order);
        let mut x = machine.allocate(32).unwrap();
        fault_of(
            &machine,
            grid(1, 64),
            changes_what_it_copies { x: &mut x, how },
        )
    };
    for (order, how, access, other) in [
        (ThreadOrder::Ascending, 0, Access::Write, 0),
        (ThreadOrder::Ascending, 1, Access::Write, 32),
        (ThreadOrder::Ascending, 3, Access::Atomic, 32),
        (ThreadOrder::Descending, 0, Access::Write, 31),
        (ThreadOrder::Descending, 1, Access::Write, 63),
        (ThreadOrder::Descending, 2, Access::Write, 63),
    ] {
        let fault = run(order, how);
        let thread = other % 32;
        assert_eq!(fault.kind, FaultKind::CopySource { access });
        assert_eq!(fault.memory, Some(Memory::Global { view: Some(0) }));
        let index = Some(thread as usize);
        assert_at(&fault, "changes_what_it_copies", 0, thread, index);
        assert_other(&fault, 0, other);
        let line = fault.to_string();
        assert_eq!(line.contains("itself writes it"), how == 0, "{line}");
        assert_eq!(line.contains("(the change at "), how == 0, "{line}");
    }
    let fault = run(ThreadOrder::Ascending, 2);
    assert_eq!(
        fault.kind,
        FaultKind::Race {
            access: Access::Write,
            other: Access::Read
        }
    );
    assert_other(&fault, 0, 0);

    for order in ORDERS {
        let machine = Emulator::new(order);
        let mut x = machine.allocate(32).unwrap();
        let kernel = changes_what_it_copies { x: &mut x, how: 4 };
        machine.launch(grid(1, 64), kernel).unwrap();
        assert_eq!(fetch(&machine, &x), (1..33).collect::<Vec<u32>>());
    }
}

kernel! {
    /// Thread 3 leaves with a copy that it has not waited for.
    pub fn abandons_a_copy(t, from: In<f32>) shared { tile: [f32; 128] } {
        let k = t.thread_idx();
        from.copy_to::<4, _>(t, 4 * k as usize, tile, 4 * k);
        t.end_copies();
        if k != 3 {
            t.wait_copies(0);
        }
    }
}

#[test]
fn copies_that_nobody_waits_for_are_found() {
    let machine = Emulator::default();
    let from = machine.upload(&[0.0f32; 128]).unwrap();
    let fault = fault_of(&machine, grid(1, 32), abandons_a_copy { from: &from });
    assert_eq!(fault.kind, FaultKind::CopyAbandoned);
    assert_eq!(fault.memory, Some(Memory::Shared { offset: 0 }));
    assert_at(&fault, "abandons_a_copy", 0, 3, Some(12));
}

kernel! {
    /// Thread 0 reaches for two or four elements at once, from `at` on.
    pub fn reaches_for_several(t, x: InOut<f32>; at: u32, how: u32) shared { tile: [f32; 32] } {
        let k = t.thread_idx();
        tile.set(t, k, 1.0);
        t.sync_threads();
        if k == 0 {
            match how {
                0 => {
                    let [a, b] = x.get_run(t, at as usize);
                    x.set(t, 0, a + b);
                }
                1 => x.set_run(t, at as usize, [0.0; 4]),
                2 => {
                    let [a, b, c, d] = tile.get_run(t, at);
                    x.set(t, 0, a + b + c + d);
                }
                _ => tile.set_run(t, at, [0.0; 2]),
            }
        }
    }
}

#[test]
fn accesses_to_several_elements_begin_at_multiples_of_their_size() {
    let machine = Emulator::default();
    for (how, access, count) in [
        (0, Access::Read, 2),
        (1, Access::Write, 4),
        (2, Access::Read, 4),
        (3, Access::Write, 2),
    ] {
        for at in 4..8 {
            let mut x = machine.upload(&[1.0f32; 32]).unwrap();
            let kernel = reaches_for_several { x: &mut x, at, how };
            if at % count as u32 == 0 {
                machine.launch(grid(1, 32), kernel).unwrap();
            } else {
                let fault = fault_of(&machine, grid(1, 32), kernel);
                assert_eq!(fault.kind, FaultKind::Misaligned { access, count });
                assert_at(&fault, "reaches_for_several", 0, 0, Some(at as usize));
            }
        }
    }
}

/// Places of the ring of [`sums_neighbours_in_a_ring()`].
const RING: u32 = 3;

kernel! {
    /// Each thread's sum over all rows of its neighbour's word, which come by way of a ring of rows in shared memory, copied two rows ahead.
    pub fn sums_neighbours_in_a_ring(t, rows: In<u32>, out: Out<u32>; count: u32) shared { ring: [u32; 64 * RING] } {
        let (k, threads) = (t.thread_idx(), t.block_dim());
        let copy = |row: u32| {
            if row < count {
                rows.copy_to::<1, _>(t, (row * threads + k) as usize, ring, row % RING * threads + k);
            }
            t.end_copies();
        };
        copy(0);
        copy(1);
        let mut sum = 0;
        let mut row = 0;
        while row < count {
            t.wait_copies(1);
            // The place of the row before is free as well.
            t.sync_threads();
            copy(row + 2);
            sum += ring.get(t, row % RING * threads + (k + 1) % threads);
            row += 1;
        }
        out.set(t, t.global_idx(), sum);
    }
}

#[test]
fn copies_ahead_of_their_use_are_right_in_every_order() {
    for count in [0, 1, 2, 7] {
        let rows: Vec<u32> = (0..count * 64).map(|i| i * i % 101).collect();
        let sum = |k: u32| -> u32 {
            let word = |row: u32| rows[(row * 64 + (k + 1) % 64) as usize];
            (0..count).map(word).sum()
        };
        let expected: Vec<_> = (0..64).map(sum).collect();
        for order in ORDERS {
            let machine = Emulator::new(order);
            let rows = machine.upload(&rows).unwrap();
            let mut out = machine.allocate(128).unwrap();
            let kernel = sums_neighbours_in_a_ring {
                rows: &rows,
                out: &mut out,
                count,
            };
            machine.launch(grid(2, 64), kernel).unwrap();
            assert_eq!(fetch(&machine, &out), expected.repeat(2));
        }
    }
}

kernel! {
    /// Lane 3 shuffles from `source`; lanes listed in `leave` are gone.
    pub fn shuffles_from(t, out: Out<f64>; source: u32, leave: u32) {
        if leave >> t.lane() & 1 == 1 {
            return;
        }
        let own = t.lane() as f64;
        out.set(t, t.global_idx(), t.shuffle(own, if t.lane() == 3 { source } else { t.lane() }));
    }
}

#[test]
fn shuffles_from_inactive_lanes_are_found() {
    let machine = Emulator::default();
    let mut out = machine.allocate::<f64>(64).unwrap();
    let fault = fault_of(
        &machine,
        grid(2, 32),
        shuffles_from {
            out: &mut out,
            source: 32,
            leave: 0,
        },
    );
    assert_eq!(fault.kind, FaultKind::InactiveLane { source: 32 });
    assert_at(&fault, "shuffles_from", 0, 3, None);

    let fault = fault_of(
        &machine,
        grid(2, 32),
        shuffles_from {
            out: &mut out,
            source: 17,
            leave: 1 << 17,
        },
    );
    assert_eq!(fault.kind, FaultKind::InactiveLane { source: 17 });
    assert_at(&fault, "shuffles_from", 0, 3, None);
    assert_other(&fault, 0, 17);

    machine
        .launch(
            grid(2, 32),
            shuffles_from {
                out: &mut out,
                source: 17,
                leave: 0,
            },
        )
        .unwrap();
    assert_eq!(fetch(&machine, &out)[35], 17.0);
}

kernel! {
    /// Makes a view out of thin air.
    pub fn uses_foreign_memory(t, out: Out<u32>) {
        let mut word = 5u32;
        // SAFETY: the word lives as long as the view.
        let view = unsafe { In::from_region(Region::new(&mut word, 1)) };
        out.set(t, t.global_idx(), view.get(t, 0));
    }
}

kernel! {
    /// Asks for shared memory that the launch did not reserve, or that overlaps.
    pub fn takes_shared_memory(t, out: Out<u32>; offset: u32, len: u32) shared { tile: [u32; 8] } {
        if t.thread_idx() == 6 {
            // SAFETY: the emulator checks what is asked for.
            unsafe { t.shared::<f64>(offset as usize, len as usize) };
        }
        if t.thread_idx() < 8 {
            tile.set(t, t.thread_idx(), 1);
        }
        out.set(t, t.global_idx(), 0);
    }
}

#[test]
fn memory_of_nobody_is_refused() {
    let machine = Emulator::default();
    let mut out = machine.allocate::<u32>(32).unwrap();
    let fault = fault_of(&machine, grid(1, 32), uses_foreign_memory { out: &mut out });
    assert_eq!(fault.kind, FaultKind::ForeignMemory);
    assert_at(&fault, "uses_foreign_memory", 0, 0, Some(0));

    for (offset, len) in [(32, 1), (16, 2), (4, 1), (0, u32::MAX)] {
        let fault = fault_of(
            &machine,
            grid(1, 32),
            takes_shared_memory {
                out: &mut out,
                offset,
                len,
            },
        );
        let FaultKind::SharedLayout { reserved: 32, .. } = fault.kind else {
            panic!("{fault}")
        };
        assert_at(&fault, "takes_shared_memory", 0, 6, None);
    }
}

kernel! {
    /// Panics in one thread while others wait.
    pub fn panics(t, out: Out<u32>) {
        if t.global_idx() == 42 {
            panic!("the answer is {}", t.global_idx());
        }
        t.sync_threads();
        out.set(t, t.global_idx(), 1);
    }
}

#[test]
fn a_panic_is_a_fault() {
    let machine = Emulator::default();
    let mut out = machine.allocate::<u32>(64).unwrap();
    let fault = fault_of(&machine, grid(2, 32), panics { out: &mut out });
    assert_eq!(fault.kind, FaultKind::Panic("the answer is 42".into()));
    assert_at(&fault, "panics", 1, 10, None);
}

#[test]
fn impossible_launches_are_input_errors() {
    let machine = Emulator::default();
    let mut out = machine.allocate::<f64>(32).unwrap();
    for (blocks, threads) in [(0, 32), (1, 0), (1, 33), (1, 1056), (u32::MAX, 32)] {
        let error = machine
            .launch(grid(blocks, threads), block_sum_out(&mut out, 1))
            .unwrap_err();
        assert!(matches!(error, Error::Input(_)), "{error}");
    }
    let error = machine
        .launch(grid(1, 32), block_sum_out(&mut out, 29_057))
        .unwrap_err();
    assert!(
        error.is_input() && error.to_string().contains("232464"),
        "{error}"
    );
    machine
        .launch(grid(1, 32), block_sum_out(&mut out, 29_056))
        .unwrap();
}

fn block_sum_out(
    out: &mut <Emulator as DeviceMemory>::Buffer<f64>,
    n: u32,
) -> fills_shared<'_, Emulator> {
    fills_shared { out, n }
}

kernel! {
    /// Fills `n` words of shared memory.
    pub fn fills_shared(t, out: Out<f64>; n: u32) shared { tile: [f64; n] } {
        if t.thread_idx() == 0 {
            tile.set(t, n - 1, 2.0);
            out.set(t, 0, tile.get(t, n - 1));
        }
    }
}

#[test]
fn memory_is_limited_and_given_back() {
    let machine = Emulator::default().with_global_bytes(1000);
    let free = || machine.limits().unwrap().free_bytes;
    let buffer = machine.upload(&[0.0f64; 100]).unwrap();
    assert_eq!(free(), 200);
    assert!(matches!(
        machine.allocate::<u8>(201),
        Err(Error::Memory {
            needed: 201,
            available: 200,
            ..
        })
    ));
    assert!(machine.allocate::<f64>(usize::MAX).is_err());
    drop(buffer);
    assert_eq!(free(), 1000);
    let mut buffer = machine.allocate::<f64>(3).unwrap();
    assert!(
        machine
            .write(&mut buffer, &[0.0; 4])
            .unwrap_err()
            .is_input()
    );
    assert!(machine.read(&buffer, &mut [0.0; 2]).unwrap_err().is_input());
    assert_eq!(machine.allocate::<f64>(0).unwrap().len(), 0);
}

#[test]
fn a_machine_can_move_to_another_thread_with_its_buffers() {
    let machine = Emulator::default();
    let mut out = machine.allocate::<f64>(1).unwrap();
    std::thread::spawn(move || {
        machine
            .launch(grid(1, 32), block_sum_out(&mut out, 5))
            .unwrap();
        assert_eq!(fetch(&machine, &out), [2.0]);
    })
    .join()
    .unwrap();
}

// ---- Correct kernels ------------------------------------------------------------------------------------------------

kernel! {
    /// out[b] = sum of block b's share of x: a tree in shared memory.
    pub fn tree_sum<T: Real>(t, x: In<T>, out: Out<T>; width: u32) for f32, f64 shared { tile: [T; width] } {
        let k = t.thread_idx();
        tile.set(t, k, x.get_or(t, t.global_idx(), T::ZERO));
        t.sync_threads();
        let mut half = width / 2;
        while half > 0 {
            if k < half {
                tile.set(t, k, tile.get(t, k) + tile.get(t, k + half));
            }
            t.sync_threads();
            half /= 2;
        }
        if k == 0 {
            out.set(t, t.block_idx() as usize, tile.get(t, 0));
        }
    }
}

kernel! {
    /// The same by shuffles, then over the warps.
    pub fn warp_sum<T: Real>(t, x: In<T>, out: Out<T>) for f32, f64 shared { sums: [T; WARP] } {
        let mut sum = x.get_or(t, t.global_idx(), T::ZERO);
        let mut mask = WARP / 2;
        while mask > 0 {
            sum += t.shuffle_xor(sum, mask);
            mask /= 2;
        }
        if t.lane() == 0 {
            sums.set(t, t.warp(), sum);
        }
        t.sync_threads();
        if t.warp() == 0 {
            sum = if t.lane() < t.warps() { sums.get(t, t.lane()) } else { T::ZERO };
            let mut delta = WARP / 2;
            while delta > 0 {
                sum += t.shuffle_down(sum, delta);
                delta /= 2;
            }
            if t.lane() == 0 {
                out.set(t, t.block_idx() as usize, sum);
            }
        }
    }
}

/// Sums of both kernels in all orders; asserts that they are the same bits.
fn sums<T: Real + Element + Default + std::fmt::Debug>(
    x: &[T],
    threads: u32,
    bits: impl Fn(T) -> u64,
) -> [Vec<T>; 2] {
    let blocks = (x.len() as u32).div_ceil(threads).max(1);
    let mut results: Vec<[Vec<T>; 2]> = ORDERS
        .iter()
        .map(|&order| {
            let machine = Emulator::new(order);
            let x = machine.upload(x).unwrap();
            let mut out = machine.allocate::<T>(blocks as usize).unwrap();
            machine
                .launch(
                    grid(blocks, threads),
                    tree_sum {
                        x: &x,
                        out: &mut out,
                        width: threads,
                    },
                )
                .unwrap();
            let tree = fetch(&machine, &out);
            machine
                .launch(
                    grid(blocks, threads),
                    warp_sum {
                        x: &x,
                        out: &mut out,
                    },
                )
                .unwrap();
            [tree, fetch(&machine, &out)]
        })
        .collect();
    let all_bits = |sums: &[Vec<T>; 2]| {
        sums.each_ref()
            .map(|s| s.iter().map(|&v| bits(v)).collect::<Vec<_>>())
    };
    assert!(results.iter().all(|r| all_bits(r) == all_bits(&results[0])));
    results.swap_remove(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn reductions_of_any_size_agree_with_a_loop(
        len in 0usize..3000, threads in prop::sample::select(vec![32u32, 64, 256, 1024]), seed in any::<u32>(),
    ) {
        // Small integers: every sum is exact in both precisions.
        let x: Vec<f64> = (0..len as u32).map(|i| f64::from((i ^ seed).wrapping_mul(2_654_435_761) >> 22)).collect();
        let expected: Vec<f64> = if x.is_empty() {
            vec![0.0]
        } else {
            x.chunks(threads as usize).map(|c| c.iter().sum()).collect()
        };
        for sum in sums(&x, threads, f64::to_bits) {
            prop_assert_eq!(&sum, &expected);
        }
        let x: Vec<f32> = x.iter().map(|&v| v as f32).collect();
        for sum in sums(&x, threads, |v| v.to_bits().into()) {
            prop_assert_eq!(sum.iter().map(|&v| f64::from(v)).collect::<Vec<_>>(), expected.clone());
        }
    }
}

#[test]
fn inexact_sums_have_the_same_bits_in_every_order() {
    let x: Vec<f32> = (0..2048).map(|i| (i as f32 * 0.37).sin()).collect();
    let [tree, warp] = sums(&x, 512, |v| v.to_bits().into());
    for (sum, chunk) in tree.iter().chain(&warp).zip(x.chunks(512).cycle()) {
        approx::assert_relative_eq!(
            *sum,
            chunk.iter().sum::<f32>(),
            max_relative = 1e-4,
            epsilon = 1e-4
        );
    }
    let x: Vec<f64> = x.iter().map(|&v| f64::from(v) / 3.0).collect();
    sums(&x, 512, f64::to_bits);
}

kernel! {
    /// Counts the values of x: in shared memory for the block, then in global memory.
    pub fn histogram(t, x: In<u32>, bins: InOut<u32>, total: InOut<u64>) shared { own: [u32; 16] } {
        let k = t.thread_idx();
        if k < 16 {
            own.set(t, k, 0);
        }
        t.sync_threads();
        let mut i = t.global_idx();
        while i < x.len() {
            own.atomic_add(t, x.get(t, i) % 16, 1);
            total.atomic_add(t, 0, x.get(t, i) as u64);
            i += t.global_dim();
        }
        t.sync_threads();
        if k < 16 {
            bins.atomic_add(t, k as usize, own.get(t, k));
        }
    }
}

kernel! {
    /// y = a x + y in a grid-stride loop.
    pub fn axpy<T: Real>(t, x: In<T>, y: InOut<T>; a: T) for f32, f64 {
        let mut i = t.global_idx();
        while i < x.len() {
            y.set(t, i, a.mul_add(x.get(t, i), y.get(t, i)));
            i += t.global_dim();
        }
    }
}

#[test]
fn atomics_and_grid_stride_loops_are_right_in_every_order() {
    let x: Vec<u32> = (0..5000).map(|i| i * i % 37).collect();
    let mut expected = [0; 16];
    for v in &x {
        expected[(v % 16) as usize] += 1;
    }
    let reals: Vec<f64> = (0..1000).map(|i| f64::from(i).sqrt()).collect();
    let sums: Vec<f64> = reals.iter().map(|v| 0.3f64.mul_add(*v, *v)).collect();
    for order in ORDERS {
        let machine = Emulator::new(order);
        let values = machine.upload(&x).unwrap();
        let mut bins = machine.upload(&[0; 16]).unwrap();
        let mut total = machine.upload(&[0]).unwrap();
        machine
            .launch(
                grid(4, 96),
                histogram {
                    x: &values,
                    bins: &mut bins,
                    total: &mut total,
                },
            )
            .unwrap();
        assert_eq!(fetch(&machine, &bins), expected);
        assert_eq!(
            fetch(&machine, &total),
            [x.iter().map(|&v| u64::from(v)).sum::<u64>()]
        );

        let values = machine.upload(&reals).unwrap();
        let mut y = machine.upload(&reals).unwrap();
        machine
            .launch(
                grid(3, 64),
                axpy {
                    x: &values,
                    y: &mut y,
                    a: 0.3,
                },
            )
            .unwrap();
        assert_eq!(fetch(&machine, &y), sums);
    }
}

kernel! {
    /// out[i] = place of thread i in a queue: right on a GPU only by luck.
    pub fn queues(t, next: InOut<u32>, out: Out<u32>) {
        out.set(t, t.global_idx(), next.atomic_add(t, 0, 1));
    }
}

#[test]
fn orders_differ_and_show_a_kernel_that_depends_on_them() {
    let result = |order| {
        let machine = Emulator::new(order);
        let mut next = machine.upload(&[0u32]).unwrap();
        let mut out = machine.allocate(128).unwrap();
        machine
            .launch(
                grid(2, 64),
                queues {
                    next: &mut next,
                    out: &mut out,
                },
            )
            .unwrap();
        fetch(&machine, &out)
    };
    let ascending: Vec<u32> = (0..128).collect();
    let random = result(ThreadOrder::Random(1));
    assert_eq!(result(ThreadOrder::Ascending), ascending);
    assert_eq!(
        result(ThreadOrder::Descending),
        ascending.iter().rev().copied().collect::<Vec<_>>()
    );
    assert_ne!(random, ascending);
    assert_ne!(random, result(ThreadOrder::Random(2)));
    assert_eq!(random, result(ThreadOrder::Random(1)));
    let mut sorted = random;
    sorted.sort_unstable();
    assert_eq!(sorted, ascending);
}

kernel! {
    /// All read one word, and after a barrier one of them writes it.
    pub fn reads_by_all_then_a_write(t, x: InOut<u32>, out: Out<u32>) shared { word: [u32; 1] } {
        if t.thread_idx() == 40 {
            word.set(t, 0, x.get(t, t.block_idx() as usize));
        }
        t.sync_threads();
        let seen = word.get(t, 0) + x.get(t, t.block_idx() as usize);
        t.sync_threads();
        if t.thread_idx() == 41 {
            word.set(t, 0, seen);
            x.set(t, t.block_idx() as usize, seen);
        }
        t.sync_threads();
        out.set(t, t.global_idx(), word.get(t, 0));
    }
}

kernel! {
    /// Neighbours `apart` threads away exchange words through memory, with a warp barrier between.
    pub fn exchanges(t, out: Out<u32>; apart: u32) shared { tile: [u32; 64] } {
        let k = t.thread_idx();
        tile.set(t, k, 10 * k);
        t.sync_warp();
        let word = tile.get(t, k ^ apart);
        t.sync_warp();
        tile.set(t, k, word);
        out.set(t, t.global_idx(), word);
    }
}

#[test]
fn correct_exchanges_are_no_races() {
    for order in ORDERS {
        let machine = Emulator::new(order);
        let mut x = machine.upload(&[3u32, 4]).unwrap();
        let mut out = machine.allocate::<u32>(128).unwrap();
        machine
            .launch(
                grid(2, 64),
                reads_by_all_then_a_write {
                    x: &mut x,
                    out: &mut out,
                },
            )
            .unwrap();
        assert_eq!(fetch(&machine, &x), [6, 8]);

        for apart in [0, 1, 5, 31] {
            machine
                .launch(
                    grid(2, 64),
                    exchanges {
                        out: &mut out,
                        apart,
                    },
                )
                .unwrap();
            assert_eq!(fetch(&machine, &out)[64 + 37], 10 * (37 ^ apart));
        }
        let fault = fault_of(
            &machine,
            grid(1, 64),
            exchanges {
                out: &mut out,
                apart: 32,
            },
        );
        assert!(
            matches!(fault.kind, FaultKind::Race { .. } | FaultKind::Unwritten),
            "{fault}"
        );
    }
    // In ascending order the second warp finds the words of the first.
    kernel! {
        /// The second warp reads what the first one wrote.
        pub fn exchanges_across_warps(t, out: Out<u32>) shared { tile: [u32; 64] } {
            let k = t.thread_idx();
            tile.set(t, k, k);
            t.sync_warp();
            out.set(t, t.global_idx(), tile.get(t, k % 32));
        }
    }
    let machine = Emulator::default();
    let mut out = machine.allocate::<u32>(64).unwrap();
    let fault = fault_of(
        &machine,
        grid(1, 64),
        exchanges_across_warps { out: &mut out },
    );
    assert_eq!(
        fault.kind,
        FaultKind::Race {
            access: Access::Read,
            other: Access::Write
        }
    );
    assert_at(&fault, "exchanges_across_warps", 0, 32, Some(0));
    assert_other(&fault, 0, 0);
}

#[test]
fn ballots_collect_the_lanes() {
    kernel! {
        /// Every third lane votes.
        pub fn votes(t, out: Out<u32>) {
            out.set(t, t.global_idx(), t.ballot(t.thread_idx().is_multiple_of(3)));
        }
    }
    for order in ORDERS {
        let machine = Emulator::new(order);
        let mut out = machine.allocate::<u32>(64).unwrap();
        machine
            .launch(grid(1, 64), votes { out: &mut out })
            .unwrap();
        let expected = |warp: u32| {
            (0..32)
                .filter(|l| (warp * 32 + l).is_multiple_of(3))
                .fold(0, |mask, l| mask | 1 << l)
        };
        assert_eq!(
            fetch(&machine, &out),
            [[expected(0); 32], [expected(1); 32]].concat()
        );
    }
}

#[test]
fn the_emulator_is_usable_after_every_fault() {
    let machine = Emulator::default();
    let what: Vec<u32> = (0..1024).map(|k| u32::from(k == 1000) * 4).collect();
    let what = machine.upload(&what).unwrap();
    let x = machine.upload(&[1.0f32; 4096]).unwrap();
    for _ in 0..20 {
        let mut out = machine.allocate::<u32>(1024).unwrap();
        fault_of(
            &machine,
            grid(1, 1024),
            diverges {
                what: &what,
                out: &mut out,
            },
        );
        let mut sum = machine.allocate::<f32>(4).unwrap();
        machine
            .launch(
                grid(4, 1024),
                tree_sum {
                    x: &x,
                    out: &mut sum,
                    width: 1024,
                },
            )
            .unwrap();
        assert_eq!(fetch(&machine, &sum), [1024.0; 4]);
    }
}

#[test]
fn kernels_drop_what_they_hold_when_another_thread_fails() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static ALIVE: AtomicU32 = AtomicU32::new(0);
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    kernel! {
        /// Holds something across a barrier that is never complete.
        pub fn holds(t, out: Out<u32>) {
            ALIVE.fetch_add(1, Ordering::Relaxed);
            let _guard = Guard;
            if t.thread_idx() != 20 {
                t.sync_threads();
            }
            out.set(t, t.global_idx(), 1);
        }
    }
    let machine = Emulator::default();
    let mut out = machine.allocate::<u32>(64).unwrap();
    fault_of(&machine, grid(1, 64), holds { out: &mut out });
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
}

#[test]
fn many_emulators_share_the_stacks() {
    let run = || {
        let machine = Emulator::default();
        let x = machine.upload(&[1.0f32; 2048]).unwrap();
        let mut out = machine.allocate::<f32>(2).unwrap();
        let kernel = tree_sum {
            x: &x,
            out: &mut out,
            width: 1024,
        };
        machine.launch(grid(2, 1024), kernel).unwrap();
        assert_eq!(fetch(&machine, &out), [1024.0; 2]);
    };
    // More than there are stacks for at a time.
    std::thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(run);
        }
    });
}

#[test]
fn accesses_are_counted() {
    let machine = Emulator::default();
    let x = machine.upload(&[1.0f64; 64]).unwrap();
    let mut out = machine.allocate::<f64>(1).unwrap();
    machine
        .launch(
            grid(1, 64),
            warp_sum {
                x: &x,
                out: &mut out,
            },
        )
        .unwrap();
    let Statistics {
        global,
        shared,
        barriers,
        warp_operations,
        ..
    } = machine.last_launch();
    assert_eq!((global.loads, global.load_bytes), (64, 512));
    assert_eq!((global.stores, global.store_bytes), (1, 8));
    assert_eq!((shared.loads, shared.stores, shared.atomics), (2, 2, 0));
    // Two words, five steps, in two warps and then in one.
    assert_eq!((barriers, warp_operations), (1, 2 * 5 * 3));
}

/// A size that some entries have as a constant.
#[derive(Clone, Copy)]
#[repr(C)]
struct Size {
    n: u32,
}

kernel! {
    /// out[0] = n.
    pub fn of_common_sizes<T: Real>(t, out: Out<T>; size: Size) for f32, f64
    each size.n in 2, 30 or any
    shared { room: [T; size.n] } {
        room.set(t, 0, T::from_f64(f64::from(size.n)));
        out.set(t, 0, room.get(t, 0));
    }
}

kernel! {
    /// The same for sizes of a list.
    pub fn of_listed_sizes<T: Real>(t, out: Out<T>; size: Size) for f64 each size.n in 2, 30 {
        out.set(t, 0, T::from_f64(f64::from(size.n)));
    }
}

#[test]
fn a_launch_takes_the_entry_of_its_value() {
    let machine = Emulator::default();
    let mut single = machine.allocate::<f32>(1).unwrap();
    let mut double = machine.allocate::<f64>(1).unwrap();
    for (n, common, listed) in [
        (2, "of_common_sizes_2_", "of_listed_sizes_2_f64"),
        (30, "of_common_sizes_30_", "of_listed_sizes_30_f64"),
        // No machine has an entry of the last name.
        (7, "of_common_sizes_", "of_listed_sizes"),
    ] {
        let size = Size { n };
        let out = &mut single;
        let kernel = of_common_sizes::<Emulator, f32> { out, size };
        assert_eq!(Kernel::entry(&kernel), format!("{common}f32"));
        let out = &mut double;
        let kernel = of_common_sizes::<Emulator, f64> { out, size };
        assert_eq!(Kernel::entry(&kernel), format!("{common}f64"));
        let out = &mut double;
        let kernel = of_listed_sizes::<Emulator, f64> { out, size };
        assert_eq!(Kernel::entry(&kernel), listed);
    }
}

/// Takes stack until it ends.
#[inline(never)]
fn descend(depth: u64) -> u64 {
    let kept = std::hint::black_box([depth; 64]);
    if std::hint::black_box(depth) == u64::MAX {
        return 0;
    }
    descend(depth + 1) + std::hint::black_box(kept)[7]
}

kernel! {
    /// One thread of the second block recurses without an end.
    pub fn overflows_its_stack(t, out: Out<u32>) {
        if t.global_idx() == 64 + 5 {
            out.set(t, 0, descend(0) as u32);
        }
    }
}

#[cfg(unix)]
#[test]
fn an_overflow_of_a_stack_is_reported() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    const CHILD: &str = "RAREFY_TEST_OVERFLOW";
    let machine = Emulator::default();
    let mut out = machine.zeros::<u32>(128).unwrap();
    if std::env::var_os(CHILD).is_some() {
        let grid = Grid {
            blocks: 2,
            threads: 64,
        };
        let launched = machine.launch(grid, overflows_its_stack { out: &mut out });
        unreachable!("{launched:?}");
    }
    let program = std::env::current_exe().unwrap();
    let child = Command::new(program)
        .args([
            "--exact",
            "an_overflow_of_a_stack_is_reported",
            "--nocapture",
        ])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&child.stderr);
    let line = "kernel overflows_its_stack, block 1, thread 5: overflows its stack of 256 KiB";
    assert!(stderr.contains(line), "{stderr}");
    assert_eq!(child.status.signal(), Some(6), "SIGABRT: {stderr}");
}
