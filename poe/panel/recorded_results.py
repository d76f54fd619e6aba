"""The methods on recorded verdicts: aggregation, and judges as experts in one product."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from poe.comparisons import Comparisons
from poe.datasets import Source
from poe.judges import recorded
from poe.panel.errors import UnidentifiedPanelError
from poe.panel.hashing import hashed_ngrams
from poe.panel.interface import WITH_CONTEXT, aggregate
from poe.panel.panel import PanelFit, fit_panel
from poe.panel.panels import ADVERSARIAL, LLMBAR, LabelledPanel, Order, comparisons_of, llmbar
from poe.panel.reproduce import METHODS, SEEDS, Tick, accuracies, nothing

TRUSTED = "GPT-4/Vanilla"


def recorded_table(
    *,
    strategies: Mapping[str, str | None] | None = None,
    orders: Sequence[Order] = ("given", "both"),
    methods: Sequence[str] = tuple(METHODS),
    seeds: Sequence[int] = SEEDS,
    n_dev: int = 0,
    epochs: int = 15,
    trusted: str = TRUSTED,
    source: Source = "real",
    tick: Tick = nothing,
) -> pd.DataFrame:
    """The methods on LLMBar's recorded verdicts: natural, adversarial and all pairs.

    strategies : label to prompt, None for all 65 columns; by default "Vanilla" and all. Contexts
    are the texts through the light encoder, of 100 to 419 pairs only, and without a development
    set, which would use up most labels; lambda is 0.05. Adds "DawidSkene, trusted", whose classes
    are named by a judge taken to be better than chance, and rows of another `quantity`: the
    correlation over judges of Dawid-Skene's slopes and the accuracies, in percent, which is
    negative where the wrong side was found. A stand-in has no texts, so no networks.
    """
    chosen = strategies or {"Vanilla": "Vanilla", "all prompts": None}
    real = recorded.llmbar("Natural", source=source).attrs["kind"] == "recorded"
    texts = real and any(METHODS[m][0] in WITH_CONTEXT for m in methods)
    rows: list[dict[str, Any]] = []
    for sets in ("Natural", ADVERSARIAL, LLMBAR):
        for label, strategy in chosen.items():
            for order in orders:
                panel = llmbar(
                    sets, strategies=strategy, order=order, with_texts=texts, source=source
                )
                if panel.context is not None:  # hashed here once, not for every method and seed
                    panel = replace(panel, context=hashed_ngrams(panel.context))
                named = {"dataset": panel.name, "prompts": label, "order": order}
                found = _values(panel, methods, seeds, n_dev, trusted, epochs)
                rows += [named | _summary(panel, m, v) for m, v in found.items()]
                slopes = _summary(panel, "DawidSkene", [_slopes_against_accuracy(panel)])
                rows.append(named | slopes | {"quantity": "correlation of slopes"})
                tick()
    return pd.DataFrame(rows)


def _slopes_against_accuracy(panel: LabelledPanel) -> float:
    """Pearson's correlation in percent over the judges, each with its slope and accuracy."""
    slope = aggregate(panel.judgements, "dawid-skene").slope
    return 100 * float(np.corrcoef(slope, panel.judge_accuracy()["accuracy"])[0, 1])


def _values(
    panel: LabelledPanel,
    methods: Sequence[str],
    seeds: Sequence[int],
    n_dev: int,
    trusted: str,
    epochs: int,
) -> dict[str, list[float]]:
    """Accuracies of each method: one, or one a seed."""
    once = [m for m in methods if METHODS[m][0] not in WITH_CONTEXT]
    first = accuracies(panel, methods=once, seed=0, n_dev=n_dev)
    found = {m: [value] for m, value in first.items()}
    if trusted in panel.judgements.judges:
        turned = aggregate(panel.judgements, "dawid-skene", trusted=trusted)
        found["DawidSkene, trusted"] = [100 * turned.accuracy(panel.truth)]
    learned = [m for m in methods if m not in once] if panel.context is not None else []
    if learned:
        runs = [
            accuracies(panel, methods=learned, seed=s, n_dev=n_dev, batch=16, epochs=epochs)
            for s in seeds
        ]
        found |= {m: [run[m] for run in runs] for m in learned}
    return found


def _summary(panel: LabelledPanel, method: str, values: list[float]) -> dict[str, Any]:
    return {
        "judges": len(panel.judgements.judges),
        "n": len(panel),
        "method": method,
        "quantity": "accuracy",
        "seeds": len(values),
        "value": float(np.mean(values)),
        "sd": float(np.std(values, ddof=1)) if len(values) > 1 else float("nan"),
        "best_judge": 100 * panel.judge_accuracy()["accuracy"].max(),
        "evidence": panel.kind,
    }


def experts_on_llmbar(
    *,
    spread: float = 2.0,
    strategies: str | Sequence[str] | None = "Vanilla",
    trusted: str = TRUSTED,
    source: Source = "real",
) -> pd.DataFrame:
    """One row a set and way of combining: percent of pairs whose better output scores higher.

    "average first" is the sign of the summed verdicts of all judges in both orders, ties half
    right. "skill-weighted PoE" is `fit_panel` with this spread (a normal prior in logits of the
    typical judge, without which unanimous pairs have no finite difference), its sign from the
    assumption that most weight is on judges better than chance; "trusted" takes the sign from that
    judge. message says where no sign is identified.
    """
    rows = []
    for name, sets in (("Natural", "Natural"), ("adversarial", ADVERSARIAL), ("all", LLMBAR)):
        table = recorded.llmbar(sets, source=source)
        kind = str(table.attrs["kind"])
        labels = table.drop_duplicates(["set", "item"]).set_index(["set", "item"])["label"]
        judges = comparisons_of(sets, strategies=strategies, source=source)
        net = _net(judges, labels)
        rows.append((name, len(labels), "average first", _share(net, labels), "", kind))
        for way, known in (("skill-weighted PoE", None), ("skill-weighted PoE, trusted", trusted)):
            value, message = float("nan"), ""
            try:
                found = fit_panel(judges, spread=spread, trusted=known)
                value, message = _share(_gaps(found, labels), labels), found.message
            except UnidentifiedPanelError as error:
                message = str(error)
            rows.append((name, len(labels), way, value, message, kind))
    return pd.DataFrame(rows, columns=["sets", "n", "method", "value", "message", "evidence"])


def _net(judges: Mapping[Hashable, Comparisons], labels: pd.Series) -> pd.Series:
    """Verdicts for output 1 less those for output 2, of every pair."""
    net = pd.Series(0.0, index=labels.index)
    for one in judges.values():
        for f, p in zip(one.first.tolist(), one.p.tolist(), strict=True):
            s, i, output = one.items[f]
            net[s, i] += (1 if output == 1 else -1) * (p - 0.5)
    return net


def _gaps(found: PanelFit, labels: pd.Series) -> pd.Series:
    score = dict(zip(found.items, found.scores.tolist(), strict=True))
    return pd.Series(
        [score.get((s, i, 1), 0.0) - score.get((s, i, 2), 0.0) for s, i in labels.index],
        index=labels.index,
    )


def _share(gap: pd.Series, labels: pd.Series) -> float:
    right = np.where(labels.to_numpy() == 1, gap.to_numpy(), -gap.to_numpy())
    return float(100 * ((right > 1e-9).mean() + 0.5 * (np.abs(right) <= 1e-9).mean()))
