#!/usr/bin/env python3
"""Values of the special functions to 40 digits and more, rounded to double: makes testdata/values.txt.

Needs mpmath. One line a value: the function as special_test.cc names it, its arguments, the value.
    python3 record_values.py > testdata/values.txt
"""
import random

from mpmath import mp, mpf, airyai, besseli, besselk, erfc, erfinv, exp, gammainc, inf, log, psi, sin, sqrt, zeta

mp.dps = 90  # zeta is absolutely, not relatively, that precise
random.seed(7)


def line(name, arguments, value):
    print(name, *(repr(float(a)) for a in arguments), repr(float(value)))


def points(low, high, fixed=()):
    return [mpf(x) for x in fixed] + [mpf(random.uniform(low, high)) for _ in range(6)]


for n in (0, 1, 2, 3, 7):
    for x in points(0.01, 40, (1, 0.5, 1e-3, 1e6)) + points(-9, -0.1):
        line("polygamma", (n, x), psi(n, x))
for s in (1.5, 2, 3, 5.5, 20):
    for q in points(0.01, 40, (1, 0.5, 100)):
        line("zeta", (s, q), zeta(s, q))
for s, q in ((2, -1.5), (3, -0.25), (4, -6.75)):
    line("zeta", (s, q), sum((mpf(q) + k) ** -s for k in range(8)) + zeta(s, mpf(q) + 8))
for a in (0.1, 0.5, 1, 3.5, 10, 100, 1000):
    for f in (0.01, 0.5, 0.95, 1, 1.05, 1.5, 4):
        x = mpf(float(a * f))
        line("lower_gamma", (a, x), gammainc(a, 0, x, regularized=True))
        line("upper_gamma", (a, x), gammainc(a, x, inf, regularized=True))
for order in (0, 1):
    for x in points(0.01, 60, (1e-5, 1, 29.9, 30.1, 100)) + points(-20, -0.1):
        line("bessel_i%d" % order, (x,), besseli(order, x))
        line("bessel_i%de" % order, (x,), besseli(order, x) * exp(-abs(x)))
    for x in points(0.01, 60, (1e-5, 0.99, 1, 1.01, 100, 600)):
        line("bessel_k%d" % order, (x,), besselk(order, x))
        line("bessel_k%de" % order, (x,), besselk(order, x) * exp(x))
for x in points(-30, 30, (0, 1, 1.01, -10.99, -11.01, -100, -10001, -54321.5, -1e6, -3e9)):
    line("airy_ai", (x,), airyai(x))
for x in points(-5, 40, (0, 19.99, 20.01, 1e4)):
    line("scaled_erfc", (x,), exp(x * x) * erfc(x))
for x in points(-30, 9, (0, -1, -14, -13.99)):
    line("normal_cdf", (x,), erfc(-x / sqrt(2)) / 2)
    line("log_normal_cdf", (x,), log(erfc(-x / sqrt(2)) / 2))
for p in points(0, 1, (1e-10, 0.0999, 0.1001, 0.4999, 0.999)):
    line("normal_quantile", (p,), -sqrt(2) * erfinv(1 - 2 * p))
for x in points(-30, 30, (1e-3, 1)):
    line("spherical_bessel_j0", (x,), sin(x) / x)
