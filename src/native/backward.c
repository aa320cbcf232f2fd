/* The backward pass over ordinary nodes, and the leaves at its end, as `engine/backward.py`. */

#include "shared.h"
#include "leaves.c"

/* The heap is that of `backward.run`: a list of (-seq, node), the newest node first. */

static long long
key_at(PyObject *heap, Py_ssize_t i)
{
    return PyLong_AsLongLong(PyTuple_GET_ITEM(PyList_GET_ITEM(heap, i), 0));
}

static int
push(PyObject *heap, PyObject *node, long long seq)
{
    PyObject *item = Py_BuildValue("(LO)", -seq, node);
    if (item == NULL || PyList_Append(heap, item) < 0) {
        Py_XDECREF(item);
        return -1;
    }
    Py_DECREF(item);
    for (Py_ssize_t i = PyList_GET_SIZE(heap) - 1;
         i > 0 && key_at(heap, i) < key_at(heap, (i - 1) / 2); i = (i - 1) / 2) {
        swap(heap, i, (i - 1) / 2);
    }
    return 0;
}

static PyObject *
pop(PyObject *heap)
{
    Py_ssize_t last = PyList_GET_SIZE(heap) - 1;
    if (last < 0) {
        return NULL;
    }
    swap(heap, 0, last);
    PyObject *node = Py_NewRef(PyTuple_GET_ITEM(PyList_GET_ITEM(heap, last), 1));
    if (PyList_SetSlice(heap, last, last + 1, NULL) < 0) {
        Py_DECREF(node);
        return NULL;
    }
    for (Py_ssize_t i = 0, child; (child = 2 * i + 1) < last; i = child) {
        if (child + 1 < last && key_at(heap, child + 1) < key_at(heap, child)) {
            child++;
        }
        if (key_at(heap, i) <= key_at(heap, child)) {
            break;
        }
        swap(heap, i, child);
    }
    return node;
}

static long long
number_of(PyObject *node)
{
    return PyLong_AsLongLong(SLOT(node, of_node.seq));
}

/* Which of the fast cases a kind of node is, or 0. */
static long
ordinary(PyObject *op)
{
    return PyLong_AsLong(SLOT(op, of_kind.ordinary));
}

/* The values of a node, as `saved.raw` gives them. */
typedef struct {
    Py_ssize_t count;
    PyObject *at[MOST_VALUES];
    PyObject *list; /* all of them, for the formulas that take them together */
} Values;

static void
release(Values *values)
{
    while (values->count > 0) {
        Py_DECREF(values->at[--values->count]);
    }
    Py_CLEAR(values->list);
}

/* Whether a saved value is there and was not written since; if so, it is the next of the values. */
static bool
take(Values *values, PyObject *node, PyObject *value, long long seq)
{
    PyObject *array = value, *cell = Py_None;
    if (PyArray_CheckExact(value)) {
        PyObject *cells = PyObject_GetAttr(node, text_cells);
        Py_XDECREF(cells);
        if (cells != Py_None) {
            return false;
        }
        cell = SLOT(node, of_node.cell);
    }
    else if (PyObject_TypeCheck(value, Tensor)) {
        array = SLOT(value, of_tensor.array);
        cell = SLOT(value, of_tensor.cell);
    }
    else if (value != Py_None) {
        return false;
    }
    if (array == NULL || (cell != Py_None && PyLong_AsLongLong(SLOT(cell, of_cell.last)) > seq)) {
        return false;
    }
    values->at[values->count++] = Py_NewRef(array);
    return true;
}

static int
read_values(Values *values, PyObject *node, PyObject *saved, PyObject *params)
{
    bool plain = PyTuple_CheckExact(saved) &&
                 PyTuple_GET_SIZE(saved) + PyTuple_GET_SIZE(params) <= MOST_VALUES;
    long long seq = number_of(node);
    for (Py_ssize_t i = 0; plain && i < PyTuple_GET_SIZE(saved); i++) {
        plain = take(values, node, PyTuple_GET_ITEM(saved, i), seq);
    }
    if (plain) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(params); i++) {
            values->at[values->count++] = Py_NewRef(PyTuple_GET_ITEM(params, i));
        }
        return 0;
    }
    release(values);
    PyErr_Clear();
    PyObject *found = PyObject_CallOneArg(raw, node); /* unpacks, or says what is wrong */
    values->list = found == NULL ? NULL : PySequence_List(found);
    Py_XDECREF(found);
    return values->list == NULL ? -1 : 0;
}

/* The contribution of one formula. */
static PyObject *
contribution(PyObject *formula, long place, PyObject *xp, PyObject *g, Values *values)
{
    PyObject *stack[4] = {NULL, xp, g, NULL};
    if (place >= 0) {
        stack[3] = values->list == NULL ? values->at[place] : PyList_GET_ITEM(values->list, place);
    }
    else if (place != ALONE) {
        if (values->list == NULL) {
            values->list = PyList_New(values->count);
            for (Py_ssize_t i = 0; values->list != NULL && i < values->count; i++) {
                PyList_SET_ITEM(values->list, i, Py_NewRef(values->at[i]));
            }
        }
        stack[3] = values->list;
        if (stack[3] == NULL) {
            return NULL;
        }
    }
    size_t count = place == ALONE ? 2 : 3;
    return PyObject_Vectorcall(formula, stack + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* Add to a cotangent that has arrived already: NOTE [Ownership of cotangents] in `backward.py`. */
static int
add_to(PyObject *grads, PyObject *borrowed, PyObject *node, PyObject *before, PyObject *c)
{
    int shared = !PyArray_CheckExact(before) || PyArray_BASE((PyArrayObject *)before) != NULL;
    if (!shared && PySet_GET_SIZE(borrowed)) {
        shared = PySet_Contains(borrowed, node);
    }
    if (shared < 0) {
        return -1;
    }
    if (!shared) {
        PyObject *stack[4] = {NULL, before, c, before};
        PyObject *sum =
            PyObject_Vectorcall(add, stack + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        Py_XDECREF(sum);
        return sum == NULL ? -1 : 0;
    }
    PyObject *sum = PyNumber_Add(before, c);
    int failed =
        sum == NULL || PyDict_SetItem(grads, node, sum) < 0 || PySet_Discard(borrowed, node) < 0;
    Py_XDECREF(sum);
    return failed ? -1 : 0;
}

/* What one backward pass works on, and the newest node so far of those that are not on the heap. */
typedef struct {
    PyObject *grads, *borrowed, *heap, *leaves;
    PyObject *next;
} Pass;

/* Enter a node that has just got its first contribution. */
static int
enter(Pass *pass, PyObject *node)
{
    long long seq = number_of(node);
    if (seq == 0) {
        return PyList_Append(pass->leaves, node);
    }
    if (pass->next == NULL && PyList_GET_SIZE(pass->heap) == 0) {
        pass->next = Py_NewRef(node);
        return 0;
    }
    return push(pass->heap, node, seq);
}

/* The newest node that waits; NULL, with or without an error, where there is none. */
static PyObject *
newest(Pass *pass)
{
    PyObject *next = pass->next;
    pass->next = NULL;
    if (next == NULL || PyList_GET_SIZE(pass->heap) == 0) {
        return next != NULL ? next : pop(pass->heap);
    }
    if (-number_of(next) < key_at(pass->heap, 0)) {
        return next;
    }
    int failed = push(pass->heap, next, number_of(next)) < 0;
    Py_DECREF(next);
    return failed ? NULL : pop(pass->heap);
}

/* Add a contribution to what has arrived at the end of an edge. */
static int
arrive(Pass *pass, PyObject *edge, PyObject *c, bool fresh)
{
    PyObject *before = PyDict_GetItemWithError(pass->grads, edge);
    if (before != NULL) {
        Py_INCREF(before);
        int failed = add_to(pass->grads, pass->borrowed, edge, before, c);
        Py_DECREF(before);
        return failed;
    }
    if (PyErr_Occurred() || PyDict_SetItem(pass->grads, edge, c) < 0 ||
        (!fresh && PySet_Add(pass->borrowed, edge) < 0)) {
        return -1;
    }
    return enter(pass, edge);
}

/* Fit a contribution, whose reference is taken, to its edge, and let it arrive: 1 if the edge leads
   to a leaf with hooks, 0 if not, -1 with an error. */
static int
pass_on(Pass *pass, PyObject *node, PyObject *edge, PyObject *c, PyObject *g, bool fits)
{
    bool plain =
        fits || (c != NULL && PyArray_CheckExact(c) && dtype_of(c) == SLOT(edge, of_node.dtype) &&
                 has_shape(c, SLOT(edge, of_node.shape)));
    if (c != NULL && !plain) {
        Py_SETREF(c, PyObject_CallFunctionObjArgs(fit, c, edge, node, arrays, NULL));
    }
    int failed = c == NULL || arrive(pass, edge, c, c != g) < 0;
    Py_XDECREF(c);
    return failed ? -1 : SLOT(edge, of_node.hooks) != Py_None && number_of(edge) == 0;
}

/* Run the formulas of an ordinary node; returns as `pass_on`. */
static int
contribute(Pass *pass, PyObject *node, PyObject *g, PyObject *edges, Values *values)
{
    PyObject *op = SLOT(node, of_node.op), *formulas = SLOT(op, of_kind.formulas);
    PyObject *takes = SLOT(op, of_kind.takes), *shares = NULL, *xp = arrays;
    bool fits = SLOT(node, of_node.fits) == Py_True;
    Py_ssize_t count = PyTuple_GET_SIZE(edges);
    int led = 0;
    if (fits && ((PyArray_Descr *)SLOT(node, of_node.dtype))->kind == 'f') {
        xp = reals;
    }
    if (ordinary(op) == VARIADIC) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(takes, 0));
        PyObject *found = contribution(PyTuple_GET_ITEM(formulas, 0), place, xp, g, values);
        shares = found == NULL ? NULL : PySequence_Tuple(found);
        Py_XDECREF(found);
        if (shares == NULL || PyTuple_GET_SIZE(shares) != count) {
            Py_XDECREF(shares);
            return -1;
        }
    }
    for (Py_ssize_t i = 0; led >= 0 && i < count; i++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, i), *c;
        if (edge == Py_None) {
            continue;
        }
        if (shares != NULL) {
            c = Py_NewRef(PyTuple_GET_ITEM(shares, i));
        }
        else {
            long place = PyLong_AsLong(PyTuple_GET_ITEM(takes, i));
            c = contribution(PyTuple_GET_ITEM(formulas, i), place, xp, g, values);
        }
        int leads = pass_on(pass, node, edge, c, g, fits);
        led = leads < 0 ? -1 : led | leads;
    }
    Py_XDECREF(shares);
    return led;
}

/* The cotangent of a node, taken from those that have arrived; NULL with an error. For a node with
   several outputs it is a tuple, with zeros where nothing arrived. */
static PyObject *
cotangent(Pass *pass, PyObject *node)
{
    PyObject *g = PyDict_GetItemWithError(pass->grads, node), *op = SLOT(node, of_node.op);
    if (g == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_SetObject(PyExc_KeyError, node);
        }
        return NULL;
    }
    Py_INCREF(g);
    if (PyDict_DelItem(pass->grads, node) < 0) {
        Py_CLEAR(g);
    }
    else if (ordinary(op) == JOINED) {
        bool whole = true;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(g); i++) {
            whole = whole && PyList_GET_ITEM(g, i) != Py_None;
        }
        PyObject *args[] = {op, node, g, Py_False};
        Py_SETREF(g, whole ? PyList_AsTuple(g)
                           : PyObject_VectorcallMethod(text_materialize, args, 4, NULL));
    }
    return g;
}

/* Take the cotangent of an ordinary node and contribute to its edges; returns as `pass_on`. */
static int
run(Pass *pass, PyObject *node, bool free)
{
    PyObject *g = cotangent(pass, node);
    if (g == NULL) {
        return -1;
    }
    PyObject *edges = Py_NewRef(SLOT(node, of_node.edges));
    PyObject *saved = Py_NewRef(SLOT(node, of_node.saved));
    Values values = {.count = 0, .list = NULL};
    int led = -1;
    if (read_values(&values, node, saved, SLOT(node, of_node.params)) == 0) {
        if (free && !(PyTuple_CheckExact(saved) && PyTuple_GET_SIZE(saved) == 0)) {
            Py_SETREF(SLOT(node, of_node.saved), Py_NewRef(freed));
        }
        led = contribute(pass, node, g, edges, &values);
    }
    release(&values);
    Py_DECREF(saved);
    Py_DECREF(edges);
    Py_DECREF(g);
    return led;
}

/* Put the cotangent of one output in its place among those of the node behind it. */
static int
deliver(Pass *pass, PyObject *node)
{
    PyObject *g = cotangent(pass, node), *source = PyTuple_GET_ITEM(SLOT(node, of_node.edges), 0);
    PyObject *parts = g == NULL ? NULL : PyDict_GetItemWithError(pass->grads, source);
    Py_XINCREF(parts);
    if (parts == NULL && g != NULL && !PyErr_Occurred()) {
        PyObject *layout = PyObject_GetAttr(source, text_layout);
        Py_ssize_t count = layout == NULL ? -1 : PyObject_Length(layout);
        Py_XDECREF(layout);
        parts = count < 0 ? NULL : PyList_New(count);
        for (Py_ssize_t i = 0; parts != NULL && i < count; i++) {
            PyList_SET_ITEM(parts, i, Py_NewRef(Py_None));
        }
        if (parts != NULL && arrive(pass, source, parts, false) < 0) {
            Py_CLEAR(parts);
        }
    }
    if (parts != NULL) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(SLOT(node, of_node.params), 0));
        PyList_SetItem(parts, place, Py_NewRef(g));
    }
    int failed = parts == NULL;
    Py_XDECREF(parts);
    Py_XDECREF(g);
    return failed ? -1 : 0;
}

/* Run ordinary nodes until none waits or something else is to be done, which `stop` then says. */
static int
run_on(Pass *pass, bool free, PyObject **stop)
{
    for (PyObject *node; (node = newest(pass)) != NULL; Py_DECREF(node)) {
        int led = 1;
        if (SLOT(node, of_node.hooks) == Py_None) {
            PyObject *op = SLOT(node, of_node.op);
            led = op == output_kind ? deliver(pass, node)
                  : ordinary(op)    ? run(pass, node, free)
                                    : 1;
        }
        if (led && pass->next != NULL) { /* whoever goes on looks at the heap alone */
            if (led > 0 && push(pass->heap, pass->next, number_of(pass->next)) < 0) {
                led = -1;
            }
            Py_CLEAR(pass->next);
        }
        if (led < 0) {
            Py_DECREF(node);
            return -1;
        }
        if (led) {
            *stop = node;
            return 0;
        }
    }
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *
advance(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 5) {
        PyErr_SetString(PyExc_TypeError, "advance takes grads, borrowed, heap, leaves and free");
        return NULL;
    }
    Pass pass = {args[0], args[1], args[2], args[3], NULL};
    PyObject *stop = NULL;
    if (run_on(&pass, args[4] == Py_True, &stop) < 0) {
        return NULL;
    }
    return stop != NULL ? stop : Py_NewRef(Py_None);
}

static int
accumulate_all(Pass *pass)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pass->leaves); i++) {
        PyObject *leaf = PyList_GET_ITEM(pass->leaves, i),
                 *g = PyDict_GetItemWithError(pass->grads, leaf);
        int shared = PySet_GET_SIZE(pass->borrowed) ? PySet_Contains(pass->borrowed, leaf) : 0;
        if (g == NULL || shared < 0 || accumulate(leaf, g, shared) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
start(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "start takes a node, its cotangent and whether to free");
        return NULL;
    }
    Pass pass = {PyDict_New(), PySet_New(NULL), PyList_New(0), PyList_New(0), Py_NewRef(args[0])};
    PyObject *result = NULL, *stop = NULL;
    if (pass.grads != NULL && pass.borrowed != NULL && pass.heap != NULL && pass.leaves != NULL &&
        PyDict_SetItem(pass.grads, args[0], args[1]) == 0 &&
        run_on(&pass, args[2] == Py_True, &stop) == 0) {
        if (stop != NULL) {
            result = PyTuple_Pack(5, pass.grads, pass.borrowed, pass.heap, pass.leaves, stop);
        }
        else if (accumulate_all(&pass) == 0) {
            result = Py_NewRef(Py_None);
        }
    }
    Py_XDECREF(stop);
    Py_XDECREF(pass.next);
    Py_XDECREF(pass.leaves);
    Py_XDECREF(pass.heap);
    Py_XDECREF(pass.borrowed);
    Py_XDECREF(pass.grads);
    return result;
}
