"""The pages that are made from the code: names, findings, keys of a layout, commands."""

from __future__ import annotations

import json
import re
from importlib import import_module
from inspect import isclass, isroutine
from itertools import pairwise
from pathlib import Path
from typing import Any

from prune_assets.finding_codes import ADVICE, GROUPS, Code, Group

# By page: what it is about, and the modules whose public names stand on it.
API = {
    "prune_assets": ("Plan, read, write and prove", ["prune_assets"]),
    "dagster": ("In Dagster", ["prune_assets.dagster"]),
    "components": ("Components for dg", ["prune_assets.components"]),
    "deltalog": ("Delta logs", ["deltalog"]),
    "parquet_core": (
        "Parquet files",
        ["parquet_core.layout", "parquet_core.inspection", "parquet_core.bloom"],
    ),
    "errors": ("Errors", ["parquet_core.errors", "deltalog.errors", "prune_assets.errors"]),
}
# At the beginning of a line, or of a sentence: "`rows`: ", "`page_rows`, `row_group_rows`: "
_ARGUMENT = re.compile(r"(?:^|(?<=[.;] ))`\w+`(?:, `\w+`)*(?: None)?: ", re.MULTILINE)
_WORDS = {
    "array": "a list of columns",
    "object": "a value for each column",
    "integer": "a whole number",
    "string": "a text",
}
_ABOUT_CODES = """\
A code is stable: filter by it in CI and in alerts. The message of a finding says what was found in your table and
where; its remedy names the column or the option. Here stands what a code means."""
_SCHEMA = Path(__file__).parents[1] / "prune_assets" / "layout.schema.json"


def write(directory: Path) -> None:
    """Write every page below a directory; those that did not change keep their time, so that Sphinx reads few."""
    directory.mkdir(exist_ok=True)
    for name, text in pages().items():
        path = directory / name
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)


def pages() -> dict[str, str]:
    """Return the pages by their file name."""
    told: set[int] = set()
    api = {f"{name}.rst": _api_page(title, modules, told) for name, (title, modules) in API.items()}
    return {**api, "codes.md": codes_page(), "layout.md": layout_page(), "commands.rst": commands_page()}


def _api_page(title: str, modules: list[str], told: set[int]) -> str:
    """Return the page of the public names of modules, in reStructuredText; `told`: the objects of pages before it."""
    return "\n".join([*_heading(title, "="), *(line for module in modules for line in _names_of(module, told))])


def _names_of(module: str, told: set[int]) -> list[str]:
    found = import_module(module)
    lines = [*_heading(module, "-"), f".. automodule:: {module}", "   :no-members:", ""]
    names = getattr(found, "__all__", None) or _own_names(found)
    for name in sorted(names, key=lambda name: isclass(getattr(found, name))):  # functions first
        value = getattr(found, name)
        if id(value) not in told and (isclass(value) or isroutine(value)):
            lines += [f".. auto{'class' if isclass(value) else 'function'}:: {module}.{name}", ""]
        told.add(id(value))
    return lines


def _own_names(module: object) -> list[str]:
    own = vars(module).items()
    return [name for name, value in own if isclass(value) and value.__module__ == module.__name__]


def _heading(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def commands_page() -> str:
    """Return the page of the command line."""
    return "\n".join(
        [
            *_heading("The command line", "="),
            ".. click:: prune_assets.cli:main",
            "   :prog: prune",
            "   :nested: full",
            "",
        ]
    )


def list_arguments(lines: list[str]) -> None:
    """Make a list of the paragraphs in which a docstring says of each argument what it is."""
    paragraphs = re.split(r"\n{2,}", "\n".join(lines))
    lines[:] = "\n\n".join(_as_list(paragraph) for paragraph in paragraphs).split("\n")


def _as_list(paragraph: str) -> str:
    if "├──" in paragraph:
        return "::\n\n  " + paragraph.replace("\n", "\n  ")
    parts = _arguments(paragraph)
    return "\n".join("- " + part.replace("\n", "\n  ") for part in parts) if parts else paragraph


def _arguments(paragraph: str) -> list[str]:
    """Return what a paragraph says of each argument, nothing where it is about something else."""
    if not _ARGUMENT.match(paragraph):
        return []
    starts = [found.start() for found in _ARGUMENT.finditer(paragraph)]
    return [paragraph[start:stop].strip() for start, stop in pairwise([*starts, len(paragraph)])]


def layout_page() -> str:
    """Return the page of the keys of `layout.yaml`, from its JSON Schema."""
    schema = json.loads(_SCHEMA.read_text())
    first, said, *last = schema["description"].split("\n\n")
    parts = [_key(part, schema["properties"]) for part in _arguments(said)]
    return "\n\n".join(["# The keys of layout.yaml", first, *last, *parts]) + "\n"


def _key(said: str, properties: dict[str, Any]) -> str:
    names, _, what = said.partition(": ")
    about = [f"- {name}: {_kind(properties[name.strip('`')])}" for name in names.split(", ")]
    return "\n\n".join([f"## {names.replace('`', '')}", f"{what[:1].upper()}{what[1:]}", "\n".join(about)])


def _kind(key: dict[str, Any]) -> str:
    options = [_WORDS.get(option["type"], option["type"]) for option in key.get("anyOf", [key])]
    default = json.dumps(key["default"]) if "default" in key else "{}"
    chosen = f", one of {', '.join(key['enum'])}" if "enum" in key else ""
    return f"{' or '.join(options)}{chosen}; by default `{default}`"


def codes_page() -> str:
    """Return the page of the codes of findings, each with an anchor of its name."""
    return "\n\n".join(["# The codes of findings", _ABOUT_CODES, *map(_group, GROUPS)]) + "\n"


def _group(group: Group) -> str:
    codes = [f"({anchor_of(group, code)})=\n### `{code}`\n\n{_said(found)}" for code, found in group.codes.items()]
    return "\n\n".join([f"## {group.title}", group.said_by, *codes])


def _said(found: Code) -> str:
    return f"{found.means}\n\n**Remedy.** {found.remedy}" if found.remedy else found.means


def anchor_of(group: Group, code: str) -> str:
    """Return the anchor of a code on its page."""
    name = code.replace(".", "-").replace("_", "-")
    return f"advice-{name}" if group is ADVICE else name
