/* Which places elements of rows have in order: a stable sort by digits, rows over the threads; and
   which elements are first in that order, without it.

   NOTE [Sorting]
   1. An element is a key, an unsigned number of the same order: of an integer with the sign's bit
      turned over, of a float with that, or all bits if it is negative. NaN is the largest, zeros are
      equal. For a descending order all bits of keys are turned over, which keeps equal ones in theirs.
   2. Keys are dealt out by one byte after the other, from the lowest on, each time in the order in
      which they lie. A byte that is the same in all of a row is left out.
   3. For the first k, elements are collected that come before the k-th of those so far. When their room
      is full, the k-th of them is found from its highest byte down: keys are counted by theirs, and
      those stay in question that have the one in which the k-th is.
*/

#include "pool.c"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPARE = 64,
    COMPARED = 24
}; /* room beside that of the first k; keys that are all compared */

typedef struct {
    uint64_t key;
    int64_t place;
} Entry;

typedef struct {
    const char *from;
    int64_t *to;
    int64_t n, item;     /* elements of a row, bytes of one */
    int64_t k, columns;  /* how many are first, and of how many the places are written */
    int64_t most;        /* entries in a room */
    char kind;           /* 'f', 'i' or 'u', as in NumPy */
    uint64_t turned;     /* all bits for a descending order, else 0 */
    _Atomic bool failed; /* there is no memory */
} Sort;

/* The key of an element: NOTE [Sorting], 1. */
static inline __attribute__((always_inline)) uint64_t
key_of_element(const char *from, int64_t item, char kind, uint64_t turned)
{
    uint64_t key = 0, sign = UINT64_C(1) << (8 * item - 1), ones = sign | (sign - 1);
    if (item == 4) {
        uint32_t own;
        memcpy(&own, from, 4);
        key = own;
    }
    else if (item == 8) {
        memcpy(&key, from, 8);
    }
    else if (item == 2) {
        uint16_t own;
        memcpy(&own, from, 2);
        key = own;
    }
    else {
        key = (unsigned char)*from;
    }
    if (kind == 'i') {
        key ^= sign;
    }
    else if (kind == 'f') {
        int64_t fraction = item == 2 ? 10 : item == 4 ? 23 : 52;
        uint64_t infinity = (sign - 1) >> fraction << fraction, size = key & (sign - 1);
        key = size > infinity ? ones : size == 0 ? sign : key & sign ? ~key & ones : key | sign;
    }
    return (key ^ turned) & ones;
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
            room[i] = (Entry){key_of_element(from, job->item, job->kind, job->turned), i};
        }
        const Entry *sorted = sort_entries(room, room + n, n, job->item);
        for (int64_t i = 0; i < n; i++) {
            job->to[row * n + i] = sorted[i].place;
        }
    }
    free(room);
}

/* The key that is `rank` keys behind the smallest, in whose stead `rank` becomes the place among those
   that equal it. The room is for as many keys. */
static uint64_t
select_key(const Entry *entries, uint64_t *room, int64_t n, int64_t bytes, int64_t *rank)
{
    const uint64_t *keys = &entries->key;
    int64_t step = sizeof(Entry) / sizeof(uint64_t);
    for (int64_t b = bytes - 1; b >= 0 && n > COMPARED; b--) {
        int32_t counts[256] = {0};
        int64_t digit = 0, left = 0;
        for (int64_t i = 0; i < n; i++) {
            counts[keys[i * step] >> (8 * b) & 255]++;
        }
        for (; *rank >= counts[digit]; digit++) {
            *rank -= counts[digit];
        }
        if (counts[digit] == n) {
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            uint64_t key = keys[i * step];
            room[left] = key;
            left += (int64_t)(key >> (8 * b) & 255) == digit;
        }
        keys = room;
        step = 1;
        n = left;
    }
    for (int64_t i = 0; n <= COMPARED; i++) {
        int64_t less = 0, equal = 0;
        for (int64_t j = 0; j < n; j++) {
            less += keys[j * step] < keys[i * step];
            equal += keys[j * step] == keys[i * step];
        }
        if (less <= *rank && *rank < less + equal) {
            *rank -= less;
            return keys[i * step];
        }
    }
    return keys[0];
}

/* Leave the first k of some entries, in the order in which they lie; the key of the last one. */
static uint64_t
prune(Entry *entries, uint64_t *room, int64_t n, int64_t bytes, int64_t k)
{
    int64_t rank = k - 1;
    uint64_t last = select_key(entries, room, n, bytes, &rank);
    for (int64_t i = 0, left = 0; left < k; i++) {
        Entry entry = entries[i];
        entries[left] = entry;
        rank -= entry.key == last;
        left += (entry.key < last) | ((entry.key == last) & (rank >= -1));
    }
    return last;
}

/* The first k entries of a row, of which the last has the key that is given back. */
static inline __attribute__((always_inline)) uint64_t
collect(const Sort *job, const char *from, Entry *entries, int64_t item, char kind)
{
    uint64_t *room = (uint64_t *)(entries + job->most), last = ~UINT64_C(0);
    int64_t count = 0;
    bool open = true; /* whether there are not k yet */
    for (int64_t i = 0; i < job->n; i++) {
        uint64_t key = key_of_element(from + i * item, item, kind, job->turned);
        entries[count] = (Entry){key, i};
        count += open | (key < last);
        if (count == job->most) {
            last = prune(entries, room, count, item, job->k);
            count = job->k;
            open = false;
        }
    }
    return count == job->k && !open ? last : prune(entries, room, count, item, job->k);
}

static void
select_rows(void *context, int64_t begin, int64_t end)
{
    Sort *job = context;
    int64_t k = job->k;
    Entry *entries = malloc((size_t)job->most * (sizeof(Entry) + sizeof(uint64_t)));
    if (entries == NULL) {
        job->failed = true;
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        const char *from = job->from + row * job->n * job->item;
        uint64_t last = job->item == 4 && job->kind == 'f' ? collect(job, from, entries, 4, 'f')
                        : job->item == 8 && job->kind == 'f'
                            ? collect(job, from, entries, 8, 'f')
                            : collect(job, from, entries, job->item, job->kind);
        int64_t *to = job->to + row * job->columns, i = k - 1;
        for (; job->columns == 1 && entries[i].key != last; i--) {
        }
        for (int64_t j = 0; j < job->columns; j++) {
            to[j] = entries[job->columns == 1 ? i : j].place;
        }
    }
    free(entries);
}

/* Read the rows of an array, and where places of their elements go; false if they do not fit. */
static bool
read_rows(PyArrayObject *out, PyArrayObject *x, Sort *job)
{
    int dims = PyArray_NDIM(x);
    job->kind = PyArray_DESCR(x)->kind == 'b' ? 'u' : PyArray_DESCR(x)->kind;
    job->item = PyArray_ITEMSIZE(x);
    bool known = (job->kind == 'f' || job->kind == 'i' || job->kind == 'u') &&
                 (job->item == 1 || job->item == 2 || job->item == 4 || job->item == 8);
    if (!known || dims < 1 || !PyArray_ISCARRAY_RO(x) || !PyArray_ISCARRAY(out) ||
        PyArray_TYPE(out) != NPY_INT64 || PyArray_NDIM(out) != dims || PyArray_SIZE(x) == 0 ||
        !PyArray_CompareLists(PyArray_DIMS(out), PyArray_DIMS(x), dims - 1)) {
        return false;
    }
    job->from = PyArray_BYTES(x);
    job->to = PyArray_DATA(out);
    job->n = PyArray_DIM(x, dims - 1);
    job->columns = PyArray_DIM(out, dims - 1);
    return true;
}

static PyObject *
run_order(Chunk chunk, Sort *job, PyArrayObject *x)
{
    Py_BEGIN_ALLOW_THREADS;
    pool_run(chunk, job, PyArray_SIZE(x) / job->n, (1 << 13) / job->n + 1);
    Py_END_ALLOW_THREADS;
    return job->failed ? PyErr_NoMemory() : Py_NewRef(Py_None);
}

/* `select(out, x, k, descending)`: which k elements of each row of x, of its last dimension, come
   first, in the order in which they lie; if there is one place for them, which one is the k-th. */
static PyObject *
select_places(PyObject *module, PyObject *args)
{
    PyArrayObject *out, *x;
    Sort job = {0};
    Py_ssize_t k;
    int descending;
    if (!PyArg_ParseTuple(args, "O!O!np", &PyArray_Type, &out, &PyArray_Type, &x, &k,
                          &descending)) {
        return NULL;
    }
    if (!read_rows(out, x, &job) || k < 1 || k > job.n || (job.columns != 1 && job.columns != k)) {
        return refuse("select");
    }
    job.k = k;
    job.most = job.n - k < k + SPARE ? job.n : 2 * k + SPARE;
    job.turned = descending ? ~UINT64_C(0) : 0;
    return run_order(select_rows, &job, x);
}

/* `rank(out, x, descending)`: which elements of each row of x, of its last dimension, come first,
   equal ones in their order. */
static PyObject *
rank_rows(PyObject *module, PyObject *args)
{
    PyArrayObject *out, *x;
    Sort job = {0};
    int descending;
    if (!PyArg_ParseTuple(args, "O!O!p", &PyArray_Type, &out, &PyArray_Type, &x, &descending)) {
        return NULL;
    }
    if (!read_rows(out, x, &job) || job.columns != job.n) {
        return refuse("rank");
    }
    job.turned = descending ? ~UINT64_C(0) : 0;
    return run_order(sort_rows, &job, x);
}
