"""List a directory and read many files without a Python object or the interpreter lock for each call.

Built if a compiler and POSIX are available; otherwise `local` does the work in Python. `local` also repeats calls that
fail here, and raises the error with the name of the file. Large batches are divided among threads, which end before
the call returns.
"""

from array import array as _array

from cpython.array cimport array, clone
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.errno cimport EINTR, ENOMEM, errno
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset, strlen

cdef extern from * nogil:
    """
    #include <dirent.h>
    #include <errno.h>
    #include <fcntl.h>
    #include <pthread.h>
    #include <signal.h>
    #include <string.h>
    #include <stdint.h>
    #include <sys/mman.h>
    #include <sys/stat.h>
    #include <sys/types.h>
    #include <unistd.h>

    #ifdef __APPLE__
    #define PRUNE_TIME(status, which) ((status)->st_##which##timespec)
    #else
    #define PRUNE_TIME(status, which) ((status)->st_##which##tim)
    #endif
    #define PRUNE_NS(time) ((long long)(time).tv_sec * 1000000000LL + (time).tv_nsec)
    #define prune_changed(status) PRUNE_NS(PRUNE_TIME(status, c))
    #define prune_modified(status) PRUNE_NS(PRUNE_TIME(status, m))
    #define prune_is_directory(status) S_ISDIR((status)->st_mode)
    #define prune_duplicate(descriptor) fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    #define prune_set_errno(value) (errno = (value))
    #define prune_take(next, step) __atomic_fetch_add(next, step, __ATOMIC_RELAXED)
    #define prune_mark(flag) __atomic_store_n(flag, 1, __ATOMIC_RELEASE)
    #define prune_marked(flag) __atomic_load_n(flag, __ATOMIC_ACQUIRE)

    /* Memory that is about to be filled is cheaper to get at once than page by page in the midst of a read. */
    static void prune_ready(char *begin, Py_ssize_t size) {
    #ifdef MADV_POPULATE_WRITE
        uintptr_t page = 4096, first = ((uintptr_t)begin + page - 1) & ~(page - 1);
        uintptr_t last = ((uintptr_t)begin + size) & ~(page - 1);
        if (size < (1 << 17) || last <= first) return;
        madvise((void *)first, last - first, MADV_HUGEPAGE);
        madvise((void *)first, last - first, MADV_POPULATE_WRITE);
    #endif
    }

    /* A signal is for the thread that Python handles it in. */
    static int prune_start(pthread_t *thread, void *(*run)(void *), void *given) {
        sigset_t all, before;
        sigfillset(&all);
        if (pthread_sigmask(SIG_SETMASK, &all, &before)) return -1;
        int failed = pthread_create(thread, NULL, run, given);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return failed;
    }
    """
    ctypedef struct DIR:
        pass
    struct dirent:
        char* d_name
        unsigned char d_type
    struct stat_t "stat":
        long long st_size
    ctypedef long pthread_t
    int DT_DIR, O_RDONLY, O_CLOEXEC, O_DIRECTORY, O_NONBLOCK
    DIR* fdopendir(int)
    void rewinddir(DIR*)
    dirent* readdir(DIR*)
    int closedir(DIR*)
    int prune_duplicate(int)
    int fstatat(int, const char*, stat_t*, int)
    int openat(int, const char*, int, ...)
    int open(const char*, int, ...)
    int fstat(int, stat_t*)
    int close(int)
    Py_ssize_t pread(int, void*, size_t, long long)
    int prune_start(pthread_t*, void* (*)(void*) noexcept nogil, void*)
    int pthread_join(pthread_t, void**)
    long long prune_changed(stat_t*)
    long long prune_modified(stat_t*)
    bint prune_is_directory(stat_t*)
    void prune_ready(char*, Py_ssize_t)
    void prune_set_errno(int)
    char* strerror(int)
    Py_ssize_t prune_take(Py_ssize_t*, Py_ssize_t)
    void prune_mark(unsigned char*)
    bint prune_marked(unsigned char*)

cdef enum:
    MOST_THREADS = 8
    STEP = 32  # jobs that a thread takes together
    TOLD = 128  # files after which `arrived` is called again
    SCRATCH = 1 << 16  # largest span in bytes of ranges that are read together, gaps included

cdef array _NUMBERS = _array("q")
cdef long long _FURTHEST = (1 << 63) - 1 - (1 << 31)  # leaves room for a gap after the range

ctypedef void (*Do)(void* work, Py_ssize_t first, Py_ssize_t last) noexcept nogil


cdef struct Share:
    Do do
    void* work
    Py_ssize_t count
    Py_ssize_t next
    unsigned char* done  # by step; NULL if not needed


cdef void* _run(void* given) noexcept nogil:
    cdef Share* share = <Share*> given
    cdef Py_ssize_t first
    while True:
        first = prune_take(&share.next, STEP)
        if first >= share.count:
            return NULL
        _do_step(share, first)


cdef void _do_step(Share* share, Py_ssize_t first) noexcept nogil:
    share.do(share.work, first, min(first + STEP, share.count))
    if share.done != NULL:
        prune_mark(&share.done[first // STEP])


cdef int _start(Share* share, pthread_t* helpers, int threads) noexcept nogil:
    """Start as many threads as there are jobs for; the calling thread does the jobs of threads that fail to start."""
    cdef int started = 0
    threads = min(threads, MOST_THREADS)
    while started + 1 < threads and (started + 1) * 2 * STEP < share.count:
        if prune_start(&helpers[started], _run, share):
            break
        started += 1
    return started


cdef void _join(pthread_t* helpers, int started) noexcept nogil:
    while started:
        started -= 1
        pthread_join(helpers[started], NULL)


cdef void _do_all(Do do, void* work, Py_ssize_t count, int threads) noexcept nogil:
    cdef Share share = Share(do, work, count, 0, NULL)
    cdef pthread_t helpers[MOST_THREADS]
    cdef int started = _start(&share, helpers, threads)
    _run(&share)
    _join(helpers, started)


# Listing.

def entries(int descriptor):
    """Return the names in an open directory, without a leading dot, and flags of known directories. Raises OSError."""
    cdef char* kept = NULL
    cdef char* grown
    cdef Py_ssize_t used = 0, room = 0, length
    cdef dirent* entry
    cdef int error = 0
    cdef int copy = prune_duplicate(descriptor)
    cdef DIR* directory = NULL if copy < 0 else fdopendir(copy)
    if directory == NULL:
        error = errno
        if copy >= 0:
            close(copy)
        raise OSError(error, _text(error))
    with nogil:
        rewinddir(directory)
        while True:
            prune_set_errno(0)
            entry = readdir(directory)
            if entry == NULL:
                error = errno
                break
            if entry.d_name[0] == c".":
                continue
            length = strlen(entry.d_name)
            if used + length + 2 > room:
                room = 2 * (used + length) + 4096
                grown = <char*> realloc(kept, room)
                if grown == NULL:
                    error = ENOMEM
                    break
                kept = grown
            kept[used] = 1 if entry.d_type == DT_DIR else 2
            memcpy(kept + used + 1, entry.d_name, length + 1)
            used += length + 2
        rewinddir(directory)  # the duplicate shares the descriptor's position
        closedir(directory)
    try:
        if error:
            raise OSError(error, _text(error))
        return _names(kept, used)
    finally:
        free(kept)


cdef extern from "Python.h":
    object PyUnicode_DecodeFSDefaultAndSize(const char*, Py_ssize_t)
    bytes PyUnicode_EncodeFSDefault(object)


cdef str _text(int error):
    return strerror(error).decode(errors="replace")


cdef tuple _names(const char* kept, Py_ssize_t used):
    cdef list names = [], directories = []
    cdef Py_ssize_t at = 0, length
    while at < used:
        length = strlen(kept + at + 1)
        names.append(PyUnicode_DecodeFSDefaultAndSize(kept + at + 1, length))
        directories.append(kept[at] == 1)
        at += length + 2
    return names, directories


cdef struct Lookups:
    int directory
    const char** names
    long long* size
    long long* modified
    long long* changed


cdef void _look_up(void* given, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Lookups* work = <Lookups*> given
    cdef stat_t status
    cdef Py_ssize_t i
    for i in range(first, last):
        if fstatat(work.directory, work.names[i], &status, 0):
            work.size[i] = -2
        elif prune_is_directory(&status):
            work.size[i] = -1
        else:
            work.size[i] = status.st_size
            work.modified[i] = prune_modified(&status)
            work.changed[i] = prune_changed(&status)


def states(int descriptor, list names, int threads):
    """Return lists of the sizes, modification times and status change times (ns) of names in an open directory.

    Size -1 is a directory, -2 an entry that cannot be looked up.
    """
    cdef Py_ssize_t i, count = len(names)
    cdef list encoded = [PyUnicode_EncodeFSDefault(name) for name in names]
    cdef array size = clone(_NUMBERS, count, True), modified = clone(_NUMBERS, count, True)
    cdef array changed = clone(_NUMBERS, count, True)
    cdef Lookups work
    work.directory = descriptor
    work.size, work.modified, work.changed = size.data.as_longlongs, modified.data.as_longlongs, changed.data.as_longlongs
    work.names = <const char**> malloc(max(count, 1) * sizeof(char*))
    if work.names == NULL:
        raise MemoryError
    try:
        for i in range(count):
            work.names[i] = PyBytes_AS_STRING(encoded[i])
        with nogil:
            _do_all(_look_up, &work, count, threads)
    finally:
        free(work.names)
    return size.tolist(), modified.tolist(), changed.tolist()


# Reading.

cdef struct Reads:
    const char** paths
    const long long* first
    const long long* start
    const long long* length
    char** into
    long long hole
    const long long* listed  # by file: size, modification time, status change time; 0 if unknown
    long long* requests  # by file; -1 if a range was not read or the file changed
    long long* fetched


cdef bint _fetch(int descriptor, char* into, long long length, long long start) noexcept nogil:
    cdef Py_ssize_t got
    while length > 0:
        # No system returns more than this per call.
        got = pread(descriptor, into, min(length, <long long> 1 << 30), start)
        if got < 0 and errno == EINTR:
            continue
        if got <= 0:
            return False
        into += got
        start += got
        length -= got
    return True


cdef void _read_file(Reads* work, Py_ssize_t i, int descriptor, char* scratch) noexcept nogil:
    """Read the ranges of one file, near ranges together."""
    cdef long long low = work.first[i], high = work.first[i + 1], next, piece, begin, stop
    while low < high:
        begin, stop = work.start[low], work.start[low] + work.length[low]
        next = low + 1
        # Ranges whose span exceeds the scratch buffer are read one by one.
        while (
            next < high
            and work.start[next] <= stop + work.hole
            and max(stop, work.start[next] + work.length[next]) - begin <= SCRATCH
        ):
            stop = max(stop, work.start[next] + work.length[next])
            next += 1
        if not _fetch(descriptor, work.into[low] if next == low + 1 else scratch, stop - begin, begin):
            work.requests[i] = -1
            return
        work.requests[i] += 1
        work.fetched[i] += stop - begin
        if next > low + 1:
            for piece in range(low, next):
                memcpy(work.into[piece], scratch + (work.start[piece] - begin), work.length[piece])
        low = next


cdef bint _is_listed(const long long* listed, int descriptor) noexcept nogil:
    """Return True if an open file has not changed since it was listed; see `local._check_listed`."""
    cdef stat_t status
    if listed == NULL or listed[1] == 0:
        return True
    if fstat(descriptor, &status):
        return False
    return (
        status.st_size == listed[0]
        and prune_modified(&status) == listed[1]
        and (listed[2] == 0 or prune_changed(&status) == listed[2])
    )


cdef Py_ssize_t _directory_length(const char* path) noexcept nogil:
    cdef Py_ssize_t at = strlen(path)
    while at and path[at - 1] != c"/":
        at -= 1
    return at


cdef bint _same(const char* a, const char* b, Py_ssize_t length) noexcept nogil:
    # From the end, where paths differ first.
    while length:
        length -= 1
        if a[length] != b[length]:
            return False
    return True


cdef int _open_directory(const char* path, Py_ssize_t length) noexcept nogil:
    cdef char name[4096]
    if length == 0 or length >= <Py_ssize_t> sizeof(name):
        return -1
    memcpy(name, path, length)
    name[length] = 0
    return open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)


cdef void _read(void* given, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Reads* work = <Reads*> given
    cdef char scratch[SCRATCH]
    cdef Py_ssize_t i, length, known = -1
    cdef int descriptor, directory = -1
    cdef const char* path
    cdef const char* before = NULL
    for i in range(first, last):
        path = work.paths[i]
        length = _directory_length(path)
        if length != known or not _same(path, before, length):
            # The descriptor saves looking up the directory again for every file.
            if directory >= 0:
                close(directory)
            directory = _open_directory(path, length)
            known = length
            before = path
        if directory >= 0:
            descriptor = openat(directory, path + length, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        else:
            descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        if descriptor < 0:
            work.requests[i] = -1
            continue
        _read_file(work, i, descriptor, scratch)
        # After the read: a later change does not affect these bytes.
        if not _is_listed(NULL if work.listed == NULL else work.listed + 3 * i, descriptor):
            work.requests[i] = -1
        close(descriptor)
    if directory >= 0:
        close(directory)


cdef int _read_telling(Reads* work, Py_ssize_t files, int threads, object arrived, bytes buffer) except -1:
    """Read, and call `arrived` between steps with the number of ranges read, up to the first failure."""
    cdef Share share = Share(_read, work, files, 0, NULL)
    cdef pthread_t helpers[MOST_THREADS]
    cdef int started = 0
    cdef Py_ssize_t steps = (files + STEP - 1) // STEP, ready = 0, whole = 0, told = 0, first
    share.done = <unsigned char*> calloc(steps, 1)
    if share.done == NULL:
        raise MemoryError
    try:
        started = _start(&share, helpers, threads)
        while True:
            while ready < steps and prune_marked(&share.done[ready]):
                ready += 1
            while whole < min(ready * STEP, files) and work.requests[whole] >= 0:
                whole += 1
            if whole < min(ready * STEP, files) or told == files:
                break
            if whole - told >= TOLD or whole == files:
                arrived(buffer, work.first[whole])
                told = whole
                continue
            with nogil:
                first = prune_take(&share.next, STEP)
                if first < files:
                    _do_step(&share, first)
                else:
                    _join(helpers, started)
                    started = 0
    finally:
        with nogil:
            prune_take(&share.next, files)
            _join(helpers, started)
            free(share.done)
    return 0


def read(
    list paths,
    const long long[::1] first,
    const long long[::1] start,
    const long long[::1] length,
    const long long[::1] target,
    const long long[::1] at,
    list sizes,
    bytes before,
    long long hole,
    int threads,
    object arrived=None,
    const long long[:, ::1] listed=None,
):
    """Read ranges into buffers of `sizes` bytes; file i has the ranges `first[i]` to `first[i + 1]`, ascending.

    The first buffer begins with `before`, which its size includes. Range r is written to offset `at[r]` of buffer
    `target[r]`; ranges at most `hole` bytes apart are read together. Returns the buffers, the number of reads by file
    (-1 if a read failed), and the bytes read by file. Raises ValueError for a range that does not fit.

    `listed`: size, modification time and status change time by file, when it was listed. A file whose modification time
    is 0 is not compared with them; None: no file is compared. A read of a file that differs counts as failed.

    `arrived` is called with the first buffer and the number of leading ranges that have been read; the last call has
    the number of all ranges, unless a read failed. An exception that it raises ends the reading.
    """
    cdef Py_ssize_t i, later, files = len(paths), ranges = start.shape[0]
    cdef list encoded = [PyUnicode_EncodeFSDefault(path) for path in paths]
    cdef list buffers = [PyBytes_FromStringAndSize(NULL, size) for size in sizes]
    cdef array requests = clone(_NUMBERS, files, True), fetched = clone(_NUMBERS, files, True)
    cdef bytes buffer
    cdef Reads work
    for buffer in buffers:
        prune_ready(PyBytes_AS_STRING(buffer), len(buffer))
    if before:
        buffer = buffers[0]
        if len(before) > len(buffer):
            raise ValueError("a buffer that is too short")
        memcpy(PyBytes_AS_STRING(buffer), PyBytes_AS_STRING(before), len(before))
    if listed is not None and not (listed.shape[0] == files and listed.shape[1] == 3):
        raise ValueError("files that were not listed")
    if not (first.shape[0] == files + 1 and length.shape[0] == target.shape[0] == at.shape[0] == ranges):
        raise ValueError("lists of different lengths")
    if ranges == 0:
        return buffers, [0] * files, [0] * files
    if first[0] != 0 or first[files] != ranges:
        raise ValueError("ranges without a file")
    work.paths = <const char**> malloc(files * sizeof(char*))
    work.into = <char**> malloc(ranges * sizeof(char*))
    try:
        if work.paths == NULL or work.into == NULL:
            raise MemoryError
        for i in range(files):
            if first[i] > first[i + 1]:
                raise ValueError("ranges out of order")
            work.paths[i] = PyBytes_AS_STRING(encoded[i])
            if <Py_ssize_t> strlen(work.paths[i]) != len(<bytes> encoded[i]):
                work.paths[i] = ""  # cannot be opened; the path up to its NUL would name another file
        for i in range(files):
            for later in range(first[i] + 1, first[i + 1]):
                # A range that begins before the first range of its read would be copied from before the scratch buffer.
                if start[later] < start[later - 1]:
                    raise ValueError("ranges out of order")
        for i in range(ranges):
            buffer = buffers[target[i]]
            if start[i] < 0 or length[i] < 0 or at[i] < 0 or length[i] > len(buffer) - at[i]:
                raise ValueError(f"range {i} does not fit")
            if start[i] > _FURTHEST - length[i]:
                raise ValueError(f"range {i} does not fit into any file")
            work.into[i] = PyBytes_AS_STRING(buffer) + at[i]
        work.first, work.start, work.length = &first[0], &start[0], &length[0]
        work.hole = hole
        work.listed = NULL if listed is None else &listed[0, 0]
        work.requests, work.fetched = requests.data.as_longlongs, fetched.data.as_longlongs
        memset(work.requests, 0, files * sizeof(long long))
        memset(work.fetched, 0, files * sizeof(long long))
        if arrived is None:
            with nogil:
                _do_all(_read, &work, files, threads)
        else:
            _read_telling(&work, files, threads, arrived, buffers[0])
    finally:
        free(work.paths)
        free(work.into)
    return buffers, requests.tolist(), fetched.tolist()
