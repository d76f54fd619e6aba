"""Keep the README's picture and its state of the claims current.

python -m book.tools.readme          # rewrite both (the picture needs SummEval's real labels)
"""

from __future__ import annotations

from pathlib import Path

from judging import datasets
from reproduction import verdicts
from reproduction.claims import main_claims
from reproduction.run import read_whole
from reproduction.targets import TARGETS
from reproduction.telling import log, power

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PICTURE = ROOT / "book" / "_static" / "at-a-glance.png"
BEGIN, END = "<!-- claims: written by book/tools/readme.py -->", "<!-- end of claims -->"


def claims_block() -> str:
    """The Markdown between the markers."""
    card = verdicts.scorecard("poe_v2")
    found = verdicts.summary(card)
    differs = int((card["verdict"] == "differs").sum())
    unknown = int((card["cause"] == verdicts.UNKNOWN).sum())
    rows = power.overview(card)
    weak = rows.loc[rows["power"] == "weak test", "table"].str.removeprefix("table")
    lines = [
        f"Of {found['cells']} numbers in the paper's tables {found['tested']} have been tested so "
        f"far. Among them are {found['predicted']} predicted experiments, each counted once: "
        f"{found['agree']} agree within the declared tolerance. The mean absolute difference, in "
        f"points of correlation, is {found['blind_error']:.2f} over the {found['blind']} that are "
        "*blind* (held against nothing of ours when the first twins were fixed), "
        f"{found['seen_error']:.2f} over the {found['seen']} that are *seen* (known when the form "
        f"of the twins was chosen), {found['implied_error']:.2f} over the {found['implied']} that "
        f"are implied by calibrated ones and {found['calibrated_error']:.2f} over those "
        f"{found['calibrated']} themselves. The verdicts of Tables {', '.join(weak)} are a *weak "
        "test*: a wrong method would have agreed more than half as often. Of all cells "
        f"{differs} differ; for {differs - unknown} of these `judging scorecard --causes` names a "
        "cause and the run that shows it, or where it is declared; "
        f"{unknown} say *cause unknown*.",
        "",
        log.whole_run(read_whole(), len(TARGETS)),
        "",
        "| the paper says (section 5.1, SummEval) | published numbers | ours, simulated |",
        "|:--|:--|:--|",
    ]
    for row in main_claims().to_dict("records"):
        cells = [f"{row[f'{side} verdict']}: {row[side]}" for side in ("published", "ours")]
        lines.append(f"| {row['claim']} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def with_claims(text: str) -> str:
    """The README's text with the current block between the markers."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{claims_block()}\n{END}{after}"


def draw_picture() -> None:
    """The front page's figure as a PNG file."""
    import matplotlib.pyplot as plt

    from judging import plots
    from reproduction import small
    from reproduction.telling import drawings

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
