/* Who overrides a call: NOTE [Who is asked] in `engine/overriding.py`. */

#include "shared.h"

static PyObject *intercept, *rearranged, *look_at, *passed, *overrides_nothing,
    *text_torch_function;
static int watched; /* whether a thread is in a mode that sees every call */

static bool
is_asked(PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    if (type == Tensor || type == &PyLong_Type || type == &PyFloat_Type || value == Py_None) {
        return false;
    }
    PyObject *found = _PyType_Lookup(type, text_torch_function); /* which CPython caches */
    return found != NULL && found != overrides_nothing;
}

enum { DATA = 64 }; /* a list that holds more is no shape */

/* Whether one of the arguments, or of what a list or tuple among them holds, is to be asked; a list
   that is longer than a shape is looked at as far as its first number. */
static bool
is_overridden(PyObject *const *args, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value = args[i];
        if (is_asked(value)) {
            return true;
        }
        if (PyTuple_Check(value) || PyList_Check(value)) {
            bool data = PyList_Check(value) && PyList_GET_SIZE(value) > DATA;
            for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(value); k++) {
                PyObject *item = PySequence_Fast_GET_ITEM(value, k);
                if (is_asked(item)) {
                    return true;
                }
                if (data && (PyLong_CheckExact(item) || PyFloat_CheckExact(item))) {
                    break;
                }
            }
        }
    }
    return false;
}

/* What `function`, one of `engine/`, makes of a call, and of its error if there is one. */
static PyObject *
hand_over(PyObject *function, PyObject *callable, PyObject *const *args, Py_ssize_t count,
          PyObject *kwnames, PyObject *error)
{
    PyObject *values = as_tuple(args, count), *result = NULL;
    PyObject *options = values == NULL ? NULL : as_dict(kwnames, args + count);
    if (options != NULL) {
        result = PyObject_CallFunctionObjArgs(function, callable, values, options, error, NULL);
    }
    Py_XDECREF(values);
    Py_XDECREF(options);
    return result;
}

/* What an override makes of a call; `passed`, a new reference, where there is none. */
static PyObject *
overridden(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    Py_ssize_t named = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    if (!watched && !is_overridden(args, count + named)) {
        return Py_NewRef(passed);
    }
    return hand_over(intercept, callable, args, count, kwnames, NULL);
}

static inline bool
is_flag(PyObject *value)
{
    return PyBool_Check(value);
}

static inline bool
is_number(PyObject *value)
{
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value);
}

static inline bool
is_whole(PyObject *value)
{
    long long n;
    return is_integer(value, &n);
}

/* Whether the arguments looked at are such values at once. */
static bool
are_such(const Looked *looked, bool (*is_such)(PyObject *), PyObject *const *args, Py_ssize_t count,
         PyObject *kwnames)
{
    Py_ssize_t named = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t i = 0; looked->places >> i && i < count; i++) {
        if ((looked->places >> i & 1) && !is_such(args[i]) &&
            !(args[i] == Py_None && (looked->open >> i & 1))) {
            return false;
        }
    }
    for (Py_ssize_t i = 0; looked->names != NULL && i < named; i++) {
        PyObject *value = args[count + i], *name = PyTuple_GET_ITEM(kwnames, i);
        if (!is_such(value) && PySet_Contains(looked->names, name) != 0 &&
            !(value == Py_None && PySet_Contains(looked->optional, name) > 0)) {
            PyErr_Clear();
            return false;
        }
    }
    return true;
}

/* Whether flags are flags, numbers numbers and integers integers: NOTE [Other names] in
   `engine/naming.py`, rule 6. */
static bool
are_plain(const Looked *looked, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    return are_such(&looked[0], is_flag, args, count, kwnames) &&
           are_such(&looked[1], is_number, args, count, kwnames) &&
           are_such(&looked[2], is_whole, args, count, kwnames);
}

/* Call what users see with arguments and options in a pair, which is given away, NULL with an error. */
static PyObject *
call_as(PyObject *callable, PyObject *pair)
{
    PyObject *values, *options, *result = NULL;
    if (pair != NULL &&
        PyArg_ParseTuple(pair, "O!O!", &PyTuple_Type, &values, &PyDict_Type, &options)) {
        result = PyObject_Call(callable, values, options);
    }
    Py_XDECREF(pair);
    return result;
}

/* Call a function that did not take its arguments again, if it takes them by other names: NOTE
   [Other names] in `engine/naming.py`. The error is set, and stays so where it does not. Users see
   the function as `callable`. */
static PyObject *
call_rearranged(PyObject *callable, PyObject *function, PyObject *const *args, Py_ssize_t count,
                PyObject *kwnames)
{
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    PyObject *again = hand_over(rearranged, function, args, count, kwnames, error);
    if (again == Py_None) {
        Py_DECREF(again);
        PyErr_Restore(type, error, trace);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    return call_as(callable, again);
}

static PyObject *
watch(PyObject *module, PyObject *on)
{
    int told = PyObject_IsTrue(on);
    if (told < 0) {
        return NULL;
    }
    watched = told;
    Py_RETURN_NONE;
}
