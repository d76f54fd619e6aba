"""Tables about the larger real judge: the headline claims on it, its twin, what was predicted.

No number is made here: they come from stored results and stored answers.
"""

from __future__ import annotations

import pandas as pd

from reproduction import predict_more, run
from reproduction.claims import accepted
from reproduction.published import NAMES

CLAIMS, TWIN = "measured-qwen-claims", "measured-qwen-twin"


def where(rows: pd.DataFrame) -> list[str]:
    """Of each row, its texts: "SummEval, coherence (13)", with the number of contexts."""
    about = rows["attribute"].replace({"mean": "mean of attributes"})
    return [
        f"{NAMES[dataset]}, {attribute} ({contexts})"
        for dataset, attribute, contexts in zip(
            rows["dataset"], about, rows["contexts"], strict=True
        )
    ]


def headlines() -> pd.DataFrame:
    """One row a headline claim: what it comes to in print, for twins, and on each set of texts.

    Columns: claim, published, twins, and one for each set of texts, "holds: +0.6 ± 0.8".
    """
    rows = run.read(CLAIMS)
    assert rows is not None, f"data/results/{CLAIMS}.csv is missing"
    said = accepted().set_index(["id", "evidence"])["verdict"]
    rows = rows.assign(
        where=where(rows),
        said=[
            row.verdict
            if row.verdict == "no information"
            else f"{row.verdict}: {row.value:+.1f} ± {row.se:.1f}"
            for row in rows.itertuples()
        ],
    )
    ids = rows.drop_duplicates("claim").set_index("claim")["words"]
    wide = rows.pivot(index="claim", columns="where", values="said").reindex(ids.index)
    made = {
        "claim": ids.to_list(),
        **{
            name: [said.get((claim, kind), "") for claim in ids.index]
            for name, kind in (("published", "published"), ("twins", "simulated"))
        },
        **{name: wide[name].fillna("").to_list() for name in dict.fromkeys(rows["where"])},
    }
    return pd.DataFrame(made)


def counts() -> dict[str, int]:
    """How many claims come to what, on the sets of texts with information."""
    rows = run.read(CLAIMS)
    assert rows is not None
    return {str(word): int(n) for word, n in rows["verdict"].value_counts().items()}


def twin() -> pd.DataFrame:
    """One row a twin: how far off it is on each dataset, points (root mean square)."""
    rows = run.read(TWIN)
    assert rows is not None, f"data/results/{TWIN}.csv is missing"
    rows = rows[rows["quantity"] == "all of these"]
    wide = rows.pivot(index="twin", columns="dataset", values="value")
    return wide.reindex(rows["twin"].unique())[list(rows["dataset"].unique())]


def came_of() -> pd.DataFrame:
    """Predictions about LLMBar, HANNA and scores beside what was measured; empty before."""
    rows = predict_more.outcomes()
    if rows.empty:
        return rows
    return pd.DataFrame(
        {
            "predicted": rows["predicted"],
            "quantity": rows["quantity"].str.replace(" - ", " minus "),
            "of": rows["attribute"],
            "by the twin": [
                f"{row.median:.1f} ({row.low:.1f} to {row.high:.1f})" for row in rows.itertuples()
            ],
            "measured": rows["measured"].map("{:.1f}".format),
            "inside": rows["inside"].map({True: "yes", False: "no"}),
        }
    )
