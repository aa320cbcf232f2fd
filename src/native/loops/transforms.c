/* Fourier transforms along one dimension: NumPy's loop for one, over the threads.

   The loop is that of a function of NumPy's with the signature `(n),()->(m)`, which gives a transform
   that is scaled by a factor. It reads all points before it writes one, so a result may be written
   over its points.
*/

#include "pool.c"

typedef struct {
    PyUFuncGenericFunction loop;
    void *data;
    char *from, *to;
    char factor[8];
    int dims; /* besides that of the points */
    npy_intp points, made, point_step, made_step;
    npy_intp shape[NPY_MAXDIMS], from_steps[NPY_MAXDIMS], to_steps[NPY_MAXDIMS];
} Transform;

static void
run_transforms(void *context, int64_t begin, int64_t end)
{
    const Transform *job = context;
    int last = job->dims - 1;
    while (begin < end) {
        int64_t left = begin, count = 1;
        char *pointers[] = {job->from, (char *)job->factor, job->to};
        for (int d = last; d >= 0; d--) {
            int64_t at = left % job->shape[d];
            left /= job->shape[d];
            pointers[0] += at * job->from_steps[d];
            pointers[2] += at * job->to_steps[d];
            if (d == last) {
                count = job->shape[d] - at < end - begin ? job->shape[d] - at : end - begin;
            }
        }
        npy_intp sizes[] = {count, job->points, job->made};
        npy_intp steps[] = {last < 0 ? 0 : job->from_steps[last], 0,
                            last < 0 ? 0 : job->to_steps[last], job->point_step, job->made_step};
        job->loop(pointers, sizes, steps, job->data);
        begin += count;
    }
}

/* Find the loop of a function for such operands; false where it has none. */
static bool
find_transform(PyUFuncObject *ufunc, int from, int to, double factor, Transform *job)
{
    for (int i = 0; i < ufunc->ntypes; i++) {
        const char *types = ufunc->types + 3 * i;
        if (types[0] != from || types[2] != to) {
            continue;
        }
        job->loop = ufunc->functions[i];
        job->data = ufunc->data == NULL ? NULL : (void *)ufunc->data[i];
        if (types[1] == NPY_FLOAT) {
            memcpy(job->factor, &(float){(float)factor}, sizeof(float));
            return true;
        }
        memcpy(job->factor, &factor, sizeof(factor));
        return types[1] == NPY_DOUBLE;
    }
    return false;
}

/* `transform(out, x, ufunc, factor, axis)`: the transforms of x along a dimension; False where NumPy
   has no loop for such arrays. */
static PyObject *
transform(PyObject *module, PyObject *args)
{
    PyArrayObject *out, *x;
    PyObject *function;
    double factor;
    int axis;
    if (!PyArg_ParseTuple(args, "O!O!Odi", &PyArray_Type, &out, &PyArray_Type, &x, &function,
                          &factor, &axis)) {
        return NULL;
    }
    PyUFuncObject *ufunc = (PyUFuncObject *)function;
    int dims = PyArray_NDIM(x);
    Transform job = {.from = PyArray_BYTES(x), .to = PyArray_BYTES(out)};
    if (!PyObject_TypeCheck(function, &PyUFunc_Type) || !ufunc->core_enabled || ufunc->nin != 2 ||
        ufunc->nout != 1 || ufunc->core_num_dim_ix != 2 || ufunc->core_num_dims[1] != 0 ||
        axis < 0 || axis >= dims || PyArray_NDIM(out) != dims || !PyArray_ISBEHAVED(out) ||
        PyArray_SIZE(out) == 0 || PyArray_SIZE(x) == 0) {
        return refuse("transform");
    }
    int64_t count = 1;
    for (int d = 0; d < dims; d++) {
        if (d == axis) {
            continue;
        }
        if (PyArray_DIM(x, d) != PyArray_DIM(out, d)) {
            return refuse("transform");
        }
        job.shape[job.dims] = PyArray_DIM(x, d);
        job.from_steps[job.dims] = PyArray_STRIDE(x, d);
        job.to_steps[job.dims++] = PyArray_STRIDE(out, d);
        count *= PyArray_DIM(x, d);
    }
    job.points = PyArray_DIM(x, axis);
    job.made = PyArray_DIM(out, axis);
    job.point_step = PyArray_STRIDE(x, axis);
    job.made_step = PyArray_STRIDE(out, axis);
    if (!PyArray_ISBEHAVED_RO(x) ||
        !find_transform(ufunc, PyArray_TYPE(x), PyArray_TYPE(out), factor, &job)) {
        Py_RETURN_FALSE;
    }
    Py_BEGIN_ALLOW_THREADS;
    pool_run(run_transforms, &job, count, (1 << 13) / (job.points + job.made) + 1);
    Py_END_ALLOW_THREADS;
    Py_RETURN_TRUE;
}
