//! The scheduler of the threads of a block.
//!
//! A thread runs until it stops: at a barrier, in an exchange of its warp, or at the end of the kernel. Once no lane of a warp
//! can run, the exchange in which its lanes wait is carried out if all 32 wait in the same one, and is a fault
//! otherwise. Once no thread of the block can run, all of them must wait at the same block barrier, or all must have left.

use std::any::Any;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use super::block::{Block, Slot, State};
use super::book;
use super::order::Sequence;
use super::thread::Thread;
use crate::fault::{Activity, Fault, FaultKind, OtherThread};
use crate::simt::WARP;

type Fiber<'a> = Coroutine<(), (), Result<(), Box<dyn Any + Send>>, &'a mut DefaultStack>;

impl Block<'_> {
    /// Runs one block of a launch, each thread of which runs `body`.
    pub(super) fn run(
        &self,
        index: u32,
        body: &dyn Fn(&Thread<'_>),
        stacks: &mut [DefaultStack],
        sequence: &mut Sequence,
    ) -> Result<(), Box<Fault>> {
        self.index.set(index);
        self.next_phase();
        self.block_start.set(self.phase_start.get());
        self.history
            .borrow_mut()
            .push((self.block_start.get(), index));
        for slot in &self.slots {
            slot.state.set(State::Runnable);
            slot.copies.borrow_mut().clear();
        }

        let fiber = |(thread, stack)| {
            let fiber = move |yielder: &_, ()| {
                let run = || {
                    let thread = Thread::new(self, yielder, thread);
                    body(&thread);
                    thread.leave();
                };
                catch_unwind(AssertUnwindSafe(run))
            };
            // SAFETY: the fibers are dropped at the end of this call, which all that the closure borrows outlives.
            unsafe { Fiber::with_stack_unchecked(stack, fiber) }
        };
        let mut fibers = Fibers((0..).zip(stacks).map(fiber).collect());
        self.schedule(&mut fibers.0, sequence)
    }

    fn schedule(
        &self,
        fibers: &mut [Fiber<'_>],
        sequence: &mut Sequence,
    ) -> Result<(), Box<Fault>> {
        let threads = fibers.len();
        let group = sequence.group(threads);
        let mut groups: Vec<u32> = (0..threads.div_ceil(group) as u32).collect();
        let mut turns = Vec::with_capacity(group);
        loop {
            groups.sort_unstable();
            sequence.arrange(&mut groups);
            for &number in &groups {
                let first = number as usize * group;
                let members = first..(first + group).min(threads);
                loop {
                    turns.clear();
                    let runnable = |&k: &usize| self.slots[k].state.get() == State::Runnable;
                    turns.extend(members.clone().filter(runnable).map(|k| k as u32));
                    if turns.is_empty() {
                        break;
                    }
                    sequence.arrange(&mut turns);
                    for &thread in &turns {
                        self.resume(thread, &mut fibers[thread as usize])?;
                    }
                    for warp in members.clone().step_by(WARP as usize) {
                        self.complete_warp(warp / WARP as usize)?;
                    }
                }
            }
            if self.complete_block()? {
                return Ok(());
            }
        }
    }

    /// Lets a thread run until it stops.
    #[inline]
    fn resume(&self, thread: u32, fiber: &mut Fiber<'_>) -> Result<(), Box<Fault>> {
        let slot = self.slot(thread);
        match fiber.resume(()) {
            CoroutineResult::Yield(()) if slot.state.get() != State::Faulted => Ok(()),
            CoroutineResult::Return(Ok(())) => {
                slot.state.set(State::Stopped(Activity::Exited));
                Ok(())
            }
            CoroutineResult::Yield(()) => Err(self
                .fault
                .take()
                .expect("a thread that failed left its fault")),
            CoroutineResult::Return(Err(payload)) => {
                let message = payload
                    .downcast_ref::<&str>()
                    .map(ToString::to_string)
                    .or_else(|| payload.downcast_ref::<String>().cloned())
                    .unwrap_or_else(|| "(no message)".into());
                Err(self.fault_of(FaultKind::Panic(message), thread, None, None))
            }
        }
    }

    /// Carries out the exchange or the barrier in which the lanes of a warp wait, if they do.
    fn complete_warp(&self, warp: usize) -> Result<(), Box<Fault>> {
        let first = warp * WARP as usize;
        let lanes = &self.slots[first..first + WARP as usize];
        let in_warp_operation = |slot: &Slot| {
            slot.activity().filter(|activity| {
                matches!(
                    activity,
                    Activity::WarpBarrier | Activity::Shuffle | Activity::Ballot
                )
            })
        };
        let Some((leader, operation)) = lanes
            .iter()
            .enumerate()
            .find_map(|(lane, slot)| Some((lane, in_warp_operation(slot)?)))
        else {
            return Ok(());
        };
        let location = lanes[leader].location.get();
        let takes_part = |slot: &Slot| slot.stands_in(operation, location);
        if let Some(missing) = lanes.iter().position(|slot| !takes_part(slot)) {
            let from_inactive =
                |slot: &Slot| takes_part(slot) && !takes_part(&lanes[slot.source.get() as usize]);
            if operation == Activity::Shuffle
                && let Some(lane) = lanes.iter().position(from_inactive)
            {
                let source = lanes[lane].source.get();
                let kind = FaultKind::InactiveLane { source };
                let other = first as u32 + source;
                return Err(self.fault_of(
                    kind,
                    (first + lane) as u32,
                    Some(location),
                    Some(other),
                ));
            }
            let instead = lanes[missing].activity().unwrap_or(Activity::Exited);
            let kind = FaultKind::WarpOperation { operation, instead };
            let other = (first + missing) as u32;
            return Err(self.fault_of(kind, (first + leader) as u32, Some(location), Some(other)));
        }

        match operation {
            Activity::Shuffle => {
                let words: [u32; WARP as usize] =
                    std::array::from_fn(|lane| lanes[lane].word.get());
                for slot in lanes {
                    slot.word.set(words[slot.source.get() as usize]);
                }
            }
            Activity::Ballot => {
                let mask = (0..)
                    .zip(lanes)
                    .fold(0, |mask, (lane, slot)| mask | slot.word.get() << lane);
                for slot in lanes {
                    slot.word.set(mask);
                }
            }
            _ => {}
        }
        // Shuffles and ballots exchange values but order no memory: the PTX manual promises that for bar.warp.sync only.
        if operation == Activity::WarpBarrier {
            self.tick.set(self.tick.get() + 1);
            self.warp_ticks[warp].set(self.tick.get());
        }
        for slot in lanes {
            slot.state.set(State::Runnable);
        }
        self.counts.warp_operation();
        Ok(())
    }

    /// Releases the threads from the block barrier; true if instead all of them have left the kernel.
    fn complete_block(&self) -> Result<bool, Box<Fault>> {
        let at_barrier = |slot: &Slot| slot.state.get() == State::Stopped(Activity::Barrier);
        let Some(arrived) = self.slots.iter().position(at_barrier) else {
            return Ok(true);
        };
        let location = self.slots[arrived].location.get();
        if let Some(missing) = self
            .slots
            .iter()
            .position(|slot| !slot.stands_in(Activity::Barrier, location))
        {
            let instead = self.slots[missing].activity().unwrap_or(Activity::Exited);
            let kind = FaultKind::Barrier { instead };
            return Err(self.fault_of(kind, arrived as u32, Some(location), Some(missing as u32)));
        }
        for slot in &self.slots {
            slot.state.set(State::Runnable);
        }
        self.next_phase();
        self.counts.barrier();
        Ok(false)
    }

    fn next_phase(&self) {
        let tick = self.tick.get() + 1;
        self.tick.set(tick);
        self.phase_start.set(book::stamp(tick, 0));
        for warp in &self.warp_ticks {
            warp.set(tick);
        }
    }

    /// A fault that concerns no memory.
    fn fault_of(
        &self,
        kind: FaultKind,
        thread: u32,
        location: Option<&'static Location<'static>>,
        other: Option<u32>,
    ) -> Box<Fault> {
        let other = other.map(|thread| {
            let slot = self.slot(thread);
            let waits = slot
                .activity()
                .is_some_and(|activity| activity != Activity::Exited);
            OtherThread {
                block: self.index(),
                thread,
                location: waits.then(|| slot.location.get()),
            }
        });
        Box::new(Fault {
            kind,
            kernel: self.entry,
            block: self.index(),
            thread,
            memory: None,
            index: None,
            location,
            other,
        })
    }
}

/// The threads of a block. After a fault some stop in the middle of the kernel; dropping a coroutine unwinds it.
struct Fibers<'a>(Vec<Fiber<'a>>);

impl Drop for Fibers<'_> {
    fn drop(&mut self) {
        if cfg!(panic = "abort") {
            for fiber in &mut self.0 {
                // SAFETY: nothing can be unwound in such a build. The frames left behind are those of a kernel, which knows
                // neither allocation nor locks, and of `Thread`, which borrows only.
                unsafe { fiber.force_reset() };
            }
        }
    }
}
