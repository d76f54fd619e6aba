"""The networks of section 4 in torch: encoder, bottleneck, what each judge makes of the truth.

Imported by `judging.panel.learning` when a network is trained, and by nothing else. The networks
are small, and most of a step's time goes into calling torch at all; so several that differ in seed,
lambda or data alone are trained side by side, their weights stacked, each as if it were alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from judging.panel.encoders import Encoder
from judging.panel.judgements import Judgements
from judging.panel.training import Training
from judging.panel.voting import majority_vote, posterior
from poe.arrays import Floats

Kind = Literal["train-on-majority", "crowdlayer", "skill", "skill-x"]
HEADS = 10.0  # times faster do the judges' heads learn than the rest
SMALLEST = 1e-7  # probability in a logarithm


class Network(nn.Module):
    """f(X), the bottleneck s = softmax(w' f(X) + b) of eq. 2, and the judges' heads.

    kind : "train-on-majority" has no heads. "crowdlayer" predicts judge k by softmax(W_k s), W_k
    the identity at the start (Rodrigues and Pereira 2018). "skill" has a confusion matrix for each
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
        if self.kind == "train-on-majority":
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
    said = s.gather(-1, target.clamp_min(0)[:, None])[:, 0].clamp_min(SMALLEST)
    return -(said.log() * kept).sum() / kept.sum().clamp_min(1)


class Task(NamedTuple):
    """One network to be trained: on whose judgements, reading which contexts, with which lambda."""

    given: Judgements
    encoder: Encoder
    training: Training
    regulariser: float

    def target(self, kind: Kind) -> Tensor:
        """Return what is predicted of each sample: the majority's label (N,), or y (N, K, C)."""
        if kind == "train-on-majority":
            vote = majority_vote(self.given)
            share = np.sort(vote.probabilities, axis=1)
            clear = share[:, -1] > share[:, -2] + 1e-12
            return torch.as_tensor(np.where(clear, vote.labels, -1))
        return torch.as_tensor(np.nan_to_num(self.given.distribution()), dtype=torch.float32)

    def shape(self) -> Any:
        """Alike for tasks that one stack of weights and batches can hold."""
        if self.encoder.width is None:
            return object()  # like nothing else
        dev = self.training.dev
        alike = replace(self.training, seed=0, regulariser=0.0, dev=None)
        judged = (len(self.given), len(self.given.judges), self.given.n_classes)
        return (*judged, self.encoder.width, alike, None if dev is None else len(dev[0]))


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


def train(kind: Kind, tasks: Sequence[Task]) -> list[Run]:
    """Train a network for each task, side by side (see `Task.shape`), and read all samples.

    With a development set the best epoch there is kept, the first of equals; else the last.
    """
    with torch.random.fork_rng(devices=[]):  # layers draw their weights from the global state
        stack = Stacked(kind, tasks)
        epochs = stack.training.epochs
        best, kept = np.full(len(tasks), -1.0), np.full(len(tasks), epochs)
        state: dict[str, Tensor] = {}
        devs = [np.asarray(task.training.dev) for task in tasks if task.training.dev]
        for epoch in stack.descend():
            if not devs:
                continue
            readings = zip(devs, stack.read([rows for rows, _ in devs]), strict=True)
            accuracy = np.array(
                [np.mean(np.argmax(p, axis=1) == labels) for (_, labels), (_, _, p) in readings]
            )
            better = accuracy > best
            best[better], kept[better] = accuracy[better], epoch
            for name, weight in stack.weights.items():
                if better.all():
                    state[name] = weight.detach().clone()
                else:
                    state[name][better] = weight.detach()[better]
        stack.weights = state or stack.weights
        read = list(stack.read([np.arange(stack.n)] * len(tasks)))
    return [
        Run(s, heads, p, int(kept[r]), float(best[r]), tasks[r].regulariser)
        for r, (s, heads, p) in enumerate(read)
    ]


class Stacked:
    """Networks of one shape, and the steps that are taken with all R of them at once.

    weights : by name, with an axis of length R in front.
    """

    def __init__(self, kind: Kind, tasks: Sequence[Task]) -> None:
        self.kind, self.tasks = kind, tasks
        self.n, self.training = len(tasks[0].given), tasks[0].training
        self.targets = [task.target(kind) for task in tasks]
        self.regularisers = torch.tensor([task.regulariser for task in tasks])
        networks = []
        for task in tasks:
            torch.manual_seed(task.training.seed)
            shape = (len(task.given.judges), task.given.n_classes)
            skill = task.training.initial_skill
            networks.append(Network(task.encoder, *shape, kind, skill=skill))
        self.network = networks[0]  # how they compute; each call says with which weights
        self.weights: dict[str, Tensor] = stack_module_state(networks)[0]

    def descend(self) -> Iterator[int]:
        """Adam on `loss`; yields the number of the pass after each."""
        training, weights = self.training, self.weights
        generators = [torch.Generator().manual_seed(task.training.seed) for task in self.tasks]
        rest = [w for name, w in weights.items() if name != "heads" and w.requires_grad]
        groups: list[dict[str, Any]] = [{"params": rest, "weight_decay": training.weight_decay}]
        if "heads" in weights:
            # A handful of numbers, each of which hears of every sample.
            groups.append({"params": [weights["heads"]], "lr": HEADS * training.learning_rate})
        optimiser = torch.optim.Adam(groups, lr=training.learning_rate, fused=True)  # one call
        for epoch in range(training.epochs):
            self.network.train()
            for name in weights:
                # Skills that follow the context can imitate every judge without any bottleneck,
                # so the bottleneck learns first what the judges have in common.
                if name.startswith("shift."):
                    weights[name].requires_grad_(2 * epoch >= training.epochs)
            orders = [
                torch.randperm(self.n, generator=one).split(training.batch) for one in generators
            ]
            for rows in zip(*orders, strict=True):
                target = torch.stack([y[some] for y, some in zip(self.targets, rows, strict=True)])
                (value,) = self.each(self.loss, self.batch(rows), target, self.regularisers)
                optimiser.zero_grad(set_to_none=True)
                value.sum().backward()
                optimiser.step()
            yield epoch + 1

    def loss(
        self, weights: dict[str, Tensor], given: Any, target: Tensor, regulariser: Tensor
    ) -> tuple[Tensor]:
        """Compute what one network's step makes smaller."""
        s, heads = functional_call(self.network, weights, (given,))
        if heads is None:
            return (majority_loss(s, target),)
        fit = cross_entropy(s, heads, target, self.kind)
        return (fit + regulariser * regularisation(heads),)

    @torch.no_grad()
    def read(self, rows: Sequence[Any], *, batch: int = 1024) -> Iterator[tuple[Any, Any, Floats]]:
        """Yield each network's S, its heads, and what labels are taken from: s itself, or eq. 8."""
        self.network.eval()
        split = zip(*(torch.as_tensor(one).split(batch) for one in rows), strict=True)
        parts = [self.each(self.outputs, self.batch(some)) for some in split]
        for r, task in enumerate(self.tasks):
            s = torch.cat([part[0][r] for part in parts]).numpy().astype(float)
            if self.kind == "train-on-majority":
                yield s, None, s
                continue
            heads = parts[0][1][r]
            if heads.ndim == 4:  # one for each sample
                heads = torch.cat([part[1][r] for part in parts])
            head_values = heads.numpy().astype(float)
            if self.kind == "crowdlayer":
                yield s, head_values, s
            else:
                yield s, head_values, posterior(s, head_values, task.given.decisions[rows[r]])

    def outputs(self, weights: dict[str, Tensor], given: Any) -> tuple[Tensor, ...]:
        """S, and heads where there are."""
        tensors = functional_call(self.network, weights, (given,))
        return tensors[:1] if tensors[1] is None else tensors

    def batch(self, rows: Sequence[Tensor]) -> Any:
        """Rows (R, B) of contexts, as each task's encoder reads them."""
        read = [task.encoder.batch(some) for task, some in zip(self.tasks, rows, strict=True)]
        return torch.stack(read) if len(read) > 1 else read

    def each(self, one: Callable[..., tuple[Tensor, ...]], *given: Any) -> tuple[Tensor, ...]:
        """`one` of each network's weights and of its part of what is given."""
        if len(self.tasks) > 1:
            tensors: tuple[Tensor, ...] = vmap(one)(self.weights, *given)
            return tensors
        # Alone, and so any transformers model will do.
        alone = {name: weight[0] for name, weight in self.weights.items()}
        return tuple(x[None] for x in one(alone, *(part[0] for part in given)))
