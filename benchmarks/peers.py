"""The other packages, each asked for what it can do; absent ones are left out.

Their input is made beforehand and is not timed: choix takes a matrix of wins or a list of
(winner, loser), evalica lists of left, right and winner.
"""

from __future__ import annotations

import numpy as np

from benchmarks.timing import centred, installed

HAVE_CHOIX, HAVE_EVALICA = installed("choix") is not None, installed("evalica") is not None


def wins_matrix(first, second, p, n, *, prior=0.0):
    """Entry (i, j): how often i beat j, probabilities counting as parts of wins."""
    wins = np.zeros((n, n))
    np.add.at(wins, (first, second), p)
    np.add.at(wins, (second, first), 1.0 - p)
    return wins + prior * (1.0 - np.eye(n))


def winners_and_losers(first, second, p):
    pairs = np.where((p > 0.5)[:, None], np.stack([first, second], 1), np.stack([second, first], 1))
    return [tuple(pair) for pair in pairs.tolist()]


def choix_matrix(wins):
    """ILSR on a dense matrix, which takes probabilities."""
    import choix

    return choix.ilsr_pairwise_dense(wins, tol=1e-8)


def choix_decisions(data, n):
    """Its three ways from a list of (winner, loser): name, function, how far off it may be."""
    import choix

    return [
        ("ilsr_pairwise", lambda: choix.ilsr_pairwise(n, data, tol=1e-8), 1e-4),
        (
            "opt_pairwise, Newton-CG",
            lambda: choix.opt_pairwise(n, data, alpha=0.0, method="Newton-CG", tol=1e-8),
            1e-4,
        ),
        ("mm_pairwise", lambda: choix.mm_pairwise(n, data, tol=1e-6), 1e-2),
    ]


def evalica_input(first, second, p, n, *, prior=0.0):
    """Two weighted decisions a comparison, one each way, and the prior in the same manner."""
    import pandas as pd
    from evalica import Winner

    left, right, weight = [*first.tolist(), *second.tolist()], [*second, *first], [*p, *(1.0 - p)]
    if prior:
        up, down = np.nonzero(~np.eye(n, dtype=bool))
        left, right = [*left, *up.tolist()], [*right, *down]
        weight += [prior] * len(up)
    kept = [k for k, w in enumerate(weight) if w > 0.0]
    return {
        "xs": [left[k] for k in kept],
        "ys": [int(right[k]) for k in kept],
        "winners": [Winner.X] * len(kept),
        "weights": [float(weight[k]) for k in kept],
        "index": pd.Index(range(n)),
    }


def evalica_bradley_terry(given, *, tolerance=1e-6, limit=100):
    import evalica

    return evalica.bradley_terry(**given, tolerance=tolerance, limit=limit)


def evalica_win_rate(given):
    import evalica

    return evalica.average_win_rate(**given)


def evalica_scores(result, *, log):
    """In the order of the items, on the scale of the others."""
    values = result.scores.sort_index().to_numpy()
    return centred(np.log(values)) if log else values
