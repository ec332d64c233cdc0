//! y += a x.

use rarefy_simt::kernel;

kernel! {
    /// y[i] += a x[i], one thread an element; 12 bytes an element in `f32`.
    pub fn saxpy<T: Real>(t, x: In<T>, y: InOut<T>; a: T) for f32, f64 {
        let i = t.global_idx();
        if i < y.len() {
            y.set(t, i, a.mul_add(x.get(t, i), y.get(t, i)));
        }
    }
}
