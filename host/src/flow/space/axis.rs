//! Edges of cells along an axis: a uniform core, and cells that grow away from it.

/// Edges from `low` to `high`. The core has cells of about `h`, with edges on the given lines; outside, each cell is `growth` times its neighbour, at most `largest`.
///
/// Lines closer to each other than 0.3 h share an edge.
pub(in crate::flow) fn edges(
    [low, high]: [f64; 2],
    core: [f64; 2],
    h: f64,
    growth: f64,
    largest: f64,
    lines: &[f64],
) -> Vec<f64> {
    let [a, b] = [core[0].max(low), core[1].min(high)];
    let mut sorted = lines.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut points = vec![a];
    for line in sorted {
        let last = points[points.len() - 1];
        if line - last > 0.3 * h && line < b - 0.3 * h {
            points.push(line);
        }
    }
    points.push(b);
    let mut inner = vec![a];
    for pair in points.windows(2) {
        let length = pair[1] - pair[0];
        let count = (length / h).round().max(1.0) as usize;
        inner.extend((1..=count).map(|k| match k == count {
            true => pair[1],
            false => pair[0] + length * k as f64 / count as f64,
        }));
    }
    let mut all: Vec<f64> = tail(a - low, h, growth, largest)
        .into_iter()
        .rev()
        .map(|distance| a - distance)
        .collect();
    if let Some(first) = all.first_mut() {
        *first = low;
    }
    all.extend(inner);
    all.extend(
        tail(high - b, h, growth, largest)
            .into_iter()
            .map(|distance| b + distance),
    );
    if high > b
        && let Some(last) = all.last_mut()
    {
        *last = high;
    }
    all
}

/// Distances of edges from the core, the last one at `length`.
fn tail(length: f64, h: f64, growth: f64, largest: f64) -> Vec<f64> {
    if length <= 1e-12 * h {
        return Vec::new();
    }
    let (mut width, mut at) = (h, 0.0);
    let mut distances = Vec::new();
    while at < length {
        width = (width * growth).min(largest.max(h));
        at += width;
        distances.push(at);
    }
    // The cells shrink a little, so that the last edge is on the border.
    distances.iter().map(|x| x * length / at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_uniform_in_the_core_and_grow_outside() {
        let edges = edges([-2.0, 3.0], [-0.5, 0.5], 0.1, 1.2, 0.4, &[0.234]);
        assert_eq!(edges[0], -2.0);
        assert_eq!(edges[edges.len() - 1], 3.0);
        assert!(edges.contains(&0.234));
        let widths: Vec<f64> = edges.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(widths.iter().all(|&w| w > 0.05 && w < 0.41), "{widths:?}");
    }

    #[test]
    fn a_core_over_the_whole_axis_is_uniform() {
        let edges = edges([0.0, 1.0], [0.0, 1.0], 0.25, 1.0, f64::INFINITY, &[]);
        assert_eq!(edges, [0.0, 0.25, 0.5, 0.75, 1.0]);
    }
}
