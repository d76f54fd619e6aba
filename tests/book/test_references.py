"""The list of references: an address for every work, and the pages that cite it."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from pybtex.database import parse_file

ROOT = Path(__file__).resolve().parents[2]
BIB = """@misc{one, title={One}, author={A, Ada}, year={2020}, doi={10.1/one}}
@misc{two, title={Two}, author={B, Ben}, year={2021}, eprint={2101.00001}, archiveprefix={arXiv}}
@misc{three, title={Three}, author={C, Cleo}, year={2022}}
"""


def test_every_work_has_an_address_but_two_old_books() -> None:
    entries = parse_file(str(ROOT / "book/references.bib")).entries
    without = {
        key for key, entry in entries.items() if not {"doi", "eprint", "url"} & set(entry.fields)
    }
    assert len(entries) >= 50
    assert without == {"david1988", "fedorov1972"}
    assert all(entries[key].type == "book" for key in without)
    for key, entry in entries.items():
        if "eprint" in entry.fields:
            assert entry.fields["archiveprefix"] == "arXiv", key


def test_an_entry_says_which_pages_cite_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    monkeypatch.setattr(sys, "path", [str(ROOT / "book/_ext"), *sys.path])
    source = tmp_path / "source"
    source.mkdir()
    pages = {
        "index": "# Book\n\n{cite:t}`one`\n\n```{toctree}\nmore\n02-b\n01-a\nreferences\n```\n",
        "01-a": "# First\n\n{cite:t}`one`\n\n```{toctree}\n01-c\n```\n",
        "01-c": "# Its second page\n\n{cite:t}`one,two`\n",
        "02-b": "# Second\n\n{cite:p}`one,two`\n",
        "more": "# More\n\n{cite:t}`one`\n",
        "references": "# References\n\n{cite:t}`three`\n\n```{bibliography}\n```\n",
    }
    for name, text in pages.items():
        (source / f"{name}.md").write_text(text)
    (source / "references.bib").write_text(BIB)
    said = io.StringIO()
    config = {
        "extensions": ["myst_parser", "sphinxcontrib.bibtex", "cited_in"],
        "bibtex_bibfiles": ["references.bib"],
        "bibtex_reference_style": "author_year",
        "html_theme": "basic",
    }
    with docutils_namespace():
        Sphinx(
            str(source), None, str(tmp_path / "html"), str(tmp_path / "trees"), "html",
            confoverrides=config, status=None, warning=said, freshenv=True,
        ).build()  # fmt: skip
    assert said.getvalue() == ""
    html = (tmp_path / "html/references.html").read_text("utf-8")
    entries = BeautifulSoup(html, "html.parser").select("div.citation")
    texts = {entry.select_one("p").get_text()[:4]: entry for entry in entries}
    assert len(texts) == 3
    line = {key[:3]: entry.select_one(".jc-cited-in") for key, entry in texts.items()}
    assert line["Ada"].get_text() == "Cited in chapters 1, 2, Book and More."
    assert [a["href"] for a in line["Ada"].select("a")] == [
        "01-a.html", "02-b.html", "index.html", "more.html",
    ]  # fmt: skip
    assert line["Ben"].get_text() == "Cited in chapters 1 and 2.", "a second page is its chapter"
    assert line["Cle"] is None, "the list of references itself is no page that cites"
