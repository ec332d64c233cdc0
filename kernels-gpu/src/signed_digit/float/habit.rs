//! How a warp adds tiles of similar numbers, by what earlier tiles were like.

/// Tiles that go to the digits alone after the first that left rests behind all levels; twice as many after the next.
const FIRST_DIRECT: u32 = 1 << 10;
/// The most of them.
const MOST_DIRECT: u32 = 1 << 14;
/// Tiles that go through all levels after two that left rests behind the first ones.
const THOROUGH_TILES: u32 = 32;

/// How a warp adds tiles, by what earlier ones were like.
pub(super) struct Habit {
    /// Tiles to come that go to the digits alone.
    direct: u32,
    /// How many they will be the next time.
    next_direct: u32,
    /// Tiles to come that go through all levels.
    thorough: u32,
    /// Whether the last tile left rests behind the first levels.
    rested: bool,
}

impl Habit {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self {
            direct: 0,
            next_direct: FIRST_DIRECT,
            thorough: 0,
            rested: false,
        }
    }

    /// Whether the next tile goes to the digits alone; counts it.
    #[inline(always)]
    pub(super) fn take_direct(&mut self) -> bool {
        let direct = self.direct > 0;
        self.direct -= u32::from(direct);
        direct
    }

    /// Whether the next tile of the window goes through all levels; counts it.
    #[inline(always)]
    pub(super) fn take_thorough(&mut self) -> bool {
        let thorough = self.thorough > 0;
        self.thorough -= u32::from(thorough);
        thorough
    }

    /// Notes whether a tile left rests behind the first levels, and behind all.
    #[inline(always)]
    pub(super) fn note(&mut self, rested: bool, missed: bool) {
        if rested && self.rested {
            self.thorough = THOROUGH_TILES;
        }
        self.rested = rested;
        if missed {
            self.direct = self.next_direct;
            self.next_direct = (2 * self.next_direct).min(MOST_DIRECT);
        }
    }
}
