"""The networks of section 4: encoder, bottleneck, and what each judge makes of the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from poe.panel.encoders import Encoder

Kind = Literal["majority", "crowdlayer", "skill", "skill-x"]
HEADS = 10.0  # times faster do the judges' heads learn than the rest


class Network(nn.Module):
    """f(X), the bottleneck s = softmax(w' f(X) + b) of eq. 2, and the judges' heads.

    kind : "majority" has no heads. "crowdlayer" predicts judge k by softmax(W_k s), W_k the
    identity at the start (Rodrigues and Pereira 2018). "skill" has a confusion matrix a judge
    (two classes: rows p_0, 1 - p_0 and 1 - p_1, p_1, each a softmax of two logits, which is a
    sigmoid), "skill-x" one that is a linear function of f(X) before the softmax.
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
    log_p = predicted(s, heads, kind).clamp_min(1e-7).log()
    return -(y * log_p).sum() / len(s)


def joint_loss(s: Tensor, heads: Tensor, y: Tensor) -> Tensor:
    """-log sum_c s_c prod_k prod_b C_kcb^y_kb a sample: all judges of a sample at once."""
    letters = "kcb" if heads.ndim == 3 else "nkcb"
    log_p = torch.einsum(f"nkb,{letters}->nc", y, heads.clamp_min(1e-7).log())
    return -torch.logsumexp(s.clamp_min(1e-7).log() + log_p, dim=-1).mean()


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
    return functional.nll_loss(s[kept].clamp_min(1e-7).log(), target[kept])


def fit(
    network: Network,
    encoder: Encoder,
    loss: Callable[..., Tensor],
    n: int,
    *,
    generator: torch.Generator,
    epochs: int,
    batch: int,
    learning_rate: float,
    weight_decay: float,
    after: Callable[[Network, int], None],
) -> None:
    """Adam on `loss(s, heads, rows)`; `after(network, epoch)` is called after each pass."""
    heads = [p for name, p in network.named_parameters() if name == "heads"]
    rest = [p for name, p in network.named_parameters() if name != "heads"]
    groups = [
        {"params": [p for p in rest if p.requires_grad], "weight_decay": weight_decay},
        # A handful of numbers, each of which hears of every sample.
        {"params": heads, "lr": HEADS * learning_rate},
    ]
    optimiser = torch.optim.Adam(groups, lr=learning_rate, fused=True)  # one call a step
    for epoch in range(epochs):
        network.train()
        if network.kind == "skill-x":
            # Skills that follow the context can imitate every judge without any bottleneck, so
            # the bottleneck learns first what the judges have in common.
            network.shift.requires_grad_(2 * epoch >= epochs)
        order = torch.randperm(n, generator=generator)
        for low in range(0, n, batch):
            rows = order[low : low + batch]
            s, heads = network(encoder.batch(rows))
            value = loss(s, heads, rows)
            optimiser.zero_grad(set_to_none=True)
            value.backward()
            optimiser.step()
        after(network, epoch)


@torch.no_grad()
def read(
    network: Network, encoder: Encoder, rows: Tensor, *, batch: int = 1024
) -> tuple[Tensor, Tensor | None]:
    """S and heads of some samples, in pieces."""
    network.eval()
    parts = [network(encoder.batch(rows[low : low + batch])) for low in range(0, len(rows), batch)]
    s = torch.cat([part[0] for part in parts])
    heads = None if parts[0][1] is None else parts[0][1].detach()
    if heads is not None and heads.ndim == 4:
        heads = torch.cat([part[1] for part in parts])
    return s, heads
