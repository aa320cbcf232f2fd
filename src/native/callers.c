/* Callers: they compute, and record a node where a gradient is wanted, as `engine/callers.py`. */

#include "shared.h"
#include "record.c"
#include "overriding.c"

/* Put the inputs' arrays in place, held, and return how many there are: fewer than inputs where
   Python is to see to the call. */
static int
take_arrays(Call *call)
{
    Caller *self = call->of;
    for (int i = 0; i < call->count; i++) {
        PyObject *input = call->args[i], *array = NULL;
        if (PyObject_TypeCheck(input, Tensor)) {
            array = Py_XNewRef(SLOT(input, of_tensor.array));
            if (array != NULL && !PyArray_CheckExact(array)) {
                Py_CLEAR(array);
            }
        }
        else if (self->takes_scalar && i == 1) {
            PyObject *like = dtype_of(call->arrays[0]);
            array = PyObject_CallFunctionObjArgs(scalar_array, input, like, NULL);
        }
        else if (input == Py_None && self->inputs > 2) {
            array = Py_NewRef(Py_None);
        }
        if (array == NULL) {
            return i;
        }
        call->arrays[i] = array;
    }
    return call->count;
}

/* Run the forward on the inputs' arrays, and wrap the result; NULL as `wrap`. */
static PyObject *
call_plain(Call *call, bool recording)
{
    Caller *self = call->of;
    Py_ssize_t params = call->kwnames == NULL ? 0 : PyTuple_GET_SIZE(call->kwnames);
    PyObject *stack[1 + MOST_VALUES + MOST], *result = NULL, *tensor = NULL;
    call->arrays = stack + 1;
    int ready = take_arrays(call);
    if (ready < call->count ||
        (self->takes_scalar && dtype_of(call->arrays[0]) != dtype_of(call->arrays[1]))) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < params; i++) {
        call->arrays[ready + i] = call->args[ready + i];
    }
    result = PyObject_Vectorcall(self->forward, call->arrays,
                                 ready | PY_VECTORCALL_ARGUMENTS_OFFSET, call->kwnames);
    if (self->several) {
        bool found = result != NULL && PyTuple_CheckExact(result);
        tensor = found ? wrap_all(call, result, recording) : NULL;
        goto done;
    }
    if (result != NULL && !PyArray_CheckExact(result)) {
        Py_SETREF(result, PyObject_CallOneArg(as_array, result));
    }
    if (result != NULL && PyArray_CheckExact(result)) {
        tensor = wrap(call, result, recording);
    }
done:
    while (ready > 0) {
        Py_DECREF(call->arrays[--ready]);
    }
    Py_XDECREF(result);
    return tensor;
}

static PyObject *
caller_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Caller *self = (Caller *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf), most = self->takes_scalar ? 0 : MOST;
    bool fits = self->variadic ? 0 < count && count <= MOST_VALUES : count == self->inputs;
    PyObject *override = overridden(callable, args, nargsf, kwnames);
    if (override != passed) {
        return override;
    }
    Py_DECREF(override);
    if (fits && (kwnames == NULL || PyTuple_GET_SIZE(kwnames) <= most)) {
        long kind = current_modes();
        if (kind != OTHER) {
            Call call = {self, args, NULL, kwnames, (int)count};
            PyObject *result = call_plain(&call, kind == DEFAULT);
            if (result != NULL) {
                return result;
            }
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

/* The call of a function of Python's that users see. */
static PyObject *
public_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *override = overridden(callable, args, nargsf, kwnames);
    if (override != passed) {
        return override;
    }
    Py_DECREF(override);
    return PyObject_Vectorcall(((Caller *)callable)->python, args, nargsf, kwnames);
}

static PyObject *
caller_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"python",  "op",    "forward",  "inputs",       "places",
                            "sources", "keeps", "facts",    "fits",         "several",
                            "joined",  "view",  "variadic", "takes_scalar", NULL};
    PyObject *python, *op, *forward, *places, *sources, *keeps, *facts;
    int inputs, fits, several, joined, view, variadic, takes_scalar;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$OOOiO!O!O!O!ippipp", names, &python, &op,
                                     &forward, &inputs, &PyTuple_Type, &places, &PyTuple_Type,
                                     &sources, &PyTuple_Type, &keeps, &PyTuple_Type, &facts, &fits,
                                     &several, &joined, &view, &variadic, &takes_scalar)) {
        return NULL;
    }
    Py_ssize_t edges = PyTuple_GET_SIZE(places), saves = PyTuple_GET_SIZE(sources);
    if (inputs > MOST || edges > inputs || saves > MOST || PyTuple_GET_SIZE(keeps) != edges) {
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
    self->several = several;
    self->joined = joined;
    self->view = view;
    self->variadic = variadic;
    self->takes_scalar = takes_scalar;
    for (Py_ssize_t i = 0; i < edges; i++) {
        self->places[i] = (signed char)PyLong_AsLong(PyTuple_GET_ITEM(places, i));
    }
    for (Py_ssize_t i = 0; i < saves; i++) {
        self->sources[i] = (signed char)PyLong_AsLong(PyTuple_GET_ITEM(sources, i));
    }
    for (Py_ssize_t i = 0; i < edges; i++) {
        self->keeps[i] = (unsigned char)PyLong_AsLong(PyTuple_GET_ITEM(keeps, i));
    }
    return (PyObject *)self;
}

static PyTypeObject CallerType;

/* The form of a function that users see: a caller of no op. */
static PyObject *
public(PyObject *module, PyObject *function)
{
    Caller *self = (Caller *)CallerType.tp_alloc(&CallerType, 0);
    if (self != NULL) {
        self->vectorcall = public_call;
        self->python = Py_NewRef(function);
    }
    return (PyObject *)self;
}

static int
caller_traverse(PyObject *object, visitproc visit, void *arg)
{
    Caller *self = (Caller *)object;
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

/* A caller's name, text and whatever else a function has are those of the one in Python. */
static PyObject *
caller_getattr(PyObject *self, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        found = PyObject_GetAttr(((Caller *)self)->python, name);
    }
    return found;
}

static PyObject *
caller_text(PyObject *self, void *name)
{
    return PyObject_GetAttrString(((Caller *)self)->python, name);
}

static PyMethodDef caller_methods[] = {{"__reduce__", caller_reduce, METH_NOARGS, NULL}, {NULL}};

static PyMemberDef caller_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Caller, python), READONLY, "The caller in Python."},
    {NULL},
};

static PyGetSetDef caller_getset[] = {
    {"__doc__", caller_text, NULL, NULL, "__doc__"},
    {"__module__", caller_text, NULL, NULL, "__module__"},
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
    .tp_getattro = caller_getattr,
    .tp_weaklistoffset = offsetof(Caller, weakrefs),
    .tp_descr_get = caller_get,
    .tp_repr = caller_repr,
    .tp_methods = caller_methods,
    .tp_members = caller_members,
    .tp_getset = caller_getset,
};
