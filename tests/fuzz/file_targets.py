"""Fuzz targets for damaged Parquet files: the input is a whole file, the output that of plan, inspect and check."""

from __future__ import annotations

import io
import os
import warnings
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import reference
import slow_thrift
from corpus import Corpus, make
from mutations import HUGE, blindly, knowingly, nodes
from targets import Target, draw_file, judge_nothing

import prune_assets as pr
from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import MalformedFile, PruneError, UnsupportedFeature
from parquet_core.inspection import inspect_file, read_row_groups
from prune_assets.report.inspection.json_form import file_json

PLACE = "f.parquet"


class Seed(NamedTuple):
    """An intact file, the offsets of its pages, and its flat columns with a value of each as SQL."""

    data: bytes
    pages: list[int]
    columns: list[tuple[str, str]]


class Seeds(NamedTuple):
    """Intact files to damage, and the structures for the other targets."""

    files: list[Seed]
    corpus: Corpus


class FileCase(NamedTuple):
    """A damaged file, a predicate and sort columns."""

    data: bytes
    where: str
    sort_by: tuple[str, ...]


def make_seeds(directory):
    """Take the files that are known to be read."""
    # Each file is a table of its own, so a disk cache would never be used again.
    os.environ["PRUNE_CACHE_BYTES"] = "0"
    corpus = make(directory)
    return Seeds([_seed(data) for data in corpus.files], corpus)


def _seed(data):
    try:
        metadata = pq.read_metadata(io.BytesIO(data))
    except pa.ArrowInvalid:  # of maps with keys that may be null
        return Seed(data, [], [])
    pages = []
    for group in range(metadata.num_row_groups):
        for i in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(i)
            begin = [chunk.data_page_offset, chunk.dictionary_page_offset]
            pages += [offset for offset in begin if offset is not None and 0 < offset < len(data)]
    flat = [field for field in metadata.schema.to_arrow_schema() if not pa.types.is_nested(field.type)]
    return Seed(data, pages, [(field.name, _literal(field.type)) for field in flat])


def _literal(kind):
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "3"
    if pa.types.is_date(kind):
        return "date '1994-01-01'"
    return "true" if pa.types.is_boolean(kind) else "'zebra'"


def draw(damage, chance, seeds):
    """Draw a file, its damage, a predicate and sort columns."""
    seed = chance.choice(seeds.files)
    data = damage(chance, seed, seeds)
    if not seed.columns:
        return FileCase(data, "true", ())
    name, value = chance.choice(seed.columns)
    comparison = chance.choice([f"= {value}", f"> {value}", f"in ({value}, {value})", "is null", f"<=> {value}"])
    keys = dict.fromkeys(chance.choice(seed.columns)[0] for _ in range(chance.randint(1, 2)))
    return FileCase(data, f"`{name}` {comparison}", tuple(keys))


def damage_anywhere(chance, seed, seeds):
    return blindly(chance, seed.data, chance.choice(seeds.files).data)


def damage_footer(chance, seed, seeds):
    return draw_file(chance, seeds.corpus._replace(files=[seed.data]))


def damage_page(chance, seed, seeds):
    """Change sizes, counts or bytes at the beginning of some pages; later pages keep their positions."""
    data = bytearray(seed.data)
    for _ in range(chance.choice([1, 1, 2, 3]) if seed.pages else 0):
        at = chance.choice(seed.pages)
        piece = bytes(data[at : at + 60])
        changed = _as_long(chance, at, data) or chance.choice([knowingly, knowingly, blindly])(chance, piece, seed.data)
        if chance.random() < 0.5:
            data[at : at + len(changed)] = changed
        else:
            data[at : at + len(piece)] = changed[: len(piece)].ljust(len(piece), b"\0")
    return bytes(data)


def _as_long(chance, at, data):
    """Return a header of a page with one number far too large; None for now and then another damage."""
    if chance.random() < 0.5:
        return None
    try:
        fields, _ = slow_thrift.parse(bytes(data[at : at + 400]))
    except slow_thrift.Odd:
        return chance.choice(HUGE)
    numbers = [place for _, place in nodes(fields) if isinstance(place[2], int)]
    for place in chance.sample(numbers, min(len(numbers), chance.randint(1, 2))):
        place[2] = chance.choice([2**31 - 1, 2**30, 10**8, 10**6, place[2] * 1000])
    try:
        return slow_thrift.encode(fields)
    except RecursionError:  # of lists within lists, which writing takes more calls for than parsing
        return chance.choice(HUGE)


def answer(case, directory):
    """Run all functions; return the results, or the error message if all of them fail."""
    path = directory / PLACE
    path.write_bytes(case.data)
    said = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ask in (_plan, _inspect, _check, _rows):
            try:
                said.append(ask(str(path), case))
            except PruneError as error:
                said.append(_judged(error))
    errors = [part for part in said if isinstance(part, PruneError)]
    return str(errors[0]) if len(errors) == len(said) else [part for part in said if not isinstance(part, PruneError)]


def _judged(error):
    message = str(error)
    reference.must(message.isprintable(), "a message of several lines, or one that a terminal obeys", message)
    if isinstance(error, MalformedFile | UnsupportedFeature):
        is_placed = PLACE in message or message.startswith("column ") or message.endswith("evaluate it, by pr.read")
        reference.must(is_placed, "a message without place", message)
    return error


def _plan(path, case):
    made = pr.plan(path, where=case.where, semantics=pr.SparkSemantics(time_zone="UTC"))
    return made.report.to_json()


def _inspect(path, _):
    index = read_dataset(path)
    found = inspect_file(index, index.groups.columns, bloom=None)
    return "".join(file_json(found, read_row_groups(index, index.groups.columns, np.arange(len(index)), pages=True)))


def _check(path, case):
    return pr.check(path, layout=pr.LayoutSpec(sort_by=case.sort_by, page_rows=10))


def _rows(path, case):
    found = pr.read_arrow(path, where=case.where, order_by=case.sort_by, limit=1_000, semantics=pr.SparkSemantics())
    return f"{found.num_rows} rows"


FILE_TARGETS = {
    name: Target(partial(draw, damage), lambda case: case.data, answer, judge_nothing, share)
    for name, damage, share in (
        ("anywhere", damage_anywhere, 1),
        ("footer or body", damage_footer, 1),
        ("pages", damage_page, 1),
    )
}
