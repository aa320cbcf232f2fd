/* Updates of many tensors at once, as `engine/updates.py`. */

#include "shared.h"

/* `all_plain(tensors)`: whether the memory of all tensors in a list is plain. */
static PyObject *
all_plain(PyObject *module, PyObject *tensors)
{
    if (Tensor == NULL) {
        return in_python(all_plain_in_python, &tensors, 1, NULL);
    }
    bool plain = PyList_Check(tensors);
    for (Py_ssize_t i = 0; plain && i < PyList_GET_SIZE(tensors); i++) {
        PyObject *tensor = PyList_GET_ITEM(tensors, i);
        PyObject *array = is_a(tensor, Tensor) ? SLOT(tensor, of_tensor.array) : NULL;
        plain =
            array != NULL && PyArray_CheckExact(array) && PyArray_ISCARRAY((PyArrayObject *)array);
    }
    return PyBool_FromLong(plain);
}

/* Count a write, (number, name), to what may be a tensor; `plain` says that the modes are the default
   ones and were so always. */
static int
wrote_at(PyObject *tensor, PyObject *number, PyObject *write, bool plain)
{
    if (!is_a(tensor, Tensor)) {
        return 0;
    }
    PyObject *cell = plain ? cell_of(tensor) : NULL;
    int failed = cell == NULL ? 1 : count_in(cell, number, write);
    Py_XDECREF(cell);
    if (PyErr_Occurred()) {
        return -1;
    }
    return failed > 0 ? wrote(tensor, PyTuple_GET_ITEM(write, 1)) : failed;
}

/* `wrote_all(params, state, by)`: what is written at one moment has one number. */
static PyObject *
count_writes(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (Tensor == NULL) {
        return in_python(wrote_all_in_python, args, count, NULL);
    }
    if (count != 3 || !PyDict_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "wrote_all takes tensors, a dictionary, and who wrote");
        return NULL;
    }
    PyObject *params = PySequence_Fast(args[0], "wrote_all takes a list of tensors");
    if (params == NULL) {
        return NULL;
    }
    bool plain = PyDict_GetItemWithError(modes, text_special) == zero &&
                 PyList_GET_SIZE(inference_seen) == 0;
    PyObject *number = tick(), *name, *value;
    PyObject *write = number == NULL ? NULL : PyTuple_Pack(2, number, args[2]);
    int failed = write == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; failed == 0 && i < PySequence_Fast_GET_SIZE(params); i++) {
        PyObject *p = Py_NewRef(PySequence_Fast_GET_ITEM(params, i)), *own = NULL;
        PyObject *grad = PyObject_GetAttr(p, text_grad);
        if (grad != NULL && grad != Py_None) {
            failed = wrote_at(p, number, write, plain);
            own = Py_XNewRef(PyDict_GetItemWithError(args[1], p));
        }
        if (own != NULL && PyDict_Check(own)) {
            for (Py_ssize_t at = 0; failed == 0 && PyDict_Next(own, &at, &name, &value);) {
                Py_INCREF(value);
                failed = wrote_at(value, number, write, plain);
                Py_DECREF(value);
            }
        }
        failed = failed == 0 && PyErr_Occurred() ? -1 : failed;
        Py_XDECREF(grad);
        Py_XDECREF(own);
        Py_DECREF(p);
    }
    Py_DECREF(params);
    Py_XDECREF(number);
    Py_XDECREF(write);
    return failed < 0 ? NULL : Py_NewRef(Py_None);
}
