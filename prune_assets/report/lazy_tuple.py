"""A tuple whose elements are made when they are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Item = TypeVar("Item")


class LazyTuple(Sequence[Item], Generic[Item]):
    """`count` elements, each made by its number and not kept; equal to the tuple of them."""

    __slots__ = ("_count", "_make")

    def __init__(self, count: int, make: Callable[[int], Item]) -> None:
        self._count = count
        self._make = make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...

    def __getitem__(self, index: int | slice) -> Item | tuple[Item, ...]:
        """Make an element, or those of a slice."""
        numbers = range(self._count)[index]
        return self._make(numbers) if isinstance(numbers, int) else tuple(map(self._make, numbers))

    def __iter__(self) -> Iterator[Item]:
        return map(self._make, range(self._count))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LazyTuple | tuple):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[type[tuple[Item, ...]], tuple[tuple[Item, ...]]]:
        return tuple, (tuple(self),)
