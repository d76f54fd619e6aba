"""Judges as experts on recorded verdicts: skill-weighted products against averaging first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from poe.aggregation.errors import UnidentifiedPanelError
from poe.aggregation.panel import PanelFit, fit_panel
from poe.aggregation.panels import ADVERSARIAL, LLMBAR, comparisons_of
from poe.datasets import Source
from poe.judges import recorded

TRUSTED = "GPT-4/Vanilla"


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
        net = pd.Series(0.0, index=labels.index)
        for one in judges.values():
            for f, p in zip(one.first.tolist(), one.p.tolist(), strict=True):
                s, i, output = one.items[f]
                net[s, i] += (1 if output == 1 else -1) * (p - 0.5)
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


def _gaps(found: PanelFit, labels: pd.Series) -> pd.Series:
    score = dict(zip(found.items, found.scores.tolist(), strict=True))
    return pd.Series(
        [score.get((s, i, 1), 0.0) - score.get((s, i, 2), 0.0) for s, i in labels.index],
        index=labels.index,
    )


def _share(gap: pd.Series, labels: pd.Series) -> float:
    right = np.where(labels.to_numpy() == 1, gap.to_numpy(), -gap.to_numpy())
    return float(100 * ((right > 1e-9).mean() + 0.5 * (np.abs(right) <= 1e-9).mean()))
