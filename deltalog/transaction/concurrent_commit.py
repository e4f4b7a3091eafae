"""A concurrent commit: one of another writer that took a version first, as far as conflicts depend on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from deltalog.errors import MalformedLog
from deltalog.log.actions import Add, DomainMetadata, Line, Remove, Transaction
from deltalog.log.commit_file import read_commits
from parquet_core.storage import Traffic

if TYPE_CHECKING:
    from collections.abc import Callable

    from parquet_core.storage import DataFile


class _Added(Add, frozen=True, gc=False, rename="camel"):
    data_change: bool = True


class _Line(Line, frozen=True, gc=False):
    add: _Added | None = None


class ConcurrentCommit(NamedTuple):
    """A commit that is there. `rearranged`: files that hold no new rows; `info`: its commitInfo, maybe empty."""

    version: int
    file: DataFile
    info: dict[str, Any]
    adds: list[Add]
    rearranged: list[Add]
    removes: list[Remove]
    metadata: bool
    protocol: bool
    transactions: dict[str, Transaction]
    domains: dict[str, DomainMetadata]

    @property
    def txn_id(self) -> str | None:
        """What tells this commit from any other, where its writer said."""
        found = self.info.get("txnId")
        return found if isinstance(found, str) else None

    @property
    def blind_append(self) -> bool:
        """Whether its writer says that it added rows without having read any."""
        return self.info.get("isBlindAppend") is True

    @property
    def operation(self) -> str:
        """What its writer calls it."""
        return str(self.info.get("operation", "an unknown operation"))


_LINES = msgspec.json.Decoder(_Line)


def read_concurrent_commit(file: DataFile, version: int) -> ConcurrentCommit:
    """Read a commit; MalformedLog when it is none."""
    try:
        lines = [*next(read_commits([file], _LINES, traffic=Traffic()))]
    except MalformedLog as error:
        raise MalformedLog(f"{error}; nothing can be committed after it before it is restored") from None
    added = _each(lines, lambda line: line.add)
    return ConcurrentCommit(
        version=version,
        file=file,
        info=next((_info(line.commit_info) for line in lines if line.commit_info), {}),
        adds=[add for add in added if add.data_change],
        rearranged=[add for add in added if not add.data_change],
        removes=_each(lines, lambda line: line.remove),
        metadata=bool(_each(lines, lambda line: line.meta_data)),
        protocol=bool(_each(lines, lambda line: line.protocol)),
        transactions={txn.app_id: txn for txn in _each(lines, lambda line: line.txn)},
        domains={domain.domain: domain for domain in _each(lines, lambda line: line.domain_metadata)},
    )


def _info(said: msgspec.Raw) -> dict[str, Any]:
    """Return what a commit says of itself, nothing where it is no object: readers do not depend on it."""
    try:
        found = msgspec.json.decode(said)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _each(lines: list[_Line], pick: Callable[[_Line], Any]) -> list[Any]:
    return [found for line in lines if (found := pick(line)) is not None]
