/* Views: what ties one to its base, as `record.link_views` and `engine/views.py`. */

#include "shared.h"

/* Whether a tensor was made in inference mode; -1 with an error. */
static int
is_inference(PyObject *tensor)
{
    if (PyDict_GetItemWithError(modes, text_inference_seen) != Py_True) {
        return false;
    }
    PyObject *found = PyObject_GetAttr(tensor, text_is_inference);
    int result = found == NULL ? -1 : found == Py_True;
    Py_XDECREF(found);
    return result;
}

/* What owns the memory of an array. */
static PyObject *
owner(PyObject *array)
{
    while (PyArray_CheckExact(array) && PyArray_BASE((PyArrayObject *)array) != NULL) {
        array = PyArray_BASE((PyArrayObject *)array);
    }
    return array;
}

static bool
shares(PyObject *x, PyObject *y)
{
    return PyArray_SIZE((PyArrayObject *)x) == 0 || owner(x) == owner(y);
}

/* The version cell of a tensor, borrowed; made now if there is none. */
static PyObject *
cell_of(PyObject *tensor)
{
    PyObject *cell = SLOT(tensor, of_tensor.cell), *node;
    if (cell != Py_None) {
        return cell;
    }
    PyObject *made = Cell->tp_alloc(Cell, 0), *none = PyTuple_New(0);
    if (made == NULL || none == NULL) {
        Py_XDECREF(made);
        Py_XDECREF(none);
        return NULL;
    }
    SLOT(made, of_cell.version) = Py_NewRef(zero);
    SLOT(made, of_cell.last) = Py_NewRef(zero);
    SLOT(made, of_cell.writes) = none;
    cell = SLOT(tensor, of_tensor.cell); /* the allocation may have run code that made one */
    if (cell != Py_None) {
        Py_DECREF(made);
        return cell;
    }
    Py_SETREF(SLOT(tensor, of_tensor.cell), made);
    node = SLOT(tensor, of_tensor.node);
    if (node != Py_None) {
        Py_XSETREF(SLOT(node, of_node.cell), Py_NewRef(made));
    }
    return made;
}

/* `Cell.bump`: count one write by the op or method called `name`. */
static PyObject *
bump(PyObject *cell, PyObject *name)
{
    if (PyDict_GetItemWithError(modes, text_special) != zero) {
        return PyObject_CallFunctionObjArgs(bump_in_python, cell, name, NULL);
    }
    PyObject *number = Py_TYPE(numbers)->tp_iternext(numbers), *before, *after, *write;
    PyObject *version = NULL;
    write = number == NULL ? NULL : PyTuple_Pack(2, number, name);
    before = Py_NewRef(SLOT(cell, of_cell.writes));
    Py_ssize_t length = PyTuple_GET_SIZE(before), first = length < KEPT ? 0 : length - KEPT;
    after = write == NULL ? NULL : PyTuple_New(length - first + 1);
    version = after == NULL ? NULL : PyNumber_Add(SLOT(cell, of_cell.version), one);
    if (version != NULL) {
        for (Py_ssize_t i = first; i < length; i++) {
            PyTuple_SET_ITEM(after, i - first, Py_NewRef(PyTuple_GET_ITEM(before, i)));
        }
        PyTuple_SET_ITEM(after, length - first, Py_NewRef(write));
        Py_SETREF(SLOT(cell, of_cell.version), Py_NewRef(version));
        Py_SETREF(SLOT(cell, of_cell.writes), Py_NewRef(after));
        if (PyLong_AsLongLong(number) > PyLong_AsLongLong(SLOT(cell, of_cell.last))) {
            Py_SETREF(SLOT(cell, of_cell.last), Py_NewRef(number));
        }
    }
    bool done = version != NULL;
    Py_DECREF(before);
    Py_XDECREF(number);
    Py_XDECREF(version);
    Py_XDECREF(write);
    Py_XDECREF(after);
    return !done ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef bump_method = {"bump", bump, METH_O, "Count one write by the op called so."};

/* The path of a view: that of its source, and one step, (op, parameters, number of the output). */
static PyObject *
extended(PyObject *before, PyObject *op, PyObject *const *values, PyObject *names, PyObject *output)
{
    PyObject *params = PyDict_New(), *step = NULL, *path = NULL;
    for (Py_ssize_t i = 0; params != NULL && names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        if (PyDict_SetItem(params, PyTuple_GET_ITEM(names, i), values[i]) < 0) {
            Py_CLEAR(params);
        }
    }
    step = params == NULL ? NULL : PyTuple_Pack(3, op, params, output);
    Py_ssize_t length = before == NULL ? 0 : PyTuple_GET_SIZE(before);
    path = step == NULL ? NULL : PyTuple_New(length + 1);
    for (Py_ssize_t i = 0; path != NULL && i < length; i++) {
        PyTuple_SET_ITEM(path, i, Py_NewRef(PyTuple_GET_ITEM(before, i)));
    }
    if (path != NULL) {
        PyTuple_SET_ITEM(path, length, Py_NewRef(step));
    }
    Py_XDECREF(step);
    Py_XDECREF(params);
    return path;
}

/* The `View` record of an op's output, the only one where `output` is None, that is a view of
   `source`; NULL without an error where Python is to see to it. */
static PyObject *
new_view(PyObject *source, PyObject *op, PyObject *const *values, PyObject *names, PyObject *output,
         bool recording)
{
    PyObject *parent = PyObject_GetAttr(source, text_view_of), *made = NULL, *path = NULL;
    PyObject *base = source, *before = NULL, *origin = text_no_grad;
    bool single = output == Py_None;
    if (recording) {
        origin = single ? text_plain : text_multi;
    }
    if (parent == NULL || is_inference(source)) {
        goto done;
    }
    if (parent != Py_None) {
        base = SLOT(parent, of_view.base);
        before = SLOT(parent, of_view.path);
        if (recording && single) {
            origin = SLOT(parent, of_view.origin);
        }
        if (PyTuple_GET_SIZE(SLOT(parent, of_view.roots))) { /* it carries tangents */
            goto done;
        }
        if (PyTuple_GET_SIZE(before) >= LONGEST) { /* to be shortened */
            goto done;
        }
    }
    if (!recording && SLOT(base, of_tensor.node) != Py_None) { /* the view will be a leaf */
        goto done;
    }
    path = extended(before, op, values, names, output);
    made = path == NULL ? NULL : View->tp_alloc(View, 0);
    if (made != NULL) {
        SLOT(made, of_view.base) = Py_NewRef(base);
        SLOT(made, of_view.path) = Py_NewRef(path);
        SLOT(made, of_view.origin) = Py_NewRef(origin);
        SLOT(made, of_view.trace) = Py_NewRef(Py_None);
        SLOT(made, of_view.roots) = PyTuple_New(0);
    }
done:
    Py_XDECREF(path);
    Py_XDECREF(parent);
    return made;
}

/* Put those entries of a list of views whose view still lives first, and drop the others. */
static int
sweep(PyObject *views)
{
    Py_ssize_t alive = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(views); i++) {
        PyObject *view = PyObject_CallNoArgs(PyList_GET_ITEM(views, i));
        if (view == NULL) {
            return -1;
        }
        if (view != Py_None) {
            swap(views, alive++, i);
        }
        Py_DECREF(view);
    }
    return PyList_SetSlice(views, alive, PyList_GET_SIZE(views), NULL);
}

/* Enter a view among the live views of its base; dead ones are swept as the list doubles. */
static int
enlist(PyObject *base, PyObject *view)
{
    PyObject *ref = PyWeakref_NewRef(view, NULL), *views = PyObject_GetAttr(base, text_views);
    int failed = ref == NULL || views == NULL;
    if (!failed && views == Py_None) {
        Py_SETREF(views, PyList_New(0));
        failed = views == NULL || PyObject_SetAttr(base, text_views, views) < 0;
    }
    if (!failed) {
        Py_ssize_t length = PyList_GET_SIZE(views);
        failed = length >= 16 && (length & (length - 1)) == 0 && sweep(views) < 0;
        failed = failed || PyList_Append(views, ref) < 0;
    }
    Py_XDECREF(views);
    Py_XDECREF(ref);
    return failed ? -1 : 0;
}

/* Tie a tensor on the memory of `source` to its base, its version and the base's other views. */
static int
link_view(PyObject *source, PyObject *tensor, PyObject *view)
{
    PyObject *cell = cell_of(source), *node = SLOT(tensor, of_tensor.node);
    if (cell == NULL) {
        return -1;
    }
    Py_SETREF(SLOT(tensor, of_tensor.cell), Py_NewRef(cell));
    if (node != Py_None) {
        Py_SETREF(SLOT(node, of_node.cell), Py_NewRef(cell));
    }
    if (PyObject_SetAttr(tensor, text_view_of, view) < 0) {
        return -1;
    }
    return enlist(SLOT(view, of_view.base), tensor);
}

static PyObject *
add_to_views(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "enlist takes a base and a view");
        return NULL;
    }
    return enlist(args[0], args[1]) < 0 ? NULL : Py_NewRef(Py_None);
}
