/* What a call makes of its results: tensors, nodes and views, as `engine/record.py`. */

#include "shared.h"
#include "views.c"

/* A loop of a ufunc over operands of one type, and the type of what it gives. */
typedef struct {
    PyUFuncGenericFunction function;
    void *data;
    int gives;
} Loop;

enum { LOOPS = NPY_CDOUBLE - NPY_FLOAT + 1 }; /* for the real and complex types */

/* A `Table` of `engine/table.py`, in small numbers. */
typedef struct {
    int edges, saves;        /* how many */
    signed char edge[MOST];  /* the input that each leads to */
    signed char saved[MOST]; /* input i is i, output i is ~i */
    signed char needs[MOST]; /* of each edge, the saved values that its formula reads, as bits */
    PyObject *facts;         /* names of parameters, inputs for their shapes */
    long long fits;
    long long for_complex; /* the saved values that a real result does without, as bits */
} Layout;

/* Arguments that are looked at: their names, and a bit for each place; of those that may be None,
   too. */
typedef struct {
    PyObject *names, *optional;
    unsigned long long places, open;
} Looked;

enum { KINDS = 3 }; /* of arguments that are looked at: flags, numbers, integers */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *weakrefs;
    PyObject *python, *op, *forward;
    PyObject *run;               /* what takes the errors of the forward: `dispatch.run` */
    PyObject *served, *keywords; /* of a function: who takes calls with one of these keywords */
    Looked looked[KINDS];        /* of a function */
    Layout table;
    int inputs;
    bool several;      /* whether the forward gives a tuple of outputs */
    bool joined;       /* whether several outputs have cotangents, in one tuple */
    bool view;         /* whether the output shares the input's memory, */
    bool maybe;        /* or does so in some calls */
    bool variadic;     /* whether there may be any number of inputs */
    bool takes_scalar; /* whether the second input may be a number */
    bool is_ufunc;     /* whether few floating numbers may be given to the loops of a ufunc */
    Loop loops[LOOPS];
} Caller;

/* One call: the inputs, their arrays (held), and the values of the parameters after both. */
typedef struct {
    Caller *of;
    PyObject *const *args;
    PyObject **arrays;
    PyObject *kwnames;
    int count; /* of inputs */
    bool ran;  /* whether the forward has run */
} Call;

/* The value of the keyword argument called `name`, borrowed, or NULL. */
static PyObject *
keyword(Call *call, PyObject *name)
{
    for (Py_ssize_t i = 0; call->kwnames != NULL && i < PyTuple_GET_SIZE(call->kwnames); i++) {
        PyObject *found = PyTuple_GET_ITEM(call->kwnames, i);
        if (found == name || PyUnicode_Compare(found, name) == 0) {
            return call->args[call->count + i];
        }
    }
    return NULL;
}

/* `layout.kept_shape`. */
static PyObject *
fact_of(PyObject *array)
{
    bool plain = !PyArray_CheckExact(array) || PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array);
    return plain ? shape_of(array) : PyObject_CallOneArg(kept_shape, array);
}

/* The shape of one input, None if it is absent; of all of them where `place` is negative. */
static PyObject *
shape_at(Call *call, long place)
{
    if (place >= 0) {
        PyObject *array = call->arrays[place];
        return array == Py_None ? Py_NewRef(Py_None) : fact_of(array);
    }
    PyObject *shapes = PyTuple_New(call->count);
    for (int i = 0; shapes != NULL && i < call->count; i++) {
        PyObject *shape = fact_of(call->arrays[i]);
        if (shape == NULL) {
            Py_CLEAR(shapes);
            break;
        }
        PyTuple_SET_ITEM(shapes, i, shape);
    }
    return shapes;
}

/* The parameters that a node keeps; NULL without an error where one was not given. */
static PyObject *
collect(Call *call)
{
    Py_ssize_t count = PyTuple_GET_SIZE(call->of->table.facts);
    PyObject *facts = PyTuple_New(count);
    for (Py_ssize_t i = 0; facts != NULL && i < count; i++) {
        PyObject *fact = PyTuple_GET_ITEM(call->of->table.facts, i);
        PyObject *value = PyLong_Check(fact) ? shape_at(call, PyLong_AsLong(fact))
                                             : Py_XNewRef(keyword(call, fact));
        if (value == NULL) {
            Py_CLEAR(facts);
            break;
        }
        PyTuple_SET_ITEM(facts, i, value);
    }
    return facts;
}

/* The node that an input leads to, borrowed; None if it needs no gradient, or is no tensor; NULL where
   Python is to see to it. */
static PyObject *
edge_of(PyObject *input)
{
    return PyObject_TypeCheck(input, Tensor) ? node_of(input) : Py_None;
}

/* The input that edge number `i` leads to. */
static PyObject *
edge_input(Call *call, int i)
{
    return call->args[call->of->variadic ? i : call->of->table.edge[i]];
}

static int
count_edges(Call *call)
{
    return call->of->variadic ? call->count : call->of->table.edges;
}

static bool
wants_node(Call *call)
{
    for (int i = 0; i < count_edges(call); i++) {
        if (edge_of(edge_input(call, i)) != Py_None) {
            return call->of->table.edges > 0;
        }
    }
    return false;
}

/* An input as a node saves it: a tensor, also for a number. NULL without an error for an inference
   tensor, which must not be saved. */
static PyObject *
kept(PyObject *input, PyObject *array)
{
    if (input == Py_None) {
        return Py_NewRef(input);
    }
    if (!PyObject_TypeCheck(input, Tensor)) {
        return new_tensor(Py_NewRef(array));
    }
    return is_inference(input) ? NULL : Py_NewRef(input);
}

/* A node with the next number; the references to `edges`, `saved`, `params` and `shape` are taken. */
static PyObject *
new_node(PyObject *kind, PyObject *edges, PyObject *saved, PyObject *params, PyObject *shape,
         PyObject *dtype, bool fits)
{
    PyObject *node = NULL, *number = NULL;
    if (edges != NULL && saved != NULL && params != NULL && shape != NULL) {
        node = Node->tp_alloc(Node, 0);
        number = node == NULL ? NULL : tick();
    }
    if (number == NULL) {
        Py_XDECREF(node);
        Py_XDECREF(edges);
        Py_XDECREF(saved);
        Py_XDECREF(params);
        Py_XDECREF(shape);
        return NULL;
    }
    SLOT(node, of_node.seq) = number;
    SLOT(node, of_node.op) = Py_NewRef(kind);
    SLOT(node, of_node.edges) = edges;
    SLOT(node, of_node.saved) = saved;
    SLOT(node, of_node.params) = params;
    SLOT(node, of_node.shape) = shape;
    SLOT(node, of_node.dtype) = Py_NewRef(dtype);
    SLOT(node, of_node.hooks) = Py_NewRef(Py_None);
    SLOT(node, of_node.cell) = Py_NewRef(Py_None);
    SLOT(node, of_node.fits) = Py_NewRef(fits ? Py_True : Py_False);
    return node;
}

/* The node of a call that is to be recorded, given its outputs; NULL without an error where Python
   is to see to it. */
static PyObject *
record(Call *call, PyObject *const *results, Py_ssize_t outputs)
{
    Layout *table = &call->of->table;
    PyObject *facts = collect(call), *shape = NULL, *result = results[0], *node = NULL;
    PyObject *edges = PyTuple_New(count_edges(call)), *saved = PyTuple_New(table->saves);
    PyObject *dtype = Py_NewRef(dtype_of(result));
    bool fits = table->fits != NEVER;
    int keep = 0;
    if (facts == NULL || edges == NULL || saved == NULL) {
        goto done;
    }
    for (int i = 0; i < count_edges(call); i++) {
        PyObject *edge = edge_of(edge_input(call, i));
        if (edge == NULL) {
            goto done;
        }
        PyTuple_SET_ITEM(edges, i, Py_NewRef(edge));
        if (edge == Py_None) {
            continue;
        }
        if (SLOT(edge, of_node.op) == refused) { /* a history that is to be derived */
            goto done;
        }
        keep |= table->needs[call->of->variadic ? 0 : i];
        bool equal = has_shape(result, SLOT(edge, of_node.shape));
        if (equal && shape == NULL) {
            shape = Py_NewRef(SLOT(edge, of_node.shape)); /* one tuple for many nodes */
        }
        fits = fits && (equal || table->fits == DTYPES) && SLOT(edge, of_node.dtype) == dtype;
    }
    for (int i = 0; fits && i < call->count; i++) { /* a formula may compute with any of them */
        fits = call->arrays[i] == Py_None || dtype_of(call->arrays[i]) == dtype;
    }
    if (table->for_complex && !PyDataType_ISCOMPLEX((PyArray_Descr *)dtype)) {
        keep &= ~(int)table->for_complex;
    }
    for (int i = 0; i < table->saves; i++) {
        int from = table->saved[i];
        PyObject *value;
        if (!(keep & 1 << i)) {
            value = Py_NewRef(Py_None);
        }
        else if (from < 0) {
            value = ~from < outputs ? Py_NewRef(results[~from]) : NULL;
        }
        else {
            value = kept(call->args[from], call->arrays[from]);
        }
        if (value == NULL) {
            goto done;
        }
        PyTuple_SET_ITEM(saved, i, value);
    }
    if (shape == NULL) {
        shape = shape_of(result);
    }
    node = new_node(call->of->op, edges, saved, facts, shape, dtype, fits);
    facts = edges = saved = shape = NULL;
done:
    Py_XDECREF(facts);
    Py_XDECREF(edges);
    Py_XDECREF(saved);
    Py_XDECREF(shape);
    Py_DECREF(dtype);
    return node;
}

/* The tensor around the result, with its history if it has one, and tied to its base if it is a
   view; NULL, with or without an error, where that was not to be done here. */
static PyObject *
wrap(Call *call, PyObject *result, bool recording)
{
    PyObject *source = call->args[0], *node = NULL, *tensor = NULL, *view = NULL;
    PyObject *const *values = call->args + call->count;
    if (call->of->view && (!call->of->maybe || shares(call->arrays[0], result))) {
        view = new_view(source, call->of->op, values, call->kwnames, Py_None, recording);
        if (view == NULL) {
            return NULL;
        }
    }
    if (recording && wants_node(call)) {
        node = record(call, &result, 1);
        if (node == NULL) {
            goto done;
        }
    }
    tensor = new_tensor(Py_NewRef(result));
    if (tensor != NULL && node != NULL) {
        Py_XSETREF(SLOT(tensor, of_tensor.node), Py_NewRef(node));
    }
    if (tensor != NULL && view != NULL && link_view(source, tensor, view) < 0) {
        Py_CLEAR(tensor);
    }
done:
    Py_XDECREF(node);
    Py_XDECREF(view);
    return tensor;
}

/* The node that stands for one output of a node with several: `graph.output_node`. */
static PyObject *
output_node(PyObject *source, PyObject *number, PyObject *shape, PyObject *dtype, PyObject *places)
{
    PyObject *made = new_node(output_kind, PyTuple_Pack(1, source), PyTuple_New(0),
                              PyTuple_Pack(1, number), Py_NewRef(shape), dtype, false);
    PyObject *ref = made == NULL ? NULL : PyWeakref_NewRef(made, NULL);
    if (made != NULL && (ref == NULL || PyDict_SetItem(places, number, ref) < 0)) {
        Py_CLEAR(made);
    }
    Py_XDECREF(ref);
    return made;
}

/* Give several outputs their histories: the node itself where only the first has a cotangent. */
static int
set_outputs(Call *call, PyObject *node, PyObject *results, PyObject *tensors)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tensors);
    if (!call->of->joined) {
        Py_XSETREF(SLOT(PyTuple_GET_ITEM(tensors, 0), of_tensor.node), Py_NewRef(node));
        return 0;
    }
    Py_CLEAR(SLOT(node, of_node.shape));
    Py_CLEAR(SLOT(node, of_node.dtype));
    PyObject *places = PyDict_New(), *layout = PyTuple_New(count);
    int failed = places == NULL || layout == NULL;
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        PyObject *array = PyTuple_GET_ITEM(results, i), *shape = shape_of(array);
        PyObject *number = PyLong_FromSsize_t(i), *made = NULL, *entry = NULL;
        if (shape != NULL && number != NULL) {
            made = output_node(node, number, shape, dtype_of(array), places);
            entry = PyTuple_Pack(2, shape, dtype_of(array));
        }
        failed = made == NULL || entry == NULL;
        PyTuple_SET_ITEM(layout, i, entry);
        if (made != NULL) {
            Py_XSETREF(SLOT(PyTuple_GET_ITEM(tensors, i), of_tensor.node), made);
        }
        Py_XDECREF(shape);
        Py_XDECREF(number);
    }
    failed = failed || PyObject_SetAttr(node, text_layout, layout) < 0 ||
             PyObject_SetAttr(node, text_outputs, places) < 0;
    Py_XDECREF(layout);
    Py_XDECREF(places);
    return failed ? -1 : 0;
}

/* Tell a node the version cells of those of its outputs that it saved. */
static int
set_cells(Call *call, PyObject *node, PyObject *tensors)
{
    PyObject *cells = PyDict_New();
    int failed = cells == NULL;
    for (int i = 0; !failed && i < call->of->table.saves; i++) {
        int from = call->of->table.saved[i];
        if (from < 0 && ~from < PyTuple_GET_SIZE(tensors)) {
            PyObject *cell = cell_of(PyTuple_GET_ITEM(tensors, ~from)), *place = PyLong_FromLong(i);
            failed = cell == NULL || place == NULL || PyDict_SetItem(cells, place, cell) < 0;
            Py_XDECREF(cell);
            Py_XDECREF(place);
        }
    }
    failed = failed || PyObject_SetAttr(node, text_cells, cells) < 0;
    Py_XDECREF(cells);
    return failed ? -1 : 0;
}

static int
link_views(Call *call, PyObject *tensors, bool recording)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); i++) {
        PyObject *number = PyLong_FromSsize_t(i), *view = NULL;
        if (number != NULL) {
            view = new_view(call->args[0], call->of->op, call->args + call->count, call->kwnames,
                            number, recording);
        }
        int failed = view == NULL || link_view(call->args[0], PyTuple_GET_ITEM(tensors, i), view);
        Py_XDECREF(number);
        Py_XDECREF(view);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

/* `wrap` for an op with several outputs. */
static PyObject *
wrap_all(Call *call, PyObject *results, bool recording)
{
    Py_ssize_t count = PyTuple_GET_SIZE(results);
    PyObject *tensors = PyTuple_New(count), *node = NULL;
    int failed = tensors == NULL || count == 0;
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        PyObject *result = PyTuple_GET_ITEM(results, i);
        PyObject *tensor = PyArray_CheckExact(result) ? new_tensor(Py_NewRef(result)) : NULL;
        failed = tensor == NULL;
        PyTuple_SET_ITEM(tensors, i, tensor);
    }
    if (!failed && recording && wants_node(call)) {
        node = record(call, PySequence_Fast_ITEMS(results), count);
        failed = node == NULL || set_outputs(call, node, results, tensors) ||
                 set_cells(call, node, tensors);
    }
    if (!failed && call->of->view) {
        failed = link_views(call, tensors, recording);
    }
    Py_XDECREF(node);
    if (failed) {
        Py_CLEAR(tensors);
    }
    return tensors;
}
