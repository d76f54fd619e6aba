"""Keep the README's picture and its state of the claims current.

python -m book.tools.readme          # rewrite them (the picture needs SummEval's real labels)
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from book.telling import answer, pictures
from judging import datasets
from reproduction import power, verdicts
from reproduction.significance import CLEAR

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PICTURE = ROOT / "book" / "_static" / "at-a-glance.png"
BEGIN, END = "<!-- claims: written by book/tools/readme.py -->", "<!-- end of claims -->"


@cache
def claims_block() -> str:
    """The Markdown between the markers."""
    rows = verdicts.predictions(verdicts.unique(verdicts.scorecard()))
    agree, differ = ((rows["verdict"] == word).sum() for word in ("agrees", "differs"))
    unknown = (rows["cause"] == verdicts.UNKNOWN).sum()
    lines = [
        f"*Measured*, with real models, none of the paper's: {crossing()}",
        "",
        f"*Simulated*, by *twins* of the papers' judges, calibrated on a few printed numbers: of "
        f"{len(rows)} predicted experiments of four papers {agree} agree within the declared "
        f"tolerance and {differ} differ, {unknown} of them with *cause unknown*. {guess()}",
    ]
    return "\n".join(lines)


def guess() -> str:
    """How often a guess without any simulation would have agreed, beside the twins."""
    rows = power.shares(verdicts.scorecard()).set_index("group")
    new = rows.loc[["PoE v2, seen", "PoE v2, blind"]]
    assert (new["guess"] > new["beside"] - 5.0).all()  # what the next sentence says
    alone, twins = (np.average(new[name], weights=new["on"]) for name in ("guess", "beside"))
    return (
        "A guess that simulates nothing does as well: the mean of the other judges' numbers, "
        f"scaled for each judge, agrees with {alone:.0f}% of {new['on'].sum():.0f} numbers, "
        f"the twins with {twins:.0f}%."
    )


def crossing() -> str:
    """Say where the product leads on counting wins, and where no longer."""
    words, gains = pictures.headline(), answer.gains()
    over = gains[gains["other"] == "win-ratio"]
    return (
        f"the product of experts leads counting wins by {words['ahead']} points while at most two "
        f"fifths of the questions are asked; when all are asked, the two cannot be told apart. "
        f"After a correction for all {len(gains)} comparisons "
        f"{(over['said'] == CLEAR).sum()} of these {len(over)} leads are clear; the book's page "
        "*Two real judges, three datasets* has them all."
    )


def with_claims(text: str) -> str:
    """The README's text with the current block between the markers."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{claims_block()}\n{END}{after}"


def draw_picture() -> None:
    """The front page's figure as a PNG file."""
    import matplotlib.pyplot as plt

    from book.telling import drawings
    from judging import plots
    from reproduction import small

    plots.use_style()
    curve = small.efficiency(
        "FlanT5-3B",
        datasets.load("summeval"),
        calls=(32, 40, 48, 64, 96, 144, 192, 240),
        methods=("win-ratio", "avg-prob", "PoE-BT"),
    )
    fig, ax = plt.subplots(figsize=(5.8, 3.9))
    drawings.at_a_glance(ax, curve, all_calls=240)
    fig.savefig(PICTURE, metadata={"Software": None})


if __name__ == "__main__":
    README.write_text(with_claims(README.read_text()))
    draw_picture()
