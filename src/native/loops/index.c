/* Reading and adding at places that an array of indices names: gather, scatter-add, embeddings.

   NOTE [Places]
   1. Indices are int64. An index that is not there gives False, and Python goes the other way, which
      says what is wrong. Those that are read are checked where they are used; those that are added
      to, before anything is written.
   2. What is added to one place is added in the order of the indices: threads share out rows of the
      result, or ranges of places, never the indices of one place.
*/

#include "pool.c"

#include <stdatomic.h>
#include <string.h>

typedef struct {
    char *out;
    const char *values;
    const int64_t *indices;
    int64_t size, count, width; /* places, indices, bytes or elements of an entry */
    bool fresh;                 /* whether what is added to starts from zeros */
    _Atomic bool wrong;
} Places;

/* Copy some bytes; of the commonest widths, at once. */
static inline void
copy(char *to, const char *from, int64_t width)
{
    if (width == 4) {
        memcpy(to, from, 4);
    }
    else if (width == 8) {
        memcpy(to, from, 8);
    }
    else {
        memcpy(to, from, (size_t)width);
    }
}

/* Copy entries: `values` is (rows, size, width bytes), `out` (rows, count, width bytes). */
static void
copy_entries(void *context, int64_t begin, int64_t end)
{
    Places *job = context;
    int64_t width = job->width;
    for (int64_t u = begin; u < end; u++) {
        int64_t place = job->indices[u % job->count];
        place += place < 0 ? job->size : 0;
        if (place < 0 || place >= job->size) {
            atomic_store(&job->wrong, true);
            return;
        }
        copy(job->out + u * width, job->values + (u / job->count * job->size + place) * width,
             width);
    }
}

/* Copy elements, for each row other ones: `values` (rows, size), `out` and indices (rows, count). */
static void
copy_elements(void *context, int64_t begin, int64_t end)
{
    Places *job = context;
    int64_t width = job->width;
    for (int64_t row = begin; row < end; row++) {
        const char *from = job->values + row * job->size * width;
        for (int64_t u = row * job->count; u < (row + 1) * job->count; u++) {
            int64_t place = job->indices[u];
            if (place < 0 || place >= job->size) {
                atomic_store(&job->wrong, true);
                return;
            }
            copy(job->out + u * width, from + place * width, width);
        }
    }
}

#define ADDERS(REAL, OF)                                                                           \
    /* Add elements, for each row to other ones: `out` (rows, size), the others (rows, count). */  \
    static void OF(add_elements)(void *context, int64_t begin, int64_t end)                        \
    {                                                                                              \
        Places *job = context;                                                                     \
        for (int64_t row = begin; row < end; row++) {                                              \
            REAL *to = (REAL *)job->out + row * job->size;                                         \
            for (int64_t u = row * job->count; u < (row + 1) * job->count; u++) {                  \
                to[job->indices[u]] += ((const REAL *)job->values)[u];                             \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Add rows of `width` elements to those of `out`, as far as they lie in a range. */           \
    static void OF(add_rows)(void *context, int64_t begin, int64_t end)                            \
    {                                                                                              \
        Places *job = context;                                                                     \
        int64_t width = job->width;                                                                \
        if (job->fresh) {                                                                          \
            memset((REAL *)job->out + begin * width, 0,                                            \
                   (size_t)((end - begin) * width) * sizeof(REAL));                                \
        }                                                                                          \
        for (int64_t u = 0; u < job->count; u++) {                                                 \
            int64_t place = job->indices[u];                                                       \
            if (place >= begin && place < end) {                                                   \
                REAL *to = (REAL *)job->out + place * width;                                       \
                const REAL *from = (const REAL *)job->values + u * width;                          \
                for (int64_t i = 0; i < width; i++) {                                              \
                    to[i] += from[i];                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

#define OF_FLOAT(x) x##_float
#define OF_DOUBLE(x) x##_double
ADDERS(float, OF_FLOAT)
ADDERS(double, OF_DOUBLE)

/* Whether all places that are added to are there. */
static bool
all_there(const Places *job, int64_t count)
{
    uint64_t highest = 0; /* a negative index counts as a very large one */
    for (int64_t u = 0; u < count; u++) {
        uint64_t place = (uint64_t)job->indices[u];
        highest = place > highest ? place : highest;
    }
    return count == 0 || highest < (uint64_t)job->size;
}

/* Whether an array's elements may be copied as bytes, in row-major order. */
static bool
is_flat(PyArrayObject *array, PyArrayObject *like)
{
    return PyArray_ISCARRAY_RO(array) && !PyDataType_REFCHK(PyArray_DESCR(array)) &&
           PyArray_EquivTypes(PyArray_DESCR(array), PyArray_DESCR(like));
}

/* Read the arguments (out, values, indices), borrowed: arrays of so many dimensions, which are added up or
   else copied as bytes, and any indices; false, with or without an error, where they are not. */
static bool
read_places(PyObject *args, int dims, bool added, PyArrayObject **out, PyArrayObject **values,
            PyArrayObject **indices)
{
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyArray_Type, out, &PyArray_Type, values, &PyArray_Type,
                          indices)) {
        return false;
    }
    bool alike = added ? is_plain(*out, PyArray_TYPE(*out)) && is_plain(*values, PyArray_TYPE(*out))
                       : is_flat(*out, *values) && is_flat(*values, *values);
    return alike && PyArray_ISWRITEABLE(*out) && PyArray_NDIM(*out) == dims &&
           PyArray_NDIM(*values) == dims && PyArray_TYPE(*indices) == NPY_INT64 &&
           PyArray_ISCARRAY_RO(*indices);
}

static PyObject *
done(const Places *job)
{
    return PyBool_FromLong(!atomic_load(&job->wrong));
}

/* `take(out, values, indices)`: (rows, count, width) of (rows, size, width). */
static PyObject *
take(PyObject *module, PyObject *args)
{
    PyArrayObject *out, *values, *indices;
    if (!read_places(args, 3, false, &out, &values, &indices) ||
        PyArray_DIM(out, 0) != PyArray_DIM(values, 0) ||
        PyArray_DIM(out, 1) != PyArray_SIZE(indices) ||
        PyArray_DIM(out, 2) != PyArray_DIM(values, 2)) {
        return refuse("take");
    }
    Places job = {PyArray_DATA(out),
                  PyArray_DATA(values),
                  PyArray_DATA(indices),
                  .size = PyArray_DIM(values, 1),
                  .count = PyArray_DIM(out, 1),
                  .width = PyArray_DIM(out, 2) * PyArray_ITEMSIZE(out)};
    Py_BEGIN_ALLOW_THREADS;
    pool_run(copy_entries, &job, PyArray_DIM(out, 0) * job.count, (1 << 17) / (job.width + 8) + 1);
    Py_END_ALLOW_THREADS;
    return done(&job);
}

/* `gather(out, values, indices)`: out[r, k] = values[r, indices[r, k]]. */
static PyObject *
gather(PyObject *module, PyObject *args)
{
    PyArrayObject *out, *values, *indices;
    if (!read_places(args, 2, false, &out, &values, &indices) ||
        PyArray_DIM(out, 0) != PyArray_DIM(values, 0) ||
        PyArray_SIZE(out) != PyArray_SIZE(indices)) {
        return refuse("gather");
    }
    Places job = {PyArray_DATA(out),
                  PyArray_DATA(values),
                  PyArray_DATA(indices),
                  .size = PyArray_DIM(values, 1),
                  .count = PyArray_DIM(out, 1),
                  .width = PyArray_ITEMSIZE(out)};
    Py_BEGIN_ALLOW_THREADS;
    pool_run(copy_elements, &job, PyArray_DIM(out, 0), (1 << 14) / (job.count + 1) + 1);
    Py_END_ALLOW_THREADS;
    return done(&job);
}

/* `scatter_add(out, values, indices)`: out[r, indices[r, k]] += values[r, k]. */
static PyObject *
scatter_add(PyObject *module, PyObject *args)
{
    PyArrayObject *out, *values, *indices;
    if (!read_places(args, 2, true, &out, &values, &indices) ||
        PyArray_DIM(out, 0) != PyArray_DIM(values, 0) ||
        PyArray_SIZE(values) != PyArray_SIZE(indices)) {
        return refuse("scatter_add");
    }
    Places job = {PyArray_DATA(out), PyArray_DATA(values), PyArray_DATA(indices),
                  .size = PyArray_DIM(out, 1), .count = PyArray_DIM(values, 1)};
    bool there;
    Py_BEGIN_ALLOW_THREADS;
    if ((there = all_there(&job, PyArray_SIZE(indices)))) {
        pool_run(PyArray_TYPE(out) == NPY_FLOAT ? add_elements_float : add_elements_double, &job,
                 PyArray_DIM(out, 0), (1 << 14) / (job.count + 1) + 1);
    }
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(there);
}

/* Rows of elements, each added to that of `out` at its index. Each piece looks through all indices, so
   there are few; one with zeros to begin with is written while it is in the cache. */
static PyObject *
rows_added(PyObject *args, bool fresh)
{
    PyArrayObject *out, *values, *indices;
    if (!read_places(args, 2, true, &out, &values, &indices) ||
        PyArray_DIM(out, 1) != PyArray_DIM(values, 1) ||
        PyArray_DIM(values, 0) != PyArray_SIZE(indices)) {
        return refuse(fresh ? "sum_rows" : "add_rows");
    }
    Places job = {PyArray_DATA(out),
                  PyArray_DATA(values),
                  PyArray_DATA(indices),
                  .size = PyArray_DIM(out, 0),
                  .count = PyArray_SIZE(indices),
                  .width = PyArray_DIM(out, 1),
                  .fresh = fresh};
    int64_t wanted = fresh ? PyArray_NBYTES(out) >> 20 : 0;
    int64_t pieces = PyArray_SIZE(values) < (1 << 15) ? 1
                     : job.width < 16                 ? pool_threads
                                                      : 4 * pool_threads;
    pieces = Py_MAX(pieces, Py_MIN(wanted, job.width / 8));
    bool there;
    Py_BEGIN_ALLOW_THREADS;
    if ((there = all_there(&job, job.count))) {
        pool_run(PyArray_TYPE(out) == NPY_FLOAT ? add_rows_float : add_rows_double, &job, job.size,
                 (job.size + pieces - 1) / pieces);
    }
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(there);
}

/* `add_rows(out, values, indices)`: out[indices[k]] += values[k]. */
static PyObject *
add_rows(PyObject *module, PyObject *args)
{
    return rows_added(args, false);
}

/* `sum_rows(out, values, indices)`: the same, whatever was in `out` before. */
static PyObject *
sum_rows(PyObject *module, PyObject *args)
{
    return rows_added(args, true);
}
