"""State of a table in one version: the parsed contents of its log except files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltalog.errors import MalformedLog
from deltalog.table.features import check_readable, features_of, writer_features
from deltalog.table.properties import TableProperties
from deltalog.table.schema import read_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltalog.log.actions import Metadata, Protocol, Transaction
    from deltalog.log.listing import LogListing, Segment
    from deltalog.log.replay import Tail
    from deltalog.table.schema import TableSchema
    from parquet_core.storage import Traffic

_NO_COLUMNS = '{"type":"struct","fields":[]}'


@dataclass(frozen=True, slots=True)
class TableState:
    """Contents of a log in one version, except files.

    `transactions`: last transaction of each application, by application id.
    `domains`: configurations by domain.
    """

    protocol: Protocol
    metadata: Metadata
    schema: TableSchema
    properties: TableProperties
    transactions: Mapping[str, Transaction]
    domains: Mapping[str, str]

    @property
    def writer_features(self) -> tuple[str, ...]:
        """The features that a writer must support."""
        return writer_features(self.protocol)

    @property
    def features(self) -> set[str]:
        """The features that readers and writers must support."""
        return features_of(self.protocol)


def new_state(protocol: Protocol, metadata: Metadata, *, location: str) -> TableState:
    """Return the state of a table with only these actions. Raises as `read_schema`."""
    properties = TableProperties.of(metadata)
    schema = read_schema(
        _NO_COLUMNS if metadata.schema_string is None else metadata.schema_string,
        partition_columns=metadata.partition_columns,
        mapping=properties.column_mapping,
        location=location,
    )
    return TableState(protocol, metadata, schema, properties, {}, {})


def replayed_state(tail: Tail, location: str) -> TableState:
    """Return the state of a replayed log.

    Raises UnsupportedTable, and MalformedLog if an action is missing.
    """
    if tail.protocol is None:
        raise MalformedLog(f"{location}: the log has no protocol action; the log is incomplete")
    check_readable(tail.protocol, location=location)
    if tail.metadata is None:
        raise MalformedLog(f"{location}: the log has no metaData action; the log is incomplete")
    domains = {name: domain.configuration for name, domain in tail.domains.items() if not domain.removed}
    state = new_state(tail.protocol, tail.metadata, location=location)
    return replace(state, transactions=tail.transactions, domains=domains)


def state_after(
    before: TableState, protocol: Protocol | None, metadata: Metadata | None, *, location: str
) -> TableState:
    """Return the state after a commit with these actions. Raises as `read_schema`."""
    after = before if protocol is None else replace(before, protocol=protocol)
    if metadata is None:
        return after
    now = new_state(after.protocol, metadata, location=location)
    return replace(after, metadata=metadata, schema=now.schema, properties=now.properties)


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A version of a table.

    `segment`: log files that make the version.
    """

    table: str
    version: int
    state: TableState
    listing: LogListing
    segment: Segment
    traffic: Traffic

    @property
    def protocol(self) -> Protocol:
        """The features that readers and writers must support."""
        return self.state.protocol

    @property
    def metadata(self) -> Metadata:
        """The `metaData` action."""
        return self.state.metadata

    @property
    def schema(self) -> TableSchema:
        """The schema of the table."""
        return self.state.schema

    @property
    def properties(self) -> TableProperties:
        """The properties that have a value."""
        return self.state.properties

    @property
    def transactions(self) -> Mapping[str, Transaction]:
        """The last transaction of each application, by application id."""
        return self.state.transactions

    @property
    def domains(self) -> Mapping[str, str]:
        """Configurations by domain."""
        return self.state.domains
