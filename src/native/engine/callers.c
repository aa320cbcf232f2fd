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
        }
        else if (self->takes_scalar && i == 1) {
            PyObject *like = Py_NewRef(dtype_of(call->arrays[0]));
            array = PyObject_CallFunctionObjArgs(scalar_array, input, like, NULL);
            Py_DECREF(like);
        }
        else if (input == Py_None && self->inputs > 2) {
            call->arrays[i] = Py_NewRef(Py_None);
            continue;
        }
        if (array == NULL || !PyArray_CheckExact(array)) {
            Py_XDECREF(array);
            return i;
        }
        call->arrays[i] = array;
    }
    return call->count;
}

/* The result of a ufunc on few elements, by its loop: what NumPy would do, without asking what to do
   about floating-point errors. NULL without an error where the inputs are not plain: other types than
   one real or complex one, other layouts, shapes to broadcast but for a number's. */
static PyObject *
run_loop(Call *call)
{
    PyArrayObject *first = (PyArrayObject *)call->arrays[0], *large = first, *made;
    int type = PyArray_TYPE(first);
    if (type < NPY_FLOAT || type > NPY_CDOUBLE || call->kwnames != NULL) {
        return NULL;
    }
    Loop *loop = &call->of->loops[type - NPY_FLOAT];
    if (loop->function == NULL) {
        return NULL;
    }
    for (int i = 0; i < call->count; i++) {
        PyArrayObject *array = (PyArrayObject *)call->arrays[i];
        if (PyArray_DESCR(array) != PyArray_DESCR(first) || !PyArray_ISCARRAY_RO(array)) {
            return NULL;
        }
        large = PyArray_NDIM(array) > PyArray_NDIM(large) ? array : large;
    }
    npy_intp count = PyArray_SIZE(large), steps[MOST + 1];
    char *data[MOST + 1];
    for (int i = 0; i < call->count; i++) {
        PyArrayObject *array = (PyArrayObject *)call->arrays[i];
        bool number = PyArray_NDIM(array) == 0;
        if (!number && !PyArray_SAMESHAPE(array, large)) {
            return NULL;
        }
        data[i] = PyArray_BYTES(array);
        steps[i] = number ? 0 : PyArray_ITEMSIZE(array);
    }
    if (count == 0 || count > FEW) {
        return NULL;
    }
    made =
        (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(large), PyArray_DIMS(large), loop->gives);
    if (made != NULL) {
        data[call->count] = PyArray_BYTES(made);
        steps[call->count] = PyArray_ITEMSIZE(made);
        loop->function(data, &count, steps, loop->data);
    }
    return (PyObject *)made;
}

/* Whether the order of an elementwise result is not NumPy's: not `layout.orders_agree`. */
static bool
disagree(PyObject *first, PyObject *second)
{
    PyArrayObject *x = (PyArrayObject *)first, *y = (PyArrayObject *)second;
    if (!PyArray_CheckExact(first) || !PyArray_CheckExact(second)) {
        return false;
    }
    int dims = PyArray_NDIM(x);
    bool leads = PyArray_IS_C_CONTIGUOUS(x) && PyArray_NDIM(y) <= dims;
    return !leads && dims > 1 && PyArray_NDIM(y) > 1 &&
           (PyArray_NDIM(y) != dims ||
            memcmp(PyArray_STRIDES(x), PyArray_STRIDES(y), (size_t)dims * sizeof(npy_intp)) != 0);
}

/* What the forward gives for the arrays and parameters on the stack. */
static PyObject *
compute(Call *call)
{
    size_t count = (size_t)call->count | PY_VECTORCALL_ARGUMENTS_OFFSET;
    PyObject *result = call->of->is_ufunc ? run_loop(call) : NULL;
    if (result != NULL || PyErr_Occurred()) {
        return result;
    }
    if (call->of->view) { /* nothing is computed */
        return PyObject_Vectorcall(call->of->forward, call->arrays, count, call->kwnames);
    }
    PyObject *token = make_quiet();
    if (token == NULL) {
        return NULL;
    }
    if (call->of->takes_scalar && disagree(call->arrays[0], call->arrays[1])) {
        result = PyObject_CallFunctionObjArgs(meeting, call->of->forward, call->arrays[0],
                                              call->arrays[1], NULL);
    }
    else {
        result = PyObject_Vectorcall(call->of->forward, call->arrays, count, call->kwnames);
    }
    if (make_loud(token) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

/* The exception that has been raised, held, and no longer raised. */
static PyObject *
caught(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != NULL) {
        PyException_SetTraceback(value, trace);
    }
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}

/* Let Python go on with a call whose forward has run: with the result, where recording is not plain,
   or with the error, if that is NULL. Nothing is computed twice. */
static PyObject *
go_on(Call *call, PyObject *result)
{
    PyObject *op = call->of->op, *error = NULL, *found = NULL;
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return NULL;
        }
        error = caught();
    }
    PyObject *inputs = as_tuple(call->args, call->count);
    PyObject *params = inputs == NULL ? NULL : as_dict(call->kwnames, call->args + call->count);
    if (params != NULL && result != NULL) {
        found = PyObject_CallFunctionObjArgs(finish, op, inputs, result, params, NULL);
    }
    else if (params != NULL) {
        PyObject *handled = PyErr_GetHandledException();
        PyErr_SetHandledException(error);
        found = PyObject_CallFunctionObjArgs(call->of->run, op, inputs, params, error, NULL);
        PyErr_SetHandledException(handled);
        Py_XDECREF(handled);
    }
    Py_XDECREF(inputs);
    Py_XDECREF(params);
    Py_XDECREF(error);
    return found;
}

/* Run the forward on the inputs' arrays, and wrap the result; NULL, with or without an error, where
   Python is to see to the call, or with one where the forward has run. */
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
    call->ran = true;
    result = compute(call);
    if (self->several) {
        bool found = result != NULL && PyTuple_CheckExact(result);
        tensor = found ? wrap_all(call, result, recording) : NULL;
    }
    else {
        if (result != NULL && !PyArray_CheckExact(result)) {
            Py_SETREF(result, PyObject_CallOneArg(as_array, result));
        }
        if (result != NULL && PyArray_CheckExact(result)) {
            tensor = wrap(call, result, recording);
        }
    }
    if (tensor == NULL) {
        tensor = go_on(call, result);
    }
done:
    while (ready > 0) {
        Py_DECREF(call->arrays[--ready]);
    }
    call->arrays = NULL;
    Py_XDECREF(result);
    return tensor;
}

/* Whether a call has so many parameters at most, and none of them is `out`, which a ufunc would take. */
static bool
plain_params(PyObject *kwnames, Py_ssize_t most)
{
    Py_ssize_t count = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "out") == 0) {
            return false;
        }
    }
    return count <= most;
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
    if (fits && plain_params(kwnames, most)) {
        long long kind = current_modes();
        if (kind != OTHER) {
            Call call = {self, args, NULL, kwnames, (int)count, false};
            PyObject *result = call_plain(&call, kind % BATCHED == DEFAULT);
            if (result != NULL || call.ran) {
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

/* Whether the error that is set may come from an argument of a wrong type. */
static bool
is_explained(void)
{
    return PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
           PyErr_ExceptionMatches(PyExc_AttributeError) ||
           PyErr_ExceptionMatches(PyExc_RuntimeError);
}

/* The call of a function of Python's that users see. */
static PyObject *
public_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Caller *self = (Caller *)callable;
    PyObject *override = overridden(callable, args, nargsf, kwnames);
    if (override != passed) {
        return override;
    }
    Py_DECREF(override);
    PyObject *function = self->python;
    if (!are_plain(self->looked, args, PyVectorcall_NARGS(nargsf), kwnames)) {
        PyObject *read =
            hand_over(look_at, function, args, PyVectorcall_NARGS(nargsf), kwnames, NULL);
        if (read != Py_None) {
            return call_as(callable, read);
        }
        Py_DECREF(read);
    }
    Py_ssize_t named = kwnames == NULL || self->keywords == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t i = 0; i < named; i++) {
        int found = PySet_Contains(self->keywords, PyTuple_GET_ITEM(kwnames, i));
        if (found < 0) {
            return NULL;
        }
        function = found ? self->served : function;
    }
    PyObject *result = PyObject_Vectorcall(function, args, nargsf, kwnames);
    if (result == NULL && is_explained()) {
        result = call_rearranged(callable, function, args, PyVectorcall_NARGS(nargsf), kwnames);
    }
    return result;
}

/* Read a tuple of so many small numbers, all of them between two others. */
static bool
read_numbers(PyObject *numbers, long long least, long long most, int count, signed char *found)
{
    if (numbers == NULL || PyTuple_GET_SIZE(numbers) != count || count > MOST) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        long long n;
        if (!is_integer(PyTuple_GET_ITEM(numbers, i), &n) || n < least || n > most) {
            return false;
        }
        found[i] = (signed char)n;
    }
    return true;
}

/* Whether each fact is the name of a parameter, or the place of an input, negative for all. */
static bool
are_facts(PyObject *facts, int inputs, bool variadic)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(facts); i++) {
        PyObject *fact = PyTuple_GET_ITEM(facts, i);
        long long place;
        bool known =
            is_integer(fact, &place) && (variadic ? place == -1 : 0 <= place && place < inputs);
        if (!known && !PyUnicode_CheckExact(fact)) {
            return false;
        }
    }
    return true;
}

/* Read a table, whose facts are borrowed; false where it says what an op of so many inputs cannot. */
static bool
read_table(PyObject *table, int inputs, bool variadic, Layout *found)
{
    PyObject *edges = tuple_at(table, of_table.edges), *saved = tuple_at(table, of_table.saved);
    found->facts = tuple_at(table, of_table.facts);
    if (edges == NULL || saved == NULL || found->facts == NULL ||
        !is_integer(SLOT(table, of_table.fits), &found->fits) ||
        !is_integer(SLOT(table, of_table.for_complex), &found->for_complex)) {
        return false;
    }
    found->edges = (int)PyTuple_GET_SIZE(edges);
    found->saves = (int)PyTuple_GET_SIZE(saved);
    return found->edges <= inputs && !(variadic && found->saves) &&
           read_numbers(edges, 0, inputs - 1, found->edges, found->edge) &&
           read_numbers(saved, -MOST, inputs - 1, found->saves, found->saved) &&
           read_numbers(tuple_at(table, of_table.needs), 0, (1 << MOST) - 1, found->edges,
                        found->needs) &&
           are_facts(found->facts, inputs, variadic);
}

/* Find the loops of a ufunc of so many inputs, for each type that all of them may have; false where
   `function` is no such ufunc. */
static bool
find_loops(PyObject *function, int inputs, Loop *loops)
{
    PyUFuncObject *ufunc = (PyUFuncObject *)function;
    if (!PyObject_TypeCheck(function, &PyUFunc_Type) || ufunc->core_enabled ||
        ufunc->nin != inputs || ufunc->nin > 2 || ufunc->nout != 1) {
        return false;
    }
    for (int i = ufunc->ntypes - 1; i >= 0; i--) { /* the first of a type is the one that is kept */
        const char *types = ufunc->types + i * ufunc->nargs;
        int type = types[0];
        bool one = type >= NPY_FLOAT && type <= NPY_CDOUBLE && types[ufunc->nin] <= NPY_CDOUBLE;
        for (int j = 1; j < ufunc->nin; j++) {
            one = one && types[j] == type;
        }
        if (one) {
            Loop loop = {ufunc->functions[i], ufunc->data == NULL ? NULL : (void *)ufunc->data[i],
                         types[ufunc->nin]};
            loops[type - NPY_FLOAT] = loop;
        }
    }
    return true;
}

static PyObject *
caller_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"python",       "op",     "forward", "inputs", "table",
                            "several",      "joined", "view",    "maybe",  "variadic",
                            "takes_scalar", "loops",  "run",     NULL};
    PyObject *python, *op, *forward, *table, *loops, *run;
    int inputs, several, joined, view, maybe, variadic, takes_scalar;
    Layout layout;
    if (Tensor == NULL) {
        PyErr_SetString(PyExc_RuntimeError, NOT_SET_UP);
        return NULL;
    }
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$OOOiO!ppppppOO", names, &python, &op, &forward,
                                     &inputs, Table, &table, &several, &joined, &view, &maybe,
                                     &variadic, &takes_scalar, &loops, &run)) {
        return NULL;
    }
    if (inputs < 1 || inputs > MOST || (takes_scalar && inputs != 2) || (variadic && inputs != 1) ||
        !read_table(table, inputs, variadic, &layout)) {
        PyErr_SetString(PyExc_ValueError, "no such inputs or table of a native caller");
        return NULL;
    }
    Py_INCREF(layout.facts);
    Caller *self = (Caller *)type->tp_alloc(type, 0);
    if (self == NULL) {
        Py_DECREF(layout.facts);
        return NULL;
    }
    self->vectorcall = caller_call;
    self->python = Py_NewRef(python);
    self->op = Py_NewRef(op);
    self->forward = Py_NewRef(forward);
    self->table = layout;
    self->run = Py_NewRef(run);
    self->inputs = inputs;
    self->several = several;
    self->joined = joined;
    self->view = view;
    self->maybe = maybe;
    self->variadic = variadic;
    self->takes_scalar = takes_scalar;
    self->is_ufunc = !variadic && find_loops(loops, inputs, self->loops);
    return (PyObject *)self;
}

static PyTypeObject CallerType;

/* The form of a function that users see: a caller of no op. */
static PyObject *
public(PyObject *module, PyObject *args)
{
    PyObject *function, *names[KINDS], *optional[KINDS], *served = NULL, *keywords = NULL;
    PyObject *all[KINDS];
    unsigned long long places[KINDS], open[KINDS];
    if (Tensor == NULL) {
        PyErr_SetString(PyExc_RuntimeError, NOT_SET_UP);
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O(O!O!O!)|OO!", &function, &PyTuple_Type, &all[0], &PyTuple_Type,
                          &all[1], &PyTuple_Type, &all[2], &served, &PyFrozenSet_Type, &keywords)) {
        return NULL;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        if (!PyArg_ParseTuple(all[kind], "O!KO!K", &PyFrozenSet_Type, &names[kind], &places[kind],
                              &PyFrozenSet_Type, &optional[kind], &open[kind])) {
            return NULL;
        }
    }
    Caller *self = (Caller *)CallerType.tp_alloc(&CallerType, 0);
    if (self != NULL) {
        self->vectorcall = public_call;
        self->python = Py_NewRef(function);
        for (int kind = 0; kind < KINDS; kind++) {
            self->looked[kind].names = PySet_GET_SIZE(names[kind]) ? Py_NewRef(names[kind]) : NULL;
            self->looked[kind].optional = Py_NewRef(optional[kind]);
            self->looked[kind].places = places[kind];
            self->looked[kind].open = open[kind];
        }
        self->served = Py_XNewRef(served);
        self->keywords = Py_XNewRef(keywords);
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
    Py_VISIT(self->served);
    return 0; /* the facts are names and numbers, `run` a function, all others names */
}

/* None instead of nothing: whatever else is cleared may still call this caller. */
static int
caller_clear(PyObject *object)
{
    Caller *self = (Caller *)object;
    Py_XSETREF(self->python, Py_NewRef(Py_None));
    Py_XSETREF(self->op, Py_NewRef(Py_None));
    Py_XSETREF(self->forward, Py_NewRef(Py_None));
    Py_XSETREF(self->served, Py_NewRef(Py_None));
    return 0;
}

static void
caller_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    if (((Caller *)object)->weakrefs != NULL) {
        PyObject_ClearWeakRefs(object);
    }
    Caller *self = (Caller *)object;
    Py_XDECREF(self->python);
    Py_XDECREF(self->op);
    Py_XDECREF(self->forward);
    Py_XDECREF(self->table.facts);
    Py_XDECREF(self->run);
    Py_XDECREF(self->served);
    Py_XDECREF(self->keywords);
    for (int kind = 0; kind < KINDS; kind++) {
        Py_XDECREF(self->looked[kind].names);
        Py_XDECREF(self->looked[kind].optional);
    }
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
    text = name == NULL ? NULL : PyUnicode_FromFormat("<function %S at %p>", name, self);
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

static int
caller_setattr(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((Caller *)self)->python, name, value);
}

static PyObject *
caller_text(PyObject *self, void *name)
{
    return PyObject_GetAttrString(((Caller *)self)->python, name);
}

static PyObject *
caller_signature(PyObject *object, void *unused)
{
    Caller *self = (Caller *)object;
    return PyObject_GetAttrString(self->served ? self->served : self->python, "__signature__");
}

/* In the body of a class whose objects are no tensors it is no method, as what is built in. */
static PyObject *
caller_set_name(PyObject *self, PyObject *const *args, Py_ssize_t given)
{
    PyObject *held;
    if (given != 2 || !PyType_Check(args[0])) {
        return PyErr_Format(PyExc_TypeError, "__set_name__() takes a class and a name");
    }
    if (Tensor == NULL || PyType_IsSubtype((PyTypeObject *)args[0], Tensor)) {
        Py_RETURN_NONE;
    }
    held = PyStaticMethod_New(self);
    if (held == NULL || PyObject_SetAttr(args[0], args[1], held) < 0) {
        Py_XDECREF(held);
        return NULL;
    }
    Py_DECREF(held);
    Py_RETURN_NONE;
}

static PyMethodDef caller_methods[] = {
    {"__reduce__", caller_reduce, METH_NOARGS, NULL},
    {"__set_name__", (PyCFunction)(void (*)(void))caller_set_name, METH_FASTCALL, NULL},
    {NULL},
};

static PyMemberDef caller_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Caller, python), READONLY, "The caller in Python."},
    {NULL},
};

static PyGetSetDef caller_getset[] = {
    {"__class__", caller_text, NULL, NULL, "__class__"}, /* a function, for who asks isinstance() */
    {"__doc__", caller_text, NULL, NULL, "__doc__"},
    {"__module__", caller_text, NULL, NULL, "__module__"},
    {"__signature__", caller_signature, NULL, NULL, NULL},
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
    .tp_setattro = caller_setattr,
    .tp_weaklistoffset = offsetof(Caller, weakrefs),
    .tp_descr_get = caller_get,
    .tp_repr = caller_repr,
    .tp_methods = caller_methods,
    .tp_members = caller_members,
    .tp_getset = caller_getset,
};
