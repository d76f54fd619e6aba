"""Scores from pairwise comparisons, as products of experts: the mathematics, and nothing else.

    c = poe.Comparisons(first=first, second=second, p=p)
    fit = poe.fit(c, expert="bradley-terry", bias="fit")
    fit.scores; fit.interval(0.95); fit.prob_better("essay-3", "essay-8")
    poe.next_comparisons(fit, 20)                      # the pairs worth asking for next

What reads files, asks language models and ranks texts with this is the package `judging`, which
this one knows nothing of. Names are imported when they are first used, so that `import poe` takes
no time.

To read it in a morning: comparisons, experts, fitting, newton with graph, intervals with scatter,
result, then choose; stack, large, lp and the priors when you need them.
"""

from __future__ import annotations

import importlib

__version__ = "0.2.0.dev0"

# Which module each name comes from; __init__.pyi says the same to type checkers.
_NAMES = {
    "choose.adaptive": ["next_comparisons"],
    "choose.planning": ["plan"],
    "choose.selection": ["select"],
    "choose.stopping": ["ranks_within", "se_below", "top_known"],
    "comparisons": ["Comparisons"],
    "errors": [
        "ComparisonError",
        "DisconnectedError",
        "NotConvergedError",
        "SeparableError",
        "UnidentifiedBiasError",
    ],
    "experts": ["BradleyTerry", "Gaussian", "Laplacian"],
    "fitting": ["fit"],
    "resistance": ["effective_resistance", "log_det"],
    "result": ["Fit"],
    "scores": ["average_probability", "bradley_terry", "win_ratio"],
    "stack": ["Stack"],
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:  # `typing` alone takes longer than all the rest
    module = _HOME.get(name)
    try:
        loaded = importlib.import_module(f"poe.{module or name}")
    except ModuleNotFoundError as error:
        if error.name != f"poe.{name}":
            raise  # what the module needs is not installed
        raise AttributeError(f"module 'poe' has no attribute {name!r}") from None
    globals()[name] = getattr(loaded, name) if module else loaded
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
