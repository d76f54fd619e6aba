"""Experts: densities over a score difference d = s_first - s_second, given p.

An expert is four functions of (d, p), elementwise: its energy (minus the log-density up
to a constant), the energy's slope and curvature in d, and the normalised log-density. The
slope says how hard the expert pulls, the curvature how sure it is. The solvers, the
posterior and the plots use nothing else. One family a module; `custom` makes your own.
"""

from __future__ import annotations

from collections.abc import Callable

from poe.experts.base import Expert
from poe.experts.bradley_terry import BradleyTerry
from poe.experts.custom import Custom, ExpertError, check_expert, custom
from poe.experts.gaussian import Gaussian, log_odds
from poe.experts.huber import Huber
from poe.experts.laplacian import Laplacian
from poe.experts.thurstone import Thurstone

__all__ = [
    "BradleyTerry",
    "Custom",
    "Expert",
    "ExpertError",
    "Gaussian",
    "Huber",
    "Laplacian",
    "Thurstone",
    "check_expert",
    "custom",
    "get_expert",
    "log_odds",
]

FAMILIES = (Gaussian, BradleyTerry, Laplacian, Thurstone, Huber)
KNOWN = (*FAMILIES, Custom)  # whose functions need no check


def get_expert(expert: str | Expert) -> Expert:
    """The expert of that name with its defaults, or the object itself when it is one already.

    "gaussian", "logit-gaussian" (Gaussian around the log odds), "bradley-terry", "laplacian",
    "thurstone" or "huber".
    """
    if not isinstance(expert, str):
        missing = [
            part
            for part in ("energy", "slope", "curvature", "log_density")
            if not callable(getattr(expert, part, None))
        ]
        if missing:
            raise TypeError(
                f"an expert needs {', '.join(missing)} as functions of (d, p); "
                "poe.experts.custom makes one from an energy alone"
            )
        return expert
    known: dict[str, Callable[[], Expert]] = {family.name: family for family in FAMILIES}
    known["logit-gaussian"] = lambda: Gaussian(mean=log_odds)
    if expert not in known:
        raise ValueError(f"no expert is called {expert!r}; choose from {', '.join(known)}")
    return known[expert]()
