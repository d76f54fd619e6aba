"""Stand-ins: invented datasets of the shape of the real ones, for machines without them.

Nothing here comes from a real text or a real label. What is taken from the real
datasets is aggregate shape only, and all of it stands in `SHAPES` with its meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poe.datasets.dataset import Dataset
from poe.datasets.originals import Content
from poe.datasets.registry import Attribute, Entry

SEED = 2401


@dataclass(frozen=True)
class Shape:
    """Aggregate shape of one attribute's scores; lengths in points of its scale.

    Attributes
    ----------
    centre : float
        Mean of the latent quality. Above the top of the scale most ratings hit the ceiling,
        which is what ties consistency and fluency at 5.
    system, context, item : float
        Standard deviations of the latent quality between systems, between contexts, and
        between candidates of the same system and context.
    rater : float
        Standard deviation of one rater around the latent quality, before rounding.
    tail : float
        Stretch of the quality below the centre; above 1 the bad candidates are far off,
        as an unfaithful summary is.
    tied_contexts : int
        Number of contexts in which every candidate gets the top score by decree, so that
        some always do; others come out so by chance.
    step : float
        Distance between the ratings one rater can give; 0 where any number will do.
    raters : int
        How many of them the score is the mean of; three make multiples of a third of a step.
    """

    centre: float
    system: float
    context: float
    item: float
    rater: float
    tail: float = 1.0
    tied_contexts: int = 0
    step: float = 1.0
    raters: int = 3


# Chosen by eye so that means, spreads, ceilings and ties resemble the real ones.
SHAPES: dict[str, dict[str, Shape]] = {
    "summeval": {
        "coherence": Shape(3.4, 0.7, 0.35, 0.8, 0.45),
        "consistency": Shape(6.0, 0.6, 0.2, 0.65, 0.25, tail=2.6, tied_contexts=2),
        "fluency": Shape(5.5, 0.5, 0.2, 0.55, 0.3, tail=2.0, tied_contexts=1),
        "relevance": Shape(3.8, 0.4, 0.35, 0.55, 0.4),
    },
    "topicalchat": {
        "coherency": Shape(0.75, 0.4, 0.1, 0.3, 0.25),
        "continuity": Shape(2.4, 0.6, 0.3, 0.4, 0.3),
        "engagingness": Shape(2.35, 0.6, 0.25, 0.4, 0.3),
        "naturalness": Shape(2.45, 0.6, 0.2, 0.4, 0.3),
    },
    # One context: the system's effect and the item's are both a candidate's own.
    "hanna": {
        "coherence": Shape(3.2, 0.5, 0.0, 0.5, 0.7),
        "complexity": Shape(2.4, 0.5, 0.0, 0.55, 0.7),
        "surprise": Shape(2.0, 0.5, 0.0, 0.45, 0.7),
        "relevance": Shape(2.6, 0.6, 0.0, 0.7, 0.8),
        "empathy": Shape(2.25, 0.5, 0.0, 0.45, 0.7),
        "engagement": Shape(2.65, 0.55, 0.0, 0.5, 0.7),
    },
    # The real scale is not public, so this one is a standard normal's.
    "cmcqrd": {"difficulty": Shape(0.0, 0.7, 0.0, 0.7, 0.1, step=0.0)},
    # Nothing is taken from the real scores of these two but their scales.
    "webnlg": {
        "fluency": Shape(2.3, 0.35, 0.2, 0.4, 0.4),
        "grammar": Shape(2.4, 0.35, 0.2, 0.4, 0.4),
        "semantics": Shape(2.4, 0.35, 0.2, 0.5, 0.4),
    },
    "podcast": {"overall": Shape(1.3, 0.4, 0.25, 0.6, 0.3, raters=1)},
}

# Share of the latent variance that an attribute has in common with the others. The square
# root of a product of two is their latent correlation: high in dialogues, where a good
# response is good in every way, lower in summaries.
COMMON = {
    "summeval": 0.55,
    "topicalchat": 0.93,
    "hanna": 0.8,
    "cmcqrd": 0.0,
    "webnlg": 0.7,
    "podcast": 0.0,
}


def make(entry: Entry, *, seed: int = SEED, reason: str = "asked for") -> Dataset:
    """Invent a dataset of the shape of `entry`; the same seed gives the same dataset.

    Each attribute has a latent quality, the sum of a system's, a context's and a
    candidate's effect, each partly shared between attributes. The raters see it with
    noise and round to their scale; the score is their mean.

    Parameters
    ----------
    entry : Entry
        Gives the name, the numbers of contexts and candidates and the scales.
    seed : int, optional
        Seed of everything random here.
    reason : str, optional
        Why a stand-in is used, kept in the provenance.

    Returns
    -------
    Dataset
        With `source="stand-in"` and placeholder texts that say so.
    """
    shape = (entry.contexts, entry.candidates)
    # A stream of random numbers for each attribute: a change to one leaves the others alone.
    rng, *streams = np.random.default_rng(seed).spawn(1 + len(entry.attributes))
    common = _effects(rng, shape)
    scores = {
        attribute.name: _scores(
            stream, attribute, SHAPES[entry.name][attribute.name], common, COMMON[entry.name]
        )
        for attribute, stream in zip(entry.attributes, streams, strict=True)
    }
    context_range, candidate_range = range(entry.contexts), range(entry.candidates)
    contexts = {
        f"stand-in-context-{c:03d}": _context_text(entry, c) if entry.shared_context else ""
        for c in context_range
    }
    candidates = tuple(
        f"stand-in-system-{n:02d}" if entry.shared_context else f"stand-in-text-{n:04d}"
        for n in candidate_range
    )
    texts = tuple(
        tuple(_candidate_text(entry, c, n) for n in candidate_range) for c in context_range
    )
    return Dataset(
        name=entry.name,
        title=f"stand-in of the shape of {entry.title}",
        context_ids=tuple(contexts),
        candidate_ids=candidates,
        scores=scores,
        read=lambda: Content(contexts, candidates, texts, {}),
        source="stand-in",
        provenance={
            "source": "stand-in: invented texts and scores, no real text and no real label",
            "made_by": f"poe.datasets.standin.make, seed {seed}",
            "shape_of": entry.title,
            "reason": reason,
            "licence": "MIT, as the package; nothing of the real dataset is in it",
        },
    )


Effects = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def _effects(rng: np.random.Generator, shape: tuple[int, int]) -> Effects:
    """Standard normal effects of systems (1, N), contexts (C, 1) and candidates (C, N)."""
    contexts, candidates = shape
    return (
        rng.standard_normal((1, candidates)),
        rng.standard_normal((contexts, 1)),
        rng.standard_normal(shape),
    )


def _scores(
    rng: np.random.Generator, attribute: Attribute, form: Shape, common: Effects, share: float
) -> NDArray[np.float64]:
    shape = common[2].shape
    own = _effects(rng, (shape[0], shape[1]))
    quality = np.zeros(shape)
    for scale, shared, private in zip(
        (form.system, form.context, form.item), common, own, strict=True
    ):
        quality = quality + scale * (np.sqrt(share) * shared + np.sqrt(1 - share) * private)
    quality = form.centre + np.where(quality < 0, form.tail, 1.0) * quality
    seen = quality + form.rater * rng.standard_normal((form.raters, *shape))
    steps = np.rint(seen / form.step) * form.step if form.step else seen
    ratings = np.clip(steps, attribute.low, attribute.high)
    # Sum first, divide once: equal means then come out as equal floats.
    scores: NDArray[np.float64] = ratings.sum(axis=0) / form.raters
    tied = rng.choice(shape[0], form.tied_contexts, replace=False)
    scores[tied] = attribute.high
    return scores


def _context_text(entry: Entry, context: int) -> str:
    return (
        f"This is the stand-in for context {context} of {entry.name}. "
        "It was invented as a placeholder and says nothing about any real text."
    )


def _candidate_text(entry: Entry, context: int, candidate: int) -> str:
    return (
        f"This is the stand-in for candidate {candidate} in context {context} of {entry.name}, "
        "a placeholder and not the output of any system."
    )
