"""First effect of collisions on the flow through a hole in a thin plate into vacuum: c of W = 1 + c delta.

Without collisions the gas in front of the plate is the vessel's, less the molecules that would come from the hole, and the gas behind it is those that
went through. Collisions at a rate nu put S for f. W changes by those that scatter into directions towards the hole, less those that leave such
directions: one integral over the space on both sides, with the moments of the gas without collisions. delta refers to the radius of the hole.
"""

import numpy as np


def legendre(points, low=0.0, high=1.0):
    x, w = np.polynomial.legendre.leggauss(points)
    return low + (high - low) * (x + 1) / 2, (high - low) * w / 2


def hole(x, r, points):
    """Directions from the hole to a point at x > 0 and r, as unit vectors (x, y, z) with solid angles."""
    half, weight = legendre(points)
    if r < 1:
        # Half turns of the angle in the plane of the plate about the foot of the point; the other half is its mirror image.
        psi, w = np.pi * half, np.pi * weight
        root = np.sqrt(1 - (r * np.sin(psi)) ** 2)
        near, far = np.zeros_like(psi), -r * np.cos(psi) + root
    else:
        widest = np.arcsin(min(1 / r, 1.0))
        # The root at the widest angle is taken out by a sine.
        t = 0.5 * np.pi * half
        psi, w = np.pi - widest * np.sin(t), widest * np.cos(t) * 0.5 * np.pi * weight
        root = np.sqrt(np.maximum(1 - (r * np.sin(psi)) ** 2, 0))
        near, far = -r * np.cos(psi) - root, -r * np.cos(psi) + root
    top, low = x / np.hypot(x, near), x / np.hypot(x, far)
    mu = low[:, None] + (top - low)[:, None] * half[None]
    solid = 2 * w[:, None] * (top - low)[:, None] * weight[None]
    sine = np.sqrt(1 - mu * mu)
    # From the hole's point, at the foot plus s (cos psi, sin psi), to the point itself.
    e = np.stack([mu, -sine * np.cos(psi)[:, None], -sine * np.sin(psi)[:, None]], -1)
    return e.reshape(-1, 3), solid.ravel()


def gain(n, u, T, q, k, e, solid, speeds):
    """Molecules that the equilibrium emits towards the hole; directions e and their mirror images have one value."""
    v, w = speeds
    velocity = -v[:, None, None] * e[None]
    c = velocity - u
    c2 = (c**2).sum(-1)
    S = n / (np.pi * T) ** 1.5 * np.exp(-c2 / T)
    if k:
        S *= 1 + k / (n * T * T) * (c @ q) * (c2 / T - 2.5)
    return (S * (w * v**2)[:, None] * solid[None]).sum()


def coefficient(prandtl=1.0, omega=0.5, within=np.inf, points=16, along=100):
    """c of W = 1 + c delta; with a domain, that of collisions within this distance from the hole along the axis and across."""
    k = 1.6 * (1 - prandtl)
    t, wt = legendre(along)
    tau, wtau = t / (1 - t), wt / (1 - t) ** 2
    xi, wxi = legendre(points)
    speeds = legendre(40, 0, 6.0)
    total = np.zeros(2)
    for a, wa in zip(tau, wtau):
        for b, wb in zip(xi, wxi):
            x, r = a * b, np.sqrt((1 + a * a) * (1 - b * b))
            if max(x, r) > within:
                continue
            volume = 2 * np.pi * (a * a + b * b) * wa * wb
            e, solid = hole(x, r, points)
            share = solid.sum() / (4 * np.pi)
            # The mirror image across the plane of the axis: components along z vanish.
            first = (solid[:, None] * e).sum(0) * [1, 1, 0]
            second = np.einsum("i,ij,ik->jk", solid, e, e)
            second[0, 2] = second[2, 0] = second[1, 2] = second[2, 1] = 0
            for side, sign in ((0, -1.0), (1, 1.0)):
                full = 1.0 if side == 0 else 0.0
                n = full + sign * share
                flow = sign * 0.5 * np.pi**-1.5 * first
                u = flow / n
                energy = 1.5 * n
                T = (energy - n * u @ u) / (1.5 * n)
                stress = full * 0.5 * np.eye(3) + sign * 3 / (8 * np.pi) * second
                cubic = sign * np.pi**-1.5 * first
                q = 0.5 * (cubic - 2 * stress @ u - u * energy + 2 * n * (u @ u) * u)
                g = gain(n, u, T, q, k, e, solid, speeds)
                nu = n * T ** (1 - omega)
                total[side] += volume * nu * (g - share * full)
    return 2 / np.sqrt(np.pi) * (total[0] - total[1])
