/* Copies of memory as it lies. */

#include "pool.c"

#include <string.h>

typedef struct {
    char *to;
    const char *from;
} Copy;

static void
copy_bytes(void *context, int64_t begin, int64_t end)
{
    const Copy *job = context;
    memcpy(job->to + begin, job->from + begin, (size_t)(end - begin));
}

/* `copy(out, x)`: write the elements of x to out, which lies in memory as x does, without gaps. */
static PyObject *
copy_array(PyObject *module, PyObject *args)
{
    PyArrayObject *out, *x;
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &out, &PyArray_Type, &x)) {
        return NULL;
    }
    bool rows = PyArray_IS_C_CONTIGUOUS(out) && PyArray_IS_C_CONTIGUOUS(x);
    bool columns = PyArray_IS_F_CONTIGUOUS(out) && PyArray_IS_F_CONTIGUOUS(x);
    if (!(rows || columns) || !PyArray_SAMESHAPE(out, x) || !PyArray_ISWRITEABLE(out) ||
        !PyArray_EquivTypes(PyArray_DESCR(out), PyArray_DESCR(x)) ||
        PyDataType_REFCHK(PyArray_DESCR(out))) {
        return refuse("copy");
    }
    Copy job = {PyArray_BYTES(out), PyArray_BYTES(x)};
    Py_BEGIN_ALLOW_THREADS;
    pool_run(copy_bytes, &job, PyArray_NBYTES(out), 1 << 17);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}
