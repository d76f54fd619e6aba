"""A run in MLflow: its settings, its numbers and its files, by MLflow's own API.

MLflow is not installed with this package (`pip install mlflow-skinny`, or `mlflow` with a database
of its own). Where runs go is MLflow's own matter: MLFLOW_TRACKING_URI. No text and no key is
written, but for the texts' names, and the beginnings of texts in a report.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judging.errors import JudgeError
from judging.quoting import quoted
from judging.ranking.ranking import Ranking
from judging.ranking.sure import prob_first
from judging.ranking.verdict import verdict

__all__ = ["log_run", "module"]

LONGEST = 500  # letters of a parameter that every MLflow takes


def module() -> Any:
    """MLflow; JudgeError where it is not installed."""
    try:
        return importlib.import_module("mlflow")
    except ModuleNotFoundError as error:
        if error.name != "mlflow":
            raise
        raise JudgeError("--mlflow needs MLflow: pip install mlflow-skinny") from None


def log_run(
    rankings: Sequence[Ranking],
    *,
    experiment: str,
    files: Sequence[Path] = (),
    settings: Mapping[str, Any] | None = None,
) -> str:
    """Log one or several rankings as one run of an experiment; returns the run's id.

    files : kept with the run, such as a report. settings : more of its parameters. Where there are
    several rankings, names of their numbers begin with their place in the run: 1.comparisons.
    """
    mlflow = module()
    try:
        return _logged(mlflow, rankings, experiment, files, settings or {})
    except Exception as error:  # MLflow's own, its server's, its database's
        why = quoted(" ".join(str(error).split()))
        raise JudgeError(
            f"MLflow took nothing ({type(error).__name__}: {why}); the ranking and its files are "
            "as they should be. MLFLOW_TRACKING_URI says where runs go; mlflow-skinny needs a "
            "server there"
        ) from None


def _logged(
    mlflow: Any,
    rankings: Sequence[Ranking],
    experiment: str,
    files: Sequence[Path],
    settings: Mapping[str, Any],
) -> str:
    mlflow.set_experiment(experiment)
    with mlflow.start_run() as run:
        mlflow.log_params({k: quoted(v, LONGEST) for k, v in settings.items() if v is not None})
        for k, one in enumerate(rankings, start=1):
            start = "" if len(rankings) == 1 else f"{k}."
            mlflow.log_params({f"{start}{name}": v for name, v in _settings(one).items()})
            mlflow.log_metrics({f"{start}{name}": v for name, v in _numbers(one).items()})
        for path in files:
            mlflow.log_artifact(str(path))
        return str(run.info.run_id)


def _settings(one: Ranking) -> dict[str, str]:
    given = {} if one.judged is None else one.judged.judge.specification
    return {
        "attribute": one.attribute,
        "context": one.name or "none",
        "judge": str(given.get("model") or given.get("kind") or "a function"),
        "expert": type(one.fit.expert).__name__,
        "seed": str(one.seed),
        "stopped_because": quoted(one.stopped_because, LONGEST),
        "advice": verdict(one).state,
        "best": str(one.fit.ranking()[0]),
    }


def _numbers(one: Ranking) -> dict[str, float]:
    numbers = {
        "texts": float(len(one.fit.items)),
        "comparisons": float(len(one.comparisons)),
        "p_best": prob_first(one.fit),
        "first_rate": float(one.history["rate"].iloc[-1]),
        "error": float(one.history["error"].iloc[-1]),
        "refused": float(one.refused),
    }
    if one.judged is not None:
        numbers["tokens"] = float(sum(answer.tokens for answer in one.judged.answers))
    if one.trust is not None:
        numbers["people_agree"] = one.trust.agreement.rate
        numbers["people_agree_low"] = one.trust.agreement.low
        numbers["people_agree_high"] = one.trust.agreement.high
    return {name: value for name, value in numbers.items() if value == value}
