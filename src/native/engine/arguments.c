/* Arguments that say shapes and places, in the plain case: Python's own integers, all in range.

   What is none of these goes to the twin in Python, which knows other integers and the errors. */

#include "shared.h"

static PyObject *integers_in_python, *shape_of_in_python, *resolve_shape_in_python,
    *normalize_dim_in_python, *usual_key_in_python;

/* The integers given as several arguments or as one sequence, each at least `least`; NULL without an
   error where that is not what they are. */
static PyObject *
integers_in(PyObject *const *items, Py_ssize_t count, long long least)
{
    if (count == 1 && (PyTuple_Check(items[0]) || PyList_CheckExact(items[0]))) {
        count = PySequence_Fast_GET_SIZE(items[0]);
        items = PySequence_Fast_ITEMS(items[0]);
    }
    else if (count == 0) {
        return NULL;
    }
    if (count > NPY_MAXDIMS) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        long long n;
        if (!is_integer(items[i], &n) || n < least) {
            return NULL;
        }
    }
    PyObject *found = PyTuple_New(count);
    for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
        PyTuple_SET_ITEM(found, i, Py_NewRef(items[i]));
    }
    return found;
}

static PyObject *
plain_integers(PyObject *values, long long least)
{
    bool known = PyTuple_CheckExact(values);
    return known ? integers_in(&PyTuple_GET_ITEM(values, 0), PyTuple_GET_SIZE(values), least)
                 : NULL;
}

/* `dims.integers(values, name, argument="shape")`. */
static PyObject *
read_integers(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    PyObject *found =
        kwnames == NULL && (count == 2 || count == 3) ? plain_integers(args[0], LLONG_MIN) : NULL;
    return found != NULL || PyErr_Occurred() ? found
                                             : in_python(integers_in_python, args, count, kwnames);
}

/* `factories.shape_of(given, name)`. */
static PyObject *
read_shape_of(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    PyObject *found = kwnames == NULL && count == 2 ? plain_integers(args[0], 0) : NULL;
    return found != NULL || PyErr_Occurred() ? found
                                             : in_python(shape_of_in_python, args, count, kwnames);
}

/* A shape whose only -1 is replaced by what `size` elements need; NULL without an error where that
   does not give so many elements. */
static PyObject *
fitted(PyObject *shape, long long size)
{
    long long known = 1, n;
    Py_ssize_t open = -1, dims = PyTuple_GET_SIZE(shape);
    for (Py_ssize_t i = 0; i < dims; i++) {
        if (!is_integer(PyTuple_GET_ITEM(shape, i), &n) || n < -1 || (n == -1 && open >= 0)) {
            return NULL;
        }
        if (n == -1) {
            open = i;
        }
        else if (n != 0 && known > size / n) { /* too many, or none at all */
            return NULL;
        }
        else {
            known *= n;
        }
    }
    if (open < 0) {
        return known == size ? Py_NewRef(shape) : NULL;
    }
    if (known == 0 || size % known != 0) {
        return NULL;
    }
    PyObject *found = PyTuple_New(dims);
    for (Py_ssize_t i = 0; found != NULL && i < dims; i++) {
        PyObject *each =
            i == open ? PyLong_FromLongLong(size / known) : Py_NewRef(PyTuple_GET_ITEM(shape, i));
        if (each == NULL) {
            Py_CLEAR(found);
            return NULL;
        }
        PyTuple_SET_ITEM(found, i, each);
    }
    return found;
}

/* `dims.resolve_shape(shape, size)`. */
static PyObject *
read_resolved(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    long long size;
    bool plain = kwnames == NULL && count == 2 && PyTuple_CheckExact(args[0]) &&
                 is_integer(args[1], &size) && size >= 0;
    PyObject *found = plain ? fitted(args[0], size) : NULL;
    return found != NULL || PyErr_Occurred()
               ? found
               : in_python(resolve_shape_in_python, args, count, kwnames);
}

/* `dims.normalize_dim(dim, ndim)`. */
static PyObject *
read_dim(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    long long dim, ndim;
    if (kwnames == NULL && count == 2 && is_integer(args[0], &dim) && is_integer(args[1], &ndim) &&
        -ndim <= dim && dim < ndim) {
        return dim < 0 ? PyLong_FromLongLong(dim + ndim) : Py_NewRef(args[0]);
    }
    return in_python(normalize_dim_in_python, args, count, kwnames);
}

static bool
is_bound(PyObject *object)
{
    return object == Py_None || PyLong_CheckExact(object);
}

/* How many items of a key count, up to the last that is not a whole dimension; -1 where one is no
   integer within bounds, nor a slice of integers by single steps, nor None. */
static Py_ssize_t
count_used(PyObject *shape, PyObject **items, Py_ssize_t count)
{
    Py_ssize_t used = 0, dim = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        long long place, size;
        if (items[i] == Py_None) {
            used = i + 1;
            continue;
        }
        if (dim == PyTuple_GET_SIZE(shape) || !is_integer(PyTuple_GET_ITEM(shape, dim++), &size)) {
            return -1;
        }
        if (PySlice_Check(items[i])) {
            PySliceObject *slice = (PySliceObject *)items[i];
            if (slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None) {
                continue;
            }
            if (!is_bound(slice->start) || !is_bound(slice->stop) ||
                !(slice->step == Py_None || slice->step == one)) {
                return -1;
            }
        }
        else if (!is_integer(items[i], &place) || place < -size || place >= size) {
            return -1;
        }
        used = i + 1;
    }
    return used;
}

/* `keys.usual_key(shape, key)`. */
static PyObject *
read_key(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    if (kwnames == NULL && count == 2 && PyTuple_CheckExact(args[0])) {
        PyObject *shape = args[0], *key = args[1];
        bool several = PyTuple_CheckExact(key);
        PyObject **items = several ? PySequence_Fast_ITEMS(key) : &key;
        Py_ssize_t length = several ? PyTuple_GET_SIZE(key) : 1;
        Py_ssize_t used = count_used(shape, items, length);
        if (used >= 0) {
            return several ? PyTuple_GetSlice(key, 0, used) : as_tuple(items, used);
        }
    }
    return in_python(usual_key_in_python, args, count, kwnames);
}
