# Types for the compiler; without one, Python runs compact.py as it is.
import cython

cdef class Kind:
    cdef readonly int code
    cdef readonly int wires
    cdef readonly list kinds
    cdef readonly list slots
    cdef readonly Py_ssize_t size
    cdef readonly Kind of

cdef Py_ssize_t _after(bytes buffer, Py_ssize_t position) except -1

@cython.locals(result=cython.ulonglong, part=cython.ulonglong, shift=cython.int)
cdef cython.ulonglong _varint(bytes buffer, Py_ssize_t position, Py_ssize_t stop) except? 1

cdef cython.longlong _zigzag(cython.ulonglong number) noexcept

@cython.locals(left=Py_ssize_t)
cdef Py_ssize_t _end(bytes buffer, Py_ssize_t position, cython.ulonglong length) except -1

@cython.locals(kinds=list, known=Py_ssize_t, kind=Kind, slot=Py_ssize_t, field=cython.longlong, header=cython.int, wire=cython.int, code=cython.int, number=cython.ulonglong, signed=cython.longlong, stop=Py_ssize_t, inner=list, values=list, byte=cython.int)
cdef Py_ssize_t _struct(bytes buffer, Py_ssize_t position, Kind spec, list slots, int depth) except -1

@cython.locals(found=Kind, field=cython.longlong, header=cython.int, stop=Py_ssize_t, inner=list)
cdef Py_ssize_t _member(bytes buffer, Py_ssize_t position, Kind kind, list slots, Py_ssize_t slot, int depth) except -1

@cython.locals(count=cython.ulonglong)
cdef cython.ulonglong _count(bytes buffer, Py_ssize_t position, Py_ssize_t stop) except? 1

@cython.locals(count=cython.ulonglong, wire=cython.int, code=cython.int, number=cython.ulonglong, signed=cython.longlong, stop=Py_ssize_t, inner=list, nested=list, byte=cython.int)
cdef Py_ssize_t _list(bytes buffer, Py_ssize_t position, Kind of, list values, int depth) except -1

cdef Py_ssize_t _skip(bytes buffer, Py_ssize_t position, int wire, int depth) except -1

@cython.locals(header=cython.int)
cdef Py_ssize_t _skip_struct(bytes buffer, Py_ssize_t position, int depth) except -1

@cython.locals(count=cython.ulonglong, wire=cython.int, stop=Py_ssize_t)
cdef Py_ssize_t _skip_list(bytes buffer, Py_ssize_t position, int depth) except -1

@cython.locals(count=cython.ulonglong, wire=cython.int, stop=Py_ssize_t, types=cython.int)
cdef Py_ssize_t _skip_map(bytes buffer, Py_ssize_t position, int depth) except -1
