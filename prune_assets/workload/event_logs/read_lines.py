"""The lines of a log, in memory that its size does not change."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A longer line is left out: a plan of this size has millions of words.
LONGEST_LINE = 32 << 20
TOO_LONG = b""


def lines_of(blocks: Iterable[bytes], *, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    r"""Return each line without its end, in the place of one that is too long `TOO_LONG`.

    The last one may be cut off where a log is still written.

    >>> list(lines_of([b"ab", b"c\nlong", b"er\n", b"d"], longest=5))
    [b'abc', b'', b'd']
    """
    waiting: list[bytes] = []
    size = 0
    for block in blocks:
        first, *rest = block.split(b"\n")
        size += len(first)
        # Of a line that is too long nothing more is kept.
        waiting = [*waiting, first] if size <= longest else []
        if rest:
            yield b"".join(waiting) if size <= longest else TOO_LONG
            *whole, last = rest
            yield from whole
            waiting, size = [last], len(last)
    if size:
        yield b"".join(waiting) if size <= longest else TOO_LONG
