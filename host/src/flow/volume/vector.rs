//! Vectors of space.

/// The product of two vectors as a number.
pub(in crate::flow) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The product of two vectors as a vector.
pub(in crate::flow) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// The vector from the second point to the first.
pub(in crate::flow) fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// The point a number of vectors away from another.
pub(in crate::flow) fn plus(a: [f64; 3], share: f64, b: [f64; 3]) -> [f64; 3] {
    [
        a[0] + share * b[0],
        a[1] + share * b[1],
        a[2] + share * b[2],
    ]
}

/// The length of a vector.
pub(in crate::flow) fn norm(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}
