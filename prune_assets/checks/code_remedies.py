"""General remedies for the codes of `parquet_core`, if a remedy names a command or a function of this package."""

from __future__ import annotations

_SORT = (
    "Write the table with `prune write` (or `prune_assets.write`), or let `prune optimize` rewrite the files that "
    "overlap. A job of your own sorts within partitions by the key just before it writes."
)
CODE_REMEDIES = {
    "bloom_filter.absent": (
        "As the finding says, for the writer of the file; `prune write` requests it. Where the dictionary answers "
        "the question, the column can be taken out of `bloom`."
    ),
    "overlap.files": _SORT,
    "overlap.row_groups": _SORT,
    "partitions.columns": "Write the table again with `prune write`, or change `partition_by` of the layout.",
    "order.row_groups": _SORT,
    "order.pages": f"{_SORT} Where the column index is missing, see to `column_index.absent` first.",
    "order.rows": (
        "Let `prune optimize TABLE --layout layout.yaml --rows` read the key and rewrite the files whose rows are "
        "not in order, or write the table with `prune write` (or `prune_assets.write`). A job of your own sorts "
        "within partitions by the key just before it writes."
    ),
    "clustering.ineffective": (
        "Put the rows along the curve: `prune optimize --full`, or `prune write`. Where that was done, the columns "
        "have too few values or the table too few row groups: choose columns with more values, or `sort_by`."
    ),
    "size.row_groups": "Write with `parquet.block.row.count.limit` (Spark 4.1 or newer), or through `prune write`.",
    "size.pages": "Write with `parquet.page.row.count.limit`, or through `prune write`.",
}
