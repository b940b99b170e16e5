#!/usr/bin/env python3
"""Polynomials and rational functions near the special functions: makes coefficients.h.

Needs mpmath. Each is the interpolation at the Chebyshev points of its interval, which errs by little more than the best
approximation; the error printed beside it is the largest relative one on a fine grid. The variable is
u = (2 t - a - b) / (b - a) for t in [a, b], or t itself where a fit says so.
    python3 fit_coefficients.py > coefficients.h
"""
import textwrap

from mpmath import *

mp.dps = 60
tiny = mpf("1e-28")


def note(text):
    print(textwrap.fill(text, 120, initial_indent="// ", subsequent_indent="// "))


def chebyshev_points(n):
    return [cos(pi * (2 * k + 1) / (2 * n)) for k in range(n)]


def horner(c, x):
    y = mpf(0)
    for a in reversed(c):
        y = y * x + a
    return y


def solve(f, m, n):
    """P of degree m and Q of degree n, Q(0) = 1, with P / Q = f at m + n + 1 points of [-1, 1]."""
    points = chebyshev_points(m + n + 1)
    a, b = matrix(m + n + 1), matrix(m + n + 1, 1)
    for i, x in enumerate(points):
        b[i] = f(x)
        for j in range(m + 1):
            a[i, j] = x**j
        for j in range(1, n + 1):
            a[i, m + j] = -b[i] * x**j
    c = lu_solve(a, b)
    return [c[j] for j in range(m + 1)], [mpf(1)] + [c[m + j] for j in range(1, n + 1)]


def declare(name, c):
    text = "inline constexpr double %s[] = {%s};" % (name, ", ".join(repr(float(x)) for x in c))
    print(textwrap.fill(text, 120, subsequent_indent="    "))


def twins(name, c, points, values):
    """The low coefficients as sums of two doubles; as doubles those whose terms together are below 2^-10 of the sum."""
    count = len(c)
    while count > 1 and all(
        fsum(abs(c[j] * t**j) for j in range(count - 1, len(c))) < abs(v) / 1024 for t, v in zip(points, values)
    ):
        count -= 1
    count = min(count, len(c) - 1)
    pairs = ["{%r, %r}" % (float(x), float(x - mpf(float(x)))) for x in c[:count]]
    text = "inline constexpr double %s[][2] = {%s};" % (name, ", ".join(pairs))
    print(textwrap.fill(text, 120, subsequent_indent="    "))
    declare(name + "Rest", c[count:])


def fit(name, f, a, b, m, n=0, raw=False, twin=False):
    a, b = mpf(a), mpf(b)

    def g(u):
        return f((a + b) / 2 + (b - a) / 2 * u)

    p, q = solve(g, m, n)
    worst = mpf(0)
    for k in range(61):
        u = cos(pi * k / 60) * mpf("0.999999")
        assert horner(q, u) > 0
        worst = max(worst, abs(horner(p, u) / horner(q, u) / g(u) - 1))
    print("// %s to %s: relative error %s." % (nstr(a, 6), nstr(b, 6), nstr(worst, 2)))
    if raw:  # u = scale t + shift
        scale, shift = 2 / (b - a), -(a + b) / (b - a)
        c = [mpf(0)] * (m + 1)
        for k, x in enumerate(p):
            for j in range(k + 1):
                c[j] += x * binomial(k, j) * scale**j * shift ** (k - j)
        p = c
    if twin:
        points = [(a + b) / 2 + (b - a) / 2 * u if raw else u for u in chebyshev_points(30)]
        twins(name, p, points, [horner(p, t) for t in points])
        if n > 0:
            twins(name + "Under", q, points, [horner(q, t) for t in points])
        return
    declare(name, p)
    if n > 0:
        declare(name + "Under", q)


def of_inverse(f):
    """f of x as a function of 1 / x."""
    return lambda w: f(1 / max(w, mpf("1e-14")))


def of_inverse_square(f):
    return lambda w: f(1 / sqrt(max(w, mpf("1e-26"))))


def of_square(f):
    return lambda z: f(sqrt(max(z, tiny)))


def split(name, x):
    """x as the sum of two doubles."""
    high = mpf(float(x))
    declare(name, [high, x - high])


def turns(angle):
    return angle - 2 * pi * nint(angle / (2 * pi))


print(
    """#pragma once

// Made by fit_coefficients.py, which says how. P(u) / Q(u) has its denominator under the name that ends in Under.

namespace at::cpu::special::fit {
"""
)
note(
    "exp(r); the logarithm of (1 + s) / (1 - s) is 2 s + s^3 P(s^2); sin r = r P(r^2), cos r = P(r^2), sin(pi r) "
    "= r P(r^2)."
)
fit("kExp", exp, -log(2) / 2, log(2) / 2, 10, raw=True)
def log_rest(s):
    return (log((1 + s) / (1 - s)) / s - 2) / s**2 if s > 1e-8 else mpf(2) / 3


fit("kLog", of_square(log_rest), 0, mpf("0.0295"), 6, raw=True)
fit("kSin", of_square(lambda r: sin(r) / r), 0, mpf("0.69"), 7, raw=True)
fit("kCos", of_square(cos), 0, mpf("0.69"), 7, raw=True)
fit("kSinPi", of_square(lambda r: sin(pi * r) / r), 0, 0.25, 8, raw=True)

print()
note("Modified Bessel functions: I0(x), I1(x) / x by x^2, and sqrt(x) exp(-x) I(x) by 1 / x.")
fit("kI0Near", of_square(lambda x: besseli(0, x)), 0, 64, 14, raw=True)
fit("kI1Near", of_square(lambda x: besseli(1, x) / x), 0, 64, 13, raw=True)
for n in (0, 1):
    fit("kI%dFar" % n, of_inverse(lambda x: besseli(n, x) * exp(-x) * sqrt(x)), 0, 0.125, 10)
note(
    "The same to 2; K0(x) + log(x / 2) I0(x) and (K1(x) - 1 / x - log(x / 2) I1(x)) / x by x^2; sqrt(x) exp(x) "
    "K(x) by 1 / x."
)
fit("kI0Small", of_square(lambda x: besseli(0, x)), 0, 4, 7, raw=True)
fit("kI1Small", of_square(lambda x: besseli(1, x) / x), 0, 4, 7, raw=True)
fit("kK0Near", of_square(lambda x: besselk(0, x) + log(x / 2) * besseli(0, x)), 0, 4, 8, raw=True)
fit("kK1Near", of_square(lambda x: (besselk(1, x) - 1 / x - log(x / 2) * besseli(1, x)) / x), 0, 4, 7, raw=True)
for n in (0, 1):
    fit("kK%dFar" % n, of_inverse(lambda x: besselk(n, x) * exp(x) * sqrt(x)), 0, 0.5, 13)

print()
note(
    "Bessel functions: the squares of the zeros below 8, J0 and J1 / x divided by x^2 less each of them, the rest "
    "of Y0 and of Y1 / x beside the logarithm, and from 8 on the modulus times sqrt(pi x / 2) and x times the "
    "phase less x - (2 n + 1) pi / 4, all by x^2 or its inverse."
)
for n in (0, 1):
    r = [besseljzero(n, k) ** 2 for k in (1, 2)]
    split("kJ%dFirst" % n, r[0])
    split("kJ%dSecond" % n, r[1])
    fit("kJ%dNear" % n, of_square(lambda x: besselj(n, x) / x**n / ((x * x - r[0]) * (x * x - r[1]))), 0, 64, 14)
fit("kY0Near", of_square(lambda x: bessely(0, x) - 2 / pi * log(x / 2) * besselj(0, x)), 0, 64, 17)
fit("kY1Near", of_square(lambda x: (bessely(1, x) - 2 / pi * (log(x / 2) * besselj(1, x) - 1 / x)) / x), 0, 64, 16)


def modulus(n):
    return of_inverse_square(lambda x: hypot(besselj(n, x), bessely(n, x)) * sqrt(pi * x / 2))


def phase(n):
    return of_inverse_square(lambda x: x * turns(atan2(bessely(n, x), besselj(n, x)) - x + (2 * n + 1) * pi / 4))


for n in (0, 1):
    fit("kModulus%d" % n, modulus(n), 0, mpf(1) / 64, 7)
    fit("kPhase%d" % n, phase(n), 0, mpf(1) / 64, 12)

print()
note(
    "Airy's function: beyond 1 times 2 sqrt(pi) x^(1/4) exp(z) by 1 / z, z = 2/3 |x|^(3/2); to -5 divided by x "
    "less each of two zeros; below, modulus times sqrt(pi) |x|^(1/4) and z times the phase less z + pi / 4 by 1 / "
    "z^2."
)


def argument(z):
    return (1.5 * z) ** (mpf(2) / 3)


@of_inverse
def airy_far(z):
    return 2 * sqrt(pi) * argument(z) ** 0.25 * exp(z) * airyai(argument(z))


@of_inverse_square
def airy_modulus(z):
    return hypot(airyai(-argument(z)), airybi(-argument(z))) * sqrt(pi) * argument(z) ** 0.25


@of_inverse_square
def airy_phase(z):
    return z * turns(atan2(airyai(-argument(z)), airybi(-argument(z))) - z - pi / 4)


fit("kAiryFar", airy_far, 0, 1.5, 6, 6)
zeros = [airyaizero(1), airyaizero(2)]
split("kAiryFirst", zeros[0])
split("kAirySecond", zeros[1])
fit("kAiryNear", lambda x: airyai(x) / ((x - zeros[0]) * (x - zeros[1])), -5, 1, 22)
end = 1 / (2 * mpf(5) ** 1.5 / 3) ** 2
fit("kAiryModulus", airy_modulus, 0, end, 7)
fit("kAiryPhase", airy_phase, 0, end, 12)

print()
note(
    "exp(x^2) erfc(x) / t by t = 4 / (4 + x). (ndtr(x) - 1/2) / x by x^2. The quantile of 1/2 + d divided by d, "
    "by d^2; that of exp(-r^2), negated, by r."
)


def scaled_erfc(x):
    if x < 40:
        return exp(x * x) * erfc(x)
    term = total = mpf(1)
    for k in range(1, 60):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
    return total / (x * sqrt(pi))


def tail_quantile(r):
    x = sqrt(max(2 * r * r - log(4 * pi * r * r), mpf("0.5")))
    for _ in range(60):
        c = erfc(x / sqrt(2)) / 2
        step = (log(c) + r * r) * c * sqrt(2 * pi) * exp(x * x / 2)
        x += step
        if abs(step) < mpf("1e-45"):
            break
    return x


fit("kScaledErfc", lambda t: scaled_erfc(4 * (1 / max(t, mpf("1e-14")) - 1)) / max(t, mpf("1e-14")), 0, 1, 16)
fit("kNormalNear", of_square(lambda x: erf(x / sqrt(2)) / (2 * x)), 0, mpf("1.5625"), 7, raw=True)
fit("kQuantileNear", of_square(lambda d: sqrt(2) * erfinv(2 * d) / d), 0, 0.180625, 5, 5)
fit("kQuantileTail", tail_quantile, 1.5, 4.5, 5, 5)
fit("kQuantileFar", tail_quantile, 4.5, 10.25, 5, 5)

print()
note(
    "log gamma(1 + y) / (y (y - 1)) and psi(1 + y) / (y less its zero); Stirling's rests, x (log gamma(x) - (x - "
    "1/2) log x + x - log(2 pi) / 2) and x^2 (log x - 1 / (2x) - psi(x)), by 1 / x^2."
)
fit("kLogGammaNear", lambda y: loggamma(1 + y) / (y * (y - 1)), tiny, 1 - tiny, 5, 5)
fit(
    "kLogGammaFar",
    of_inverse_square(lambda x: x * (loggamma(x) - (x - 0.5) * log(x) + x - log(2 * pi) / 2)),
    0,
    mpf(1) / 9,
    7,
)
zero = findroot(digamma, 1.46) - 1
split("kDigammaZero", zero)
fit("kDigammaNear", lambda y: digamma(1 + y) / (y - zero), 0, 1, 5, 5)
fit("kDigammaFar", of_inverse_square(lambda x: x * x * (log(x) - 1 / (2 * x) - digamma(x))), 0, mpf(1) / 9, 12)

print()
note("For double, to some 1e-18, with the coefficients that matter as sums of two doubles.")


def twin(name, *arguments, **options):
    fit(name + "Twin", *arguments, twin=True, **options)


twin("kExp", exp, -log(2) / 2, log(2) / 2, 13, raw=True)
twin("kSin", of_square(lambda r: sin(r) / r), 0, mpf("0.69"), 9, raw=True)
twin("kCos", of_square(cos), 0, mpf("0.69"), 9, raw=True)
split("kTwoOverPiTwin", 2 / pi)
split("kPiTwin", pi)
split("kTwoThirdsTwin", mpf(2) / 3)
split("kRootHalfTwin", sqrt(mpf(1) / 2))
declare("kLogRest", [float(2 / mpf(2 * k + 3)) for k in range(10)])
for n in (0, 1):
    twin("kI%dNear" % n, of_square(lambda x: besseli(n, x) / x**n), 0, 64, 17 - n, raw=True)
    twin("kI%dFar" % n, of_inverse(lambda x: besseli(n, x) * exp(-x) * sqrt(x)), 0, 0.125, 25)
    twin("kI%dSmall" % n, of_square(lambda x: besseli(n, x) / x**n), 0, 4, 10, raw=True)
twin("kK0Near", of_square(lambda x: besselk(0, x) + log(x / 2) * besseli(0, x)), 0, 4, 11, raw=True)
twin("kK1Near", of_square(lambda x: (besselk(1, x) - 1 / x - log(x / 2) * besseli(1, x)) / x), 0, 4, 10, raw=True)
for n in (0, 1):
    twin("kK%dFar" % n, of_inverse(lambda x: besselk(n, x) * exp(x) * sqrt(x)), 0, 0.5, 26)
    r = [besseljzero(n, k) ** 2 for k in (1, 2)]
    twin("kJ%dNear" % n, of_square(lambda x: besselj(n, x) / x**n / ((x * x - r[0]) * (x * x - r[1]))), 0, 64, 16)
    twin("kModulus%d" % n, modulus(n), 0, mpf(1) / 64, 12)
    twin("kPhase%d" % n, phase(n), 0, mpf(1) / 64, 14)
twin("kY0Near", of_square(lambda x: bessely(0, x) - 2 / pi * log(x / 2) * besselj(0, x)), 0, 64, 18)
twin("kY1Near", of_square(lambda x: (bessely(1, x) - 2 / pi * (log(x / 2) * besselj(1, x) - 1 / x)) / x), 0, 64, 17)
twin("kAiryNear", lambda x: airyai(x) / ((x - zeros[0]) * (x - zeros[1])), -5, 2, 34)
far_end = 1 / (2 * mpf(2) ** 1.5 / 3)
twin("kAiryFar", airy_far, 0, far_end, 9, 9)
twin("kAiryModulus", airy_modulus, 0, end, 13)
twin("kAiryPhase", airy_phase, 0, end, 15)
twin("kScaledErfc", lambda t: scaled_erfc(4 * (1 / max(t, mpf("1e-14")) - 1)) / max(t, mpf("1e-14")), 0, 1, 26)
twin("kQuantileNear", of_square(lambda d: sqrt(2) * erfinv(2 * d) / d), 0, 0.180625, 9, 9)
twin("kQuantileTail", tail_quantile, 1.5, 4.5, 9, 9)
twin("kQuantileFar", tail_quantile, 4.5, 10.25, 8, 8)
twin("kQuantileFarther", tail_quantile, 10.25, 27.5, 7, 7)

print()
note(
    "Elementary functions of double: 2 (exp(r) - 1 - r - r^2 / 2) / r^3; log as above; (sin(r) / r - 1) / r^2 and "
    "(cos(r) - 1 + r^2 / 2) / r^4 by r^2; (P(t) / t - P'(0)) / t^2 by t^2 to 1.5 for the "
    "normal distribution P(t) from 0 to t, and its part beyond t divided by w exp(-t^2 / 2), by w = 4 / (4 + t) "
    "for t to 39."
)


def ratio(f, limit):
    """f, at zero its limit."""
    return lambda x: f(x) if abs(x) > tiny else mpf(limit)


end = mpf("0.425")
fit("kExpRest", ratio(lambda r: 2 * (exp(r) - 1 - r - r**2 / 2) / r**3, mpf(1) / 3), -end, end, 9, raw=True)
fit("kLogFine", of_square(log_rest), 0, mpf("0.02945"), 7, raw=True)
fit("kSinRest", of_square(lambda r: (sin(r) / r - 1) / r**2), mpf("1e-20"), mpf("0.62"), 6, raw=True)
fit("kCosRest", of_square(lambda r: (cos(r) - 1 + r**2 / 2) / r**4), mpf("1e-20"), mpf("0.62"), 6, raw=True)
normal_rest = of_square(lambda t: (erf(t / sqrt(2)) / 2 / t - 1 / sqrt(2 * pi)) / t**2)
fit("kNormalRest", normal_rest, mpf("1e-20"), mpf("2.26"), 11, raw=True)
fit("kNormalTail", lambda w: exp((4 / w - 4) ** 2 / 2) * erfc((4 / w - 4) / sqrt(2)) / 2 / w, mpf(4) / 43, 1, 22)

print()
note("atan(t) / t by t^2, for results of float.")
fit("kAtan", of_square(lambda t: atan(t) / t), 0, 1, 13, raw=True)

print("\n}  // namespace at::cpu::special::fit")
