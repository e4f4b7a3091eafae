"""Decoded values of Parquet files.

Claims of a file are checked against its bytes before Arrow decodes the values. All code that needs decoded values goes
through this package. It imports `format` and `storage`; only `parquet_core.layout` and packages above `parquet_core`
may import it.
"""

from parquet_core.values.arrow_footer import Footer, read_arrow_footers, reading
from parquet_core.values.pages import values_of_page
from parquet_core.values.reader import ValueReader, open_values

__all__ = ["Footer", "ValueReader", "open_values", "read_arrow_footers", "reading", "values_of_page"]
