"""Tables of what was predicted of the larger real judge, beside what was measured.

No number is made here: they come from stored results and stored answers.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from markupsafe import Markup

from book.telling import pages
from judging.judges import recorded
from poe.arrays import Floats
from reproduction import ask_model, run
from studies import predict_more

OWN = 419  # of LLMBar's pairs are its own
MARKS = {
    "expected": "expected mark",
    "avg-prob - expected": "comparing - expected mark",
    "c, of being right": "correlation of the two orders' being right",
}
LARGE = "measured-qwen-stories"


def llmbar() -> Markup:
    """The larger judge beside the six recorded ones on LLMBar's pairs; nothing before it was asked.

    Accuracy of single verdicts, of both orders averaged, and the share that prefer the first
    place, on the pairs that it was asked about, natural and adversarial.
    """
    run_ = ask_model.Run("llmbar", "poe", (predict_more.ATTRIBUTE,), OWN)
    known, logits, better = predict_more.asked_pairs(ask_model.in_order(run_, ask_model.QWEN))
    if not known:
        return Markup()
    data = ask_model.load("llmbar")
    places = {data.context_ids[c]: k for k, c in enumerate(known)}
    kinds = {kind: at for kind, at in predict_more.by_set(known).items() if at and kind != "all"}
    rows = [
        {
            "judge": ask_model.QWEN.name,
            "pairs": f"{kind} ({len(at)})",
            **_shown(logits[at], better[at]),
            "evidence": "measured",
        }
        for kind, at in kinds.items()
    ]
    table = recorded.llmbar()
    table = table[table["strategy"] == "Vanilla"]
    table = table.assign(
        pair=[f"{s}/{i}" for s, i in zip(table["set"], table["item"], strict=True)]
    )
    wide = table[table["pair"].isin(places)].pivot(
        index=["judge", "pair"], columns="first", values="p"
    )
    for judge, part in wide.dropna().groupby(level="judge"):
        place = np.array([places[pair] for pair in part.index.get_level_values("pair")])
        # A verdict is a probability of 0 or 1: any logit of that sign.
        verdicts = np.sign(part.to_numpy(dtype=float) - 0.5)
        for kind, at in kinds.items():
            here = np.isin(place, at)
            of = _shown(verdicts[here], better[place[here]])
            about = {"judge": str(judge), "pairs": f"{kind} ({here.sum()})"}
            rows.append({**about, **of, "evidence": "recorded"})
    own = [row for row in rows if row["evidence"] == "measured"]
    said = " and ".join(
        f"from {row['one order, %']} to {row['both orders, %']}% "
        f"of the {row['pairs'].split()[0]} ones"
        for row in own
    )
    caption = Markup(
        "<p>LLMBar's pairs in both orders, with a seventh judge, which gives probabilities. "
        "Averaging the two orders takes it {}.</p>"
    ).format(said)
    results = pd.DataFrame(rows).sort_values("pairs", kind="stable", ascending=False)
    return caption + pages.frame(results, kind="measured recorded")


def _shown(logits: Floats, better: Floats) -> dict[str, str]:
    of = predict_more.of_pairs(logits, better)
    return {
        "one order, %": f"{of['accuracy of one order']:.0f}",
        "both orders, %": f"{of['accuracy of both orders']:.0f}",
        "first place preferred, %": f"{of['first place preferred']:.0f}",
    }


def stories() -> Markup:
    """What calls about HANNA's stories come to: one row an attribute, a column a method and calls.

    Spearman times 100 with people's scores; absent until `judging reproduce measured-qwen-stories`
    has made it.
    """
    rows = run.read(LARGE)
    if rows is None:
        return Markup()
    rows = rows[rows["against"] == "people"]
    shown = rows[~rows["method"].str.contains(" - ")]
    stories = int(rows["stories"].iloc[0])
    table = [
        {
            "attribute, method": f"{attribute}, {method}",
            **{
                f"{row.calls / stories:.0f} calls a story ({row.share:.1f}%)": (
                    f"{row.value:.1f} ± {row.se:.1f}"
                )
                for row in part.itertuples()
            },
        }
        for (attribute, method), part in shown.groupby(["attribute", "method"], sort=False)
    ]
    return pages.frame(
        pd.DataFrame(table), kind="measured", fold="Every method, attribute and number of calls"
    )


def came_of(*, large: bool = False) -> pd.DataFrame:
    """Predictions about LLMBar and scores beside what was measured; empty before.

    large : those about HANNA instead.
    """
    rows = predict_more.outcomes()
    if not rows.empty:  # of four attributes of many articles the means are enough
        rows = rows[(rows["predicted"] != predict_more.EVERY) | (rows["attribute"] == "mean")]
    if rows.empty or (rows := rows[rows["predicted"].str.startswith("HANNA") == large]).empty:
        return pd.DataFrame()
    return pd.DataFrame(
        {
            "texts, quantity": [
                f"{_texts(one)}, {of}: {_words(what)}"
                for one, of, what in zip(
                    rows["predicted"], rows["attribute"], rows["quantity"], strict=True
                )
            ],
            "predicted": [
                f"{row.median:.1f} ({row.low:.1f} to {row.high:.1f})" for row in rows.itertuples()
            ],
            "measured": rows["measured"].map("{:.1f}".format),
            "inside": rows["inside"].map({True: "yes", False: "no"}),
        }
    )


def _texts(predicted: str) -> str:
    """The dataset of a set of predictions."""
    return predicted.partition(",")[0].partition("'")[0]


def _words(quantity: str) -> str:
    return MARKS.get(quantity, quantity).replace(" - ", " minus ")
