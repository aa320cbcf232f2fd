/* Leaves: a complete cotangent is added to `.grad`, as `backward.add_to_leaf`. */

#include "shared.h"

/* Add a complete cotangent to the leaf's `.grad`; the leaf's lock is held. */
static int
add_grad(PyObject *leaf, PyObject *g, bool borrowed)
{
    PyObject *before = PyObject_GetAttr(leaf, text_grad), *made = NULL;
    int failed = -1;
    if (before == NULL) {
        return -1;
    }
    if (before != Py_None) {
        PyObject *array = Py_NewRef(SLOT(before, of_tensor.array)),
                 *cell = SLOT(before, of_tensor.cell);
        PyObject *stack[4] = {NULL, array, g, array};
        made = PyObject_Vectorcall(add, stack + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        Py_DECREF(array);
        if (made != NULL) {
            failed = 0;
            if (cell != Py_None) {
                PyObject *counted = bump(cell, writer);
                failed = counted == NULL ? -1 : 0;
                Py_XDECREF(counted);
            }
            goto done;
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError)) {
            goto done;
        }
        PyErr_Clear(); /* the user's own .grad, read-only (an expanded view) */
        PyObject *fitted = PyObject_CallFunctionObjArgs(fit_leaf, leaf, g, NULL);
        made =
            fitted == NULL ? NULL : new_tensor(PyNumber_Add(SLOT(before, of_tensor.array), fitted));
        Py_XDECREF(fitted);
    }
    else if (borrowed || !PyArray_CheckExact(g) || PyArray_BASE((PyArrayObject *)g) != NULL) {
        made = new_tensor(
            PyArray_FromAny(g, NULL, 0, 0, NPY_ARRAY_ENSURECOPY | NPY_ARRAY_ENSUREARRAY, NULL));
    }
    else {
        made = new_tensor(Py_NewRef(g));
    }
    failed = made == NULL ? -1 : PyObject_SetAttr(leaf, text_grad, made);
done:
    Py_DECREF(before);
    Py_XDECREF(made);
    return failed;
}

/* Whether a cotangent has the shape and dtype of the leaf. */
static bool
fits_leaf(PyObject *leaf, PyObject *g)
{
    PyObject *array = SLOT(leaf, of_tensor.array);
    return array != NULL && PyArray_CheckExact(array) && PyArray_CheckExact(g) &&
           dtype_of(array) == dtype_of(g) &&
           PyArray_SAMESHAPE((PyArrayObject *)array, (PyArrayObject *)g);
}

/* Add a complete cotangent to the leaf's `.grad`, under the leaf's own lock. */
static int
accumulate(PyObject *node, PyObject *g, bool borrowed)
{
    PyObject *held = SLOT(node, of_node.saved), *lock = SLOT(held, of_leaf.lock);
    PyObject *leaf = PyObject_CallNoArgs(SLOT(held, of_leaf.tensor)), *type, *value, *traceback;
    if (leaf == NULL || leaf == Py_None || SLOT(leaf, of_tensor.node) != node) {
        Py_XDECREF(leaf);
        return leaf == NULL ? -1 : 0;
    }
    PyObject *fitted =
        fits_leaf(leaf, g) ? Py_NewRef(g) : PyObject_CallFunctionObjArgs(fit_leaf, leaf, g, NULL);
    PyObject *acquired = fitted == NULL ? NULL : PyObject_CallMethodNoArgs(lock, text_acquire);
    if (acquired == NULL) {
        Py_XDECREF(fitted);
        Py_DECREF(leaf);
        return -1;
    }
    int failed = add_grad(leaf, fitted, borrowed);
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *released = PyObject_CallMethodNoArgs(lock, text_release);
    if (failed) {
        PyErr_Restore(type, value, traceback);
    }
    failed |= released == NULL ? -1 : 0;
    Py_XDECREF(released);
    Py_DECREF(acquired);
    Py_DECREF(fitted);
    Py_DECREF(leaf);
    return failed;
}

static PyObject *
add_to_leaf(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError,
                        "add_to_leaf takes a leaf's node, a cotangent and whether it is borrowed");
        return NULL;
    }
    return accumulate(args[0], args[1], args[2] == Py_True) < 0 ? NULL : Py_NewRef(Py_None);
}
