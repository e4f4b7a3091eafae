"""Actions with all that the protocol has for them: what is written again must not lose what reading passes over."""

from __future__ import annotations

import msgspec

from deltalog.log.actions import (
    Add,
    CheckpointMetadata,
    DomainMetadata,
    Line,
    Metadata,
    Protocol,
    Remove,
    Sidecar,
    Transaction,
)


class FullAdd(Add, frozen=True, gc=False, rename="camel"):
    """A file that is part of the table."""

    data_change: bool = True
    tags: dict[str, str | None] | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None


class FullRemove(Remove, frozen=True, gc=False, rename="camel"):
    """A file that is no longer part of the table."""

    data_change: bool = True
    extended_file_metadata: bool | None = None
    partition_values: dict[str, str | None] | None = None
    size: int | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None


class FullLine(Line, frozen=True, gc=False):
    """A line of a commit or of a checkpoint in JSON."""

    add: FullAdd | None = None
    remove: FullRemove | None = None
    meta_data: Metadata | None = msgspec.field(default=None, name="metaData")
    protocol: Protocol | None = None
    txn: Transaction | None = None
    domain_metadata: DomainMetadata | None = msgspec.field(default=None, name="domainMetadata")
    checkpoint_metadata: CheckpointMetadata | None = msgspec.field(default=None, name="checkpointMetadata")
    sidecar: Sidecar | None = None
