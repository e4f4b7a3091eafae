"""Table features: what a reader, a writer and who maintains a table must understand, and what is refused by name.

Source: the Delta protocol, "Table Features", and its RFCs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltalog.errors import MalformedLog, UnsupportedTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
# What a commit here complies with; of some the conditions are looked at by `check_change`.
_WRITER_FEATURES = READER_FEATURES | {
    "allowColumnDefaults",
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "checkpointProtection",
    "clustering",
    "domainMetadata",
    "generatedColumns",
    "identityColumns",
    "inCommitTimestamp",
    "inCommitTimestamp-preview",
    "invariants",
    "rowTracking",
}
# Checkpoints and clean-up write nothing new: the fields that these have in file actions are handed on, and nothing else
# is asked. What a feature keeps in fields of its own would be lost, so that one that is not known is refused.
_MAINTAINED_FEATURES = _WRITER_FEATURES | {
    "columnMappingUsageTracking",
    "icebergCompatV1",
    "icebergCompatV2",
    "icebergCompatV3",
    "icebergWriterCompatV1",
    "liquid",
    "materializePartitionColumns",
}
LAST_READER_VERSION, _LAST_WRITER_VERSION = 3, 7
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
_CATALOG = "its catalog decides which commits count; open the table through the catalog"
_MOVED = "the table has moved; give the path it moved to"
_COORDINATOR = "its coordinator decides which commits count; commit through it"
_SPARK = "commit with Spark, which does"
_ICEBERG = f"what Iceberg requires of files is not checked here; {_SPARK}"
_WHY = {
    "catalogManaged": _CATALOG,
    "catalogOwned-preview": _CATALOG,
    "adaptiveMetadata-preview": "its files are listed in manifests, not in this log",
    "redirectReaderWriter-preview": _MOVED,
    "icebergCompatV1": _ICEBERG,
    "icebergCompatV2": _ICEBERG,
    "icebergCompatV3": _ICEBERG,
    "icebergWriterCompatV1": _ICEBERG,
    "materializePartitionColumns": f"that files hold their partition columns is not checked here; {_SPARK}",
    "coordinatedCommits-preview": _COORDINATOR,
    "managedCommits-dev": _COORDINATOR,
    "redirectWriterOnly-preview": _MOVED,
}
_PROTECTION, _PROTECTED_BEFORE = "checkpointProtection", "delta.requireCheckpointProtectionBeforeVersion"


class _Understood(NamedTuple):
    """What somebody understands: features, the last version, and by whom it is not understood otherwise."""

    side: str
    last: int
    features: frozenset[str]
    by: str = ""
    otherwise: str = "use a newer release"


_READER = _Understood("reader", LAST_READER_VERSION, READER_FEATURES)
_WRITER = _Understood("writer", _LAST_WRITER_VERSION, _WRITER_FEATURES, " by this writer")
_MAINTAINER = _Understood(
    "writer", _LAST_WRITER_VERSION, _MAINTAINED_FEATURES, " by who maintains the table", "use a newer release, or Spark"
)


def check_readable(protocol: Protocol, *, location: str) -> None:
    """Raise UnsupportedTable, naming each feature, when a table must not be read, MalformedLog for a contradiction."""
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if reader < 1 or writer < 1:
        raise MalformedLog(f"{location}: protocol ({reader}, {writer}) is not a pair of versions; the log is damaged")
    if reader <= LAST_READER_VERSION:
        _check_lists(protocol, location)
    _check(reader, reader_features(protocol), _READER, location)


def check_writable(protocol: Protocol, *, location: str) -> None:
    """Raise UnsupportedTable, naming each feature, when nobody who knows no more than this module may commit."""
    _check(protocol.min_writer_version, writer_features(protocol), _WRITER, location)


def check_maintainable(protocol: Protocol, *, location: str) -> None:
    """Raise UnsupportedTable, naming each feature, when no checkpoint may be written and no file deleted."""
    _check(protocol.min_writer_version, writer_features(protocol), _MAINTAINER, location)


def _check(version: int, features: Iterable[str], understood: _Understood, location: str) -> None:
    if version > understood.last:
        raise UnsupportedTable(
            f"{location}: {understood.side} version {version} is not known, {understood.last} is the last; "
            "use a newer release"
        )
    unknown = sorted(set(features) - understood.features)
    if unknown:
        why = "; ".join(_WHY[name] for name in unknown if name in _WHY)
        raise UnsupportedTable(
            f"{location}: table feature {', '.join(unknown)} is not understood{understood.by}; "
            f"{why or understood.otherwise}"
        )


def _check_lists(protocol: Protocol, location: str) -> None:
    of_reader = protocol.min_reader_version >= _FEATURES_FROM_READER
    of_writer = protocol.min_writer_version >= _FEATURES_FROM_WRITER
    if of_reader and not of_writer:
        raise MalformedLog(f"{location}: reader version 3 needs writer version 7; the protocol action is damaged")
    for side, listed, features in (
        ("reader", of_reader, protocol.reader_features),
        ("writer", of_writer, protocol.writer_features),
    ):
        if listed and features is None:
            raise MalformedLog(f"{location}: the protocol lists no {side}Features; the protocol action is damaged")
        if not listed and features:
            raise MalformedLog(f"{location}: the protocol lists {side}Features below the version that has them")


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


def features_of(protocol: Protocol) -> set[str]:
    """Return the features that a protocol lists or implies."""
    return {*writer_features(protocol), *reader_features(protocol)}


def protected_before(protocol: Protocol, properties: Mapping[str, str]) -> int:
    """Return the version before which the log must stay as it is, 0 when none must.

    What is no number protects everything.
    """
    if _PROTECTION not in writer_features(protocol):
        return 0
    try:
        return int(properties.get(_PROTECTED_BEFORE, "0"))
    except ValueError:
        return 1 << 63
