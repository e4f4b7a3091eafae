"""Remedies of errors and findings; layers above name the command, function or job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Step(Enum):
    """A step of a remedy that a layer above carries out.

    The value is the text of the step if no such layer is loaded.
    """

    OPTIMIZE = "rewrite the files that break the layout"
    OPTIMIZE_ROWS = "rewrite the files whose rows break the layout"
    OPTIMIZE_FULL = "rewrite all files with the layout"
    WRITE_TABLE = "write a new table with the layout"
    FINISH_WRITE = "the program that began it"
    WRITE_DELTA = "write a new Delta table"
    LOAD_LAYOUT = "load a file first"
    EVALUATE_IN_SPARK = "let Spark evaluate it"
    READ_IN_SPARK = "read it with Spark"
    STAY_IN_PARTITIONS = "filter its rows out, or widen the condition on the partition columns"
    READ_ROWS = "rows=True"
    INSPECT = "the metadata of these files"


class Setting(Enum):
    """A setting of writers at the end of a remedy.

    The value is its text for plain Parquet files. Table formats with settings of their own have other texts, with
    `{value}` as the placeholder.
    """

    PAGE_ROWS = ", or write with parquet.page.row.count.limit={value}"
    BLOOM_FILTER = ", or write with parquet.bloom.filter.enabled#{value}=true; the spelling after # is case-sensitive"
    NO_DICTIONARY = ", or write with parquet.enable.dictionary#{value}=false"
    STATISTICS = ": without parquet.column.statistics.enabled#NAME=false"
    PAGE_INDEX = ", or with write_page_index=True in pyarrow"
    LARGE_ROW_GROUPS = ", or pass min_rows_per_group=100_000 to write_to_dataset or write_dataset of pyarrow"
    SMALL_ROW_GROUPS = "LayoutSpec(sort_by=.., row_group_rows=.., page_rows=..)"


OPTIMIZES = frozenset({Step.OPTIMIZE, Step.OPTIMIZE_ROWS, Step.OPTIMIZE_FULL})

# Text of each step in the layer above, with `{place}` and `{layout}` as placeholders. `prune_assets` adds the texts.
WORDS: dict[Step, str] = {}


@dataclass(frozen=True, slots=True)
class Fix:
    """A remedy: text around a step, and optionally a writer setting.

    `step`: None if the text is complete without a step.
    `place`: the table to apply the step to.
    `setting`: the setting of a writer that ends the remedy, with `value`; None if the text is complete without a
    setting.

    >>> Fix("merge them: ", Step.OPTIMIZE, ", or write larger files").text({Step.OPTIMIZE: "optimize {place}"})
    'merge them: optimize TABLE, or write larger files'
    >>> str(Fix("rewrite them", setting=Setting.PAGE_ROWS, value=100))
    'rewrite them, or write with parquet.page.row.count.limit=100'
    """

    before: str = ""
    step: Step | None = None
    after: str = ""
    place: str = "TABLE"
    setting: Setting | None = None
    value: object = ""

    def text(self, words: Mapping[Step, str], *, layout: str = "layout.yaml") -> str:
        """Return the remedy as text.

        `words`: a tool's text for each step. `layout`: the layout's path.
        """
        step = "" if self.step is None else words.get(self.step, self.step.value)
        return f"{self.before}{step.format(place=self.place, layout=layout)}{self.with_setting({}).after}"

    def with_setting(self, setting_texts: Mapping[Setting, str]) -> Fix:
        """Return the remedy with its setting replaced by the text of a table format."""
        if self.setting is None:
            return self
        setting_text = setting_texts.get(self.setting, self.setting.value).format(value=self.value)
        return replace(self, after=f"{self.after}{setting_text}", setting=None)

    def __str__(self) -> str:
        return self.text(WORDS)


LEAVE_OUT = Fix("leave the column out")
WRITE_AGAIN = Fix("the file is damaged, write it again")
