/* The backward pass over ordinary nodes, and the leaves at its end, as `engine/backward/traversal.py`. */

#include "shared.h"
#include "leaves.c"

/* The heap is that of `traversal.run`: a list of (-seq, node), the newest node first. Code of the user's
   may change it between any two calls below, but during none. */

/* What is at a place of the heap, borrowed, and its key. */
static PyObject *
waiting(PyObject *heap, Py_ssize_t i, long long *key)
{
    PyObject *item = PyList_GET_ITEM(heap, i);
    if (!PyTuple_CheckExact(item) || PyTuple_GET_SIZE(item) != 2 ||
        !is_integer(PyTuple_GET_ITEM(item, 0), key) || !is_a(PyTuple_GET_ITEM(item, 1), Node)) {
        PyErr_SetString(PyExc_TypeError, "the heap of a backward pass holds (number, node) only");
        return NULL;
    }
    return PyTuple_GET_ITEM(item, 1);
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
    long long key, above;
    for (Py_ssize_t i = PyList_GET_SIZE(heap) - 1; i > 0; i = (i - 1) / 2) {
        if (!waiting(heap, i, &key) || !waiting(heap, (i - 1) / 2, &above)) {
            return -1;
        }
        if (key >= above) {
            break;
        }
        swap(heap, i, (i - 1) / 2);
    }
    return 0;
}

/* Take the newest node; NULL, without an error where there is none. */
static PyObject *
pop(PyObject *heap)
{
    Py_ssize_t last = PyList_GET_SIZE(heap) - 1;
    long long key, left, right;
    PyObject *node = last < 0 ? NULL : Py_XNewRef(waiting(heap, 0, &key));
    if (node == NULL) {
        return NULL;
    }
    swap(heap, 0, last);
    for (Py_ssize_t i = 0, child; (child = 2 * i + 1) < last; i = child) {
        if (!waiting(heap, i, &key) || !waiting(heap, child, &left)) {
            Py_DECREF(node);
            return NULL;
        }
        if (child + 1 < last) {
            if (!waiting(heap, child + 1, &right)) {
                Py_DECREF(node);
                return NULL;
            }
            child += right < left;
            left = right < left ? right : left;
        }
        if (key <= left) {
            break;
        }
        swap(heap, i, child);
    }
    if (PyList_SetSlice(heap, last, last + 1, NULL) < 0) {
        Py_CLEAR(node);
    }
    return node;
}

/* The number of a node; -1 with an error. */
static long long
number_of(PyObject *node)
{
    long long number;
    if (is_integer(SLOT(node, of_node.seq), &number) && number >= 0) {
        return number;
    }
    PyErr_Format(PyExc_TypeError, "the number `seq` of %R must be an integer, 0 or more", node);
    return -1;
}

/* An ordinary node that is about to run: what its formulas take, held. The values are those that
   `saved.raw` gives. */
typedef struct {
    PyObject *op, *edges, *saved, *params, *formulas, *joint, *reads;
    long long kind, seq; /* which of the ordinary kinds, or 0 */
    long long leads;     /* `Table.leads` */
    Py_ssize_t count;    /* of values */
    PyObject *values[MOST_VALUES];
} Turn;

static void
release(Turn *turn)
{
    while (turn->count > 0) {
        Py_DECREF(turn->values[--turn->count]);
    }
    Py_CLEAR(turn->op);
    Py_CLEAR(turn->edges);
    Py_CLEAR(turn->saved);
    Py_CLEAR(turn->params);
    Py_CLEAR(turn->formulas);
    Py_CLEAR(turn->joint);
    Py_CLEAR(turn->reads);
}

/* The version cell of an output that a node saved in one of its places, or None; held. */
static PyObject *
saved_cell(PyObject *node, Py_ssize_t place)
{
    PyObject *cells = PyObject_GetAttr(node, text_cells), *cell = NULL, *number;
    if (cells == Py_None) {
        cell = Py_XNewRef(optional(SLOT(node, of_node.cell), Cell));
    }
    else if (cells != NULL && PyDict_CheckExact(cells)) {
        number = PyLong_FromSsize_t(place);
        cell = number == NULL ? NULL : PyDict_GetItemWithError(cells, number);
        cell = Py_XNewRef(optional(cell, Cell));
        Py_XDECREF(number);
    }
    Py_XDECREF(cells);
    return cell;
}

/* Whether a saved value is there and was not written since; if so, it is the next of the values. */
static bool
take(Turn *turn, PyObject *node, PyObject *value)
{
    PyObject *array = NULL, *cell = NULL;
    long long last = -1;
    if (value == Py_None) {
        array = cell = Py_NewRef(value);
        Py_INCREF(cell);
    }
    else if (PyArray_CheckExact(value)) {
        array = Py_NewRef(value);
        cell = saved_cell(node, turn->count);
    }
    else if (PyObject_TypeCheck(value, Tensor)) {
        array = Py_XNewRef(SLOT(value, of_tensor.array));
        cell = known_cell(value);
        cell = Py_XNewRef(cell == Py_None ? told_cell(value) : cell);
    }
    bool known = array != NULL && cell != NULL &&
                 (cell == Py_None || is_integer(SLOT(cell, of_cell.last), &last));
    Py_XDECREF(cell);
    if (!known || last > turn->seq) {
        Py_XDECREF(array);
        return false;
    }
    turn->values[turn->count++] = array;
    return true;
}

/* The edges of a node, held, with None in the place of those that are not among the `needed` ones, all
   if that is NULL; NULL, with or without an error, where they are no tuple. */
static PyObject *
needed_edges(PyObject *node, PyObject *needed)
{
    PyObject *edges = Py_XNewRef(tuple_at(node, of_node.edges));
    if (edges == NULL || needed == NULL) {
        return edges;
    }
    PyObject *found = PyTuple_New(PyTuple_GET_SIZE(edges));
    for (Py_ssize_t i = 0; found != NULL && i < PyTuple_GET_SIZE(edges); i++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, i);
        int there = edge == Py_None ? 0 : PySet_Contains(needed, edge);
        if (there < 0) {
            Py_CLEAR(found);
        }
        else {
            PyTuple_SET_ITEM(found, i, Py_NewRef(there ? edge : Py_None));
        }
    }
    Py_DECREF(edges);
    return found;
}

/* Hold what an ordinary node needs in order to run; false where Python is to see to it: saved values
   that are freed, written or packed, and whatever does not belong into a slot. */
static bool
prepare(Turn *turn, PyObject *node, PyObject *needed)
{
    turn->op = Py_XNewRef(SLOT(node, of_node.op));
    if (!is_a(turn->op, Kind) || !is_integer(SLOT(turn->op, of_kind.ordinary), &turn->kind) ||
        turn->kind == 0 || turn->kind == CALLED) {
        return false;
    }
    turn->formulas = Py_XNewRef(tuple_at(turn->op, of_kind.formulas));
    turn->joint = Py_XNewRef(SLOT(turn->op, of_kind.joint));
    PyObject *table = SLOT(turn->op, of_kind.table);
    turn->reads = is_a(table, Table) ? Py_XNewRef(tuple_at(table, of_table.reads)) : NULL;
    turn->edges = needed_edges(node, needed);
    turn->saved = Py_XNewRef(tuple_at(node, of_node.saved));
    turn->params = Py_XNewRef(tuple_at(node, of_node.params));
    if (turn->formulas == NULL || turn->joint == NULL || turn->reads == NULL ||
        turn->edges == NULL || turn->saved == NULL || turn->params == NULL ||
        !PyTuple_CheckExact(turn->saved) || !is_integer(SLOT(node, of_node.seq), &turn->seq) ||
        !is_integer(SLOT(table, of_table.leads), &turn->leads)) {
        return false;
    }
    Py_ssize_t edges = PyTuple_GET_SIZE(turn->edges), saves = PyTuple_GET_SIZE(turn->saved);
    Py_ssize_t formulas = PyTuple_GET_SIZE(turn->formulas), facts = PyTuple_GET_SIZE(turn->params);
    if (formulas != (turn->kind == VARIADIC ? 1 : edges) ||
        PyTuple_GET_SIZE(turn->reads) != formulas || saves + facts > MOST_VALUES) {
        return false;
    }
    for (Py_ssize_t i = 0; i < edges; i++) {
        if (optional(PyTuple_GET_ITEM(turn->edges, i), Node) == NULL) {
            return false;
        }
    }
    for (Py_ssize_t i = 0; i < saves; i++) {
        if (!take(turn, node, PyTuple_GET_ITEM(turn->saved, i))) {
            PyErr_Clear();
            return false;
        }
    }
    for (Py_ssize_t i = 0; i < facts; i++) {
        turn->values[turn->count++] = Py_NewRef(PyTuple_GET_ITEM(turn->params, i));
    }
    return true;
}

/* The contribution of one formula. */
static PyObject *
contribution(Turn *turn, Py_ssize_t i, PyObject *xp, PyObject *g)
{
    PyObject *stack[3 + MOST_VALUES], *reads = PyTuple_GET_ITEM(turn->reads, i);
    Py_ssize_t count = PyTuple_CheckExact(reads) ? PyTuple_GET_SIZE(reads) : MOST_VALUES + 1;
    bool known = count <= MOST_VALUES;
    stack[1] = xp;
    stack[2] = g;
    for (Py_ssize_t k = 0; known && k < count; k++) {
        long long place;
        known = is_integer(PyTuple_GET_ITEM(reads, k), &place) && 0 <= place && place < turn->count;
        stack[3 + k] = known ? turn->values[place] : NULL;
    }
    if (!known) {
        PyErr_Format(PyExc_IndexError, "formula %zd of %R reads a value that there is not", i,
                     turn->op);
        return NULL;
    }
    PyObject *formula = PyTuple_GET_ITEM(turn->formulas, i);
    return PyObject_Vectorcall(formula, stack + 1, (2 + count) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                               NULL);
}

/* `layout.turned`. */
static bool
is_turned(PyObject *x)
{
    PyArrayObject *array = (PyArrayObject *)x;
    if (x == NULL || !PyArray_CheckExact(x) || PyArray_IS_C_CONTIGUOUS(array)) {
        return false;
    }
    npy_intp least = NPY_MAX_INTP;
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        npy_intp step = PyArray_STRIDE(array, d);
        step = PyArray_DIM(array, d) > 1 ? step < 0 ? -step : step : 0;
        if (step > least) {
            return true;
        }
        least = step == 0 ? least : step;
    }
    return false;
}

/* The value that leads the formulas, or the cotangent; NULL where none does. */
static PyObject *
leader(Turn *turn, PyObject *g)
{
    return turn->leads == COTANGENT ? g
           : FIRST <= turn->leads && turn->leads - FIRST < turn->count
               ? turn->values[turn->leads - FIRST]
               : NULL;
}

/* The contributions to all edges that are there, in order, by the formula for several of them: a
   tuple; NULL, with or without an error, where there is no such formula, it is for other orders in
   memory, or for more than one edge. */
static PyObject *
joint_contributions(Turn *turn, PyObject *xp, PyObject *g)
{
    PyObject *stack[4 + MOST_VALUES];
    Py_ssize_t edges = PyTuple_GET_SIZE(turn->edges), live = 0;
    unsigned long wanted = 0;
    bool led = turn->leads != NOBODY;
    if (turn->joint == Py_None || edges > 32 || (led && !is_turned(leader(turn, g)))) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < edges; i++) {
        bool lives = PyTuple_GET_ITEM(turn->edges, i) != Py_None;
        wanted |= (unsigned long)lives << i;
        live += lives;
    }
    PyObject *number = live < 2 && !led ? NULL : PyLong_FromUnsignedLong(wanted);
    if (number == NULL) {
        return NULL;
    }
    stack[1] = xp;
    stack[2] = number;
    stack[3] = g;
    for (Py_ssize_t i = 0; i < turn->count; i++) {
        stack[4 + i] = turn->values[i];
    }
    PyObject *found = PyObject_Vectorcall(turn->joint, stack + 1,
                                          (3 + turn->count) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_DECREF(number);
    if (found != NULL && (!PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) != live)) {
        PyErr_Format(PyExc_ValueError, "the joint formula of %R must give %zd contributions",
                     turn->op, live);
        Py_CLEAR(found);
    }
    return found;
}

/* Add to a cotangent that has arrived already: NOTE [Ownership of cotangents] in `traversal.py`. */
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
    if (!shared && add_few(before, c)) {
        return 0;
    }
    if (!shared) {
        PyObject *stack[4] = {NULL, before, c, before};
        PyObject *sum =
            PyObject_Vectorcall(add, stack + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        Py_XDECREF(sum);
        return sum == NULL ? -1 : 0;
    }
    PyObject *sum = disagree(before, c)
                        ? PyObject_CallFunctionObjArgs(meeting, add, before, c, NULL)
                        : PyNumber_Add(before, c);
    int failed =
        sum == NULL || PyDict_SetItem(grads, node, sum) < 0 || PySet_Discard(borrowed, node) < 0;
    Py_XDECREF(sum);
    return failed ? -1 : 0;
}

/* What one backward pass works on; the nodes that alone are needed, and those that are captured, or NULL;
   the newest node so far of those that are not on the heap; the `Pass` for nodes of the kind CALLED,
   once there is one; and the quiet context. */
typedef struct {
    PyObject *grads, *borrowed, *heap, *leaves;
    PyObject *needed, *wanted;
    PyObject *next;
    PyObject *const *start; /* the arguments of `start`, the last of them runs nodes of that kind */
    PyObject *task, *quiet;
} Pass;

/* Enter a node that has just got its first contribution. */
static int
enter(Pass *pass, PyObject *node)
{
    long long seq = number_of(node);
    if (seq <= 0) {
        return seq < 0 ? -1 : PyList_Append(pass->leaves, node);
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
    long long number = number_of(next), key;
    bool known = number >= 0 && waiting(pass->heap, 0, &key) != NULL;
    if (known && -number < key) {
        return next;
    }
    bool failed = !known || push(pass->heap, next, number) < 0;
    Py_DECREF(next);
    return failed ? NULL : pop(pass->heap);
}

/* Add a contribution to what has arrived at the end of an edge. */
static int
add_contribution(Pass *pass, PyObject *edge, PyObject *c, bool fresh)
{
    PyObject *before = PyDict_GetItemWithError(pass->grads, edge);
    if (before == Py_None) { /* `add_nothing` has entered it, as borrowed */
        return PyDict_SetItem(pass->grads, edge, c);
    }
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

/* Fit a contribution, whose reference is taken, to its edge, and add it: 1 if the edge leads
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
    int failed = c == NULL || add_contribution(pass, edge, c, c != g) < 0;
    Py_XDECREF(c);
    if (failed || SLOT(edge, of_node.hooks) == Py_None) {
        return failed ? -1 : 0;
    }
    long long number = number_of(edge);
    return number < 0 ? -1 : number == 0;
}

/* Whether contributions are known to fit their edges. Those in half floats and in complex numbers
   are not: formulas may compute in a wider dtype. */
static bool
surely_fits(PyObject *node)
{
    PyObject *dtype = SLOT(node, of_node.dtype);
    return SLOT(node, of_node.fits) == Py_True && dtype != NULL && PyArray_DescrCheck(dtype) &&
           ((PyArray_Descr *)dtype)->kind == 'f' && PyDataType_ELSIZE((PyArray_Descr *)dtype) > 2;
}

/* Free the node if so, and let go of the saved values: all formulas have run, and the memory is not
   needed while contributions are added up. Where a formula raises, the node is not freed. */
static void
finish_with(PyObject *node, Turn *turn, bool free)
{
    if (free && turn->saved != NULL && PyTuple_GET_SIZE(turn->saved) > 0) {
        Py_XSETREF(SLOT(node, of_node.saved), Py_NewRef(freed));
    }
    Py_CLEAR(turn->saved);
    while (turn->count > 0) {
        Py_DECREF(turn->values[--turn->count]);
    }
}

/* Run the formulas of an ordinary node; returns as `pass_on`. */
static int
contribute(Pass *pass, PyObject *node, PyObject *g, Turn *turn, bool free)
{
    bool fits = surely_fits(node);
    PyObject *xp = fits ? reals : arrays, *contributions = NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(turn->edges);
    int led = 0;
    if (turn->kind == VARIADIC) {
        PyObject *found = contribution(turn, 0, xp, g);
        contributions = found == NULL ? NULL : PySequence_Tuple(found);
        Py_XDECREF(found);
        if (contributions != NULL && PyTuple_GET_SIZE(contributions) != count) {
            PyErr_Format(PyExc_ValueError, "the formula of %R gave %zd contributions to %zd edges",
                         turn->op, PyTuple_GET_SIZE(contributions), count);
            Py_CLEAR(contributions);
        }
        if (contributions == NULL) {
            return -1;
        }
    }
    else {
        contributions = joint_contributions(turn, xp, g);
        if (contributions == NULL && PyErr_Occurred()) {
            return -1;
        }
    }
    Py_ssize_t next = 0, last = count - 1; /* the last edge that is there */
    while (last > 0 && PyTuple_GET_ITEM(turn->edges, last) == Py_None) {
        last--;
    }
    for (Py_ssize_t i = 0; led >= 0 && i < count; i++) {
        PyObject *edge = PyTuple_GET_ITEM(turn->edges, i), *c;
        if (edge == Py_None) {
            continue;
        }
        Py_ssize_t place = turn->kind == VARIADIC ? i : next++;
        c = contributions != NULL ? Py_NewRef(PyTuple_GET_ITEM(contributions, place))
                                  : contribution(turn, i, xp, g);
        if (c != NULL && (contributions != NULL || i == last)) {
            finish_with(node, turn, free);
        }
        int leads = pass_on(pass, node, edge, c, g, fits);
        led = leads < 0 ? -1 : led | leads;
    }
    Py_XDECREF(contributions);
    return led;
}

/* The cotangent that has arrived at a node, which is taken; NULL with an error. */
static PyObject *
cotangent(Pass *pass, PyObject *node)
{
    PyObject *g = Py_XNewRef(PyDict_GetItemWithError(pass->grads, node));
    if (g == NULL && !PyErr_Occurred()) {
        PyErr_SetObject(PyExc_KeyError, node);
    }
    if (g != NULL && PyDict_DelItem(pass->grads, node) < 0) {
        Py_CLEAR(g);
    }
    return g;
}

/* The cotangents of a node with several outputs, a tuple: zeros where nothing has arrived. */
static PyObject *
materialized(PyObject *op, PyObject *node, PyObject *parts)
{
    PyObject *found = PySequence_Tuple(parts);
    bool whole = found != NULL;
    for (Py_ssize_t i = 0; whole && i < PyTuple_GET_SIZE(found); i++) {
        whole = PyTuple_GET_ITEM(found, i) != Py_None;
    }
    if (found != NULL && !whole) {
        PyObject *args[] = {op, node, found, Py_False};
        Py_SETREF(found, PyObject_VectorcallMethod(text_materialize, args, 4, NULL));
    }
    return found;
}

/* Take the cotangent of an ordinary node and contribute to its edges; returns as `pass_on`. */
static int
run(Pass *pass, PyObject *node, bool free, Turn *turn)
{
    PyObject *g = cotangent(pass, node);
    if (g != NULL && turn->kind == JOINED) {
        Py_SETREF(g, materialized(turn->op, node, g));
    }
    if (g == NULL) {
        return -1;
    }
    int led = contribute(pass, node, g, turn, free);
    Py_DECREF(g);
    return led;
}

/* The node behind one of several outputs, held, and the place of the output there; NULL where Python is
   to see to it. */
static PyObject *
source_of(PyObject *node, long long *place)
{
    PyObject *edges = tuple_at(node, of_node.edges), *params = tuple_at(node, of_node.params);
    bool plain = edges != NULL && PyTuple_GET_SIZE(edges) == 1 && params != NULL &&
                 PyTuple_GET_SIZE(params) == 1 && is_a(PyTuple_GET_ITEM(edges, 0), Node) &&
                 is_integer(PyTuple_GET_ITEM(params, 0), place);
    return plain ? Py_NewRef(PyTuple_GET_ITEM(edges, 0)) : NULL;
}

/* A list of None for each output of a node, which has arrived there. */
static PyObject *
new_parts(Pass *pass, PyObject *source)
{
    PyObject *layout = PyObject_GetAttr(source, text_layout);
    Py_ssize_t count = layout == NULL ? -1 : PyObject_Length(layout);
    Py_XDECREF(layout);
    PyObject *parts = count < 0 ? NULL : PyList_New(count);
    for (Py_ssize_t i = 0; parts != NULL && i < count; i++) {
        PyList_SET_ITEM(parts, i, Py_NewRef(Py_None));
    }
    if (parts != NULL && add_contribution(pass, source, parts, false) < 0) {
        Py_CLEAR(parts);
    }
    return parts;
}

/* Put the cotangent of one output in its place among those of the node behind it; 1 where Python is to
   see to it. */
static int
output_cotangent(Pass *pass, PyObject *node)
{
    long long place;
    PyObject *source = source_of(node, &place), *g = NULL, *parts = NULL;
    int failed = source == NULL;
    if (!failed) {
        g = cotangent(pass, node);
        parts = g == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(pass->grads, source));
        if (parts == NULL && g != NULL && !PyErr_Occurred()) {
            parts = new_parts(pass, source);
        }
        failed = -1;
    }
    if (parts != NULL && !PyList_CheckExact(parts)) {
        PyErr_Format(PyExc_TypeError, "what has arrived at %R is no list of cotangents", source);
    }
    else if (parts != NULL) {
        failed = PyList_SetItem(parts, (Py_ssize_t)place, Py_NewRef(g)); /* checks the place */
    }
    Py_XDECREF(parts);
    Py_XDECREF(g);
    Py_XDECREF(source);
    return failed;
}

/* Let the newest node that waits beside the heap wait there, for whoever looks at the heap alone. */
static int
put_back(Pass *pass)
{
    PyObject *next = pass->next;
    pass->next = NULL;
    long long number = next == NULL ? 0 : number_of(next);
    int failed = next != NULL && (number < 0 || push(pass->heap, next, number) < 0);
    Py_XDECREF(next);
    return failed ? -1 : 0;
}

/* What `call` gives for a node, (pass, contributions): the user's code runs, in the user's state. */
static PyObject *
call_kind(Pass *pass, PyObject *node, PyObject *g)
{
    PyObject *state = PyTuple_Pack(4, pass->grads, pass->borrowed, pass->heap, pass->leaves);
    if (state == NULL || make_loud(pass->quiet) < 0) {
        pass->quiet = state == NULL ? pass->quiet : NULL;
        Py_XDECREF(state);
        return NULL;
    }
    PyObject *task = pass->task == NULL ? Py_None : pass->task;
    PyObject *stack[] = {task, state, node, g, pass->start[0], pass->start[1], pass->start[2]};
    PyObject *given = PyObject_Vectorcall(pass->start[3], stack, 7, NULL);
    Py_DECREF(state);
    pass->quiet = make_quiet();
    if (given != NULL &&
        (pass->quiet == NULL || !PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) != 2)) {
        Py_CLEAR(given);
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "what runs a node gives (pass, contributions)");
        }
    }
    return given;
}

/* Enter that nothing has arrived at the end of an edge, where nothing is known: `add_contribution`. */
static int
add_nothing(Pass *pass, PyObject *edge)
{
    int known = PyDict_Contains(pass->grads, edge);
    if (known) {
        return known < 0 ? -1 : 0;
    }
    if (PyDict_SetItem(pass->grads, edge, Py_None) < 0 || PySet_Add(pass->borrowed, edge) < 0) {
        return -1;
    }
    return enter(pass, edge);
}

/* Run a node of the kind CALLED; returns as `pass_on`, and 1 where it gave nothing to an edge, which
   Python goes on with. */
static int
run_called(Pass *pass, PyObject *node, bool free)
{
    PyObject *g, *given, *found = NULL, *edges = Py_XNewRef(tuple_at(node, of_node.edges));
    int led = -1;
    if (put_back(pass) < 0 || edges == NULL || (g = cotangent(pass, node)) == NULL) {
        Py_XDECREF(edges);
        return -1;
    }
    given = call_kind(pass, node, g);
    Py_DECREF(g);
    if (given != NULL) {
        Py_XSETREF(pass->task, Py_NewRef(PyTuple_GET_ITEM(given, 0)));
        found = PySequence_Tuple(PyTuple_GET_ITEM(given, 1));
        Py_DECREF(given);
    }
    if (found != NULL && PyTuple_GET_SIZE(found) != PyTuple_GET_SIZE(edges)) {
        PyErr_Format(PyExc_ValueError, "%zd contributions to %zd edges", PyTuple_GET_SIZE(found),
                     PyTuple_GET_SIZE(edges));
        Py_CLEAR(found);
    }
    PyObject *saved = found == NULL || !free ? NULL : tuple_at(node, of_node.saved);
    if (saved != NULL && PyTuple_GET_SIZE(saved) > 0) {
        Py_XSETREF(SLOT(node, of_node.saved), Py_NewRef(freed));
    }
    led = found == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; led >= 0 && i < PyTuple_GET_SIZE(edges); i++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, i), *c = PyTuple_GET_ITEM(found, i);
        if (!is_a(edge, Node)) {
            continue;
        }
        int leads = 1;
        if (c != Py_None) { /* which the user may hold: it is never written */
            leads = pass_on(pass, node, edge, Py_NewRef(c), c, false);
        }
        else if (add_nothing(pass, edge) < 0 ||
                 PyObject_SetAttr(pass->task, text_undefined, Py_True) < 0) {
            leads = -1;
        }
        led = leads < 0 ? -1 : led | leads;
    }
    Py_XDECREF(found);
    Py_DECREF(edges);
    return led;
}

/* Whether a node is of the kind CALLED, and can be run here: in default modes, and not freed. */
static bool
is_called(Pass *pass, PyObject *node)
{
    PyObject *op = SLOT(node, of_node.op);
    long long kind;
    return pass->start != NULL && is_a(op, Kind) && tuple_at(node, of_node.edges) != NULL &&
           is_integer(SLOT(op, of_kind.ordinary), &kind) && kind == CALLED &&
           PyDict_GetItemWithError(modes, text_special) == zero;
}

/* Let one node run: 0 when it has; 1 where it led to a leaf with hooks, or Python is to see to it. */
static int
step(Pass *pass, PyObject *node, bool free)
{
    if (SLOT(node, of_node.hooks) != Py_None) {
        return 1;
    }
    if (pass->needed != NULL) {
        int needed = PySet_Contains(pass->needed, node);
        int wanted = needed < 0 ? -1 : PySet_Contains(pass->wanted, node);
        if (needed <= 0 || wanted != 0) {
            return needed < 0 || wanted < 0 ? -1 : 1;
        }
    }
    if (SLOT(node, of_node.op) == output_kind) {
        return output_cotangent(pass, node);
    }
    if (is_called(pass, node)) {
        return run_called(pass, node, free);
    }
    Turn turn;
    memset(&turn, 0, offsetof(Turn, values));
    bool prepared = prepare(&turn, node, pass->needed);
    int led = prepared ? run(pass, node, free, &turn) : PyErr_Occurred() ? -1 : 1;
    release(&turn);
    return led;
}

/* Say in the error that is set at which node it happened. */
static void
note(PyObject *node)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *done = PyObject_CallFunctionObjArgs(noted, value, node, NULL);
    Py_XDECREF(done);
    PyErr_Restore(type, value, traceback); /* in place of what went wrong with the note, if so */
}

/* Run ordinary nodes until none waits or something else is to be done, which `stop` then says. */
static int
run_on(Pass *pass, bool free, PyObject **stop)
{
    for (PyObject *node; (node = newest(pass)) != NULL; Py_DECREF(node)) {
        int led = step(pass, node, free);
        if (led < 0) {
            note(node);
        }
        if (led > 0 && put_back(pass) < 0) {
            led = -1;
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
    if (Tensor == NULL) {
        return in_python(advance_in_python, args, count, NULL);
    }
    bool all = count == 7 && args[5] == Py_None;
    if (count != 7 || !PyDict_CheckExact(args[0]) || !PySet_CheckExact(args[1]) ||
        !PyList_CheckExact(args[2]) || !PyList_CheckExact(args[3]) ||
        !(all || (PySet_CheckExact(args[5]) && PySet_CheckExact(args[6])))) {
        PyErr_SetString(PyExc_TypeError,
                        "advance takes grads (a dict), borrowed (a set), heap and leaves (lists), "
                        "free, and needed and wanted (None and anything, or sets)");
        return NULL;
    }
    Pass pass = {.grads = args[0], .borrowed = args[1], .heap = args[2], .leaves = args[3]};
    pass.needed = all ? NULL : args[5];
    pass.wanted = all ? NULL : args[6];
    pass.quiet = make_quiet();
    PyObject *stop = NULL;
    if (pass.quiet == NULL) {
        return NULL;
    }
    int failed = run_on(&pass, args[4] == Py_True, &stop);
    Py_XDECREF(pass.next);
    if (make_loud(pass.quiet) < 0 || failed) {
        Py_XDECREF(stop);
        return NULL;
    }
    return stop != NULL ? stop : Py_NewRef(Py_None);
}

static int
accumulate_all(Pass *pass)
{
    if (check_leaves(pass->leaves) < 0) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pass->leaves); i++) {
        PyObject *leaf = Py_NewRef(PyList_GET_ITEM(pass->leaves, i));
        PyObject *g = Py_XNewRef(PyDict_GetItemWithError(pass->grads, leaf));
        int shared = PySet_GET_SIZE(pass->borrowed) ? PySet_Contains(pass->borrowed, leaf) : 0;
        int failed = g == NULL || shared < 0 || PyDict_DelItem(pass->grads, leaf) < 0;
        failed = failed || accumulate(leaf, g, shared && Py_REFCNT(g) > 1) < 0;
        if (failed && !PyErr_Occurred()) {
            PyErr_SetObject(PyExc_KeyError, leaf);
        }
        if (failed) {
            note(leaf);
        }
        Py_XDECREF(g);
        Py_DECREF(leaf);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
start(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (Tensor == NULL) {
        return in_python(start_in_python, args, count, NULL);
    }
    if (count != 4 || !is_a(args[0], Node)) {
        PyErr_SetString(
            PyExc_TypeError,
            "start takes a node, its cotangent, whether to retain, and what runs others");
        return NULL;
    }
    Pass pass = {.grads = PyDict_New(), .borrowed = PySet_New(NULL), .heap = PyList_New(0)};
    pass.leaves = PyList_New(0);
    pass.next = Py_NewRef(args[0]);
    pass.start = args;
    PyObject *result = NULL, *stop = NULL, *task = Py_None, *state;
    if (pass.grads != NULL && pass.borrowed != NULL && pass.heap != NULL && pass.leaves != NULL &&
        PyDict_SetItem(pass.grads, args[0], args[1]) == 0 && (pass.quiet = make_quiet()) != NULL) {
        int retain = PyObject_IsTrue(args[2]);
        int failed = retain < 0 ? -1 : run_on(&pass, !retain, &stop);
        task = pass.task == NULL ? Py_None : pass.task;
        if (!failed && stop == NULL) {
            failed = accumulate_all(&pass);
        }
        if (!failed && (stop != NULL || task != Py_None)) {
            state = PyTuple_Pack(4, pass.grads, pass.borrowed, pass.heap, pass.leaves);
            result =
                state == NULL ? NULL : PyTuple_Pack(3, task, state, stop == NULL ? Py_None : stop);
            Py_XDECREF(state);
        }
        else if (!failed) {
            result = Py_NewRef(Py_None);
        }
        if (pass.quiet != NULL && make_loud(pass.quiet) < 0) {
            Py_CLEAR(result);
        }
    }
    Py_XDECREF(stop);
    Py_XDECREF(pass.task);
    Py_XDECREF(pass.next);
    Py_XDECREF(pass.leaves);
    Py_XDECREF(pass.heap);
    Py_XDECREF(pass.borrowed);
    Py_XDECREF(pass.grads);
    return result;
}
