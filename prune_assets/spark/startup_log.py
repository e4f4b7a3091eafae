"""Output of Java while Spark starts.

The output is kept off the terminal, and reported if the start fails.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

_KEPT = 64 * 1024
_SHOWN = 400
_STDERR = 2
_NOISE = re.compile(
    r"\s*$|\s+at |\s+\.\.\. \d+ more|WARNING: |.* (WARN|INFO) |Using Spark's default log4j|JVM stacktrace:"
)


class StartupLog:
    """A pipe for Java's output.

    Inside the `with` block the output is buffered, afterwards it goes to standard error.
    """

    def __init__(self) -> None:
        self._source, self.writer = os.pipe()
        self._held = bytearray()
        self._passes = False
        self._open = True
        # A daemon thread, because Java keeps its end of the pipe open as long as Python lives.
        self._thread = Thread(target=self._pump, name="java-output", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, error_class: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_writer()
        self._passes = True
        self._held.clear()

    def text(self) -> str:
        """Return the last 64 KiB of the output, after Java has ended."""
        self._close_writer()
        self._thread.join(timeout=5)
        return self._held.decode("utf-8", errors="replace")

    def _close_writer(self) -> None:
        """Close this process's end of the pipe.

        The pipe then ends when Java does.
        """
        if self._open:
            self._open = False
            os.close(self.writer)

    def _pump(self) -> None:
        while chunk := os.read(self._source, 8192):
            if self._passes:
                with suppress(OSError):  # Java must not block if stderr is closed
                    os.write(_STDERR, chunk)
            else:
                self._held += chunk
                del self._held[:-_KEPT]
        os.close(self._source)


def cause(text: str) -> str:
    r"""Return the message of a Java or Spark error as one line, without its stack.

    >>> cause("An error occurred.\n: org.apache.spark.SparkException: Bad master\n\tat org.apache.X.y(X.java:1)\n")
    'An error occurred.: org.apache.spark.SparkException: Bad master'
    """
    lines = [line.strip() for line in text.splitlines() if not _NOISE.match(line)]
    line = "; ".join(lines).replace(".; : ", ".: ")
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
