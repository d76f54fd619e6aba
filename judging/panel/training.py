"""How a network is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from judging.panel.judgements import PanelError

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
