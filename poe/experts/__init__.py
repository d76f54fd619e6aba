"""Experts: densities over a score difference d = s_first - s_second, given p.

An expert is four functions of (d, p), elementwise: its energy (minus the log-density up
to a constant), the energy's slope and curvature in d, and the normalised log-density. The
slope is minus its force on the scores, the curvature how sure it is. The solvers, the
posterior and the plots use nothing else. One family per module; `custom` makes your own.

To add a family, write a file with a class under `@named` and import it below: `poe.fit` and
the command line then take it by its name.
"""

from __future__ import annotations

from typing import Any

from poe.experts.base import NAMED, Expert, adopted
from poe.experts.bradley_terry import BradleyTerry as BradleyTerry
from poe.experts.check import ExpertError, check_expert
from poe.experts.custom import Custom, custom
from poe.experts.davidson import Davidson as Davidson
from poe.experts.gaussian import Gaussian as Gaussian
from poe.experts.gaussian import log_odds
from poe.experts.huber import Huber as Huber
from poe.experts.laplacian import Laplacian as Laplacian
from poe.experts.rao_kupper import RaoKupper as RaoKupper
from poe.experts.thurstone import Thurstone as Thurstone

__all__ = [
    "BradleyTerry",
    "Custom",
    "Davidson",
    "Expert",
    "ExpertError",
    "Gaussian",
    "Huber",
    "Laplacian",
    "RaoKupper",
    "Thurstone",
    "check_expert",
    "custom",
    "get_expert",
    "log_odds",
]

NAMES = tuple(NAMED)  # what `get_expert` and `poe.fit` know by name
FAMILIES = tuple(one for one in NAMED.values() if isinstance(one, type))
KNOWN = (*FAMILIES, Custom)  # whose functions need no check


def get_expert(expert: str | Any) -> Expert:
    """The expert of that name (`poe.experts.NAMES`) with its defaults, or one that is given.

    Any object with the functions energy, slope, curvature and log_density is an expert. ValueError
    for a name that is not known, TypeError for an object without these functions.
    """
    if not isinstance(expert, str):
        return adopted(expert)
    if expert not in NAMED:
        raise ValueError(f"no expert is called {expert!r}; choose from {', '.join(NAMED)}")
    return NAMED[expert]()
