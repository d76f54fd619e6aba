"""Shared prefixes: what prompts have in common goes through the model once.

The prompts of a context are put together as a tree of tokens (`tree.build`). A large tree is
taken apart from its root: the root's keys and values are computed and kept, and what hangs below
it is answered on top of them, many branches in one row with a mask that keeps them apart. A
branch too large for one row is taken apart in turn.

Chapter 11 of the book says what was measured: neither one row for everything (attention over
what the mask hides costs most of the time) nor a row for each branch is fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer

from judging.errors import JudgeError
from judging.judges.transformers.tree import Node, flatten, pack, size

# (M, V) logits and the numbers of M prompts, into log-probabilities of their labels.
Read = Callable[[Any, list[int]], list[tuple[float, ...]]]
Found = list[tuple[int, tuple[float, ...]]]


# Keys and values that are kept, and the mask over them -----------------------------------------


class CannotShareError(Exception):
    """A model cannot share prefixes; the message says why."""


class _Layer(DynamicLayer):
    """Keys and values of one layer, which may be added to or only looked at.

    Never cut to a sliding window, as the library's own layers are: the mask does that.
    """

    def __init__(self, owner: KeptCache) -> None:
        super().__init__()
        self.owner = owner

    def update(self, key_states: Any, value_states: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        kept: Any = (self.keys, self.values)
        keys = torch.cat([kept[0], key_states], dim=-2)
        values = torch.cat([kept[1], value_states], dim=-2)
        if self.owner.growing:
            self.keys, self.values = keys, values
        return keys, values


class KeptCache(Cache):
    """Keys and values of a prefix, under which branches are answered and forgotten."""

    def __init__(self) -> None:
        self.growing = False
        self.length = 0
        make: Any = lambda: _Layer(self)  # noqa: E731
        super().__init__(layer_class_to_replicate=make)

    @contextmanager
    def grow(self, by: int) -> Iterator[None]:
        """Keep what goes through the model meanwhile."""
        self.growing = True
        try:
            yield
        finally:
            self.growing = False
        self.length += by

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Forget afterwards what was added meanwhile."""
        layers: list[Any] = self.layers
        before = [(layer.keys, layer.values) for layer in layers]
        length = self.length
        try:
            yield
        finally:
            del layers[len(before) :]
            for layer, (keys, values) in zip(layers, before, strict=True):
                layer.keys, layer.values = keys, values
            self.length = length


def windows(config: Any) -> dict[str, int | None]:
    """Return how far back each kind of layer sees, in tokens (None: all the way).

    One kind under the name "" where the configuration does not tell kinds of layers apart.
    """
    config = config.get_text_config(decoder=True)
    window = getattr(config, "sliding_window", None)
    kinds = getattr(config, "layer_types", None)
    if kinds is None:
        return {"": window}
    known = {"full_attention": None, "sliding_attention": window}
    strange = sorted(set(kinds) - set(known))
    if strange:
        raise CannotShareError(f"it has layers of the kind {', '.join(strange)}")
    return {kind: known[kind] for kind in sorted(set(kinds))}


def mask(last: Any, positions: Any, kept: int, *, window: int | None, dtype: Any) -> Any:
    """(1, 1, T, kept + T) additive mask: each token sees what is kept and what is above it.

    last, positions : (T,) tensors, see `Flat`. kept : tokens of the prefix. window : a token
    sees no further back than this many positions, itself included. The mask is added to the
    attention scores, so it must be numbers: models add a mask of truth values as 0 and 1.
    """
    index = torch.arange(len(last), device=last.device)
    seen = (index[None, :] <= index[:, None]) & (index[:, None] < last[None, :])
    above = torch.ones(len(last), kept, dtype=torch.bool, device=last.device)
    if window is not None:
        seen &= positions[:, None] - positions[None, :] < window
        before = torch.arange(kept, device=last.device)
        above = positions[:, None] - before[None, :] < window
    hidden = ~torch.cat([above, seen], dim=1)
    added = torch.zeros(hidden.shape, dtype=dtype, device=last.device)
    return added.masked_fill_(hidden, torch.finfo(dtype).min)[None, None]


# Answers ---------------------------------------------------------------------------------------


class Sharing:
    """Answers prompts of a decoder-only model, each shared prefix computed once.

    most : tokens in one row. shrink : told of a row that did not fit into memory, it
    returns how many tokens may be in one from now on, or raises. forwards : calls of the model.
    """

    def __init__(self, model: Any, *, device: Any, most: int, shrink: Callable[[int], int]) -> None:
        if getattr(model.config, "is_encoder_decoder", False):
            raise CannotShareError("an encoder reads every prompt as a whole")
        if model.config._attn_implementation not in ("eager", "sdpa"):
            raise CannotShareError(
                f"its attention ({model.config._attn_implementation}) takes no mask of its own"
            )
        self.model, self.device, self.most, self.shrink = model, device, most, shrink
        self.windows = windows(model.config)
        self.window = min((w for w in self.windows.values() if w is not None), default=None)
        self.spread = len(set((getattr(model, "hf_device_map", None) or {}).values())) > 1
        self.forwards = 0

    def answer(
        self, forest: Sequence[Node], read: Read, cache: KeptCache | None = None
    ) -> Iterator[tuple[Found, bool]]:
        """Answers of a row of prompts at a time, and whether the row built on a kept prefix."""
        cache = KeptCache() if cache is None else cache  # an empty one is false
        small = [node for node in forest if node.size <= self.most or not node.children]
        for together in pack(small, self.most):
            if len(together) > 1 and size(together) > self.most:  # it has shrunk meanwhile
                yield from self.answer(together, read, cache)
                continue
            answers = self._if_it_fits(together, cache, read)
            if answers is not None:
                yield answers, cache.length > 0
            elif len(together) == 1 and not together[0].children:
                raise too_large(together[0].stop, self.device)
            else:
                self.most = self.shrink(size(together))
                yield from self.answer(together, read, cache)
        for node in forest:
            if node.size > self.most and node.children:
                with cache.restored():
                    answers = self._extend(node, cache, read)
                    if answers:
                        yield answers, cache.length > len(node.tokens)
                    yield from self.answer(node.children, read, cache)

    def _if_it_fits(self, forest: Sequence[Node], cache: KeptCache, read: Read) -> Found | None:
        # The error holds on to the memory until it is out of sight, so it ends here.
        try:
            return self._row(forest, cache, read)
        except torch.OutOfMemoryError:
            return None

    def _row(self, forest: Sequence[Node], cache: KeptCache, read: Read) -> Found:
        """Many branches in one row."""
        flat = flatten(forest)
        positions, last = self._tensor(flat.positions), self._tensor(flat.last)
        masks = {
            kind: mask(last, positions, cache.length, window=window, dtype=self.model.dtype)
            for kind, window in self.windows.items()
        }
        masked = masks if len(masks) > 1 else next(iter(masks.values()))
        logits = self._forward(
            self._tensor(flat.ids), positions, masked, cache, self._tensor(flat.leaves)
        )
        return list(zip(flat.prompts, read(logits, flat.prompts), strict=True))

    def _extend(self, node: Node, cache: KeptCache, read: Read) -> Found:
        """Keep a node's keys and values; it is one run of tokens, so the model masks it itself."""
        n = len(node.tokens)
        positions = torch.arange(node.start, node.stop, device=self.device)
        last = torch.tensor([n - 1], device=self.device)
        try:
            with cache.grow(n):
                logits = self._forward(self._tensor(node.tokens), positions, None, cache, last)
        except torch.OutOfMemoryError:
            raise too_large(node.stop, self.device) from None
        if not node.ends:
            return []
        logits = logits.expand(len(node.ends), -1)
        return list(zip(node.ends, read(logits, node.ends), strict=True))

    def _forward(self, ids: Any, positions: Any, masked: Any, cache: KeptCache, keep: Any) -> Any:
        self.forwards += 1
        with torch.inference_mode():
            logits = self.model(
                input_ids=ids[None],
                position_ids=positions[None],
                attention_mask=masked,
                past_key_values=cache,
                use_cache=True,
                # The last layers of a model that is spread are on a device other than the places.
                **({} if self.spread else {"logits_to_keep": keep}),
            ).logits[0]
        if len(logits) == len(ids) > len(keep):
            return logits[keep.to(logits.device)]
        return logits

    def _tensor(self, values: Any) -> Any:
        return torch.as_tensor(values, device=self.device)


def too_large(tokens: int, device: Any) -> JudgeError:
    """Word the error of a prompt that does not fit into the memory even alone."""
    return JudgeError(
        f"{tokens} tokens of one prompt do not fit into the memory of {device}; take a smaller "
        "model, or spread it over several devices with device='spread'"
    )
