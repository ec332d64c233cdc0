//! The first kernels of the collision integral in the emulator, in every order of threads.

use rarefy::emulator::{Emulator, ThreadOrder};
use rarefy::machine::{DeviceMemory, Element, Grid, Machine};
use rarefy_kernels::{Real, collision};

const ORDERS: [ThreadOrder; 5] = [
    ThreadOrder::Ascending,
    ThreadOrder::Descending,
    ThreadOrder::Random(1),
    ThreadOrder::Random(2),
    ThreadOrder::Random(3),
];

fn fetch<T: Element + Default>(
    machine: &Emulator,
    buffer: &<Emulator as DeviceMemory>::Buffer<T>,
) -> Vec<T> {
    let mut data = vec![T::default(); buffer.len()];
    machine.read(buffer, &mut data).unwrap();
    data
}

fn grid(blocks: u32, threads: u32) -> Grid {
    Grid { blocks, threads }
}

/// Collision frequencies as the emulator computes them, against plain loops.
fn collision_frequencies_agree<T: Real + Element + Default>(tolerance: f64) {
    const N: usize = 5;
    const PLANE: usize = N * N;
    let f: Vec<f64> = (0..N * PLANE)
        .map(|i| 1.0 + (i as f64 * 0.7).sin())
        .collect();
    let b: Vec<f64> = (0..N * PLANE)
        .map(|i| ((i / PLANE).pow(2) + (i / N % N).pow(2) + (i % N).pow(2)) as f64)
        .map(|rho| 4.0 * std::f64::consts::PI * rho.sqrt())
        .collect();
    let rounded = |values: &[f64]| values.iter().map(|&v| T::from_f64(v)).collect::<Vec<T>>();

    // buffer[ix][jx][iy][iz], and its sum over jx.
    let mut parts = vec![0.0; N * N * PLANE];
    let mut total = vec![0.0; N * PLANE];
    for (i, part) in parts.iter_mut().enumerate() {
        let (ix, jx, iy, iz) = (i / PLANE / N, i / PLANE % N, i / N % N, i % N);
        for jy in 0..N {
            for jz in 0..N {
                let m = (ix.abs_diff(jx) * N + iy.abs_diff(jy)) * N + iz.abs_diff(jz);
                *part += b[m] * f[jx * PLANE + jy * N + jz];
            }
        }
        total[ix * PLANE + iy * N + iz] += *part;
    }

    let mut seen: Vec<Vec<u64>> = Vec::new();
    for order in ORDERS {
        for threads in [32, 64] {
            let machine = Emulator::new(order);
            let f = machine.upload(&rounded(&f)).unwrap();
            let b = machine.upload(&rounded(&b)).unwrap();
            let mut buffer = machine.allocate::<T>(parts.len()).unwrap();
            let kernel = collision::collision_frequency {
                f: &f,
                b: &b,
                buffer: &mut buffer,
                n: N as u32,
            };
            machine
                .launch(grid((N * N) as u32, threads), kernel)
                .unwrap();
            for (value, expected) in fetch(&machine, &buffer).iter().zip(&parts) {
                approx::assert_relative_eq!(value.to_f64(), *expected, max_relative = tolerance);
            }

            let first: Vec<u32> = (0..=N as u32).map(|ix| ix * N as u32).collect();
            let first = machine.upload(&first).unwrap();
            let mut out = machine.allocate::<T>(total.len()).unwrap();
            let kernel = collision::collect {
                buffer: &buffer,
                first: &first,
                out: &mut out,
                plane: PLANE as u32,
            };
            machine
                .launch(Grid::per_item(total.len(), threads), kernel)
                .unwrap();
            let out = fetch(&machine, &out);
            for (value, expected) in out.iter().zip(&total) {
                approx::assert_relative_eq!(value.to_f64(), *expected, max_relative = tolerance);
            }
            seen.push(out.iter().map(|v| v.to_f64().to_bits()).collect());
        }
    }
    assert!(seen.iter().all(|bits| *bits == seen[0]));
}

#[test]
fn collision_frequencies_are_those_of_plain_loops() {
    collision_frequencies_agree::<f32>(1e-5);
    collision_frequencies_agree::<f64>(1e-14);
}
