"""data/twins.toml: written from a calibration, read by `reproduction.twins`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from poe import datasets
from reproduction import bench, facts
from reproduction.calibrate import Fitted, calibrate_all
from reproduction.calibrate_large import calibrate_large
from reproduction.twins import INTERVAL

HEADER = """\
# Twins: simulated judges calibrated on published numbers. Written by `poe reproduce twins`
# from human scores; edit reproduction/calibrate.py, not this file.
#
# sharpness  logits per unit of perceived quality: one a judge
# noise      standard deviation of a call's logit; bias: logits for the item shown first
# earlier    rho and bias under the prompts of comparative_assessment
# se         standard errors of rho, of the noise in units of quality, and of the sharpness, by
#            the delta method: rounding of the printed cells and the taste of the one judge
#            that the paper saw
# reached    what the twin attains of what was printed (the full-set correlation after the level
#            was moved to poe_v2's, the others before)
# calibrated_on  every published cell that was used; none of them counts as predicted

[model]
description = "q = rho z + sqrt(1 - rho^2) e; p = sigmoid(sharpness (q_i - q_j) + bias + noise)"
human_scores = "z: normal quantiles of the ranks, with a share of the scores as they are"
interval = {interval}
tastes = {tastes}
seed = {seed}
# Looked at when the form of the model was chosen, so not predicted either.
consulted = [
{consulted}]
# Not compared with anything of ours before the twins were fixed.
held_out = [
{held_out}]
"""


def as_toml(found: Mapping[str, Mapping[tuple[str, str], Fitted]]) -> str:
    """The text of data/twins.toml, from twins by dataset and (judge, attribute)."""
    parts = [
        HEADER.format(
            tastes=2 * bench.TASTES,
            seed=bench.SEED,
            interval=INTERVAL,
            consulted=_listed(facts.CONSULTED),
            held_out=_listed(facts.HELD_OUT),
        )
    ]
    for dataset, twins in found.items():
        parts += [_entry(dataset, *name, twin) for name, twin in twins.items()]
    return "\n".join(parts)


def _entry(dataset: str, judge: str, attribute: str, twin: Fitted) -> str:
    scale = twin.sharpness
    errors = {"rho": twin.rho_se, "noise": twin.noise_se, "sharpness": twin.sharpness_se}
    earlier = ""
    if twin.earlier is not None:
        earlier = f"earlier = {_table({'rho': twin.earlier[0], 'bias': scale * twin.earlier[1]})}\n"
    return (
        f'[[twin]]\njudge = "{judge}"\ndataset = "{dataset}"\nattribute = "{attribute}"\n'
        f"rho = {twin.rho:.4f}\nsharpness = {scale:.4f}\nnoise = {scale * twin.noise:.4f}\n"
        f"bias = {scale * twin.bias:.4f}\n"
        f"{earlier}se = {_table(errors)}\nreached = {_table(twin.reached or {})}\n"
        f"calibrated_on = [\n{_listed(dict.fromkeys(twin.cells))}]\n"
    )


def _table(values: Mapping[str, float | None]) -> str:
    known = [f"{name} = {value:.4f}" for name, value in values.items() if value is not None]
    return "{ " + ", ".join(known) + " }"


def _listed(cells: Iterable[str]) -> str:
    return "".join(f'    "{cell}",\n' for cell in cells)


def calibrate_twins() -> dict[str, dict[tuple[str, str], Fitted]]:
    """All twins, from the real labels (CMCQRD's stand-in excepted): a minute or two."""
    judged = calibrate_all("summeval", datasets.load("summeval").scores)
    one = next(iter(facts.ATTRIBUTES["summeval"].values()))
    sharpness = {
        judge: (judged[judge, one].sharpness, judged[judge, one].sharpness_se)
        for judge in facts.JUDGES
    }
    talk = calibrate_all("topicalchat", datasets.load("topicalchat").scores, sharpness)
    stories = calibrate_large("hanna", datasets.load("hanna").scores, sharpness)
    questions = datasets.load("cmcqrd", source="stand-in").scores
    hard = calibrate_large("cmcqrd", questions, sharpness)
    return {"summeval": judged, "topicalchat": talk, "hanna": stories, "cmcqrd": hard}
