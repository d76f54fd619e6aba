"""The words people use: for columns, for the two places, for a tie, and for no verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["cells", "meanings", "meant", "pairs_of", "plain", "word"]

PLACES = (("a", "b"), ("1", "2"), ("first", "second"), ("left", "right"), ("home", "away"))
PLACED = (("left", "right"), ("home", "away"), ("a", "b"))  # places that are columns themselves
SIDES = ("model", "generator", "system", "item", "player", "name", "id", "candidate", "team")
OPPOSED = tuple((one, other) for one in ("model", "system", "generator", "player", "item", "name")
                for other in ("opponent", "baseline", "reference", "against"))  # fmt: skip
COUNTS = ("length", "tokens", "words", "chars")
TEXTS = ("output", "response", "answer", "text", "completion", "conversation")
PROBABILITIES = ("p", "p_first", "prob", "probability")
VERDICTS = ("winner", "verdict", "preferred", "outcome", "result", "label")
PROMPTS = ("prompt", "prompt_id", "question", "question_id", "instruction", "task", "task_id",
           "context", "context_id")  # fmt: skip
PEOPLE = ("annotator", "annotator_id", "rater", "judge", "judge_user", "user", "worker")
TIES = {"tie", "tied", "tiebothbad", "tiebothgood", "bothbad", "bothgood", "both", "neither",
        "draw", "drawn", "equal", "equals", "same", "thesame", "even", "0.5", "aboutthesame",
        "aboutequal", "equallygood", "equallybad", "similar", "nodifference",
        "nopreference"}  # fmt: skip
NONE = {"unresolved", "unrateable", "unratable", "skip", "skipped", "invalid", "error", "failed",
        "refused", "noverdict", "nodecision", "undecided", "abstain", "dontknow",
        "cannottell", "canttell", "cannotdecide", "cantdecide", "cannotsay", "cantsay", "notsure",
        "unsure"}  # fmt: skip
SIGNS = re.compile(
    r"\[*\s*(?P<one>[^<>=~]+?)\s*(?P<sign>>>?|<<?|==?|~)\s*(?P<other>[^<>=~]+?)\s*\]*"
)  # A>>B, B<A, [[A=B]]
CODES = {"-1", "0", "1", "2", "true", "false", "yes", "no"}  # verdicts that need a key


def plain(name: Any) -> str:
    """A column's name without what people vary: case, blanks, hyphens."""
    return re.sub(r"[\s\-.]+", "_", str(name).strip().lower())


def pairs_of(stems: Iterable[str]) -> list[tuple[str, str]]:
    """Names of two columns, one a place: model_a and model_b, first_model, model1."""
    return [
        named
        for stem in stems
        for a, b in PLACES
        for named in (
            (f"{stem}_{a}", f"{stem}_{b}"),
            (f"{a}_{stem}", f"{b}_{stem}"),
            (f"{stem}{a}", f"{stem}{b}"),
        )
    ]


def cells(values: Any) -> list[str]:
    """Cells as texts without spaces around them."""
    return [str(value).strip() for value in values.tolist()]


def meanings(ties: str | Iterable[str], none: str | Iterable[str]) -> dict[str, str]:
    """Words of a user's own, each with the cell that says the same: "tie", or "" for no verdict."""
    own = dict[str, str]()
    for words, cell in ((ties, "tie"), (none, "")):
        own |= {_key(one): cell for one in ([words] if isinstance(words, str) else words)}
    return own


def meant(text: str, own: Mapping[str, str]) -> str:
    """A verdict, or what the user says that it means."""
    return own.get(_key(text), text)


def _key(text: str) -> str:
    return word(text) or text.strip().casefold()  # which has no letters a to z


def word(value: Any) -> str:
    """A verdict without case, blanks and signs; 1.0 is 1."""
    text = str(value).strip().lower()
    try:
        return f"{float(text):g}"
    except ValueError:
        return re.sub(r"[^0-9a-z]+", "", text)
