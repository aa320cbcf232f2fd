/* Few elements of any type side by side, and with a border: NOTE [Small] in `small.c`. */

#include "few.h"

#include <math.h>

/* An array of few elements in plain memory, none of them an object, or NULL. */
static PyArrayObject *
few_elements(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    bool plain = PyArray_CheckExact(object) && PyArray_ISCARRAY_RO(array) &&
                 !PyDataType_REFCHK(PyArray_DESCR(array));
    return plain && PyArray_SIZE(array) > 0 && PyArray_SIZE(array) <= FEW ? array : NULL;
}

/* Arrays of one type one after another along `dim`, a new axis if `stacked`. */
static PyObject *
joined(const Given *all, bool stacked)
{
    PyArrayObject *first = few_elements(all->args[0]), *out;
    PyObject *number = given(all, all->count, text_dim);
    long dim = PyLong_CheckExact(number) ? PyLong_AsLong(number) : -1;
    int dims = first == NULL ? 0 : PyArray_NDIM(first);
    npy_intp shape[NPY_MAXDIMS + 1], length = 0, before = 1, after;
    if (first == NULL || dim < 0 || dim >= dims + stacked || dims + stacked > NPY_MAXDIMS) {
        PyErr_Clear();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < all->count; i++) {
        PyArrayObject *each = few_elements(all->args[i]);
        if (each == NULL || PyArray_DESCR(each) != PyArray_DESCR(first) ||
            PyArray_NDIM(each) != dims) {
            return NULL;
        }
        for (int d = 0; d < dims; d++) {
            if ((stacked || d != dim) && PyArray_DIM(each, d) != PyArray_DIM(first, d)) {
                return NULL;
            }
        }
        length += stacked ? 1 : PyArray_DIM(each, dim);
    }
    for (int d = 0; d < dims + stacked; d++) {
        shape[d] = d == dim ? length : PyArray_DIM(first, d - (stacked && d > dim));
        before *= d < dim ? shape[d] : 1;
    }
    Py_INCREF(PyArray_DESCR(first));
    out = (PyArrayObject *)PyArray_SimpleNewFromDescr(dims + stacked, shape, PyArray_DESCR(first));
    if (out == NULL) {
        return NULL;
    }
    npy_intp row = PyArray_NBYTES(out) / before, at = 0;
    for (Py_ssize_t i = 0; i < all->count; i++, at += after) {
        PyArrayObject *each = (PyArrayObject *)all->args[i];
        after = PyArray_NBYTES(each) / before;
        for (npy_intp k = 0; k < before; k++) {
            memcpy(PyArray_BYTES(out) + k * row + at, PyArray_BYTES(each) + k * after,
                   (size_t)after);
        }
    }
    return (PyObject *)out;
}

/* `cat(*arrays, dim)`. */
static PyObject *
small_cat(const Given *all)
{
    return joined(all, false);
}

/* `stack(*arrays, dim)`. */
static PyObject *
small_stack(const Given *all)
{
    return joined(all, true);
}

/* Read pairs of widths, (before, after) for each axis, none of them negative. */
static bool
read_widths(PyObject *widths, int dims, npy_intp (*to)[2])
{
    bool fits = PyTuple_CheckExact(widths) && PyTuple_GET_SIZE(widths) == dims;
    for (int d = 0; fits && d < dims; d++) {
        PyObject *pair = PyTuple_GET_ITEM(widths, d);
        fits = PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2;
        for (int side = 0; fits && side < 2; side++) {
            PyObject *width = PyTuple_GET_ITEM(pair, side);
            to[d][side] = PyLong_CheckExact(width) ? PyLong_AsSsize_t(width) : -1;
            fits = 0 <= to[d][side] && to[d][side] <= FEW;
        }
    }
    PyErr_Clear();
    return fits;
}

/* `pad(x, widths, value)` of real numbers. */
static PyObject *
small_pad(const Given *all)
{
    PyArrayObject *x = few(all->args[0]), *out;
    PyObject *value = given(all, 2, text_value);
    npy_intp widths[NPY_MAXDIMS][2], shape[NPY_MAXDIMS], size = 1, at = 0;
    int dims = x == NULL ? 0 : PyArray_NDIM(x);
    if (dims == 0 || !read_widths(given(all, 1, text_widths), dims, widths) ||
        !(PyFloat_CheckExact(value) || PyLong_CheckExact(value))) {
        return NULL;
    }
    double fill = PyFloat_AsDouble(value);
    for (int d = 0; d < dims; d++) {
        shape[d] = PyArray_DIM(x, d) + widths[d][0] + widths[d][1];
        size *= size > FEW ? 1 : shape[d];
    }
    if (PyErr_Occurred() || !(fabs(fill) <= 65504) || size > FEW) {
        PyErr_Clear();
        return NULL;
    }
    out = (PyArrayObject *)PyArray_SimpleNew(dims, shape, PyArray_TYPE(x));
    if (out == NULL) {
        return NULL;
    }
    for (npy_intp i = 0; i < size; i++) {
        if (is_wide(x)) {
            ((double *)PyArray_DATA(out))[i] = fill;
        }
        else {
            ((float *)PyArray_DATA(out))[i] = (float)fill;
        }
    }
    npy_intp row = PyArray_DIM(x, dims - 1), item = PyArray_ITEMSIZE(x);
    for (npy_intp i = 0; i < PyArray_SIZE(x) / row; i++) {
        npy_intp rest = i, step = shape[dims - 1];
        at = widths[dims - 1][0];
        for (int d = dims - 2; d >= 0; d--) {
            at += (rest % PyArray_DIM(x, d) + widths[d][0]) * step;
            rest /= PyArray_DIM(x, d);
            step *= shape[d];
        }
        memcpy(PyArray_BYTES(out) + at * item, PyArray_BYTES(x) + i * row * item,
               (size_t)(row * item));
    }
    return (PyObject *)out;
}
