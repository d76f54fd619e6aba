"""Methods that learn from the context: train on majority, Crowdlayer, SkillAggregation."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from poe.aggregation.encoders import Encoder, encoder_for, needed
from poe.aggregation.errors import AggregationError
from poe.aggregation.judgements import Judgements
from poe.aggregation.posterior import posterior, softmax
from poe.aggregation.result import Aggregation, nothing
from poe.aggregation.settings import Loss, Training
from poe.aggregation.voting import majority_vote
from poe.comparisons import Floats

TITLES = {
    "majority": "train on majority vote",
    "crowdlayer": "Crowdlayer",
    "skill": "SkillAggregation",
    "skill-x": "SkillAggregation-X",
}


class _Run(NamedTuple):
    """What one training left: bottleneck, confusion matrices, and its place on the dev set."""

    s: Floats
    heads: Floats | None
    epoch: int
    accuracy: float
    regulariser: float


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
    dev = _development(training, given)
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
                _train(kind, given, made, training, loss, value, seed, dev, bar)
                for value in training.regularisers
            ]
            best = max(tried, key=lambda run: run.accuracy)  # the first of equals
            runs.append(_result(kind, given, best, loss, training, made.describe))
    return runs[0] if len(runs) == 1 else _together(runs)


def _development(training: Training, given: Judgements) -> tuple[Any, Any] | None:
    if training.dev is None:
        return None
    rows, labels = (np.asarray(part, dtype=np.intp) for part in training.dev)
    if rows.shape != labels.shape or rows.ndim != 1 or not len(rows):
        raise AggregationError("dev must be rows and labels of one length")
    if rows.min() < 0 or rows.max() >= len(given):
        raise AggregationError(f"dev names samples outside 0..{len(given) - 1}")
    if labels.min() < 0 or labels.max() >= given.n_classes:
        raise AggregationError(f"dev has labels outside 0..{given.n_classes - 1}")
    return rows, labels


def _train(
    kind: str,
    given: Judgements,
    encoder: Encoder,
    training: Training,
    loss: Loss,
    regulariser: float,
    seed: int,
    dev: tuple[Any, Any] | None,
    bar: Any,
) -> _Run:
    import torch

    from poe.aggregation import networks

    y = torch.as_tensor(np.nan_to_num(given.distribution()), dtype=torch.float32)
    target = torch.as_tensor(_majority(given) if kind == "majority" else [])

    def objective(s: Any, heads: Any, rows: Any) -> Any:
        if kind == "majority":
            return networks.majority_loss(s, target[rows])
        if loss == "joint" and kind != "crowdlayer":
            value = networks.joint_loss(s, heads, y[rows])
        else:
            value = networks.cross_entropy(s, heads, y[rows], kind)  # type: ignore[arg-type]
        return value + regulariser * networks.regularisation(heads) if regulariser else value

    with torch.random.fork_rng(devices=[]):  # layers draw their weights from the global state
        torch.manual_seed(seed)
        network = networks.Network(
            encoder,
            len(given.judges),
            given.n_classes,
            kind,  # type: ignore[arg-type]
            skill=training.initial_skill,
        )
        best: dict[str, Any] = {"accuracy": -1.0, "epoch": 0, "state": None}

        def after(net: Any, epoch: int) -> None:
            bar.update()
            if dev is None:
                best.update(epoch=epoch)
                return
            s, heads = networks.read(net, encoder, torch.as_tensor(dev[0]))
            p = _believed(kind, s.numpy(), None if heads is None else heads.numpy(), given, dev[0])
            accuracy = float((np.argmax(p, axis=1) == dev[1]).mean())
            if accuracy > best["accuracy"]:
                best.update(accuracy=accuracy, epoch=epoch, state=copy.deepcopy(net.state_dict()))

        networks.fit(
            network,
            encoder,
            objective,
            len(given),
            generator=torch.Generator().manual_seed(seed),
            epochs=training.epochs,
            batch=training.batch,
            learning_rate=training.learning_rate,
            weight_decay=training.weight_decay,
            after=after,
        )
        if best["state"] is not None:
            network.load_state_dict(best["state"])
        s, heads = networks.read(network, encoder, torch.arange(len(given)))
    return _Run(
        s.numpy().astype(float),
        None if heads is None else heads.numpy().astype(float),
        best["epoch"] + 1,
        best["accuracy"],
        regulariser,
    )


def _majority(given: Judgements) -> NDArray[np.int64]:
    share = majority_vote(given).probabilities
    top = np.sort(share, axis=1)
    return np.where(top[:, -1] > top[:, -2] + 1e-12, np.argmax(share, axis=1), -1).astype(np.int64)


def _believed(
    kind: str, s: Floats, heads: Floats | None, given: Judgements, rows: Any = slice(None)
) -> Floats:
    """Probabilities from which labels are taken: s_n itself, or eq. 8."""
    if kind in ("majority", "crowdlayer") or heads is None:
        return s
    return posterior(s, heads, given.decisions[rows])


def _result(
    kind: str, given: Judgements, run: _Run, loss: Loss, training: Training, encoder: str
) -> Aggregation:
    k, c = len(given.judges), given.n_classes
    p = _believed(kind, run.s, run.heads, given)
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
