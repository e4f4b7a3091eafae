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
# Seconds without an answer after which a line names the endpoint.
SILENT_SECONDS = 5.0
_log = logging.getLogger(__name__)


@dataclass
class Connection:
    """A store with a short patience, and what makes the same store with the whole patience.

    A wrong endpoint shows in the first request, which fails within seconds. A store that has answered may be out of
    order for a while later on, for which it is worth to wait. To make a store takes 50 ms, so the second is made when
    it is needed.
    """

    place: str
    hasty: ObjectStore
    make_patient: Callable[[], ObjectStore]
    answered: bool = False
    _named: bool = False

    @cached_property
    def patient(self) -> ObjectStore:
        """The store that repeats requests for a minute."""
        return self.make_patient()

    def request(self, send: Callable[[ObjectStore], Answer]) -> Answer:
        """Make a request; repeat it for a minute where a store that has answered does not, or asks to come back."""
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
            line = f"{self.place}: waiting for an answer from {server_of(self.place)}"
            _log.warning("%s", one_line(redacted(line)))
