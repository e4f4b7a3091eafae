"""A table whose layout is advised, and perhaps changed without being asked."""

from typing import Annotated, Any, Self

import dagster as dg
from pydantic import Field, field_validator, model_validator

from parquet_core.layout.spec import LayoutSpec
from parquet_core.quantities import bytes_of
from prune_assets.components.fields import layout_of
from prune_assets.dagster.optimizing import MaintainedTable
from prune_assets.layout_file import load_layout


def _layout(context: dg.ResolutionContext, given: Any) -> LayoutSpec | None:
    return None if given is None else layout_of(context, given)


def _budget(context: dg.ResolutionContext, given: Any) -> int | None:
    size = context.resolve_value(given)
    try:
        return None if size is None else bytes_of(str(size))
    except ValueError as error:
        raise ValueError(f"budget: {error}") from None


class AdvisedTable(dg.Model, dg.Resolvable):
    """A table whose layout is advised."""

    asset: Annotated[dg.ResolvedAssetKey, dg.Resolver.default(description="The key of its asset.")]
    table: Annotated[
        str, dg.Resolver.default(description="Where the table is: an address, or a path below the project.")
    ]
    max_share: Annotated[
        float,
        dg.Resolver.default(description="The check warns when another layout reads less than this share of the bytes."),
        Field(gt=0, le=1),
    ] = 0.5
    automatic: Annotated[
        bool,
        dg.Resolver.default(
            description="A job optimizes the table, and changes its layout where advice is sure and saves half of the "
            "bytes, at most once in 30 days; it needs `layout`, `budget` and a resource `spark`."
        ),
    ] = False
    layout: Annotated[
        LayoutSpec | None,
        dg.Resolver(
            _layout,
            model_field_type=str | dict[str, Any] | None,
            description="The layout that an automatic table has until advice changes it: keys, or the path of a file.",
        ),
    ] = None
    budget: Annotated[
        int | None,
        dg.Resolver(
            _budget,
            model_field_type=str | int | None,
            description="The size of files that a run of the job rewrites at most, e.g. 200GiB.",
        ),
    ] = None

    @field_validator("layout", mode="before")
    @classmethod
    def _of_python(cls, given: Any) -> LayoutSpec | None:
        return None if given is None else load_layout(given)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.automatic and (self.layout is None or self.budget is None):
            raise ValueError("automatic: give the layout that the table has now, and a budget, e.g. 200GiB")
        if not self.automatic and (self.layout is not None or self.budget is not None):
            raise ValueError("layout and budget are those of a table that changes by itself: give automatic: true")
        return self

    def maintained(self, location: str, workload: str, latest: int | None) -> MaintainedTable | None:
        """Return the table as a job maintains it; None where it is not automatic."""
        if self.layout is None:
            return None
        return MaintainedTable(
            self.asset,
            location,
            self.layout,
            workload=workload,
            latest=latest,
            budget=self.budget,
            automatic=True,
        )
