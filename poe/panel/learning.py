"""Methods that learn from the context: train on majority, Crowdlayer, SkillAggregation.

Their networks are in `poe.panel.networks`, which needs torch and is imported here when one is
trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from typing import Any

import numpy as np
from scipy.special import softmax

from poe.panel.encoders import encoder_for, needed
from poe.panel.judgements import Judgements, PanelError
from poe.panel.voting import Aggregation, unknown

TITLES = {
    "train-on-majority": "train on majority vote",
    "crowdlayer": "Crowdlayer",
    "skill": "SkillAggregation",
    "skill-x": "SkillAggregation-X",
}


@dataclass(frozen=True)
class Training:
    """Settings of `train_on_majority`, `crowdlayer` and `skill_aggregation`.

    seed : of the weights and of the order of the samples. epochs, batch : passes over the samples,
        samples a step. learning_rate : of Adam; ten times it for the skills. hidden : width of the
        light encoder. weight_decay : L2 penalty a step on the encoder's weights.
    regulariser : lambda of L = L_CE + lambda L_reg (section 4.2); a sequence is tried in turn
        and chosen on the development set, as the paper does.
    initial_skill : p_0 = p_1 at the start; above 1/2 tells the network which class is which.
    dev : rows and labels of the small labelled development set (250 samples in section 5.4), on
        which the checkpoint and lambda are chosen. None takes the last epoch: no label is used.

    The paper gives the backbone, the bottleneck and the choice on the development set, but no
    learning rate, batch, epochs or lambda; the values here are ours.
    """

    seed: int = 0
    epochs: int = 15
    batch: int = 256
    learning_rate: float = 2e-3
    hidden: int = 64
    weight_decay: float = 1e-3
    regulariser: float | Sequence[float] = 0.0
    initial_skill: float = 0.75
    dev: tuple[Sequence[int], Sequence[int]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not 0.5 < self.initial_skill < 1.0:
            raise PanelError("initial_skill must lie between 1/2 and 1")
        if len(self.regularisers) > 1 and self.dev is None:
            raise PanelError(
                "several values of the regulariser need a labelled development set (dev=) to "
                "choose among them; without one give a single value"
            )

    @property
    def regularisers(self) -> tuple[float, ...]:
        """The values of lambda to try."""
        return tuple(np.atleast_1d(self.regulariser).tolist())


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
    from poe.panel import networks

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
