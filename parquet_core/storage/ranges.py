"""Read byte ranges of local and remote files, one by one or gathered into buffers."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from parquet_core.ragged import order_of
from parquet_core.storage import local
from parquet_core.storage.files import FetchedBlock, blocks_of, cut, outside
from parquet_core.storage.remote import remote_of
from parquet_core.storage.stores import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from parquet_core.arrays import Numbers
    from parquet_core.errors import MalformedFile
    from parquet_core.storage.files import Block, DataFile, Traffic
    from parquet_core.storage.remote import Remote


# A request costs a round trip of tens of milliseconds, in which a connection transfers a few MiB. Up to about this
# size, reading unneeded bytes is cheaper than a second request.
REMOTE_HOLE = 4 << 20
IN_FLIGHT = 32

Item = TypeVar("Item")
Result = TypeVar("Result")


def hole_of(path: str) -> int:
    """Return the largest gap (bytes) that is cheaper to read than to skip.

    Skipping a gap takes a second request.
    """
    return REMOTE_HOLE if is_remote(path) else local.HOLE


def read_range(file: DataFile, start: int, length: int, *, purpose: str, traffic: Traffic) -> bytes:
    """Read exactly `length` bytes from `start`.

    Raises MalformedFile if the file, as listed, is shorter.
    """
    return read_many([(file, [(start, length)])], purpose=purpose, traffic=traffic)[0][0]


def read_ranges(file: DataFile, ranges: Sequence[tuple[int, int]], *, purpose: str, traffic: Traffic) -> list[bytes]:
    """Read (start, length) ranges of one file. Near ranges share a request.

    The results are in the order of `ranges`.
    """
    return read_many([(file, ranges)], purpose=purpose, traffic=traffic)[0]


def read_many(
    wanted: Sequence[tuple[DataFile, Sequence[tuple[int, int]]]], *, purpose: str, traffic: Traffic
) -> list[list[bytes]]:
    """Read (start, length) ranges of many files; results are in the order of `wanted`.

    See `read_each`.
    """
    return list(read_each(wanted, purpose=purpose, traffic=traffic))


def read_each(
    wanted: Sequence[tuple[DataFile, Sequence[tuple[int, int]]]], *, purpose: str, traffic: Traffic
) -> Iterator[list[bytes]]:
    """Yield (start, length) ranges file by file, in order; near ranges share a request.

    Release each result before you take the next one, whose bytes then reuse its memory: with ranges of 64 KiB, new
    memory takes most of the time. Remote files are read with up to 32 requests in flight. Raises the error of the first
    failing file: StaleListing if it changed since it was listed (size and times of a local file, see `Remote.read` for
    stores), MalformedFile for a range outside of the file as listed, StorageFailure. The traffic is counted at the end.
    """
    if any(is_remote(file.path) for file, _ in wanted):
        return _read_remote(wanted, purpose, traffic)
    return local.read_files(wanted, purpose=purpose, traffic=traffic)


def read_whole(files: Sequence[DataFile], *, purpose: str, traffic: Traffic) -> Iterator[bytes]:
    """Yield whole files, in order; remote files are read in parallel.

    Raises the errors of `read_each`.
    """
    for answers in read_each([(file, [(0, file.size)]) for file in files], purpose=purpose, traffic=traffic):
        yield answers[0]


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
    # This ends the generator, which counts the traffic at its end.
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
            return b""  # stores refuse requests for empty ranges
        if not is_remote(file.path):
            return local.read_block(file, start, length)
        return stores[_host(file.path)].read(file, start, length)

    for file, _, _ in requests:
        if is_remote(file.path) and _host(file.path) not in stores:
            stores[_host(file.path)] = remote_of(file.path)
    early = [_fetched(traffic, *request) for request in requests]
    blocks = in_flight(read, [request for request, there in zip(requests, early, strict=True) if there is None])
    sent = fetched = 0
    try:
        for there in early:
            block = next(blocks) if there is None else there
            sent += there is None and len(block) > 0
            fetched += len(block) if there is None else 0
            yield block
        assert next(blocks, None) is None
    finally:
        if sent:
            traffic.add(purpose, fetched, requests=sent)


def _fetched(traffic: Traffic, file: DataFile, start: int, length: int) -> bytes | None:
    """Return a range from the prefetched blocks; None if no block contains it."""
    for begin, data in traffic.ahead.get(file.path, ()):
        if begin <= start and start + length <= begin + len(data):
            return data[start - begin : start - begin + length]
    return None


def read_ahead(wanted: Sequence[tuple[DataFile, Sequence[tuple[int, int]]]], *, purpose: str, traffic: Traffic) -> None:
    """Prefetch (start, length) ranges of remote files in parallel.

    The blocks stay in `traffic.ahead`, from which later reads with the same `traffic` take them. Ranges outside of
    their file are skipped; the later read reports them.
    """
    inside = [(file, [item for item in ranges if not _is_outside(file, *item)]) for file, ranges in wanted]
    blocks = [
        (file, [(block.start, block.stop - block.start) for block in blocks_of(ranges, hole_of(file.path))])
        for file, ranges in inside
    ]
    for (file, ranges), data in zip(blocks, read_many(blocks, purpose=purpose, traffic=traffic), strict=True):
        starts = [start for start, _ in ranges]
        traffic.ahead[file.path] = [FetchedBlock(*block) for block in zip(starts, data, strict=True)]


def _host(uri: str) -> str:
    """Return the scheme and the host or bucket of a URI.

    Files with the same result share a store.
    """
    return "/".join(uri.split("/", 3)[:3])


def in_flight(
    do: Callable[[Item], Result], items: Sequence[Item], *, threads: int = IN_FLIGHT, ahead: int = 2 * IN_FLIGHT
) -> Iterator[Result]:
    """Yield the results of `do` for many items, computed in parallel threads.

    Use it for calls that wait for the network or release the interpreter lock. Results and errors are in the order of
    the items; at most `ahead` calls are pending or waiting to be yielded.
    """
    if min(len(items), threads) < 2:
        yield from map(do, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    # Each batch has its own pool: the threads of a longer-lived pool would be missing after a fork.
    with ThreadPoolExecutor(min(threads, len(items)), thread_name_prefix="parquet-storage") as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                if len(waiting) >= ahead:
                    # Waiting results take memory, so their number is limited.
                    yield waiting.popleft().result()
                waiting.append(pool.submit(do, item))
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class Ranges(NamedTuple):
    """Byte ranges inside of files.

    Each element is `length` bytes from `start` of the file with the index `file`.
    """

    file: Numbers
    start: Numbers
    length: Numbers

    def take(self, positions: Numbers) -> Ranges:
        """Return the ranges at these positions."""
        return Ranges(self.file[positions], self.start[positions], self.length[positions])


def gather(
    files: Sequence[DataFile],
    ranges: Ranges,
    *,
    counts: Sequence[int],
    purpose: str,
    traffic: Traffic,
    before: bytes = b"",
    arrived: Callable[[bytes, int], None] | None = None,
) -> list[bytes]:
    """Read ranges end to end into buffers.

    `counts`: number of ranges in each buffer.
    `before`: bytes that the first buffer begins with.
    `arrived`: may be called during the read with the first buffer and the number of ranges already in it, counted in
    order of file and start.

    Near ranges of a file are read together. Raises the errors of `read_each`.
    """
    if len(ranges.file) == 0:
        return [before, *(b"" for _ in counts[1:])][: len(counts)]
    order = order_of(ranges.file, ranges.start)
    ordered = ranges.take(order)
    heads = np.flatnonzero(np.diff(ordered.file, prepend=-1))
    chosen = [files[i] for i in ordered.file[heads].tolist()]
    edges = np.cumsum([0, *counts])
    if local.reads_at_once([file.path for file in chosen]):
        ends = np.cumsum(ranges.length)
        begins = np.concatenate([np.zeros(1, np.int64), ends])[edges]
        target = np.repeat(np.arange(len(counts)), counts)
        offsets = ends - ranges.length - begins[target] + np.where(target == 0, len(before), 0)
        wanted = local.WantedRanges(
            np.append(heads, len(order)), ordered.start, ordered.length, target[order], offsets[order]
        )
        sizes = np.diff(begins).tolist()
        at_once = local.read_at_once(chosen, wanted, sizes, before, arrived, purpose=purpose, traffic=traffic)
        if at_once is not None:
            return at_once
    pieces = _pieces(files, ordered, order, purpose, traffic)
    parts = [pieces[low:high] for low, high in pairwise(edges.tolist())]
    return [b"".join([before, *part] if i == 0 and before else part) for i, part in enumerate(parts)]


def _pieces(files: Sequence[DataFile], ordered: Ranges, order: Numbers, purpose: str, traffic: Traffic) -> list[bytes]:
    """Read ranges that are sorted by file and start.

    The results are in the order before sorting. `order`: index of each sorted range in that order.
    """
    owner, first, lengths = ordered
    heads = _block_heads(owner, first, first + lengths, hole_of(files[int(owner[0])].path))
    reach = np.maximum.reduceat(first + lengths, heads)
    wanted = [
        (files[file], [(begin, stop - begin)])
        for file, begin, stop in zip(owner[heads].tolist(), first[heads].tolist(), reach.tolist(), strict=True)
    ]
    inside = first - np.repeat(first[heads], np.diff(heads, append=len(first)))
    begins, stops = inside.tolist(), (inside + lengths).tolist()
    edges = [*heads.tolist(), len(first)]
    pieces: list[bytes] = [b""] * len(order)
    places = order.tolist()
    # Each block is cut into its ranges before the next block is read, so that memory is reused.
    for i, (block,) in enumerate(read_each(wanted, purpose=purpose, traffic=traffic)):
        for j in range(edges[i], edges[i + 1]):
            pieces[places[j]] = block[begins[j] : stops[j]]
    return pieces


def _block_heads(owner: Numbers, first: Numbers, stop: Numbers, hole: int) -> Numbers:
    """Return the indices of the ranges that begin a block.

    These are the first range of each file, and ranges more than `hole` after all ranges before them.
    """
    # Ends are shifted so that a later file always ends after an earlier one.
    rank = np.cumsum(np.diff(owner, prepend=owner[:1]) != 0)
    span = int(stop.max()) + 1
    reach = np.maximum.accumulate(stop + rank * span) - rank * span
    begins = np.ones(len(owner), np.bool_)
    begins[1:] = (owner[1:] != owner[:-1]) | (first[1:] > reach[:-1] + hole)
    return np.flatnonzero(begins)
