"""One training: a network, an objective, and the checkpoint that is kept."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from poe.comparisons import Floats
from poe.panel.encoders import Encoder
from poe.panel.errors import AggregationError
from poe.panel.judgements import Judgements
from poe.panel.posterior import posterior
from poe.panel.settings import Loss, Training
from poe.panel.voting import majority_vote


class Run(NamedTuple):
    """What one training left: bottleneck, confusion matrices, and its place on the dev set."""

    s: Floats
    heads: Floats | None
    epoch: int
    accuracy: float
    regulariser: float


def development(training: Training, given: Judgements) -> tuple[Any, Any] | None:
    """Rows and labels of the development set, checked; None where there is none."""
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


def train(
    kind: str,
    given: Judgements,
    encoder: Encoder,
    training: Training,
    loss: Loss,
    regulariser: float,
    seed: int,
    dev: tuple[Any, Any] | None,
    bar: Any,
) -> Run:
    """Train one network with one seed and one lambda, and read it for all samples."""
    import torch

    from poe.panel import networks

    with torch.random.fork_rng(devices=[]):  # layers draw their weights from the global state
        torch.manual_seed(seed)
        network = networks.Network(
            encoder,
            len(given.judges),
            given.n_classes,
            kind,  # type: ignore[arg-type]
            skill=training.initial_skill,
        )
        kept = _Kept(kind, given, encoder, dev, bar)
        networks.fit(
            network,
            encoder,
            _objective(kind, given, loss, regulariser),
            len(given),
            generator=torch.Generator().manual_seed(seed),
            epochs=training.epochs,
            batch=training.batch,
            learning_rate=training.learning_rate,
            weight_decay=training.weight_decay,
            after=kept,
        )
        if kept.state is not None:
            network.load_state_dict(kept.state)
        s, heads = networks.read(network, encoder, torch.arange(len(given)))
    return Run(
        s.numpy().astype(float),
        None if heads is None else heads.numpy().astype(float),
        kept.epoch + 1,
        kept.accuracy,
        regulariser,
    )


def _objective(kind: str, given: Judgements, loss: Loss, regulariser: float) -> Callable[..., Any]:
    """What is minimised, as a function of s, heads and the rows of a batch."""
    import torch

    from poe.panel import networks

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

    return objective


class _Kept:
    """The checkpoint of the epoch that does best on the development set; without one, the last."""

    def __init__(
        self,
        kind: str,
        given: Judgements,
        encoder: Encoder,
        dev: tuple[Any, Any] | None,
        bar: Any,
    ) -> None:
        self.kind, self.given, self.encoder, self.dev, self.bar = kind, given, encoder, dev, bar
        self.epoch, self.accuracy = 0, -1.0
        self.state: dict[str, Any] | None = None

    def __call__(self, network: Any, epoch: int) -> None:
        import torch

        from poe.panel import networks

        self.bar.update()
        if self.dev is None:
            self.epoch = epoch
            return
        rows, labels = self.dev
        s, heads = networks.read(network, self.encoder, torch.as_tensor(rows))
        array = None if heads is None else heads.numpy()
        p = believed(self.kind, s.numpy(), array, self.given, rows)
        accuracy = float((np.argmax(p, axis=1) == labels).mean())
        if accuracy > self.accuracy:
            self.epoch, self.accuracy = epoch, accuracy
            self.state = copy.deepcopy(network.state_dict())


def _majority(given: Judgements) -> NDArray[np.int64]:
    share = majority_vote(given).probabilities
    top = np.sort(share, axis=1)
    return np.where(top[:, -1] > top[:, -2] + 1e-12, np.argmax(share, axis=1), -1).astype(np.int64)


def believed(
    kind: str, s: Floats, heads: Floats | None, given: Judgements, rows: Any = slice(None)
) -> Floats:
    """Probabilities from which labels are taken: s_n itself, or eq. 8."""
    if kind in ("majority", "crowdlayer") or heads is None:
        return s
    return posterior(s, heads, given.decisions[rows])
