/* Callers: they compute, and record a node where a gradient is wanted, as `engine/callers.py`. */

#include "shared.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *dict, *weakrefs;
    PyObject *python, *op, *forward;
    PyObject *facts; /* what a node keeps besides: names of parameters, inputs for their shapes */
    int inputs, edges, saves;
    int fits;                       /* when contributions fit their edges as they are */
    bool takes_scalar;              /* whether the second input may be a number */
    signed char places[MOST];       /* the inputs that edges lead to */
    signed char sources[MOST];      /* of each saved value: input i is i, the output is ~0 */
    unsigned char keeps[1 << MOST]; /* by which edges there are: which of the values are saved */
} Caller;

/* Whether a value that is about to be saved was made in inference mode. */
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

/* The value of the keyword argument called `name`, borrowed, or NULL. */
static PyObject *
keyword(PyObject *name, PyObject *const *values, PyObject *names)
{
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *found = PyTuple_GET_ITEM(names, i);
        if (found == name || PyUnicode_Compare(found, name) == 0) {
            return values[i];
        }
    }
    return NULL;
}

/* The parameters that a node keeps; NULL without an error where one was not given. */
static PyObject *
collect(Caller *self, PyObject *const *args, PyObject *const *inputs, PyObject *kwnames)
{
    Py_ssize_t count = PyTuple_GET_SIZE(self->facts);
    PyObject *facts = PyTuple_New(count);
    for (Py_ssize_t i = 0; facts != NULL && i < count; i++) {
        PyObject *fact = PyTuple_GET_ITEM(self->facts, i), *value;
        if (PyLong_Check(fact)) {
            PyObject *array = inputs[PyLong_AsLong(fact)];
            value = array == Py_None ? Py_NewRef(Py_None) : shape_of(array);
        }
        else {
            value = Py_XNewRef(keyword(fact, args + self->inputs, kwnames));
        }
        if (value == NULL) {
            Py_CLEAR(facts);
            break;
        }
        PyTuple_SET_ITEM(facts, i, value);
    }
    return facts;
}

/* The node that an input leads to, borrowed; None if it needs no gradient, or is no tensor. */
static PyObject *
edge_of(PyObject *input)
{
    return PyObject_TypeCheck(input, Tensor) ? SLOT(input, of_tensor.node) : Py_None;
}

static bool
wants_node(Caller *self, PyObject *const *args)
{
    for (int i = 0; i < self->edges; i++) {
        if (edge_of(args[self->places[i]]) != Py_None) {
            return true;
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
    bool refused = SLOT(input, of_tensor.node) == Py_None && is_inference(input);
    return refused ? NULL : Py_NewRef(input);
}

/* The node of a call that is to be recorded; NULL without an error where Python is to see to it. */
static PyObject *
record(Caller *self, PyObject *const *args, PyObject *const *inputs, PyObject *kwnames,
       PyObject *result)
{
    PyObject *facts = collect(self, args, inputs, kwnames), *shape = NULL, *node = NULL;
    PyObject *edges = PyTuple_New(self->edges), *saved = PyTuple_New(self->saves);
    PyObject *dtype = dtype_of(result);
    bool fits = self->fits != FITS_NEVER;
    int mask = 0;
    if (facts == NULL || edges == NULL || saved == NULL) {
        goto failed;
    }
    for (int i = 0; i < self->edges; i++) {
        PyObject *edge = edge_of(args[self->places[i]]);
        PyTuple_SET_ITEM(edges, i, Py_NewRef(edge));
        if (edge != Py_None) {
            mask |= 1 << i;
            bool equal = has_shape(result, SLOT(edge, of_node.shape));
            if (equal && shape == NULL) {
                shape = Py_NewRef(SLOT(edge, of_node.shape)); /* one tuple for many nodes */
            }
            fits = fits && (equal || self->fits == FITS_DTYPES);
            fits = fits && SLOT(edge, of_node.dtype) == dtype;
        }
    }
    for (int i = 0; i < self->saves; i++) {
        int source = self->sources[i];
        PyObject *value = Py_NewRef(Py_None);
        if (self->keeps[mask] & 1 << i) {
            Py_SETREF(value, source < 0 ? Py_NewRef(result) : kept(args[source], inputs[source]));
        }
        if (value == NULL) {
            goto failed;
        }
        PyTuple_SET_ITEM(saved, i, value);
    }
    if (shape == NULL) {
        shape = shape_of(result);
    }
    node = shape == NULL ? NULL : Node->tp_alloc(Node, 0);
    if (node == NULL) {
        goto failed;
    }
    SLOT(node, of_node.seq) = Py_TYPE(numbers)->tp_iternext(numbers);
    SLOT(node, of_node.op) = Py_NewRef(self->op);
    SLOT(node, of_node.edges) = edges;
    SLOT(node, of_node.saved) = saved;
    SLOT(node, of_node.params) = facts;
    SLOT(node, of_node.shape) = shape;
    SLOT(node, of_node.dtype) = Py_NewRef(dtype);
    SLOT(node, of_node.hooks) = Py_NewRef(Py_None);
    SLOT(node, of_node.cell) = Py_NewRef(Py_None);
    SLOT(node, of_node.fits) = Py_NewRef(fits ? Py_True : Py_False);
    return node;
failed:
    Py_XDECREF(facts);
    Py_XDECREF(edges);
    Py_XDECREF(saved);
    Py_XDECREF(shape);
    return NULL;
}

/* Run the forward on the inputs' arrays and record a node if one is wanted; NULL, with or without
   an error, where that was not to be done here. */
static PyObject *
call_plain(Caller *self, PyObject *const *args, PyObject *kwnames)
{
    Py_ssize_t params = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    PyObject *stack[1 + MOST + MOST], **inputs = stack + 1, *result = NULL, *tensor = NULL;
    int count = self->inputs, ready = 0;
    for (; ready < count; ready++) {
        PyObject *input = args[ready], *array;
        if (PyObject_TypeCheck(input, Tensor)) {
            array = Py_XNewRef(SLOT(input, of_tensor.array));
            if (array == NULL || !PyArray_CheckExact(array)) {
                Py_XDECREF(array);
                goto done;
            }
        }
        else if (self->takes_scalar && ready == 1) {
            array = PyObject_CallFunctionObjArgs(scalar_array, input, dtype_of(inputs[0]), NULL);
            if (array == NULL) {
                goto done;
            }
        }
        else if (input == Py_None && count > 2) {
            array = Py_NewRef(Py_None);
        }
        else {
            goto done;
        }
        inputs[ready] = array;
    }
    if (self->takes_scalar && dtype_of(inputs[0]) != dtype_of(inputs[1])) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < params; i++) {
        inputs[count + i] = args[count + i];
    }
    result =
        PyObject_Vectorcall(self->forward, inputs, count | PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
    if (result != NULL && !PyArray_CheckExact(result)) {
        Py_SETREF(result, PyObject_CallOneArg(as_array, result));
    }
    if (result == NULL) {
        goto done;
    }
    if (self->edges == 0 || !wants_node(self, args)) {
        tensor = new_tensor(Py_NewRef(result));
        goto done;
    }
    PyObject *node = record(self, args, inputs, kwnames, result);
    tensor = node == NULL ? NULL : new_tensor(Py_NewRef(result));
    if (tensor != NULL) {
        Py_SETREF(SLOT(tensor, of_tensor.node), node);
    }
    else {
        Py_XDECREF(node);
    }
done:
    while (ready > 0) {
        Py_DECREF(inputs[--ready]);
    }
    Py_XDECREF(result);
    return tensor;
}

static PyObject *
caller_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Caller *self = (Caller *)callable;
    Py_ssize_t params = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    if (PyVectorcall_NARGS(nargsf) == self->inputs && params <= (self->takes_scalar ? 0 : MOST) &&
        default_modes()) {
        PyObject *result = call_plain(self, args, kwnames);
        if (result != NULL) {
            return result;
        }
        if (PyErr_Occurred()) {
            if (!PyErr_ExceptionMatches(PyExc_Exception)) {
                return NULL;
            }
            PyErr_Clear(); /* Python's caller will meet the same error, and explain it */
        }
    }
    return PyObject_Vectorcall(self->python, args, nargsf, kwnames);
}

static PyObject *
caller_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"python", "op",    "forward", "inputs",       "places", "sources",
                            "keeps",  "facts", "fits",    "takes_scalar", NULL};
    PyObject *python, *op, *forward, *places, *sources, *keeps, *facts;
    int inputs, fits, takes_scalar;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOiO!O!O!O!ip", names, &python, &op, &forward,
                                     &inputs, &PyTuple_Type, &places, &PyTuple_Type, &sources,
                                     &PyTuple_Type, &keeps, &PyTuple_Type, &facts, &fits,
                                     &takes_scalar)) {
        return NULL;
    }
    Py_ssize_t edges = PyTuple_GET_SIZE(places), saves = PyTuple_GET_SIZE(sources);
    if (inputs > MOST || edges > inputs || saves > MOST || PyTuple_GET_SIZE(keeps) != 1 << edges) {
        PyErr_SetString(PyExc_ValueError, "too many inputs or saved values for a native caller");
        return NULL;
    }
    Caller *self = (Caller *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = caller_call;
    self->python = Py_NewRef(python);
    self->op = Py_NewRef(op);
    self->forward = Py_NewRef(forward);
    self->facts = Py_NewRef(facts);
    self->inputs = inputs;
    self->edges = (int)edges;
    self->saves = (int)saves;
    self->fits = fits;
    self->takes_scalar = takes_scalar;
    for (Py_ssize_t i = 0; i < edges; i++) {
        self->places[i] = (signed char)PyLong_AsLong(PyTuple_GET_ITEM(places, i));
    }
    for (Py_ssize_t i = 0; i < saves; i++) {
        self->sources[i] = (signed char)PyLong_AsLong(PyTuple_GET_ITEM(sources, i));
    }
    for (Py_ssize_t i = 0; i < 1 << edges; i++) {
        self->keeps[i] = (unsigned char)PyLong_AsLong(PyTuple_GET_ITEM(keeps, i));
    }
    return (PyObject *)self;
}

static int
caller_traverse(PyObject *object, visitproc visit, void *arg)
{
    Caller *self = (Caller *)object;
    Py_VISIT(self->dict);
    Py_VISIT(self->python);
    Py_VISIT(self->op);
    Py_VISIT(self->forward);
    Py_VISIT(self->facts);
    return 0;
}

static int
caller_clear(PyObject *object)
{
    Caller *self = (Caller *)object;
    Py_CLEAR(self->dict);
    Py_CLEAR(self->python);
    Py_CLEAR(self->op);
    Py_CLEAR(self->forward);
    Py_CLEAR(self->facts);
    return 0;
}

static void
caller_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    if (((Caller *)object)->weakrefs != NULL) {
        PyObject_ClearWeakRefs(object);
    }
    caller_clear(object);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *
caller_get(PyObject *self, PyObject *instance, PyObject *owner)
{
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

/* As for a function, its name is what a copy or a pickle keeps. */
static PyObject *
caller_reduce(PyObject *self, PyObject *unused)
{
    return PyObject_GetAttrString(self, "__qualname__");
}

static PyObject *
caller_repr(PyObject *self)
{
    PyObject *name = PyObject_GetAttrString(self, "__qualname__"), *text;
    text = name == NULL ? NULL : PyUnicode_FromFormat("<function %U at %p>", name, self);
    Py_XDECREF(name);
    return text;
}

static PyMethodDef caller_methods[] = {{"__reduce__", caller_reduce, METH_NOARGS, NULL}, {NULL}};

static PyMemberDef caller_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Caller, python), READONLY, "The caller in Python."},
    {NULL},
};

static PyGetSetDef caller_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL},
};

static PyTypeObject CallerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "retrograd.engine._native.Caller",
    .tp_basicsize = sizeof(Caller),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_new = caller_new,
    .tp_dealloc = caller_dealloc,
    .tp_traverse = caller_traverse,
    .tp_clear = caller_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Caller, vectorcall),
    .tp_dictoffset = offsetof(Caller, dict),
    .tp_weaklistoffset = offsetof(Caller, weakrefs),
    .tp_descr_get = caller_get,
    .tp_repr = caller_repr,
    .tp_methods = caller_methods,
    .tp_members = caller_members,
    .tp_getset = caller_getset,
};
