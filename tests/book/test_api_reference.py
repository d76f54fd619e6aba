"""The API reference: every public name is on it, reads well, and is linked from the prose."""

import importlib
import io
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import judging
import poe

# Rendered once, in one worker.
pytestmark = [pytest.mark.xdist_group("reference"), pytest.mark.long]
ROOT = Path(__file__).resolve().parents[2]
PUBLIC = (
    *("poe.experts", "judging.metrics", "poe.debias", "poe.choose.designs"),
    *("judging.judges", "judging.datasets", "judging.panel", "judging.practice.trust"),
    "reproduction.baselines.papers",
)
CODE = re.compile(r"(?<!`)`((?:poe|judging)\.[A-Za-z][^`\n]*)`(?!`)")
# What prose cites: inline code that begins with poe.
CITED = sorted(
    {
        name
        for folder in ("book", "notebooks")
        for path in (ROOT / folder).glob("*.md")
        for name in CODE.findall(path.read_text("utf-8"))
    }
)
PROSE = """
# About `poe.fit`

## And `poe.select`

Call `poe.fit`, then `poe.fit(c, "gaussian").scores`, `poe.Fit.covariance` or `poe.Gaussian.no`;
`poe.nothing`, `poetry.fit`, `fit` and `import poe.fit` are no names.
[In a link `judging.rank`](notation.md).

```python
poe.select(4, 6)  # `poe.select`
```
"""


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    try:
        return importlib.import_module("api_reference")
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def built(reference: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str, Path]:
    """The reference and a page of prose, rendered; the app, what it complained of, the pages."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    folder = tmp_path_factory.mktemp("reference")
    source, out = folder / "source", folder / "html"
    source.mkdir()
    for path in (ROOT / "book").glob("api*.md"):
        shutil.copy(path, source)
    shutil.copy(ROOT / "book" / "references.bib", source)
    (source / "prose.md").write_text(PROSE)
    (source / "notation.md").write_text("# Notation\n\n```{bibliography}\n```\n")
    toc = "```{toctree}\nprose\nnotation\napi\napi-modules\napi-data\n```\n"
    (source / "index.md").write_text("# Book\n\n" + toc)
    said = io.StringIO()
    config = {
        "extensions": ["myst_parser", "sphinxcontrib.bibtex", "api_reference"],
        "bibtex_bibfiles": ["references.bib"],
        "bibtex_reference_style": "author_year",
        "autodoc_default_options": {"members": True, "member-order": "bysource"},
        "autodoc_typehints": "none",
        "html_theme": "basic",
    }
    with docutils_namespace():
        app = Sphinx(
            str(source), None, str(out), str(folder / "trees"), "html",
            confoverrides=config, status=None, warning=said, freshenv=True,
        )  # fmt: skip
        app.build()
    return app, said.getvalue(), out


def objects(built: tuple[Any, str, Path]) -> Any:
    return built[0].env.get_domain("py").objects


def test_docstrings_are_pages_without_a_warning(built):
    assert built[1] == ""
    assert not [p.name for p in built[2].glob("api*.html") if "Alias for field" in p.read_text()]


def test_every_public_name_has_an_entry(built):
    found = objects(built)
    doors = {door.__name__: door.__all__ for door in (poe, judging)}
    wanted = {f"{door}.{name}" for door, names in doors.items() for name in names}
    for module in PUBLIC:
        exported = importlib.import_module(module).__all__
        # Constants and submodules have no docstring of their own.
        wanted |= {f"{module}.{n}" for n in exported if n not in ("METHODS", "prompts")}
    # What a front door has is documented by its name there.
    places = {name: {name, *(f"{d}.{name.split('.')[-1]}" for d in doors)} for name in wanted}
    missing = sorted(name for name, known in places.items() if not known & set(found))
    assert len(wanted) > 90
    assert not missing


def test_every_name_that_prose_cites_leads_to_an_entry(built, reference):
    found = objects(built)
    assert len(CITED) > 50
    lost = [name for name in CITED if not set(reference.candidates(name, None)) & set(found)]
    assert not lost
    assert not set(reference.candidates("poe.invented(c)", None)) & set(found)


def test_prose_is_linked_and_headings_blocks_and_links_are_not(built):
    html = (built[2] / "prose.html").read_text()
    body = html[html.index("<h1>") : html.index('<div class="sphinxsidebar"')]
    links = re.findall(r'href="([^"]*)"[^>]*><code[^>]*>(.*?)</code></a>', body)
    linked = {re.sub(r"<[^>]+>", "", code).replace("&quot;", '"'): to for to, code in links}
    assert linked == {
        "poe.fit": "api.html#poe.fit",
        'poe.fit(c, "gaussian").scores': "api.html#poe.fit",
        "poe.Fit.covariance": "api.html#poe.Fit.covariance",
        "poe.Gaussian.no": "api-modules.html#poe.Gaussian",
    }


def test_docstrings_link_each_other_but_not_their_own_arguments(built):
    html = (built[2] / "api.html").read_text()
    entry = html[html.index('id="poe.next_comparisons"') : html.index('id="poe.effective_res')]
    targets = set(re.findall(r'href="([^"]*)"', entry))
    assert "#poe.fit" not in targets  # `fit` is its argument
    entry = html[html.index('id="judging.rank"') : html.index('id="judging.Ranking"')]
    assert {"#judging.Ranking", "#judging.top_known"} <= set(re.findall(r'href="([^"]*)"', entry))


def test_equations_lead_to_the_chapters(reference):
    numbers = {"05-poe": {"displaymath": {"equation-eq-a": (5, 1)}, "figure": {"f": (5, 2)}}}
    assert reference.numbered_equations(numbers) == {"5.1": ("05-poe", "equation-eq-a")}
    assert reference.escaped("eq. 3; book eqs. 6.4 and 6.6.") == (
        "eq. 3; book eqs. :bookeq:`6.4` and :bookeq:`6.6`."
    )


def test_a_docstring_is_translated(reference):
    lines = """Scores s_i of `items`, see *this*; 2 * 3.

first, second : names, one | each. p : the
    answer.
rule :
    "random", any
    of them.
    "greedy", the best.

    with x_k:
        y

>>> 1 + 1
2""".splitlines()
    types = {"first": "str", "second": "str", "p": "float"}
    assert "\n".join(reference.as_rst(lines, types=types)).replace("\\ ", "") == (
        "Scores s\\_i of ``items``, see *this*; 2 \\* 3.\n\n"
        "**first, second** : ``str``\n    names, one \\| each.\n\n"
        "**p** : ``float``\n    the answer.\n\n"
        '**rule**\n    - ``"random"``, any of them.\n    - ``"greedy"``, the best.\n\n'
        "::\n\n        with x_k:\n            y\n\n"
        ">>> 1 + 1\n2\n"
    )


def test_types_are_spelt_out(reference):
    assert reference.annotations(poe.fit)["bias"] == 'float | "mean" | "fit" | None'
    wanted = '"paired" | "scatter" | "curvature" | "clustered"'
    assert reference.annotations(poe.fit)["covariance"] == wanted
    assert reference.annotations(poe.effective_resistance)["pairs"] == "array-like"
