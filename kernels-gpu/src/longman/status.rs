//! The status of an integral besides its value: stable numbers that kernels write and the host names.

/// The outcome of an integral. Written to files as [`Status::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Status {
    /// The error estimate is within the tolerance.
    Ok = 0,
    /// The areas do not alternate, or do not decrease: the integral diverges, or is none of this method.
    PremiseViolated = 1,
    /// The result has an honest error estimate, but the estimate exceeds the tolerance.
    NotConverged = 2,
    /// The integrand is not finite at a point inside the range, or a sum overflowed.
    NotFinite = 3,
    /// An argument is NaN or out of range, or boundaries do not increase.
    InvalidArgument = 4,
}

/// The method that summed the areas of an integral. Written to files as [`Accelerator::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Accelerator {
    /// Nothing was summed.
    None = 0,
    /// The areas themselves: the rest of the tail is below the roundoff of the sum.
    Direct = 1,
    /// Euler's transformation, as in Longman's method.
    Euler = 2,
    /// The algorithm of Cohen, Rodriguez Villegas and Zagier.
    Cvz = 3,
    /// Levin's u transformation.
    Levin = 4,
    /// Wynn's epsilon algorithm.
    Epsilon = 5,
}

macro_rules! named {
    ($type:ident: $($variant:ident $name:literal,)*) => {
        impl $type {
            /// All of them, by ascending code.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// The number by which kernels know it.
            #[inline(always)]
            pub const fn code(self) -> u32 {
                self as u32
            }

            /// The meaning of a kernel's number.
            pub const fn from_code(code: u32) -> Option<Self> {
                $(if code == Self::$variant as u32 {
                    return Some(Self::$variant);
                })*
                None
            }

            /// Its word in files.
            #[cfg(not(target_arch = "nvptx64"))]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
named! { Status:
    Ok "OK",
    PremiseViolated "PREMISE_VIOLATED",
    NotConverged "NOT_CONVERGED",
    NotFinite "NOT_FINITE",
    InvalidArgument "INVALID_ARGUMENT",
}
named! { Accelerator:
    None "none",
    Direct "direct",
    Euler "euler",
    Cvz "cvz",
    Levin "levin",
    Epsilon "epsilon",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_stable_and_read_back() {
        let codes = Status::ALL.map(Status::code);
        assert_eq!(codes, [0, 1, 2, 3, 4]);
        for status in Status::ALL {
            assert_eq!(Status::from_code(status.code()), Some(status));
        }
        for accelerator in Accelerator::ALL {
            assert_eq!(
                Accelerator::from_code(accelerator.code()),
                Some(accelerator)
            );
        }
        assert_eq!(Status::from_code(5), None);
    }
}
