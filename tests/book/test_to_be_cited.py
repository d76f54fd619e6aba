"""What is needed to cite: findings with n and interval, a log of changes, runs of others."""

from __future__ import annotations

import io
import re
import subprocess
import tomllib
from pathlib import Path

import pandas as pd
import pytest
import yaml
from bs4 import BeautifulSoup
from pybtex.database import parse_string

import poe
from book.telling import findings, history, pictures
from book.telling.errata import KINDS, errata
from judging.practice.cli import parse

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def found() -> list[findings.Finding]:
    return findings.findings()


# Findings ------------------------------------------------------------------------------------


def test_every_finding_has_an_address_an_n_an_interval_bibtex_and_its_rows(
    found: list[findings.Finding],
) -> None:
    soup = BeautifulSoup(findings.html(found), "html.parser")
    assert [item["id"] for item in soup.select("li")] == [f"finding-{one.id}" for one in found]
    assert len({one.id for one in found}) == len(found) >= 6
    for one, item in zip(found, soup.select("li"), strict=True):
        assert item.select_one(f'a[href="#finding-{one.id}"]')
        assert re.search(r"n: \d+ ", item.get_text())
        assert re.search(r"Interval: .*\d to ", item.get_text())
        assert {badge.get_text() for badge in item.select("[class^=evidence]")} <= set(
            pictures.KINDS
        )
        assert item.select_one("a[download]")
        assert len(one.rows) > 0
        page = item.find("a", string="More")["href"].removesuffix(".html")
        assert list(ROOT.glob(f"*/{page}.md"))


def test_bibtex_of_a_finding_can_be_read(found: list[findings.Finding]) -> None:
    for one in found:
        (entry,) = parse_string(one.bibtex, "bibtex").entries.values()
        assert entry.key == f"jbc-{one.id}"
        assert entry.fields["year"] == str(findings.YEAR)
        assert poe.__version__ in entry.fields["note"]
        assert entry.fields["title"].replace("\\%", "%") == one.says.rstrip(".")


def test_findings_say_the_numbers_of_the_headlines(found: list[findings.Finding]) -> None:
    words = pictures.headline()
    by_name = {one.id: one for one in found}
    assert f"saves {words['chosen']}% of the calls" in by_name["next-pair"].says
    gain = by_name["product-few-calls"]
    value = float(re.search(r"by (-?[\d.]+) points", gain.says)[1])
    assert value == round(
        gain.rows.query("dataset == 'topicalchat' and k == 12")["value"].item(), 1
    )
    low, high = map(float, re.findall(r"(-?[\d.]+) to (-?[\d.]+)", gain.interval)[0])
    assert low < value < high


# Citation ------------------------------------------------------------------------------------


def test_the_citation_has_a_year_and_a_place_for_the_doi() -> None:
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    citation = yaml.safe_load(text)
    preferred = citation["preferred-citation"]
    assert preferred["year"] == findings.YEAR
    assert preferred["version"] == citation["version"] == poe.__version__
    assert preferred["title"] == citation["title"]
    assert preferred["authors"] == citation["authors"]
    doi = citation.get("doi")
    assert re.fullmatch(r"10\.\d{4,9}/\S+", doi) if doi else "\n# doi: 10." in text
    released = citation.get("date-released")
    assert released is None or released.year == findings.YEAR


# The log -------------------------------------------------------------------------------------


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


@pytest.mark.needs("history")
@pytest.mark.parametrize("number", history.numbers(), ids=lambda number: number["quantity"])
def test_a_change_is_what_the_history_says(number: dict) -> None:
    file = f"data/results/{number['result']}.csv"
    last = None
    for change in number["change"]:
        before, after = (
            pd.read_csv(io.StringIO(git("show", f"{commit}:{file}")))
            for commit in (f"{change['commit']}^", change["commit"])
        )
        assert history.cell(before, number) == change["before"]
        assert history.cell(after, number) == change["after"] != change["before"]
        assert git("show", "-s", "--format=%as", change["commit"]).strip() == f"{change['day']}"
        assert last in (None, change["before"]), "a change is missing between two"
        last = change["after"]


def test_a_headline_number_that_changed_is_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(history.changed()) == sum(len(one["change"]) for one in history.numbers())
    kept = history.run.read("measured-qwen-gains")
    moved = kept.assign(value=kept["value"] + 0.5)
    monkeypatch.setattr(history.run, "read", lambda name: moved)
    with pytest.raises(ValueError, match="add the change, with its commit"):
        history.changed()


# For whoever runs it again, and for the authors ----------------------------------------------


def test_the_way_to_reproduce_a_row_can_be_followed() -> None:
    text = (ROOT / "REPRODUCE.md").read_text("utf-8")
    commands = re.findall(r"^\.venv/bin/judging (.+)$", text, re.M)
    assert {line.split()[0] for line in commands} == {"reproduce", "scorecard"}
    for line in commands:
        assert parse(line.split()) == "", line
    named = re.findall(r"tests/[\w/]+\.py", text)
    assert named
    assert all((ROOT / name).is_file() for name in named)
    fields = re.search(r"^who:.*?^differed:", text, re.M | re.S)[0]
    wanted = tomllib.loads((ROOT / "data/reproduced.toml").read_text("utf-8"))["run"][0]
    assert set(wanted) <= set(re.findall(r"^(\w+):", fields, re.M))


def test_the_letter_counts_the_errata_and_types_no_number() -> None:
    text = (ROOT / "book/letter.md").read_text("utf-8")
    letter = "\n".join(re.findall(r"^> ?(.*)$", text, re.M))
    glued = re.findall(r"\{glue:text\}`letter-([\w-]+)`", letter)
    assert set(glued) == {"all", *KINDS, "changes"}
    typed = re.sub(r"\{glue:text\}`[^`]*`|section [\d.]+|version \d", "", letter)
    assert not re.search(r"\d", typed)
    assert sum(one.severity in KINDS for one in errata()) == len(errata())
