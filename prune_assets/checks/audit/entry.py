"""The audit as an entry of the registry of checks, with its codes."""

from __future__ import annotations

from parquet_core.layout.entry import Check, Code
from prune_assets.checks.audit.run import audit

_WRITE_AGAIN = (
    "Write the file again, with another version of the writer or another writer, and do not skip by this column until "
    "then. Every engine that trusts the claim loses the same rows."
)

METADATA_CONSISTENCY = Check(
    "metadata_consistency",
    "The metadata agree with the values.",
    {
        "row_group_bounds": Code("A value is outside of the bounds of its row group.", _WRITE_AGAIN),
        "page_bounds": Code("A value is outside of the bounds that the column index gives its page.", _WRITE_AGAIN),
        "log_bounds": Code("A value is outside of the bounds that the Delta log gives its file.", _WRITE_AGAIN),
        "partition_bounds": Code(
            "A file holds another value of a partition column than its directory or the log says.",
            "Move the file's rows to the partition that they belong to: write them again.",
        ),
        "row_group_null_count": Code("The number of nulls of a row group is wrong.", _WRITE_AGAIN),
        "page_null_count": Code("The number of nulls of a page is wrong.", _WRITE_AGAIN),
        "log_null_count": Code("The number of nulls that the Delta log gives a file is wrong.", _WRITE_AGAIN),
        "partition_null_count": Code(
            "A file holds nulls of a partition column where its directory or the log says a value, or the reverse.",
            "Move the file's rows to the partition that they belong to: write them again.",
        ),
        "row_group_nan_count": Code("The number of NaN of a row group is wrong.", _WRITE_AGAIN),
        "page_nan_count": Code("The number of NaN of a page is wrong.", _WRITE_AGAIN),
        "bloom_filter": Code("A bloom filter denies a value that a row of its row group holds.", _WRITE_AGAIN),
        "dictionary": Code("The dictionary of a column chunk lacks a value that one of its rows holds.", _WRITE_AGAIN),
        "page_rows": Code(
            "The page index gives a page another number of rows, or another place, than the page has: predicates skip "
            "the wrong rows.",
            _WRITE_AGAIN,
        ),
        "row_group_rows": Code("A row group claims to have no rows, and its first page holds some.", _WRITE_AGAIN),
        "log_rows": Code(
            "The Delta log gives a file another number of rows than its row groups have: counts answered from it are "
            "wrong.",
            _WRITE_AGAIN,
        ),
        "unreadable": Code(
            "Values or metadata are damaged, so claims cannot be verified.",
            "Restore the file, or write it again from its source.",
        ),
        "not_relied_on.row_group_statistics": Code(
            "Bounds or counts of a row group that plans do not trust. Nothing is lost here; where the finding is a "
            "`warn` they are wrong, and other engines may use them.",
            "Where it is a `warn`: write the file again. Else nothing.",
        ),
        "not_relied_on.page_index": Code(
            "A page index that plans do not trust, as it contradicts the file.",
            "Write the file again, so that its pages can be skipped.",
        ),
        "not_relied_on.page_bounds": Code(
            "Bounds of pages that plans do not trust, though their index is in order.",
            "Write the file again with another writer, so that its pages can be skipped.",
        ),
        "not_relied_on.bloom_filter": Code(
            "A bloom filter that plans do not trust, as its header or its place is wrong.",
            "Write the file again, so that the filter can be used.",
        ),
        "not_relied_on.contradiction": Code(
            "Two claims about the same values exclude each other, such as bounds and nulls alone. Plans trust neither.",
            "Write the file again: other engines may use the wrong one.",
        ),
    },
    audit,
    reads="values",
)
