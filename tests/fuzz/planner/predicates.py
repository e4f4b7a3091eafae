"""Predicates as trees, so that a failing predicate can be reduced."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .forms import Leaf, random_leaf

TRUTHS = ["IS TRUE", "IS FALSE", "IS UNKNOWN", "IS NOT TRUE", "IS NOT FALSE", "IS NOT UNKNOWN"]


@dataclass(frozen=True)
class Node:
    """A node; `word` is AND, OR, NOT, or the text after the only operand."""

    word: str
    children: tuple

    @property
    def sql(self):
        texts = [f"({child.sql})" for child in self.children]
        if self.word in {"AND", "OR"}:
            return f" {self.word} ".join(texts)
        return f"NOT {texts[0]}" if self.word == "NOT" else f"{texts[0]} {self.word}"

    @property
    def risky(self):
        return any(child.risky for child in self.children)


def random_predicate(draw, scope, depth=None):
    depth = draw.choice([0, 0, 1, 1, 2, 3]) if depth is None else depth
    word = draw.choice(["leaf", "AND", "AND", "OR", "OR", "NOT", "truth"]) if depth else "leaf"
    if word == "leaf":
        return random_leaf(draw, scope)
    count = draw.randint(2, 3) if word in {"AND", "OR"} else 1
    children = tuple(random_predicate(draw, scope, depth - 1) for _ in range(count))
    return Node(draw.choice(TRUTHS) if word == "truth" else word, children)


def smaller(predicate):
    """Yield predicates with one part removed, the smallest first."""
    if isinstance(predicate, Leaf):
        return
    yield from predicate.children
    if len(predicate.children) > 2:
        for i in range(len(predicate.children)):
            yield replace(predicate, children=predicate.children[:i] + predicate.children[i + 1 :])
    for i, child in enumerate(predicate.children):
        for less in smaller(child):
            yield replace(predicate, children=(*predicate.children[:i], less, *predicate.children[i + 1 :]))
