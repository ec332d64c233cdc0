//! Limbs, the digits of radix 10^9 in which decimal numbers and big integers are kept, and the checks that their sums share.

use crate::error::{Error, Result};
use crate::memory_plan::{bytes_of, check_host};

/// Radix of a limb.
pub(crate) const RADIX: i64 = rarefy_kernels::signed_digit::packed::RADIX;
/// Decimal digits of a limb.
pub(crate) const DIGITS: usize = rarefy_kernels::signed_digit::packed::DIGITS as usize;

/// The value of at most nine digits.
pub(crate) fn limb_of(digits: &[u8]) -> u32 {
    if let [first @ .., last] = digits
        && let Ok(eight) = <[u8; 8]>::try_from(first)
    {
        return 10 * value_of_eight(eight) + u32::from(last - b'0');
    }
    digits
        .iter()
        .fold(0, |value, c| 10 * value + u32::from(c - b'0'))
}

/// The value of eight digits, in three multiplications: pairs become numbers, then fours, then all eight, side by side in one word.
fn value_of_eight(digits: [u8; 8]) -> u32 {
    const LANES: u64 = 0x0000_00FF_0000_00FF;
    let ones = u64::from_le_bytes(digits) - 0x3030_3030_3030_3030;
    let pairs = ones.wrapping_mul(10) + (ones >> 8);
    let upper = (pairs & LANES).wrapping_mul(100 + (1_000_000 << 32));
    let lower = (pairs >> 16 & LANES).wrapping_mul(1 + (10_000 << 32));
    (upper.wrapping_add(lower) >> 32) as u32
}

/// How many digits a text begins with.
pub(crate) fn leading_digits(text: &[u8]) -> usize {
    let mut eights = text.chunks_exact(8);
    let mut count = 0;
    for eight in &mut eights {
        let word = u64::from_le_bytes(eight.try_into().unwrap_or_default());
        // A digit is 0x30 to 0x39: its upper half is 3, also when 6 is added.
        let upper = |word: u64| word & 0xF0F0_F0F0_F0F0_F0F0;
        let threes = 0x3030_3030_3030_3030;
        if upper(word) != threes || upper(word + 0x0606_0606_0606_0606) != threes {
            break;
        }
        count += 8;
    }
    count
        + text[count..]
            .iter()
            .take_while(|c| c.is_ascii_digit())
            .count()
}

/// Refuses vectors of different lengths.
pub(crate) fn same_length(x: usize, y: usize) -> Result<()> {
    if x == y {
        return Ok(());
    }
    Err(Error::invalid(
        "x and y",
        format!("{x} and {y} elements"),
        "two vectors of one length",
    ))
}

/// Digits that an exact result may always have.
const FREE_DIGITS: u64 = 10_000_000;
/// Digits that it may have beyond them for each digit of its terms.
const DIGITS_EACH: u64 = 16;

/// Refuses an exact result of so many digits from terms of `given` digits in all: a few bytes of text could ask for gigabytes of zeros.
pub(super) fn check_span(digits: u64, given: u64) -> Result<()> {
    let most = given
        .saturating_mul(DIGITS_EACH)
        .saturating_add(FREE_DIGITS);
    if digits <= most {
        return Ok(());
    }
    Err(Error::invalid(
        "exact result",
        format!("{digits} digits"),
        format!("at most {most} from these numbers, whose exponents lie too far apart"),
    ))
}

/// Refuses a range of limbs whose digits do not fit into memory, or are too many for terms of `given` digits.
pub(super) fn check_budget(low: i64, high: i64, given: u64) -> Result<()> {
    let digits = (DIGITS as u64).saturating_mul(low.abs_diff(high.max(low)));
    check_span(digits, given)?;
    Ok(check_host(
        &format!("an exact sum of {digits} digits"),
        bytes_of::<[i64; 4]>(digits),
        "numbers whose exponents lie closer together need less",
    )?)
}
