"""The one door to decoded values: what a file claims is checked against its bytes, then Arrow decodes it.

May be imported by `parquet_core.layout` and by what lies above `parquet_core`; imports `format` and `storage`.
"""

from parquet_core.values.arrow_footer import Footer, read_arrow_footers, reading
from parquet_core.values.pages import values_of_page
from parquet_core.values.reader import ValueReader, open_values

__all__ = ["Footer", "ValueReader", "open_values", "read_arrow_footers", "reading", "values_of_page"]
