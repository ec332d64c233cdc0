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

/// The operation of an instruction. Operations from [`Operation::FIRST_SPECIAL`] on exist on the host only.
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

    /// Its number in an instruction.
    #[inline(always)]
    pub const fn code(self) -> u32 {
        self as u32
    }
}

/// The numbers of the operations, as patterns.
mod codes {
    use super::Operation;

    pub(super) const ADD: u32 = Operation::Add as u32;
    pub(super) const SUBTRACT: u32 = Operation::Subtract as u32;
    pub(super) const MULTIPLY: u32 = Operation::Multiply as u32;
    pub(super) const DIVIDE: u32 = Operation::Divide as u32;
    pub(super) const POWER: u32 = Operation::Power as u32;
    pub(super) const MINIMUM: u32 = Operation::Minimum as u32;
    pub(super) const MAXIMUM: u32 = Operation::Maximum as u32;
    pub(super) const NEGATE: u32 = Operation::Negate as u32;
    pub(super) const MAGNITUDE: u32 = Operation::Magnitude as u32;
    pub(super) const SQUARE_ROOT: u32 = Operation::SquareRoot as u32;
    pub(super) const EXP: u32 = Operation::Exp as u32;
    pub(super) const LN: u32 = Operation::Ln as u32;
    pub(super) const SIN: u32 = Operation::Sin as u32;
    pub(super) const COS: u32 = Operation::Cos as u32;
    pub(super) const TAN: u32 = Operation::Tan as u32;
    pub(super) const ARCSIN: u32 = Operation::Arcsin as u32;
    pub(super) const ARCCOS: u32 = Operation::Arccos as u32;
    pub(super) const ARCTAN: u32 = Operation::Arctan as u32;
    pub(super) const SINH: u32 = Operation::Sinh as u32;
    pub(super) const COSH: u32 = Operation::Cosh as u32;
    pub(super) const TANH: u32 = Operation::Tanh as u32;
    pub(super) const FLOOR: u32 = Operation::Floor as u32;
    pub(super) const SIGN: u32 = Operation::Sign as u32;
    pub(super) const EXPM1: u32 = Operation::Expm1 as u32;
    pub(super) const LN1P: u32 = Operation::Ln1p as u32;
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

/// Runs instructions `begin .. end`. Operations that kernels do not have are left to `special`, which receives the operation's number
/// and its arguments; on a device pass [`no_special`].
#[inline(always)]
pub fn run<T: Functions>(
    code: &impl Code,
    (begin, end): (u32, u32),
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

/// Runs instructions like [`run`] and bounds the error of every value: `errors` holds those of the slots. `special_error` receives the number of an operation
/// that kernels do not have, its arguments and its result, each with its error; on a device pass [`no_special_error`].
#[inline(always)]
pub fn run_with_errors<T: Functions>(
    code: &impl Code,
    (begin, end): (u32, u32),
    slots: &mut impl Slots<T>,
    errors: &mut impl Slots<T>,
    special: &impl Fn(u32, T, T) -> T,
    special_error: &impl Fn(u32, Bounded<T>, Bounded<T>, T) -> T,
) {
    let mut i = begin;
    while i < end {
        let word = code.word(i);
        let operand = |slot: u32| Bounded {
            value: slots.get(slot),
            error: errors.get(slot),
        };
        let a = operand((word >> 16) & 0xFF);
        let b = operand(word >> 24);
        let value = apply(word & 0xFF, a.value, b.value, special);
        let error = error_of(word & 0xFF, a, b, value, special_error);
        slots.set((word >> 8) & 0xFF, value);
        errors.set((word >> 8) & 0xFF, error);
        i += 1;
    }
}

/// A value, and a bound on how far off it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded<T> {
    /// The value as computed.
    pub value: T,
    /// At least the distance from what it would be without rounding; not a number or infinite where nothing is known.
    pub error: T,
}

/// No bounds on operations that a device does not have: not a number.
#[inline(always)]
pub fn no_special_error<T: Functions>(_: u32, _: Bounded<T>, _: Bounded<T>, _: T) -> T {
    T::from_f64(f64::NAN)
}

/// Error of one operation's result `f`: the errors of its arguments, by the derivative or by what bounds it around them, and its own rounding.
///
/// This is the running error analysis of J. H. Wilkinson, "Error analysis revisited", IMA Bulletin 22 (1986) 192. Functions are taken to be accurate
/// to two units in the last place. A result without digits, as a quotient by a number that may be zero, has an infinite error.
#[inline(always)]
pub fn error_of<T: Functions>(
    operation: u32,
    a: Bounded<T>,
    b: Bounded<T>,
    f: T,
    special: &impl Fn(u32, Bounded<T>, Bounded<T>, T) -> T,
) -> T {
    use codes::*;
    let (
        Bounded {
            value: a,
            error: da,
        },
        Bounded {
            value: b,
            error: db,
        },
    ) = (a, b);
    let number = |value: f64| T::from_f64(value);
    let (one, unknown) = (T::ONE, T::ONE / T::ZERO);
    let size = f.abs();
    // Least normal number, and minus twice its logarithm.
    let (least, deepest) = if size_of::<T>() == 8 {
        (number(f64::MIN_POSITIVE), number(-1417.0))
    } else {
        (number(1.175_494_4e-38), number(-175.0))
    };
    let rounding = number(0.5) * T::EPSILON * size;
    let function = number(2.0) * T::EPSILON * size;
    // Near the end of the numbers digits are lost, or all of them.
    let underflow = if size < least / T::EPSILON {
        least
    } else {
        T::ZERO
    };
    // By what e^a - 1 grows with the error of a.
    let growth = if da <= one { da * (one + da) } else { unknown };
    match operation {
        ADD | SUBTRACT => da + db + rounding,
        MULTIPLY => {
            // Nothing is left of a product with an exact zero, whatever the other factor is.
            if (a == T::ZERO && da == T::ZERO) || (b == T::ZERO && db == T::ZERO) {
                T::ZERO
            } else {
                a.abs() * db + b.abs() * da + da * db + rounding + underflow
            }
        }
        DIVIDE => {
            if a == T::ZERO && da == T::ZERO {
                T::ZERO
            } else if db < b.abs() {
                (da + size * db) / (b.abs() - db) + rounding + underflow
            } else {
                unknown
            }
        }
        POWER => {
            if a == T::ZERO && da == T::ZERO {
                T::ZERO
            } else if da < a.abs() {
                let exponent = if db > T::ZERO {
                    db * a.abs().ln().abs()
                } else {
                    T::ZERO
                };
                let relative = b.abs() * da / (a.abs() - da) + exponent;
                size * relative * (one + relative) + function + underflow
            } else {
                unknown
            }
        }
        MINIMUM | MAXIMUM => da.max(db),
        NEGATE | MAGNITUDE => da,
        SQUARE_ROOT => {
            let inner = if number(4.0) * da <= a {
                number(0.58) * da / size
            } else {
                da.sqrt()
            };
            if da > T::ZERO {
                inner + rounding
            } else {
                rounding
            }
        }
        EXP => {
            if a + da < deepest {
                // Smaller than what any factor could bring back.
                T::ZERO
            } else {
                size * growth + function + underflow
            }
        }
        LN => {
            if da < a {
                da / (a - da) + function
            } else {
                unknown
            }
        }
        SIN => da.min(number(2.0)) + function,
        COS => da * one.min(a.abs() + da) + function,
        TAN => {
            let relative = da * (one + size);
            if relative < number(0.1) {
                number(1.3) * relative * (one + size) + function
            } else {
                unknown
            }
        }
        ARCSIN | ARCCOS => {
            let rest = (one - a.abs()) * (one + a.abs());
            if number(4.0) * da < rest {
                number(1.5) * da / rest.sqrt() + function
            } else {
                number(4.0) * da.sqrt() + function
            }
        }
        ARCTAN => {
            let nearest = (a.abs() - da).max(T::ZERO);
            da / (one + nearest * nearest) + function
        }
        SINH => (one + size) * growth + function,
        COSH => size * growth + function,
        TANH => {
            let slope = (one - size) * (one + size) + number(4.0) * T::EPSILON;
            let steep = if da < number(0.25) {
                number(2.0) * da * slope
            } else {
                number(2.0)
            };
            steep + function
        }
        FLOOR => {
            if (a - f).min(f + one - a) >= da {
                T::ZERO
            } else {
                one + da
            }
        }
        SIGN => {
            if a.abs() >= da {
                T::ZERO
            } else {
                number(2.0)
            }
        }
        EXPM1 => (f + one) * growth + function,
        LN1P => {
            if da < one + a {
                da / (one + a - da) + function
            } else {
                unknown
            }
        }
        _ => special(
            operation,
            Bounded {
                value: a,
                error: da,
            },
            Bounded {
                value: b,
                error: db,
            },
            f,
        ),
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
    use codes::*;
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
