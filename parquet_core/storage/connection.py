"""Requests to a store: the first one fails within seconds if no server answers."""

from __future__ import annotations

import logging
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from threading import Timer
from typing import TYPE_CHECKING, TypeVar

from obstore.exceptions import BaseError, GenericError

from parquet_core.printable import one_line, redacted
from parquet_core.storage.failures import is_passing, is_without_answer, server_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from obstore.store import ObjectStore

Answer = TypeVar("Answer")
# Seconds without an answer after which a warning names the endpoint.
SILENT_SECONDS = 5.0
_log = logging.getLogger(__name__)


@dataclass
class Connection:
    """An object store with short retries, which can fall back to long retries.

    A wrong endpoint fails on the first request, within seconds. A store that has answered before may be unavailable for
    a while, and then waiting is worthwhile. Creating a store takes 50 ms, so `make_patient` creates the store with long
    retries only when it is needed.
    """

    location: str
    hasty: ObjectStore
    make_patient: Callable[[], ObjectStore]
    answered: bool = False
    _named: bool = False

    @cached_property
    def patient(self) -> ObjectStore:
        """The store that retries requests for a minute."""
        return self.make_patient()

    def request(self, send: Callable[[ObjectStore], Answer]) -> Answer:
        """Send a request, and retry it for up to a minute on temporary failures.

        A failure is temporary if the server responds with 5xx or 429, or if a store that answered before does not
        answer. If the store has never answered, the failure is raised at once.
        """
        try:
            with nullcontext() if self.answered else self._naming_the_endpoint():
                answer = send(self.hasty)
        except GenericError as error:
            silent = is_without_answer(str(error))
            if silent and not self.answered:
                raise
            self.answered = True
            if not silent and not is_passing(str(error)):
                raise
        except (BaseError, OSError):
            self.answered = True
            raise
        else:
            self.answered = True
            return answer
        return send(self.patient)

    @contextmanager
    def _naming_the_endpoint(self) -> Iterator[None]:
        timer = Timer(SILENT_SECONDS, self._name)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _name(self) -> None:
        if not self._named:
            self._named = True
            line = f"{self.location}: waiting for an answer from {server_of(self.location)}"
            _log.warning("%s", one_line(redacted(line)))
