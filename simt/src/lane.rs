//! Values that the lanes of a warp exchange.

/// Threads in a warp, on every GPU that CUDA supports.
pub const WARP: u32 = 32;

/// A value that lanes of a warp can exchange: one or two 32-bit words.
pub trait Lane: Copy {
    /// Applies an exchange of 32-bit words to each word of the value.
    fn map_words(self, exchange: impl FnMut(u32) -> u32) -> Self;
}

macro_rules! lane_of_one_word {
    ($($t:ty: $to:expr, $from:expr;)*) => {$(
        impl Lane for $t {
            #[inline(always)]
            #[track_caller]
            fn map_words(self, mut exchange: impl FnMut(u32) -> u32) -> Self {
                $from(exchange($to(self)))
            }
        }
    )*};
}

macro_rules! lane_of_two_words {
    ($($t:ty: $to:expr, $from:expr;)*) => {$(
        impl Lane for $t {
            #[inline(always)]
            #[track_caller]
            fn map_words(self, mut exchange: impl FnMut(u32) -> u32) -> Self {
                let bits: u64 = $to(self);
                let low = exchange(bits as u32);
                let high = exchange((bits >> 32) as u32);
                $from(u64::from(high) << 32 | u64::from(low))
            }
        }
    )*};
}

lane_of_one_word! {
    u32: |v| v, |w| w;
    i32: |v: i32| v as u32, |w: u32| w as i32;
    f32: f32::to_bits, f32::from_bits;
}
lane_of_two_words! {
    u64: |v| v, |w| w;
    i64: |v: i64| v as u64, |w: u64| w as i64;
    f64: f64::to_bits, f64::from_bits;
}
