//! Marks as a PNG file.

use ab_glyph::Font;
use plotters::prelude::*;
use rayon::prelude::*;

use super::mark::Mark;
use super::style::{INK, SIZE};
use super::text::{Text, font};
use crate::error::{Error, Result};

/// The drawing is this many times larger than the figure.
const FINE: u32 = 3;

type Area<'a> = DrawingArea<BitMapBackend<'a>, plotters::coord::Shift>;
type Drawn<'a> =
    std::result::Result<(), DrawingAreaErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>>;

/// The figure as a PNG file.
pub(super) fn png(marks: &[Mark]) -> Result<Vec<u8>> {
    let (width, height) = SIZE;
    let mut fine = vec![0; (width * FINE * height * FINE * 3) as usize];
    // The first touch of so much memory takes as long as the drawing.
    fine.par_chunks_mut(1 << 20).for_each(|rows| rows.fill(255));
    {
        let area = BitMapBackend::with_buffer(&mut fine, (width * FINE, height * FINE))
            .into_drawing_area();
        marks
            .iter()
            .try_for_each(|mark| draw(&area, mark))
            .map_err(failed)?;
        area.present().map_err(failed)?;
    }
    let mut pixels = averaged(&fine, width);
    for mark in marks {
        if let Mark::Text(text) = mark {
            set(text, &mut pixels);
        }
    }
    encoded(&pixels)
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Numerical(format!("a plot could not be drawn: {error}"))
}

fn draw<'a>(area: &Area<'a>, mark: &Mark) -> Drawn<'a> {
    match mark {
        Mark::Line {
            points,
            colour,
            width,
            dashed,
        } => {
            let mut path: Vec<_> = points.iter().copied().map(fine).collect();
            let style = colour.stroke_width((width * f64::from(FINE)).round() as u32);
            if *dashed {
                let dash =
                    plotters::element::DashedPathElement::new(path, 10 * FINE, 6 * FINE, style);
                return area.draw(&dash);
            }
            path.dedup();
            if path.len() > 1 {
                area.draw(&PathElement::new(path, style))?;
            }
        }
        Mark::Dot { at, colour } => {
            let size = 3.6 * f64::from(FINE);
            area.draw(&Circle::new(fine(*at), size as i32, colour.filled()))?;
        }
        Mark::Boxes { boxes, colour } => {
            for &[left, top, right, bottom] in boxes {
                let corners = [fine((left, top)), fine((right, bottom))];
                area.draw(&Rectangle::new(corners, colour.filled()))?;
            }
        }
        Mark::Text(_) => {}
    }
    Ok(())
}

fn fine((x, y): (f64, f64)) -> (i32, i32) {
    let scale = f64::from(FINE);
    ((x * scale).round() as i32, (y * scale).round() as i32)
}

fn set(text: &Text, pixels: &mut [u8]) {
    let font = font();
    let (glyphs, x) = text.glyphs();
    let (left, baseline) = (text.x as f32 - text.anchor as f32 * x, text.y as f32);
    for mut glyph in glyphs {
        glyph.position.x += left;
        glyph.position.y += baseline.round();
        let Some(outline) = font.outline_glyph(glyph) else {
            continue;
        };
        let corner = outline.px_bounds().min;
        outline.draw(|dx, dy, cover| {
            let (x, y) = (
                corner.x as i64 + i64::from(dx),
                corner.y as i64 + i64::from(dy),
            );
            if (0..i64::from(SIZE.0)).contains(&x) && (0..i64::from(SIZE.1)).contains(&y) {
                let at = 3 * (y as usize * SIZE.0 as usize + x as usize);
                for (channel, ink) in pixels[at..at + 3].iter_mut().zip([INK.0, INK.1, INK.2]) {
                    let cover = cover.clamp(0.0, 1.0);
                    let mixed = f32::from(*channel) * (1.0 - cover) + f32::from(ink) * cover;
                    *channel = mixed.round() as u8;
                }
            }
        });
    }
}

/// Means over squares of FINE x FINE pixels.
fn averaged(fine: &[u8], width: u32) -> Vec<u8> {
    const K: usize = FINE as usize;
    let row = K * 3 * width as usize;
    let mut out = vec![0; fine.len() / (K * K)];
    let rows = out.par_chunks_exact_mut(3 * width as usize);
    rows.zip(fine.par_chunks_exact(K * row))
        .for_each(|(out, rows)| {
            let mut sums = vec![0_u16; row];
            for row in rows.chunks_exact(row) {
                for (sum, value) in sums.iter_mut().zip(row) {
                    *sum += u16::from(*value);
                }
            }
            for (mean, square) in out.chunks_exact_mut(3).zip(sums.chunks_exact(3 * K)) {
                for (channel, mean) in mean.iter_mut().enumerate() {
                    let sum: u16 = square.iter().skip(channel).step_by(3).sum();
                    *mean = (sum / (K * K) as u16) as u8;
                }
            }
        });
    out
}

fn encoded(pixels: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, SIZE.0, SIZE.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    // A tenth of the time, and files half as large again.
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}
