//! Lines of text, with subscripts, in the embedded font.

use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, Glyph, ScaleFont, point};

/// A line of text on the figure.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) size: f32,
    pub(super) x: f64,
    /// Of the baseline.
    pub(super) y: f64,
    /// The part of the text left of `x`.
    pub(super) anchor: f64,
    /// Whether `_` is a character like any other.
    verbatim: bool,
}

impl Text {
    pub(super) fn new(text: &str, size: f32, x: f64, y: f64) -> Self {
        Self {
            text: text.into(),
            size,
            x,
            y,
            anchor: 0.0,
            verbatim: false,
        }
    }

    pub(super) fn verbatim(self) -> Self {
        Self {
            verbatim: true,
            ..self
        }
    }

    pub(super) fn at(self, anchor: f64) -> Self {
        Self { anchor, ..self }
    }

    /// The characters, and whether each is a subscript.
    pub(super) fn characters(&self) -> Vec<(char, bool)> {
        let mut out = Vec::new();
        let mut text = self.text.chars();
        while let Some(c) = text.next() {
            match c {
                '_' if !self.verbatim => match text.next() {
                    Some('{') => {
                        out.extend(text.by_ref().take_while(|&c| c != '}').map(|c| (c, true)))
                    }
                    Some(c) => out.push((c, true)),
                    None => {}
                },
                c => out.push((c, false)),
            }
        }
        out
    }

    /// The glyphs from the origin on, and where they end.
    pub(super) fn glyphs(&self) -> (Vec<Glyph>, f32) {
        let font = font();
        let mut glyphs = Vec::new();
        let mut x = 0.0;
        for (c, lowered) in self.characters() {
            let size = if lowered { 0.72 * self.size } else { self.size };
            // Sizes are of the em square, as in typography; ab_glyph scales the line height.
            let scale = font.pt_to_px_scale(size * 0.75).unwrap_or(size.into());
            let scaled = font.as_scaled(scale);
            let drop = if lowered { 0.22 * self.size } else { 0.0 };
            glyphs.push(
                font.glyph_id(c)
                    .with_scale_and_position(scale, point(x, drop)),
            );
            x += scaled.h_advance(font.glyph_id(c));
        }
        (glyphs, x)
    }

    pub(super) fn width(&self) -> f64 {
        self.glyphs().1.into()
    }
}

pub(super) fn font() -> &'static FontRef<'static> {
    static FONT: OnceLock<FontRef<'static>> = OnceLock::new();
    FONT.get_or_init(|| {
        FontRef::try_from_slice(include_bytes!(
            "../../../assets/fonts/DejaVuSans-subset.ttf"
        ))
        .expect("the embedded font is whole")
    })
}
