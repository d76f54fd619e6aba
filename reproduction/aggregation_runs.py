"""How large a run of the several-judges paper is, and what it does where PyTorch is missing.

The paper's data sets have 5,918 to 34,297 samples. By default the targets use fewer (`QUICK`), so
that all of them together take some four minutes of one core; `FULL` has the paper's numbers, a
smaller batch and more epochs, and takes about half an hour (projected from one seed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from poe.panel import reproduce
from poe.panel.interface import WITH_CONTEXT
from reproduction.settings import Settings

SEEDS = 5
WITHOUT_TORCH = (
    "methods with a network are left out, since PyTorch is not installed: "
    "pip install 'judging-by-comparison[judge]'"
)


@dataclass(frozen=True)
class Size:
    """How much of the paper a run repeats.

    most : samples of a panel at most, Tables 1 to 3 and Figure 3. subset : samples for a subset
    of judges, Tables 4 and 5. sizes : samples of Figures 6 to 8. epochs, batch : of the networks.
    """

    most: int
    subset: int
    sizes: tuple[int, ...]
    epochs: int
    batch: int


QUICK = Size(most=3000, subset=2000, sizes=(1000, 2000, 3000, 4000, 5000), epochs=10, batch=128)
FULL = Size(most=34_297, subset=5000, sizes=(1000, 2000, 3000, 4000, 5000), epochs=15, batch=64)


def size(settings: Settings) -> Size:
    """Of `QUICK` and `FULL` the one asked for."""
    return FULL if settings.full else QUICK


def seeds(settings: Settings) -> tuple[int, ...]:
    """Five seeds from the one given; fewer only where fewer draws are asked for."""
    return tuple(range(settings.seed, settings.seed + min(SEEDS, settings.draws)))


def variants(full: bool) -> list[dict[str, object]]:
    """Settings as good as what a run gives now, or better: see `Target.variants`."""
    return [
        {"full": large, "networks": torch}
        for large in sorted({full, True})
        for torch in sorted({has_torch(), True})
    ]


def has_torch() -> bool:
    """Whether methods with a network can run."""
    try:
        return find_spec("torch") is not None
    except ImportError:  # an environment that refuses it
        return False


def runnable(methods: Iterable[str]) -> tuple[str, ...]:
    """The methods that can run here: without PyTorch those without a network."""
    there = has_torch()
    return tuple(m for m in methods if there or reproduce.METHODS[m][0] not in WITH_CONTEXT)


def networks(settings: Settings, *, most: bool = False) -> dict[str, Any]:
    """Options of the functions that train networks."""
    chosen = size(settings)
    options = {"seeds": seeds(settings), "epochs": chosen.epochs, "batch": chosen.batch}
    return options | ({"most": chosen.most} if most else {})


def ticks(settings: Settings, units: int, *, per_seed: bool = True) -> Callable[[], None]:
    """Counts panels for the progress bar."""
    total = units * (len(seeds(settings)) if per_seed else 1)
    done = iter(range(1, total + 1))

    def tick() -> None:
        if settings.progress:
            settings.progress(next(done, total), total)

    return tick


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums in one order, so that the same seeds give the same digits on any number of cores."""
    if not has_torch():
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
