"""Values of statsmodels and SciPy for tests/golden.rs: of values whose neighbours depend on each other.

Where no package has a method as prony-stats has it (effective sizes by a lag-1 autocorrelation that is corrected for
its bias), it is put together here of theirs: the autocorrelation and the sum over all lags are statsmodels', the
variance over clusters is its cluster-robust one, Sen's interval is SciPy's at the level to which the effective size
moves it.

Needs: numpy 2.4.6, scipy 1.17.1, statsmodels 0.15.0 (what was used stands in the file too).
Run: python make_dependence.py > dependence.json
"""

import json
import warnings
from importlib.metadata import version

import numpy as np
import statsmodels.api as sm
from scipy import stats
from statsmodels.tsa.arima_process import ArmaProcess
from statsmodels.tsa.stattools import acf

warnings.simplefilter("ignore")
rng = np.random.default_rng(20261122)


def series(phi, n):
    x = np.empty(n)
    x[0] = rng.standard_normal()
    for i in range(1, n):
        x[i] = phi * x[i - 1] + rng.standard_normal()
    return 10 + x


def lag1(x):
    """The lag-1 autocorrelation, corrected for its bias (Marriott & Pope), from 0 to 0.8; 0 below ten values."""
    n = len(x)
    return float(np.clip((n * acf(x, nlags=1, adjusted=False)[1] + 1) / (n - 4), 0, 0.8)) if n >= 10 else 0.0


def inflation(rho):
    """The variance of a mean over the independent one's: all autocorrelations of a first-order chain, summed."""
    return float(2 * ArmaProcess([1, -rho], [1]).acf(lags=400).sum() - 1)


def theil_sen(x):
    """Sen's interval with Kendall's variance times n over the effective n: SciPy's at the level that this moves 95 % to."""
    at = np.arange(len(x))
    weight = inflation(lag1(x - stats.theilslopes(x, at).slope * at))
    level = 1 - 2 * stats.norm.sf(stats.norm.ppf(0.975) * np.sqrt(weight))
    slope = stats.theilslopes(x, at, level)
    return [float(slope.slope), float(slope.low_slope), float(slope.high_slope)]


def one(x):
    return {
        "values": x.tolist(),
        "effective_size": len(x) / inflation(lag1(x)),
        "theil_sen_dependent": theil_sen(x),
    }


def clusters(sizes, hits):
    """Each request a 0 or 1, their mean by least squares: the cluster-robust variance over the plain one."""
    filled = [(s, h) for s, h in zip(sizes, hits) if s > 0]
    y = np.concatenate([np.repeat([1.0, 0.0], [h, s - h]) for s, h in filled])
    groups = np.repeat(np.arange(len(filled)), [s for s, _ in filled])
    robust = sm.OLS(y, np.ones(len(y))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    share = y.mean()
    return {
        "clusters": [[int(s), int(h)] for s, h in zip(sizes, hits)],
        "design_effect": float(robust.bse[0] ** 2 / (share * (1 - share) / len(y))),
    }


def seconds(phi, n, share):
    """Seconds of some 200 requests, whose chance of a hit swings with a chain."""
    chance = 1 / (1 + np.exp(-(np.log(share / (1 - share)) + 0.5 * (series(phi, n) - 10))))
    sizes = rng.poisson(200, n)
    return clusters(sizes, rng.binomial(sizes, chance))


out = {
    "made_with": {m: version(m) for m in ("numpy", "scipy", "statsmodels")},
    "series": [
        one(x)
        for x in (
            series(0.7, 60),
            series(0.3, 25),
            series(0.0, 20),
            series(-0.5, 20),  # alternates: taken as independent
            series(0.5, 7),  # too few to tell
            series(0.98, 40),  # beyond 0.8
            series(0.99, 10) + np.arange(10),
            np.round(series(0.5, 30), 1),
        )
    ],
    "clusters": [
        seconds(0.7, 30, 0.5),
        seconds(0.5, 29, 0.9),
        seconds(0.0, 20, 0.99),
        seconds(0.9, 10, 0.5),
        seconds(0.95, 60, 0.9),
        clusters([10, 0, 30, 7, 0, 5], [3, 0, 20, 7, 0, 1]),
    ],
}
print(json.dumps(out, allow_nan=False, separators=(",", ":")).replace("},{", "},\n{"))
