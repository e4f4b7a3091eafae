"""Read recipes and write each; shared by the scripts, for Python 3.6 and newer."""

import json
from decimal import Decimal
from pathlib import Path

# Types that some writers cannot write. A refused table is written again without them, the fewest first.
LEFT_OUT = (
    (),
    ("struct",),
    ("decimal",),
    ("decimal", "struct", "fixed"),
    ("decimal", "struct", "fixed", "binary", "timestamp", "date"),
    ("uint8", "uint16", "uint32", "uint64", "fixed"),
    ("uint8", "uint16", "uint32", "uint64", "fixed", "timestamp", "struct"),
)


def write_each(folder, write):
    """Write each recipe of a folder as `N.parquet`; `N.txt` says why a file is missing.

    `N.txt` exists from the start, so that it remains if the library ends the process. Recipes with a result are
    skipped, so that the script can be started again.
    """
    for source in sorted(Path(folder).glob("*.json")):
        path, reason = source.with_suffix(".parquet"), source.with_suffix(".txt")
        if path.exists() or reason.exists():
            continue
        reason.write_text("the writer ended the process", encoding="utf-8")
        recipe = json.loads(source.read_text(encoding="utf-8"))
        problem = written(recipe, path, write)
        if problem:
            reason.write_text(problem, encoding="utf-8")
        else:
            reason.unlink()


def written(recipe, path, write):
    """Write a recipe, without types that the writer refuses; return the first error if all attempts fail, else None."""
    part, problems = path.with_suffix(".part"), []
    for left_out in LEFT_OUT:
        problem = problem_of(write, without(recipe, left_out), str(part))
        if problem is None:
            part.rename(path)
            return None
        problems.append(problem)
    return problems[0]


def problem_of(write, recipe, path):
    try:
        write(recipe, path)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a panic in Rust is not an Exception
        return f"{type(error).__name__}: {error}"
    return None


def without(recipe, left_out):
    return dict(recipe, columns=[column for column in recipe["columns"] if column["type"] not in left_out])


def plain(recipe):
    """Return a recipe without Arrow dictionaries, for writers that refuse them."""
    return dict(recipe, columns=[dict(column, dictionary=None) for column in recipe["columns"]])


def floats_of(values):
    return [None if value is None else float(value) for value in values]


def decimals_of(values):
    return [None if value is None else Decimal(value) for value in values]


def bytes_of(values):
    return [None if value is None else bytes.fromhex(value) for value in values]


def parts_of(whole, lengths):
    """Cut an array with `slice(start, length)` into parts."""
    parts, start = [], 0
    for length in lengths:
        parts.append(whole.slice(start, length))
        start += length
    return parts
