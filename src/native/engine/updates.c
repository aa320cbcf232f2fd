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

/* The array of a tensor, or of what stands for one. */
static PyObject *
array_of(PyObject *tensor)
{
    return held_by(tensor, Tensor, of_tensor.array, text_array);
}

/* The arrays of a state under those of `names` that it has, or None: see `gather`. */
static PyObject *
arrays_under(PyObject *own, PyObject *names)
{
    Py_ssize_t count = PyTuple_GET_SIZE(names);
    if (count > 0 && (own == NULL || PyDict_GET_SIZE(own) == 0)) {
        return Py_NewRef(Py_None);
    }
    PyObject *arrays = PyList_New(0);
    for (Py_ssize_t i = 0; arrays != NULL && i < count; i++) {
        PyObject *value = PyDict_GetItemWithError(own, PyTuple_GET_ITEM(names, i)), *array = NULL;
        if (value != NULL) {
            Py_INCREF(value);
            array = array_of(value);
            Py_DECREF(value);
        }
        if (PyErr_Occurred() || (array != NULL && PyList_Append(arrays, array) < 0)) {
            Py_CLEAR(arrays);
        }
        Py_XDECREF(array);
    }
    return arrays;
}

/* What a step needs of one tensor; None where it has no gradient. */
static PyObject *
gather(PyObject *p, PyObject *state, PyObject *names)
{
    PyObject *grad = PyObject_GetAttr(p, text_grad), *x = NULL, *g = NULL, *arrays = NULL, *all;
    if (grad == NULL || grad == Py_None) {
        return grad;
    }
    PyObject *own = Py_XNewRef(PyDict_GetItemWithError(state, p));
    if (own != NULL && !PyDict_Check(own)) {
        PyErr_Format(PyExc_TypeError, "the state of a parameter is a dict, not %R", own);
    }
    if (!PyErr_Occurred() && (x = array_of(p)) != NULL && (g = array_of(grad)) != NULL) {
        arrays = arrays_under(own, names);
    }
    all = arrays == NULL ? NULL : PyTuple_Pack(4, p, x, g, arrays);
    Py_DECREF(grad);
    Py_XDECREF(own);
    Py_XDECREF(x);
    Py_XDECREF(g);
    Py_XDECREF(arrays);
    return all;
}

/* `gathered(params, state, names)`. */
static PyObject *
gather_all(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (Tensor == NULL) {
        return in_python(gathered_in_python, args, count, NULL);
    }
    if (count != 3 || !PyDict_Check(args[1]) || !PyTuple_Check(args[2])) {
        PyErr_SetString(PyExc_TypeError, "gathered takes tensors, a dictionary, and a tuple");
        return NULL;
    }
    PyObject *params = PySequence_Fast(args[0], "gathered takes a list of tensors");
    PyObject *found = params == NULL ? NULL : PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < PySequence_Fast_GET_SIZE(params); i++) {
        PyObject *p = Py_NewRef(PySequence_Fast_GET_ITEM(params, i));
        PyObject *one = gather(p, args[1], args[2]);
        if (one == NULL || (one != Py_None && PyList_Append(found, one) < 0)) {
            Py_CLEAR(found);
        }
        Py_XDECREF(one);
        Py_DECREF(p);
    }
    Py_XDECREF(params);
    return found;
}

/* The array of a count of steps in a state; NULL, maybe with an error, where it is no plain number.
   A look-up may run code of the user's, so what it is made in is held meanwhile. */
static PyArrayObject *
step_of(PyObject *one, PyObject *state)
{
    PyObject *p = PyTuple_Check(one) && PyTuple_GET_SIZE(one) > 0 ? PyTuple_GET_ITEM(one, 0) : NULL;
    PyObject *own = p == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(state, p));
    PyObject *step =
        own == NULL || !PyDict_Check(own) ? NULL : PyDict_GetItemWithError(own, text_step);
    PyObject *held =
        step == NULL || !is_a(step, Tensor) ? NULL : Py_XNewRef(SLOT(step, of_tensor.array));
    Py_XDECREF(own);
    PyArrayObject *array = (PyArrayObject *)held;
    if (held == NULL || !PyArray_CheckExact(held) || PyArray_NDIM(array) != 0 ||
        !PyArray_ISCARRAY(array) ||
        (PyArray_TYPE(array) != NPY_FLOAT && PyArray_TYPE(array) != NPY_DOUBLE)) {
        Py_CLEAR(held);
    }
    return (PyArrayObject *)held;
}

/* `counted(every, state)`. */
static PyObject *
count_steps(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    bool plain =
        Tensor != NULL && count == 2 && PyList_CheckExact(args[0]) && PyDict_Check(args[1]);
    for (Py_ssize_t i = 0; plain && i < PyList_GET_SIZE(args[0]); i++) {
        PyArrayObject *array = step_of(PyList_GET_ITEM(args[0], i), args[1]);
        plain = array != NULL;
        Py_XDECREF(array);
    }
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (!plain) {
        return in_python(counted_in_python, args, count, NULL);
    }
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < PyList_GET_SIZE(args[0]); i++) {
        PyArrayObject *array = step_of(PyList_GET_ITEM(args[0], i), args[1]);
        double now = 0;
        if (array == NULL) { /* another thread changed it meanwhile */
            PyErr_SetString(PyExc_RuntimeError, "the state of an optimizer changes during a step");
        }
        else if (PyArray_TYPE(array) == NPY_FLOAT) {
            now = *(float *)PyArray_DATA(array) += 1;
        }
        else {
            now = *(double *)PyArray_DATA(array) += 1;
        }
        Py_XDECREF(array);
        PyObject *number = PyErr_Occurred() ? NULL : PyFloat_FromDouble(now);
        if (number == NULL || PyList_Append(found, number) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(number);
    }
    return found;
}

/* Whether an array is NumPy's, of a dtype, and has no more than `most` elements. */
static bool
is_small(PyObject *object, PyArray_Descr *dtype, Py_ssize_t most)
{
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_DESCR(array) == dtype &&
           PyArray_SIZE(array) <= most;
}

/* `are_small(every, most)`. */
static PyObject *
find_small(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (Tensor == NULL || count != 2 || !PyList_CheckExact(args[0])) {
        return in_python(are_small_in_python, args, count, NULL);
    }
    Py_ssize_t most = PyLong_AsSsize_t(args[1]);
    if (most == -1 && PyErr_Occurred()) {
        return NULL;
    }
    PyArray_Descr *dtype = NULL;
    bool small = PyList_GET_SIZE(args[0]) > 0;
    for (Py_ssize_t i = 0; small && i < PyList_GET_SIZE(args[0]); i++) {
        PyObject *one = PyList_GET_ITEM(args[0], i);
        if (!PyTuple_Check(one) || PyTuple_GET_SIZE(one) != 4 ||
            !PyArray_CheckExact(PyTuple_GET_ITEM(one, 1)) ||
            !PyList_CheckExact(PyTuple_GET_ITEM(one, 3))) {
            Py_RETURN_FALSE;
        }
        PyObject *x = PyTuple_GET_ITEM(one, 1), *state = PyTuple_GET_ITEM(one, 3);
        dtype = dtype == NULL ? PyArray_DESCR((PyArrayObject *)x) : dtype;
        small =
            is_small(x, dtype, most) && is_small(PyTuple_GET_ITEM(one, 2), dtype, PY_SSIZE_T_MAX);
        for (Py_ssize_t k = 0; small && k < PyList_GET_SIZE(state); k++) {
            small = is_small(PyList_GET_ITEM(state, k), dtype, PY_SSIZE_T_MAX);
        }
    }
    return PyBool_FromLong(small && PyDataType_ISFLOAT(dtype));
}

enum { TOGETHER = 16, ARRAYS = 8 }; /* parts, and arrays of a part, at most */

/* Small arrays that are to be laid end to end: `at[i][k]` is array k of part i. */
typedef struct {
    PyArrayObject *at[TOGETHER][ARRAYS];
    Py_ssize_t parts, arrays;
    npy_intp total;
} Parts;

/* Whether no two of the arrays share memory. */
static bool
lie_apart(Parts *parts)
{
    char *starts[TOGETHER * ARRAYS],
        *ends[TOGETHER * ARRAYS]; /* sorted, as far as they are there */
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < parts->parts; i++) {
        for (Py_ssize_t k = 0; k < parts->arrays; k++, count++) {
            char *start = PyArray_BYTES(parts->at[i][k]);
            char *end = start + PyArray_NBYTES(parts->at[i][k]);
            Py_ssize_t place = count;
            for (; place > 0 && starts[place - 1] > start; place--) {
                starts[place] = starts[place - 1];
                ends[place] = ends[place - 1];
            }
            if ((place > 0 && ends[place - 1] > start) ||
                (place < count && starts[place + 1] < end)) {
                return false;
            }
            starts[place] = start;
            ends[place] = end;
        }
    }
    return true;
}

/* Find the arrays of what `gathered` gave, borrowed; false where they are not plain: of one real
   dtype, of one shape within a part, and apart from all others. */
static bool
find_parts(PyObject *list, Parts *parts)
{
    if (!PyList_CheckExact(list) || PyList_GET_SIZE(list) < 2 || PyList_GET_SIZE(list) > TOGETHER) {
        return false;
    }
    parts->parts = PyList_GET_SIZE(list);
    parts->total = 0;
    for (Py_ssize_t i = 0; i < parts->parts; i++) {
        PyObject *part = PyList_GET_ITEM(list, i);
        PyObject *state =
            PyTuple_Check(part) && PyTuple_GET_SIZE(part) == 4 ? PyTuple_GET_ITEM(part, 3) : NULL;
        if (state == NULL || !PyList_CheckExact(state)) {
            return false;
        }
        parts->arrays = i == 0 ? 2 + PyList_GET_SIZE(state) : parts->arrays;
        if (parts->arrays != 2 + PyList_GET_SIZE(state) || parts->arrays > ARRAYS) {
            return false;
        }
        for (Py_ssize_t k = 0; k < parts->arrays; k++) {
            PyObject *held = k < 2 ? PyTuple_GET_ITEM(part, k + 1) : PyList_GET_ITEM(state, k - 2);
            PyArrayObject *array = parts->at[i][k] = (PyArrayObject *)held;
            if (!PyArray_CheckExact(array) ||
                PyArray_DESCR(array) != PyArray_DESCR(parts->at[0][0]) ||
                !(k == 1 ? PyArray_ISCARRAY_RO(array) : PyArray_ISCARRAY(array)) ||
                !PyArray_SAMESHAPE(array, parts->at[i][0])) {
                return false;
            }
        }
        parts->total += PyArray_SIZE(parts->at[i][0]);
    }
    return PyTypeNum_ISFLOAT(PyArray_TYPE(parts->at[0][0])) && lie_apart(parts);
}

/* Copy array `k` of each part into `line`, or from there. */
static void
copy_parts(Parts *parts, Py_ssize_t k, PyObject *line, bool back)
{
    char *place = PyArray_BYTES((PyArrayObject *)line);
    for (Py_ssize_t i = 0; i < parts->parts; i++) {
        char *own = PyArray_BYTES(parts->at[i][k]);
        size_t bytes = (size_t)PyArray_NBYTES(parts->at[i][k]);
        memcpy(back ? own : place, back ? place : own, bytes);
        place += bytes;
    }
}

/* `run_each(run, some, *rest)`. */
static PyObject *
run_each(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Parts parts;
    if (Tensor == NULL || count != 4 || !find_parts(args[1], &parts)) {
        return in_python(run_each_in_python, args, count, NULL);
    }
    for (Py_ssize_t i = 0; i < parts.parts * parts.arrays; i++) {
        Py_INCREF(parts.at[i / parts.arrays][i % parts.arrays]);
    }
    PyObject *lines[ARRAYS], *done = NULL, *state = PyList_New(parts.arrays - 2);
    bool ready = state != NULL;
    for (Py_ssize_t k = 0; k < parts.arrays; k++) {
        lines[k] = ready ? PyArray_SimpleNew(1, &parts.total, PyArray_TYPE(parts.at[0][0])) : NULL;
        ready = lines[k] != NULL;
        if (ready) {
            copy_parts(&parts, k, lines[k], false);
        }
        if (ready && k > 1) {
            PyList_SET_ITEM(state, k - 2, Py_NewRef(lines[k]));
        }
    }
    if (ready) {
        PyObject *stack[6] = {NULL, lines[0], lines[1], state, args[2], args[3]};
        done = PyObject_Vectorcall(args[0], stack + 1, 5 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    }
    for (Py_ssize_t k = 0; k < parts.arrays; k++) {
        if (done != NULL && k != 1) {
            copy_parts(&parts, k, lines[k], true);
        }
        Py_XDECREF(lines[k]);
    }
    for (Py_ssize_t i = 0; i < parts.parts * parts.arrays; i++) {
        Py_DECREF(parts.at[i / parts.arrays][i % parts.arrays]);
    }
    Py_XDECREF(state);
    return done;
}

/* `in_arrays(numbers, dtype, other)`. */
static PyObject *
put_in_arrays(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int type = count == 3 && PyArray_DescrCheck(args[1]) ? ((PyArray_Descr *)args[1])->type_num : 0;
    if (Tensor == NULL || !PyTuple_CheckExact(args[0]) ||
        (type != NPY_FLOAT && type != NPY_DOUBLE)) {
        return in_python(in_arrays_in_python, args, count, NULL);
    }
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < PyTuple_GET_SIZE(args[0]); i++) {
        PyObject *number = PyTuple_GET_ITEM(args[0], i), *array;
        if (PyFloat_CheckExact(number) || PyLong_CheckExact(number)) {
            double value = PyFloat_AsDouble(number);
            array = PyErr_Occurred() ? NULL : PyArray_SimpleNew(0, NULL, type);
            if (array != NULL && type == NPY_FLOAT) {
                *(float *)PyArray_DATA((PyArrayObject *)array) = (float)value;
            }
            else if (array != NULL) {
                *(double *)PyArray_DATA((PyArrayObject *)array) = value;
            }
        }
        else {
            array = PyObject_CallFunctionObjArgs(args[2], number, args[1], NULL);
        }
        if (array == NULL || PyList_Append(found, array) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(array);
    }
    return found;
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
        PyObject *p = Py_NewRef(PySequence_Fast_GET_ITEM(params, i)), *own;
        failed = wrote_at(p, number, write, plain);
        own = Py_XNewRef(PyDict_GetItemWithError(args[1], p));
        if (own != NULL && PyDict_Check(own)) {
            for (Py_ssize_t at = 0; failed == 0 && PyDict_Next(own, &at, &name, &value);) {
                Py_INCREF(value);
                failed = wrote_at(value, number, write, plain);
                Py_DECREF(value);
            }
        }
        failed = failed == 0 && PyErr_Occurred() ? -1 : failed;
        Py_XDECREF(own);
        Py_DECREF(p);
    }
    Py_DECREF(params);
    Py_XDECREF(number);
    Py_XDECREF(write);
    return failed < 0 ? NULL : Py_NewRef(Py_None);
}
