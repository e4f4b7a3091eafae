"""Type inference for partition columns, from the value strings in directory names.

Source: `PartitioningUtils` and `ExternalCatalogUtils` of Spark 4. Strings that Spark might parse as times, or as
numbers in an unusual form, stay undecided: a value that Spark reads differently would skip rows that match.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from parquet_core.arrow_arrays import array_of
from parquet_core.storage import ESCAPE, unescape

if TYPE_CHECKING:
    from collections.abc import Sequence

NULL_DIRECTORY = "__HIVE_DEFAULT_PARTITION__"
_MAX_DIGITS = 38

_INTEGER = re.compile(r"[+-]?[0-9]+")
# Spark parses an integer with a trailing point ("1.") or with an exponent ("1e5") as a decimal, so both are excluded.
_FRACTION = re.compile(r"[+-]?[0-9]*\.[0-9]+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# Everything that Java's parseDouble accepts, and more: white space, hexadecimal digits and a type suffix included.
_NUMBER = re.compile(
    r"\s*[+-]?(nan|infinity|(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|0x.*)[fd]?)\s*", re.IGNORECASE | re.DOTALL
)
_TIME = re.compile(r"\s*[+-]?[0-9]+-|.*:", re.DOTALL)


class Form(Enum):
    """Type as which Spark parses a value string; UNSURE if several are possible."""

    NULL = 0
    INT = 1
    LONG = 2
    DECIMAL = 3
    DOUBLE = 4
    DATE = 5
    TEXT = 6
    UNSURE = 7


# Forms that may occur together with a form without turning the column into strings. With TEXT, all values are strings.
_BESIDE = {Form.DATE: {Form.DATE, Form.UNSURE}, Form.DOUBLE: {Form.DOUBLE, Form.INT, Form.UNSURE}}


class Inferred(NamedTuple):
    """Partition values and their common type.

    As in Spark, the type is `null` if all values are null.
    """

    type: pa.DataType
    values: pa.Array


def form_of(text: str) -> Form:
    """Return the form as which Spark parses one value string.

    >>> [form_of(text).name for text in ("01", "3000000000", "2024-02-30", "eu", "1.5", "1e5", "3f2a")]
    ['INT', 'LONG', 'UNSURE', 'TEXT', 'DOUBLE', 'UNSURE', 'TEXT']
    """
    if text == NULL_DIRECTORY:
        return Form.NULL
    if _INTEGER.fullmatch(text):
        return _integer_form(text)
    if _FRACTION.fullmatch(text):
        return Form.DOUBLE
    if _DATE.fullmatch(text):
        return Form.DATE if _is_day(text) else Form.UNSURE
    return Form.TEXT if all(map(_is_plain_text, (text, unescape(text)))) else Form.UNSURE


def _integer_form(text: str) -> Form:
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > _MAX_DIGITS:
        return Form.UNSURE
    number = int(text)
    if -(1 << 31) <= number < 1 << 31:
        return Form.INT
    return Form.LONG if -(1 << 63) <= number < 1 << 63 else Form.DECIMAL


def _is_day(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_plain_text(text: str) -> bool:
    # Java parses the digits of every script. A lone surrogate represents a byte that is not UTF-8.
    odd = any(unicodedata.category(sign) in {"Nd", "Cs"} for sign in text if sign > "\x7f")
    control = any(sign < " " for sign in text)
    return not (odd or control or _NUMBER.fullmatch(text) or _TIME.match(text))


def infer(texts: Sequence[str], *, types: bool = True) -> Inferred | str:
    """Return the values of a column, or why they are unknown.

    There is one value for each string. `types`: if False, every value is a string, as with
    `spark.sql.sources.partitionColumnTypeInference.enabled=false`.
    """
    doubt = _doubt(texts)
    if doubt:
        return doubt
    forms = {form_of(text) for text in texts} - {Form.NULL}
    if not types or Form.TEXT in forms or any(one in forms and not forms <= beside for one, beside in _BESIDE.items()):
        return _strings(texts)
    if Form.UNSURE in forms:
        return "its values may be fractions or times"
    if not forms:
        return Inferred(pa.null(), pa.nulls(len(texts)))
    return _parsed(texts, pa.date32() if Form.DATE in forms else _number_type(texts, forms))


def _doubt(texts: Sequence[str]) -> str:
    """Return why the characters of the values are uncertain; empty if they are certain."""
    if any("%" in ESCAPE.sub("", text) or not _encodes(text) for text in texts):
        return "a directory name is not escaped as Spark does"
    return ""


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _number_type(texts: Sequence[str], forms: set[Form]) -> pa.DataType:
    if Form.DOUBLE in forms:
        return pa.float64()
    if Form.DECIMAL not in forms:
        return pa.int64() if Form.LONG in forms else pa.int32()
    digits = [len(text.lstrip("+-").lstrip("0")) for text in texts if form_of(text) is Form.DECIMAL]
    # Spark widens int to 10 digits and bigint to 20.
    digits += [10] * (Form.INT in forms) + [20] * (Form.LONG in forms)
    return pa.decimal128(max(digits), 0)


def _strings(texts: Sequence[str]) -> Inferred:
    return Inferred(
        pa.string(), array_of([None if text == NULL_DIRECTORY else unescape(text) for text in texts], pa.string())
    )


def _parsed(texts: Sequence[str], kind: pa.DataType) -> Inferred:
    if pa.types.is_date32(kind):
        days = array_of([None if text == NULL_DIRECTORY else text for text in texts], pa.string())
        return Inferred(kind, pc.cast(days, kind))
    if pa.types.is_floating(kind):
        return Inferred(kind, array_of([None if text == NULL_DIRECTORY else float(text) for text in texts], kind))
    numbers = [None if text == NULL_DIRECTORY else int(text) for text in texts]
    if pa.types.is_decimal(kind):
        return Inferred(kind, array_of([None if number is None else Decimal(number) for number in numbers], kind))
    return Inferred(kind, array_of(numbers, kind))
