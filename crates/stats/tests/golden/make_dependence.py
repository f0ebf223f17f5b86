"""Values of pymser, statsmodels, SciPy and arch for tests/golden.rs: of values whose neighbours depend on each other.

Where no package has a method as prony-stats has it (effective sizes by a lag-1 autocorrelation that is corrected for
its bias, runs of blocks), it is put together here of theirs: the autocorrelation and the sum over all lags are
statsmodels', the variance over clusters is its cluster-robust one, Sen's interval is SciPy's at the level to which the
effective size moves it, blocks are drawn by arch.

Needs: numpy 2.4.6, scipy 1.17.1, statsmodels 0.15.0, arch 8.0.0, pymser 1.0.13 (what was used stands in the file
too). Run: python make_dependence.py > dependence.json
"""

import json
import warnings
from importlib.metadata import version

import numpy as np
import statsmodels.api as sm
from arch.bootstrap import CircularBlockBootstrap
from pymser.pymser import calculate_MSEm
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


def batch_interval(x, weight):
    effective = max(len(x) / weight, 2)
    t = stats.t(effective - 1, loc=x.mean(), scale=x.std(ddof=1) / np.sqrt(effective))
    return [float(x.mean()), *map(float, t.interval(0.95))]


def by_lags(x, lags):
    """n times the variance of independent values' mean over Newey & West's."""
    ones = np.ones(len(x))
    hac = sm.OLS(x, ones).fit(cov_type="HAC", cov_kwds={"maxlags": lags, "kernel": "bartlett", "use_correction": False})
    return [lags, float(np.clip(x.var() / hac.bse[0] ** 2, 1, len(x)))]


def serial(x, lag):
    rho = stats.spearmanr(x[:-lag], x[lag:])
    return [lag, float(rho.statistic), float(rho.pvalue)]


def theil_sen(x):
    """Sen's interval with Kendall's variance times n over the effective n: SciPy's at the level that this moves 95 % to."""
    at = np.arange(len(x))
    weight = inflation(lag1(x - stats.theilslopes(x, at).slope * at))
    level = 1 - 2 * stats.norm.sf(stats.norm.ppf(0.975) * np.sqrt(weight))
    slope = stats.theilslopes(x, at, level)
    return [float(slope.slope), float(slope.low_slope), float(slope.high_slope)]


def one(x):
    rho = lag1(x)
    decay = 0.6
    # A chain with noise of its own: ρ to the neighbour, from there on by `decay`.
    noisy = 1 + 2 * sum(rho * decay**k for k in range(400))
    return {
        "values": x.tolist(),
        "effective_size": len(x) / inflation(rho),
        "batch_interval": batch_interval(x, inflation(rho)),
        "with_decay": [decay, *batch_interval(x, max(inflation(rho), noisy))],
        "by_lags": [by_lags(x, lags) for lags in (0, 1, 4)],
        "serial": [serial(x, lag) for lag in (1, 2)],
        "theil_sen_dependent": theil_sen(x),
    }


def mser(x):
    """pymser's curve of five values a batch; five batches are kept at least, and a cut beyond half of them is none."""
    batches = len(x) // 5
    cut = int(np.argmin(calculate_MSEm(x, 5)[: batches - 4]))
    return {"values": x.tolist(), "end": cut * 5 if cut * 2 <= batches else None}


def clusters(sizes, hits):
    """Each request a 0 or 1, their mean by least squares: the cluster-robust variance over the plain one."""
    filled = [(s, h) for s, h in zip(sizes, hits) if s > 0]
    y = np.concatenate([np.repeat([1.0, 0.0], [h, s - h]) for s, h in filled])
    groups = np.repeat(np.arange(len(filled)), [s for s, _ in filled])
    robust = sm.OLS(y, np.ones(len(y))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    share = y.mean()
    left = np.array([h - share * s for s, h in filled])
    return {
        "clusters": [[int(s), int(h)] for s, h in zip(sizes, hits)],
        "design_effect": float(robust.bse[0] ** 2 / (share * (1 - share) / len(y))),
        "effective_clusters": max(len(filled) / inflation(lag1(left)), 2) if len(filled) >= 20 else 0.95 * len(filled),
    }


def two_level(runs, block, replicates):
    """Runs with replacement, the pieces of each by arch's circular blocks; the mean and the median of all pieces."""
    inside = [CircularBlockBootstrap(block, np.array(r), seed=rng).bootstrap(10 * replicates) for r in runs]
    drawn = []
    for _ in range(replicates):
        pieces = np.concatenate([next(inside[r])[0][0] for r in rng.integers(0, len(runs), len(runs))])
        drawn.append((pieces.mean(), np.median(pieces)))
    ends = np.quantile(drawn, [0.025, 0.975], axis=0)
    return {
        "runs": [list(map(float, r)) for r in runs],
        "block": block,
        "mean": ends[:, 0].tolist(),
        "median": ends[:, 1].tolist(),
    }


def trend_bootstrap(x, block, replicates):
    at = np.arange(len(x))
    slope = stats.theilslopes(x, at).slope
    left = CircularBlockBootstrap(block, x - slope * at, seed=rng)
    drawn = [stats.theilslopes(d[0][0], at).slope for d in left.bootstrap(replicates)]
    low, high = slope + np.quantile(drawn, [0.025, 0.975])
    return {"values": x.tolist(), "block": block, "interval": [float(slope), float(low), float(high)]}


def seconds(phi, n, share):
    """Seconds of some 200 requests, whose chance of a hit swings with a chain."""
    chance = 1 / (1 + np.exp(-(np.log(share / (1 - share)) + 0.5 * (series(phi, n) - 10))))
    sizes = rng.poisson(200, n)
    return clusters(sizes, rng.binomial(sizes, chance))


ramp = np.minimum(np.arange(300) * 0.5, 30)
out = {
    "made_with": {m: version(m) for m in ("numpy", "scipy", "statsmodels", "arch", "pymser")},
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
    "mser": [
        mser(x)
        for x in (
            ramp + series(0.0, 300),
            ramp[:203] + series(0.5, 203),
            series(0.0, 100),
            20 * np.exp(-np.arange(500) / 40) + series(0.6, 500),
            np.arange(120) ** 1.5,  # never level
            series(0.99, 150),
            10 + np.where(np.arange(250) < 100, 5, 0) + series(0.0, 250),
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
    "two_level": [
        two_level([rng.normal(level, 1, 12) for level in rng.normal(0, 1, 8)], 3, 20_000),
        two_level([series(0.6, n) for n in (5, 9, 14, 20, 30, 8)], 4, 20_000),
    ],
    "trend_bootstrap": [
        trend_bootstrap(series(0.5, 60) + 0.05 * np.arange(60), 4, 20_000),
        trend_bootstrap(rng.normal(0, 1, 30), 1, 20_000),
    ],
}
print(json.dumps(out, allow_nan=False, separators=(",", ":")).replace("},{", "},\n{"))
