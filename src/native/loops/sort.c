/* Which places elements of rows have in order: a stable sort by digits, rows over the threads.

   NOTE [Sorting]
   1. An element is a key, an unsigned number of the same order: of an integer with the sign's bit
      turned over, of a float with that, or all bits if it is negative. NaN is the largest, zeros are
      equal. For a descending order all bits of keys are turned over, which keeps equal ones in theirs.
   2. Keys are dealt out by one byte after the other, from the lowest on, each time in the order in
      which they lie. A byte that is the same in all of a row is left out.
*/

#include "pool.c"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t key;
    int64_t place;
} Entry;

typedef struct {
    const char *from;
    int64_t *to;
    int64_t n, item; /* elements of a row, bytes of one */
    char kind;       /* 'f', 'i' or 'u', as in NumPy */
    bool descending;
    _Atomic bool failed; /* there is no memory */
} Sort;

/* The key of an element: NOTE [Sorting], 1. */
static inline uint64_t
key_of_element(const Sort *job, const char *from)
{
    int64_t bits = 8 * job->item;
    uint64_t key = 0, sign = UINT64_C(1) << (bits - 1), ones = sign | (sign - 1);
    if (job->item == 4) {
        uint32_t own;
        memcpy(&own, from, 4);
        key = own;
    }
    else if (job->item == 8) {
        memcpy(&key, from, 8);
    }
    else if (job->item == 2) {
        uint16_t own;
        memcpy(&own, from, 2);
        key = own;
    }
    else {
        key = (unsigned char)*from;
    }
    if (job->kind == 'i') {
        key ^= sign;
    }
    else if (job->kind == 'f') {
        int64_t fraction = job->item == 2 ? 10 : job->item == 4 ? 23 : 52;
        uint64_t infinity = (sign - 1) >> fraction << fraction, size = key & (sign - 1);
        key = size > infinity ? ones : size == 0 ? sign : key & sign ? ~key & ones : key | sign;
    }
    return job->descending ? ~key & ones : key;
}

/* Put entries in order; what is in order is in one of the two arrays, which is given back. */
static Entry *
sort_entries(Entry *entries, Entry *other, int64_t n, int64_t bytes)
{
    int64_t counts[8][256] = {{0}};
    for (int64_t i = 0; i < n; i++) {
        for (int64_t b = 0; b < bytes; b++) {
            counts[b][entries[i].key >> (8 * b) & 255]++;
        }
    }
    for (int64_t b = 0; b < bytes; b++) {
        int64_t *next = counts[b], total = 0;
        if (next[entries[0].key >> (8 * b) & 255] == n) {
            continue;
        }
        for (int digit = 0; digit < 256; digit++) {
            int64_t own = next[digit];
            next[digit] = total;
            total += own;
        }
        for (int64_t i = 0; i < n; i++) {
            other[next[entries[i].key >> (8 * b) & 255]++] = entries[i];
        }
        Entry *sorted = other;
        other = entries;
        entries = sorted;
    }
    return entries;
}

static void
sort_rows(void *context, int64_t begin, int64_t end)
{
    Sort *job = context;
    int64_t n = job->n;
    Entry *room = malloc((size_t)(2 * n) * sizeof(Entry));
    if (room == NULL) {
        job->failed = true;
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        for (int64_t i = 0; i < n; i++) {
            const char *from = job->from + (row * n + i) * job->item;
            room[i] = (Entry){key_of_element(job, from), i};
        }
        const Entry *sorted = sort_entries(room, room + n, n, job->item);
        for (int64_t i = 0; i < n; i++) {
            job->to[row * n + i] = sorted[i].place;
        }
    }
    free(room);
}

/* `rank(out, x, descending)`: which elements of each row of x, of its last dimension, come first,
   equal ones in their order. */
static PyObject *
rank_rows(PyObject *module, PyObject *args)
{
    PyArrayObject *out, *x;
    int descending;
    if (!PyArg_ParseTuple(args, "O!O!p", &PyArray_Type, &out, &PyArray_Type, &x, &descending)) {
        return NULL;
    }
    char kind = PyArray_DESCR(x)->kind == 'b' ? 'u' : PyArray_DESCR(x)->kind;
    int64_t item = PyArray_ITEMSIZE(x);
    bool known = (kind == 'f' || kind == 'i' || kind == 'u') &&
                 (item == 1 || item == 2 || item == 4 || item == 8);
    if (!known || PyArray_NDIM(x) < 1 || !PyArray_ISCARRAY_RO(x) || !PyArray_ISCARRAY(out) ||
        PyArray_TYPE(out) != NPY_INT64 || !PyArray_SAMESHAPE(out, x) || PyArray_SIZE(x) == 0) {
        return refuse("rank");
    }
    int64_t n = PyArray_DIM(x, PyArray_NDIM(x) - 1);
    Sort job = {PyArray_BYTES(x), PyArray_DATA(out), n, item, kind, descending, false};
    Py_BEGIN_ALLOW_THREADS;
    pool_run(sort_rows, &job, PyArray_SIZE(x) / n, (1 << 13) / n + 1);
    Py_END_ALLOW_THREADS;
    return job.failed ? PyErr_NoMemory() : Py_NewRef(Py_None);
}
