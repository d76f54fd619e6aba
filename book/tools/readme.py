"""Keep the README's picture and its state of the claims current, and the results in paper.md.

python -m book.tools.readme          # rewrite them (the picture needs SummEval's real labels)
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from book.telling import answer, pictures
from judging import datasets
from reproduction import ask_model, power, verdicts
from reproduction.results import read
from reproduction.significance import CHANCE, CLEAR

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PICTURE = ROOT / "book" / "_static" / "at-a-glance.png"
PAPER = ROOT / "paper.md"
RESULTS = "<!-- results: written by book/tools/readme.py -->", "<!-- end of results -->"
BEGIN, END = "<!-- claims: written by book/tools/readme.py -->", "<!-- end of claims -->"


@cache
def claims_block() -> str:
    """The Markdown between the markers."""
    card = verdicts.scorecard("poe_v2")
    tally = verdicts.summary(card)
    differs = int((card["verdict"] == "differs").sum())
    unknown = int((card["cause"] == verdicts.UNKNOWN).sum())
    lines = [
        f"*Measured*, with real models, none of the paper's: {crossing()}",
        "",
        f"*Simulated*, by *twins* of the papers' judges, calibrated on a few printed numbers: of "
        f"{tally['predicted']} predicted experiments {tally['agree']} agree within the declared "
        f"tolerance, and {differs} of the {tally['tested']} numbers tested (of {tally['cells']}) "
        f"differ, {unknown} of them with *cause unknown*. {guess()}",
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


def few_calls() -> str:
    """What the product of experts gains on Bradley-Terry with the larger model's answers."""
    every = answer.gains()
    rows = every[every["system"] == ask_model.QWEN.name].set_index(["dataset", "k", "other"])

    def over(dataset: str, k: int) -> list[str]:
        said = (
            answer.points(rows.loc[(dataset, k, other)], chance=CHANCE)
            for other in ("BT", f"BT{answer.EACH_CALL}")
        )
        return [words.replace("\N{NO-BREAK SPACE}", " ").removeprefix("+") for words in said]

    both, alone = over("topicalchat", 12)
    paper, news = (" and ".join(over(*at)) for at in (("topicalchat", 18), ("summeval", 48)))
    articles = int(rows.loc[("summeval", 48, "BT"), "contexts"])
    return (
        "with 12 of a dialogue's 30 comparisons, the product of experts on the probabilities of "
        f"{ask_model.QWEN.name}, a model of 1.5 billion parameters, agrees with people's scores of "
        f"TopicalChat by {both} points of Spearman's correlation more than {answer.RIVALS['BT']}, "
        f"and by {alone} more than {answer.RIVALS[f'BT{answer.EACH_CALL}']}; with the papers' 18 "
        f"by {paper}; with 48 of an article's 240, on {articles} articles of SummEval, by "
        f"{news} (*clear*: after Holm's correction for all {len(every)} comparisons; *likely*: "
        "beyond two standard errors)"
    )


@cache
def results_block() -> str:
    """What paper.md says of our results, each with its kind."""
    few = few_calls()
    orders = read("orders").query("quantity == 'scores' and kind == 'measured' and k == 48")
    orders = orders[(orders["dataset"] == "summeval") & (orders["system"] != ask_model.NAME)]
    cover = read("coverage").groupby("covariance")["value"]
    low, high = cover.min(), cover.max()
    rows = verdicts.predictions(verdicts.unique(verdicts.scorecard()))
    agree = int((rows["verdict"] == "agrees").sum())
    guessed = power.shares(verdicts.scorecard()).set_index("group")
    guessed = guessed.loc[["PoE v2, seen", "PoE v2, blind"]]
    alike, twins = (
        float(np.average(guessed[name], weights=guessed["on"])) for name in ("guess", "beside")
    )
    assert abs(alike - twins) < 8.0  # what the last sentence says
    return "\n".join(
        [
            f"*Measured.* {few[0].upper()}{few[1:]}. Of its answers "
            f"there, {int(orders['k'].iloc[0])} in both orders know "
            f"{orders['measured'].min():.1f} to "
            f"{orders['measured'].max():.1f} times as much about its final scores, by attribute, "
            "as in one.",
            "",
            "*Simulated.* Intervals of 95% clustered on the pair cover "
            f"{low['paired']:.0f} to {high['paired']:.0f}%; those that take each answer by itself "
            f"{low['scatter']:.0f} to {high['scatter']:.0f}%. Of {len(rows)} predicted experiments "
            f"of the four papers {agree} agree within their tolerances; for the others a cause is "
            "named, or *cause unknown* is. On the tables of @liusie2024poe a guess from the other "
            f"judges' printed numbers, without any simulation, does as well: {alike:.0f}%, "
            f"the twins {twins:.0f}%.",
        ]
    )


def between(text: str, marks: tuple[str, str], block: str) -> str:
    """The text with this block between the marks."""
    before, rest = text.split(marks[0])
    _, after = rest.split(marks[1])
    return f"{before}{marks[0]}\n{block}\n{marks[1]}{after}"


def with_claims(text: str) -> str:
    """The README's text with the current block between the markers."""
    return between(text, (BEGIN, END), claims_block())


def with_results(text: str) -> str:
    """The same of paper.md."""
    return between(text, RESULTS, results_block())


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
    PAPER.write_text(with_results(PAPER.read_text()))
    draw_picture()
