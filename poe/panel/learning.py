"""Methods that learn from the context: train on majority, Crowdlayer, SkillAggregation."""

from __future__ import annotations

from typing import Any

import numpy as np

from poe.comparisons import Floats
from poe.panel.encoders import encoder_for, needed
from poe.panel.judgements import Judgements
from poe.panel.posterior import softmax
from poe.panel.result import Aggregation, nothing
from poe.panel.settings import Loss, Training
from poe.panel.training import Run, believed, development, train

TITLES = {
    "majority": "train on majority vote",
    "crowdlayer": "Crowdlayer",
    "skill": "SkillAggregation",
    "skill-x": "SkillAggregation-X",
}


def train_on_majority(
    given: Judgements, context: Any, *, encoder: Any = "light", training: Training | None = None
) -> Aggregation:
    """The encoder and bottleneck trained to predict the majority's labels (section 5.3).

    The label is the larger entry of s_n; the judgements of the sample itself are not looked
    at again. Shows what the encoder knows by itself. Tied samples are not trained on.
    """
    return _learn("majority", given, context, encoder, training or Training(), "marginal")


def crowdlayer(
    given: Judgements, context: Any, *, encoder: Any = "light", training: Training | None = None
) -> Aggregation:
    """Crowdlayer (Rodrigues and Pereira 2018): judge k is predicted by softmax(W_k s_n).

    The label is the larger entry of s_n. Its "confusion" is softmax(W_k e_c), the prediction
    where s_n is certain of c.
    """
    return _learn("crowdlayer", given, context, encoder, training or Training(), "marginal")


def skill_aggregation(
    given: Judgements,
    context: Any,
    *,
    encoder: Any = "light",
    training: Training | None = None,
    specific: bool = False,
    loss: Loss = "marginal",
) -> Aggregation:
    """SkillAggregation (section 4; appendix F for more classes), with eq. 8 for the labels.

    Minimises, over encoder, bottleneck s_n and skills, L = L_CE + lambda L_reg (eqs. 5 and 7):

        P(b_nk = b | X_n) = sum_c s_nc C_kcb,
        L_CE = -sum_n sum_k sum_b y_nkb log P(b_nk = b | X_n),
        L_reg = sum_n sum_k sum_(c, b < C) (C_kcb - C_kCb)^2, for two classes the squared slope.

    specific : skills as a function of the context, SkillAggregation-X. loss : "marginal" is
    the paper's; "joint" replaces L_CE by minus the log-likelihood of all judgements of a sample,
    -sum_n log sum_c s_nc prod_k C_kc(b_nk): Dawid and Skene's with s_n as its prior, not in the
    paper.

    **What the loss cannot know.** By eq. 6 a prediction is slope * s_n0 + (1 - p_1), linear in
    s_n0. Put alpha + beta s_n0 in the place of s_n0, divide the slopes by beta and move the
    intercepts: every prediction, and so L_CE, is unchanged. L_CE therefore fixes slopes only up
    to one common factor (as long as all numbers stay in [0, 1]) and one common shift, and where
    contexts say nothing it fixes nothing. The regulariser prefers the smallest slopes, so the
    most spread s_n; the start and the number of steps decide the rest. The joint loss has no
    such freedom, given three judges, but takes their errors to be independent.

    **What it counts twice.** There is no distinction between training and test: s_n is trained
    on the judgements of sample n, and eq. 8 multiplies them in again. An encoder that can
    memorise makes s_n their echo, and the posterior over-confident.

    The standard errors of the skills join the spread over seeds (NaN with one seed) with
    the binomial error of shares among samples believed of that class.
    """
    kind = "skill-x" if specific else "skill"
    return _learn(kind, given, context, encoder, training or Training(), loss)


def _learn(
    kind: str, given: Judgements, context: Any, encoder: Any, training: Training, loss: Loss
) -> Aggregation:
    if loss not in ("marginal", "joint"):
        raise ValueError(f"loss must be 'marginal' or 'joint', not {loss!r}")
    dev = development(training, given)
    needed("torch")
    made = encoder_for(context, len(given), encoder=encoder, hidden=training.hidden)
    runs = []
    bar = needed("tqdm").tqdm(
        total=len(training.seeds) * len(training.regularisers) * training.epochs,
        disable=not training.progress,
        desc=TITLES[kind],
        unit="epoch",
    )
    with bar:
        for seed in training.seeds:
            tried = [
                train(kind, given, made, training, loss, value, seed, dev, bar)
                for value in training.regularisers
            ]
            best = max(tried, key=lambda run: run.accuracy)  # the first of equals
            runs.append(_result(kind, given, best, loss, training, made.describe))
    return runs[0] if len(runs) == 1 else _together(runs)


def _result(
    kind: str, given: Judgements, run: Run, loss: Loss, training: Training, encoder: str
) -> Aggregation:
    k, c = len(given.judges), given.n_classes
    p = believed(kind, run.s, run.heads, given)
    confusion, _ = nothing(k, c)
    if kind == "crowdlayer" and run.heads is not None:
        confusion = softmax(run.heads.transpose(0, 2, 1))
    elif run.heads is not None:
        confusion = run.heads if run.heads.ndim == 3 else run.heads.mean(axis=0)
    se = _binomial(confusion, p, given) if kind != "crowdlayer" else np.full_like(confusion, np.nan)
    title = TITLES[kind] + (f", lambda {run.regulariser:g}" if run.regulariser else "")
    message = f"{encoder}; epoch {run.epoch} of {training.epochs}"
    if training.dev is None:
        message += ", the last: no label was used"
    else:
        message += f", best on {len(training.dev[0])} labelled samples ({run.accuracy:.3f})"
    spread = float(run.s[:, -1].std())
    if spread < 1e-2:
        message += (
            "; the bottleneck hardly varies, so the contexts tell nothing about the judgements "
            "and the skills are where they started"
        )
    return Aggregation(
        title + (", joint loss" if loss == "joint" else ""),
        given.judges,
        given.classes,
        np.argmax(p, axis=1),
        p,
        confusion,
        se,
        np.sqrt((np.diagonal(se, axis1=1, axis2=2) ** 2).sum(axis=1)) / (c - 1),
        run.s.mean(axis=0),
        message,
        context=run.s,
    )


def _binomial(confusion: Floats, p: Floats, given: Judgements) -> Floats:
    weight = given.seen.T.astype(float) @ p  # (K, C) samples of each class seen
    return np.sqrt(confusion * (1.0 - confusion) / np.maximum(weight, 1.0)[:, :, None])


def _together(runs: list[Aggregation]) -> Aggregation:
    """Seeds as one: mean probabilities and skills, and their spread."""
    first = runs[0]
    p = np.mean([run.probabilities for run in runs], axis=0)
    s = np.mean([run.context for run in runs if run.context is not None], axis=0)
    confusions = np.array([run.confusion for run in runs])
    slopes = np.array([run.slope for run in runs])
    se = np.sqrt(confusions.std(axis=0, ddof=1) ** 2 + first.confusion_se**2)
    slope_se = np.sqrt(slopes.std(axis=0, ddof=1) ** 2 + first.slope_se**2)
    agree = np.mean([(run.labels == np.argmax(p, axis=1)).mean() for run in runs])
    message = f"{len(runs)} seeds averaged, whose labels agree {agree:.1%} with the mean's; "
    return Aggregation(
        first.method,
        first.judges,
        first.classes,
        np.argmax(p, axis=1),
        p,
        confusions.mean(axis=0),
        se,
        slope_se,
        s.mean(axis=0),
        message + first.message,
        context=s,
        runs=tuple(runs),
    )
