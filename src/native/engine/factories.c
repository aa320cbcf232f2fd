/* Factories: new tensors on the cpu, without history, whose dtype is a `dtype` or not given.

   Whatever else is said goes to the twin in Python, `made` in `ops/creation/factories.py`. */

#include "shared.h"

enum { THE_DTYPE, THE_OUT, THE_DEVICE, THE_FLAG, THE_SIZE, ITS_OWN };

/* Which of the arguments that factories share a name is of, or that it is of one of the function's. */
static int
argument_of(PyObject *name)
{
    PyObject *const known[] = {text_dtype, text_out, text_device, text_requires_grad, text_size};
    int i = 0;
    while (i < ITS_OWN && name != known[i] && PyUnicode_Compare(name, known[i]) != 0) {
        i++;
    }
    return i;
}

/* Whether the calling thread is in the default modes, and makes its tensors on the cpu. */
static bool
makes_plainly(void)
{
    bool plain = Tensor != NULL && PyDict_GetItemWithError(modes, text_special) == zero;
    PyObject *found = plain ? PyObject_GetAttr(place, text_device) : NULL;
    Py_XDECREF(found);
    return found != NULL && found == cpu;
}

/* The array that the function of a factory gives for the arguments on the stack, the last of which have
   names, in the dtype `target`, which is given away, NULL with an error. */
static PyObject *
make_array(PyObject *function, PyObject **stack, Py_ssize_t count, PyObject **names,
           Py_ssize_t named, PyObject *target)
{
    PyObject *kwnames = target == NULL ? NULL : PyTuple_New(named + 1), *array = NULL;
    if (kwnames != NULL) {
        for (Py_ssize_t i = 0; i < named; i++) {
            PyTuple_SET_ITEM(kwnames, i, Py_NewRef(names[i]));
        }
        PyTuple_SET_ITEM(kwnames, named, Py_NewRef(text_target));
        stack[count + named] = target;
        array = PyObject_Vectorcall(function, stack, (size_t)count, kwnames);
    }
    Py_XDECREF(kwnames);
    Py_XDECREF(target);
    return array;
}

static PyObject *
factory_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Caller *self = (Caller *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf), left = 0;
    Py_ssize_t named = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    PyObject *stack[MOST_VALUES + 2], *names[MOST_VALUES], *shape = NULL, *target = NULL;
    bool plain = count + named <= MOST_VALUES && makes_plainly();
    if (plain && self->variadic) {
        stack[0] = shape = integers_in(args, count, 0);
        plain = shape != NULL;
    }
    else if (plain) {
        memcpy(stack, args, (size_t)count * sizeof *stack);
    }
    Py_ssize_t first = self->variadic ? 1 : count;
    for (Py_ssize_t i = 0; plain && i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i), *value = args[count + i];
        int which = argument_of(name);
        if (which == ITS_OWN || (which == THE_SIZE && !self->variadic)) {
            stack[first + left] = value;
            names[left++] = name;
        }
        else if (which == THE_DTYPE && Py_IS_TYPE(value, Dtype)) {
            target = SLOT(value, of_dtype.numpy);
            plain = target != NULL;
        }
        else {
            plain = value == Py_None || (which == THE_DEVICE && value == cpu) ||
                    (which == THE_FLAG && value == Py_False);
        }
    }
    PyObject *made = NULL;
    if (plain) {
        target = target == NULL ? PyObject_CallNoArgs(self->op) : Py_NewRef(target);
        made = make_array(self->forward, stack, first, names, left, target);
        if (made == NULL || PyArray_CheckExact(made)) {
            made = new_tensor(made);
        }
        else {
            Py_SETREF(made, PyObject_CallOneArg(new_in_python, made));
        }
    }
    else {
        PyErr_Clear(); /* Python will meet the same error */
        made = PyObject_Vectorcall(self->python, args, nargsf, kwnames);
    }
    Py_XDECREF(shape);
    return made;
}

/* `factory(python, function, kind, sized)`: the twin of a factory in Python, which makes a tensor of the
   array that `function` makes, in the dtype that `kind` gives where none is said; if it is `sized`, of
   the shape that the arguments without names say. */
static PyObject *
factory(PyObject *module, PyObject *args)
{
    PyObject *python, *function, *kind;
    int sized;
    if (!PyArg_ParseTuple(args, "OOOp", &python, &function, &kind, &sized)) {
        return NULL;
    }
    Caller *self = (Caller *)CallerType.tp_alloc(&CallerType, 0);
    if (self != NULL) {
        self->vectorcall = factory_call;
        self->python = Py_NewRef(python);
        self->forward = Py_NewRef(function);
        self->op = Py_NewRef(kind);
        self->variadic = sized;
    }
    return (PyObject *)self;
}
