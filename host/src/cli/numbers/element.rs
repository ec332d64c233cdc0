//! The types of the elements of arrays that are summed.

use crate::npy::{bfloat16, half};

/// The types of elements that can be summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Element {
    F16,
    Bf16,
    F32,
    F64,
    C64,
    C128,
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

impl Element {
    pub(in crate::cli) fn of(descr: &str) -> Option<Self> {
        Some(match descr.trim_start_matches(['<', '>', '|', '=']) {
            // The module ml_dtypes names its type so; NumPy writes bytes of no type as |V2.
            _ if descr == "<V2" => Self::Bf16,
            "f2" => Self::F16,
            "f4" => Self::F32,
            "f8" => Self::F64,
            "c8" => Self::C64,
            "c16" => Self::C128,
            "b1" => Self::Bool,
            "i1" => Self::I8,
            "i2" => Self::I16,
            "i4" => Self::I32,
            "i8" => Self::I64,
            "u1" => Self::U8,
            "u2" => Self::U16,
            "u4" => Self::U32,
            "u8" => Self::U64,
            _ => return None,
        })
    }

    pub(in crate::cli) fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::C64 | Self::I64 | Self::U64 => 8,
            Self::C128 => 16,
        }
    }

    /// Whether the elements are real floating-point numbers.
    pub(in crate::cli) fn is_float(self) -> bool {
        self.is_single() || self == Self::F64
    }

    /// Whether `f32` holds the elements, which are real floating-point numbers.
    pub(in crate::cli) fn is_single(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32)
    }

    pub(in crate::cli) fn is_complex(self) -> bool {
        matches!(self, Self::C64 | Self::C128)
    }

    /// Whether the elements are integers, or truths that count as 0 and 1.
    pub(in crate::cli) fn is_integer(self) -> bool {
        !self.is_float() && !self.is_complex()
    }

    /// The number in single precision of elements of half its width.
    pub(in crate::cli) fn widening(self) -> Option<fn(u16) -> f32> {
        match self {
            Self::F16 => Some(half),
            Self::Bf16 => Some(bfloat16),
            _ => None,
        }
    }

    /// Its name in reports.
    pub(in crate::cli) fn name(self) -> &'static str {
        match self {
            Self::F16 => "float16",
            Self::Bf16 => "bfloat16",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::C64 => "complex64",
            Self::C128 => "complex128",
            Self::Bool => "bool",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
        }
    }
}

/// Calls a generic function with the Rust type in which elements, or their parts, are computed.
macro_rules! with_type {
    ($element:expr, $T:ident => $call:expr) => {
        with_type!(@ $element, $T => $call; F16 f32, Bf16 f32, F32 f32, F64 f64, C64 f32, C128 f64, Bool u8, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64)
    };
    (@ $element:expr, $T:ident => $call:expr; $($name:ident $real:ty),*) => {
        match $element {
            $(Element::$name => {
                type $T = $real;
                $call
            })*
        }
    };
}

/// The same for integers; floating-point numbers are taken for `i8`, and must have been dealt with before.
macro_rules! with_integer_type {
    ($element:expr, $T:ident => $call:expr) => {
        with_type!(@ $element, $T => $call; F16 i8, Bf16 i8, F32 i8, F64 i8, C64 i8, C128 i8, Bool u8, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64)
    };
}

/// A number of fixed width in a file.
pub(in crate::cli) trait Fixed: rarefy_kernels::Element + Default {
    /// The number that `f32` holds; integers do not come here.
    fn from_f32(x: f32) -> Self;
    /// The number in `f64`, if that holds it exactly.
    fn to_f64(self) -> Option<f64>;
    /// The value of an integer; floating-point numbers do not come here.
    fn to_i128(self) -> i128;
    /// The number with its bytes in the other order.
    fn swap_bytes(self) -> Self;
}

macro_rules! fixed_integer {
    ($($t:ty)*) => {$(
        impl Fixed for $t {
            fn from_f32(x: f32) -> Self {
                x as Self
            }
            fn to_f64(self) -> Option<f64> {
                let value = self as f64;
                (value as i128 == i128::from(self)).then_some(value)
            }
            fn to_i128(self) -> i128 {
                i128::from(self)
            }
            fn swap_bytes(self) -> Self {
                <$t>::swap_bytes(self)
            }
        }
    )*};
}
fixed_integer! { i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! fixed_float {
    ($($t:ty)*) => {$(
        impl Fixed for $t {
            fn from_f32(x: f32) -> Self {
                x.into()
            }
            fn to_f64(self) -> Option<f64> {
                Some(f64::from(self))
            }
            fn to_i128(self) -> i128 {
                self as i128
            }
            fn swap_bytes(self) -> Self {
                Self::from_bits(self.to_bits().swap_bytes())
            }
        }
    )*};
}
fixed_float! { f32 f64 }

pub(super) use {with_integer_type, with_type};
