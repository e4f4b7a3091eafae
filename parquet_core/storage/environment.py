"""Environment variables of stores, checked because some values make the library panic."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from parquet_core.errors import WrongUse
from parquet_core.storage.stores import STORES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.storage.stores import Store

_PREFIXES = tuple(prefix for store in STORES for prefix in store.variables)
_CHANGING = RLock()
# Client settings. The variable of a setting is the prefix of the store plus the name in upper case.
_CLIENT_SETTINGS = (
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "default_content_type",
    "http1_only",
    "http2_keep_alive_interval",
    "http2_keep_alive_timeout",
    "http2_keep_alive_while_idle",
    "http2_max_frame_size",
    "http2_only",
    "pool_idle_timeout",
    "pool_max_idle_per_host",
    "proxy_url",
    "proxy_ca_certificate",
    "proxy_excludes",
    "randomize_addresses",
    "read_timeout",
    "timeout",
    "user_agent",
)


def store_variables() -> dict[str, str]:
    """Return the environment variables of all stores, sorted by name."""
    return dict(sorted(item for item in os.environ.items() if item[0].upper().startswith(_PREFIXES)))


@contextmanager
def without_blanks() -> Iterator[None]:
    """Hide blank variables of stores while a library reads the environment.

    A blank variable counts as not set.
    """
    with _CHANGING:
        blank = {name: value for name, value in store_variables().items() if not value.strip()}
        try:
            for name in blank:
                del os.environ[name]
            yield
        finally:
            os.environ.update(blank)


def client_settings(store: Store) -> dict[str, str]:
    """Return the client settings in the environment variables of a store."""
    prefix = store.variables[0]
    names = {name: f"{prefix}{name.upper()}" for name in _CLIENT_SETTINGS}
    return {name: value for name, variable in names.items() if (value := os.environ.get(variable, "").strip())}


def endpoint_of(store: Store) -> tuple[str, str] | None:
    """Return the endpoint that the environment sets, and the name of the variable; None if not set."""
    return next(((value, name) for name in store.endpoints if (value := os.environ.get(name, "").strip())), None)


def check_variables(location: str, store: Store) -> None:
    """Refuse environment variables whose values the library of a store cannot use.

    Raises WrongUse, which names the first invalid variable. Invalid are a URL without a scheme or host, a control
    character in a credential or region, a missing file, and one variable of a pair without the other.
    """
    environment = {name: value for name, value in store_variables().items() if value.strip()}
    asks = not any(name in environment for name in store.keys)
    for name in (*store.endpoints, *(store.identity_urls if asks else ())):
        if name in environment and not _is_url(environment[name]):
            raise WrongUse(f"{location}: {name}={environment[name]} is not a URL; write {_as_url(environment[name])}")
    for name in store.header_variables:
        if not environment.get(name, "").isprintable():
            raise WrongUse(
                f"{location}: {name} has a line break or another control character; set it without this character"
            )
    for name in store.identity_files if asks else ():
        if name in environment:
            _check_file(location, name, environment[name])
    missing = [name for name in store.pair if name not in environment]
    if missing and len(missing) < len(store.pair):
        (given,) = {*store.pair} - {*missing}
        raise WrongUse(f"{location}: {given} is set without {missing[0]}; set {missing[0]} too, or unset {given}")


def _is_url(value: str) -> bool:
    """Return True for an HTTP URL with a host that needs no encoding.

    A port must be valid if given.
    """
    try:
        parts = urlsplit(value)
        return (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
            and value.isascii()
            and value.isprintable()
            and not set(value) & set(' "<>\\^`{|}')
        )
    except ValueError:
        return False


def _as_url(value: str) -> str:
    host = value.strip().partition("://")[2 if "://" in value else 0].strip("/ ")
    for scheme in ("http", "https"):
        if not _is_url(f"{scheme}://{host}"):
            return "http://HOST:PORT or https://HOST"
    return f"http://{host} or https://{host}"


def _check_file(location: str, name: str, path: str) -> None:
    file = Path(path)
    if file.is_dir():
        raise WrongUse(f"{location}: {name}={path}: is a directory; name a file")
    if not file.exists():
        raise WrongUse(f"{location}: {name}={path}: no such file; check the path, or unset {name}")
    if not os.access(file, os.R_OK):
        raise WrongUse(f"{location}: {name}={path}: may not be read; check its permissions")


def variables_in(message: str, store: Store) -> list[str]:
    """Return the variables of a store whose values an error message quotes."""
    return [
        name
        for name, value in store_variables().items()
        if name.upper().startswith(store.variables)
        and (shown := " ".join(value.split()))
        and any(quoted in message for quoted in (f'"{shown}"', f"'{shown}'", f": {shown}.", f" from {shown}:"))
    ]
