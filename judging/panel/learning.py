"""Methods that learn from the context: train on majority, Crowdlayer, SkillAggregation.

Their networks are in `judging.panel.networks`, which needs torch and is imported here when one is
trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, groupby, islice
from typing import Any

import numpy as np
from scipy.special import softmax

from judging.panel.encoders import encoder_for, needed
from judging.panel.judgements import Judgements
from judging.panel.training import TITLES, Training
from judging.panel.voting import Aggregation, unknown


def train_on_majority(
    given: Judgements, context: Any, *, encoder: Any = "light", training: Training | None = None
) -> Aggregation:
    """The encoder and bottleneck trained to predict the majority's labels (section 5.3).

    The label is the larger entry of s_n; the judgements of the sample itself are not looked
    at again. Shows what the encoder knows by itself. Tied samples are not trained on.
    """
    return _learn("train-on-majority", given, context, encoder, training)


def crowdlayer(
    given: Judgements, context: Any, *, encoder: Any = "light", training: Training | None = None
) -> Aggregation:
    """Crowdlayer (Rodrigues and Pereira 2018): judge k is predicted by softmax(W_k s_n).

    The label is the larger entry of s_n. Its "confusion" is softmax(W_k e_c), the prediction
    where s_n is certain of c.
    """
    return _learn("crowdlayer", given, context, encoder, training)


def skill_aggregation(
    given: Judgements,
    context: Any,
    *,
    encoder: Any = "light",
    training: Training | None = None,
    specific: bool = False,
) -> Aggregation:
    """SkillAggregation (section 4; appendix F for more classes), with eq. 8 for the labels.

    Minimises, over encoder, bottleneck s_n and skills, L = L_CE + lambda L_reg (eqs. 5 and 7):

        P(b_nk = b | X_n) = sum_c s_nc C_kcb,
        L_CE = -sum_n sum_k sum_b y_nkb log P(b_nk = b | X_n),
        L_reg = sum_n sum_k sum_(c, b < C) (C_kcb - C_kCb)^2, for two classes the squared slope.

    specific : skills as a function of the context, SkillAggregation-X.

    **What the loss cannot know.** By eq. 6 a prediction is slope * s_n0 + (1 - p_1), linear in
    s_n0. Put alpha + beta s_n0 in the place of s_n0, divide the slopes by beta and move the
    intercepts: every prediction, and so L_CE, is unchanged. L_CE therefore fixes slopes only up
    to one common factor (as long as all numbers stay in [0, 1]) and one common shift, and where
    contexts say nothing it fixes nothing. The regulariser prefers the smallest slopes, so the
    most spread s_n; the start and the number of steps decide the rest.

    **What it counts twice.** There is no distinction between training and test: s_n is trained
    on the judgements of sample n, and eq. 8 multiplies them in again. An encoder that can
    memorise makes s_n their echo, and the posterior over-confident.

    The standard errors of the skills are the binomial errors of shares among samples believed of
    that class; skills differ from seed to seed as well.
    """
    return _learn("skill-x" if specific else "skill", given, context, encoder, training)


def learn(
    kind: str,
    panels: Sequence[tuple[Judgements, Any, Training | None]],
    *,
    encoder: Any = "light",
) -> list[Aggregation]:
    """One of the methods on several panels, each with its context and training.

    kind : the method as `aggregate` calls it, one of `TITLES`. The same answers as of one panel
    after another, to rounding; panels of one shape, as the draws of an experiment, are trained
    side by side, several times faster.
    """
    needed("torch")
    from judging.panel import networks

    tasks = []
    for given, context, training in panels:
        settings = training or Training()
        made = encoder_for(context, len(given), encoder=encoder, hidden=settings.hidden)
        tasks.append([networks.Task(given, made, settings, x) for x in settings.regularisers])
    groups = groupby(chain.from_iterable(tasks), key=networks.Task.shape)
    runs = chain.from_iterable(networks.train(kind, list(group)) for _, group in groups)  # type: ignore[arg-type]
    return [_read(kind, some[0], list(islice(runs, len(some)))) for some in tasks]


def _learn(
    kind: str, given: Judgements, context: Any, encoder: Any, training: Training | None
) -> Aggregation:
    return learn(kind, [(given, context, training)], encoder=encoder)[0]


def _read(kind: str, task: Any, tried: list[Any]) -> Aggregation:
    """What the best of the runs with a panel says: it differs from the others in lambda."""
    given, made, training, _ = task
    run = max(tried, key=lambda run: run.accuracy)  # the first of equals
    confusion = se = unknown()
    if run.heads is not None and kind == "crowdlayer":
        confusion = softmax(run.heads.transpose(0, 2, 1), axis=-1)
    elif run.heads is not None:
        confusion = run.heads if run.heads.ndim == 3 else run.heads.mean(axis=0)
        believed = given.seen.T.astype(float) @ run.p  # (K, C) samples of each class seen
        se = np.sqrt(confusion * (1.0 - confusion) / np.maximum(believed, 1.0)[:, :, None])
    message = f"{made.describe}; epoch {run.epoch} of {training.epochs}"
    if training.dev is None:
        message += ", the last: no label was used"
    else:
        message += f", best on {len(training.dev[0])} labelled samples ({run.accuracy:.3f})"
    if run.s[:, -1].std() < 1e-2:
        message += (
            "; the bottleneck hardly varies, so the contexts tell nothing about the judgements "
            "and the skills are where they started"
        )
    return Aggregation(
        TITLES[kind] + (f", lambda {run.regulariser:g}" if run.regulariser else ""),
        given.judges,
        given.classes,
        np.argmax(run.p, axis=1),
        run.p,
        message,
        confusion,
        se,
        prior=run.s.mean(axis=0),
        context=run.s,
    )
