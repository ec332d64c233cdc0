//! Marks as SVG.

use std::fmt::Write;

use plotters::prelude::RGBColor;

use super::mark::Mark;
use super::style::{INK, SIZE};
use super::text::Text;

/// The figure as an SVG document.
pub(super) fn svg(marks: &[Mark]) -> String {
    let (width, height) = SIZE;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"DejaVu Sans, Verdana, sans-serif\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for mark in marks {
        out.push_str(&element(mark));
    }
    out.push_str("</svg>\n");
    out
}

/// A colour as HTML has it.
fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A text in which nothing is markup.
pub(in crate::cli) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no other control characters.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn element(mark: &Mark) -> String {
    match mark {
        Mark::Line {
            points,
            colour,
            width,
            dashed,
        } => {
            let path: Vec<_> = points
                .iter()
                .map(|(x, y)| format!("{x:.1},{y:.1}"))
                .collect();
            let dash = if *dashed {
                " stroke-dasharray=\"10 6\""
            } else {
                ""
            };
            format!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"{dash}/>\n",
                path.join(" "),
                hex(*colour)
            )
        }
        Mark::Dot { at: (x, y), colour } => {
            format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\" fill=\"{}\"/>\n",
                hex(*colour)
            )
        }
        Mark::Boxes { boxes, colour } => {
            let mut path = String::new();
            for [left, top, right, bottom] in boxes {
                let (wide, high) = (right - left, bottom - top);
                let _ = write!(path, "M{left:.1} {top:.1}h{wide:.1}v{high:.1}h-{wide:.1}z");
            }
            format!(
                "<path d=\"{path}\" fill=\"{}\" shape-rendering=\"crispEdges\"/>\n",
                hex(*colour)
            )
        }
        Mark::Text(text) => words(text),
    }
}

/// A line of text; subscripts are pieces of their own, lower and smaller.
fn words(text: &Text) -> String {
    let mut pieces: Vec<(String, bool)> = Vec::new();
    for (c, lowered) in text.characters() {
        match pieces.last_mut() {
            Some((piece, low)) if *low == lowered => piece.push(c),
            _ => pieces.push((c.into(), lowered)),
        }
    }
    let mut body = String::new();
    let mut level = false;
    for (piece, lowered) in &pieces {
        let drop = 0.22 * text.size * (f32::from(u8::from(*lowered)) - f32::from(u8::from(level)));
        let size = if *lowered {
            0.72 * text.size
        } else {
            text.size
        };
        level = *lowered;
        let piece = escaped(piece);
        if drop == 0.0 && !lowered {
            body.push_str(&piece);
        } else {
            let _ = write!(
                body,
                "<tspan dy=\"{drop:.1}\" font-size=\"{size:.1}\">{piece}</tspan>"
            );
        }
    }
    let anchor = match text.anchor {
        a if a > 0.75 => " text-anchor=\"end\"",
        a if a > 0.25 => " text-anchor=\"middle\"",
        _ => "",
    };
    format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{}\" fill=\"{}\" xml:space=\"preserve\"{anchor}>{body}</text>\n",
        text.x,
        text.y,
        text.size,
        hex(INK)
    )
}
