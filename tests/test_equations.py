"""Equation numbers in docstrings are those of the book."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def chapter_labels():
    """Labels of numbered equations by number, counted as Sphinx counts them."""
    found = {}
    for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]-*.md")):
        chapter = int(path.name[:2])
        labels = re.findall(r"^\$\$ \((eq-[\w-]+)\)$", path.read_text(), re.M)
        found.update({f"{chapter}.{k}": label for k, label in enumerate(labels, start=1)})
    return found


LABELS = chapter_labels()
CITED = sorted(
    {
        (number, path.name)
        for path in (ROOT / "poe").rglob("*.py")
        for group in re.findall(r"book eqs?\. ([\d., and]+\d)", path.read_text())
        for number in re.findall(r"\d+\.\d+", group)
    }
)
# A few that tell whether counting is right: a label that moves takes its number along.
MEANT = {
    "3.1": "eq-win-ratio",
    "3.2": "eq-average-probability",
    "3.3": "eq-bradley-terry",
    "3.7": "eq-summary-level",
    "3.9": "eq-system-level",
    "4.5": "eq-zermelo",
    "4.9": "eq-bt-prior",
    "5.1": "eq-poe-product",
    "5.4": "eq-poe-soft-bt",
    "5.5": "eq-poe-gaussian",
    "7.5": "eq-soft-covariance",
    "7.6": "eq-soft-better",
}


def test_cited_numbers_exist_and_mean_what_they_say():
    assert len(CITED) >= 10
    assert [(number, module) for number, module in CITED if number not in LABELS] == []
    assert {number: LABELS[number] for number in MEANT} == MEANT
