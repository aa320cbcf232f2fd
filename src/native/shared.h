/* What callers and the backward pass share: the engine's classes, and how to read them. */

#ifndef RETROGRAD_SHARED
#define RETROGRAD_SHARED

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

enum { MOST = 6, MOST_VALUES = 32 }; /* inputs, saved values, parameters of an op; node's values */
enum { KEPT = 7 };                   /* as in `engine/graph.py` */
enum { LONGEST = 4 };                /* as in `engine/views.py` */
enum { ALONE = -1 };                 /* as in `engine/op.py` */
enum { FITS_NEVER, FITS_DTYPES, FITS_SHAPES }; /* as in `engine/callers.py` */
enum { NO_VIEW, VIEW, MAYBE_VIEW };
enum { PLAIN = 1, JOINED, VARIADIC }; /* as in `engine/graph.py` */
enum { DEFAULT, UNRECORDED, OTHER };  /* as in `modes.py` */

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* What the engine hands over in `setup`. */
static PyTypeObject *Tensor, *Node, *Cell, *View;
static PyObject *as_array, *scalar_array, *raw, *fit, *numbers, *freed, *arrays, *reals, *modes,
    *add, *zero, *state, *refused, *output_kind, *bump_in_python, *one;
static PyObject *text_kind, *text_view_of, *text_views, *text_plain, *text_no_grad;
static PyObject *text_multi, *text_layout, *text_outputs, *text_materialize;
static PyObject *text_special, *text_inference_seen, *text_is_inference, *text_cells;
static PyObject *text_grad, *text_acquire, *text_release, *writer;

static struct {
    Py_ssize_t array, cell, node;
} of_tensor;
static struct {
    Py_ssize_t op, seq, edges, saved, params, shape, dtype, hooks, cell, fits;
} of_node;
static struct {
    Py_ssize_t formulas, takes, ordinary;
} of_kind;
static struct {
    Py_ssize_t last, version, writes;
} of_cell;
static struct {
    Py_ssize_t base, path, origin, trace, roots;
} of_view;
static struct {
    Py_ssize_t tensor, lock;
} of_leaf;

/* Whether the calling thread is in the default modes, in no_grad alone, or in another mode. */
static long
current_modes(void)
{
    if (PyDict_GetItemWithError(modes, text_special) == zero) {
        return DEFAULT;
    }
    PyObject *found = PyObject_GetAttr(state, text_kind);
    long kind = found == NULL ? OTHER : PyLong_AsLong(found);
    Py_XDECREF(found);
    PyErr_Clear();
    return kind;
}

static bool
has_shape(PyObject *array, PyObject *shape)
{
    int ndim = PyArray_NDIM((PyArrayObject *)array);
    npy_intp *dims = PyArray_DIMS((PyArrayObject *)array);
    if (shape == NULL || !PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) != ndim) {
        return false;
    }
    for (int i = 0; i < ndim; i++) {
        PyObject *n = PyTuple_GET_ITEM(shape, i);
        if (!PyLong_CheckExact(n) || PyLong_AsSsize_t(n) != dims[i]) {
            return false;
        }
    }
    return true;
}

static PyObject *
shape_of(PyObject *array)
{
    return PyArray_IntTupleFromIntp(PyArray_NDIM((PyArrayObject *)array),
                                    PyArray_DIMS((PyArrayObject *)array));
}

static PyObject *
dtype_of(PyObject *array)
{
    return (PyObject *)PyArray_DESCR((PyArrayObject *)array);
}

/* A tensor without history around an array, whose reference it takes. */
static PyObject *
new_tensor(PyObject *array)
{
    PyObject *made = array == NULL ? NULL : Tensor->tp_alloc(Tensor, 0);
    if (made == NULL) {
        Py_XDECREF(array);
        return NULL;
    }
    SLOT(made, of_tensor.array) = array;
    SLOT(made, of_tensor.cell) = Py_NewRef(Py_None);
    SLOT(made, of_tensor.node) = Py_NewRef(Py_None);
    return made;
}

/* Swap two items of a list. */
static void
swap(PyObject *list, Py_ssize_t i, Py_ssize_t j)
{
    PyObject *first = PyList_GET_ITEM(list, i);
    PyList_SET_ITEM(list, i, PyList_GET_ITEM(list, j));
    PyList_SET_ITEM(list, j, first);
}

#endif
