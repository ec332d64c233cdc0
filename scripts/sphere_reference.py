"""Drag of a sphere in a slow stream by integral equations along rays: the linearised equations of BGK and Shakhov.

A solution of its own beside `rarefy flow`: no grid of velocities and no far side. Units are those of docs/flow.md with the radius as the length.
With e the direction of the stream, all fields are linear in e:

    n = N(r) c,  T = H(r) c,  u = A(r) e + B(r) c x/r,  q likewise,  c = e.x/r

The perturbation less that of the uniform stream vanishes far away. Moments at a radius are integrals over the directions and along each ray back to
the wall, in which speeds leave Abramowitz functions T_k(x), the integrals of v^k exp(-v^2 - x/v). Fields are polynomials on panels of the radius, and
collocation makes them the solution of linear equations. Beyond the last panel the fields are those of Stokes, whose form is exact outside of a
Knudsen layer: 1/r and 1/r^3 of the velocity, 1/r^2 of pressure and temperature.
"""

import numpy as np
from scipy.interpolate import CubicSpline

# The optical distance at which rays end.
FARTHEST = 60.0
# Greatest power of the speed.
POWERS = 9


class Abramowitz:
    """Splines of T_1 to T_8 over the root of the optical distance."""

    def __init__(self):
        t = np.arange(-22.0, 2.6, 0.02)
        root = np.linspace(0, np.sqrt(FARTHEST) + 0.01, 3000)
        exponent = -np.exp(2 * t)[None] - root[:, None] ** 2 * np.exp(-t)[None]
        values = [(np.exp(exponent + (k + 1) * t) * 0.02).sum(1) for k in range(1, POWERS)]
        self.spline = CubicSpline(root, np.array(values).T)

    def __call__(self, x):
        return self.spline(np.sqrt(x)).T


ABRAMOWITZ = Abramowitz()


class Radius:
    """Polynomials on panels of the radius."""

    def __init__(self, ends, order):
        self.ends, self.order = np.array(ends, float), order
        self.local = 0.5 * (1 - np.cos(np.pi * np.arange(order + 1) / order))
        left, width = self.ends[:-1], np.diff(self.ends)
        nodes = left[:, None] + width[:, None] * self.local[None]
        self.nodes = np.append(nodes[:, :-1].ravel(), self.ends[-1])
        gaps = self.local[:, None] - self.local[None] + np.eye(order + 1)
        self.share = 1 / gaps.prod(1)

    def values(self, r):
        """Numbers of the nodes at each r, and their polynomials there."""
        panel = np.clip(np.searchsorted(self.ends, r, side="right") - 1, 0, len(self.ends) - 2)
        x = (r - self.ends[panel]) / (self.ends[panel + 1] - self.ends[panel])
        away = x[:, None] - self.local[None]
        away[away == 0] = 1e-15
        share = self.share[None] / away
        return panel[:, None] * self.order + np.arange(self.order + 1)[None], share / share.sum(1)[:, None]


def panels(ends, points):
    """Gauss-Legendre points of all panels."""
    x, w = np.polynomial.legendre.leggauss(points)
    ends = np.asarray(ends)
    left, width = ends[:-1, None], np.diff(ends)[:, None]
    return (left + width * (x + 1) / 2).ravel(), (width * w / 2).ravel()


def directions(r, radii, points):
    """Cosines to the radius and weights; roots at tangents of the spheres between panels are taken into account."""
    x, w = np.polynomial.legendre.leggauss(points)
    x, w = (x + 1) / 2, w / 2
    inner = radii[radii < r * (1 - 1e-12)]
    tangents = np.sqrt(np.maximum(1 - (inner / r) ** 2, 0))
    above = np.unique(np.concatenate([[0], tangents, [1]]))
    mu, weight = [], []
    for low, high in zip(above[:-1], above[1:]):
        mu.append(low + (high - low) * x**2)
        weight.append((high - low) * 2 * x * w)
    below = [0, 0.002, 0.008, 0.03, 0.1, 0.3, 1]
    m, g = panels(below, points)
    return np.concatenate([-m] + mu), np.concatenate([g] + weight)


def ray(r, mu, delta, radii, points):
    """Distances and weights back along a ray, the distance of the wall or None."""
    b2 = r * r * (1 - mu * mu)
    last, wall = FARTHEST / delta, None
    if mu > 0 and b2 < 1:
        wall = max(r * mu - np.sqrt(1 - b2), 0.0)
        last = min(last, wall)
    cuts = [0.0, last]
    crossed = radii[radii**2 > b2]
    root = np.sqrt(crossed**2 - b2)
    cuts += list(r * mu + root) + list(r * mu - root) + [r * mu]
    cuts += list(2.0 ** np.arange(-9, 6) / delta) + list(r * 1.6 ** np.arange(0, 12))
    cuts = np.array(cuts)
    cuts = np.unique(cuts[(cuts >= 0) & (cuts <= last)])
    keep = np.append(True, np.diff(cuts) > 1e-9 * max(last, 1e-30))
    cuts = cuts[keep]
    if len(cuts) < 2:
        return np.empty(0), np.empty(0), wall
    s, w = panels(cuts, points)
    return s, w, wall


def drag(delta, prandtl=1.0, points=None, reach=None, fine=None):
    """Drag over rho0 v0^2 R^2 for a stream of the speed v0, by the wall and by the far field, and the number of radii.

    `points`: order of the polynomials, and points a panel along rays and of the angles.
    """
    order, ray_points, angle_points = points or ((6, 7, 9) if delta >= 10 else (5, 5, 6))
    fine = fine or min(0.02, 0.05 / delta)
    reach = reach or max(12.0, 25.0 / delta)
    ends = [1.0]
    step = fine
    while ends[-1] + step < reach:
        ends.append(ends[-1] + step)
        step = min(step * 2, 0.45 * ends[-1])
    ends.append(reach)
    radius = Radius(ends, order)
    r = radius.nodes
    n, fields = len(r), 6
    k = 1.6 * (1 - prandtl)
    size = fields * n + 1
    matrix, right = np.zeros((size, size)), np.zeros(size)
    stress, stress_right = np.zeros((2, size)), np.zeros(2)

    def at(field):
        return field * n

    for i in range(n):
        # Rows: n, u_r, energy, q_r of e along the radius; u, q of e across.
        rows, rhs = np.zeros((6, size)), np.zeros(6)
        for mu, weight in zip(*directions(r[i], radius.ends, angle_points)):
            sine = np.sqrt(1 - mu * mu)
            share = 2 / np.sqrt(np.pi) * weight
            if i == 0 and mu > 0:
                s, w, wall = np.empty(0), np.empty(0), 0.0
            else:
                s, w, wall = ray(r[i], mu, delta, radius.ends, ray_points)
            found, known = np.zeros((2, 4, size)), np.zeros((2, 4))
            if len(s):
                place = np.sqrt(np.maximum(r[i] ** 2 + s * s - 2 * r[i] * s * mu, 1.0))
                T = ABRAMOWITZ(delta * s) * (delta * share * w)
                inside = np.minimum(place, reach)
                number, value = radius.values(inside)
                ratio = reach / np.maximum(place, reach)
                beyond = place > reach
                one, three = np.where(beyond, ratio, 1.0), np.where(beyond, ratio**3, 1.0)
                # Beyond the last panel A = -C/r + D/r^3, B = -C/r - 3 D/r^3 by A and B there.
                aa, ab = (3 * one + three) / 4, (one - three) / 4
                ba, bb = 3 * (one - three) / 4, (one + 3 * three) / 4
                two = np.where(beyond, ratio**2, 1.0)
                flux = three  # q falls like the gradient of the temperature
                m = (r[i] * mu - s) / place
                for kind, (c, along) in enumerate((((r[i] - s * mu) / place, mu), (-s * sine / place, sine))):
                    for p in range(4):
                        weights = [
                            c * T[p] * two,
                            c * (T[2 + p] - 1.5 * T[p]) * two,
                            2 * T[1 + p] * (along * aa + c * m * ba),
                            2 * T[1 + p] * (along * ab + c * m * bb),
                            k * (T[3 + p] - 2.5 * T[1 + p]) * along * flux if k else None,
                            k * (T[3 + p] - 2.5 * T[1 + p]) * c * m * flux if k else None,
                        ]
                        for field, g in enumerate(weights):
                            if g is not None:
                                np.add.at(found[kind, p], at(field) + number, g[:, None] * value)
            if wall is not None and delta * wall < FARTHEST:
                T = ABRAMOWITZ(np.array([delta * wall]))[:, 0] * share
                for kind, (c, along) in enumerate(((r[i] - wall * mu, mu), (-wall * sine, sine))):
                    for p in range(4):
                        found[kind, p, -1] += c * T[p + 1]
                        known[kind, p] += -2 * along * T[p + 2]
            for to, base in ((rows, found), (rhs, known)):
                to[0] += base[0, 0]
                to[1] += mu * base[0, 1]
                to[2] += base[0, 2]
                to[3] += 0.5 * mu * (base[0, 3] - 2.5 * base[0, 1])
                to[4] += 0.5 * sine * base[1, 1]
                to[5] += 0.25 * sine * (base[1, 3] - 2.5 * base[1, 1])
            if i == 0:
                stress[0] += mu * mu * found[0, 2]
                stress[1] += 0.5 * mu * sine * found[1, 2]
                stress_right += [mu * mu * known[0, 2], 0.5 * mu * sine * known[1, 2]]
                if mu < 0:
                    matrix[-1] += 2 * np.sqrt(np.pi) * mu * found[0, 1]
        equal = np.zeros((6, size))
        equal[0, at(0) + i] = 1
        equal[2, [at(0) + i, at(1) + i]] = 1.5
        equal[1, [at(2) + i, at(3) + i]] = 1
        equal[4, at(2) + i] = 1
        equal[3, [at(4) + i, at(5) + i]] = 1
        equal[5, at(4) + i] = 1
        for row in range(6):
            matrix[at(row) + i], right[at(row) + i] = equal[row] - rows[row], rhs[row]
    matrix[-1, -1] += 1
    right[-1] = -np.sqrt(np.pi)
    x = np.linalg.solve(matrix, right)
    wall = stress @ x + stress_right
    a, b = x[at(2) + n - 1], x[at(3) + n - 1]
    # C = -(3 A + B) reach / 4, and the drag is 4 pi C/delta.
    far = -np.pi * (3 * a + b) * reach / delta
    return -4 * np.pi / 3 * (wall[0] + 2 * wall[1]), far, n
