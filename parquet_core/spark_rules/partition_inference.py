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
    """Type that Spark infers from a value string; UNSURE if several types are possible."""

    NULL = 0
    INT = 1
    LONG = 2
    DECIMAL = 3
    DOUBLE = 4
    DATE = 5
    TEXT = 6
    UNSURE = 7


# For a form, the forms that may occur in the same column without making it a string column. TEXT always makes it one.
_BESIDE = {Form.DATE: {Form.DATE, Form.UNSURE}, Form.DOUBLE: {Form.DOUBLE, Form.INT, Form.UNSURE}}


class Inferred(NamedTuple):
    """Partition values and their common type.

    As in Spark, the type is `null` if all values are null.
    """

    type: pa.DataType
    values: pa.Array


def form_of(value_string: str) -> Form:
    """Return the type that Spark infers from one value string.

    >>> [form_of(text).name for text in ("01", "3000000000", "2024-02-30", "eu", "1.5", "1e5", "3f2a")]
    ['INT', 'LONG', 'UNSURE', 'TEXT', 'DOUBLE', 'UNSURE', 'TEXT']
    """
    if value_string == NULL_DIRECTORY:
        return Form.NULL
    if _INTEGER.fullmatch(value_string):
        return _integer_form(value_string)
    if _FRACTION.fullmatch(value_string):
        return Form.DOUBLE
    if _DATE.fullmatch(value_string):
        return Form.DATE if _is_day(value_string) else Form.UNSURE
    return Form.TEXT if all(map(_is_plain_text, (value_string, unescape(value_string)))) else Form.UNSURE


def _integer_form(digits_with_sign: str) -> Form:
    digits = digits_with_sign.lstrip("+-").lstrip("0")
    if len(digits) > _MAX_DIGITS:
        return Form.UNSURE
    integer = int(digits_with_sign)
    if -(1 << 31) <= integer < 1 << 31:
        return Form.INT
    return Form.LONG if -(1 << 63) <= integer < 1 << 63 else Form.DECIMAL


def _is_day(value_string: str) -> bool:
    try:
        dt.date.fromisoformat(value_string)
    except ValueError:
        return False
    return True


def _is_plain_text(value_string: str) -> bool:
    # Java parses the digits of every script. A lone surrogate represents a byte that is not UTF-8.
    odd = any(unicodedata.category(sign) in {"Nd", "Cs"} for sign in value_string if sign > "\x7f")
    control = any(sign < " " for sign in value_string)
    return not (odd or control or _NUMBER.fullmatch(value_string) or _TIME.match(value_string))


def infer(value_strings: Sequence[str], *, types: bool = True) -> Inferred | str:
    """Return the values of a column, or why they are unknown.

    There is one value for each string. `types`: if False, every value is a string, as with
    `spark.sql.sources.partitionColumnTypeInference.enabled=false`.
    """
    doubt = _doubt(value_strings)
    if doubt:
        return doubt
    forms = {form_of(value_string) for value_string in value_strings} - {Form.NULL}
    if (
        not types
        or Form.TEXT in forms
        or any(form in forms and not forms <= beside for form, beside in _BESIDE.items())
    ):
        return _strings(value_strings)
    if Form.UNSURE in forms:
        return "its values may be fractions or times"
    if not forms:
        return Inferred(pa.null(), pa.nulls(len(value_strings)))
    return _parsed(value_strings, pa.date32() if Form.DATE in forms else _number_type(value_strings, forms))


def _doubt(value_strings: Sequence[str]) -> str:
    """Return why the characters of the values are uncertain; empty if they are certain."""
    if any("%" in ESCAPE.sub("", value_string) or not _encodes(value_string) for value_string in value_strings):
        return "a directory name is not escaped as Spark does"
    return ""


def _encodes(value_string: str) -> bool:
    try:
        value_string.encode()
    except UnicodeEncodeError:
        return False
    return True


def _number_type(value_strings: Sequence[str], forms: set[Form]) -> pa.DataType:
    if Form.DOUBLE in forms:
        return pa.float64()
    if Form.DECIMAL not in forms:
        return pa.int64() if Form.LONG in forms else pa.int32()
    digits = [
        len(value_string.lstrip("+-").lstrip("0"))
        for value_string in value_strings
        if form_of(value_string) is Form.DECIMAL
    ]
    # Spark widens int to 10 digits and bigint to 20.
    digits += [10] * (Form.INT in forms) + [20] * (Form.LONG in forms)
    return pa.decimal128(max(digits), 0)


def _strings(value_strings: Sequence[str]) -> Inferred:
    return Inferred(
        pa.string(),
        array_of(
            [None if value_string == NULL_DIRECTORY else unescape(value_string) for value_string in value_strings],
            pa.string(),
        ),
    )


def _parsed(value_strings: Sequence[str], arrow_type: pa.DataType) -> Inferred:
    if pa.types.is_date32(arrow_type):
        days = array_of(
            [None if value_string == NULL_DIRECTORY else value_string for value_string in value_strings], pa.string()
        )
        return Inferred(arrow_type, pc.cast(days, arrow_type))
    if pa.types.is_floating(arrow_type):
        return Inferred(
            arrow_type,
            array_of(
                [None if value_string == NULL_DIRECTORY else float(value_string) for value_string in value_strings],
                arrow_type,
            ),
        )
    integers = [None if value_string == NULL_DIRECTORY else int(value_string) for value_string in value_strings]
    if pa.types.is_decimal(arrow_type):
        return Inferred(
            arrow_type, array_of([None if integer is None else Decimal(integer) for integer in integers], arrow_type)
        )
    return Inferred(arrow_type, array_of(integers, arrow_type))
