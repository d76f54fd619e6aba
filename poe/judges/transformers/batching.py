"""Prompts in batches: as many as a budget of tokens allows, of like length, last logits only."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from poe.errors import JudgeError
from poe.judges.transformers.prefix import Found, Read
from poe.judges.transformers.tree import Tokens


def batches(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Positions grouped so that rows times the longest row stays within `most` tokens.

    Longest first, so that a batch too large for the memory shows at once. A prompt longer than
    `most` is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda k: -lengths[k])
    groups: list[list[int]] = []
    for k in order:
        if not groups or (len(groups[-1]) + 1) * lengths[groups[-1][0]] > most:
            groups.append([])
        groups[-1].append(k)
    return groups


@dataclass
class Batched:
    """Answers prompts that share nothing.

    most : tokens in a batch, padding included. shrink : told of a batch that did not fit into
    memory, it returns how many tokens may be in one from now on, or raises.
    """

    model: Any
    device: Any
    most: int
    pad: int
    shrink: Callable[[int], int]
    forwards: int = 0

    def answer(
        self, sequences: Sequence[Tokens], starts: Sequence[Tokens], read: Read
    ) -> Iterator[Found]:
        """Answers of a batch at a time.

        starts : what the decoder starts with for each prompt; empty for a decoder-only model.
        """
        for start in dict.fromkeys(map(tuple, starts)):
            waiting = self._groups(
                [k for k, s in enumerate(starts) if tuple(s) == start], sequences
            )
            while waiting:
                group = waiting.pop(0)
                found = self._if_it_fits([sequences[k] for k in group], start, group, read)
                if found is not None:
                    yield found
                    continue
                self._make_room(group, sequences)
                waiting = self._groups([k for some in [group, *waiting] for k in some], sequences)

    def _groups(self, chosen: list[int], sequences: Sequence[Tokens]) -> list[list[int]]:
        groups = batches([len(sequences[k]) for k in chosen], self.most)
        return [[chosen[k] for k in group] for group in groups]

    def _if_it_fits(
        self, rows: Sequence[Tokens], start: Tokens, group: list[int], read: Read
    ) -> Found | None:
        # The error holds on to the memory until it is out of sight, so it ends here.
        try:
            found = read(self._logits(rows, start), group)
        except torch.OutOfMemoryError:
            return None
        return list(zip(group, found, strict=True))

    def _make_room(self, group: list[int], sequences: Sequence[Tokens]) -> None:
        longest = max(len(sequences[k]) for k in group)
        if len(group) == 1:
            raise JudgeError(
                f"{longest} tokens of one prompt do not fit into the memory of {self.device}; take "
                "a smaller model, or spread it over several devices with device='spread'"
            )
        self.most = self.shrink(longest * len(group))

    def _logits(self, rows: Sequence[Tokens], start: Tokens) -> Any:
        self.forwards += 1
        with torch.inference_mode():
            return self._encoded(rows, start) if start else self._decoded(rows)

    def _decoded(self, rows: Sequence[Tokens]) -> Any:
        """Rows end at the right, so that the last position is the last token of each."""
        ids, seen = self._padded(rows, left=True)
        given = {
            "input_ids": ids,
            "attention_mask": seen,
            "position_ids": (seen.cumsum(1) - 1).clamp(min=0),
            "use_cache": False,
        }
        accepted = inspect.signature(self.model.forward).parameters
        if "logits_to_keep" in accepted:
            given["logits_to_keep"] = 1
        if "position_ids" not in accepted:
            del given["position_ids"]
        return self.model(**given).logits[:, -1]

    def _encoded(self, rows: Sequence[Tokens], start: Tokens) -> Any:
        ids, seen = self._padded(rows, left=False)
        decoder = torch.tensor([list(start)] * len(rows), device=self.device)
        result = self.model(
            input_ids=ids, attention_mask=seen, decoder_input_ids=decoder, use_cache=False
        )
        return result.logits[:, -1]

    def _padded(self, rows: Sequence[Tokens], *, left: bool) -> tuple[Any, Any]:
        width = max(map(len, rows))
        ids = torch.full((len(rows), width), self.pad, dtype=torch.long)
        seen = torch.zeros((len(rows), width), dtype=torch.long)
        for k, row in enumerate(rows):
            place = slice(width - len(row), None) if left else slice(0, len(row))
            ids[k, place] = torch.tensor(list(row))
            seen[k, place] = 1
        return ids.to(self.device), seen.to(self.device)
