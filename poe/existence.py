"""When a finite answer exists, and which items stand in its way when it does not."""

from __future__ import annotations

import numpy as np

from poe.arrays import Floats, Mask
from poe.comparisons import Comparisons
from poe.errors import SeparableError, UnidentifiedBiasError, name_some
from poe.graph import Graph, soon_all_linked, strong_components

FEW = 100  # items, whose ways all fit a small matrix


def require_finite(
    comparisons: Comparisons, rises: Mask, falls: Mask, *, x: Floats | None = None, ties: int = 0
) -> None:
    """Raise SeparableError if the energy falls for ever in some direction.

    rises, falls : (K,) whether a comparison's energy grows at last as its difference does, and
    as it falls. Where it does not, the expert never pulls back from that side: a certain win does
    not mind however far the winner is ahead. x : (K,) what a fitted bias is multiplied by. ties :
    how many comparisons, the last, are a prior's, which holds the scores and not a bias.
    """
    require_beaten(comparisons, lost=rises, won=falls)
    if x is None:
        return
    if ties:
        _require_bias_held(rises[:-ties], falls[:-ties], x[:-ties])
    else:
        _require_finite_bias(comparisons, rises, falls, x)


def require_beaten(comparisons: Comparisons, *, lost: Mask, won: Mask) -> None:
    """Raise SeparableError unless every group of items both won and lost against the rest.

    lost, won : (K,) whether the first item lost or won the comparison at least partly, so
    that its score cannot rise or fall for ever. Finite Bradley-Terry scores exist if and only
    if the graph of "lost to" is strongly connected (Ford 1957).
    """
    first, second = comparisons.first, comparisons.second
    loser = np.concatenate([first[lost], second[won]])
    winner = np.concatenate([second[lost], first[won]])
    if soon_all_linked(loser, winner, comparisons.n_items):
        return
    edges = np.column_stack([loser, winner])
    groups = strong_components(comparisons.n_items, edges)
    if groups.max() == 0:
        return
    comparisons.require_connected()
    outward = groups[edges[:, 0]] != groups[edges[:, 1]]
    top = np.setdiff1d(groups, groups[edges[outward, 0]])[0]
    bottom = np.setdiff1d(groups, groups[edges[outward, 1]])[0]
    # One of the two groups says it all; the smaller is easier to act on.
    size = np.bincount(groups)
    group, what = (top, "lost to") if size[top] <= size[bottom] else (bottom, "won against")
    names = [comparisons.items[i] for i in np.flatnonzero(groups == group)]
    reason = f"{'item' if len(names) == 1 else 'items'} {name_some(names)} never {what} the rest"
    raise SeparableError(
        f"{reason}, so the scores are infinite; use probabilities instead of decisions, add "
        "comparisons, or give a prior (the paper's is prior=1/(N-1), here "
        f"{1 / (comparisons.n_items - 1):.3g})",
        reason=reason,
        items=names,
    )


def _require_finite_bias(comparisons: Comparisons, above: Mask, below: Mask, x: Floats) -> None:
    """With a free bias there is one more direction to run away in; a linear program finds it."""
    if comparisons.n_items <= FEW and all(
        _closed(comparisons, above, below, sign * x / np.abs(x).max()) for sign in (1.0, -1.0)
    ):
        return  # soon seen, and so in most sets of few items
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, vstack

    from poe.large import incidence

    n = comparisons.n_items
    # Rows of (W, -x) times the direction (v, g) must not go where an expert pulls back.
    w = incidence(comparisons.first, comparisons.second, n)
    rows = csr_array(hstack([w, csr_array(-x[:, None] / np.abs(x).max())]))
    up, down = ~above, ~below  # free to rise, free to fall
    gain = (rows[up].sum(axis=0) if up.any() else 0) - (rows[down].sum(axis=0) if down.any() else 0)
    stuck = above & below
    program = linprog(
        -np.asarray(gain).ravel(),
        A_ub=vstack([-rows[up], rows[down], rows[up], -rows[down]]),
        b_ub=np.repeat([0.0, 1.0], up.sum() + down.sum()),
        A_eq=rows[stuck] if stuck.any() else None,
        b_eq=np.zeros(stuck.sum()) if stuck.any() else None,
        bounds=[(-2.0 * n, 2.0 * n)] * (n + 1),
        method="highs",
    )
    if program.status == 0 and -program.fun > 1e-6:
        side = "first" if program.x[-1] < 0 else "second"
        what = f"preference for the {side} position" if (x == 1.0).all() else "weight of it"
        reason = (
            f"with a fitted bias the decisions are separable: scores and a {what} explain every "
            "one of them"
        )
        raise SeparableError(
            f"{reason}, so neither is finite; use probabilities, ask more pairs in both orders, "
            "give a prior, or give the bias as a number",
            reason=reason,
        )


def _closed(comparisons: Comparisons, above: Mask, below: Mask, x: Floats) -> bool:
    """Whether no scores v go along with a bias that runs away by x: (K,), with its sign.

    They would have v_first - v_second <= x where the energy grows at last as the difference does,
    and >= x where it grows as that falls: lengths of ways, which exist unless a cycle is shorter
    than none (Bellman and Ford).
    """
    n, first, second = comparisons.n_items, comparisons.first, comparisons.second
    step = np.full((n, n), np.inf)  # from one item to the other
    np.minimum.at(step, (second[above], first[above]), x[above])
    np.minimum.at(step, (first[below], second[below]), -x[below])
    length = np.zeros(n)
    for _ in range(n):
        before, length = length, np.minimum(length, (length[:, None] + step).min(axis=0))
        if (length >= before - 1e-9).all():
            return False
    return True


def _require_bias_held(rises: Mask, falls: Mask, x: Floats) -> None:
    """Raise SeparableError if all answers went to one position where a prior ties all the items.

    rises, falls, x : of the answers alone, as for `require_finite`.
    """
    up, down = (rises & (x > 0)) | (falls & (x < 0)), (falls & (x > 0)) | (rises & (x < 0))
    if not (up.any() and down.any()):
        side = f"the {'second' if up.any() else 'first'} position"
        reason = f"every decision went to {side if (x == 1.0).all() else 'one side of it'}"
        raise SeparableError(
            f"{reason}, so a fitted bias is infinite, whatever the prior on the scores; use "
            "probabilities, ask more pairs in both orders, or give the bias as a number or None",
            reason=reason,
        )


def require_bias_identified(
    comparisons: Comparisons, graph: Graph | None = None, x: Floats | None = None
) -> None:
    """Raise UnidentifiedBiasError unless `bias_identified`. graph : of these comparisons."""
    if bias_identified(comparisons, x, graph):
        return
    if x is not None and (x != 1.0).any():
        raise UnidentifiedBiasError(
            "the covariate cannot be told from the scores, being a difference of two items' own "
            "numbers; give bias as a number, or a prior: then scores owe nothing to it"
        )
    raise UnidentifiedBiasError(
        "a position bias cannot be told from the scores: scores that drop by the same amount "
        f"from first to second in all {len(comparisons)} comparisons would look just like it; "
        "show some of the pairs in the other order, or give the bias as a number"
    )


def bias_identified(
    comparisons: Comparisons, x: Floats | None = None, graph: Graph | None = None
) -> bool:
    """Tell whether no scores could imitate a bias that is multiplied by x, (K,), by default by 1.

    They can where x is first minus second of some scores in every comparison: of 1 along a chain
    a-b-c that is never shown the other way round, of lengths always.
    """
    if graph is None:
        from poe.large import LargeGraph

        graph = LargeGraph(comparisons)
    ones = np.ones(len(comparisons))
    x = ones if x is None else graph.laid(x)
    # What scores leave of a bias is a whole number of comparisons or so, or rounding.
    return graph.bias_information(ones, x) >= 1e-8 * float(x @ x)
