"""The pages that are made from the code: names, findings, keys of a layout, commands."""

from __future__ import annotations

import json
import re
from importlib import import_module
from inspect import getdoc, isclass, isroutine
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from parquet_core.format.column_chunk import ChunkTraits
from parquet_core.trust.known_faults import KNOWN_FAULTS
from prune_assets import components
from prune_assets.checks.registry import ADVICE, GROUPS, Code, CodeGroup
from prune_assets.components.scaffolding import EXAMPLES
from prune_assets.report.figures import FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_core.trust.writer_fault import KnownFault

# The pages of the API, and the modules whose public names each page lists.
API = {
    "prune_assets": ["prune_assets"],
    "results": [
        "prune_assets.advisor.apply",
        "prune_assets.advisor.outcome",
        "prune_assets.checks.audit.report",
        "prune_assets.merging.plan_merge",
        "prune_assets.merging.report",
        "prune_assets.merging.run_merge",
        "prune_assets.reading.read_stats",
        "prune_assets.tables.writes.write_result",
        "prune_assets.writing.result",
    ],
    "prune_assets.dagster": ["prune_assets.dagster"],
    "deltalog": ["deltalog"],
    "parquet_core": ["parquet_core.layout", "parquet_core.inspection", "parquet_core.bloom"],
    "errors": ["parquet_core.errors", "deltalog.errors", "prune_assets.errors"],
}
# At the beginning of a line, or of a sentence: "`rows`: ", "`page_rows`, `row_group_rows`: "
_ARGUMENT = re.compile(r"(?:^|(?<=[.;] ))`\w+`(?:, `\w+`)*(?: None)?: ", re.MULTILINE)
# Keys of components whose own keys Dagster's documentation describes.
_DAGSTERS_OWN = {"asset", "defs_state"}
_WORDS = {
    "array": "a list of columns",
    "object": "a value for each column",
    "integer": "a whole number",
    "string": "a text",
}
_ABOUT_CODES = """\
A code is stable: filter by it in CI and in alerts. The message of a finding states the problem and its location in
your table; its remedy names the column or the option. This page explains the codes."""
_ABOUT_FIGURES = """\
Dagster and Dagster Pipes have them as metadata whose keys begin with `prune/`, Airflow's `SkipReportOperator` as a
part of its XCom.

| figure | unit | meaning |
|---|---|---|"""
_ABOUT_FAULTS = """\
Some releases of Parquet writers store wrong metadata. Plans do not trust the facts in this table, for these writers,
versions and columns; they keep trusting everything else in the file. Spark trusts all of them, so `spark.read` may lose
rows where `prune_assets.read` does not; the report of a plan warns of it, and `prune check` names the columns.

A writer is known by `created_by` in the footer. A file whose writer names no version may come from any release.

| writer | versions | columns | not trusted | fault | report | how it was verified |
|---|---|---|---|---|---|---|"""
_SCHEMA = Path(__file__).parents[1] / "prune_assets" / "writing" / "layout.schema.json"


def write(directory: Path) -> None:
    """Write every page below a directory; unchanged pages keep their time, so that Sphinx reads few."""
    directory.mkdir(exist_ok=True)
    for name, text in pages().items():
        path = directory / name
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)


def pages() -> dict[str, str]:
    """Return the pages by their file name."""
    told: set[int] = set()
    api = {f"{name}.rst": _api_page(name, modules, told) for name, modules in API.items()}
    made = {
        "codes": codes_page(),
        "components": components_page(),
        "figures": figures_page(),
        "known_faults": known_faults_page(),
        "layout": layout_page(),
    }
    return {**api, **{f"{name}.md": text for name, text in made.items()}, "commands.rst": commands_page()}


def _api_page(title: str, modules: list[str], told: set[int]) -> str:
    """Return the page of the public names of modules, in reStructuredText; `told`: the objects of pages before it."""
    lines = _heading(title, "=")
    for module in modules:
        lines += [*(_heading(module, "-") if module != title else ()), *_names_of(module, told)]
    return "\n".join(lines)


def _names_of(module: str, told: set[int]) -> list[str]:
    found = import_module(module)
    lines = [f".. automodule:: {module}", "   :no-members:", ""]
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
    """Turn the paragraphs of a docstring that describe arguments into a list."""
    paragraphs = re.split(r"\n{2,}", "\n".join(lines))
    lines[:] = "\n\n".join(_as_list(paragraph) for paragraph in paragraphs).split("\n")


def _as_list(paragraph: str) -> str:
    if "├──" in paragraph:
        return "::\n\n  " + paragraph.replace("\n", "\n  ")
    parts = _arguments(paragraph)
    return "\n".join("- " + part.replace("\n", "\n  ") for part in parts) if parts else paragraph


def _arguments(paragraph: str) -> list[str]:
    """Return the descriptions of arguments in a paragraph; empty for other paragraphs."""
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


def components_page() -> str:
    """Return the page of the components, each with what `dg scaffold defs` writes and the keys that it takes."""
    about = getdoc(components) or ""
    return "\n\n".join(["# Components for dg", about, *map(_component, components.__all__)]) + "\n"


def _component(name: str) -> str:
    component = getattr(components, name)
    example = {"type": f"{components.__name__}.{name}", "attributes": EXAMPLES[name]}
    schema = component.get_model_cls().model_json_schema()
    keys = "\n".join(_keys_of(schema, schema.get("$defs", {}), indent=""))
    text = yaml.safe_dump(example, sort_keys=False, default_flow_style=None)
    return "\n\n".join([f"## {name}", getdoc(component) or "", f"```yaml\n{text}```", keys])


def _keys_of(schema: dict[str, Any], models: dict[str, Any], *, indent: str) -> Iterator[str]:
    for name, key in schema.get("properties", {}).items():
        needed = " Needed." if name in schema.get("required", ()) else ""
        said = key.get("description", "as Dagster has it.").partition("\n")[0]
        yield f"{indent}- `{name}`: {said}{needed}"
        if name not in _DAGSTERS_OWN:
            for model in re.findall(r"#/\$defs/(\w+)", json.dumps(key)):
                yield from _keys_of(models[model], models, indent=f"{indent}  ")


def figures_page() -> str:
    """Return the page of the figures of a skip report."""
    rows = [f"| `{figure.name}` | {figure.unit} | {figure.description} |" for figure in FIGURES]
    return "\n".join(["# The figures of a skip report", "", _ABOUT_FIGURES, *rows]) + "\n"


def known_faults_page() -> str:
    """Return the page of the known faults of writers."""
    rows = [
        f"| {fault.application} | {fault.versions} | {fault.columns.value}{_traits(fault)} "
        f"| {', '.join(fault.wrong.labels)} | {fault.what} | [{fault.code}]({fault.source}) | {fault.proof} |"
        for fault in sorted(KNOWN_FAULTS, key=lambda fault: fault.application.casefold())
    ]
    return "\n".join(["# Known faults of writers", "", _ABOUT_FAULTS, *rows]) + "\n"


def _traits(fault: KnownFault) -> str:
    names = {ChunkTraits.DICTIONARY: "a dictionary page", ChunkTraits.SEVERAL_PAGES: "several pages"}
    needed = [name for trait, name in names.items() if trait in fault.only_in]
    return f", chunks with {' and '.join(needed)}" if needed else ""


def codes_page() -> str:
    """Return the page of the codes of findings, each with an anchor of its name."""
    return "\n\n".join(["# The codes of findings", _ABOUT_CODES, *map(_group, GROUPS)]) + "\n"


def _group(group: CodeGroup) -> str:
    codes = [f"({anchor_of(group, code)})=\n### `{code}`\n\n{_said(found)}" for code, found in group.codes.items()]
    return "\n\n".join([f"## {group.title}", group.sentence, *codes])


def _said(found: Code) -> str:
    return f"{found.means}\n\n**Remedy.** {found.remedy}" if found.remedy else found.means


def anchor_of(group: CodeGroup, code: str) -> str:
    """Return the anchor of a code on its page."""
    name = code.replace(".", "-").replace("_", "-")
    return f"advice-{name}" if group is ADVICE else name
