/* What callers and the backward pass share: the engine's classes, and how to read them.

   NOTE [Slots]
   1. Programs may put anything into a slot, and delete what is there. So what is read from one is
      nothing but a pointer, perhaps NULL, until its type is known. The functions below tell: NULL
      says that Python is to see to it, which raises what it raises for such a thing.
   2. `SLOT` itself is for an object that is known to be of the class.
*/

#ifndef RETROGRAD_SHARED
#define RETROGRAD_SHARED

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

enum { MOST = 6, MOST_VALUES = 32 }; /* inputs, saved values, parameters of an op; node's values */
enum { FEW = 1024 }; /* elements for which the lock of the interpreter may be kept */
#define NOT_SET_UP "the engine has not been set up; import retrograd does that"
#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* What the engine hands over in `setup`. */
static PyTypeObject *Tensor, *Node, *Kind, *Cell, *View, *Leaf, *Table,
    *Dtype; /* NULL until then */
static long long KEPT, LONGEST, JOINED, VARIADIC, CALLED, NEVER, DTYPES, NOBODY, COTANGENT, FIRST,
    DEFAULT, UNRECORDED, BATCHED, OTHER;
static PyObject *as_array, *scalar_array, *fit, *fit_leaf, *own, *sum_apart, *about_to_write,
    *numbers, *freed, *arrays, *reals, *modes, *add, *zero, *state, *refused, *output_kind,
    *new_in_python, *one, *calm, *noted, *finish, *inference_seen, *stale_view, *ops, *overlaps,
    *check_current, *check_interior, *kept_shape, *meeting, *place, *cpu;
static PyObject *wrote_in_python, *enlist_in_python, *add_in_python, *all_plain_in_python,
    *wrote_all_in_python, *gathered_in_python, *run_each_in_python, *start_in_python,
    *advance_in_python, *counted_in_python, *are_small_in_python,
    *in_arrays_in_python; /* NOTE [Twins] in native.py */
static PyObject *write_in_python, *stored_in_python, *replaced_in_python, *outdate_in_python;
static PyObject *text_undefined, *text_outdated, *text_tangents, *text_path, *text_splice,
    *text_before_write;
static PyObject *text_kind, *text_view_of, *text_views, *text_plain, *text_no_grad;
static PyObject *text_multi, *text_layout, *text_outputs, *text_materialize;
static PyObject *text_special, *text_is_inference, *text_cells;
static PyObject *text_saved, *text_grad, *text_acquire, *text_release, *text_bump, *text_tensor,
    *text_lock, *text_array, *text_node, *writer;
static PyObject *text_dtype, *text_out, *text_device, *text_requires_grad, *text_target, *text_size;
static PyObject *text_step;

static struct {
    Py_ssize_t array, cell, node;
} of_tensor;
static struct {
    Py_ssize_t op, seq, edges, saved, params, shape, dtype, hooks, cell, fits;
} of_node;
static struct {
    Py_ssize_t formulas, joint, table, ordinary;
} of_kind;
static struct {
    Py_ssize_t edges, reads, saved, facts, needs, fits, for_complex, leads;
} of_table;
static struct {
    Py_ssize_t last, version, writes;
} of_cell;
static struct {
    Py_ssize_t base, path, origin, trace, roots;
} of_view;
static struct {
    Py_ssize_t tensor, lock;
} of_leaf;
static struct {
    Py_ssize_t numpy;
} of_dtype;

/* Of no type before the engine is set up. */
static inline bool
is_a(PyObject *object, PyTypeObject *type)
{
    return object != NULL && type != NULL && PyObject_TypeCheck(object, type);
}

/* What a slot holds, borrowed: None or an object of the type; NULL for anything else. */
static inline PyObject *
optional(PyObject *held, PyTypeObject *type)
{
    return held == Py_None || is_a(held, type) ? held : NULL;
}

/* The node of a tensor, or None; and its version cell, or None. NULL for anything else. */
static inline PyObject *
node_of(PyObject *tensor)
{
    return optional(SLOT(tensor, of_tensor.node), Node);
}

static inline PyObject *
known_cell(PyObject *tensor)
{
    return optional(SLOT(tensor, of_tensor.cell), Cell);
}

/* The version cell that a tensor's node told to others, or None. */
static inline PyObject *
told_cell(PyObject *tensor)
{
    PyObject *node = node_of(tensor);
    return node == NULL || node == Py_None ? Py_None : optional(SLOT(node, of_node.cell), Cell);
}

static inline PyObject *
tuple_at(PyObject *object, Py_ssize_t offset)
{
    PyObject *held = SLOT(object, offset);
    return held != NULL && PyTuple_Check(held) ? held : NULL;
}

/* Whether an object is an integer of the machine, which is then the value. */
static inline bool
is_integer(PyObject *object, long long *value)
{
    int overflow = 0;
    if (object == NULL || !PyLong_CheckExact(object)) {
        return false;
    }
    *value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

/* What a slot holds, whose type does not matter; an object of another class is asked by name. */
static PyObject *
held_by(PyObject *object, PyTypeObject *type, Py_ssize_t offset, PyObject *name)
{
    bool there = is_a(object, type) && SLOT(object, offset) != NULL;
    return there ? Py_NewRef(SLOT(object, offset)) : PyObject_GetAttr(object, name);
}

/* The next number of the clock. */
static PyObject *
tick(void)
{
    PyObject *number = Py_TYPE(numbers)->tp_iternext(numbers);
    if (number == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_RuntimeError, "the clock of nodes and writes has ended");
    }
    return number;
}

/* The kind of mode of the calling thread: `State.kind` in `modes.py`. */
static long long
current_modes(void)
{
    if (PyDict_GetItemWithError(modes, text_special) == zero) {
        return DEFAULT;
    }
    PyObject *found = PyObject_GetAttr(state, text_kind);
    long long kind;
    bool known = is_integer(found, &kind) && kind < OTHER;
    Py_XDECREF(found);
    PyErr_Clear();
    return known ? kind : OTHER;
}

/* NumPy ignores floating-point errors from here on, until what this gives is handed to `make_loud`:
   NOTE [Quiet] in `quiet.py`. NumPy keeps its state in a context variable, and another context is
   entered a third as fast as one variable is set and reset. */
static PyObject *spare; /* a context that is left: entered again sooner than another is made */

static PyObject *
make_quiet(void)
{
    PyObject *context = spare == NULL ? PyContext_Copy(calm) : spare;
    spare = NULL;
    if (context != NULL && PyContext_Enter(context) < 0) {
        Py_CLEAR(context);
    }
    return context;
}

/* Give the user his state back; what happened meanwhile stays the error that is set. A context that
   an error has left is not used again: the error may have struck between NumPy's own changes. */
static int
make_loud(PyObject *context)
{
    bool struck = PyErr_Occurred() != NULL;
    int failed = PyContext_Exit(context);
    if (spare == NULL && !failed && !struck) {
        spare = context;
    }
    else {
        Py_DECREF(context);
    }
    return failed;
}

static bool
has_shape(PyObject *array, PyObject *shape)
{
    int ndim = PyArray_NDIM((PyArrayObject *)array);
    npy_intp *dims = PyArray_DIMS((PyArrayObject *)array);
    if (shape == NULL || !PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) != ndim) {
        return false;
    }
    for (int i = 0; i < ndim; i++) {
        long long n;
        if (!is_integer(PyTuple_GET_ITEM(shape, i), &n) || n != dims[i]) {
            return false;
        }
    }
    return true;
}

static PyObject *
shape_of(PyObject *array)
{
    return PyArray_IntTupleFromIntp(PyArray_NDIM((PyArrayObject *)array),
                                    PyArray_DIMS((PyArrayObject *)array));
}

static PyObject *
dtype_of(PyObject *array)
{
    return (PyObject *)PyArray_DESCR((PyArrayObject *)array);
}

/* A tensor without history around an array, whose reference it takes. */
static PyObject *
new_tensor(PyObject *array)
{
    PyObject *made = array == NULL ? NULL : Tensor->tp_alloc(Tensor, 0);
    if (made == NULL) {
        Py_XDECREF(array);
        return NULL;
    }
    SLOT(made, of_tensor.array) = array;
    SLOT(made, of_tensor.cell) = Py_NewRef(Py_None);
    SLOT(made, of_tensor.node) = Py_NewRef(Py_None);
    return made;
}

/* Positional arguments as a tuple, and those with names as a dictionary. */
static PyObject *
as_tuple(PyObject *const *items, Py_ssize_t count)
{
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyTuple_SET_ITEM(made, i, Py_NewRef(items[i]));
    }
    return made;
}

static PyObject *
as_dict(PyObject *names, PyObject *const *values)
{
    Py_ssize_t count = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    PyObject *made = PyDict_New();
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        if (PyDict_SetItem(made, PyTuple_GET_ITEM(names, i), values[i]) < 0) {
            Py_CLEAR(made);
        }
    }
    return made;
}

/* Swap two items of a list. */
static void
swap(PyObject *list, Py_ssize_t i, Py_ssize_t j)
{
    PyObject *first = PyList_GET_ITEM(list, i);
    PyList_SET_ITEM(list, i, PyList_GET_ITEM(list, j));
    PyList_SET_ITEM(list, j, first);
}

#endif
