"""Judging by comparison: read texts, ask a judge, keep its answers, rank, and say how sure.

    judge = judging.open("qwen")                       # or "openai:MODEL@URL", "hf:MODEL", "demo"
    ranking = judging.rank(texts, judge, attribute="more persuasive", budget="10x")
    ranking.to_frame(); judging.report(ranking, "report.html")
    judging.read("votes.csv")                          # any table of comparisons -> poe.Comparisons

The mathematics is the package `poe`. Names and submodules (judging.datasets, judging.panel, ...)
are imported when they are first used, so that `import judging` takes no time.
"""

from __future__ import annotations

import importlib

from poe import __version__ as __version__

# Which module each name comes from; __init__.pyi says the same to type checkers.
_NAMES = {
    "practice.board": ["Leaderboard", "leaderboard"],
    "errors": ["DatasetError", "JudgeError", "NoJudgeError"],
    "judges": ["open"],
    "judges.asking": ["TextJudge"],
    "question": ["Answer", "Prompt", "Question", "Reader", "Text"],
    "practice.ranking.rank": ["rank", "rank_each"],
    "practice.ranking.ranking": ["Ranking"],
    "practice.ranking.report": ["report"],
    "practice.asking.limits": ["top_known"],
    "practice.ranking.settings": ["Asking", "Fitting"],
    "practice.reading": ["read"],
    "practice.reading.texts": ["read_texts"],
    "simulated": ["SimulatedJudge"],
    "store": ["Store"],
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:  # `typing` alone takes longer than all the rest
    module = _HOME.get(name)
    try:
        loaded = importlib.import_module(f"judging.{module or name}")
    except ModuleNotFoundError as error:
        if error.name != f"judging.{name}":
            raise  # what the module needs is not installed
        raise AttributeError(f"module 'judging' has no attribute {name!r}") from None
    globals()[name] = getattr(loaded, name) if module else loaded
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
