"""Questions about the texts of a dataset: which, in what order, which part of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from judging.errors import JudgeError
from judging.question import Text
from poe.arrays import Indices
from poe.choose.designs import in_orders_shown, regular

if TYPE_CHECKING:
    from judging.datasets import Dataset
from judging.question import Prompt, Question

SHOWN = 400  # characters of a text in an example


def pairs_of(n_items: int, count: int | None, *, both_orders: bool, seed: Sequence[int]) -> Indices:
    """The first `count` of all N(N-1) comparisons in an order of their own; (count, 2).

    All pairs come before any in its other order, unless `both_orders` puts the two next to each
    other. From N - 1 pairs on all items are linked, and every beginning spreads them evenly
    (`poe.choose.designs.regular`). A larger count with the same seed contains a smaller one, so a
    store that is filled further asks only what is new.
    """
    most = n_items * (n_items - 1)
    rng = np.random.default_rng(list(seed))
    upper = regular(n_items, most // 2, seed=rng)
    shown = in_orders_shown(upper, both_orders=both_orders, rng=rng)
    every = shown if both_orders else np.vstack([shown, shown[:, ::-1]])
    count = most if count is None else count
    if count > most:
        raise JudgeError(
            f"{n_items} texts have {most} comparisons, both orders counted; {count} were asked for"
        )
    if both_orders and count % 2:
        raise JudgeError(f"with both orders the calls come in twos: {count + 1}, not {count}")
    return every[:count]


def spanning(n_items: int, pairs: Indices) -> Indices:
    """Positions of the pairs (K, 2) that link something new, one after the other: a forest."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    codes = pairs.min(axis=1) * n_items + pairs.max(axis=1)
    codes, earliest = np.unique(codes, return_index=True)
    # 32 bits are all that SciPy 1.13 takes here.
    ends = tuple(end.astype(np.int32) for end in np.divmod(codes, n_items))
    graph = coo_array((earliest + 1.0, ends), shape=(n_items, n_items))  # a weight of 0 is no link
    forest = minimum_spanning_tree(graph.tocsr())
    return np.sort(forest.data).astype(np.intp) - 1


def questions_of(
    dataset: Dataset,
    prompt: Prompt,
    *,
    contexts: Sequence[int],
    calls: int | None = None,
    both_orders: bool = False,
    seed: int = 0,
) -> list[Question]:
    """The questions of some contexts of a dataset, context after context.

    For a comparison `calls` in each context (all of them by default, see `pairs_of`); for a
    scoring prompt one per text.
    """
    questions = []
    for c in contexts:
        texts = dataset.candidates(c)
        context = dataset.context(c) if "{context}" in prompt.template else None
        if not prompt.comparative:
            questions += [Question(prompt, text, None, context) for text in texts]
            continue
        pairs = pairs_of(len(texts), calls, both_orders=both_orders, seed=(seed, c))
        questions += [Question(prompt, texts[i], texts[j], context) for i, j in pairs.tolist()]
    return questions


def examples(dataset: Dataset, prompt: Prompt) -> Iterator[Question]:
    """Questions to look at: the first pair of every context, other pairs if there is only one.

    Long texts are cut.
    """

    def shown(text: Text) -> Text:
        rest = len(text.text) - SHOWN
        return (
            Text(text.id, f"{text.text[:SHOWN]} [{rest:,} more characters]") if rest > 0 else text
        )

    step = 2 if prompt.comparative else 1
    last = dataset.n_candidates - step if dataset.n_contexts == 1 else 0
    for c in range(dataset.n_contexts):
        context = dataset.context(c) if "{context}" in prompt.template else None
        texts = [shown(text) for text in dataset.candidates(c)]
        for k in range(0, last + 1, step):
            second = texts[k + 1] if prompt.comparative else None
            yield Question(prompt, texts[k], second, context and shown(context))


def shard_of(questions: Sequence[Question], shard: str | None) -> list[Question]:
    """The i-th of n equal parts for "i/n", neighbours together so that prefixes are shared."""
    if shard is None:
        return list(questions)
    form = re.fullmatch(r"(\d+)/(\d+)", shard)
    i, n = (int(form[1]), int(form[2])) if form else (0, 0)
    if not 1 <= i <= n:
        raise JudgeError(f"a shard is written 2/8, the second of eight, not {shard!r}")
    cut = [len(questions) * k // n for k in (i - 1, i)]
    return list(questions[cut[0] : cut[1]])
