//! Steady flows past and through bodies in space, over the full velocity space.

mod space;
