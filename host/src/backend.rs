//! Where a computation runs and in which precision: chosen once, passed down.
//!
//! ```
//! use rarefy::{Backend, Precision};
//!
//! let backend: Backend = "cpu".parse()?;
//! println!("computing on {}", backend.resolve()?.describe());
//! assert_eq!("f32".parse::<Precision>()?, Precision::F32);
//! # Ok::<(), rarefy::Error>(())
//! ```

use std::fmt;
use std::str::FromStr;

use rarefy_simt::Error as MachineError;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::gpu::ptx::capability_text;
use crate::gpu::{self, Device};

/// Where a computation runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Backend {
    /// The GPU if a driver and a device answer, else the CPU.
    #[default]
    Auto,
    /// The first CUDA device, or the one that RAREFY_DEVICE names; an error where there is none.
    Cuda,
    /// All cores of the CPU.
    Cpu,
    /// The GPU's kernels on the CPU, with every memory access checked.
    Emulator,
    /// The scalar reference: the formulas as plainly as they can be written.
    Reference,
}

/// The arithmetic in which the bulk of a computation is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    #[default]
    F64,
}

impl Backend {
    /// All backends, in the order in which help lists them.
    pub const ALL: [Self; 5] = [
        Self::Auto,
        Self::Cuda,
        Self::Cpu,
        Self::Emulator,
        Self::Reference,
    ];

    /// The word that stands for it on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cuda => "cuda",
            Self::Cpu => "cpu",
            Self::Emulator => "emulator",
            Self::Reference => "reference",
        }
    }

    /// Decides where to compute, and opens the device if that is a GPU.
    ///
    /// [`Auto`](Self::Auto) falls back to the CPU where no driver or device answers; [`Resolved::describe`] says which was taken.
    /// [`Cuda`](Self::Cuda) without a device is an error that says what was looked for.
    ///
    /// # Errors
    /// [`NoDevice`](MachineError::NoDevice) or [`Driver`](MachineError::Driver) if a GPU was asked for and none can be used; a RAREFY_DEVICE that names none.
    pub fn resolve(self) -> Result<Resolved> {
        match self {
            Self::Auto => match gpu::open() {
                Ok(device) => Ok(Resolved::Cuda(device)),
                Err(Error::Machine(MachineError::NoDevice(_) | MachineError::Driver { .. })) => {
                    Ok(Resolved::Cpu)
                }
                // Such as a RAREFY_DEVICE that is no number: the user means a GPU and must be told.
                Err(error) => Err(error),
            },
            Self::Cuda => gpu::open().map(Resolved::Cuda),
            Self::Cpu => Ok(Resolved::Cpu),
            Self::Emulator => Ok(Resolved::Emulator),
            Self::Reference => Ok(Resolved::Reference),
        }
    }
}

impl Precision {
    /// All precisions, in the order in which help lists them.
    pub const ALL: [Self; 2] = [Self::F32, Self::F64];

    /// The word that stands for it on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

macro_rules! by_name {
    ($type:ident, $what:literal, $choices:literal) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                Self::ALL
                    .into_iter()
                    .find(|choice| choice.name().eq_ignore_ascii_case(text.trim()))
                    .ok_or_else(|| {
                        Error::input(format!(
                            concat!("`{}` is no ", $what, "; choose ", $choices),
                            text
                        ))
                    })
            }
        }
    };
}
by_name!(Backend, "backend", "auto, cuda, cpu, emulator or reference");
by_name!(Precision, "precision", "f32 or f64");

/// Where a computation runs, decided, with the device open.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Resolved {
    /// A GPU.
    Cuda(Device),
    /// All cores of the CPU.
    Cpu,
    /// The GPU's kernels on the CPU, with every memory access checked.
    Emulator,
    /// The scalar reference.
    Reference,
}

impl Resolved {
    /// The backend that was taken; never [`Backend::Auto`].
    pub const fn backend(&self) -> Backend {
        match self {
            Self::Cuda(_) => Backend::Cuda,
            Self::Cpu => Backend::Cpu,
            Self::Emulator => Backend::Emulator,
            Self::Reference => Backend::Reference,
        }
    }

    /// What messages call it, such as `NVIDIA H200 (CUDA 13.0, compute capability 9.0)` or `CPU, 16 threads`.
    pub fn describe(&self) -> String {
        match self {
            Self::Cuda(device) => format!(
                "{} (CUDA {}, compute capability {})",
                device.name(),
                device.cuda_version(),
                capability_text(device.capability())
            ),
            Self::Cpu => match rayon::current_num_threads() {
                1 => "CPU, 1 thread".to_owned(),
                threads => format!("CPU, {threads} threads"),
            },
            Self::Emulator => "emulator".to_owned(),
            Self::Reference => "scalar reference".to_owned(),
        }
    }
}

/// The engine of a method for a decided place and a precision: an expression for the scalar reference, one for the CPU in the arithmetic of a
/// type, and one for a machine that runs kernels, the emulator or a GPU.
macro_rules! engine_of {
    (
        $resolved:expr, $precision:expr;
        reference => $reference:expr,
        cpu<$real:ident> => $cpu:expr,
        kernels<$element:ident>($machine:ident) => $kernels:expr $(,)?
    ) => {{
        use $crate::backend::{Precision, Resolved};
        macro_rules! in_arithmetic {
            ($name:ident, $value:expr) => {
                match $precision {
                    Precision::F32 => {
                        #[allow(dead_code, reason = "an engine may have one arithmetic")]
                        type $name = f32;
                        $value
                    }
                    Precision::F64 => {
                        #[allow(dead_code, reason = "an engine may have one arithmetic")]
                        type $name = f64;
                        $value
                    }
                }
            };
        }
        match $resolved {
            Resolved::Reference => $reference,
            Resolved::Cpu => in_arithmetic!($real, $cpu),
            Resolved::Emulator => {
                let $machine = $crate::emulator::Emulator::default();
                in_arithmetic!($element, $kernels)
            }
            Resolved::Cuda($machine) => in_arithmetic!($element, $kernels),
        }
    }};
}
pub(crate) use engine_of;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for backend in Backend::ALL {
            assert_eq!(backend.to_string().parse::<Backend>().unwrap(), backend);
            let json = serde_json::to_value(backend).unwrap();
            assert_eq!(json, backend.name());
        }
        for precision in Precision::ALL {
            assert_eq!(
                precision.to_string().parse::<Precision>().unwrap(),
                precision
            );
        }
        assert_eq!(" CUDA ".parse::<Backend>().unwrap(), Backend::Cuda);
    }

    #[cfg(feature = "cli")]
    #[test]
    fn the_command_takes_the_same_names() {
        use clap::ValueEnum;
        let named = |value: Option<clap::builder::PossibleValue>, name: &str| {
            assert_eq!(value.unwrap().get_name(), name);
        };
        for backend in Backend::ALL {
            named(backend.to_possible_value(), backend.name());
        }
        for precision in Precision::ALL {
            named(precision.to_possible_value(), precision.name());
        }
    }

    #[test]
    fn wrong_names_are_told_the_right_ones() {
        let error = "gpu".parse::<Backend>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`gpu` is no backend; choose auto, cuda, cpu, emulator or reference"
        );
        let error = "f16".parse::<Precision>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`f16` is no precision; choose f32 or f64"
        );
    }

    #[test]
    fn what_needs_no_gpu_resolves_anywhere() {
        assert!(
            Backend::Cpu
                .resolve()
                .unwrap()
                .describe()
                .starts_with("CPU, ")
        );
        assert_eq!(Backend::Emulator.resolve().unwrap().describe(), "emulator");
        assert_eq!(
            Backend::Reference.resolve().unwrap().describe(),
            "scalar reference"
        );
    }
}
