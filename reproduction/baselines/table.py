"""Table 9 of poe_v2: PoE-BT against two other ways of using a judge, G-Eval and PairS.

PoE-BT is that of Tables 1 and 3 (K = 3N calls and 5N symmetric comparisons). PairS sorts, so it
runs on the twins as they are, both orders averaged as its authors do: a beam of 10 in contexts of
sixteen, and the greedy variant on HANNA's 1056 stories. The paper states neither.

G-Eval scores a text alone. A twin of an absolute scorer is the human quality mixed with its own
taste, rho_a z + sqrt(1 - rho_a^2) e: it never sees a pair, and one number, its correlation with
people, is all there is to calibrate. That number is printed for Llama2-7B on SummEval in the
other paper (comparative_assessment Table 1). For Mistral-7B and for HANNA nothing is printed
but the cell itself, which would predict nothing: these are not attempted.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from judging.metrics import spearman
from poe.arrays import Floats
from reproduction import large, small
from reproduction.baselines.papers import pairs_ranking
from reproduction.published import load, number
from reproduction.settings import Calls, Settings, bootstrap_se, cell
from reproduction.twins import key_of, labels, perceived, stream, twin_of

BEAM = 10
PAIRS_DRAWS = 24  # PairS asks one call after the other, so it cannot be stacked


def table(settings: Settings) -> pd.DataFrame:
    """One row a cell that can be attempted.

    How far one run scatters is pooled over the cells of a dataset and method: two dozen rankings by
    PairS say little of one.
    """
    printed = load("table9")
    whole = printed["dataset"].map(key_of) == "hanna"
    untold = (printed["method"] == "G-Eval") & (whole | (printed["system"] == "Mistral-7B"))
    printed = printed[~untold].reset_index(drop=True)
    slow = np.flatnonzero(printed["method"].isin(["G-Eval", "PAIRS-beam"])).tolist()

    def step_by_step(k: int) -> Floats:
        method = _absolute if printed.loc[k, "method"] == "G-Eval" else _sorted
        return method(printed.loc[k], settings)

    correlations = settings.map(step_by_step, slow)
    rows = []
    for place, row in printed.iterrows():
        key, judge = key_of(row["dataset"]), twin_of(row)
        if place in correlations:
            each = 100.0 * correlations[place]
        elif key == "hanna":
            job = large.symmetric(judge, 10, large.SOFT, settings.seed)
            each = large.repeated([job], settings)[job]["PoE-BT"].mean(axis=0)
        else:
            calls = Calls("summeval", 48, seed=settings.seed)
            blocks = small.run_blocks([(judge, calls)], settings)
            each = 100.0 * blocks[judge, calls]["PoE-BT", "spearman"]
        in_contexts = each.ndim == 2
        values = np.nanmean(each, axis=-1) if in_contexts else each
        about = cell(
            row,
            values,
            boot_se=bootstrap_se(each) if in_contexts else np.nan,
            role="seen",
            dataset=key,
            place=True,
        )
        rows.append(about | {"draws": len(values)})
    results = pd.DataFrame(rows)
    pooled = (
        (results["run_sd"] ** 2).groupby([results["dataset"], results["method"]]).transform("mean")
    )
    return results.assign(run_sd=np.sqrt(pooled), seed=settings.seed)


def _absolute(row: pd.Series, settings: Settings) -> Floats:
    """Correlations (draws, C) of twins of the absolute scorer whose mean is printed."""
    gold = labels("summeval").scores[twin_of(row).attribute]
    place = f"{row['system']}/SummEval-{row['attribute']}"
    wanted = number(f"comparative_assessment/table1/{place}/G-Eval") / 100.0
    rng = np.random.default_rng([settings.seed, 9])
    taste = rng.standard_normal((settings.draws, *gold.shape))

    def each(rho: float) -> Floats:
        return small.per_context(perceived(gold, rho, taste), gold)

    rho = brentq(lambda r: float(np.nanmean(each(r))) - wanted, 0.0, 0.999, xtol=1e-4)
    return each(float(rho))


def _sorted(row: pd.Series, settings: Settings) -> Floats:
    """Correlations of PairS: (draws, C), or (draws,) of one large set."""
    judge, correlations = twin_of(row), []
    gold = labels(judge.dataset).scores[judge.attribute]
    for draw in range(min(settings.draws, PAIRS_DRAWS)):
        rng = np.random.default_rng([settings.seed, draw, stream(judge), 7])
        if len(gold) == 1:
            n = gold.shape[1]
            # All answers at once take less time than the few that are asked for one by one.
            every = np.stack(np.divmod(np.arange(n * n), n), axis=-1)
            p = judge.asker(gold[0], rng)(every).reshape(n, n).tolist()
            ranked = pairs_ranking(
                lambda a, b: p[a][b],  # noqa: B023
                range(n),
                beam=1,
                both_orders=True,
                seed=draw,
            )
            correlations.append(spearman(ranked.scores, gold[0]))
        else:
            answers = judge.answer(gold, rng, draws=1).matrix()[0]
            answers = (answers + 1.0 - np.swapaxes(answers, -1, -2)) / 2.0
            orders = [
                pairs_ranking(
                    lambda a, b: float(one[a, b]),  # noqa: B023
                    range(len(one)),
                    beam=BEAM,
                    seed=draw,
                ).scores
                for one in answers
            ]
            correlations.append(small.per_context(np.stack(orders), gold))
    return np.stack(correlations)
