//! The order in which the unknowns of a grid are eliminated: nested dissection.

/// Groups of unknowns that are not divided further.
const LEAF: usize = 12;

/// The order of elimination, for all matrices of one pattern.
pub(in crate::flow) struct Dissection {
    /// The place of each unknown in the order of elimination.
    pub(super) place: Vec<u32>,
    /// The front that eliminates each place.
    pub(super) owner: Vec<u32>,
    /// Fronts; those inside of a part precede it.
    pub(super) fronts: Vec<Front>,
    /// Fronts by their depth below the whole.
    pub(super) levels: Vec<Vec<usize>>,
}

/// A part of the order.
pub(super) struct Front {
    /// The first place that it eliminates.
    pub(super) first: usize,
    /// Places that it eliminates.
    pub(super) count: usize,
    /// Later places beside them, in order.
    pub(super) border: Vec<u32>,
    /// Fronts of its halves.
    pub(super) inside: Vec<usize>,
}

impl Front {
    pub(super) fn size(&self) -> usize {
        self.count + self.border.len()
    }

    /// Row in the front of a place.
    pub(super) fn row(&self, place: u32) -> usize {
        let at = place as usize;
        if at < self.first + self.count {
            return at - self.first;
        }
        self.count + self.border.partition_point(|&other| other < place)
    }
}

/// Groups of the unknowns while they are dissected.
struct Groups<'a> {
    positions: &'a [[u32; 2]],
    members: Vec<Vec<u32>>,
    /// Neighbours of each group.
    beside: Vec<Vec<u32>>,
    /// The half that a group is in, at the last division.
    half: Vec<u32>,
    division: u32,
}

impl Dissection {
    /// An order for unknowns in groups with positions on a grid; `pairs` are the places (row, column) of coefficients.
    pub(in crate::flow) fn new(
        group: &[u32],
        positions: &[[u32; 2]],
        pairs: impl Iterator<Item = (u32, u32)>,
    ) -> Self {
        let mut members = vec![Vec::new(); positions.len()];
        for (unknown, &of) in group.iter().enumerate() {
            members[of as usize].push(unknown as u32);
        }
        let mut beside = vec![Vec::new(); positions.len()];
        for (row, column) in pairs {
            let (a, b) = (group[row as usize], group[column as usize]);
            if a != b {
                beside[a as usize].push(b);
                beside[b as usize].push(a);
            }
        }
        for list in &mut beside {
            list.sort_unstable();
            list.dedup();
        }
        let mut groups = Groups {
            positions,
            members,
            beside,
            half: vec![0; positions.len()],
            division: 0,
        };
        let mut order = Self {
            place: vec![0; group.len()],
            owner: Vec::with_capacity(group.len()),
            fronts: Vec::new(),
            levels: Vec::new(),
        };
        let mut pivots = Vec::new();
        let all = (0..positions.len() as u32).collect();
        order.divide(&mut groups, all, 0, &mut pivots);
        order.find_borders(&groups, &pivots);
        order
    }

    /// Number of unknowns.
    pub(super) fn len(&self) -> usize {
        self.place.len()
    }

    /// Divides a list of groups; yields the front that eliminates its separator.
    fn divide(
        &mut self,
        groups: &mut Groups<'_>,
        mut list: Vec<u32>,
        depth: usize,
        pivots: &mut Vec<Vec<u32>>,
    ) -> usize {
        let mut inside = Vec::new();
        if list.len() > LEAF
            && let Some([low, high, separator]) = groups.split(&mut list)
        {
            for half in [low, high] {
                if !half.is_empty() {
                    inside.push(self.divide(groups, half, depth + 1, pivots));
                }
            }
            list = separator;
        }
        let first = self.owner.len();
        for &group in &list {
            for &unknown in &groups.members[group as usize] {
                self.place[unknown as usize] = self.owner.len() as u32;
                self.owner.push(self.fronts.len() as u32);
            }
        }
        if self.levels.len() <= depth {
            self.levels.resize(depth + 1, Vec::new());
        }
        self.levels[depth].push(self.fronts.len());
        self.fronts.push(Front {
            first,
            count: self.owner.len() - first,
            border: Vec::new(),
            inside,
        });
        pivots.push(list);
        self.fronts.len() - 1
    }

    /// Later places beside each front, its own and those of the fronts inside.
    fn find_borders(&mut self, groups: &Groups<'_>, pivots: &[Vec<u32>]) {
        for (at, own) in pivots.iter().enumerate().take(self.fronts.len()) {
            let end = (self.fronts[at].first + self.fronts[at].count) as u32;
            let mut border = Vec::new();
            for &group in own {
                for &other in &groups.beside[group as usize] {
                    let places = groups.members[other as usize].iter();
                    let places = places.map(|&unknown| self.place[unknown as usize]);
                    border.extend(places.filter(|&place| place >= end));
                }
            }
            for &inner in &self.fronts[at].inside {
                let places = self.fronts[inner].border.iter().copied();
                border.extend(places.filter(|&place| place >= end));
            }
            border.sort_unstable();
            border.dedup();
            self.fronts[at].border = border;
        }
    }
}

impl Groups<'_> {
    /// Two halves that are not beside each other, and their separator.
    fn split(&mut self, list: &mut [u32]) -> Option<[Vec<u32>; 3]> {
        let extent = |axis: usize| {
            let along = list
                .iter()
                .map(|&group| self.positions[group as usize][axis]);
            along.clone().max().unwrap_or(0) - along.min().unwrap_or(0)
        };
        let axis = usize::from(extent(1) > extent(0));
        if extent(axis) == 0 {
            return None;
        }
        let along = |group: u32| self.positions[group as usize][axis];
        let half = list.len() / 2;
        let (_, &mut middle, _) = list.select_nth_unstable_by_key(half, |&group| along(group));
        let least = list.iter().map(|&group| along(group)).min().unwrap_or(0);
        let middle = along(middle).max(least + 1);
        self.division += 2;
        let [in_low, in_high] = [self.division, self.division + 1];
        for &group in &*list {
            let low = self.positions[group as usize][axis] < middle;
            self.half[group as usize] = if low { in_low } else { in_high };
        }
        let mut parts = [Vec::new(), Vec::new(), Vec::new()];
        for &group in &*list {
            let beside_low = || {
                let mut beside = self.beside[group as usize].iter();
                beside.any(|&other| self.half[other as usize] == in_low)
            };
            let part = match self.half[group as usize] == in_low {
                true => 0,
                false if beside_low() => 2,
                false => 1,
            };
            parts[part].push(group);
        }
        Some(parts)
    }
}
