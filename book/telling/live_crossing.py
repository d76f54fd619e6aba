"""What the live picture of *Two real judges* draws: stored leads of the product, in its page.

Nothing is computed in the browser but straight lines between stored budgets.
"""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
from markupsafe import Markup

from book.telling.marks import TEXTS, short
from studies import margin

ID = "crossing-stored"
PROMPTS = {  # of the cells that `studies.margin` counts, as a reader would name them
    "poe": "the paper\N{RIGHT SINGLE QUOTATION MARK}s",
    "comparative-1": "the earlier paper\N{RIGHT SINGLE QUOTATION MARK}s first",
    "comparative-2": "the earlier paper\N{RIGHT SINGLE QUOTATION MARK}s second",
    "numbers": "labels 1 and 2",
    "words": "labels first and second",
}
RIVALS = {  # a quantity of `studies.margin`, or the lead of `pictures.leads`
    "wins": "counting wins",
    "margin": "Bradley-Terry on averaged orders",
    "gain": "Bradley-Terry on each call",
}
COLUMNS = ["system", "dataset", "template", "attribute", "contexts"]


def stored(lead: pd.DataFrame, split: pd.DataFrame) -> dict[str, Any]:
    """Collect the lines, a judge, data set, prompt and quantity each, over the share of calls.

    lead : `pictures.leads`, over counting wins, with the papers' prompt alone. split : the stored
    `margin`: gain on Bradley-Terry on the decision of each call, and its parts margin (which is
    the gain on decisions by both orders' average) and cancellation. Points of Spearman times 100;
    shares in per cent; se over contexts, null where none is stored.
    """
    wins = lead.assign(template="poe", attribute="mean", quantity="wins", value=lead["lead"])
    parts = split[(split["method"] == margin.OF) & ~split["chance"]]
    parts = parts[parts["template"].isin(list(PROMPTS))]
    every = pd.concat([wins, parts], ignore_index=True)
    most = lead.groupby(["system", "dataset"])["lead"].max().sort_values(ascending=False)
    judges = [
        {"id": f"{system}-{dataset}", "name": short(system), "texts": TEXTS[dataset]}
        for system, dataset in most.index
    ]
    lines = []
    for (*of, quantity), part in every.groupby([*COLUMNS, "quantity"], sort=False):
        cell = dict(zip(COLUMNS, of, strict=True))
        rows = part.sort_values("share")
        lines.append(
            {
                "judge": f"{cell['system']}-{cell['dataset']}",
                "prompt": cell["template"],
                "over": quantity,
                "about": "" if cell["attribute"] == "mean" else cell["attribute"],
                "contexts": int(cell["contexts"]),
                "calls": int(rows["k"].iloc[-1]),
                "share": [round(float(x), 2) for x in rows["share"]],
                "value": [round(float(x), 4) for x in rows["value"]],
                "se": [None if pd.isna(x) else round(float(x), 4) for x in rows["se"]],
            }
        )
    return {
        "judges": judges,
        "prompts": list(PROMPTS.items()),
        "rivals": list(RIVALS.items()),
        "lines": lines,
    }


def embedded(lead: pd.DataFrame, split: pd.DataFrame) -> Markup:
    """Write `stored` as the element of a page that `fig-live-crossing` reads."""
    text = json.dumps(stored(lead, split), ensure_ascii=False, separators=(",", ":"))
    return Markup('<script type="application/json" id="{}">{}</script>').format(
        ID, Markup(text.replace("<", "\\u003c"))
    )
