/* Views: what ties one to its base, as `record.link_views` and `engine/views.py`. */

#include "shared.h"

/* Whether a tensor was made in inference mode; -1 with an error. */
static int
is_inference(PyObject *tensor)
{
    if (PyList_GET_SIZE(inference_seen) == 0) {
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
    return PyArray_CheckExact(x) && (PyArray_SIZE((PyArrayObject *)x) == 0 || owner(x) == owner(y));
}

/* A version cell of memory that nobody wrote. */
static PyObject *
new_cell(void)
{
    PyObject *made = Cell->tp_alloc(Cell, 0), *none = PyTuple_New(0);
    if (made == NULL || none == NULL) {
        Py_XDECREF(made);
        Py_XDECREF(none);
        return NULL;
    }
    SLOT(made, of_cell.version) = Py_NewRef(zero);
    SLOT(made, of_cell.last) = Py_NewRef(zero);
    SLOT(made, of_cell.writes) = none;
    return made;
}

/* The version cell of a tensor, made now if there is none; NULL, without an error where Python is to
   see to it. */
static PyObject *
cell_of(PyObject *tensor)
{
    PyObject *cell = known_cell(tensor), *node;
    if (cell != Py_None) {
        return Py_XNewRef(cell);
    }
    PyObject *told = told_cell(tensor);
    if (told != NULL && told != Py_None) {
        SLOT(tensor, of_tensor.cell) = Py_NewRef(told);
        Py_DECREF(Py_None);
        return Py_NewRef(told);
    }
    PyObject *made = new_cell();
    if (made == NULL) {
        return NULL;
    }
    cell = known_cell(tensor); /* the allocation may have run code that made one */
    if (cell != Py_None) {
        Py_XINCREF(cell);
        Py_DECREF(made);
        return cell;
    }
    SLOT(tensor, of_tensor.cell) = Py_NewRef(made); /* None is never the last reference */
    Py_DECREF(Py_None);
    node = Py_XNewRef(node_of(tensor));
    if (node != NULL && node != Py_None) {
        Py_XSETREF(SLOT(node, of_node.cell), Py_NewRef(made));
    }
    Py_XDECREF(node);
    return made;
}

/* The writes that a cell remembers, the last few of them and one more; `before` is held. */
static PyObject *
remembering(PyObject *before, PyObject *write)
{
    Py_ssize_t length = PyTuple_GET_SIZE(before), first = length < KEPT ? 0 : length - KEPT;
    PyObject *after = PyTuple_New(length - first + 1);
    for (Py_ssize_t i = first; after != NULL && i < length; i++) {
        PyTuple_SET_ITEM(after, i - first, Py_NewRef(PyTuple_GET_ITEM(before, i)));
    }
    if (after != NULL) {
        PyTuple_SET_ITEM(after, length - first, Py_NewRef(write));
    }
    return after;
}

/* Put a write behind those in a tuple that nobody else sees; the oldest goes, to the caller. */
static PyObject *
put_last(PyObject *writes, PyObject *write)
{
    PyObject **items = &PyTuple_GET_ITEM(writes, 0), *oldest = items[0];
    memmove(items, items + 1, KEPT * sizeof(PyObject *));
    items[KEPT] = Py_NewRef(write);
    return oldest;
}

/* Count in a cell a write, (number, name); 1 where Python is to see to it. */
static int
count_in(PyObject *cell, PyObject *number, PyObject *write)
{
    PyObject *before = Py_XNewRef(tuple_at(cell, of_cell.writes)), *after = NULL, *more = NULL;
    long long version, last, now;
    bool alone = before != NULL && Py_REFCNT(before) == 2 && PyTuple_GET_SIZE(before) == KEPT + 1;
    if (before != NULL && !alone) {
        after = remembering(before, write); /* which may run code that changes the cell */
    }
    bool known = before != NULL && SLOT(cell, of_cell.writes) == before &&
                 is_integer(SLOT(cell, of_cell.version), &version) && version < LLONG_MAX &&
                 is_integer(SLOT(cell, of_cell.last), &last) && is_integer(number, &now);
    more = known && (alone || after != NULL) ? PyLong_FromLongLong(version + 1) : NULL;
    if (more == NULL) {
        Py_XDECREF(before);
        Py_XDECREF(after);
        return PyErr_Occurred() ? -1 : 1;
    }
    /* Nothing runs code of the user's until all is counted. */
    Py_SETREF(SLOT(cell, of_cell.version), more);
    if (now > last) {
        Py_SETREF(SLOT(cell, of_cell.last), Py_NewRef(number));
    }
    if (alone) {
        Py_DECREF(before); /* the cell holds it */
        Py_DECREF(put_last(before, write));
    }
    else {
        Py_SETREF(SLOT(cell, of_cell.writes), after);
        Py_DECREF(before);
    }
    return 0;
}

/* `Cell.bump`: count one write by the op or method called `name`. */
static PyObject *
bump(PyObject *cell, PyObject *name)
{
    int failed = 1;
    if (PyDict_GetItemWithError(modes, text_special) == zero) {
        PyObject *number = tick();
        PyObject *write = number == NULL ? NULL : PyTuple_Pack(2, number, name);
        failed = write == NULL ? -1 : count_in(cell, number, write);
        Py_XDECREF(number);
        Py_XDECREF(write);
    }
    if (failed > 0) { /* Python will say what is wrong with the cell */
        return PyObject_CallMethodOneArg(cell, text_bump, name);
    }
    return failed < 0 ? NULL : Py_NewRef(Py_None);
}

/* Count a write to the memory of a tensor: `tensor.wrote`. */
static int
wrote(PyObject *tensor, PyObject *by)
{
    int unseen = is_inference(tensor);
    if (unseen) {
        return unseen < 0 ? -1 : 0;
    }
    PyObject *cell = is_a(tensor, Tensor) ? cell_of(tensor) : NULL, *counted = NULL;
    if (cell != NULL) {
        counted = bump(cell, by);
    }
    else if (!PyErr_Occurred()) {
        counted = PyObject_CallFunctionObjArgs(wrote_in_python, tensor, by, NULL);
    }
    Py_XDECREF(cell);
    Py_XDECREF(counted);
    return counted == NULL ? -1 : 0;
}

/* Call the twin in Python of a function of this module. */
static PyObject *
in_python(PyObject *twin, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    if (twin == NULL) {
        PyErr_SetString(PyExc_RuntimeError, NOT_SET_UP);
        return NULL;
    }
    return PyObject_Vectorcall(twin, args, (size_t)count, kwnames);
}

/* `tensor.wrote(tensor, by, counted=True)`. */
static PyObject *
count_write(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    if (count == 2 && kwnames == NULL && Tensor != NULL && is_a(args[0], Tensor)) {
        return wrote(args[0], args[1]) < 0 ? NULL : Py_NewRef(Py_None);
    }
    return in_python(wrote_in_python, args, count, kwnames);
}

/* The path of a view: that of its source, and one step, (op, parameters, number of the output). */
static PyObject *
extended(PyObject *before, PyObject *op, PyObject *const *values, PyObject *names, PyObject *output)
{
    PyObject *params = as_dict(names, values), *path = NULL;
    PyObject *step = params == NULL ? NULL : PyTuple_Pack(3, op, params, output);
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

/* What a new view takes from its source: the base and the path to it, held, and the origin that goes
   on with it; false where Python is to see to it. */
static bool
read_source(PyObject *source, PyObject **base, PyObject **path, PyObject **origin)
{
    PyObject *parent = PyObject_GetAttr(source, text_view_of);
    bool known = parent == Py_None;
    if (known) {
        *base = Py_NewRef(source);
    }
    else if (is_a(parent, View)) {
        PyObject *held = SLOT(parent, of_view.base), *steps = tuple_at(parent, of_view.path);
        PyObject *roots = tuple_at(parent, of_view.roots), *of = SLOT(parent, of_view.origin);
        /* roots: it carries tangents */
        known = is_a(held, Tensor) && steps != NULL && of != NULL && roots != NULL &&
                PyTuple_GET_SIZE(roots) == 0;
        if (known) {
            *base = Py_NewRef(held);
            *path = Py_NewRef(steps);
            *origin = Py_NewRef(of);
        }
    }
    Py_XDECREF(parent);
    return known;
}

/* The `View` record of an op's output, the only one where `output` is None, that is a view of
   `source`; NULL without an error where Python is to see to it. */
static PyObject *
new_view(PyObject *source, PyObject *op, PyObject *const *values, PyObject *names, PyObject *output,
         bool recording)
{
    PyObject *base = NULL, *before = NULL, *origin = NULL, *path = NULL, *made = NULL, *none;
    bool single = output == Py_None;
    if (!is_a(source, Tensor) || is_inference(source) ||
        !read_source(source, &base, &before, &origin) ||
        (!recording && node_of(base) != Py_None)) { /* the view will be a leaf */
        goto done;
    }
    if (before != NULL && PyTuple_GET_SIZE(before) >= LONGEST) { /* to be shortened */
        goto done;
    }
    if (!recording) {
        Py_XSETREF(origin, Py_NewRef(text_no_grad));
    }
    else if (origin == NULL || !single) {
        Py_XSETREF(origin, Py_NewRef(single ? text_plain : text_multi));
    }
    path = extended(before, op, values, names, output);
    none = path == NULL ? NULL : PyTuple_New(0);
    made = none == NULL ? NULL : View->tp_alloc(View, 0);
    if (made != NULL) {
        SLOT(made, of_view.base) = Py_NewRef(base);
        SLOT(made, of_view.path) = Py_NewRef(path);
        SLOT(made, of_view.origin) = Py_NewRef(origin);
        SLOT(made, of_view.trace) = Py_NewRef(Py_None);
        SLOT(made, of_view.roots) = Py_NewRef(none);
    }
    Py_XDECREF(none);
done:
    Py_XDECREF(path);
    Py_XDECREF(origin);
    Py_XDECREF(before);
    Py_XDECREF(base);
    return made;
}

/* Put those entries of a list of views whose view still lives first, and drop the others. No code of
   the user's runs but for what is dropped, at the end. */
static int
sweep(PyObject *views)
{
    Py_ssize_t alive = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(views); i++) {
        PyObject *ref = PyList_GET_ITEM(views, i);
        if (!PyWeakref_CheckRef(ref)) {
            PyErr_Format(PyExc_TypeError, "_views of a tensor holds weak references, not %.100s",
                         Py_TYPE(ref)->tp_name);
            return -1;
        }
        if (PyWeakref_GetObject(ref) != Py_None) {
            swap(views, alive++, i);
        }
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
    if (!failed && !PyList_Check(views)) {
        PyErr_Format(PyExc_TypeError, "_views of a tensor must be a list or None, not %.100s",
                     Py_TYPE(views)->tp_name);
        failed = true;
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

/* Tie a new tensor on the memory of `source` to its base, its version and the base's other views;
   -1, without an error where Python is to see to it. */
static int
link_view(PyObject *source, PyObject *tensor, PyObject *view)
{
    PyObject *cell = cell_of(source), *node = node_of(tensor), *base = SLOT(view, of_view.base);
    if (cell == NULL || node == NULL || !is_a(base, Tensor)) {
        Py_XDECREF(cell);
        return -1;
    }
    Py_INCREF(base);
    if (node != Py_None) {
        Py_XSETREF(SLOT(node, of_node.cell), Py_NewRef(cell));
    }
    Py_XSETREF(SLOT(tensor, of_tensor.cell), cell);
    int failed = PyObject_SetAttr(tensor, text_view_of, view) < 0 || enlist(base, tensor) < 0;
    Py_DECREF(base);
    return failed ? -1 : 0;
}

static PyObject *
add_to_views(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (Tensor == NULL) {
        return in_python(enlist_in_python, args, count, NULL);
    }
    if (count != 2 || !is_a(args[0], Tensor) || !is_a(args[1], Tensor)) {
        PyErr_SetString(PyExc_TypeError, "enlist takes a base and a view, both tensors");
        return NULL;
    }
    return enlist(args[0], args[1]) < 0 ? NULL : Py_NewRef(Py_None);
}
