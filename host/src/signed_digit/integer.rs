//! Many big integers, as rows of limbs of radix 10^9.

/// Radix of a limb.
pub(crate) const RADIX: i64 = 1_000_000_000;
/// Decimal digits of a limb.
pub(crate) const DIGITS: usize = 9;

/// The value of at most nine digits.
pub(crate) fn limb_of(digits: &[u8]) -> u32 {
    digits
        .iter()
        .fold(0, |value, c| 10 * value + u32::from(c - b'0'))
}
