"""Puts prompts through a model: shared where prefixes are, in batches where not."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from poe.errors import JudgeError
from poe.judges.transformers import tree
from poe.judges.transformers.batching import Batched
from poe.judges.transformers.loading import Loaded
from poe.judges.transformers.prefix import CannotShareError, Read, Sharing
from poe.judges.transformers.preparing import Ready

SAVES = 0.8  # prefixes are shared if that leaves less than this share of the tokens
# Tokens in a batch of separate prompts, and in a row of branches on a shared prefix.
ROWS = {"cpu": (4096, 512), "other": (16384, 1024)}
# p may differ by this much between shared and separate prompts; half precision rounds by itself.
WITHIN = {"float32": 1e-4, "bfloat16": 0.05, "float16": 0.05}

Group = list[tuple[int, tuple[float, ...], float]]


class Engine:
    """Answers prepared questions, a group at a time: (number, log-probabilities, tokens computed).

    The first shared answer of each kind (on a kept prefix or not, within a sliding window or not)
    is compared with that of the prompt alone. If they differ, or the model cannot do it at all, a
    warning says so and every prompt goes through the model alone.
    """

    def __init__(
        self, loaded: Loaded, *, share: bool, batch_tokens: int | None, row_tokens: int | None
    ) -> None:
        rows = ROWS.get(loaded.device.type, ROWS["other"])
        self.loaded = loaded
        pad = loaded.tokenizer.pad_token_id
        self.batched = Batched(
            loaded.model,
            loaded.device,
            batch_tokens or rows[0],
            0 if pad is None else pad,
            self._shrink("batch"),
        )
        self.checked: set[tuple[bool, bool]] = set()
        self.stretch = stretch(loaded.model.config)
        self.sharing: Sharing | None = None
        self.why_not = ""
        if share:
            try:
                self.sharing = Sharing(
                    loaded.model,
                    device=loaded.device,
                    most=row_tokens or rows[1],
                    shrink=self._shrink("row of branches"),
                )
            except CannotShareError as error:
                self.why_not = str(error)

    @property
    def forwards(self) -> int:
        """Calls of the model so far."""
        return self.batched.forwards + (self.sharing.forwards if self.sharing else 0)

    def answer(self, ready: Sequence[Ready]) -> Iterator[Group]:
        """Answers of all, in groups that went through the model together."""
        left = set(range(len(ready)))
        if self.stretch is not None:
            # Their positions are stretched by the longest prompt of a batch: these go alone.
            for k in sorted(k for k in left if len(ready[k].ids) > self.stretch):
                left.discard(k)
                yield from self._separate(ready, [k])
        for group in self._shared(ready, sorted(left)):
            left -= {k for k, _, _ in group}
            yield group
        yield from self._separate(ready, sorted(left))

    def _shared(self, ready: Sequence[Ready], chosen: list[int]) -> Iterator[Group]:
        """What can be shared, until something shows that it cannot."""
        if len(chosen) < 2 or (self.sharing is None and not self.why_not):
            return
        forest = tree.build([ready[k].ids for k in chosen])
        if tree.size(forest) > SAVES * sum(len(ready[k].ids) for k in chosen):
            return
        try:
            yield from self._on_prefixes(ready, chosen, forest)
        except CannotShareError as error:
            warnings.warn(
                f"{self.loaded.name} cannot share prefixes: {error}. Every prompt goes through the "
                "model alone: the same answers, more slowly",
                stacklevel=4,
            )
            self.sharing, self.why_not = None, ""

    def _on_prefixes(
        self, ready: Sequence[Ready], chosen: list[int], forest: list[tree.Node]
    ) -> Iterator[Group]:
        if self.sharing is None:
            raise CannotShareError(self.why_not)
        share = tree.shares(forest, len(chosen))
        found = self.sharing.answer(forest, self._reader([ready[k] for k in chosen]))
        while True:
            try:
                together, kept = next(found)
            except StopIteration:
                return
            except (CannotShareError, JudgeError, torch.OutOfMemoryError):
                raise
            except Exception as error:  # a model may fail on masks and caches in any way
                if self.checked:
                    raise
                raise CannotShareError(f"{type(error).__name__}: {error}") from error
            group = [(chosen[k], log_p, float(share[k])) for k, log_p in together]
            yield self._check(ready, group, kept)

    def _check(self, ready: Sequence[Ready], group: Group, kept: bool) -> Group:
        """The group, its longest prompt asked again alone if this is the first of its kind."""
        assert self.sharing is not None
        # The last of the longest: a wrong mask leaves the first branch of a row as it is.
        longest = max(reversed(group), key=lambda one: len(ready[one[0]].ids))
        k, log_p, computed = longest
        beyond = self.sharing.window is not None and len(ready[k].ids) > self.sharing.window
        if (kept, beyond) in self.checked:
            return group
        [[(_, alone, more)]] = self._separate(ready, [k])
        off = np.abs(_probabilities(log_p) - _probabilities(alone)).max()
        if not off <= WITHIN[self.loaded.dtype]:
            raise CannotShareError(f"a probability changes by {off:.2g}")
        self.checked.add((kept, beyond))
        return [(k, log_p, computed + more) if one is longest else one for one in group]

    def _separate(self, ready: Sequence[Ready], chosen: list[int]) -> Iterator[Group]:
        some = [ready[k] for k in chosen]
        answers = self.batched.answer(
            [one.ids for one in some], [one.target.start for one in some], self._reader(some)
        )
        for found in answers:
            yield [
                (chosen[k], log_p, float(len(some[k].ids) + len(some[k].target.start)))
                for k, log_p in found
            ]

    def _reader(self, ready: Sequence[Ready]) -> Read:
        """Log-probabilities of the label words, of all the vocabulary's."""

        def read(logits: Any, which: list[int]) -> list[tuple[float, ...]]:
            labels = [ready[k].target.labels for k in which]
            most = max(map(len, labels))
            index = torch.tensor([[*ids, *[0] * (most - len(ids))] for ids in labels])
            log_p = torch.log_softmax(logits.float(), dim=-1)
            rows = log_p.gather(1, index.to(log_p.device)).tolist()
            if any(math.isnan(value) for row in rows for value in row):
                raise JudgeError(
                    f"{self.loaded.name} answers with numbers that are not numbers in "
                    f"{self.loaded.dtype}; take dtype='bfloat16' or 'float32'"
                )
            return [tuple(row[: len(ids)]) for row, ids in zip(rows, labels, strict=True)]

        return read

    def _shrink(self, what: str) -> Callable[[int], int]:
        def shrink(tokens: int) -> int:
            if self.loaded.device.type == "cuda":
                torch.cuda.empty_cache()
            warnings.warn(
                f"out of memory with {tokens} tokens in a {what}: at most {tokens // 2} from here "
                "on",
                stacklevel=2,
            )
            return tokens // 2

        return shrink


def _probabilities(log_p: tuple[float, ...]) -> np.ndarray:
    share = np.exp(np.array(log_p) - max(log_p))
    return share / share.sum()


def stretch(config: Any) -> int | None:
    """Tokens beyond which a model stretches its positions by the longest prompt, or None."""
    config = config.get_text_config(decoder=True)
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    kind = rope.get("rope_type", rope.get("type"))
    if kind not in ("dynamic", "longrope"):
        return None
    original = rope.get("original_max_position_embeddings") or getattr(
        config, "original_max_position_embeddings", None
    )
    return int(original or config.max_position_embeddings)
