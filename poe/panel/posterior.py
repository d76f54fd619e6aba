"""What the judgements say about the truth once skills are known: Bayes' rule (eq. 8)."""

from __future__ import annotations

import numpy as np

from poe.comparisons import Floats
from poe.panel.judgements import Decisions

TINY = 1e-12  # a skill of exactly 0 or 1 would let one judge overrule all the others


def posterior(prior: Floats, confusion: Floats, decisions: Decisions) -> Floats:
    """P(c_n | X_n, b_n) under conditional independence (eq. 8; appendix F), (N, C).

    Proportional to s_nc times the product over judges of P(b_nk | c). prior : (C,) or (N, C),
    the bottleneck s_n or class shares. confusion : (K, C, C) or (N, K, C, C), [.., c, b] the
    probability of saying b when c is true. decisions : (N, K), -1 where missing, which leaves
    the factor out. For two classes the odds [:, 1] / [:, 0] are the paper's r_n.
    """
    seen = decisions >= 0
    said = np.maximum(decisions, 0).astype(np.intp)
    with np.errstate(divide="ignore"):
        log_c = np.log(np.clip(confusion, TINY, None))
        total = np.log(np.clip(np.broadcast_to(prior, (len(said), confusion.shape[-1])), TINY, 1.0))
    rows = np.arange(len(said))
    for k in range(said.shape[1]):
        told = log_c[k][:, said[:, k]].T if confusion.ndim == 3 else log_c[rows, k, :, said[:, k]]
        total = total + np.where(seen[:, k, None], told, 0.0)
    return softmax(total)


def softmax(logits: Floats) -> Floats:
    """Exponentials that sum to one along the last axis."""
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))
