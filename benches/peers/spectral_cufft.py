#!/usr/bin/env python3
"""The spectral method of rarefy on cuFFT: one batched plan, elementwise kernels, a CUDA graph; without the correction.

The gain in Carleman's variables (Mouhot, Pareschi, Math. Comp. 75 (2006) 1833) for hard spheres: one complex transform of P^3 nodes for each of 25 directions, one more for the
frequency, and a forward one. It needs CuPy and a GPU, and prints milliseconds an evaluation and the error of the integral of two beams against the given digits.

    python3 benches/peers/spectral_cufft.py [--precision f32|f64]
"""

import argparse
import itertools
import math

import cupy
import numpy as np
from cupyx.scipy.fft import get_fft_plan
from scipy.special import j1

PERIODS = {12: 18, 16: 24, 20: 30, 24: 36, 32: 48, 48: 72, 64: 96}
ORBITS = [((0, 0, 1), 4 / 315), ((0, 1, 1), 64 / 2835), ((1, 1, 1), 27 / 1280), ((1, 1, 3), 14641 / 725760)]


def directions():
    """Lebedev's rule of degree 11 on the half sphere: unit vectors and solid angles."""
    points, weights = [], []
    for triple, weight in ORBITS:
        images = {
            tuple(s * x for s, x in zip(signs, order))
            for order in set(itertools.permutations(triple))
            for signs in itertools.product((1, -1), repeat=3)
        }
        for image in sorted(images):
            if next(x for x in reversed(image) if x != 0) > 0:
                points.append(np.array(image) / math.sqrt(sum(x * x for x in triple)))
                weights.append(4 * math.pi * weight)
    return np.array(points), np.array(weights)


def kernels(real):
    return cupy.RawModule(
        code=r"""
typedef %s real;
struct __align__(2 * sizeof(real)) complex { real re, im; };
extern "C" __global__ void multiply(const complex* f, const complex* w, complex* z, int cells, int transforms) {
    long at = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (at >= (long)cells * transforms) return;
    complex g = f[at %% cells], m = w[at];
    z[at] = {m.re * g.re - m.im * g.im, m.re * g.im + m.im * g.re};
}
extern "C" __global__ void sum(const complex* z, const real* factors, const real* f, real* q, int n, int p, int directions) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n * n * n) return;
    int cells = p * p * p, place = (at / (n * n) * p + at / n %% n) * p + at %% n;
    real sum = 0;
    for (int d = 0; d < directions; d++) {
        complex c = z[(long)d * cells + place];
        sum += factors[d] * c.re * c.im;
    }
    q[at] = sum - f[at] * z[(long)directions * cells + place].re;
}
"""
        % real,
        options=("--use_fast_math",) if real == "float" else (),
    )


def measure(n, precision):
    p = PERIODS[n]
    real, cplx = (np.float32, np.complex64) if precision == "f32" else (np.float64, np.complex128)
    half, h = 6.5, 13.0 / n
    centres = -half + (np.arange(n) + 0.5) * h
    x, y, z = np.meshgrid(centres, centres, centres, indexing="ij")
    gauss = lambda u: 0.5 * (2 * np.pi) ** -1.5 * np.exp(-((x - u) ** 2 + y * y + z * z) / 2)
    f = gauss(1.5) + gauss(-1.5)
    points, weights = directions()
    l = np.fft.fftfreq(p, 1 / p)
    keep = np.abs(l) < p / 2
    lx, ly, lz = np.meshgrid(l, l, l, indexing="ij")
    mask = keep[:, None, None] & keep[None, :, None] & keep[None, None, :]
    rho = 2 * np.pi * (math.sqrt(2) - 1)
    square = lx**2 + ly**2 + lz**2
    multipliers, beta = [], 0
    for e, w in zip(points, weights):
        along = lx * e[0] + ly * e[1] + lz * e[2]
        s, q = rho * np.abs(along), rho * np.sqrt(np.maximum(square - along**2, 0))
        a = 2 * np.sinc(s / np.pi) - np.sinc(s / 2 / np.pi) ** 2
        b = np.where(q > 0, 2 * np.pi * j1(q) / np.where(q > 0, q, 1), np.pi)
        multipliers.append((a + 1j * b) * mask)
        beta = beta + w * a * b * mask
    radius = p * (math.sqrt(2) - 1) * h
    factor = radius**4 / np.pi
    multipliers.append(factor * beta)
    w = cupy.asarray(np.array(multipliers).astype(cplx))
    factors = cupy.asarray((factor * weights).astype(real))
    padded = cupy.zeros((p, p, p), cplx)
    padded[:n, :n, :n] = cupy.asarray(f.astype(real))
    fields = cupy.empty((len(points) + 1, p, p, p), cplx)
    spectrum = cupy.empty((p, p, p), cplx)
    g, q = cupy.asarray(f.astype(real)), cupy.empty(n**3, real)
    module = kernels("float" if precision == "f32" else "double")
    multiply, add = module.get_function("multiply"), module.get_function("sum")
    forward, inverse = get_fft_plan(padded), get_fft_plan(fields, axes=(1, 2, 3))
    total = fields.size

    def evaluate():
        forward.fft(padded, spectrum, cupy.cuda.cufft.CUFFT_FORWARD)
        multiply(((total + 255) // 256,), (256,), (spectrum, w, fields, np.int32(p**3), np.int32(len(points) + 1)))
        inverse.fft(fields, fields, cupy.cuda.cufft.CUFFT_INVERSE)
        add(((n**3 + 127) // 128,), (128,), (fields, factors, g, q, np.int32(n), np.int32(p), np.int32(len(points))))

    # 1 / P^3 of the transforms.
    w /= p**3
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        evaluate()
        stream.synchronize()
        stream.begin_capture()
        for _ in range(8):
            evaluate()
        graph = stream.end_capture()
        graph.launch(stream)
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        best = math.inf
        for _ in range(10):
            start.record(stream)
            for _ in range(10):
                graph.launch(stream)
            end.record(stream)
            end.synchronize()
            best = min(best, cupy.cuda.get_elapsed_time(start, end) / 80)
    return best, float((q * cupy.asarray((x**2).ravel())).sum()) * h**3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", choices=["f32", "f64"], default="f32")
    arguments = parser.parse_args()
    print(f"CuPy {cupy.__version__}, {arguments.precision}; d Pxx/dt of the beams is -3.48804926")
    print("| N | P | ms | d Pxx/dt |\n|---|---|---|---|")
    for n in PERIODS:
        time, production = measure(n, arguments.precision)
        print(f"| {n} | {PERIODS[n]} | {time:.4f} | {production:.5f} |")


if __name__ == "__main__":
    main()
