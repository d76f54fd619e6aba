"""Puts prompts through a model: shared where prefixes are, in batches where not."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from judging.errors import JudgeError
from judging.judges.transformers import prefix, tree
from judging.judges.transformers.load import Loaded
from judging.judges.transformers.prefix import CannotShareError, Found, Read, Sharing
from judging.judges.transformers.tree import Tokens
from judging.judges.writer import Target

SAVES = 0.8  # prefixes are shared if that leaves less than this share of the tokens
# Tokens in a batch of separate prompts, and in a row of branches on a shared prefix.
ROWS = {"cpu": (4096, 512), "other": (16384, 1024)}
HEAD_ROWS = 2**14  # of the last layer's weights that are float32 at a time
# p may differ by this much between shared and separate prompts; half precision rounds by itself.
WITHIN = {"float32": 1e-4, "bfloat16": 0.05, "float16": 0.05}

Group = list[tuple[int, tuple[float, ...], float]]


@dataclass(frozen=True)
class Ready:
    """A question as the model will read it; broken : whether control tokens in it had to be."""

    position: int
    ids: list[int]
    target: Target
    broken: bool = False

    @property
    def tokens(self) -> int:
        """How many tokens the model reads, the decoder's first ones included."""
        return len(self.ids) + len(self.target.start)


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
        compute_head_in_float32(loaded.model)
        self.loaded = loaded
        self.batched = Batched(loaded, batch_tokens or rows[0], self._shrink("batch"))
        self.checked: set[tuple[bool, bool]] = set()
        self.stretch = stretch(loaded.model.config)
        self.sharing: Sharing | None = None
        self.why_not = ""
        if share:
            most, shrink = row_tokens or rows[1], self._shrink("row of branches")
            try:
                self.sharing = Sharing(loaded.model, device=loaded.device, most=most, shrink=shrink)
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
        try:
            for group in self._shared(ready, sorted(left)):
                left -= {k for k, _, _ in group}
                yield group
        except CannotShareError as error:
            warnings.warn(
                f"{self.loaded.name} cannot share prefixes: {error}. Every prompt goes through the "
                "model alone: the same answers, more slowly",
                stacklevel=4,
            )
            self.sharing, self.why_not = None, ""
        yield from self._separate(ready, sorted(left))

    def _shared(self, ready: Sequence[Ready], chosen: list[int]) -> Iterator[Group]:
        """What can be shared, until CannotShareError says that it cannot."""
        if len(chosen) < 2 or (self.sharing is None and not self.why_not):
            return
        forest = tree.build([ready[k].ids for k in chosen])
        if tree.size(forest) > SAVES * sum(len(ready[k].ids) for k in chosen):
            return
        if self.sharing is None:
            raise CannotShareError(self.why_not)
        share = tree.shares(forest, len(chosen))
        answers = self.sharing.answer(forest, self._reader([ready[k] for k in chosen]))
        while True:
            try:
                together, kept = next(answers)
            except StopIteration:
                return
            except (CannotShareError, JudgeError, torch.OutOfMemoryError):
                raise
            except Exception as error:  # a model may fail on masks and caches in any way
                if self.checked:
                    raise
                raise CannotShareError(f"{type(error).__name__}: {error}") from error
            group = [(chosen[k], log_p, float(share[k])) for k, log_p in together]
            yield self._check(ready, group, kept, self.sharing.window)

    def _check(self, ready: Sequence[Ready], group: Group, kept: bool, window: int | None) -> Group:
        """The group, its longest prompt asked again alone if this is the first of its kind."""
        # The last of the longest: a wrong mask leaves the first branch of a row as it is.
        longest = max(reversed(group), key=lambda one: len(ready[one[0]].ids))
        k, log_p, computed = longest
        beyond = window is not None and len(ready[k].ids) > window
        if (kept, beyond) in self.checked:
            return group
        [[(_, alone, more)]] = self._separate(ready, [k])
        share, expected = (np.exp(np.array(some) - max(some)) for some in (log_p, alone))
        off = np.abs(share / share.sum() - expected / expected.sum()).max()
        if not off <= WITHIN[self.loaded.dtype]:
            raise CannotShareError(f"a probability changes by {off:.2g}")
        self.checked.add((kept, beyond))
        return [(k, log_p, computed + more) if one is longest else one for one in group]

    def _separate(self, ready: Sequence[Ready], chosen: list[int]) -> Iterator[Group]:
        for start in dict.fromkeys(ready[k].target.start for k in chosen):
            alike = [k for k in chosen if ready[k].target.start == start]
            some = [ready[k] for k in alike]
            for answers in self.batched.answer([r.ids for r in some], start, self._reader(some)):
                yield [(alike[k], log_p, float(some[k].tokens)) for k, log_p in answers]

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
                    f"{self.loaded.name} returns NaN in {self.loaded.dtype}; take "
                    "dtype='bfloat16' or 'float32'"
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


class Batched:
    """Answers prompts that share nothing, in batches of like length, last logits only.

    most : tokens in a batch, padding included. shrink : told of a batch that did not fit into
    memory, it returns how many tokens may be in one from now on, or raises.
    """

    def __init__(self, loaded: Loaded, most: int, shrink: Callable[[int], int]) -> None:
        self.model, self.device = loaded.model, loaded.device
        self.most, self.shrink = most, shrink
        self.pad = loaded.tokenizer.pad_token_id or 0
        self.forwards = 0
        accepted = inspect.signature(self.model.forward).parameters
        self.accepted = {"logits_to_keep", "position_ids"} & set(accepted)

    def answer(
        self, sequences: Sequence[Tokens], start: Tokens, read: Read, chosen: Any = None
    ) -> Iterator[Found]:
        """Answers of a batch at a time; start : what the decoder of an encoder-decoder begins with.

        chosen : numbers of the prompts to answer, all by default.
        """
        chosen = range(len(sequences)) if chosen is None else chosen
        for group in batches(chosen, [len(sequences[k]) for k in chosen], self.most):
            padded = len(group) * max(len(sequences[k]) for k in group)
            if len(group) > 1 and padded > self.most:  # it has shrunk meanwhile
                yield from self.answer(sequences, start, read, group)
                continue
            answers = self._if_it_fits([sequences[k] for k in group], start, group, read)
            if answers is not None:
                yield answers
            elif len(group) == 1:
                raise prefix.too_large(padded, self.device)
            else:
                self.most = self.shrink(padded)
                yield from self.answer(sequences, start, read, group)

    def _if_it_fits(
        self, rows: Sequence[Tokens], start: Tokens, group: list[int], read: Read
    ) -> Found | None:
        # The error holds on to the memory until it is out of sight, so it ends here.
        try:
            return list(zip(group, read(self._logits(rows, start), group), strict=True))
        except torch.OutOfMemoryError:
            return None

    def _logits(self, rows: Sequence[Tokens], start: Tokens) -> Any:
        """(rows, V) logits after the last token of each; rows of a decoder end at the right."""
        width = max(map(len, rows))
        ids = torch.full((len(rows), width), self.pad, dtype=torch.long)
        seen = torch.zeros((len(rows), width), dtype=torch.long)
        for k, row in enumerate(rows):
            place = slice(0, len(row)) if start else slice(width - len(row), None)
            ids[k, place] = torch.tensor(list(row))
            seen[k, place] = 1
        ids, seen = ids.to(self.device), seen.to(self.device)
        given = {"input_ids": ids, "attention_mask": seen, "use_cache": False}
        if start:
            given["decoder_input_ids"] = torch.tensor([list(start)] * len(rows), device=self.device)
        else:
            more = {"logits_to_keep": 1, "position_ids": (seen.cumsum(1) - 1).clamp(min=0)}
            given |= {name: value for name, value in more.items() if name in self.accepted}
        self.forwards += 1
        with torch.inference_mode():
            return self.model(**given).logits[:, -1]


class Float32Head(torch.nn.Linear):
    """A last layer that multiplies in float32, whatever its weights are and what it is given.

    In bfloat16 logits about 20 are rounded to eighths, and so p to steps of three hundredths. The
    weights stay as they are, and are float32 a few at a time.
    """

    def forward(self, input: Any) -> Any:
        """(..., V) logits."""
        hidden = input.to(self.weight.device, torch.float32)
        parts = [hidden @ some.float().T for some in self.weight.split(HEAD_ROWS)]
        logits = torch.cat(parts, dim=-1)
        return logits if self.bias is None else logits + self.bias.float()


def compute_head_in_float32(model: Any) -> None:
    """Have a model in half precision compute its logits in float32.

    A last layer that is quantised, or kept elsewhere than where it computes, is left alone.
    """
    head = model.get_output_embeddings()
    plain = type(head) is torch.nn.Linear and not head.weight.is_meta
    if plain and {model.dtype, head.weight.dtype} != {torch.float32}:
        vars(head).pop("forward", None)  # accelerate's, which moves what it is given
        head.__class__ = Float32Head


def batches(chosen: Sequence[int], lengths: Sequence[int], most: int) -> list[list[int]]:
    """The chosen grouped so that rows times the longest row stays within `most` tokens.

    Longest first, so that a batch too large for the memory shows at once. A prompt longer than
    `most` is a batch of its own.
    """
    order = sorted(zip(chosen, lengths, strict=True), key=lambda one: -one[1])
    groups: list[list[int]] = []
    widest = 0
    for k, length in order:
        if not groups or (len(groups[-1]) + 1) * widest > most:
            groups.append([])
            widest = length
        groups[-1].append(k)
    return groups


def stretch(config: Any) -> int | None:
    """Tokens beyond which a model stretches its positions by the longest prompt, or None."""
    config = config.get_text_config(decoder=True)
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    if rope.get("rope_type", rope.get("type")) not in ("dynamic", "longrope"):
        return None
    original = rope.get("original_max_position_embeddings") or getattr(
        config, "original_max_position_embeddings", None
    )
    return int(original or config.max_position_embeddings)
