"""The writers of the matrix: releases, their requirements, and scripts that write recipes.

A release is added by one line. `requirements` are installed without their own dependencies, each once per runtime, so
they name all packages that a script imports.
"""

from __future__ import annotations

from typing import NamedTuple

NODE = "node"


class Release(NamedTuple):
    """`runtime`: the version of Python that its wheels are for, or NODE; None for the environment of the tests."""

    library: str
    version: str
    script: str
    runtime: str | None
    requirements: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.library} {self.version}"


_NUMPY = {"3.7": ("numpy==1.21.6", "six==1.16.0"), "3.10": ("numpy==1.26.4", "six==1.16.0")}
_PANDAS = {
    "3.7": (*_NUMPY["3.7"], "pandas==1.3.5", "python-dateutil==2.9.0", "pytz==2024.1"),
    "3.10": (*_NUMPY["3.10"], "pandas==2.0.3", "python-dateutil==2.9.0", "pytz==2024.1", "tzdata==2024.1"),
}
_FASTPARQUET = {
    "3.7": (*_PANDAS["3.7"], "cramjam==2.6.2", "fsspec==2023.1.0", "packaging==23.0"),
    "3.10": (*_PANDAS["3.10"], "cramjam==2.7.0", "fsspec==2023.6.0", "packaging==23.0"),
}
_DELTA = {
    "3.7": (*_NUMPY["3.7"], "pyarrow==12.0.1", "typing-extensions==4.7.1"),
    "3.10": (*_NUMPY["3.10"], "pyarrow==17.0.0", "typing-extensions==4.12.2"),
}


def _releases(library, python, *versions, needs=()):
    """`needs`: further requirements, where `{}` is replaced by the version of the release."""
    script = f"write_{library}.py"
    return tuple(
        Release(library, version, script, python, (f"{library}=={version}", *(each.format(version) for each in needs)))
        for version in versions
    )


def _installed(*libraries):
    return tuple(Release(library, "installed", f"write_{library}.py", None) for library in libraries)


def _hyparquet(*versions):
    return tuple(
        Release("hyparquet-writer", version, "write_hyparquet.mjs", NODE, (f"hyparquet-writer@{version}",))
        for version in versions
    )


INSTALLED = _installed("pyarrow", "polars", "fastparquet", "duckdb", "deltalake", "datafusion")
RELEASES = (
    *INSTALLED,
    *_releases(
        "pyarrow",
        "3.7",
        *("0.14.0", "0.15.1", "0.16.0", "0.17.1", "1.0.1", "2.0.0", "3.0.0", "4.0.1"),
        *("5.0.0", "6.0.1", "7.0.0", "8.0.0", "9.0.0", "10.0.1", "11.0.0", "12.0.1"),
        needs=_NUMPY["3.7"],
    ),
    *_releases("pyarrow", "3.10", "13.0.0", "15.0.2", "19.0.1", "23.0.1", needs=_NUMPY["3.10"]),
    *_releases("polars", "3.7", "0.13.62", "0.16.18", "0.18.4", needs=("typing-extensions==4.7.1",)),
    *_releases("polars", "3.10", "0.20.31", "1.0.0", "1.8.2", "1.20.0", "1.30.0"),
    *_releases("polars", "3.10", "1.35.2", "1.38.1", "1.44.2", "2.0.0", needs=("polars-runtime-32=={}",)),
    *_releases("fastparquet", "3.7", "0.8.1", needs=_FASTPARQUET["3.7"]),
    *_releases("fastparquet", "3.10", "2022.12.0", "2023.4.0", "2024.2.0", "2024.11.0", needs=_FASTPARQUET["3.10"]),
    *_releases("duckdb", "3.7", "0.2.9", "0.3.4", "0.6.1", "0.8.1", "0.9.2", needs=_NUMPY["3.7"]),
    *_releases("duckdb", "3.10", "1.0.0", "1.1.3", "1.2.2", "1.3.2", "1.4.4", needs=_NUMPY["3.10"]),
    *_releases("chdb", "3.10", "2.1.1", "3.0.1", "3.5.0", "3.7.2", needs=(*_PANDAS["3.10"], "pyarrow==15.0.2")),
    *_releases("deltalake", "3.7", "0.6.4", "0.10.2", needs=_DELTA["3.7"]),
    *_releases("deltalake", "3.10", "0.17.4", "0.20.2", "0.25.5", needs=(*_DELTA["3.10"], "pyarrow-hotfix==0.6")),
    *_releases("datafusion", "3.10", "35.0.0", "43.1.0", "50.1.0", needs=_DELTA["3.10"]),
    *_hyparquet("0.9.1", "0.13.1", "0.15.7", "0.17.0"),
)
