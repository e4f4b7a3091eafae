# Types for the compiler; without one, Python runs avro_walk.py as it is.
import cython

cdef int _NULL, _VARINT, _FIXED, _BYTES, _ARRAY, _MAP, _RECORD, _UNION, _PAIRS_OF_NUMBERS, _PAIRS_OF_BYTES

cdef class Node:
    cdef readonly int kind
    cdef readonly list children
    cdef readonly Py_ssize_t size
    cdef readonly Py_ssize_t least
    cdef readonly Py_ssize_t slot

@cython.locals(data="const unsigned char*", size=Py_ssize_t, position=Py_ssize_t, row=Py_ssize_t)
cdef int _rows(bytes buffer, Node node, Py_ssize_t count, Py_ssize_t width, cython.longlong[::1] table) except -1

@cython.locals(data="const unsigned char*", size=Py_ssize_t, i=Py_ssize_t, position=Py_ssize_t)
cpdef int numbers_at(bytes buffer, cython.longlong[::1] starts, cython.longlong[::1] numbers) except -1

@cython.locals(data="const unsigned char*", size=Py_ssize_t, i=Py_ssize_t)
cpdef int behind_at(bytes buffer, cython.longlong[::1] starts, cython.longlong[::1] stops) except -1

@cython.locals(data="const unsigned char*", size=Py_ssize_t, i=Py_ssize_t, position=Py_ssize_t, stop=Py_ssize_t, left=cython.longlong, is_it=bint)
cpdef int positions_of_key(bytes buffer, cython.longlong[::1] starts, cython.longlong key, bint of_bytes, cython.longlong[::1] positions) except -1

cdef Py_ssize_t _after(const unsigned char* data, Py_ssize_t position, Py_ssize_t size) except -1

@cython.locals(result=cython.ulonglong, part=cython.ulonglong, shift=cython.int)
cdef cython.longlong _number(const unsigned char* data, Py_ssize_t position, Py_ssize_t stop) except? -77

@cython.locals(kind=cython.int, stop=Py_ssize_t, branch=cython.longlong, child=Node)
cdef Py_ssize_t _walk(const unsigned char* data, Py_ssize_t position, Py_ssize_t size, Node node, cython.longlong[::1] table, Py_ssize_t cell) except -1

@cython.locals(stop=Py_ssize_t, length=cython.longlong)
cdef Py_ssize_t _after_bytes(const unsigned char* data, Py_ssize_t position, Py_ssize_t size) except -1

@cython.locals(stop=Py_ssize_t, count=cython.longlong)
cdef Py_ssize_t _walk_many(const unsigned char* data, Py_ssize_t position, Py_ssize_t size, Node node, cython.longlong[::1] table, Py_ssize_t cell) except -1
