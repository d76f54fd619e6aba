"""LLMBar's recorded verdicts: six judges on the same pairs, combined by every method of the panel.

Recorded answers on real labels: nothing is printed to compare them with. The methods, their sizes
and the columns of a result are those of `reproduction.skill`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd

from judging.judges import recorded
from judging.panel import (
    WITH_CONTEXT,
    Judgements,
    PanelError,
    UnidentifiedPanelError,
    aggregate,
    fit_panel,
)
from judging.panel.encoders import hashed_ngrams
from poe.comparisons import Comparisons
from reproduction.settings import Settings
from reproduction.simulated_panels import LabelledPanel
from reproduction.skill import METHODS, accuracies, result, seeds, size, with_networks

Order = Literal["given", "swapped", "both"]

ADVERSARIAL = tuple(f"Adversarial-{way}" for way in ("Neighbor", "GPTInst", "GPTOut", "Manual"))
LLMBAR = {"Natural": ("Natural",), "adversarial": ADVERSARIAL, "all": ("Natural", *ADVERSARIAL)}
TRUSTED = "GPT-4/Vanilla"


def verdicts(sets: str, strategy: str | None = None) -> tuple[pd.DataFrame, pd.Series]:
    """LLMBar's verdicts, of one prompt or all, and the label of each pair by set and item.

    sets : a key of `LLMBAR`. The table has p1, P(output 1 is better), and judge names its prompt.
    """
    table = recorded.llmbar(LLMBAR[sets])
    there = sorted(set(table["strategy"]))
    if strategy is not None and strategy not in there:
        raise PanelError(f"no strategy {strategy!r}; there are {there}")
    table = table if strategy is None else table[table["strategy"] == strategy]
    labels = table.drop_duplicates(["set", "item"]).set_index(["set", "item"])["label"]
    p1 = np.where(table["first"] == 1, table["p"], 1.0 - table["p"])
    return table.assign(judge=table["judge"] + "/" + table["strategy"], p1=p1), labels


def panel_of(
    sets: str = "all",
    *,
    strategy: str | None = None,
    order: Order = "both",
    with_texts: bool = False,
) -> LabelledPanel:
    """LLMBar's recorded verdicts: pairs by judges-under-a-prompt, class 1 = output 1 is better.

    sets : a key of `LLMBAR` (all: 419 pairs, 65 columns). strategy : the prompt to keep
        ("Vanilla", "CoT", ...); all by default. order : "given" shows output 1 first, "swapped"
        output 2; "both" averages the two verdicts, and a judge that contradicts itself has no
        judgement of the pair. with_texts : also the instruction and both outputs as context.
    """
    table, labels = verdicts(sets, strategy)
    given, swapped = (
        table[table["first"] == first]
        .pivot(index=["set", "item"], columns="judge", values="p1")
        .reindex(labels.index)
        for first in (1, 2)
    )
    mean = (given + swapped) / 2.0  # NaN where either is missing
    values = {"given": given, "swapped": swapped, "both": mean.where(mean != 0.5)}[order]
    context = None
    if with_texts:
        pairs = recorded.llmbar_pairs().set_index(["set", "item"]).reindex(labels.index)
        parts = pairs[["input", "output_1", "output_2"]]
        context = ["\n\n".join(row) for row in parts.itertuples(index=False)]
    return LabelledPanel(
        f"LLMBar {sets}",
        Judgements.from_table(values.loc[:, values.notna().any()]),
        (labels.to_numpy() == 1).astype(np.intp),
        context,
    )


def llmbar_comparisons(sets: str) -> dict[Hashable, Comparisons]:
    """LLMBar's verdicts as comparisons of each judge, for `fit_panel` (with a `spread`).

    Items are (set, item, 1) and (set, item, 2); each pair is a group of its own, compared in
    both orders, so all that judges share is their sharpness and bias.
    """
    by_judge: dict[Hashable, Comparisons] = {}
    table, _ = verdicts(sets, "Vanilla")
    for judge, rows in table.dropna(subset="p").groupby("judge"):
        first = list(zip(rows["set"], rows["item"], rows["first"], strict=True))
        second = [(s, i, 3 - f) for s, i, f in first]
        by_judge[judge] = Comparisons(first=first, second=second, p=rows["p"])
    return by_judge


def experts_on_llmbar(name: str) -> pd.DataFrame:
    """One row a way of combining: percent of a set's pairs whose better output scores higher.

    "average first" is the sign of the summed verdicts of all judges in both orders, ties half
    right. "skill-weighted PoE" is `fit_panel` with a spread of 2 (a normal prior in logits of the
    typical judge, without which unanimous pairs have no finite difference), its sign from the
    assumption that most weight is on judges better than chance; "trusted" takes the sign from that
    judge. message says where no sign is identified.
    """
    table, labels = verdicts(name, "Vanilla")
    net = (table["p1"] - 0.5).groupby([table["set"], table["item"]]).sum()
    rows = [(name, len(labels), "average first", _share_right(net, labels), "")]
    for way, known in (("skill-weighted PoE", None), ("skill-weighted PoE, trusted", TRUSTED)):
        value, message = float("nan"), ""
        try:
            fit = fit_panel(llmbar_comparisons(name), spread=2.0, trusted=known)
            scores = pd.Series(fit.scores, pd.MultiIndex.from_tuples(fit.items)).unstack()
            value, message = _share_right(scores[1] - scores[2], labels), fit.message
        except UnidentifiedPanelError as error:
            message = str(error)
        rows.append((name, len(labels), way, value, message))
    return pd.DataFrame(rows, columns=["dataset", "k", "method", "value", "message"])


def _share_right(gap: pd.Series, labels: pd.Series) -> float:
    """Percent of pairs that are right where `gap` is by how much output 1 is held to be better."""
    right = gap.reindex(labels.index, fill_value=0.0) * np.where(labels == 1, 1, -1)
    return float(100 * ((right > 1e-9).mean() + 0.5 * (right.abs() <= 1e-9).mean()))


@with_networks
def aggregation(s: Settings) -> pd.DataFrame:
    """LLMBar's recorded verdicts: eight methods on natural, adversarial and all pairs.

    For the plain prompt and for all 65 columns, in the order given and in both. Contexts are the
    texts through the light encoder, of 100 to 419 pairs only, and without a development set, which
    would use up most labels. Adds "DawidSkene, trusted", whose classes are named by a judge taken
    to be better than chance, and rows of another `quantity`: the correlation over judges of
    Dawid-Skene's slopes and the accuracies, in percent, which is negative where the wrong side was
    found. Needs the pairs' texts, which are no part of the package.
    """
    votes = [m for m in METHODS if METHODS[m][0] not in WITH_CONTEXT]
    learned = [m for m in METHODS if m not in votes]
    options: dict[str, Any] = {"of": replace(size(s), batch=16), "n_dev": 0}
    prompts = {"Vanilla": "Vanilla", "all prompts": None}
    cases = list(product(LLMBAR, prompts, ("given", "both")))

    def rows_of(job: tuple[str, str, Any]) -> list[dict[str, Any]]:
        sets, label, order = job
        panel = panel_of(sets, strategy=prompts[label], order=order, with_texts=True)
        # Hashed here once, not for every method and seed.
        panel = replace(panel, context=hashed_ngrams(panel.context))
        accuracy = panel.judge_accuracy()["accuracy"]
        about = {
            "dataset": panel.name,
            "system": label,
            "selection": order,
            "judges": len(panel.judgements.judges),
            "k": len(panel),
            "best_judge": 100 * accuracy.max(),
            "quantity": "accuracy",
        }
        trusting = aggregate(panel.judgements, trusted=TRUSTED).accuracy(panel.truth)
        by_method = accuracies([panel], votes, seeds=[0], **options)
        by_method["DawidSkene, trusted"] = [100 * trusting]
        by_method |= accuracies([panel] * len(seeds(s)), learned, seeds=seeds(s), **options)
        rows = [
            about | {"method": m, "value": np.mean(v), "sd": pd.Series(v).std(), "draws": len(v)}
            for m, v in by_method.items()
        ]
        r = 100 * np.corrcoef(aggregate(panel.judgements).slope, accuracy)[0, 1]
        slopes = {"method": "DawidSkene", "value": r, "quantity": "correlation of slopes"}
        return [*rows, about | slopes | {"draws": 1}]

    rows = [row for own in s.map(rows_of, cases).values() for row in own]
    columns = "dataset system selection judges k method quantity value sd best_judge"
    return _recorded(pd.DataFrame(rows), columns, "recorded-aggregation", s)


def experts(s: Settings) -> pd.DataFrame:
    """LLMBar's judges under the plain prompt as experts in one product."""
    table = pd.concat(s.map(experts_on_llmbar, LLMBAR).values()).assign(draws=1, sd=np.nan)
    return _recorded(table, "dataset k method value message sd", "recorded-experts", s)


def _recorded(table: pd.DataFrame, columns: str, panel: str, s: Settings) -> pd.DataFrame:
    """Rows of a result; the recorded pairs are all there are, so errors are those of shares."""
    share = (table["value"] / 100).clip(0.0, 1.0)
    se = 100 * np.sqrt(share * (1 - share) / table["k"])
    if "quantity" in table:  # correlations of skills are no shares
        se = se.where(table["quantity"] == "accuracy")
    same = {"panel": panel, "labels": "real", "kind": "recorded"}
    return result(table.assign(se=se), f"panel {columns}", s, **same)
