"""Read ranges of files, wherever they lie."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from parquet_core.storage import local
from parquet_core.storage.blocks import blocks_of, cut, outside
from parquet_core.storage.remote import remote_of
from parquet_core.storage.schemes import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parquet_core.errors import MalformedFile
    from parquet_core.storage.blocks import Block
    from parquet_core.storage.files import DataFile, Traffic
    from parquet_core.storage.remote import Remote

# A request costs a round trip of tens of milliseconds, in which a connection brings a few MiB:
# bytes that nobody asked for are cheaper than a second request up to about here.
REMOTE_HOLE = 4 << 20
IN_FLIGHT = 32

Item = TypeVar("Item")
Result = TypeVar("Result")


def read_range(file: DataFile, start: int, length: int, *, purpose: str, traffic: Traffic) -> bytes:
    """Read exactly `length` bytes from `start`; MalformedFile when the file, as listed, is shorter."""
    return read_many([(file, [(start, length)])], purpose=purpose, traffic=traffic)[0][0]


def read_ranges(file: DataFile, ranges: Sequence[tuple[int, int]], *, purpose: str, traffic: Traffic) -> list[bytes]:
    """Read (start, length) ranges, neighbours in one request; answers stand in the order asked."""
    return read_many([(file, ranges)], purpose=purpose, traffic=traffic)[0]


def read_many(
    wanted: Sequence[tuple[DataFile, Sequence[tuple[int, int]]]], *, purpose: str, traffic: Traffic
) -> list[list[bytes]]:
    """Read (start, length) ranges of many files, neighbours in one request; answers stand in the order asked.

    Of remote files, up to 32 requests are in flight. A remote object that is not the one that was listed is
    noticed, as `Remote.read` of its store says; of a local file, that it became shorter. Raises the error of the
    first file that has one: MalformedFile for a range outside of the file as listed, StorageFailure.
    """
    if not any(is_remote(file.path) for file, _ in wanted):
        return local.read_files(wanted, purpose=purpose, traffic=traffic)
    plans: list[list[Block]] = []
    damage: MalformedFile | None = None
    for file, ranges in wanted:
        damage = next((outside(file, *item) for item in ranges if _is_outside(file, *item)), None)
        if damage is not None:
            break
        plans.append(blocks_of(ranges, REMOTE_HOLE if is_remote(file.path) else local.HOLE))
    requests = [
        (file, block.start, block.stop - block.start)
        for (file, _), blocks in zip(wanted, plans, strict=False)
        for block in blocks
    ]
    data = _fetch(requests, purpose, traffic)
    if damage is not None:
        # After the files before it, of which one may have an error too.
        raise damage
    return [
        cut(ranges, blocks, [next(data) for _ in blocks]) for (_, ranges), blocks in zip(wanted, plans, strict=True)
    ]


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
    data = []
    try:
        for block in in_flight(read, requests):
            data.append(block)  # noqa: PERF402 - those before an error were fetched all the same
    finally:
        sent = sum(1 for block in data if block)
        if sent:
            traffic.add(purpose, sum(map(len, data)), requests=sent)
    return iter(data)


def _host(uri: str) -> str:
    """Return the scheme and what follows it: files that share them share a store."""
    return uri[: uri.find("/", uri.index("://") + 3)]


def in_flight(do: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Do something that waits for the network for many items at once; results and errors come in their order."""
    if len(items) == 1:
        yield do(items[0])
        return
    # A pool for each batch: threads that lived on would be missing after a fork.
    with ThreadPoolExecutor(min(IN_FLIGHT, len(items)), thread_name_prefix="parquet-storage") as pool:
        yield from pool.map(do, items)
