"""Values of SciPy and statsmodels for tests/golden.rs.

Needs: numpy 2.4.6, scipy 1.17.1, statsmodels 0.15.0 (what was used stands in the file too).
Run: python make_scipy.py > scipy.json
"""

import json

import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import DescrStatsW
from statsmodels.tsa.stattools import acovf

rng = np.random.default_rng(20261121)


def series(phi, n):
    x = np.empty(n)
    x[0] = rng.standard_normal()
    for i in range(1, n):
        x[i] = phi * x[i - 1] + rng.standard_normal()
    return 10 + x


def lists():
    """Series of several kinds: independent, dependent, with ties, heavy-tailed, drifting."""
    yield rng.normal(5, 1, 12)
    yield rng.normal(-3, 0.01, 40)
    yield series(0.7, 60)
    yield series(0.3, 25)
    yield np.round(rng.normal(0, 2, 30))
    yield rng.pareto(1.5, 50) + 1
    yield np.arange(20) + rng.normal(0, 3, 20)


def one(x):
    t = DescrStatsW(x).tconfint_mean(alpha=0.05)
    slope = stats.theilslopes(x, np.arange(len(x)), 0.95)
    return {
        "values": x.tolist(),
        "lag1": float(acovf(x, adjusted=False)[1] / acovf(x, adjusted=False)[0]),
        "t_interval": list(map(float, t)),
        "theil_sen": [float(slope.slope), float(slope.low_slope), float(slope.high_slope)],
    }


def pair(x, y):
    tau = stats.kendalltau(x, y, method="asymptotic")
    return {
        "x": list(map(float, x)),
        "y": list(map(float, y)),
        "tau_b": [float(tau.statistic), float(tau.pvalue)],
        "tau_interval": tau_interval(tau.statistic, len(x)),
    }


def tau_interval(tau, n):
    """Fieller, Hartley & Pearson's on atanh, with t: no package has it, so it is written out."""
    most = 1 - 2 / (n * (n - 1))
    middle = stats.t(n - 2, loc=np.arctanh(np.clip(tau, -most, most)), scale=np.sqrt(0.437 / (n - 4)))
    low, high = np.tanh(middle.interval(0.95))
    return [min(float(low), float(tau)), max(float(high), float(tau))]


def positive_pair(a, b):
    ratio = DescrStatsW(np.log(a / b))
    low, high = ratio.tconfint_mean(alpha=0.05)
    return {
        "a": a.tolist(),
        "b": b.tolist(),
        "geometric_mean": float(stats.gmean(a)),
        "ratio": [float(stats.gmean(a / b)), float(np.exp(low)), float(np.exp(high))],
        "p": float(stats.ttest_rel(np.log(a), np.log(b)).pvalue),
        "tost": [[m, float(ratio.ttost_mean(-m, m)[0])] for m in (0.02, 0.05, 0.2)],
    }


def power(n, d):
    t = TTestPower()
    return {"n": n, "d": d, "power": float(t.power(d, n, 0.05))}


def blocks(d, wanted):
    t = TTestPower()
    n = next(n for n in range(2, 100_000) if t.power(d, n, 0.05) >= wanted)
    return {"d": d, "wanted": wanted, "n": n}




# Drawn for values that are no longer in the file, so that those after them stay what they were.
def dropped(*draws):
    for draw in draws:
        draw()
    return []


def exponential_gaps():
    return rng.exponential(3, 40), rng.exponential(0.01, 500), rng.uniform(0, 1, 60), rng.gamma(1.5, 1, 100)


dropped(lambda: rng.normal(100, 4, (9, 5)))
out = {
    "made_with": {m.__name__: m.__version__ for m in (np, scipy, statsmodels)},
    "series": [one(x) for x in lists()] + dropped(exponential_gaps),
    "pairs": [
        pair(rng.normal(size=11), rng.normal(size=11)),
        pair(*rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 20).T),
        pair(rng.integers(0, 4, 15), rng.integers(0, 4, 15)),
        pair(np.arange(9), -np.arange(9) ** 3 + rng.integers(0, 50, 9)),
    ],
    "positive_pairs": [
        positive_pair(np.exp(rng.normal(9, s, n)), np.exp(rng.normal(9 + d, s, n)))
        for s, d, n in ((0.03, 0.05, 12), (0.01, 0, 6), (0.3, 1, 3), (0.005, 0.001, 20))
    ],
    # At 300 with larger differences SciPy's non-central t is NaN.
    "power": [power(n, d) for n in (2, 3, 6, 12, 40, 300) for d in (0.1, 0.5, 1.18, 3.0) if n < 300 or d == 0.1],
    "blocks": [blocks(d, w) for d in (0.25, 0.5, 1.18, 2.0) for w in (0.8, 0.9)],
    "t_quantiles": [[d, p, float(stats.t.ppf(p, d))] for d in (1, 1.5, 4, 19, 150, 1000) for p in (0.6, 0.95, 0.975, 0.999)],
}
print(json.dumps(out, allow_nan=False, separators=(",", ":")).replace("},{", "},\n{"))
