"""Keep the README's picture and its state of the claims current.

python -m book.tools.readme          # rewrite both (the picture needs SummEval's real labels)
"""

from __future__ import annotations

from pathlib import Path

from poe import datasets
from reproduction import log, verdicts
from reproduction.claims import main_claims
from reproduction.run import read_whole
from reproduction.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PICTURE = ROOT / "book" / "_static" / "at-a-glance.png"
BEGIN, END = "<!-- claims: written by book/tools/readme.py -->", "<!-- end of claims -->"


def claims_block() -> str:
    """The Markdown between the markers."""
    every = verdicts.scorecard("poe_v2")
    card = verdicts.unique(every)
    all_cells = verdicts.totals(card).loc["all"]
    found = verdicts.summary(every)
    unknown = int((card["cause"] == verdicts.UNKNOWN).sum())
    lines = [
        f"The paper's tables print {len(every)} numbers of {len(card)} experiments, which count "
        f"once each here. {all_cells['cells'] - all_cells['not attempted']} have been attempted: "
        f"{all_cells['same digits']} have the same digits, {all_cells['within noise']} are within "
        f"noise, {all_cells['deviates']} deviate, and {all_cells['inputs differ']} were computed "
        "on other inputs. The mean absolute difference, in points of correlation, is "
        f"{found['blind_error']:.2f} over the {found['blind']} that are *blind* (held against "
        f"nothing of ours when the first twins were fixed), {found['seen_error']:.2f} over the "
        f"{found['seen']} that are *seen* (known when the form of the twins was chosen), "
        f"{found['implied_error']:.2f} over the {found['implied']} that are implied by calibrated "
        f"ones and {found['calibrated_error']:.2f} over those {found['calibrated']} themselves. "
        f"For {all_cells['deviates'] - unknown} of the deviations `poe scorecard --causes` names a "
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

    from poe import plots
    from reproduction import drawings, small

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
