//! Pictures of half the width and height: those of the gallery are shown small.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Filter};

/// Bytes of a pixel: red, green, blue.
const DEPTH: usize = 3;

/// Writes a PNG file of the command at half its size, a pixel for the mean of each four.
pub(crate) fn halve(from: &Path, to: &Path) -> Result<()> {
    let file = File::open(from).with_context(|| format!("reading {}", from.display()))?;
    let mut reader = Decoder::new(BufReader::new(file)).read_info()?;
    let info = reader.info();
    let (width, height) = (info.width, info.height);
    ensure!(
        info.color_type == ColorType::Rgb && info.bit_depth == BitDepth::Eight,
        "{}: expected 8 bits of red, green and blue",
        from.display()
    );
    let size = reader
        .output_buffer_size()
        .with_context(|| format!("{}: too large", from.display()))?;
    let mut pixels = vec![0; size];
    reader.next_frame(&mut pixels)?;
    let smaller = means_of_four(&pixels, width as usize);

    let file = File::create(to).with_context(|| format!("writing {}", to.display()))?;
    let mut encoder = Encoder::new(BufWriter::new(file), width / 2, height / 2);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::High);
    encoder.set_filter(Filter::Adaptive);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&smaller)?;
    writer.finish()?;
    Ok(())
}

/// Rounded means of the blocks of two by two pixels; an odd last row or column is left out.
fn means_of_four(pixels: &[u8], width: usize) -> Vec<u8> {
    let row = width * DEPTH;
    let mut means = Vec::with_capacity(pixels.len() / 4);
    for rows in pixels.chunks_exact(2 * row) {
        let (upper, lower) = rows.split_at(row);
        for at in (0..width / 2).map(|column| 2 * DEPTH * column) {
            for part in at..at + DEPTH {
                let sum: u16 = [
                    upper[part],
                    upper[part + DEPTH],
                    lower[part],
                    lower[part + DEPTH],
                ]
                .into_iter()
                .map(u16::from)
                .sum();
                means.push(((sum + 2) / 4) as u8);
            }
        }
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_pixels_become_their_mean() {
        // Two rows of three pixels; the last column has no partner.
        let upper = [10, 0, 255, 20, 0, 255, 99, 99, 99];
        let lower = [30, 1, 255, 41, 2, 255, 99, 99, 99];
        let pixels = [upper, lower].concat();
        assert_eq!(means_of_four(&pixels, 3), [25, 1, 255]);
    }
}
