"""The networks of section 4 in torch: encoder, bottleneck, what each judge makes of the truth.

Imported by `poe.panel.learning` when a network is trained, and by nothing else.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from poe.comparisons import Floats
from poe.panel.encoders import Encoder
from poe.panel.judgements import Judgements
from poe.panel.learning import Training
from poe.panel.voting import majority_vote, posterior

Kind = Literal["majority", "crowdlayer", "skill", "skill-x"]
HEADS = 10.0  # times faster do the judges' heads learn than the rest
SMALLEST = 1e-7  # probability in a logarithm


class Network(nn.Module):
    """f(X), the bottleneck s = softmax(w' f(X) + b) of eq. 2, and the judges' heads.

    kind : "majority" has no heads. "crowdlayer" predicts judge k by softmax(W_k s), W_k the
    identity at the start (Rodrigues and Pereira 2018). "skill" has a confusion matrix for each
    judge (two classes: rows p_0, 1 - p_0 and 1 - p_1, p_1, each a softmax of two logits, which is
    a sigmoid), "skill-x" one that is a linear function of f(X) before the softmax.
    """

    def __init__(
        self, encoder: Encoder, judges: int, classes: int, kind: Kind, *, skill: float
    ) -> None:
        super().__init__()
        self.kind, self.shape = kind, (judges, classes, classes)
        self.body = encoder.make()
        self.bottleneck = nn.Linear(encoder.size, classes)
        eye = torch.eye(classes)
        if kind == "crowdlayer":
            self.heads = nn.Parameter(eye.repeat(judges, 1, 1))
        elif kind in ("skill", "skill-x"):
            lead = torch.log(torch.tensor(skill * (classes - 1) / (1.0 - skill)))
            self.heads = nn.Parameter((lead * eye).repeat(judges, 1, 1))
        if kind == "skill-x":
            self.shift = nn.Linear(encoder.size, judges * classes * classes)
            nn.init.zeros_(self.shift.weight)  # every context starts from the task's skills
            nn.init.zeros_(self.shift.bias)

    def forward(self, given: Any) -> tuple[Tensor, Tensor | None]:
        """S (B, C), and confusion matrices (K, C, C) or (B, K, C, C), for Crowdlayer W."""
        hidden = self.body(given)
        s = self.bottleneck(hidden).softmax(dim=-1)
        if self.kind == "majority":
            return s, None
        if self.kind == "crowdlayer":
            return s, self.heads
        logits = self.heads
        if self.kind == "skill-x":
            logits = logits + self.shift(hidden).view(-1, *self.shape)
        return s, logits.softmax(dim=-1)


def predicted(s: Tensor, heads: Tensor, kind: Kind) -> Tensor:
    """(B, K, C) what each judge is expected to say (above eq. 5; appendix F)."""
    if kind == "crowdlayer":
        return torch.einsum("kbc,nc->nkb", heads, s).softmax(dim=-1)
    letters = "kcb" if heads.ndim == 3 else "nkcb"
    return torch.einsum(f"nc,{letters}->nkb", s, heads)


def cross_entropy(s: Tensor, heads: Tensor, y: Tensor, kind: Kind) -> Tensor:
    """L_CE of eq. 5 a sample: sum over judges; y is (B, K, C), zero where missing."""
    return -(y * predicted(s, heads, kind).clamp_min(SMALLEST).log()).sum() / len(s)


def regularisation(heads: Tensor) -> Tensor:
    """L_reg of eq. 7 and appendix F a sample: sum over judges of squared slopes.

    The sum over c, b < C of (C_cb - C_Cb)^2; for two classes (p_0 + p_1 - 1)^2.
    """
    gap = heads[..., :-1, :-1] - heads[..., -1:, :-1]
    total = (gap**2).sum()
    return total if heads.ndim == 3 else total / len(heads)


def majority_loss(s: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy against the majority's label, samples without one (-1) left out."""
    kept = target >= 0
    if not bool(kept.any()):
        return s.sum() * 0.0
    return functional.nll_loss(s[kept].clamp_min(SMALLEST).log(), target[kept])


def objective(kind: Kind, given: Judgements, regulariser: float) -> Callable[..., Tensor]:
    """What is minimised, as a function of s, heads and the rows of a batch."""
    if kind == "majority":
        share = np.sort(majority_vote(given).probabilities, axis=1)
        clear = share[:, -1] > share[:, -2] + 1e-12
        target = torch.as_tensor(np.where(clear, majority_vote(given).labels, -1))
        return lambda s, heads, rows: majority_loss(s, target[rows])
    y = torch.as_tensor(np.nan_to_num(given.distribution()), dtype=torch.float32)

    def value(s: Tensor, heads: Tensor, rows: Tensor) -> Tensor:
        fit = cross_entropy(s, heads, y[rows], kind)
        return fit + regulariser * regularisation(heads) if regulariser else fit

    return value


class Run(NamedTuple):
    """What one training left.

    s : (N, C) bottleneck. heads : confusion matrices. p : (N, C) probabilities from which labels
    are taken. epoch, accuracy : the checkpoint's, and how right it is on the development set.
    """

    s: Floats
    heads: Floats | None
    p: Floats
    epoch: int
    accuracy: float
    regulariser: float


def train(
    kind: Kind,
    given: Judgements,
    encoder: Encoder,
    training: Training,
    *,
    regulariser: float,
) -> Run:
    """Train one network with one lambda, and read it for all samples.

    With a development set the best epoch there is kept, the first of equals; else the last.
    """
    rows, labels = (None, None) if training.dev is None else map(np.asarray, training.dev)
    best, kept_epoch, state = -1.0, training.epochs, None
    with torch.random.fork_rng(devices=[]):  # layers draw their weights from the global state
        torch.manual_seed(training.seed)
        shape = (len(given.judges), given.n_classes)
        network = Network(encoder, *shape, kind, skill=training.initial_skill)
        loss = objective(kind, given, regulariser)
        for epoch in descend(network, encoder, loss, len(given), training):
            if rows is None:
                continue
            _, _, p = read(network, encoder, given, rows)
            accuracy = float((np.argmax(p, axis=1) == labels).mean())
            if accuracy > best:
                best, kept_epoch = accuracy, epoch
                state = copy.deepcopy(network.state_dict())
        if state is not None:
            network.load_state_dict(state)
        s, heads, p = read(network, encoder, given, np.arange(len(given)))
    return Run(s, heads, p, kept_epoch, best, regulariser)


def descend(
    network: Network,
    encoder: Encoder,
    loss: Callable[..., Tensor],
    n: int,
    training: Training,
) -> Iterator[int]:
    """Adam on `loss(s, heads, rows)`; yields the number of the pass after each."""
    generator = torch.Generator().manual_seed(training.seed)
    heads = [p for name, p in network.named_parameters() if name == "heads"]
    rest = [p for name, p in network.named_parameters() if name != "heads"]
    groups = [
        {"params": [p for p in rest if p.requires_grad], "weight_decay": training.weight_decay},
        # A handful of numbers, each of which hears of every sample.
        {"params": heads, "lr": HEADS * training.learning_rate},
    ]
    optimiser = torch.optim.Adam(groups, lr=training.learning_rate, fused=True)  # one call a step
    for epoch in range(training.epochs):
        network.train()
        if network.kind == "skill-x":
            # Skills that follow the context can imitate every judge without any bottleneck, so
            # the bottleneck learns first what the judges have in common.
            network.shift.requires_grad_(2 * epoch >= training.epochs)
        order = torch.randperm(n, generator=generator)
        for rows in order.split(training.batch):
            value = loss(*network(encoder.batch(rows)), rows)
            optimiser.zero_grad(set_to_none=True)
            value.backward()
            optimiser.step()
        yield epoch + 1


@torch.no_grad()
def read(
    network: Network, encoder: Encoder, given: Judgements, rows: Any, *, batch: int = 1024
) -> tuple[Floats, Floats | None, Floats]:
    """S, heads, and the probabilities that labels are taken from: s itself, or eq. 8."""
    network.eval()
    parts = [network(encoder.batch(some)) for some in torch.as_tensor(rows).split(batch)]
    s = torch.cat([part[0] for part in parts]).numpy().astype(float)
    heads = parts[0][1]
    if heads is None:
        return s, None, s
    if heads.ndim == 4:  # one for each sample
        heads = torch.cat([part[1] for part in parts])
    heads = heads.numpy().astype(float)
    if network.kind == "crowdlayer":
        return s, heads, s
    return s, heads, posterior(s, heads, given.decisions[rows])
