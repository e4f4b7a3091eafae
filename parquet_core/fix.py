"""Remedies of errors and findings as values: layers above name the command, the function or the job."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Step(Enum):
    """A step that a layer above carries out; the value describes it where no layer above is loaded."""

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


OPTIMIZES = frozenset({Step.OPTIMIZE, Step.OPTIMIZE_ROWS, Step.OPTIMIZE_FULL})

# The words of a layer above for its steps, with `{place}` and `{layout}` as placeholders. `prune_assets` fills it.
WORDS: dict[Step, str] = {}


@dataclass(frozen=True, slots=True)
class Fix:
    """A remedy: text around a step. `step`: None if the text says all. `place`: the table that the step is for.

    >>> Fix("merge them: ", Step.OPTIMIZE, ", or write larger files").text({Step.OPTIMIZE: "optimize {place}"})
    'merge them: optimize TABLE, or write larger files'
    """

    before: str = ""
    step: Step | None = None
    after: str = ""
    place: str = "TABLE"

    def text(self, words: Mapping[Step, str], *, layout: str = "layout.yaml") -> str:
        """Return the remedy in the words of a tool; `layout`: the path of the layout."""
        if self.step is None:
            return self.before + self.after
        step = words.get(self.step, self.step.value).format(place=self.place, layout=layout)
        return f"{self.before}{step}{self.after}"

    def __str__(self) -> str:
        return self.text(WORDS)


LEAVE_OUT = Fix("leave the column out")
WRITE_AGAIN = Fix("the file is damaged, write it again")
