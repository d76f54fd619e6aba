"""Two games a prompt, seats swapped: uid, model, games [{score: "A>>B"}, {score: "B>A"}].

So Arena-Hard writes its judgements: in the first game the baseline is A, in the second the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from judging.practice.reading.shapes.turned import Turned, column_of, refusal, repeated

if TYPE_CHECKING:
    import pandas as pd


def rows(table: pd.DataFrame) -> Turned | None:
    """A row a game."""
    games, model = column_of(table, ["games"]), column_of(table, ["model", "model_id"])
    if games is None or model is None:
        return None
    known = column_of(table, ["baseline", "baseline_model"])
    of, first, second, verdicts = list[int](), list[Any](), list[Any](), list[Any]()
    for k, (name, played) in enumerate(zip(table[model], table[games], strict=True)):
        if not (isinstance(played, list) and all(isinstance(one, dict) for one in played)):
            raise refusal(
                table, k, f"the column {games!r} is no list of games, each with its score"
            )
        if len(played) > 2:
            raise refusal(table, k, f"{len(played)} games, and who is A in the third is not known")
        baseline = "baseline" if known is None else table[known].iloc[k]
        for seat, game in enumerate(played):
            of.append(k)
            sides = (baseline, name) if seat == 0 else (name, baseline)
            first.append(sides[0])
            second.append(sides[1])
            verdicts.append(game.get("score"))
    turned = repeated(
        table.drop(columns=[games]), of, {"first": first, "second": second, "winner": verdicts}
    )
    note = "games as Arena-Hard writes them: in the first the baseline is A, in the second B"
    return Turned(turned, (note,), {"first": "first", "second": "second", "winner": "winner"})
