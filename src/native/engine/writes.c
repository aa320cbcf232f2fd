/* Writes in place, as `engine/inplace.py`: NOTE [In-place = out-of-place + write + splice] there. */

#include "shared.h"

/* The array of a tensor that is of the class itself, if that is NumPy's own; borrowed, or NULL. What
   may run code, such as an attribute that is read, may let go of it. */
static PyArrayObject *
own_array(PyObject *tensor)
{
    PyObject *array = Py_IS_TYPE(tensor, Tensor) ? SLOT(tensor, of_tensor.array) : NULL;
    return array != NULL && PyArray_CheckExact(array) ? (PyArrayObject *)array : NULL;
}

/* Whether the result of a write goes into the memory of its target as it is. */
static bool
fits_into(PyObject *target, PyObject *result)
{
    PyArrayObject *to = own_array(target), *from = own_array(result);
    return to != NULL && from != NULL && PyArray_ISCARRAY(to) &&
           PyArray_DESCR(to) == PyArray_DESCR(from) && PyArray_SAMESHAPE(to, from) &&
           !PyDataType_REFCHK(PyArray_DESCR(to));
}

/* Say that code which ran in between, such as a callback of the collector, took a tensor apart. */
static PyObject *
taken_apart(void)
{
    if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_RuntimeError, "a tensor changed while it was written in place: code "
                                            "that ran meanwhile took it apart");
    }
    return NULL;
}

static int
copy_into(PyArrayObject *to, PyArrayObject *from)
{
    if (to == from) {
        return 0;
    }
    if (!PyArray_ISCARRAY_RO(from)) { /* without the lock: other threads may let go of both */
        Py_INCREF(to);
        Py_INCREF(from);
        int failed = PyArray_CopyInto(to, from);
        Py_DECREF(to);
        Py_DECREF(from);
        return failed;
    }
    memmove(PyArray_DATA(to), PyArray_DATA(from), (size_t)PyArray_NBYTES(to));
    return 0;
}

/* A node that has neither hooks nor is a leaf's, nor stands for a history that is to be derived. */
static bool
is_inner(PyObject *node)
{
    return is_a(node, Node) && SLOT(node, of_node.op) != NULL &&
           SLOT(node, of_node.op) != refused && SLOT(node, of_node.hooks) == Py_None &&
           !is_a(SLOT(node, of_node.saved), Leaf);
}

/* Whether no node from a view's up to its base's has hooks, as far as one leads to the other. */
static bool
is_unhooked(PyObject *node, PyObject *end)
{
    while (node != end) {
        PyObject *edges = is_inner(node) ? tuple_at(node, of_node.edges) : NULL;
        if (edges == NULL || PyTuple_GET_SIZE(edges) == 0) {
            return false;
        }
        node = PyTuple_GET_ITEM(edges, 0);
    }
    return true;
}

/* The base of a tensor, itself if it is no view, held; and, of a view, its record, held, else NULL.
   NULL where Python is to see to it. */
static PyObject *
base_of(PyObject *tensor, PyObject **record)
{
    PyObject *view = PyObject_GetAttr(tensor, text_view_of), *base = NULL;
    *record = NULL;
    if (view == Py_None) {
        base = Py_NewRef(tensor);
    }
    else if (is_a(view, View) && is_a(SLOT(view, of_view.base), Tensor)) {
        base = Py_NewRef(SLOT(view, of_view.base));
        *record = Py_NewRef(view);
    }
    Py_XDECREF(view);
    return base;
}

static bool
is_text(PyObject *object, PyObject *text)
{
    return object == text ||
           (object != NULL && PyUnicode_Check(object) && PyUnicode_Compare(object, text) == 0);
}

/* Whether the views in a list are plain: their history can be derived later, and nobody follows it. */
static bool
may_wait(PyObject *views)
{
    bool plain = PyList_Check(views);
    for (Py_ssize_t i = 0; plain && i < PyList_GET_SIZE(views); i++) {
        PyObject *ref = PyList_GET_ITEM(views, i), *record = NULL, *base;
        PyObject *view = PyWeakref_CheckRef(ref) ? Py_NewRef(PyWeakref_GetObject(ref)) : NULL;
        if (view != Py_None) {
            PyArrayObject *array = view == NULL ? NULL : own_array(view);
            PyObject *node = array == NULL ? NULL : node_of(view);
            plain = node != NULL && (node == Py_None || SLOT(node, of_node.hooks) == Py_None) &&
                    (PyArray_ISFLOAT(array) || PyArray_ISCOMPLEX(array));
            base = plain ? base_of(view, &record) : NULL;
            plain =
                base != NULL && record != NULL && is_text(SLOT(record, of_view.origin), text_plain);
            Py_XDECREF(base);
            Py_XDECREF(record);
        }
        Py_XDECREF(view);
    }
    return plain;
}

/* Those of some references whose view still lives. */
static PyObject *
swept(PyObject *refs)
{
    PyObject *alive = PyDict_New(), *key, *ref;
    for (Py_ssize_t at = 0; alive != NULL && PyDict_Next(refs, &at, &key, &ref);) {
        if (!PyWeakref_CheckRef(ref) || PyWeakref_GetObject(ref) == Py_None) {
            continue;
        }
        if (PyDict_SetItem(alive, key, ref) < 0) {
            Py_CLEAR(alive);
        }
    }
    return alive;
}

/* Enter a reference among those to stale views; the dead are swept as their number doubles. */
static int
put_down(PyObject *base, PyObject *ref)
{
    PyObject *outdated = PyObject_GetAttr(base, text_outdated), *key = PyLong_FromVoidPtr(ref);
    bool fresh = outdated == Py_None;
    if (fresh) {
        Py_SETREF(outdated, PyDict_New());
    }
    int failed = key == NULL || outdated == NULL || !PyDict_Check(outdated) ||
                 PyDict_SetItem(outdated, key, ref) < 0;
    Py_ssize_t count = failed ? 0 : PyDict_GET_SIZE(outdated);
    bool sweep = count >= 16 && (count & (count - 1)) == 0;
    if (sweep) {
        Py_SETREF(outdated, swept(outdated));
        failed = outdated == NULL;
    }
    if (!failed && (fresh || sweep)) {
        failed = PyObject_SetAttr(base, text_outdated, outdated) < 0;
    }
    Py_XDECREF(key);
    Py_XDECREF(outdated);
    return failed ? -1 : 0;
}

/* Let plain views be stale, and put them down as such. */
static int
let_wait(PyObject *base, PyObject *views)
{
    PyObject *left = PyList_New(0);
    int failed = left == NULL || PyObject_SetAttr(base, text_views, left) < 0;
    for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(views); i++) {
        PyObject *ref = Py_NewRef(PyList_GET_ITEM(views, i));
        PyObject *view = PyWeakref_CheckRef(ref) ? Py_NewRef(PyWeakref_GetObject(ref)) : NULL;
        PyObject *node = is_a(view, Tensor) ? node_of(view) : NULL;
        if (node != NULL && (node == Py_None || SLOT(node, of_node.op) != refused)) {
            failed = put_down(base, ref) < 0;
            Py_XSETREF(SLOT(view, of_tensor.node), Py_NewRef(stale_view));
        }
        Py_XDECREF(view);
        Py_DECREF(ref);
    }
    Py_XDECREF(left);
    return failed ? -1 : 0;
}

/* `outdate(base, recorded)`. */
static int
outdate_views(PyObject *base, bool recorded)
{
    PyObject *views = PyObject_GetAttr(base, text_views);
    bool none =
        views == Py_None || (views != NULL && PyList_Check(views) && PyList_GET_SIZE(views) == 0);
    int failed = views == NULL ? -1 : 0;
    if (!failed && !none && recorded && may_wait(views)) {
        failed = let_wait(base, views);
    }
    else if (!failed && !none && !PyErr_Occurred()) {
        PyObject *args[] = {base, recorded ? Py_True : Py_False};
        PyObject *done = in_python(outdate_in_python, args, 2, NULL);
        failed = done == NULL ? -1 : 0;
        Py_XDECREF(done);
    }
    Py_XDECREF(views);
    return failed || PyErr_Occurred() ? -1 : 0;
}

static PyObject *
outdate(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    bool plain = Tensor != NULL && count == 2 && is_a(args[0], Tensor) &&
                 PyDict_GetItemWithError(modes, text_special) == zero;
    if (!plain) {
        return in_python(outdate_in_python, args, count, NULL);
    }
    return outdate_views(args[0], args[1] == Py_True) < 0 ? taken_apart() : Py_NewRef(Py_None);
}

/* -- writes that no graph knows of ------------------------------------------------------------- */

/* `stored(target, name, result)`: write a result, and count it. */
static PyObject *
stored(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (Tensor == NULL || count != 3 || PyList_GET_SIZE(inference_seen) > 0 ||
        current_modes() > UNRECORDED || !fits_into(args[0], args[2])) {
        return in_python(stored_in_python, args, count, NULL);
    }
    PyObject *target = args[0], *record, *base;
    if (copy_into(own_array(target), own_array(args[2])) < 0 || wrote(target, args[1]) < 0) {
        return taken_apart();
    }
    base = base_of(target, &record);
    int failed = base == NULL ? -1 : 0;
    if (!failed && node_of(base) != Py_None) {
        failed = outdate_views(base, false);
    }
    Py_XDECREF(base);
    Py_XDECREF(record);
    return failed ? taken_apart() : Py_NewRef(target);
}

/* -- writes that are recorded ------------------------------------------------------------------ */

/* What is read of a recorded write where it is plain. */
typedef struct {
    PyObject *base, *record; /* held; no record: the target is no view */
} Written;

static void
release_written(Written *write)
{
    Py_CLEAR(write->base);
    Py_CLEAR(write->record);
}

/* Find the base of a target that may be written with a history, and has one that may be replaced; false,
   without an error, where Python is to see to it. */
static bool
find_written(PyObject *target, Written *write)
{
    PyArrayObject *array = own_array(target), *whole;
    bool plain = array != NULL && PyArray_ISCARRAY(array) && is_inner(node_of(target));
    PyObject *tangents = plain ? PyObject_GetAttr(target, text_tangents) : NULL;
    plain = tangents == Py_None;
    Py_XDECREF(tangents);
    write->base = write->record = NULL;
    if (plain) {
        write->base = base_of(target, &write->record);
        plain = write->base != NULL;
    }
    if (plain && write->record != NULL) {
        whole = own_array(write->base);
        plain = whole != NULL && PyArray_ISCARRAY_RO(whole) && is_inner(node_of(write->base)) &&
                is_unhooked(node_of(target), node_of(write->base)) &&
                is_text(SLOT(write->record, of_view.origin), text_plain) &&
                tuple_at(write->record, of_view.path) != NULL;
    }
    if (!plain) {
        PyErr_Clear();
        release_written(write);
    }
    return plain;
}

/* Let a node that saved its result save the target's memory instead, as of this write: `adopt`. */
static int
adopt(PyObject *node, PyObject *result, PyObject *target)
{
    PyObject *number = tick(), *saved = Py_XNewRef(tuple_at(node, of_node.saved));
    PyObject *from = SLOT(result, of_tensor.array), *to = SLOT(target, of_tensor.array), *made;
    if (number == NULL || to == NULL) {
        Py_XDECREF(number);
        Py_XDECREF(saved);
        return -1;
    }
    Py_INCREF(to); /* what follows may run code that lets go of it */
    Py_XSETREF(SLOT(node, of_node.seq), number);
    Py_XSETREF(SLOT(node, of_node.cell), Py_XNewRef(SLOT(target, of_tensor.cell)));
    Py_ssize_t size = saved == NULL ? 0 : PyTuple_GET_SIZE(saved), found = 0;
    while (found < size && PyTuple_GET_ITEM(saved, found) != from) {
        found++;
    }
    if (found < size) {
        made = PyTuple_New(size);
        for (Py_ssize_t i = 0; made != NULL && i < size; i++) {
            PyObject *value = PyTuple_GET_ITEM(saved, i);
            PyTuple_SET_ITEM(made, i, Py_NewRef(value == from ? to : value));
        }
        if (made == NULL) {
            Py_DECREF(to);
            Py_DECREF(saved);
            return -1;
        }
        Py_XSETREF(SLOT(node, of_node.saved), made);
    }
    Py_DECREF(to);
    Py_XDECREF(saved);
    return 0;
}

/* The parameters of a splice: the path of the view that was written, and None for the layout. */
static PyObject *
path_of(PyObject *op, PyObject *record)
{
    PyObject *table = is_a(op, Kind) ? SLOT(op, of_kind.table) : NULL;
    PyObject *facts = Py_XNewRef(is_a(table, Table) ? tuple_at(table, of_table.facts) : NULL);
    Py_ssize_t count = facts == NULL ? -1 : PyTuple_GET_SIZE(facts);
    PyObject *params = count < 0 ? NULL : PyTuple_New(count);
    if (count < 0) {
        PyErr_SetString(PyExc_TypeError, "the engine has no op called splice");
    }
    PyObject *path = tuple_at(record, of_view.path);
    if (path == NULL) { /* taken apart */
        Py_CLEAR(params);
    }
    for (Py_ssize_t i = 0; params != NULL && i < count; i++) {
        bool named = is_text(PyTuple_GET_ITEM(facts, i), text_path);
        PyTuple_SET_ITEM(params, i, Py_NewRef(named ? path : Py_None));
    }
    Py_XDECREF(facts);
    return params;
}

/* The node of a base of which a region has got a history: a splice's. */
static PyObject *
spliced(Written *write, PyObject *region)
{
    PyObject *op = Py_XNewRef(PyDict_GetItemWithError(ops, text_splice));
    PyObject *params = path_of(op, write->record), *node = NULL;
    PyObject *array = Py_XNewRef((PyObject *)own_array(write->base));
    PyObject *before = Py_XNewRef(node_of(write->base));
    if (params != NULL && array != NULL && is_inner(before)) {
        PyObject *shape = has_shape(array, SLOT(before, of_node.shape))
                              ? Py_NewRef(SLOT(before, of_node.shape))
                              : shape_of(array);
        PyObject *dtype = Py_NewRef(dtype_of(array));
        node = new_node(op, PyTuple_Pack(2, before, region), PyTuple_New(0), Py_NewRef(params),
                        shape, dtype, false);
        Py_DECREF(dtype);
    }
    if (node != NULL) {
        Py_XSETREF(SLOT(node, of_node.cell), Py_XNewRef(SLOT(write->base, of_tensor.cell)));
    }
    Py_XDECREF(op);
    Py_XDECREF(params);
    Py_XDECREF(array);
    Py_XDECREF(before);
    return node;
}

/* Give a written tensor its new history: `rebase`. */
static int
rebase(Written *write, PyObject *node)
{
    PyObject *made = write->record == NULL ? Py_NewRef(node) : spliced(write, node);
    if (made == NULL) {
        return -1;
    }
    Py_XSETREF(SLOT(write->base, of_tensor.node), made);
    return made == Py_None ? 0 : outdate_views(write->base, true);
}

/* Let go of the stand-in; if a node saved it, it keeps the values: whether that could be done. */
static bool
let_go(PyObject *held)
{
    PyObject *old = PyList_CheckExact(held) && PyList_GET_SIZE(held) == 1
                        ? Py_NewRef(PyList_GET_ITEM(held, 0))
                        : NULL;
    PyArrayObject *array = (PyArrayObject *)Py_XNewRef(old == NULL ? NULL : own_array(old));
    PyObject *views = array == NULL ? NULL : PyObject_GetAttr(old, text_views), *copy, *cell;
    bool plain = views == Py_None;
    if (plain && Py_REFCNT(old) > 2) { /* more than the list's and ours */
        cell = new_cell();             /* its memory is not that of its node's output any more */
        copy = cell == NULL ? NULL : PyArray_NewCopy(array, NPY_KEEPORDER);
        plain = copy != NULL;
        if (plain) {
            Py_XSETREF(SLOT(old, of_tensor.array), copy);
            Py_XSETREF(SLOT(old, of_tensor.cell), Py_NewRef(cell));
        }
        Py_XDECREF(cell);
    }
    if (plain) {
        plain = PyList_SetSlice(held, 0, 1, NULL) == 0;
    }
    Py_XDECREF(views);
    Py_XDECREF(array);
    Py_XDECREF(old);
    return plain;
}

/* `replaced(target, name, held, result, before)`: write a result with its history. `held` is a list
   of the stand-in for the target, the only one to hold it but nodes; its numbers are up to `before`. */
static PyObject *
replaced(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Written write;
    long long before, seq = 0;
    bool plain = Tensor != NULL && count == 5 &&
                 PyDict_GetItemWithError(modes, text_special) == zero &&
                 PyList_GET_SIZE(inference_seen) == 0 && fits_into(args[0], args[3]) &&
                 is_integer(args[4], &before) && PyList_CheckExact(args[2]) &&
                 PyList_GET_SIZE(args[2]) == 1 && PyList_GET_ITEM(args[2], 0) != args[3];
    PyObject *target = plain ? args[0] : NULL, *node = plain ? Py_XNewRef(node_of(args[3])) : NULL;
    plain = plain && node != NULL && (node == Py_None || is_inner(node)) &&
            (node == Py_None || is_integer(SLOT(node, of_node.seq), &seq)) &&
            find_written(target, &write);
    if (!plain) {
        Py_XDECREF(node);
        return in_python(replaced_in_python, args, count, NULL);
    }
    int failed = 0;
    if (!let_go(args[2])) {
        Py_DECREF(node);
        release_written(&write);
        return PyErr_Occurred() ? NULL : in_python(replaced_in_python, args, count, NULL);
    }
    failed = !fits_into(target, args[3]) || copy_into(own_array(target), own_array(args[3])) < 0 ||
             wrote(target, args[1]) < 0;
    if (!failed && node != Py_None && seq > before) {
        failed = adopt(node, args[3], target) < 0;
    }
    failed = failed || rebase(&write, node) < 0;
    Py_DECREF(node);
    release_written(&write);
    return failed ? taken_apart() : Py_NewRef(target);
}

enum { MOST_WRITTEN = 8 }; /* arguments of a write that is plain */

/* Whether a write is plain, and recorded or not: `is_tracked`. */
static bool
read_write(PyObject *target, PyObject *rest, PyObject *options, bool *tracked)
{
    long long kind = current_modes(); /* which may run code, in a thread's first write */
    PyArrayObject *array = own_array(target);
    if (array == NULL || kind > UNRECORDED || PyList_GET_SIZE(inference_seen) > 0 ||
        !PyArray_ISCARRAY(array) || !PyTuple_Check(rest) || !PyDict_Check(options) ||
        PyTuple_GET_SIZE(rest) >= MOST_WRITTEN) {
        return false;
    }
    *tracked = false;
    if (kind == UNRECORDED) {
        PyObject *told = PyObject_GetAttr(state, text_before_write);
        Py_XDECREF(told);
        return told == Py_None;
    }
    PyObject *node = node_of(target), *cell = known_cell(target), *record, *base, *key, *value;
    *tracked = node != Py_None;
    for (Py_ssize_t at = 0; PyDict_Next(options, &at, &key, &value);) {
        if (PyObject_TypeCheck(value, Tensor)) {
            return false;
        }
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rest); i++) {
        PyObject *other = PyTuple_GET_ITEM(rest, i);
        bool is_tensor = PyObject_TypeCheck(other, Tensor);
        if (is_tensor && !*tracked && node_of(other) != Py_None) {
            return false;
        }
        if (is_tensor && *tracked && cell != Py_None && known_cell(other) == cell) {
            return false; /* they share memory, or are one */
        }
        if (is_tensor && other == target && *tracked) {
            return false;
        }
    }
    if (*tracked || node == NULL || cell == NULL) {
        return node != NULL && cell != NULL;
    }
    base = base_of(target, &record);
    bool plain = base != NULL && node_of(base) == Py_None;
    Py_XDECREF(base);
    Py_XDECREF(record);
    PyErr_Clear();
    return plain;
}

/* A stand-in for a target that is about to be written. */
static PyObject *
stand_in(PyObject *target)
{
    PyObject *cell = cell_of(target), *made = NULL;
    if (cell != NULL) {
        made = new_tensor(Py_XNewRef(SLOT(target, of_tensor.array)));
    }
    if (made != NULL) {
        Py_XSETREF(SLOT(made, of_tensor.node), Py_XNewRef(SLOT(target, of_tensor.node)));
        Py_SETREF(SLOT(made, of_tensor.cell), Py_NewRef(cell));
    }
    Py_XDECREF(cell);
    return made;
}

/* Call the function of a write on a target, or on what stands for it. */
static PyObject *
call_on(PyObject *function, PyObject *first, PyObject *rest, PyObject *options)
{
    PyObject *stack[2 + MOST_WRITTEN];
    Py_ssize_t count = PyTuple_GET_SIZE(rest);
    stack[1] = first;
    for (Py_ssize_t i = 0; i < count; i++) {
        stack[2 + i] = PyTuple_GET_ITEM(rest, i);
    }
    return PyObject_VectorcallDict(function, stack + 1,
                                   (size_t)(1 + count) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                   PyDict_GET_SIZE(options) > 0 ? options : NULL);
}

/* `write(target, name, function, args, kwargs, uniform=False)`; what may be written with several values
   may be with one. */
static PyObject *
write_in_place(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    bool tracked;
    Written found;
    if (Tensor == NULL || count < 5 || count > 6 || kwnames != NULL ||
        !read_write(args[0], args[3], args[4], &tracked)) {
        PyErr_Clear();
        return in_python(write_in_python, args, count, kwnames);
    }
    PyObject *target = args[0], *result, *done = NULL;
    if (!tracked) {
        result = call_on(args[2], target, args[3], args[4]);
        if (result != NULL) {
            PyObject *stack[] = {target, args[1], result};
            done = stored(module, stack, 3);
        }
        Py_XDECREF(result);
        return done == NULL ? taken_apart() : done;
    }
    if (!find_written(target, &found)) {
        return in_python(write_in_python, args, count, kwnames);
    }
    release_written(&found);
    PyObject *old = stand_in(target), *before = old == NULL ? NULL : tick();
    PyObject *held = before == NULL ? NULL : PyList_New(1);
    if (held != NULL) {
        PyList_SET_ITEM(held, 0, old); /* takes the reference */
        result = call_on(args[2], old, args[3], args[4]);
        if (result != NULL) {
            PyObject *stack[] = {target, args[1], held, result, before};
            done = replaced(module, stack, 5);
        }
        Py_XDECREF(result);
    }
    else {
        Py_XDECREF(old);
    }
    Py_XDECREF(before);
    Py_XDECREF(held);
    return done == NULL ? taken_apart() : done;
}
