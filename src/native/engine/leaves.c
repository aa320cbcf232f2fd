/* Leaves: a complete cotangent is added to `.grad`, as `accumulation.add_to_leaf`. */

#include "shared.h"

enum { LARGE_COPY = 1 << 18 }; /* bytes that Python has several threads copy */

static Loop add_loops[LOOPS]; /* of `add`; found in `setup` */

/* Add a few numbers in place by the loop of `add`, as `run_loop`; false where they are not plain. */
static bool
add_few(PyObject *sum, PyObject *term)
{
    PyArrayObject *to = (PyArrayObject *)sum, *from = (PyArrayObject *)term;
    if (!PyArray_CheckExact(sum) || !PyArray_CheckExact(term)) {
        return false;
    }
    int type = PyArray_TYPE(to);
    npy_intp count = PyArray_SIZE(to), step = PyArray_ITEMSIZE(to), steps[] = {step, step, step};
    char *data[] = {PyArray_BYTES(to), PyArray_BYTES(from), PyArray_BYTES(to)};
    if (type < NPY_FLOAT || type > NPY_CDOUBLE || PyArray_DESCR(to) != PyArray_DESCR(from) ||
        !PyArray_ISCARRAY(to) || !PyArray_ISCARRAY_RO(from) || !PyArray_SAMESHAPE(to, from) ||
        count == 0 || count > FEW) {
        return false;
    }
    Loop *loop = &add_loops[type - NPY_FLOAT];
    bool apart = data[1] + count * step <= data[0] || data[0] + count * step <= data[1];
    if (loop->function == NULL || !(apart || data[0] == data[1])) {
        return false;
    }
    loop->function(data, &count, steps, loop->data);
    return true;
}

/* Add to the gradient that is there, in place; it is a write like any other, and counted after it
   is done. 1 where the memory must not be written, or several elements of it are one. */
static int
add_in_place(PyObject *before, PyObject *array, PyObject *g)
{
    int inference = is_inference(before);
    if (inference) {
        PyObject *may = inference < 0 ? NULL : PyObject_CallOneArg(about_to_write, before);
        if (may == NULL) {
            return -1;
        }
        Py_DECREF(may);
    }
    if (add_few(array, g)) {
        return wrote(before, writer);
    }
    if (PyArray_CheckExact(array) && !PyArray_ISONESEGMENT((PyArrayObject *)array)) {
        PyObject *shared = PyObject_CallOneArg(overlaps, array);
        int apart = shared == NULL ? -1 : shared == Py_False;
        Py_XDECREF(shared);
        if (apart <= 0) {
            return apart < 0 ? -1 : 1;
        }
    }
    PyObject *stack[4] = {NULL, array, g, array};
    PyObject *sum = PyObject_Vectorcall(add, stack + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (sum != NULL) {
        Py_DECREF(sum);
        return wrote(before, writer);
    }
    if (!PyErr_ExceptionMatches(PyExc_ValueError)) {
        return -1;
    }
    PyErr_Clear(); /* the user's own .grad, read-only */
    return 1;
}

/* A new gradient around an array, whose reference it takes; inference mode marks it, and of what is no
   array of NumPy's Python knows of which class it is. */
static PyObject *
new_grad(PyObject *array)
{
    if (array == NULL ||
        (PyArray_CheckExact(array) && PyDict_GetItemWithError(modes, text_special) == zero)) {
        return new_tensor(array);
    }
    PyObject *made = PyObject_CallOneArg(new_in_python, array);
    Py_DECREF(array);
    return made;
}

/* Whether this is an array of NumPy's own, its elements in row-major order. */
static bool
is_row_major(PyObject *array)
{
    return array != NULL && PyArray_CheckExact(array) &&
           PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array);
}

/* Add a complete cotangent to the leaf's `.grad`; the leaf's lock is held. */
static int
add_grad(PyObject *leaf, PyObject *g, bool borrowed)
{
    PyObject *before = PyObject_GetAttr(leaf, text_grad), *array = NULL, *made = NULL;
    int failed = -1;
    if (before == NULL) {
        return -1;
    }
    if (before != Py_None) {
        array = held_by(before, Tensor, of_tensor.array, text_array);
        failed = array == NULL ? -1 : add_in_place(before, array, g);
        if (failed <= 0) {
            goto done;
        }
        made = PyObject_CallFunctionObjArgs(sum_apart, leaf, g, NULL);
    }
    else {
        PyObject *mine = is_a(leaf, Tensor) ? SLOT(leaf, of_tensor.array) : NULL;
        if (!is_row_major(mine) || !is_row_major(g) || PyArray_BASE((PyArrayObject *)g) != NULL ||
            (borrowed && PyArray_NBYTES((PyArrayObject *)g) >= LARGE_COPY)) {
            PyObject *flag = borrowed ? Py_True : Py_False;
            made = new_grad(PyObject_CallFunctionObjArgs(own, leaf, g, flag, NULL));
        }
        else {
            PyArrayObject *array = (PyArrayObject *)g;
            made = new_grad(borrowed ? PyArray_NewCopy(array, NPY_CORDER) : Py_NewRef(g));
        }
    }
    failed = made == NULL ? -1 : PyObject_SetAttr(leaf, text_grad, made);
done:
    Py_DECREF(before);
    Py_XDECREF(array);
    Py_XDECREF(made);
    return failed;
}

/* Whether a cotangent has the shape of the leaf and the dtype of its node. */
static bool
fits_leaf(PyObject *node, PyObject *leaf, PyObject *g)
{
    PyObject *array = is_a(leaf, Tensor) ? SLOT(leaf, of_tensor.array) : NULL;
    return array != NULL && PyArray_CheckExact(array) && PyArray_CheckExact(g) &&
           SLOT(node, of_node.dtype) == dtype_of(g) &&
           PyArray_SAMESHAPE((PyArrayObject *)array, (PyArrayObject *)g);
}

/* `add_grad` while the lock is held, which an error leaves free again. */
static int
add_under(PyObject *lock, PyObject *leaf, PyObject *g, bool borrowed)
{
    PyObject *acquired = PyObject_CallMethodNoArgs(lock, text_acquire), *type, *value, *traceback;
    if (acquired == NULL) {
        return -1;
    }
    Py_DECREF(acquired);
    int failed = add_grad(leaf, g, borrowed);
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *released = PyObject_CallMethodNoArgs(lock, text_release);
    if (released == NULL) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return -1;
    }
    PyErr_Restore(type, value, traceback);
    Py_DECREF(released);
    return failed;
}

/* Add a complete cotangent to the leaf's `.grad`, under the leaf's own lock. */
static int
accumulate(PyObject *node, PyObject *g, bool borrowed)
{
    PyObject *held = held_by(node, Node, of_node.saved, text_saved), *lock = NULL, *leaf = NULL;
    PyObject *ref = held == NULL ? NULL : held_by(held, Leaf, of_leaf.tensor, text_tensor);
    PyObject *now = NULL, *fitted = NULL;
    leaf = ref == NULL ? NULL : PyObject_CallNoArgs(ref);
    int failed = leaf == NULL ? -1 : 0;
    if (!failed && leaf != Py_None) {
        now = held_by(leaf, Tensor, of_tensor.node, text_node);
        failed = now == NULL ? -1 : 0;
        bool current = now == node || (is_a(now, Node) && SLOT(now, of_node.saved) == held);
        if (current) { /* `accumulation.is_current` */
            fitted = fits_leaf(node, leaf, g)
                         ? Py_NewRef(g)
                         : PyObject_CallFunctionObjArgs(fit_leaf, leaf, g,
                                                        SLOT(node, of_node.dtype), NULL);
            lock = fitted == NULL ? NULL : held_by(held, Leaf, of_leaf.lock, text_lock);
            failed = lock == NULL ? -1 : add_under(lock, leaf, fitted, borrowed);
        }
        else if (!failed && now != Py_None) {
            PyObject *done = PyObject_CallOneArg(check_interior, leaf);
            failed = done == NULL ? -1 : 0;
            Py_XDECREF(done);
        }
    }
    Py_XDECREF(now);
    Py_XDECREF(fitted);
    Py_XDECREF(lock);
    Py_XDECREF(leaf);
    Py_XDECREF(ref);
    Py_XDECREF(held);
    return failed;
}

/* Let Python raise at the former node of a leaf, which has an edge, as `accumulation.check_leaves`. */
static int
check_leaves(PyObject *leaves)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(leaves); i++) {
        PyObject *node = PyList_GET_ITEM(leaves, i);
        PyObject *edges = is_a(node, Node) ? SLOT(node, of_node.edges) : NULL;
        if (edges != NULL && PyTuple_CheckExact(edges) && PyTuple_GET_SIZE(edges)) {
            PyObject *done = PyObject_CallOneArg(check_current, node);
            if (done == NULL) {
                return -1;
            }
            Py_DECREF(done);
        }
    }
    return 0;
}

static PyObject *
add_to_leaf(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (Tensor == NULL) {
        return in_python(add_in_python, args, count, NULL);
    }
    if (count != 3 || !is_a(args[0], Node)) {
        PyErr_SetString(PyExc_TypeError,
                        "add_to_leaf takes a leaf's node, a cotangent and whether it is borrowed");
        return NULL;
    }
    PyObject *token = make_quiet();
    if (token == NULL) {
        return NULL;
    }
    int failed = accumulate(args[0], args[1], args[2] == Py_True);
    if (make_loud(token) < 0 || failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}
