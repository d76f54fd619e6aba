"""All twins and their file: `judging reproduce twins` writes data/twins.toml.

Twins are calibrated on published numbers alone: `calibrate_small` says how for SummEval and
TopicalChat, whose sharpness holds for every data set, `calibrate_large` for HANNA and CMCQRD.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reproduction.calibrate_large import calibrate_large
from reproduction.calibrate_small import (
    TASTES,
    Fitted,
    Shared,
    Twins,
    calibrate_small,
    shared_errors,
)


def calibrate_twins(*, tastes: int = TASTES) -> tuple[Shared, dict[str, Twins]]:
    """Calibrate what both orders share, and all twins by dataset: a few minutes."""
    shared = shared_errors(tastes=tastes // 2)
    twins = {"summeval": calibrate_small("summeval", shared.value, tastes=tastes)}
    sharpness = {
        judge: (twin.sharpness, twin.sharpness_se) for (judge, _), twin in twins["summeval"].items()
    }
    twins["topicalchat"] = calibrate_small("topicalchat", shared.value, sharpness, tastes=tastes)
    for dataset in ("hanna", "cmcqrd"):
        twins[dataset] = calibrate_large(dataset, shared.value, sharpness)
    return shared, twins


def with_twins(text: str, shared: Shared, by_dataset: Mapping[str, Twins]) -> str:
    """The text of data/twins.toml with these twins under its head, which stays as it is."""
    head = text.partition("[shared]")[0]
    both = (
        f"[shared]\nvalue = {shared.value:.4f}\nse = {shared.se:.4f}\n"
        f"calibrated_on = [\n{_listed(shared.cells)}]\n"
    )
    twins = [
        _entry(name, *who, t) for name, every in by_dataset.items() for who, t in every.items()
    ]
    return head + "\n".join([both, *twins])


def _entry(dataset: str, judge: str, attribute: str, twin: Fitted) -> str:
    scale = twin.sharpness
    errors = {"rho": twin.rho_se, "noise": twin.noise_se, "sharpness": twin.sharpness_se}
    names = ", ".join(f'"{name}"' for name in twin.at_bound)
    bound, earlier = f"at_bound = [{names}]\n" if names else "", ""
    if twin.earlier is not None:
        earlier = f"earlier = {_table({'rho': twin.earlier[0], 'bias': scale * twin.earlier[1]})}\n"
    return (
        f'[[twin]]\njudge = "{judge}"\ndataset = "{dataset}"\nattribute = "{attribute}"\n'
        f"rho = {twin.rho:.4f}\nsharpness = {scale:.4f}\nnoise = {scale * twin.noise:.4f}\n"
        f"bias = {scale * twin.bias:.4f}\n{bound}"
        f"{earlier}se = {_table(errors)}\nreached = {_table(twin.reached)}\n"
        f"calibrated_on = [\n{_listed(dict.fromkeys(twin.cells))}]\n"
    )


def _table(values: Mapping[str, float | None]) -> str:
    known = [f"{name} = {value:.4f}" for name, value in values.items() if value is not None]
    return "{ " + ", ".join(known) + " }"


def _listed(cells: Iterable[str]) -> str:
    return "".join(f'    "{cell}",\n' for cell in cells)
