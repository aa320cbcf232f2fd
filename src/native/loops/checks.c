/* Questions about all numbers of an array. */

#include "pool.c"

#include <stdatomic.h>
#include <string.h>

typedef struct {
    const char *data;
    bool wide; /* double precision */
    _Atomic bool found;
} Check;

/* An exponent of ones alone is that of infinity and of what is no number. */
static void
look_for_infinity(void *context, int64_t begin, int64_t end)
{
    Check *check = context;
    uint64_t some = 0;
    if (check->wide) {
        const uint64_t *bits = (const uint64_t *)check->data, ones = UINT64_C(0x7ff) << 52;
        for (int64_t i = begin; i < end; i++) {
            some |= (bits[i] & ones) == ones;
        }
    }
    else {
        const uint32_t *bits = (const uint32_t *)check->data, ones = UINT32_C(0xff) << 23;
        for (int64_t i = begin; i < end; i++) {
            some |= (bits[i] & ones) == ones;
        }
    }
    if (some != 0) {
        check->found = true;
    }
}

/* `is_finite(array)`: whether all its numbers are finite. */
static PyObject *
is_finite(PyObject *module, PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_Check(object) || !is_plain(array, PyArray_TYPE(array))) {
        return refuse("is_finite");
    }
    Check check = {.data = PyArray_BYTES(array), .wide = PyArray_TYPE(array) == NPY_DOUBLE};
    Py_BEGIN_ALLOW_THREADS;
    pool_run(look_for_infinity, &check, PyArray_SIZE(array), 1 << 16);
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(!check.found);
}
