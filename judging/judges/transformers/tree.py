"""What prompts have in common, as a tree of runs of tokens; NumPy only (book chapter 11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

Tokens = Sequence[int]


@dataclass
class Node:
    """A run of tokens that the same prompts share.

    tokens : the run. start : position of its first token in these prompts. ends : prompts that
    end with it. children : what comes next, for those that go on. size : tokens in it and
    below. prompts : how many prompts end in it or below.
    """

    tokens: list[int]
    start: int
    ends: list[int]
    children: list[Node] = field(default_factory=list)
    size: int = 0
    prompts: int = 0

    @property
    def stop(self) -> int:
        """Position after its last token."""
        return self.start + len(self.tokens)


@dataclass(frozen=True)
class Flat:
    """A forest in one row, parents before children.

    ids, positions : (T,) tokens and their positions in their prompts. last : (T,) index after
    the last token that comes below; token j is seen by token i if j <= i < last[j].
    leaves : index of the last token of each prompt, and `prompts` which prompt that is.
    """

    ids: np.ndarray
    positions: np.ndarray
    last: np.ndarray
    leaves: np.ndarray
    prompts: list[int]


def build(sequences: Sequence[Tokens]) -> list[Node]:
    """The forest of all prompts; two trees of it differ in their first token.

    It is built from the token ids of whole prompts, so that it cannot change how a prompt is cut
    into tokens: where a boundary between two pieces of text merges into one token, the branch
    simply starts a token earlier.
    """
    order = sorted(range(len(sequences)), key=lambda k: list(sequences[k]))
    arrays = [np.asarray(sequences[k]) for k in order]
    if any(len(array) == 0 for array in arrays):
        raise ValueError("a prompt has no tokens")
    common = [0]  # tokens that each has in common with the one before it
    for a, b in pairwise(arrays):
        n = min(len(a), len(b))
        differ = np.flatnonzero(a[:n] != b[:n])
        common.append(int(differ[0]) if len(differ) else n)

    def branches(low: int, high: int, start: int) -> list[Node]:
        """Prompts low to high share `start` tokens and go on; one node for each way they do."""
        cuts = [low, *(k for k in range(low + 1, high) if common[k] == start), high]
        return [grow(a, b, start) for a, b in pairwise(cuts) if a < b]

    def grow(low: int, high: int, start: int) -> Node:
        stop = min(common[low + 1 : high], default=len(arrays[low]))
        node = Node(arrays[low][start:stop].tolist(), start, [], prompts=high - low)
        while low < high and len(arrays[low]) == stop:  # the shortest come first
            node.ends.append(order[low])
            low += 1
        node.children = branches(low, high, stop)
        node.size = len(node.tokens) + size(node.children)
        return node

    return branches(0, len(arrays), 0)


def size(forest: Sequence[Node]) -> int:
    """Tokens in a forest."""
    return sum(node.size for node in forest)


def pairs(forest: Sequence[Node]) -> int:
    """Count how often a token looks at one before it or at itself, without a window."""
    return sum(sum(range(node.start + 1, node.stop + 1)) + pairs(node.children) for node in forest)


def shares(forest: Sequence[Node], count: int) -> np.ndarray:
    """(count,) tokens that each prompt has to answer for, a shared one shared out evenly."""
    share = np.zeros(count)

    def walk(nodes: Sequence[Node], above: float) -> None:
        for node in nodes:
            here = above + len(node.tokens) / node.prompts
            share[node.ends] = here
            walk(node.children, here)

    walk(forest, 0.0)
    return share


def pack(forest: Sequence[Node], most: int) -> list[list[Node]]:
    """Neighbouring trees together, up to `most` tokens; a larger one alone."""
    bins: list[list[Node]] = []
    room = 0
    for node in forest:
        if not bins or node.size > room:
            bins.append([])
            room = most
        bins[-1].append(node)
        room -= node.size
    return bins


def flatten(forest: Sequence[Node]) -> Flat:
    """A forest as one row of tokens with what is needed to keep its branches apart."""
    ids: list[int] = []
    positions: list[int] = []
    last: list[int] = []
    leaves: list[int] = []
    prompts: list[int] = []

    def walk(nodes: Sequence[Node]) -> None:
        for node in nodes:
            last.extend([len(ids) + node.size] * len(node.tokens))
            ids.extend(node.tokens)
            positions.extend(range(node.start, node.stop))
            leaves.extend([len(ids) - 1] * len(node.ends))
            prompts.extend(node.ends)
            walk(node.children)

    walk(forest)
    return Flat(np.array(ids), np.array(positions), np.array(last), np.array(leaves), prompts)
