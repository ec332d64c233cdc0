//! Integrands as bytecode, and the interpreter that the CPU and the kernels share.
//!
//! A program computes a function of x and of parameters by three-address instructions over numbered slots:
//!
//! | slots | hold | written |
//! |---|---|---|
//! | 0 | x | before every evaluation |
//! | 1 .. 1 + parameters | the parameters of the integral | once an integral |
//! | then `constants` slots | the constants of the program | once a thread |
//! | the rest, up to `slots` | intermediate results; the last one is in slot `result` | by the instructions |
//!
//! An instruction is one word, `operation | target << 8 | a << 16 | b << 24`; a function of one argument has a = b. The first
//! `prologue` instructions do not depend on x and run once an integral, the rest runs for every x. All threads of a launch run the same
//! program, so the branch on the operation is uniform; the interpreter's cost is the fetch of the instruction and of two operands from
//! shared memory, where slot s of thread k is word s * threads + k, so that the threads of a warp meet different banks.
//!
//! Parameters of many integrals are stored as columns: parameter p of integral i is `parameters[p * count + i]`.

use crate::longman::functions::{Functions, exp};
use crate::memory::Shared;
use crate::simt::Simt;

/// Slots that a program can have.
pub const MAX_SLOTS: u32 = 256;

/// Sizes of a program, as kernels see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ProgramShape {
    /// Parameters of an integral, in slots from 1 on.
    pub parameters: u32,
    /// Constants, in the slots after the parameters.
    pub constants: u32,
    /// Instructions at the start that do not depend on x.
    pub prologue: u32,
    /// Instructions.
    pub length: u32,
    /// Slots in use.
    pub slots: u32,
    /// Slot of the result.
    pub result: u32,
}

/// What an instruction does. Operations from [`Operation::FIRST_SPECIAL`] on exist on the host only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Operation {
    Add = 0,
    Subtract,
    Multiply,
    Divide,
    Power,
    Minimum,
    Maximum,
    Negate,
    Magnitude,
    SquareRoot,
    Exp,
    Ln,
    Sin,
    Cos,
    Tan,
    Arcsin,
    Arccos,
    Arctan,
    Sinh,
    Cosh,
    Tanh,
    Floor,
    Sign,
    Expm1,
    Ln1p,
    // Of the host.
    BesselJ,
    BesselY,
    BesselI,
    BesselK,
    AiryAi,
    Erf,
    Erfc,
    Gamma,
}

impl Operation {
    /// The first operation that kernels do not have.
    pub const FIRST_SPECIAL: u32 = Self::BesselJ as u32;

    /// The number that stands for it in an instruction.
    #[inline(always)]
    pub const fn code(self) -> u32 {
        self as u32
    }
}

/// The word of an instruction.
pub const fn instruction(operation: Operation, target: u8, a: u8, b: u8) -> u32 {
    operation.code() | (target as u32) << 8 | (a as u32) << 16 | (b as u32) << 24
}

/// Where the instructions of a program are read.
pub trait Code {
    /// Instruction `index`.
    fn word(&self, index: u32) -> u32;
}

/// The slots of one evaluation.
pub trait Slots<T> {
    /// Value of a slot.
    fn get(&self, slot: u32) -> T;
    /// Sets a slot.
    fn set(&mut self, slot: u32, value: T);
}

/// The slots of one thread in shared memory: one column a thread.
pub struct Column<'a, 'm, S: Simt, T: Functions> {
    /// The machine.
    pub t: &'m S,
    /// `slots * threads` words.
    pub memory: Shared<'a, T>,
    /// Columns.
    pub threads: u32,
    /// This thread's column.
    pub column: u32,
}

impl<S: Simt, T: Functions> Slots<T> for Column<'_, '_, S, T> {
    #[inline(always)]
    fn get(&self, slot: u32) -> T {
        self.memory.get(self.t, slot * self.threads + self.column)
    }
    #[inline(always)]
    fn set(&mut self, slot: u32, value: T) {
        self.memory
            .set(self.t, slot * self.threads + self.column, value);
    }
}

/// A program in shared memory.
pub struct SharedCode<'a, 'm, S: Simt> {
    /// The machine.
    pub t: &'m S,
    /// The instructions.
    pub words: Shared<'a, u32>,
}

impl<S: Simt> Code for SharedCode<'_, '_, S> {
    #[inline(always)]
    fn word(&self, index: u32) -> u32 {
        self.words.get(self.t, index)
    }
}

/// Runs instructions `begin .. end`. Operations that kernels do not have are left to `special`, which is given the operation's number
/// and its arguments; on a device pass [`no_special`].
#[inline(always)]
pub fn run<T: Functions>(
    code: &impl Code,
    begin: u32,
    end: u32,
    slots: &mut impl Slots<T>,
    special: &impl Fn(u32, T, T) -> T,
) {
    let mut i = begin;
    while i < end {
        let word = code.word(i);
        let a = slots.get((word >> 16) & 0xFF);
        let b = slots.get(word >> 24);
        let value = apply(word & 0xFF, a, b, special);
        slots.set((word >> 8) & 0xFF, value);
        i += 1;
    }
}

/// The operations that a device does not have: not a number.
#[inline(always)]
pub fn no_special<T: Functions>(_: u32, _: T, _: T) -> T {
    T::from_f64(f64::NAN)
}

/// One operation.
#[inline(always)]
pub fn apply<T: Functions>(operation: u32, a: T, b: T, special: &impl Fn(u32, T, T) -> T) -> T {
    const ADD: u32 = Operation::Add as u32;
    const SUBTRACT: u32 = Operation::Subtract as u32;
    const MULTIPLY: u32 = Operation::Multiply as u32;
    const DIVIDE: u32 = Operation::Divide as u32;
    const POWER: u32 = Operation::Power as u32;
    const MINIMUM: u32 = Operation::Minimum as u32;
    const MAXIMUM: u32 = Operation::Maximum as u32;
    const NEGATE: u32 = Operation::Negate as u32;
    const MAGNITUDE: u32 = Operation::Magnitude as u32;
    const SQUARE_ROOT: u32 = Operation::SquareRoot as u32;
    const EXP: u32 = Operation::Exp as u32;
    const LN: u32 = Operation::Ln as u32;
    const SIN: u32 = Operation::Sin as u32;
    const COS: u32 = Operation::Cos as u32;
    const TAN: u32 = Operation::Tan as u32;
    const ARCSIN: u32 = Operation::Arcsin as u32;
    const ARCCOS: u32 = Operation::Arccos as u32;
    const ARCTAN: u32 = Operation::Arctan as u32;
    const SINH: u32 = Operation::Sinh as u32;
    const COSH: u32 = Operation::Cosh as u32;
    const TANH: u32 = Operation::Tanh as u32;
    const FLOOR: u32 = Operation::Floor as u32;
    const SIGN: u32 = Operation::Sign as u32;
    const EXPM1: u32 = Operation::Expm1 as u32;
    const LN1P: u32 = Operation::Ln1p as u32;
    match operation {
        ADD => a + b,
        SUBTRACT => a - b,
        MULTIPLY => a * b,
        DIVIDE => a / b,
        POWER => a.pow(b),
        MINIMUM => a.min(b),
        MAXIMUM => a.max(b),
        NEGATE => -a,
        MAGNITUDE => a.abs(),
        SQUARE_ROOT => a.sqrt(),
        EXP => exp(a),
        LN => a.ln(),
        SIN => a.sin(),
        COS => a.cos(),
        TAN => a.tan(),
        ARCSIN => a.asin(),
        ARCCOS => a.acos(),
        ARCTAN => a.atan(),
        SINH => a.sinh(),
        COSH => a.cosh(),
        TANH => a.tanh(),
        FLOOR => a.floor(),
        SIGN => {
            if a > T::ZERO {
                T::ONE
            } else if a < T::ZERO {
                -T::ONE
            } else {
                a
            }
        }
        EXPM1 => a.exp_m1(),
        LN1P => a.ln_1p(),
        _ => special(operation, a, b),
    }
}
