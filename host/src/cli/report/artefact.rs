//! Files of a run: bytes, and pictures with their vector form.

use crate::cli::plot::Picture;

/// A file of a run.
pub(in crate::cli) trait Artefact {
    /// The file.
    fn bytes(&self) -> &[u8];

    /// The same figure as SVG, which is a file beside it.
    fn svg(&self) -> Option<&str> {
        None
    }
}

impl Artefact for [u8] {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl Artefact for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl Artefact for Picture {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn svg(&self) -> Option<&str> {
        Some(&self.svg)
    }
}
