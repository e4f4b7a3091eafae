"""Check the layout of written files, one check per module.

The public names resolve on first use, because some callers validate a LayoutSpec without numpy and pyarrow.
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
