"""prune-assets: walk 1,000 footers down to every column chunk; `seconds` is the fastest of five walks."""

import json
import sys
import time
from array import array
from pathlib import Path
from types import ModuleType

from parquet_core.format import compact, footer


def encoded_footers(directory: str) -> tuple[bytes, array, array]:
    """Return the footers of all files in one buffer, and the start and end offsets of each."""
    found = []
    for path in sorted(Path(directory).glob("*.parquet")):
        data = path.read_bytes()
        length = int.from_bytes(data[-8:-4], "little")
        found.append(data[-8 - length : -8])
    starts, stops = array("q"), array("q")
    for data in found:
        starts.append(stops[-1] if stops else 0)
        stops.append(starts[-1] + len(data))
    return b"".join(found), starts, stops


def walk(form: ModuleType, buffer: bytes, starts: array, stops: array) -> int:
    """Decode every footer down to the positions of its column chunks; return the number of chunks."""
    _, (_, chunks) = form.decode_tables(buffer, starts, stops, footer._FILE_META_DATA, 2, place=str)
    return len(chunks) // (1 + footer.CHUNK_PLACES.width)


def measure(form: ModuleType) -> None:
    """Print the seconds of the fastest walk."""
    buffer, starts, stops = encoded_footers(sys.argv[1])
    best = float("inf")
    for _ in range(5):
        started = time.perf_counter()
        chunks = walk(form, buffer, starts, stops)
        best = min(best, time.perf_counter() - started)
    print(json.dumps({"seconds": best, "chunks": chunks, "us_a_footer": best / len(starts) * 1e6}))


if __name__ == "__main__":
    assert compact.is_compiled(), "no compiler was there when this was installed"
    measure(compact)
