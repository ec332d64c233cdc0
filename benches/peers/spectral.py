#!/usr/bin/env python3
"""A fast spectral method for the Boltzmann collision integral, to compare with at equal error.

The method is that of Gamba, Haack, Hauck and Hu (SIAM J. Sci. Comput. 39, 2017) for scattering that is isotropic: with f periodic over
[-L, L)^3 and relative velocities cut off at R,

    Q+(v) = sum over r of w_r r^2 B(r) F(|k|, r) applied to [sum over sigma of w_sigma f(v + r sigma / 2) f(v - r sigma / 2)],

where F(k, r) = 4 pi sin(x) / x, x = pi r |k| / (2 L), multiplies Fourier coefficients. Shifts are phases. Two shifted copies of a real f are the real
and the imaginary part of one complex transform, and sigma and -sigma give the same, so a node (r, sigma) of the half sphere costs one
transform. The loss is f times a convolution. B(r) = r^gamma / (4 pi).

With CuPy it runs on the GPU and prints times of the device; with NumPy alone it prints errors only.

    python3 benches/peers/spectral.py [--precision f32|f64]
"""

import argparse
import math

import numpy as np

try:
    import cupy

    cupy.cuda.Device(0).compute_capability
except Exception:  # no CuPy, or no GPU
    cupy = None

KERNELS = r"""
typedef %(real)s real;
struct __align__(2 * sizeof(real)) complex { real re, im; };

// z = (e^{i phase} + i e^{-i phase}) f^, whose transform is f(v + s) + i f(v - s); phase = a_x l_x + a_y l_y + a_z l_z from three tables.
extern "C" __global__ void shift(const complex* f, const complex* tables, complex* z, int n, int nodes) {
    long at = blockIdx.x * (long)blockDim.x + threadIdx.x;
    int cells = n * n * n;
    if (at >= (long)cells * nodes) return;
    int node = at / cells, l = at %% cells;
    const complex* t = tables + (long)node * 3 * n;
    complex x = t[l / (n * n)], y = t[n + l / n %% n], w = t[2 * n + l %% n], g = f[l];
    real c = x.re * y.re - x.im * y.im, s = x.re * y.im + x.im * y.re;
    real re = c * w.re - s * w.im, im = c * w.im + s * w.re;
    // (re + i im) + i (re - i im) = (re + im)(1 + i)
    real both = re + im;
    z[at] = {both * (g.re - g.im), both * (g.re + g.im)};
}

// p[r] = sum over the half sphere of w f(v + s) f(v - s)
extern "C" __global__ void product(const complex* z, const real* weights, real* p, int cells, int directions, int radii) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= cells * radii) return;
    int r = at / cells, v = at %% cells;
    real sum = 0;
    for (int d = 0; d < directions; d++) {
        complex c = z[(long)(r * directions + d) * cells + v];
        sum += weights[d] * c.re * c.im;
    }
    p[at] = sum;
}

// Q^ = sum over r of F(k, r) p^[r]
extern "C" __global__ void gather(const complex* p, const real* factor, complex* q, int coefficients, int radii) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= coefficients) return;
    complex sum = {0, 0};
    for (int r = 0; r < radii; r++) {
        complex c = p[(long)r * coefficients + k];
        real w = factor[(long)r * coefficients + k];
        sum.re += w * c.re;
        sum.im += w * c.im;
    }
    q[k] = sum;
}
"""


class Spectral:
    """The method on n^3 points of [-L, L)^3 with R = 2 S and L = (3 + sqrt 2) S / 2, for B(r) = r^gamma / (4 pi)."""

    def __init__(self, n, support, radii, directions, gamma, real):
        self.n, self.real = n, np.dtype(real)
        self.complex = np.result_type(real, np.complex64)
        length = (3 + math.sqrt(2)) / 2 * support
        cutoff = 2 * support
        self.v = -length + 2 * length / n * np.arange(n)
        self.cell = (2 * length / n) ** 3
        l = np.fft.fftfreq(n, 1 / n)
        x, w = np.polynomial.legendre.leggauss(radii)
        r, w_r = (x + 1) * cutoff / 2, w * cutoff / 2
        # Gauss in the cosine times equal angles, the half sphere only.
        cosine, w_c = np.polynomial.legendre.leggauss(directions)
        angle = 2 * math.pi * (np.arange(directions) + 0.5) / directions
        half = cosine > 0
        c, a = (m.ravel() for m in np.meshgrid(cosine[half], angle, indexing="ij"))
        s = np.sqrt(1 - c * c)
        sigma = np.stack([s * np.cos(a), s * np.sin(a), c], axis=1)
        self.weights = (np.repeat(w_c[half], directions) * 2 * math.pi / directions * 2).astype(self.real)
        self.directions, self.radii = len(sigma), radii
        shifts = r[:, None, None] * sigma[None] / 2
        phases = math.pi / length * shifts.reshape(-1, 3)[:, :, None] * l[None, None, :]
        self.tables = np.exp(1j * phases).astype(self.complex)
        lz = np.arange(n // 2 + 1)
        k = np.sqrt(l[:, None, None] ** 2 + l[None, :, None] ** 2 + lz[None, None, :] ** 2)
        argument = math.pi * r[:, None, None, None] * k[None] / (2 * length)
        factor = 4 * math.pi * np.sinc(argument / math.pi)
        strength = w_r * r**2 * r**gamma / (4 * math.pi)
        self.factor = (strength[:, None, None, None] * factor).astype(self.real)
        # Loss: all directions sigma, and f at v - r g for all directions g.
        loss = (4 * math.pi) ** 2 * strength[:, None, None, None] * np.sinc(2 * argument / math.pi)
        self.loss = loss.sum(0).astype(self.real)
        if cupy:
            module = cupy.RawModule(code=KERNELS % {"real": "double" if self.real == np.float64 else "float"})
            self.shift, self.product, self.gather = (module.get_function(f) for f in ("shift", "product", "gather"))
            for name in ("tables", "factor", "loss", "weights"):
                setattr(self, name, cupy.ascontiguousarray(cupy.asarray(getattr(self, name))))

    def transforms(self):
        """Transforms of n^3 points in one evaluation."""
        return self.directions * self.radii

    def host(self, f):
        n = self.n
        spectrum = np.fft.fftn(f)
        p = np.zeros((self.radii, n, n, n))
        for r in range(self.radii):
            for d in range(self.directions):
                t = self.tables[r * self.directions + d].astype(complex)
                phase = t[0][:, None, None] * t[1][None, :, None] * t[2][None, None, :]
                z = np.fft.ifftn((phase + 1j / phase) * spectrum)
                p[r] += self.weights[d] * z.real * z.imag
        gain = np.fft.irfftn((self.factor * np.fft.rfftn(p, axes=(1, 2, 3))).sum(0), s=(n, n, n), axes=(0, 1, 2))
        nu = np.fft.irfftn(self.loss * np.fft.rfftn(f), s=(n, n, n), axes=(0, 1, 2))
        return gain - nu * f

    def device(self, f):
        n, cells = self.n, self.n**3
        nodes = self.directions * self.radii
        spectrum = cupy.fft.fftn(f)
        z = cupy.empty((nodes, n, n, n), self.complex)
        p = cupy.empty((self.radii, n, n, n), self.real)
        coefficients = n * n * (n // 2 + 1)
        q = cupy.empty((n, n, n // 2 + 1), self.complex)
        grid = lambda items: ((items + 255) // 256,)
        i = np.int32
        self.shift(grid(cells * nodes), (256,), (spectrum, self.tables, z, i(n), i(nodes)))
        from cupyx.scipy import fft

        z = fft.ifftn(z, axes=(1, 2, 3), overwrite_x=True)
        self.product(grid(cells * self.radii), (256,), (z, self.weights, p, i(cells), i(self.directions), i(self.radii)))
        hat = cupy.fft.rfftn(p, axes=(1, 2, 3))
        self.gather(grid(coefficients), (256,), (hat, self.factor, q, i(coefficients), i(self.radii)))
        gain = cupy.fft.irfftn(q, s=(n, n, n), axes=(0, 1, 2))
        nu = cupy.fft.irfftn(self.loss * cupy.fft.rfftn(f), s=(n, n, n), axes=(0, 1, 2))
        return gain - nu * f

    def __call__(self, f):
        if cupy:
            return cupy.asnumpy(self.device(cupy.asarray(f.astype(self.real)))).astype(float)
        return self.host(f)

    def milliseconds(self, f):
        """Time of one evaluation on the device, the least of several; from a graph, so that no time of Python is in it."""
        f = cupy.asarray(f.astype(self.real))
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            for _ in range(3):
                self.device(f)
            stream.synchronize()
            try:
                stream.begin_capture()
                for _ in range(4):
                    self.device(f)
                graph = stream.end_capture()
                run, evaluations = (lambda: graph.launch(stream)), 4
            except Exception as error:
                print(f"# no graph: {error}")
                run, evaluations = (lambda: self.device(f)), 1
            times = []
            for _ in range(20):
                start, end = cupy.cuda.Event(), cupy.cuda.Event()
                start.record(stream)
                run()
                end.record(stream)
                end.synchronize()
                times.append(cupy.cuda.get_elapsed_time(start, end) / evaluations)
        return min(times)


def bkw(v, k):
    """The exact solution of Bobylev, Krook and Wu for gamma = 0, and its rate of change, with dK/dt = (1 - K) / 6."""
    x, y, z = np.meshgrid(v, v, v, indexing="ij")
    s = x * x + y * y + z * z
    gauss = (2 * math.pi * k) ** -1.5 * np.exp(-s / (2 * k))
    shape = (5 * k - 3) / (2 * k) + (1 - k) * s / (2 * k * k)
    of_gauss = gauss * (-1.5 / k + s / (2 * k * k))
    of_shape = 3 / (2 * k * k) - s / (2 * k * k) - (1 - k) * s / k**3
    return gauss * shape, (1 - k) / 6 * (of_gauss * shape + gauss * of_shape)


def bkw_error(method):
    """Relative L2 error of Q where the exact rate of change is known; twice, as value and as error."""
    f, exact = bkw(method.v, 0.65)
    error = np.linalg.norm(method(f) - exact) / np.linalg.norm(exact)
    return error, error


def shear_error(method):
    """The first approximation to the shear rate, -(phi, [I(M + G) - I(M - G)] / 2) / (phi, G) with G = phi M / 100, phi = v_x v_y, and its relative
    error; 16 / (5 sqrt(pi)) is exact for hard spheres of cross section 1."""
    x, y, z = np.meshgrid(method.v, method.v, method.v, indexing="ij")
    maxwell = (2 * math.pi) ** -1.5 * np.exp(-(x * x + y * y + z * z) / 2)
    phi = x * y
    g = 0.01 * phi * maxwell
    change = (method(maxwell + g) - method(maxwell - g)) / 2
    rate = -(phi * change).sum() / (phi * g).sum()
    return rate, abs(rate / (16 / (5 * math.sqrt(math.pi))) - 1)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--precision", choices=["f32", "f64"], default="f64")
    arguments.add_argument("--sizes", default="8,12,16,20,24,32")
    options = arguments.parse_args()
    real = np.float32 if options.precision == "f32" else np.float64
    print(f"spectral, {options.precision}, {'CuPy ' + cupy.__version__ if cupy else 'NumPy, errors only'}")
    print("\n| measure | points | S | radii | directions of a half sphere | value | error | ms |")
    print("|---|---|---|---|---|---|---|---|")
    for name, gamma, measure in (("Q of BKW at K = 0.65, relative L2", 0.0, bkw_error), ("shear rate of hard spheres", 1.0, shear_error)):
        for n in map(int, options.sizes.split(",")):
            best = None
            for support in np.arange(2.0, 5.3, 0.2):
                for radii, directions in ((n // 2, 4), (n // 2, 6), (3 * n // 4, 6), (n // 2, 8), (n, 8), (n, 10)):
                    if cupy is None and radii * directions**2 > 600:
                        continue
                    method = Spectral(n, support, radii, directions, gamma, real)
                    value, error = measure(method)
                    # Within a tenth of the best error the cheaper one.
                    if best is None or error < 0.9 * best[0]:
                        best = (error, value, support, method)
            error, value, support, method = best
            f, _ = bkw(method.v, 0.65)
            time = f"{method.milliseconds(f):.4f}" if cupy else ""
            nodes = f"{method.radii} | {method.directions}"
            print(f"| {name} | {n}^3 | {support:.1f} | {nodes} | {value:.6f} | {error:.2e} | {time} |", flush=True)


if __name__ == "__main__":
    main()
