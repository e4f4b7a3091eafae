"""Read a layout from `layout.yaml`.

A check in CI and a write can use the same file.
`python -m prune_assets.writing.layout_file` prints the JSON Schema that is checked in next to this file.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

import msgspec
import yaml

from parquet_core.errors import LayoutError, StorageFailure
from parquet_core.layout.spec import CODECS, LayoutSpec, refuse_unknown
from parquet_core.printable import redacted, shown
from parquet_core.storage.remote import find_file
from parquet_core.storage.stores import is_remote
from prune_assets.report.output import description_of

LayoutSource: TypeAlias = LayoutSpec | Mapping[str, Any] | str | PathLike[str]

_MOST_BYTES = 256 << 10
_KEYS = tuple(field.name for field in fields(LayoutSpec))
_TYPE = re.compile(r"`([\w |]+)`")
# Names of msgspec types in the terms of YAML, for messages.
_IN_YAML = {
    "array": "a list",
    "object": "a mapping",
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}


def load_layout(layout: LayoutSource) -> LayoutSpec:
    r"""Return a layout from a path, a mapping of keys, or a LayoutSpec.

    Every `layout=` parameter accepts all three, so one file serves a write, its check, Dagster, Airflow and CI:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import prune_assets as pr
    >>> path = Path(tempfile.mkdtemp(), "layout.yaml")
    >>> written = path.write_text("sort_by: [day, id]\nbloom: {id: 0.01}\n")
    >>> layout = pr.load_layout(path)
    >>> layout.sort_by, layout.bloom
    (('day', 'id'), {'id': 0.01})
    >>> pr.load_layout({"sort_by": ["day", "id"], "bloom": {"id": 0.01}}) == layout
    True
    >>> pr.load_layout({"sortby": ["day"]})
    Traceback (most recent call last):
    parquet_core.errors.LayoutError: layout: unknown key 'sortby'; did you mean 'sort_by'?

    Absent keys have the defaults of `LayoutSpec`. A relative path starts at the working directory.

    Raises LayoutError, in one line with file and key, for invalid YAML, an unknown or repeated key, and a value of the
    wrong type or out of range.
    """
    if isinstance(layout, LayoutSpec):
        return layout
    if isinstance(layout, Mapping):
        return _layout_of(layout, "layout")
    if not isinstance(layout, str | PathLike):
        raise LayoutError(f"layout = {shown(layout)}: give the path of a layout.yaml, its keys, or a LayoutSpec")
    if is_remote(str(layout)):
        raise LayoutError(f"{redacted(str(layout))}: a layout is a local file; copy it to this machine")
    path = Path(layout)
    return _layout_of(_mapping(path), str(path))


@contextmanager
def naming_layout_file(layout: LayoutSource | None) -> Iterator[None]:
    """Prefix the message of a LayoutError with the layout's path.

    The message is kept if the layout was not given by path.
    """
    try:
        yield
    except LayoutError as error:
        if isinstance(layout, str | PathLike):
            raise LayoutError(f"{layout}: {error}") from error
        raise


def refuse_unknown_keys(values: Mapping[Any, Any]) -> None:
    """Raise LayoutError for unknown layout keys; ignores the values."""
    with naming_layout_file("layout"):
        refuse_unknown(values, _KEYS)


def _layout_of(values: Mapping[Any, Any], location: str) -> LayoutSpec:
    with naming_layout_file(location):
        refuse_unknown(values, _KEYS)
        return LayoutSpec(**{key: _value(key, value) for key, value in values.items()})


def layout_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of `layout.yaml`, for editors and for CI."""
    _, definitions = msgspec.json.schema_components([LayoutSpec])
    schema = definitions[LayoutSpec.__name__]
    schema["description"] = description_of(schema["description"])
    for option in _options(schema):
        if option.get("type") == "integer":
            option["minimum"] = 1
    schema["properties"]["bloom"]["additionalProperties"] |= {"exclusiveMinimum": 0, "exclusiveMaximum": 1}
    schema["properties"]["compression"]["enum"] = list(CODECS)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "minProperties": 1,
        "additionalProperties": False,
    }


def schema_text() -> str:
    """Return the text of the JSON Schema file."""
    return json.dumps(layout_schema(), indent=2) + "\n"


def _options(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [option for part in schema["properties"].values() for option in part.get("anyOf", [part])]


def _mapping(path: Path) -> dict[Any, Any]:
    try:
        yaml_text = _text(path)
        _refuse_repeated_keys(yaml.compose(yaml_text, Loader=_Loader))
        values = yaml.load(yaml_text, Loader=_Loader)  # noqa: S506 - subclass of SafeLoader
    except OSError as error:
        raise LayoutError(f"{path}: cannot be read ({error.strerror}); {_similar_file_hint(path)}") from error
    except (
        yaml.YAMLError,
        RecursionError,
        ValueError,
        ArithmeticError,
        LookupError,
        TypeError,
        AttributeError,
    ) as error:
        raise LayoutError(f"{path}{_position(error)}: not valid YAML ({_problem(error)})") from error
    if isinstance(values, list):
        raise LayoutError(f"{path}: holds a list, and a layout has keys with values, e.g. `sort_by: [day]`")
    if not isinstance(values, dict) or not values:
        raise LayoutError(f"{path}: holds no keys; write at least `sort_by: [column]`")
    return values


class _Loader(yaml.SafeLoader):
    """YAML loader that refuses aliases: a few nested aliases can expand to millions of values."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases (*name) are not read: write the value itself", mark)
        return super().compose_node(parent, index)


def _text(path: Path) -> bytes:
    try:
        file = find_file(str(path))
    except StorageFailure as error:
        raise LayoutError(f"{error}, or name a layout file") from None
    if file is not None and file.size > _MOST_BYTES:
        raise LayoutError(f"{path}: {file.size:,} bytes are too large for a layout; give a layout file")
    return path.read_bytes()


def _refuse_repeated_keys(node: yaml.Node | None) -> None:
    """Refuse repeated keys, for which YAML 1.1 loaders silently take the last value."""
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, value in node.value:
        if str(key.value) in seen:
            raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key.value!r}", key.start_mark)
        seen.add(str(key.value))
        _refuse_repeated_keys(value)


def _value(key: object, value: object) -> Any:
    name = str(key)
    if name == "bloom" and isinstance(value, dict):
        return {
            _typed(column, str, f"bloom[{shown(column)}]"): _typed(p, float, f"bloom[{shown(column)}]")
            for column, p in value.items()
        }
    if name == "dictionary" and isinstance(value, dict):
        return {
            _typed(column, str, f"dictionary[{shown(column)}]"): _typed(on, bool, f"dictionary[{shown(column)}]")
            for column, on in value.items()
        }
    return _typed(value, get_type_hints(LayoutSpec)[name], name)


def _typed(value: object, wanted: Any, location: str) -> Any:
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        problem = _TYPE.sub(_in_yaml, str(error)).replace("$", location)
        problem = problem.replace("`", "")
        raise LayoutError(
            f"{location} = {shown(value)}: {problem[0].lower()}{problem[1:]}{_remedy(value, wanted)}"
        ) from error


def _in_yaml(match: re.Match[str]) -> str:
    return " or ".join(_IN_YAML.get(type_name, type_name) for type_name in match[1].split(" | "))


def _remedy(value: object, wanted: Any) -> str:
    if isinstance(value, str) and _is_number(value):
        return "; YAML reads this as text: write it in full, without quotes, e.g. 0.01 or 20000"
    if isinstance(value, str) and (wanted is int or int in get_args(wanted)):
        return "; write the number in full, without a unit, e.g. 134217728"
    if get_origin(wanted) is Sequence and not isinstance(value, list):
        return "; give a list of column names, e.g. [day, id]"
    if get_origin(wanted) is Mapping:
        return "; give columns with their values, e.g. {id: 0.01}" if float in get_args(wanted) else ""
    if wanted is str and isinstance(value, bool):
        return "; YAML reads yes, no, on and off as booleans: quote it"
    return ""


def _is_number(text: str) -> bool:
    try:
        float(text.replace("_", ""))
    except ValueError:
        return False
    return True


def _similar_file_hint(path: Path) -> str:
    """Return a hint that names a similar YAML file nearby."""
    beside: list[str] = []
    with suppress(OSError):  # the directory is missing or cannot be listed
        beside = [file.name for file in path.parent.iterdir() if file.suffix in {".yaml", ".yml"}]
    close = get_close_matches(path.name, beside, n=1)
    return f"did you mean {path.with_name(close[0])}?" if close else "name a layout file, e.g. layout.yaml"


def _position(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    return f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""


def _problem(error: Exception) -> str:
    return str(getattr(error, "problem", None) or error).replace("\n", " ")


if __name__ == "__main__":
    sys.stdout.write(schema_text())
