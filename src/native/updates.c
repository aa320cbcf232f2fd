/* Updates of many tensors at once, as `engine/updates.py`. */

#include "shared.h"

/* `all_plain(tensors)`: whether the memory of all tensors in a list is plain. */
static PyObject *
all_plain(PyObject *module, PyObject *tensors)
{
    bool plain = PyList_Check(tensors);
    for (Py_ssize_t i = 0; plain && i < PyList_GET_SIZE(tensors); i++) {
        PyObject *tensor = PyList_GET_ITEM(tensors, i);
        PyObject *array = is_a(tensor, Tensor) ? SLOT(tensor, of_tensor.array) : NULL;
        plain =
            array != NULL && PyArray_CheckExact(array) && PyArray_ISCARRAY((PyArrayObject *)array);
    }
    return PyBool_FromLong(plain);
}

/* Count a write to a tensor, (number, name), or to those in a dictionary. */
static int
wrote_within(PyObject *each, PyObject *number, PyObject *write)
{
    int failed = 0;
    if (is_a(each, Tensor)) {
        bool plain = PyDict_GetItemWithError(modes, text_special) == zero && !is_inference(each);
        PyObject *cell = plain ? cell_of(each) : NULL;
        failed = cell == NULL ? 1 : count_in(cell, number, write);
        Py_XDECREF(cell);
        if (PyErr_Occurred()) {
            return -1;
        }
        return failed > 0 ? wrote(each, PyTuple_GET_ITEM(write, 1)) : failed;
    }
    if (PyDict_Check(each)) {
        PyObject *name, *value;
        for (Py_ssize_t place = 0; failed == 0 && PyDict_Next(each, &place, &name, &value);) {
            Py_INCREF(value);
            failed = wrote_within(value, number, write);
            Py_DECREF(value);
        }
    }
    return failed;
}

/* `wrote_all(written, by)`: what is written at one moment has one number. */
static PyObject *
count_writes(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !PyList_Check(args[0]) || wrote_in_python == NULL) {
        PyErr_SetString(PyExc_TypeError, "wrote_all takes a list, and who wrote what is in it");
        return NULL;
    }
    PyObject *number = tick();
    PyObject *write = number == NULL ? NULL : PyTuple_Pack(2, number, args[1]);
    int failed = write == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; failed == 0 && i < PyList_GET_SIZE(args[0]); i++) {
        PyObject *each = Py_NewRef(PyList_GET_ITEM(args[0], i));
        failed = wrote_within(each, number, write);
        Py_DECREF(each);
    }
    Py_XDECREF(number);
    Py_XDECREF(write);
    return failed < 0 ? NULL : Py_NewRef(Py_None);
}
