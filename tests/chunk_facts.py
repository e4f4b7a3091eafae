"""Column chunks as plain values, to compare them with other readers."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace

from parquet_core.format.column_chunk import ENCODING_STATS, ColumnChunks
from parquet_core.format.compact import decode_list

_PLACES = {"column_index", "offset_index", "bloom_filter"}
_KNOWN = {"num_values", "compressed_bytes", "first_page_offset", "data_page_offset"}


def chunk_at(chunks, i):
    """Return the fields of chunk `i` by name, None where missing; None for an absent chunk."""
    if not (chunks.present[i] or chunks.encrypted[i]):
        return None
    facts = {field.name: getattr(chunks, field.name)[i] for field in fields(ColumnChunks)}
    facts = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in facts.items()}
    for name, value in facts.items():
        if name in _PLACES:
            offset, length = value
            facts[name] = None if offset <= 0 else (offset, None if length < 0 else length)
        elif name == "encodings":
            facts[name] = tuple(bit for bit in range(63) if value >> bit & 1)
        elif name == "encoding_stats":
            facts[name] = None if value is None else [tuple(row) for row in decode_list(value, ENCODING_STATS)]
        elif name not in _KNOWN and value is not None and value < 0:
            facts[name] = None
    return SimpleNamespace(**facts)
