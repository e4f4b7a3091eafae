"""The files that a MERGE opens in its target, and why it opens no fewer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from parquet_core.quantities import bytes_text, counted
from prune_assets.report.quantities import share_text


@dataclass(frozen=True, slots=True)
class FileExtent:
    """A number of files and their bytes."""

    files: int
    bytes: int

    def __str__(self) -> str:
        return f"{counted(self.files, 'file')}, {bytes_text(self.bytes)}"


class WhyNotLess(StrEnum):
    """Reasons why a MERGE opens files that hold no key of its source."""

    NO_KEY = "no equality that every match fulfils compares a column of the target with the source"
    NO_CONDITION = "ON has no condition on the target alone, so the engine opens every file"
    NO_EFFECT = "the condition on the target excludes no file"
    SWITCHED_OFF = "the clause needs rows of the target without a partner, so the engine opens every file"
    NOT_USED = "the condition does not restrict the target by itself"
    KEY_NOT_USED = "the keys of this column cannot be compared with its bounds"
    NO_STATISTICS = "files have no statistics of this column in the log"
    OVERLAP = "files overlap on this column"
    RANGES = "the keys are too many to collect"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A reason why the MERGE opens more files, and the part of the statement or the column that causes it."""

    why: WhyNotLess
    subject: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.subject}: {self.why.value}{f' ({self.detail})' if self.detail else ''}"


@dataclass(frozen=True, slots=True)
class MergeReport:
    """Files of the target that a MERGE opens.

    `version`: version of the target. None if it has no versions.
    `keys`: number of distinct keys of the source, or of their ranges. None if no key can be used.
    `keys_in_no_file`: number of keys that no file can hold: their rows are inserted. None if unknown.
    `as_written`, `with_condition`: files that the engine opens without and with the added condition.
    `holding`: files that may hold a key according to all metadata. The MERGE rewrites at most these files.
    `condition`: the condition to add to ON. None if it would save nothing.
    `statement`: the MERGE with the condition.
    `seconds`: time of the planning.
    """

    target: str
    version: int | None
    keys: int | None
    keys_in_no_file: int | None
    total: FileExtent
    as_written: FileExtent
    with_condition: FileExtent
    holding: FileExtent
    obstacles: tuple[Obstacle, ...]
    condition: str | None
    statement: str
    seconds: float

    def to_json(self) -> str:
        """Return the report as JSON of schema merge-report/1."""
        import msgspec

        document = {"schema": "merge-report/1", **msgspec.to_builtins(self)}
        return msgspec.json.format(msgspec.json.encode(document)).decode()

    def __str__(self) -> str:
        lines = [
            f"MERGE into {self.target}{'' if self.version is None else f', version {self.version}'}",
            "",
            f"Source           {self._keys()}",
            f"Target           {self.total}",
            f"Opens as written {self.as_written}{self._share(self.as_written)}",
            f"With condition   {self.with_condition}{self._share(self.with_condition)}",
            f"Rewrites at most {self.holding}{self._share(self.holding)}",
        ]
        if self.obstacles:
            lines += ["", "Why not less", *(f"  {obstacle}" for obstacle in self.obstacles)]
        if self.condition is None:
            lines += ["", "Run the statement unchanged: no condition that follows from the keys saves a file."]
        else:
            lines += ["", "Run this statement. It has the same result as long as the source has the same keys:"]
            lines += ["", self.statement.strip()]
        return "\n".join(lines)

    def _keys(self) -> str:
        if self.keys is None:
            return "no usable key"
        return counted(self.keys, "key") + (
            f", {self.keys_in_no_file:,} of them in no file" if self.keys_in_no_file else ""
        )

    def _share(self, extent: FileExtent) -> str:
        return f" ({share_text(extent.bytes, self.total.bytes)})" if self.total.bytes else ""
