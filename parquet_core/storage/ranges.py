"""Read ranges of files, wherever they lie."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeVar

from parquet_core.storage import local
from parquet_core.storage.coalescing import blocks_of, cut, outside
from parquet_core.storage.remote import remote_of
from parquet_core.storage.schemes import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from parquet_core.errors import MalformedFile
    from parquet_core.storage.coalescing import Block
    from parquet_core.storage.files import DataFile, Traffic
    from parquet_core.storage.remote import Remote

# A request costs a round trip of tens of milliseconds, in which a connection brings a few MiB:
# bytes that nobody asked for are cheaper than a second request up to about here.
REMOTE_HOLE = 4 << 20
IN_FLIGHT = 32

Item = TypeVar("Item")
Result = TypeVar("Result")


def hole_of(path: str) -> int:
    """Return how many bytes between two ranges are cheaper to read than a second request."""
    return REMOTE_HOLE if is_remote(path) else local.HOLE


def read_range(file: DataFile, start: int, length: int, *, purpose: str, traffic: Traffic) -> bytes:
    """Read exactly `length` bytes from `start`; MalformedFile when the file, as listed, is shorter."""
    return read_many([(file, [(start, length)])], purpose=purpose, traffic=traffic)[0][0]


def read_ranges(file: DataFile, ranges: Sequence[tuple[int, int]], *, purpose: str, traffic: Traffic) -> list[bytes]:
    """Read (start, length) ranges, neighbours in one request; answers stand in the order asked."""
    return read_many([(file, ranges)], purpose=purpose, traffic=traffic)[0]


def read_many(
    wanted: Sequence[tuple[DataFile, Sequence[tuple[int, int]]]], *, purpose: str, traffic: Traffic
) -> list[list[bytes]]:
    """Read (start, length) ranges of many files; answers stand in the order asked. See `read_each`."""
    return list(read_each(wanted, purpose=purpose, traffic=traffic))


def read_each(
    wanted: Sequence[tuple[DataFile, Sequence[tuple[int, int]]]], *, purpose: str, traffic: Traffic
) -> Iterator[list[bytes]]:
    """Read (start, length) ranges of many files, neighbours in one request; the answers come file by file, in order.

    Who lets go of one answer before the next lets its memory be used again: of 64 KiB each, most of the time goes
    into memory that is touched for the first time. Of remote files, up to 32 requests are in flight. A remote
    object that is not the one that was listed is noticed, as `Remote.read` of its store says; of a local file, that
    it became shorter. Raises the error of the first file that has one: MalformedFile for a range outside of the
    file as listed, StorageFailure. The traffic is counted at the end.
    """
    if any(is_remote(file.path) for file, _ in wanted):
        return _read_remote(wanted, purpose, traffic)
    return local.read_files(wanted, purpose=purpose, traffic=traffic)


def _read_remote(
    wanted: Sequence[tuple[DataFile, Sequence[tuple[int, int]]]], purpose: str, traffic: Traffic
) -> Iterator[list[bytes]]:
    plans: list[list[Block]] = []
    damage: MalformedFile | None = None
    for file, ranges in wanted:
        damage = next((outside(file, *item) for item in ranges if _is_outside(file, *item)), None)
        if damage is not None:
            break
        plans.append(blocks_of(ranges, hole_of(file.path)))
    requests = [
        (file, block.start, block.stop - block.start)
        for (file, _), blocks in zip(wanted, plans, strict=False)
        for block in blocks
    ]
    data = _fetch(requests, purpose, traffic)
    for (_, ranges), blocks in zip(wanted, plans, strict=False):
        yield cut(ranges, blocks, [next(data) for _ in blocks])
    # The generator that counts ends here.
    assert next(data, None) is None
    if damage is not None:
        raise damage


def _is_outside(file: DataFile, start: int, length: int) -> bool:
    return start < 0 or length < 0 or start + length > file.size


def _fetch(requests: list[tuple[DataFile, int, int]], purpose: str, traffic: Traffic) -> Iterator[bytes]:
    stores: dict[str, Remote] = {}

    def read(request: tuple[DataFile, int, int]) -> bytes:
        file, start, length = request
        if not length:
            return b""  # no store answers a request for nothing
        if not is_remote(file.path):
            return local.read_block(file, start, length)
        return stores[_host(file.path)].read(file, start, length)

    for file, _, _ in requests:
        if is_remote(file.path) and _host(file.path) not in stores:
            stores[_host(file.path)] = remote_of(file.path)
    sent = fetched = 0
    try:
        for block in in_flight(read, requests):
            sent += len(block) > 0
            fetched += len(block)
            yield block
    finally:
        if sent:
            traffic.add(purpose, fetched, requests=sent)


def _host(uri: str) -> str:
    """Return the scheme and what follows it: files that share them share a store."""
    return "/".join(uri.split("/", 3)[:3])


def in_flight(do: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Do something that waits for the network for many items at once; results and errors come in their order."""
    if len(items) < 2:
        yield from map(do, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    # A pool for each batch: threads that lived on would be missing after a fork.
    with ThreadPoolExecutor(min(IN_FLIGHT, len(items)), thread_name_prefix="parquet-storage") as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                if len(waiting) >= 2 * IN_FLIGHT:
                    # No further ahead of who takes the results: those waiting for it take memory.
                    yield waiting.popleft().result()
                waiting.append(pool.submit(do, item))
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
