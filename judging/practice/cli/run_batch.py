"""`judging run-batch`: a batch answered by a judge on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judging.practice.cli import opening, screen
from judging.practice.cli import options as o


@o.app.command(
    "run-batch",
    epilog="With --json, standard output is one object: answered, failed and results.",
)
def run_batch(
    requests: Annotated[Path, typer.Argument(help="The requests, as --batch writes them.")],
    results: Annotated[
        Path, typer.Argument(help="The file of results; a run that was stopped continues it.")
    ],
    judge: o.JudgeName,
    labels: Annotated[str, o.opt("The label words, separated by commas.")] = "A,B",
    judge_option: o.JudgeOptions = [],  # noqa: B006
    as_json: o.AsJson = False,
) -> None:
    """Answer a batch with a model on this machine, as a provider or `vllm run-batch` would."""
    from judging.practice.runner import answer_batch

    screen.require_writable(results, inputs=[requests])
    reader = opening.open_judge(judge, judge_option)
    answered, failed = answer_batch(requests, results, reader, labels.split(","))
    say = screen.Lines(as_json)
    say(f"{answered:,} answered, {failed:,} cannot be; the results are in {results}")
    say.end({"answered": answered, "failed": failed, "results": str(results)})
