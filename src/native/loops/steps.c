/* Recorded steps as one native function: `retrograd/capture/native.py` writes it. */

enum { MOST_ARRAYS = 4096, SMALL_ARENA = 1 << 14 };

typedef int (*Steps)(char **arrays, char *arena); /* not 0: an index was out of range */

/* Where an array begins, if it is as it was when the steps were recorded, else NULL. `layout` has
   its type, whether it is written, its dimensions, sizes and strides, and is moved past them. */
static char *
as_recorded(PyObject *given, const int64_t **layout, const int64_t *end)
{
    const int64_t *facts = *layout;
    if (end - facts < 3 || !PyArray_CheckExact(given)) {
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)given;
    int64_t ndim = facts[2];
    if (ndim < 0 || end - facts - 3 < 2 * ndim || PyArray_NDIM(array) != ndim ||
        PyArray_TYPE(array) != facts[0] || !PyArray_ISBEHAVED_RO(array) ||
        (facts[1] && !PyArray_ISWRITEABLE(array))) {
        return NULL;
    }
    for (int64_t i = 0; i < ndim; i++) {
        if (PyArray_DIM(array, (int)i) != facts[3 + i] ||
            (facts[3 + i] > 1 && PyArray_STRIDE(array, (int)i) != facts[3 + ndim + i])) {
            return NULL;
        }
    }
    *layout = facts + 3 + 2 * ndim;
    return PyArray_BYTES(array);
}

/* `run_steps(address, arena, layout, *arrays)`: call the function at an address with the places of
   the arrays, which must lie as `layout` says, and so many bytes of memory for what is between. */
static PyObject *
run_steps(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    char *places[256], **pointers = places, room[SMALL_ARENA] __attribute__((aligned(64)));
    char *arena = room;
    if (count < 3 || count - 3 > MOST_ARRAYS || !PyBytes_Check(args[2])) {
        return refuse("run_steps");
    }
    Steps steps = (Steps)PyLong_AsVoidPtr(args[0]);
    Py_ssize_t size = PyLong_AsSsize_t(args[1]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    const int64_t *layout = (const int64_t *)PyBytes_AS_STRING(args[2]);
    const int64_t *end = layout + PyBytes_GET_SIZE(args[2]) / (Py_ssize_t)sizeof(int64_t);
    PyObject *result = NULL;
    if (count - 3 > 256) {
        pointers = PyMem_Malloc((size_t)(count - 3) * sizeof(char *));
    }
    if (size > SMALL_ARENA) {
        arena = PyMem_Malloc((size_t)size);
    }
    if (pointers == NULL || arena == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 3; i < count; i++) {
        pointers[i - 3] = as_recorded(args[i], &layout, end);
        if (pointers[i - 3] == NULL) {
            refuse("run_steps");
            goto done;
        }
    }
    if (steps(pointers, arena)) {
        PyErr_SetString(PyExc_IndexError, "an index is out of range in a compiled step");
        goto done;
    }
    result = Py_NewRef(Py_None);
done:
    if (pointers != places) {
        PyMem_Free(pointers);
    }
    if (arena != room) {
        PyMem_Free(arena);
    }
    return result;
}
