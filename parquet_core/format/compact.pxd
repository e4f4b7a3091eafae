# Types for the compiler; without one, Python runs compact.py as it is.
import cython

cdef int _TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID
cdef int _INTEGER_KIND, _BOOLEAN_KIND, _BINARY_KIND, _STRUCT_KIND, _LIST_KIND, _MEMBER_KIND, _ENCODED_KIND, _ROWS_KIND
cdef cython.longlong _MISSING
cdef list _NO_SINKS

cdef class Kind:
    cdef readonly int code
    cdef readonly int wires
    cdef readonly list kinds
    cdef readonly list slots
    cdef readonly list offsets
    cdef readonly Py_ssize_t size
    cdef readonly Py_ssize_t width
    cdef readonly Py_ssize_t least
    cdef readonly Kind of
    cdef readonly Py_ssize_t sink
    cdef readonly bint is_plain
    cdef readonly cython.longlong[::1] plain

@cython.locals(i=Py_ssize_t)
cdef int _fill_rows(bytes buffer, cython.longlong[::1] starts, cython.longlong[::1] stops, Kind spec, cython.longlong[::1] table, cython.longlong[::1] at, list sinks) except -1

@cython.locals(i=Py_ssize_t, count=cython.longlong, total=cython.longlong)
cdef cython.longlong _fill_counts(bytes buffer, cython.longlong[::1] starts, cython.longlong[::1] stops, cython.longlong[::1] counts, cython.longlong[::1] at, Py_ssize_t least) except -1

@cython.locals(i=Py_ssize_t, cell=Py_ssize_t)

@cython.locals(i=Py_ssize_t, row=Py_ssize_t)
cdef int _fill_columns(bytes buffer, cython.longlong[::1] starts, cython.longlong[::1] stops, Kind of, cython.longlong[::1] table, cython.longlong[::1] at, Py_ssize_t total) except -1

cdef int _inside(bytes buffer, Py_ssize_t start, Py_ssize_t stop) except -1

cdef Py_ssize_t _after(const unsigned char* data, Py_ssize_t position, Py_ssize_t size) except -1

@cython.locals(result=cython.ulonglong, part=cython.ulonglong, shift=cython.int)
cdef cython.ulonglong _varint(const unsigned char* data, Py_ssize_t position, Py_ssize_t stop) except? 1

cdef cython.longlong _zigzag(cython.ulonglong number) noexcept

cdef Py_ssize_t _end(Py_ssize_t position, Py_ssize_t size, cython.ulonglong length) except -1

@cython.locals(data="const unsigned char*", size=Py_ssize_t, kinds=list, known=Py_ssize_t, kind=Kind, slot=Py_ssize_t, field=cython.longlong, header=cython.int, wire=cython.int, code=cython.int, signed=cython.longlong, stop=Py_ssize_t, inner=list, values=list, byte=cython.int)
cdef Py_ssize_t _struct(bytes buffer, Py_ssize_t position, Kind spec, list slots, int depth) except -1

@cython.locals(data="const unsigned char*", size=Py_ssize_t, found=Kind, field=cython.longlong, header=cython.int, stop=Py_ssize_t, inner=list)
cdef Py_ssize_t _member(bytes buffer, Py_ssize_t position, Kind kind, list slots, Py_ssize_t slot, int depth) except -1

cdef Py_ssize_t _list_header(const unsigned char* data, Py_ssize_t position, Py_ssize_t size) except -1

@cython.locals(count=cython.ulonglong, stop=Py_ssize_t)
cdef cython.longlong _count(const unsigned char* data, Py_ssize_t position, Py_ssize_t size, Py_ssize_t least) except -1

cdef int _expect(Kind of, int wire, cython.longlong count, Py_ssize_t position) except -1

@cython.locals(data="const unsigned char*", size=Py_ssize_t, count=cython.longlong, wire=cython.int, code=cython.int, signed=cython.longlong, stop=Py_ssize_t, inner=list, nested=list, byte=cython.int)
cdef Py_ssize_t _list(bytes buffer, Py_ssize_t position, Kind of, list values, int depth) except -1

@cython.locals(kinds=list, offsets=list, plain=cython.longlong[::1], known=Py_ssize_t, kind=Kind, field=cython.longlong, header=cython.int, wire=cython.int, stop=Py_ssize_t, cell=Py_ssize_t)
cdef Py_ssize_t _row(const unsigned char* data, Py_ssize_t position, Py_ssize_t size, Kind spec, cython.longlong[::1] table, Py_ssize_t base, int depth, list sinks) except -1

@cython.locals(code=cython.int, stop=Py_ssize_t, byte=cython.int, column=Py_ssize_t)
cdef Py_ssize_t _cell(const unsigned char* data, Py_ssize_t position, Py_ssize_t size, Kind kind, int wire, cython.longlong[::1] table, Py_ssize_t cell, int depth, list sinks) except -1

@cython.locals(first=Py_ssize_t, of=Kind, count=cython.longlong, wire=cython.int, width=Py_ssize_t, column=Py_ssize_t, numbers=cython.longlong[::1])
cdef Py_ssize_t _sunk(const unsigned char* data, Py_ssize_t position, Py_ssize_t size, Kind kind, cython.longlong[::1] table, Py_ssize_t cell, int depth, list sinks) except -1

@cython.locals(count=cython.longlong, wire=cython.int, stop=Py_ssize_t, width=Py_ssize_t)
cdef Py_ssize_t _rows(const unsigned char* data, Py_ssize_t position, Py_ssize_t size, Kind of, cython.longlong[::1] table, Py_ssize_t cell) except -1

@cython.locals(first=Py_ssize_t, count=cython.longlong, wire=cython.int, stop=Py_ssize_t, i=Py_ssize_t)
cdef Py_ssize_t _columns(const unsigned char* data, Py_ssize_t position, Py_ssize_t size, Kind of, cython.longlong[::1] table, Py_ssize_t row, Py_ssize_t total) except -1

@cython.locals(plain=cython.longlong[::1], known=Py_ssize_t, field=cython.longlong, header=cython.int, wire=cython.int, stop=Py_ssize_t, i=Py_ssize_t, byte=cython.int)
cdef int _plain_columns(const unsigned char* data, Py_ssize_t position, Py_ssize_t size, Kind of, cython.longlong[::1] table, Py_ssize_t row, Py_ssize_t total, cython.longlong count) except -1

@cython.locals(stop=Py_ssize_t)
cdef Py_ssize_t _skip(const unsigned char* data, Py_ssize_t position, Py_ssize_t size, int wire, int depth) except -1

@cython.locals(header=cython.int, wire=cython.int)
cdef Py_ssize_t _skip_struct(const unsigned char* data, Py_ssize_t position, Py_ssize_t size, int depth) except -1

@cython.locals(count=cython.longlong, wire=cython.int)
cdef Py_ssize_t _skip_list(const unsigned char* data, Py_ssize_t position, Py_ssize_t size, int depth) except -1

@cython.locals(count=cython.ulonglong, wire=cython.int, stop=Py_ssize_t, types=cython.int)
cdef Py_ssize_t _skip_map(const unsigned char* data, Py_ssize_t position, Py_ssize_t size, int depth) except -1
