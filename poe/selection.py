"""Which comparisons to ask for: `select` before any answer, `next_comparisons` given some.

A pair is an ordered pair of positions (first, second). The rules "random", "no-repeat" and
"symmetric" are those of the comparative-assessment paper, section 3.4; "greedy" is that of
the products-of-experts paper, section 3.6. Beneath them are designs that need no search:
`chain`, `linked` and `regular`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from poe.comparisons import Floats, Indices, Mask
from poe.experts import Expert
from poe.greedy import choose, count_shown, require_room, times_asked
from poe.resistance import as_pairs, component_of, effective_resistance
from poe.result import Fit
from poe.stack import differences

__all__ = [
    "chain",
    "curvature_at",
    "expected_curvatures",
    "in_orders_shown",
    "linked",
    "next_comparisons",
    "regular",
    "resistances",
    "select",
    "select_stack",
]

Rule = Literal["random", "no-repeat", "symmetric", "greedy", "regular"]
NextRule = Literal["laplace", "determinant", "random"]

_LISTED = 200  # items up to which random sets are drawn from a list of all pairs
_REDRAWS = 200  # of such sets before a spanning tree is used
_REDRAWS_LARGE = 10  # of larger ones, which fit at once or never
_REPAIRS = 100  # rounds of swaps before another ring is drawn; ten are rarely needed


def select(
    n_items: int,
    count: int,
    *,
    rule: Rule = "random",
    seed: int | np.random.Generator = 0,
    cover: bool = True,
    connected: bool = True,
    both_orders: bool = False,
    start: Literal["chain", "nothing"] = "chain",
) -> Indices:
    """Draw `count` different comparisons among N items; (count, 2) positions.

    rule :
        "random", any of the N(N-1) ordered pairs.
        "no-repeat", never both orders of a pair, the order shown being random.
        "symmetric", always both orders, so `count` (which counts calls to the judge, as
        the paper's K does) must be even.
        "greedy", one after the other the pair that most increases det(W-tilde' W-tilde)
        (paper eq. 16; book eq. 10.4), ties broken at random. No pair is asked again while there
        are new ones, and then in the other order only. In order of choice: a smaller count with the
        same seed is a beginning of a larger. Memory grows as N^2, to 6,000 items, and work as
        N^2 a comparison at worst: beyond a few thousand items "regular" serves better.
        "regular", every item equally often in a random graph, at any N, see
        `poe.selection.regular`; its determinant is nearly that of "greedy".
    both_orders : each pair is asked in both orders, as "symmetric" does for random pairs.
    start : where "greedy" begins: "chain", the paper's N - 1 comparisons of neighbours in the
        list of items (eq. 60), or "nothing", the same chain in a random order. To go on from
        comparisons already made, see `poe.next_comparisons` and its rule "determinant".
    cover : every item takes part. connected : every item is linked to every other, which
        all products of experts need; it implies cover. Both hold for "greedy" and
        "regular" whatever is given.

    The first three rules return random order, and their sets are uniform among those that
    satisfy the conditions. Where such sets are so rare that bounded redrawing finds none, a
    uniform spanning tree is completed by uniform pairs instead. Raises ValueError when
    `count` cannot satisfy the conditions.
    """
    rng = np.random.default_rng(seed)
    if n_items < 2:
        raise ValueError(f"comparisons need at least two items, not {n_items}")
    if start != "chain" and rule != "greedy":
        raise ValueError(f"start is for rule 'greedy'; rule {rule!r} always starts from nothing")
    if rule not in ("greedy", "regular"):
        rule = "symmetric" if both_orders else rule
        conditions = {"cover": cover, "connected": connected}
        return select_stack(1, n_items, count, rule=rule, seed=rng, **conditions)[0]
    again = rule == "greedy" and not both_orders  # a pair may be asked in its other order, later
    size = _pairs_in(count, n_items, rule, n_items - 1, ordered=again, both_orders=both_orders)
    if rule == "greedy":
        if start not in ("chain", "nothing"):
            raise ValueError(f"start must be 'chain' or 'nothing', not {start!r}")
        nothing = np.empty((0, 2), dtype=np.intp)
        links = chain(n_items) if start == "chain" else linked(n_items, nothing, seed=rng)
        return _extended(rng, n_items, nothing, np.ones(0), links, count, both_orders)
    pairs = regular(n_items, size, seed=rng)
    return _both_orders(pairs) if both_orders else pairs


def select_stack(
    draws: int,
    n_items: int,
    count: int,
    *,
    rule: Rule = "random",
    seed: int | np.random.Generator = 0,
    cover: bool = True,
    connected: bool = True,
) -> Indices:
    """As `select`, `draws` times: (draws, count, 2) positions."""
    rng = np.random.default_rng(seed)
    if rule in ("greedy", "regular"):
        return np.stack([select(n_items, count, rule=rule, seed=rng) for _ in range(draws)])
    if rule not in ("random", "no-repeat", "symmetric"):
        known = "'random', 'no-repeat', 'symmetric', 'greedy', 'regular'"
        raise ValueError(f"rule must be one of {known}, not {rule!r}")
    ordered, symmetric = rule == "random", rule == "symmetric"
    least = n_items - 1 if connected else (n_items + 1) // 2 if cover else 1
    why = f"the fewest that {'link' if connected else 'cover'} them all"
    size = _pairs_in(count, n_items, rule, least, why, ordered=ordered, both_orders=symmetric)
    draw = _listed if n_items <= _LISTED else _scattered
    pairs = draw(rng, draws, n_items, size, ordered, cover, connected)
    if rule == "no-repeat":
        flip = rng.random(pairs.shape[:2]) < 0.5
        return np.where(flip[..., None], pairs[..., ::-1], pairs)
    return _both_orders(pairs) if symmetric else pairs


def _pairs_in(
    count: int,
    n_items: int,
    rule: str,
    least: int,
    why: str = "the fewest that link them all",
    *,
    ordered: bool,
    both_orders: bool,
) -> int:
    """The number of pairs that `count` calls pay for; ValueError if too few or too many."""
    calls = 2 if both_orders else 1
    most = n_items * (n_items - 1) // (1 if ordered else 2) * calls
    if count % calls:
        raise ValueError(f"both orders of each pair are asked, so count must be even: {count}")
    if not least * calls <= count <= most:
        raise ValueError(
            f"count is {count}; with rule {rule!r}, {n_items} items allow {least * calls} "
            f"({why}) to {most} comparisons"
        )
    return count // calls


def _both_orders(pairs: Indices) -> Indices:
    """Each pair followed by its other order: (..., K, 2) to (..., 2 K, 2)."""
    both = np.stack([pairs, pairs[..., ::-1]], axis=-2)
    return both.reshape(*pairs.shape[:-2], -1, 2)


def in_orders_shown(pairs: Indices, *, both_orders: bool, rng: np.random.Generator) -> Indices:
    """Each pair in a random order, followed by the other order if both are asked."""
    flip = rng.random(len(pairs)) < 0.5
    shown = np.where(flip[:, None], pairs[:, ::-1], pairs)
    return _both_orders(shown) if both_orders else shown


def _extended(
    rng: np.random.Generator,
    n_items: int,
    made: Indices,
    weight: Floats,
    links: Indices,
    count: int,
    both_orders: bool,
) -> Indices:
    """`count` comparisons to add to those made: links to join all items, then greedily.

    Between items that nothing links the resistance is infinite. Returns order of choice.
    """
    require_room(n_items)
    first = in_orders_shown(links, both_orders=both_orders, rng=rng)[:count]
    every = np.vstack([made, first])
    if len(first) == count:
        return first
    if len(made):
        weight = np.append(weight, np.ones(len(first)))
        resistance = effective_resistance(n_items, every, weight=weight)
    else:
        # The links are a path, along which resistances are distances: exact, unlike an inverse.
        place = np.empty(n_items)
        place[np.append(links[:1, 0], links[:, 1])] = np.arange(n_items) / (1 + both_orders)
        resistance = np.subtract.outer(place, place)
        np.abs(resistance, out=resistance)
    shown = count_shown(n_items, every)
    more = choose(resistance, shown, count - len(first), rng=rng, both_orders=both_orders)
    return np.vstack([first, more])


# The next comparisons, given answers -------------------------------------------------------------


def next_comparisons(
    fit: Fit,
    count: int,
    *,
    rule: NextRule = "laplace",
    both_orders: bool = False,
    seed: int | np.random.Generator = 0,
) -> Indices:
    """The `count` comparisons to ask for next; (count, 2) positions in `fit.items`.

    rule :
        "laplace", argmax c_ij R_ij (paper 3.6, A.6; book eq. 10.9), one after the other: R_ij the
        variance of s_i - s_j under Laplace's approximation at the scores of `fit`, c_ij the
        curvature a comparison of i and j would add (`expected_curvatures`), for
        Bradley-Terry sigma(s_i - s_j) sigma(s_j - s_i). Each pick updates R (rank one); scores
        and c_ij stay until you fit again, which a batch of one does after every answer.
        "determinant", argmax R_ij with c_ij = 1 (paper eq. 16): looks at what was asked, not
        at the answers.
        "random", uniform.
    both_orders : each pair is asked in both orders, so `count`, which counts calls, is even.

    No pair is repeated while there are new ones; a pair asked in one order only is then
    asked in the other. A new pair is shown in a random order. Comparisons that a prior added to
    the fit count as information, not as asked. N x N numbers are stored, up to 6,000 items.
    """
    if count < 1 or (both_orders and count % 2):
        even = " and, with both orders, even" if both_orders else ""
        raise ValueError(f"count must be at least 1{even}, not {count}")
    rng, n = np.random.default_rng(seed), len(fit.items)
    require_room(n)
    really = np.broadcast_to(fit.tilt, fit.comparisons.p.shape) != 0  # not from a prior
    asked = fit.comparisons.pairs[really]
    if rule == "laplace":
        c, shown = expected_curvatures(fit), count_shown(n, asked)
        return choose(
            resistances(fit),
            shown,
            count,
            rng=rng,
            strength=lambda i, j: c[i, j],
            both_orders=both_orders,
        )
    if rule == "determinant":
        weight, links = fit.comparisons.weight[really], linked(n, asked, seed=rng)
        return _extended(rng, n, asked, weight, links, count, both_orders)
    if rule == "random":
        return _next_random(rng, n, asked, count, both_orders)
    raise ValueError(f"rule must be 'laplace', 'determinant' or 'random', not {rule!r}")


def resistances(fit: Fit) -> Floats:
    """(N, N) variances of s_i - s_j under Laplace's approximation (paper A.5), a bias held fixed.

    In units in which the expert's own curvature counts: a sigma that was estimated from
    the residuals scales all of them alike and is left out.
    """
    c = fit.comparisons
    d = differences(c, fit.scores) - fit.bias * np.broadcast_to(fit.tilt, c.p.shape)
    stiffness = c.weight * _curvature(fit.expert, d, c.p)
    if not stiffness.max() > 0.0:
        raise ValueError(
            f"{fit.expert!r} has no positive curvature at these scores, so Laplace's approximation "
            "does not exist; use rule='determinant' or another expert"
        )
    # A comparison far off in a flat tail tells nothing here, yet still links its items.
    stiffness = np.maximum(stiffness, 1e-9 * stiffness.max())
    return effective_resistance(c.n_items, c.pairs, weight=stiffness)


def expected_curvatures(fit: Fit) -> Floats:
    """(N, N) the curvature that one more comparison of i and j would add, whatever its order.

    The mean over the two orders of the expert's curvature at the present difference, the bias
    included, for the answer that agrees with it (`curvature_at`).
    """
    d = np.subtract.outer(fit.scores, fit.scores)
    return 0.5 * (curvature_at(fit.expert, d - fit.bias) + curvature_at(fit.expert, -d - fit.bias))


def curvature_at(expert: Expert, d: Floats) -> Floats:
    """The expert's curvature at differences d for the answers that agree with them.

    That is the p with opinion(p) = d for an expert that has an `opinion`, p = sigma(d)
    otherwise. Bradley-Terry's does not depend on p: sigma(d) sigma(-d).
    """
    opinion = getattr(expert, "opinion", None)
    p = np.linspace(0.001, 0.999, 999)
    at = np.log(p / (1.0 - p)) if opinion is None else opinion(p)
    return _curvature(expert, d, np.interp(d, at, p))


def _curvature(expert: Expert, d: Floats, p: Floats) -> Floats:
    """The expert's curvature, or its Fisher information where it has none (Laplacian)."""
    found = np.asarray(getattr(expert, "information", expert.curvature)(d, p), dtype=float)
    if not (found >= 0.0).all():
        raise ValueError(
            f"{expert!r} has a curvature that is negative or not a number at these scores, so "
            "Laplace's approximation does not exist; use rule='determinant' or another expert"
        )
    return found


def _next_random(
    rng: np.random.Generator, n_items: int, asked: Indices, count: int, both_orders: bool
) -> Indices:
    """Uniform among the pairs asked least often; when they are used up, among the next."""
    shown = count_shown(n_items, asked)
    made = np.empty((0, 2), dtype=np.intp)
    upper = np.triu(np.ones((n_items, n_items), dtype=bool), 1)
    while len(made) < count:
        level = times_asked(shown, shown.T)
        pool = rng.permutation(np.argwhere(upper & (level == level[upper].min())))
        pairs = in_orders_shown(pool, both_orders=both_orders, rng=rng)
        if not both_orders:
            again = shown[pairs[:, 0], pairs[:, 1]] > shown[pairs[:, 1], pairs[:, 0]]
            pairs = np.where(again[:, None], pairs[:, ::-1], pairs)
        np.add.at(shown, (pairs[:, 0], pairs[:, 1]), 1)
        made = np.vstack([made, pairs])
    return made[:count]


# Random sets ----------------------------------------------------------------------------------


def _listed(
    rng: np.random.Generator,
    draws: int,
    n_items: int,
    size: int,
    ordered: bool,
    cover: bool,
    connected: bool,
) -> Indices:
    """(draws, size, 2) sets from a list of all pairs; those that do not fit are drawn again."""
    pool = np.argwhere(~np.eye(n_items, dtype=bool))
    pool = pool if ordered else pool[pool[:, 0] < pool[:, 1]]
    sets = pool[_subsets(rng, draws, len(pool), size)]
    waiting = np.arange(draws)
    for _ in range(_REDRAWS):
        waiting = waiting[~_fits(sets[waiting], n_items, cover, connected)]
        if not waiting.size:
            break
        sets[waiting] = pool[_subsets(rng, len(waiting), len(pool), size)]
    for draw in waiting:
        links = _oriented(rng, _fewest_links(rng, n_items, connected))
        links = links if ordered else np.sort(links, axis=1)
        rest = rng.permutation(_without(links, pool, n_items))[: size - len(links)]
        sets[draw] = rng.permutation(np.vstack([links, rest]))
    return sets


def _scattered(
    rng: np.random.Generator,
    draws: int,
    n_items: int,
    size: int,
    ordered: bool,
    cover: bool,
    connected: bool,
) -> Indices:
    """As `_listed` for large N, without a list of all pairs."""
    pool = n_items * (n_items - 1) // (1 if ordered else 2)
    sets = np.empty((draws, size, 2), dtype=np.intp)
    for draw in range(draws):
        for _ in range(_REDRAWS_LARGE):
            sets[draw] = _decoded(rng.choice(pool, size, replace=False), n_items, ordered)
            if _fits(sets[draw, None], n_items, cover, connected)[0]:
                break
        else:
            links = _fewest_links(rng, n_items, connected)
            links = _oriented(rng, links) if ordered else links
            rest = _without(links, sets[draw], n_items)[: size - len(links)]
            sets[draw] = rng.permutation(np.vstack([links, rest]))
    return sets


def _subsets(rng: np.random.Generator, draws: int, pool: int, size: int) -> Indices:
    """Uniform subsets of range(pool), each in random order: (draws, size)."""
    if draws * pool <= 50_000_000 and draws > 1:
        keys = rng.random((draws, pool), dtype=np.float32)
        return np.argsort(keys, axis=1)[:, :size]
    return np.stack([rng.permutation(pool)[:size] for _ in range(draws)])


def _fits(sets: Indices, n_items: int, cover: bool, connected: bool) -> Mask:
    """Which of the (B, size, 2) sets cover or link all items."""
    fits = np.ones(len(sets), dtype=bool)
    if cover or connected:
        apart = sets + n_items * np.arange(len(sets))[:, None, None]  # B graphs side by side
        times = np.bincount(apart.ravel(), minlength=n_items * len(sets))
        fits = np.asarray(times.reshape(-1, n_items).all(axis=1))
    if connected and fits.any():  # most sets that fail leave an item out, which is soon seen
        left = sets[fits] + n_items * np.arange(fits.sum())[:, None, None]
        group = component_of(n_items * len(left), left.reshape(-1, 2)).reshape(-1, n_items)
        fits[fits] = (group == group[:, :1]).all(axis=1)
    return fits


def _without(links: Indices, pairs: Indices, n_items: int) -> Indices:
    """Those of the pairs that are not among the links."""
    taken, code = (one[:, 0] * n_items + one[:, 1] for one in (links, pairs))
    return pairs[~np.isin(code, taken)]


def _decoded(code: Indices, n_items: int, ordered: bool) -> Indices:
    """Pairs from numbers below N(N-1), or i < j from numbers below N(N-1)/2."""
    if ordered:
        first, second = np.divmod(code, n_items - 1)
        return np.column_stack([first, second + (second >= first)])
    # Item j has j pairs with those before it; j and N - j together have N.
    high, low = np.divmod(code, n_items)
    high += 1
    folded = low >= high
    low, high = np.where(folded, low - high, low), np.where(folded, n_items - high, high)
    return np.column_stack([low, high])


def _fewest_links(rng: np.random.Generator, n_items: int, connected: bool) -> Indices:
    """Pairs i < j: a spanning tree drawn uniformly, or as few as touch every item."""
    if not connected:
        order = rng.permutation(n_items)
        return np.sort(np.append(order, order[: n_items % 2]).reshape(-1, 2), axis=1)
    # Each item's first entry in a random walk.
    here = int(rng.integers(n_items))
    entered, links = {here}, list[tuple[int, int]]()
    while len(entered) < n_items:
        step = int(rng.integers(n_items - 1))
        there = step + (step >= here)
        if there not in entered:
            entered.add(there)
            links.append((min(here, there), max(here, there)))
        here = there
    return np.array(links, dtype=np.intp)


def _oriented(rng: np.random.Generator, links: Indices) -> Indices:
    return np.where(rng.random((len(links), 1)) < 0.5, links, links[:, ::-1])


# Designs --------------------------------------------------------------------------------------


def chain(n_items: int) -> Indices:
    """The N - 1 comparisons 0-1, 1-2, ..., the start of paper eq. 60, book eq. 10.7; (N - 1, 2)."""
    return np.column_stack([np.arange(n_items - 1), np.arange(1, n_items)]).astype(np.intp)


def linked(n_items: int, pairs: ArrayLike, *, seed: int | np.random.Generator = 0) -> Indices:
    """As few comparisons as link all items: groups in random order, each to the next; (G - 1, 2).

    A link ends at the least compared items of a group, drawn at random among them. From
    nothing every item is a group, and the links are the chain in a random order. To a
    determinant all are alike: before the last link it is zero, and what a link adds does
    not depend on where in its groups it ends.
    """
    rng = np.random.default_rng(seed)
    group = component_of(n_items, pairs)
    degree = np.bincount(as_pairs(n_items, pairs).ravel(), minlength=n_items)
    members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    links = []
    for here, there in pairwise(rng.permutation(len(members))):
        least = (m[degree[m] == degree[m].min()] for m in (members[here], members[there]))
        ends = [int(rng.choice(one)) for one in least]
        degree[ends] += 1
        links.append(ends)
    return np.array(links, dtype=np.intp).reshape(-1, 2)


def regular(n_items: int, count: int, *, seed: int | np.random.Generator = 0) -> Indices:
    """A random graph in which all items are compared equally often; (count, 2), no pair twice.

    Rings through all items in random order, one after the other, the first of which (from
    N - 1 pairs on) links everything. The numbers of comparisons of two items differ by at
    most one, for odd N by two; a whole ring shows each item first once. O(count) memory and
    nearly as much work, so it serves where no N x N matrix fits.

    Random regular graphs are expanders, and their determinant is close to that of greedy
    selection (measured at 1056 items: as if one pair in a thousand had not been asked). What
    is given up: nothing is optimised, and comparisons already made are not looked at.

    Where the graph is dense (a ring would often repeat a pair) the rounds of a round-robin
    tournament of items in random order are used instead. ValueError above N(N-1)/2 pairs.
    """
    most = n_items * (n_items - 1) // 2
    if not 0 <= count <= most:
        raise ValueError(f"{n_items} items have {most} pairs; {count} were asked for")
    rng = np.random.default_rng(seed)
    if 16 * count > n_items**2:  # more than an eighth of all pairs
        return _round_robin(n_items, rng)[:count]
    taken, rings = np.empty(0, dtype=np.intp), [np.empty((0, 2), dtype=np.intp)]
    for _ in range(-(-count // n_items)):
        order = _fresh_order(rng, n_items, taken)
        edges = np.column_stack([order, np.roll(order, -1)])
        # Every other edge of the ring first, so that degrees keep level.
        rings.append(np.vstack([edges[0:-1:2], edges[1:-1:2], edges[-1:]]))
        # Merging two ascending runs is what a stable sort does fast.
        taken = np.sort(np.append(taken, np.sort(_codes(edges, n_items))), kind="stable")
    return np.vstack(rings)[:count]


def _fresh_order(rng: np.random.Generator, n_items: int, taken: Indices) -> Indices:
    """A random order whose ring has no pair among `taken`: swaps mend one that has."""
    order = rng.permutation(n_items)
    check = np.arange(n_items)  # edges, by their first end's place in the order
    for _ in range(_REPAIRS):
        edges = np.column_stack([order[check], order[(check + 1) % n_items]])
        here = check[_contains(taken, _codes(edges, n_items))]
        if not here.size:
            return order
        there = rng.integers(n_items, size=len(here))
        for a, b in zip(here, there, strict=True):
            order[[a, b]] = order[[b, a]]
        moved = np.concatenate([here, there])
        check = np.unique(np.concatenate([moved, moved - 1]) % n_items)
    return _fresh_order(rng, n_items, taken)


def _codes(pairs: Indices, n_items: int) -> Indices:
    """A number for each pair, the same for its two orders."""
    return np.asarray(pairs.min(axis=1) * n_items + pairs.max(axis=1))


def _contains(ascending: Indices, wanted: Indices) -> Mask:
    at = np.searchsorted(ascending, wanted)
    return np.asarray(np.append(ascending, -1)[at] == wanted)


def _round_robin(n_items: int, rng: np.random.Generator) -> Indices:
    """All pairs as the rounds of a tournament; the first two rounds together link everything.

    In round t items i and j meet if i + j = t modulo M = N - 1, and the item with 2i = t meets the
    one left over. For odd N a guest makes the number even; whoever meets it rests.
    """
    even = n_items + n_items % 2
    rounds = (rng.integers(even - 1) + np.arange(2)) % (even - 1)
    rest = np.setdiff1d(np.arange(even - 1), rounds)
    order = np.concatenate([np.unique(rounds), rng.permutation(rest)])
    label = rng.permutation(n_items)
    made = []
    for turn, t in enumerate(order):
        one = np.arange(even - 1)
        other = (t - one) % (even - 1)
        # Shown first is whoever has the other within half a circle ahead.
        meet = ((other - one) % (even - 1) <= (even - 2) // 2) & (one != other)
        pairs = np.column_stack([one[meet], other[meet]])
        if n_items == even:
            left_over = [one[one == other][0], even - 1]
            pairs = np.vstack([pairs, left_over[:: 1 - 2 * (turn % 2)]])
        made.append(label[pairs])
    return np.vstack(made)
