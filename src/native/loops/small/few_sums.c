/* Sums of few numbers, and their adjoints: NOTE [Small] in `small.c`. */

#ifndef RETROGRAD_FEW_SUMS
#define RETROGRAD_FEW_SUMS

#include "few.h"

#include "../moments.c"

enum {
    TERMS = 256
}; /* of one sum: from here on single precision adds up errors, see `sums.MANY` */

#define ADD_ROWS(REAL)                                                                             \
    static void fold_rows_##REAL(const REAL *x, npy_intp n, npy_intp width, REAL *to)              \
    {                                                                                              \
        for (npy_intp i = 0; i < n; i++, x += width) {                                             \
            for (npy_intp j = 0; j < width; j++) {                                                 \
                to[j] += x[j];                                                                     \
            }                                                                                      \
        }                                                                                          \
    }

ADD_ROWS(float)
ADD_ROWS(double)

/* Many rows, so that they are short, in double precision. */
static void
fold_many_rows(const float *x, npy_intp n, npy_intp width, float *to)
{
    double sums[FEW / TERMS] = {0};
    for (npy_intp i = 0; i < n; i++, x += width) {
        for (npy_intp j = 0; j < width; j++) {
            sums[j] += (double)x[j];
        }
    }
    for (npy_intp j = 0; j < width; j++) {
        to[j] = (float)sums[j];
    }
}

/* Add `n` rows of `width` numbers, `times` over. */
static void
add_rows_of(bool wide, char *from, npy_intp times, npy_intp n, npy_intp width, char *to)
{
    npy_intp item = wide ? sizeof(double) : sizeof(float), steps[] = {0, item, 0};
    memset(to, 0, (size_t)(times * width * item));
    for (npy_intp i = 0; i < times; i++, from += n * width * item, to += width * item) {
        char *data[] = {to, from, to};
        if (width == 1) {
            add_inner[wide].function(data, &n, steps, add_inner[wide].data);
        }
        else if (wide) {
            fold_rows_double((double *)from, n, width, (double *)to);
        }
        else if (n >= TERMS) {
            fold_many_rows((float *)from, n, width, (float *)to);
        }
        else {
            fold_rows_float((float *)from, n, width, (float *)to);
        }
    }
}

static void
add_few(PyArrayObject *x, npy_intp times, npy_intp n, npy_intp width, PyArrayObject *out)
{
    add_rows_of(is_wide(x), PyArray_BYTES(x), times, n, width, PyArray_BYTES(out));
}

/* The sizes before, of, and behind axes that follow on each other, and the first; or false. */
static bool
read_axes(PyObject *axes, int dims, const npy_intp *shape, npy_intp *sizes, int *first)
{
    Py_ssize_t count = PyTuple_CheckExact(axes) ? PyTuple_GET_SIZE(axes) : 0;
    sizes[0] = sizes[1] = sizes[2] = 1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *axis = PyTuple_GET_ITEM(axes, i);
        long place = PyLong_CheckExact(axis) ? PyLong_AsLong(axis) : -1;
        *first = i == 0 ? (int)place : *first;
        if (place < 0 || place >= dims || place != *first + i) {
            PyErr_Clear();
            return false;
        }
    }
    for (int d = 0; count > 0 && d < dims; d++) {
        sizes[d < *first ? 0 : d < *first + count ? 1 : 2] *= shape[d];
    }
    return count > 0;
}

/* An uninitialised array for what is left of `x` without axes, or with these of one element; NULL
   with an error. */
static PyArrayObject *
new_without(PyArrayObject *x, PyObject *axes, int first, bool keep)
{
    npy_intp shape[NPY_MAXDIMS];
    int dims = 0;
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        if (d < first || d >= first + PyTuple_GET_SIZE(axes)) {
            shape[dims++] = PyArray_DIM(x, d);
        }
        else if (keep) {
            shape[dims++] = 1;
        }
    }
    return (PyArrayObject *)PyArray_SimpleNew(dims, shape, PyArray_TYPE(x));
}

/* `add_up(x, dim, keepdim)`. */
static PyObject *
small_sum_dim(const Given *all)
{
    PyArrayObject *x = few(all->args[0]), *out;
    PyObject *axes = given(all, 1, text_dim), *keep = given(all, 2, text_keepdim);
    npy_intp sizes[3];
    int first;
    if (x == NULL || !read_axes(axes, PyArray_NDIM(x), PyArray_DIMS(x), sizes, &first)) {
        return NULL;
    }
    out = new_without(x, axes, first, keep == Py_True);
    if (out != NULL) {
        add_few(x, sizes[0], sizes[1], sizes[2], out);
    }
    return (PyObject *)out;
}

static void
divide_few(PyArrayObject *x, double by)
{
    npy_intp n = PyArray_SIZE(x);
    for (npy_intp i = 0; i < n; i++) {
        if (is_wide(x)) {
            ((double *)PyArray_DATA(x))[i] /= by;
        }
        else {
            ((float *)PyArray_DATA(x))[i] /= (float)by;
        }
    }
}

/* `average(x, dim, keepdim)`, where `dim` may be None, for all. */
static PyObject *
small_average(const Given *all)
{
    PyArrayObject *x = few(all->args[0]), *out;
    PyObject *axes = given(all, 1, text_dim), *keep = given(all, 2, text_keepdim);
    npy_intp sizes[3] = {1, x == NULL ? 0 : PyArray_SIZE(x), 1};
    int first;
    if (x == NULL || (axes == Py_None && keep == Py_True)) {
        return NULL;
    }
    if (axes == Py_None) {
        out = (PyArrayObject *)PyArray_SimpleNew(0, NULL, PyArray_TYPE(x));
    }
    else if (read_axes(axes, PyArray_NDIM(x), PyArray_DIMS(x), sizes, &first)) {
        out = new_without(x, axes, first, keep == Py_True);
    }
    else {
        return NULL;
    }
    if (out != NULL) {
        add_few(x, sizes[0], sizes[1], sizes[2], out);
        divide_few(out, (double)sizes[1]);
    }
    return (PyObject *)out;
}

/* Squares of the distances from a mean for each row along an axis. */
static void
square_distances(const double *x, npy_intp times, npy_intp n, npy_intp width, const double *mean,
                 double *out)
{
    for (npy_intp i = 0; i < times; i++, mean += width) {
        for (npy_intp j = 0; j < n; j++, x += width, out += width) {
            for (npy_intp k = 0; k < width; k++) {
                out[k] = (x[k] - mean[k]) * (x[k] - mean[k]);
            }
        }
    }
}

/* `var(x, dim, correction, keepdim)`, or its square root. */
static PyObject *
spread_of(const Given *all, bool root)
{
    PyArrayObject *x = few(all->args[0]), *out;
    PyObject *axes = given(all, 1, text_dim), *keep = given(all, 3, text_keepdim);
    PyObject *correction = given(all, 2, text_correction);
    double squares[FEW];
    npy_intp sizes[3];
    int first;
    if (x == NULL || !read_axes(axes, PyArray_NDIM(x), PyArray_DIMS(x), sizes, &first) ||
        !(PyLong_CheckExact(correction) || PyFloat_CheckExact(correction))) {
        return NULL;
    }
    double less = PyFloat_AsDouble(correction), left = (double)sizes[1] - less;
    if (less == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return NULL;
    }
    out = new_without(x, axes, first, keep == Py_True);
    if (out == NULL) {
        return NULL;
    }
    left = left > 0 ? left : 0;
    if (!is_wide(x)) {
        Moments job = {.x = PyArray_DATA(x),
                       NULL,
                       NULL,
                       PyArray_DATA(out),
                       sizes[0],
                       sizes[1],
                       sizes[2],
                       1,
                       left,
                       root};
        if (sizes[2] == 1) { /* rows */
            job = (Moments){job.x, NULL, NULL, job.spread, 1, 1, sizes[0], sizes[1], left, root};
        }
        measure_some(&job, 0, pieces_of(&job));
        return (PyObject *)out;
    }
    double *spread = PyArray_DATA(out);
    npy_intp count = PyArray_SIZE(out);
    add_few(x, sizes[0], sizes[1], sizes[2], out);
    divide_few(out, (double)sizes[1]);
    square_distances(PyArray_DATA(x), sizes[0], sizes[1], sizes[2], spread, squares);
    add_rows_of(true, (char *)squares, sizes[0], sizes[1], sizes[2], (char *)spread);
    divide_few(out, left);
    for (npy_intp i = 0; root && i < count; i++) {
        spread[i] = sqrt(spread[i]);
    }
    return (PyObject *)out;
}

static PyObject *
small_var(const Given *all)
{
    return spread_of(all, false);
}

static PyObject *
small_std(const Given *all)
{
    return spread_of(all, true);
}

/* `sum(x)`. */
static PyObject *
small_sum(const Given *all)
{
    PyArrayObject *x = few(all->args[0]);
    PyObject *out = x == NULL ? NULL : PyArray_SimpleNew(0, NULL, PyArray_TYPE(x));
    if (out != NULL) {
        add_few(x, 1, PyArray_SIZE(x), 1, (PyArrayObject *)out);
    }
    return out;
}

/* The sizes in a tuple; how many, or -1 where they are none, or more than a few numbers. */
static int
read_shape(PyObject *tuple, npy_intp *shape)
{
    Py_ssize_t dims = PyTuple_Check(tuple) ? PyTuple_GET_SIZE(tuple) : NPY_MAXDIMS + 1;
    npy_intp size = 1;
    for (Py_ssize_t d = 0; dims <= NPY_MAXDIMS && d < dims; d++) {
        PyObject *n = PyTuple_GET_ITEM(tuple, d);
        shape[d] = PyLong_CheckExact(n) ? PyLong_AsSsize_t(n) : -1;
        if (shape[d] <= 0 || shape[d] > FEW || (size *= shape[d]) > FEW) {
            PyErr_Clear();
            return -1;
        }
    }
    return dims <= NPY_MAXDIMS ? (int)dims : -1;
}

/* `sum_to(x, shape)`, over the first axes. */
static PyObject *
small_sum_to(const Given *all)
{
    PyArrayObject *x = few(all->args[0]);
    npy_intp shape[NPY_MAXDIMS], n = 1;
    int dims = read_shape(given(all, 1, text_shape), shape);
    int lead = x == NULL || dims < 0 ? 0 : PyArray_NDIM(x) - dims;
    if (lead <= 0 || memcmp(shape, PyArray_DIMS(x) + lead, (size_t)dims * sizeof(*shape)) != 0) {
        return NULL;
    }
    for (int d = 0; d < lead; d++) {
        n *= PyArray_DIM(x, d);
    }
    PyObject *out = PyArray_SimpleNew(dims, shape, PyArray_TYPE(x));
    if (out != NULL) {
        add_few(x, 1, n, PyArray_SIZE(x) / n, (PyArrayObject *)out);
    }
    return out;
}

/* Repeat each of `times` rows of `width` numbers `n` times, the copies behind each other. */
static PyObject *
repeated(PyArrayObject *x, npy_intp times, npy_intp n, npy_intp width, int dims, npy_intp *shape)
{
    PyObject *out = PyArray_SimpleNew(dims, shape, PyArray_TYPE(x));
    size_t bytes = (size_t)(width * PyArray_ITEMSIZE(x));
    char *from = PyArray_BYTES(x);
    char *to = out == NULL ? NULL : PyArray_BYTES((PyArrayObject *)out);
    for (npy_intp i = 0; to != NULL && i < times; i++, from += bytes) {
        for (npy_intp k = 0; k < n; k++, to += bytes) {
            if (width == 1 && is_wide(x)) {
                *(double *)to = *(double *)from;
            }
            else if (width == 1) {
                *(float *)to = *(float *)from;
            }
            else {
                memcpy(to, from, bytes);
            }
        }
    }
    return out;
}

/* Not what a `layout.Turned` is the shape of. */
static bool
is_filled(PyObject *shape)
{
    return PyTuple_CheckExact(shape);
}

/* `spread(x, shape)` of one number. */
static PyObject *
small_spread(const Given *all)
{
    PyArrayObject *x = few(all->args[0]);
    npy_intp shape[NPY_MAXDIMS], size = 1;
    int dims = read_shape(given(all, 1, text_shape), shape);
    if (x == NULL || PyArray_NDIM(x) != 0 || dims < 0 || !is_filled(given(all, 1, text_shape))) {
        return NULL;
    }
    for (int d = 0; d < dims; d++) {
        size *= shape[d];
    }
    return repeated(x, 1, size, 1, dims, shape);
}

/* `unreduce(x, dim, keepdim, shape)`. */
static PyObject *
small_unreduce(const Given *all)
{
    PyArrayObject *x = few(all->args[0]);
    npy_intp sizes[3], shape[NPY_MAXDIMS];
    int first, dims = read_shape(given(all, 3, text_shape), shape);
    if (x == NULL || dims < 0 || !is_filled(given(all, 3, text_shape)) ||
        !read_axes(given(all, 1, text_dim), dims, shape, sizes, &first) ||
        PyArray_SIZE(x) != sizes[0] * sizes[2]) {
        return NULL;
    }
    return repeated(x, sizes[0], sizes[1], sizes[2], dims, shape);
}

#endif
