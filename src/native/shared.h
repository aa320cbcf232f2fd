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
enum { ALONE = -1 };                 /* as in `engine/op.py` */
enum { FITS_NEVER, FITS_DTYPES, FITS_SHAPES };

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* What the engine hands over in `setup`. */
static PyTypeObject *Tensor, *Node;
static PyObject *as_array, *scalar_array, *raw, *fit, *numbers, *freed, *arrays, *reals, *modes,
    *add, *zero;
static PyObject *text_special, *text_inference_seen, *text_is_inference, *text_cells;
static PyObject *text_grad, *text_acquire, *text_release, *text_bump, *writer;

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
    Py_ssize_t last;
} of_cell;
static struct {
    Py_ssize_t tensor, lock;
} of_leaf;

static bool
default_modes(void)
{
    return PyDict_GetItemWithError(modes, text_special) == zero;
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

#endif
