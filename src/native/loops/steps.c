/* Recorded steps as calls of native functions: `retrograd/capture/loops/native.py` writes them. */

enum { MOST_ARRAYS = 4096, MOST_PARTS = 256, PARTS_AT_ONCE = 4, SMALL_ARENA = 1 << 14 };

/* Not 0: an index was out of range. It is given where its parts begin, and numbers of the table. */
typedef int (*LoopOfStep)(char **parts, const int64_t *numbers);

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

/* `run_steps(calls, arena, layout, *arrays)`: go through the table of calls. It has for each where its
   function is, how many parts it has and how many numbers; a base and an offset for each part, and
   the numbers. Parts are a multiple of PARTS_AT_ONCE: processors do not foresee how many turns a
   short loop takes. Base 0 is memory for what is between, of `arena` bytes; the others are the
   arrays, which must lie as `layout` says. */
static PyObject *
run_steps(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    char *places[256], **bases = places, room[SMALL_ARENA] __attribute__((aligned(64)));
    char *arena = room, *parts[MOST_PARTS];
    if (count < 3 || count - 3 > MOST_ARRAYS || !PyBytes_Check(args[0]) ||
        !PyBytes_Check(args[2])) {
        return refuse("run_steps");
    }
    Py_ssize_t size = PyLong_AsSsize_t(args[1]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    const int64_t *call = (const int64_t *)PyBytes_AS_STRING(args[0]);
    const int64_t *last = call + PyBytes_GET_SIZE(args[0]) / (Py_ssize_t)sizeof(int64_t);
    const int64_t *layout = (const int64_t *)PyBytes_AS_STRING(args[2]);
    const int64_t *end = layout + PyBytes_GET_SIZE(args[2]) / (Py_ssize_t)sizeof(int64_t);
    PyObject *result = NULL;
    if (count - 2 > 256) {
        bases = PyMem_Malloc((size_t)(count - 2) * sizeof(char *));
    }
    if (size > SMALL_ARENA) {
        arena = PyMem_Malloc((size_t)size);
    }
    if (bases == NULL || arena == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    bases[0] = arena;
    for (Py_ssize_t i = 3; i < count; i++) {
        bases[i - 2] = as_recorded(args[i], &layout, end);
        if (bases[i - 2] == NULL) {
            refuse("run_steps");
            goto done;
        }
    }
    int failed = 0;
    while (call < last) {
        LoopOfStep loop = (LoopOfStep)(intptr_t)call[0];
        int64_t number = call[1], numbers = call[2];
        call += 3;
        if (number > MOST_PARTS) {
            refuse("run_steps");
            goto done;
        }
        for (int64_t i = 0; i < number; i += PARTS_AT_ONCE, call += 2 * PARTS_AT_ONCE) {
            for (int k = 0; k < PARTS_AT_ONCE; k++) {
                parts[i + k] = bases[call[2 * k]] + call[2 * k + 1];
            }
        }
        failed |= loop(parts, call);
        call += numbers;
    }
    if (failed) {
        PyErr_SetString(PyExc_IndexError, "an index is out of range in a compiled step");
        goto done;
    }
    result = Py_NewRef(Py_None);
done:
    if (bases != places) {
        PyMem_Free(bases);
    }
    if (arena != room) {
        PyMem_Free(arena);
    }
    return result;
}
