//! Steady flows past and through bodies in space, over the full velocity space.

mod engine;
mod gas;
mod nodes;
mod reference;
mod space;
mod sweep;
