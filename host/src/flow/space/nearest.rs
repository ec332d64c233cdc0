//! A tree of boxes about many items in a plane or in space, for those near to a point.

/// Items of a leaf.
const LEAF: usize = 8;

/// Boxes about items, halved along their longest axis.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Tree<const N: usize> {
    nodes: Vec<Node<N>>,
    /// Items in the order of the leaves.
    order: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Node<const N: usize> {
    low: [f64; N],
    high: [f64; N],
    /// Items of a leaf, by their places in the order; of others their two nodes.
    begin: usize,
    end: usize,
    is_leaf: bool,
    /// Most that a distance may be below zero within the box.
    deepest: f64,
}

/// An item's box, and the most that its distance may be below zero in it.
pub(in crate::flow) type Extent<const N: usize> = ([[f64; N]; 2], f64);

impl<const N: usize> Tree<N> {
    /// The tree of items with these extents.
    pub(in crate::flow) fn new(extents: &[Extent<N>]) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            order: (0..extents.len()).collect(),
        };
        if !extents.is_empty() {
            let mut order = std::mem::take(&mut tree.order);
            tree.nodes.push(Node::leaf(0, order.len()));
            tree.split(0, 0, &mut order, extents);
            tree.order = order;
        }
        tree
    }

    fn split(&mut self, node: usize, begin: usize, items: &mut [usize], extents: &[Extent<N>]) {
        let here = &mut self.nodes[node];
        for &item in items.iter() {
            let ([low, high], deepest) = extents[item];
            for k in 0..N {
                here.low[k] = here.low[k].min(low[k]);
                here.high[k] = here.high[k].max(high[k]);
            }
            here.deepest = here.deepest.max(deepest);
        }
        if items.len() <= LEAF {
            return;
        }
        let width = |axis: usize| here.high[axis] - here.low[axis];
        let longer = |a: usize, b: usize| if width(b) > width(a) { b } else { a };
        let axis = (1..N).fold(0, longer);
        let middle = |item: &usize| extents[*item].0[0][axis] + extents[*item].0[1][axis];
        let half = items.len() / 2;
        items.select_nth_unstable_by(half, |a, b| middle(a).total_cmp(&middle(b)));
        let first = self.nodes.len();
        let end = begin + items.len();
        let here = &mut self.nodes[node];
        (here.is_leaf, here.begin, here.end) = (false, first, first + 1);
        self.nodes.push(Node::leaf(begin, begin + half));
        self.nodes.push(Node::leaf(begin + half, end));
        let (a, b) = items.split_at_mut(half);
        self.split(first, begin, a, extents);
        self.split(first + 1, begin + half, b, extents);
    }

    /// The least distance of all items from a point; infinite without items.
    pub(in crate::flow) fn least(&self, point: [f64; N], distance: impl Fn(usize) -> f64) -> f64 {
        let nearest = self.nearest(point, distance);
        nearest.map_or(f64::INFINITY, |(_, least)| least)
    }

    /// The item of the least distance from a point, with that distance; none without items.
    pub(in crate::flow) fn nearest(
        &self,
        point: [f64; N],
        distance: impl Fn(usize) -> f64,
    ) -> Option<(usize, f64)> {
        let (mut nearest, mut least) = (None, f64::INFINITY);
        let mut stack = Vec::with_capacity(64);
        stack.extend(self.nodes.first().map(|node| (node.bound(point), 0)));
        while let Some((bound, at)) = stack.pop() {
            if bound > least {
                continue;
            }
            let node = &self.nodes[at];
            if node.is_leaf {
                for &item in &self.order[node.begin..node.end] {
                    let away = distance(item);
                    if away < least {
                        (nearest, least) = (Some(item), away);
                    }
                }
                continue;
            }
            let [a, b] = [node.begin, node.end].map(|k| (self.nodes[k].bound(point), k));
            // The nearer one first.
            stack.extend(if a.0 < b.0 { [b, a] } else { [a, b] });
        }
        nearest.map(|item| (item, least))
    }
}

impl Tree<2> {
    /// Visits the items whose boxes a ray from the point towards greater x may meet.
    pub(in crate::flow) fn along_ray(&self, [x, y]: [f64; 2], mut visit: impl FnMut(usize)) {
        let mut stack = Vec::with_capacity(64);
        stack.extend(self.nodes.first().map(|_| 0));
        while let Some(at) = stack.pop() {
            let node = &self.nodes[at];
            let margin = 1e-9 * (node.high[0].abs() + node.low[0].abs());
            if y < node.low[1] || y > node.high[1] || x > node.high[0] + margin {
                continue;
            }
            match node.is_leaf {
                true => self.order[node.begin..node.end]
                    .iter()
                    .for_each(|&k| visit(k)),
                false => stack.extend([node.begin, node.end]),
            }
        }
    }
}

impl<const N: usize> Node<N> {
    fn leaf(begin: usize, end: usize) -> Self {
        Self {
            low: [f64::INFINITY; N],
            high: [f64::NEG_INFINITY; N],
            begin,
            end,
            is_leaf: true,
            deepest: 0.0,
        }
    }

    /// No item within has a smaller distance from the point.
    fn bound(&self, point: [f64; N]) -> f64 {
        let mut square = 0.0;
        for (k, x) in point.into_iter().enumerate() {
            let off = (self.low[k] - x).max(x - self.high[k]).max(0.0);
            square += off * off;
        }
        match square {
            0.0 => -self.deepest,
            // Roundoff leaves the nearest item in.
            _ => square.sqrt() * (1.0 - 1e-12) - 1e-300,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_distance_is_that_of_all_items() {
        // Circles in a spiral that overlap here and there.
        let circles: Vec<[f64; 3]> = (0..200)
            .map(|k| {
                let t = f64::from(k) * 0.37;
                [
                    t.cos() * t * 0.1,
                    t.sin() * t * 0.1,
                    0.05 + 0.02 * t.sin().abs(),
                ]
            })
            .collect();
        let extents: Vec<Extent<2>> = circles
            .iter()
            .map(|[x, y, r]| ([[x - r, y - r], [x + r, y + r]], *r))
            .collect();
        let tree = Tree::new(&extents);
        for k in 0..500 {
            let p = [f64::from(k % 25) * 0.7 - 8.0, f64::from(k / 25) * 0.8 - 8.0];
            let distance = |k: usize| {
                let [x, y, r] = circles[k];
                (p[0] - x).hypot(p[1] - y) - r
            };
            let all = (0..circles.len())
                .map(distance)
                .fold(f64::INFINITY, f64::min);
            assert_eq!(tree.least(p, distance), all);
        }
        assert_eq!(Tree::new(&[]).least([0.0; 2], |_| 0.0), f64::INFINITY);
        assert_eq!(Tree::new(&[]).nearest([0.0; 3], |_| 0.0), None);
    }
}
