"""Panels of judges with known truth: recorded ones, to try methods on.

No method is shown the truth; it is there to see how well they do.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from poe import datasets
from poe.comparisons import Comparisons
from poe.judges import recorded
from poe.panel.errors import AggregationError
from poe.panel.judgements import Judgements, judgements

ADVERSARIAL = (
    "Adversarial-Neighbor",
    "Adversarial-GPTInst",
    "Adversarial-GPTOut",
    "Adversarial-Manual",
)
LLMBAR = ("Natural", *ADVERSARIAL)
Order = Literal["given", "swapped", "both", "separate"]


@dataclass(frozen=True, eq=False)
class LabelledPanel:
    """Judgements, what is true, and the contexts.

    judgements : of N samples by K judges. truth : (N,) class positions. groups : (N,) the set
    each sample is of. context : N texts, (N, F) vectors, or None. kind : "recorded" or
    "simulated". name, note : for tables.
    """

    name: str
    kind: str
    judgements: Judgements
    truth: NDArray[np.integer[Any]]
    groups: NDArray[Any]
    context: Any = field(default=None, repr=False)
    note: str = ""

    def __len__(self) -> int:
        return len(self.truth)

    def take(self, *, rows: Any = slice(None), judges: Any = slice(None)) -> LabelledPanel:
        """Some samples and some judges."""
        context = self.context
        if context is not None:
            at = np.arange(len(self))[rows]
            array = isinstance(context, np.ndarray)
            context = context[at] if array else [context[i] for i in at]
        return LabelledPanel(
            self.name,
            self.kind,
            self.judgements.take(rows=rows, judges=judges),
            self.truth[rows],
            self.groups[rows],
            context,
            self.note,
        )

    def judge_accuracy(self) -> pd.DataFrame:
        """One row a judge: share of its judgements that are right, its error, and their number."""
        seen = self.judgements.seen
        right = (self.judgements.decisions == self.truth[:, None]) & seen
        count = seen.sum(axis=0)
        share = right.sum(axis=0) / count
        se = np.sqrt(share * (1 - share) / count)
        return pd.DataFrame(
            {"judge": list(self.judgements.judges), "accuracy": share, "se": se, "n": count}
        )


def llmbar(
    sets: str | Sequence[str] = LLMBAR,
    *,
    strategies: str | Sequence[str] | None = None,
    order: Order = "both",
    with_texts: bool = False,
    source: datasets.Source = "real",
) -> LabelledPanel:
    """LLMBar's recorded verdicts: pairs by judges-under-a-prompt, class 1 = output 1 is better.

    sets : of `LLMBAR` (419 pairs, 65 columns), or FairEval, LLMEval^2 and MT-Bench, which only
        eight of the columns cover. strategies : prompts to keep ("Vanilla", "CoT", ...); all by
        default. order : "given" shows output 1 first, "swapped" output 2; "both" averages
        the two verdicts, and a judge that contradicts itself has no judgement of the pair;
        "separate" has a column an order. with_texts : also the instruction and both outputs as
        context. source : see `poe.judges.recorded.llmbar`; a stand-in is simulated and small.
    """
    table = recorded.llmbar(sets, source=source)
    kind = str(table.attrs["kind"])
    if strategies is not None:
        wanted = [strategies] if isinstance(strategies, str) else list(strategies)
        unknown = sorted(set(wanted) - set(table["strategy"]))
        if unknown:
            raise AggregationError(
                f"no strategy {unknown[0]!r}; there are {sorted(set(table['strategy']))}"
            )
        table = table[table["strategy"].isin(wanted)]
    table = table.assign(
        column=table["judge"] + "/" + table["strategy"],
        p1=np.where(table["first"] == 1, table["p"], 1.0 - table["p"]),
    )
    labels = table.drop_duplicates(["set", "item"]).set_index(["set", "item"])["label"]
    wide = {
        first: table[table["first"] == first]
        .pivot(index=["set", "item"], columns="column", values="p1")
        .reindex(labels.index)
        for first in (1, 2)
    }
    values = _ordered(wide[1], wide[2], order)
    values = values.loc[:, values.notna().any()]
    context = None
    if with_texts:
        pairs = recorded.llmbar_pairs().set_index(["set", "item"]).reindex(labels.index)
        parts = pairs[["input", "output_1", "output_2"]]
        context = ["\n\n".join(row) for row in parts.itertuples(index=False)]
    name = "LLMBar " + (sets if isinstance(sets, str) else _short(sets))
    return LabelledPanel(
        name,
        kind,
        judgements(values),
        (labels.to_numpy() == 1).astype(np.intp),
        labels.index.get_level_values("set").to_numpy(),
        context,
        f"order: {order}",
    )


def _short(sets: Sequence[str]) -> str:
    known = {LLMBAR: "all", ADVERSARIAL: "adversarial"}
    return known.get(tuple(sets), ", ".join(sets))


def _ordered(given: pd.DataFrame, swapped: pd.DataFrame, order: Order) -> pd.DataFrame:
    if order == "given":
        return given
    if order == "swapped":
        return swapped
    if order == "separate":
        return pd.concat(
            [given.add_suffix(" given"), swapped.add_suffix(" swapped")], axis=1
        ).sort_index(axis=1)
    if order != "both":
        raise AggregationError(
            f"order must be 'given', 'swapped', 'both' or 'separate', not {order!r}"
        )
    mean = (given + swapped) / 2.0  # NaN where either is missing
    return mean.where(mean != 0.5)


def pandalm(*, people: bool = False, source: datasets.Source = "real") -> LabelledPanel:
    """PandaLM's 999 pairs, three classes: 0 the second is better, 1 a tie, 2 the first.

    Judges are gpt-3.5-turbo and PandaLM-7B, in one order; truth is the majority of three
    people. people : not available from the recorded table, which keeps their majority only.
    """
    if people:
        raise AggregationError("the recorded table keeps the people's majority, not each of them")
    table = recorded.pandalm(source=source)
    values = table.pivot(index="item", columns="judge", values="p")
    truth = table.drop_duplicates("item").set_index("item")["people"].reindex(values.index)
    said = np.where(values.isna(), -1, np.rint(2 * values.fillna(0))).astype(np.intp)
    return LabelledPanel(
        "PandaLM",
        str(table.attrs["kind"]),
        judgements(said, judges=list(values.columns), classes=("second", "tie", "first")),
        np.rint(2 * truth.to_numpy()).astype(np.intp),
        np.full(len(values), "PandaLM"),
    )


def comparisons_of(
    sets: str | Sequence[str] = LLMBAR,
    *,
    strategies: str | Sequence[str] | None = "Vanilla",
    source: datasets.Source = "real",
) -> dict[Hashable, Comparisons]:
    """LLMBar's verdicts as comparisons of each judge, for `fit_panel` (with a `spread`).

    Items are (set, item, 1) and (set, item, 2); each pair is a group of its own, compared in
    both orders, so all that judges share is their sharpness and bias.
    """
    table = recorded.llmbar(sets, source=source).dropna(subset="p")
    if strategies is not None:
        wanted = [strategies] if isinstance(strategies, str) else list(strategies)
        table = table[table["strategy"].isin(wanted)]
    found: dict[Hashable, Comparisons] = {}
    for (judge, strategy), rows in table.groupby(["judge", "strategy"]):
        first = list(zip(rows["set"], rows["item"], rows["first"], strict=True))
        second = [(s, i, 3 - f) for s, i, f in first]
        found[f"{judge}/{strategy}"] = Comparisons(first=first, second=second, p=rows["p"])
    return found
