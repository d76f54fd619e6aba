"""Notation and glossary, collected from the chapters: what a chapter introduces is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = {p.stem: p.read_text("utf-8") for p in (ROOT / "notebooks").glob("[0-9]*.md")}
NOTATION = (ROOT / "book" / "notation.md").read_text("utf-8")
GLOSSARY = (ROOT / "book" / "glossary.md").read_text("utf-8")
GREEK = re.findall(
    r"\w+",
    "alpha beta gamma delta epsilon varepsilon zeta eta theta kappa lambda mu nu xi pi rho sigma "
    "tau phi varphi chi psi omega Gamma Delta Theta Lambda Pi Sigma Phi Psi Omega ell",
)
# Indices, the sign of a derivative and of an exponential function, and d of an integral.
NO_SYMBOL = set("ijkde")
FONTS = {"mathbf": "bold", "boldsymbol": "bold", "mathcal": "script"}
FONT = re.compile(
    r"\\(mathbf|boldsymbol|mathcal)\s*(?:\{\s*(\\?[A-Za-z]+)\s*\}|(\\[A-Za-z]+|[A-Za-z]))"
)
# Bold words that head a paragraph or a row and are no terms of this book.
HEADINGS = {
    *("question", "time", "before this", "afterwards", "no", "confirm"),
    *("random", "both orders", "random order", "stronger first"),
}


def symbols(tex: str) -> set[str]:
    """The letters of a formula with their fonts: {"bold s", "sigma", "p"}; accents are left out."""
    tex = re.sub(r"\\(text|operatorname\*?|mathrm|tag)\{[^{}]*\}", " ", tex)
    tex = re.sub(r"\\(begin|end)\{[^}]*\}|\\\\(\[[^]]*\])?", " ", tex)
    found = {f"{FONTS[font]} {(a or b).lstrip(chr(92))}" for font, a, b in FONT.findall(tex)}
    tex = FONT.sub(" ", tex)
    found |= {name for name in re.findall(r"\\([A-Za-z]+)", tex) if name in GREEK}
    return found | set(re.findall(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+", " ", tex)))


def numbered(text: str) -> dict[str, str]:
    """A chapter's numbered equations by their labels."""
    parts = re.split(r"^\$\$ ?", text, flags=re.M)
    inside = zip(parts[1::2], parts[2::2], strict=False)
    labelled = ((body, re.match(r"\((eq-[\w-]+)\)", after)) for body, after in inside)
    return {label[1]: body for body, label in labelled if label}


def terms(text: str) -> set[str]:
    """Words in bold inside a sentence: those that a chapter introduces."""
    text = re.sub(r"^```.*?^```", "", text.split("\n## Exercises", 1)[0], flags=re.S | re.M)
    bold = re.findall(r"\*\*([^*\n]+)\*\*", text)
    plain = (word.lower() for word in bold if not re.search(r"[.?!:]$|^\d", word))
    return {word for word in plain if len(word.split()) < 4} - HEADINGS


def known_symbols() -> set[str]:
    return set().union(*(symbols(tex) for tex in re.findall(r"\$([^$\n]+)\$", NOTATION)))


def known_terms() -> str:
    return "\n".join(re.findall(r"^(\S.*)\n  \S", GLOSSARY, re.M)).lower()


def is_known(term: str, known: str) -> bool:
    stem = term.removesuffix("s")
    return re.search(rf"(^|\W){re.escape(stem)}s?($|\W)", known, re.M) is not None


@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_symbol_of_a_numbered_equation_is_in_the_notation(page: str) -> None:
    equations = numbered(PAGES[page])
    assert sum(len(numbered(PAGES[one])) for one in PAGES if one[:2] == page[:2]) >= 3
    known = known_symbols() | NO_SYMBOL
    missing = {
        label: unknown for label, tex in equations.items() if (unknown := symbols(tex) - known)
    }
    assert not missing


@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_term_that_a_chapter_introduces_is_in_the_glossary(page: str) -> None:
    known = known_terms()
    assert {term for term in terms(PAGES[page]) if not is_known(term, known)} == set()


def test_what_is_missing_would_be_found() -> None:
    """The negative control."""
    assert symbols(r"\tilde{\mathbf W}^\top \sigma(x_i) + \text{if } \mathcal O") == {
        *("bold W", "sigma", "x", "i", "script O"),
    }
    text = "$$\na_{ij}\n$$ (eq-one)\n\nso\n\n$$\nx\n$$\n\n$$\n\\xi\n$$ (eq-two)\n"
    assert numbered(text) == {"eq-one": "\na_{ij}\n", "eq-two": "\n\\xi\n"}
    found = terms("A **wobble** is not **A wobble.** or **2. first**\n\n## Exercises\n**tip**")
    assert found == {"wobble"}
    assert not is_known("wobble", known_terms())
    assert is_known("experts", known_terms())
    assert "xi" not in known_symbols()
