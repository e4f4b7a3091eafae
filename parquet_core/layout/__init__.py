"""Proof of a layout from the written bytes: one rule a file, each a function that returns findings.

The public names resolve on first use: a LayoutSpec is checked where neither numpy nor pyarrow is wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_core.public_names import on_first_use

if TYPE_CHECKING:
    from parquet_core.layout.checks import check as check
    from parquet_core.layout.checks import check_index as check_index
    from parquet_core.layout.spec import Finding as Finding
    from parquet_core.layout.spec import LayoutSpec as LayoutSpec
    from parquet_core.layout.spec import Severity as Severity
else:
    __all__, __getattr__, __dir__ = on_first_use(__name__)
