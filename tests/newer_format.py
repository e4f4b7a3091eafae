"""Build files in newer versions of the format from ordinary ones, by editing footers and page headers."""

from __future__ import annotations

import slow_thrift
from slow_thrift import BINARY, I32, LIST, STRUCT

from tests.numbered_cases.cases import META, SCHEMA, chunks_of, drop, edit_footer, put, value_of

PATH, ENCODINGS, CODEC, ENCODING_STATS = 3, 2, 4, 13
LOGICAL_TYPE, CONVERTED_TYPE = 10, 6
DATA_HEADERS = {0: (5, 2), 3: (8, 4)}
ALP = 10


def metadata_of(footer, column):
    return [value_of(chunk, META) for chunk in chunks_of(footer, column)]


def drop_paths(path, columns):
    """Remove `path_in_schema` from column chunks, by column number."""

    def change(footer):
        for column in columns:
            for metadata in metadata_of(footer, column):
                drop(metadata, PATH)

    edit_footer(path, change)


def change_metadata(path, column, number, wire, value):
    """Set a field of ColumnMetaData in all chunks of a column."""
    edit_footer(path, lambda footer: [put(each, number, wire, value) for each in metadata_of(footer, column)])


def change_element(path, number, wire, value, element=1):
    """Set a field of an element of the schema; the root is element 0."""
    edit_footer(path, lambda footer: put(value_of(footer, SCHEMA)[1][element], number, wire, value))


def encode_pages(path, column, encoding):
    """Declare another encoding for the data pages of a column, in their headers and in the footer."""
    data = bytearray(path.read_bytes())
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = slow_thrift.parse(bytes(data[-8 - length : -8]))
    for metadata in metadata_of(footer, column):
        numbers = {number: value for number, _, value in metadata}
        position = min(numbers.get(11, numbers[9]), numbers[9])
        stop = position + numbers[7]
        while position < stop:
            position = _encode_page(data, position, encoding)
    path.write_bytes(bytes(data))
    change_metadata(path, column, ENCODINGS, LIST, (I32, [3, encoding]))
    edit_footer(path, lambda footer: [drop(each, ENCODING_STATS) for each in metadata_of(footer, column)])


def _encode_page(data, position, encoding):
    header, stop = slow_thrift.parse(bytes(data[position : position + 4096]))
    if (kind := value_of(header, 1)) in DATA_HEADERS:
        described, number = DATA_HEADERS[kind]
        put(value_of(header, described), number, I32, encoding)
    encoded = slow_thrift.encode(header)
    assert len(encoded) == stop, "pages stay where they are"
    data[position : position + stop] = encoded
    return position + stop + value_of(header, 3)


def retype_pages(path, column, kind):
    """Declare another page type for the data pages of a column."""
    data = bytearray(path.read_bytes())
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = slow_thrift.parse(bytes(data[-8 - length : -8]))
    for metadata in metadata_of(footer, column):
        position = value_of(metadata, 9)
        stop = position + 1
        while position < stop:
            header, length = slow_thrift.parse(bytes(data[position : position + 4096]))
            put(header, 1, I32, kind)
            data[position : position + length] = slow_thrift.encode(header)
            position += length + value_of(header, 3)
    path.write_bytes(bytes(data))


def extend_footer(path, extension):
    """Add a binary extension, such as a footer of another form: field 32767 of FileMetaData."""
    edit_footer(path, lambda footer: put(footer, 32767, BINARY, extension))


def end_in(path, magic):
    path.write_bytes(path.read_bytes()[:-4] + magic)


def set_logical_type(path, member, element=1):
    change_element(path, LOGICAL_TYPE, STRUCT, [[member, STRUCT, []]], element)
