"""Table features: what a reader must understand, and what is refused by name.

Source: the Delta protocol, "Table Features", and its RFCs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalog.errors import MalformedLog, UnsupportedTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltalog.log.actions import Protocol

# What the listing of live files, their deletion vectors and skipping take care of.
READER_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "timestampWithoutTimezone",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantShredding",
        "variantShredding-preview",
        "variantType",
        "variantType-preview",
    }
)
LAST_READER_VERSION = 3
_FEATURES_FROM_READER, _FEATURES_FROM_WRITER = 3, 7
# Before features were listed, versions stood for them.
_OF_READER_VERSION = {2: ("columnMapping",)}
_OF_WRITER_VERSION = {
    2: ("appendOnly", "invariants"),
    3: ("checkConstraints",),
    4: ("changeDataFeed", "generatedColumns"),
    5: ("columnMapping",),
    6: ("identityColumns",),
}
_WHY = {
    "catalogManaged": "its catalog decides which commits count; ask the catalog for the table",
    "catalogOwned-preview": "its catalog decides which commits count; ask the catalog for the table",
    "adaptiveMetadata-preview": "its files are listed in manifests, not in this log",
    "redirectReaderWriter-preview": "the table has moved; give the path it moved to",
}


def check_readable(protocol: Protocol, *, place: str) -> None:
    """Raise UnsupportedTable, naming each feature, when a table must not be read, MalformedLog for a contradiction."""
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if reader < 1 or writer < 1:
        raise MalformedLog(f"{place}: protocol ({reader}, {writer}) is no pair of versions; the log is damaged")
    if reader > LAST_READER_VERSION:
        raise UnsupportedTable(
            f"{place}: reader version {reader} is not known, {LAST_READER_VERSION} is the last; use a newer release"
        )
    _check_lists(protocol, place)
    unknown = sorted(set(reader_features(protocol)) - READER_FEATURES)
    if unknown:
        why = "; ".join(_WHY[name] for name in unknown if name in _WHY)
        names = ", ".join(unknown)
        raise UnsupportedTable(f"{place}: table feature {names} is not understood; {why or 'use a newer release'}")


def _check_lists(protocol: Protocol, place: str) -> None:
    of_reader = protocol.min_reader_version >= _FEATURES_FROM_READER
    of_writer = protocol.min_writer_version >= _FEATURES_FROM_WRITER
    if of_reader and not of_writer:
        raise MalformedLog(f"{place}: reader version 3 needs writer version 7; the protocol action is damaged")
    for side, listed, features in (
        ("reader", of_reader, protocol.reader_features),
        ("writer", of_writer, protocol.writer_features),
    ):
        if listed and features is None:
            raise MalformedLog(f"{place}: the protocol lists no {side}Features; the protocol action is damaged")
        if not listed and features:
            raise MalformedLog(f"{place}: the protocol lists {side}Features below the version that has them")


def reader_features(protocol: Protocol) -> tuple[str, ...]:
    """Return the features that a reader must understand, those that old versions imply included."""
    if protocol.min_reader_version >= _FEATURES_FROM_READER:
        return tuple(protocol.reader_features or ())
    return _implied(_OF_READER_VERSION, protocol.min_reader_version)


def writer_features(protocol: Protocol) -> tuple[str, ...]:
    """Return the features that a writer must understand, those that old versions imply included."""
    if protocol.min_writer_version >= _FEATURES_FROM_WRITER:
        return tuple(protocol.writer_features or ())
    return _implied(_OF_WRITER_VERSION, protocol.min_writer_version)


def _implied(by_version: Mapping[int, tuple[str, ...]], version: int) -> tuple[str, ...]:
    return tuple(name for since, names in by_version.items() if since <= version for name in names)
