/* Fourier transforms along one dimension, over the threads: of several lines at once, or by NumPy's
   loop for one.

   NOTE [Lines as lanes]
   1. A vector holds the same point of as many lines as it has lanes, so all that a transform does is
      arithmetic of whole vectors: Stockham's algorithm with radices 4, 2, 3 and 5, between two rooms.
      What costs is to bring points there and back (`fourier.h`).
   2. It takes lengths whose prime factors are 2, 3 and 5 and whose rooms stay in the cache, and no
      fewer lines than lanes. An even number of real points is transformed as half as many pairs. All
      else is for NumPy's loop.
   3. Given as many lines as lanes, a line's bits depend neither on the lines beside it nor on the
      number of threads.
   4. NumPy's loop is that of a function with the signature `(n),()->(m)`, which gives a transform that
      is scaled by a factor. Both read all points of a line before they write one, so a result may be
      written over its points.
*/

#include "multiply.c"
#include "pool.c"
#include "room.c"

enum { ROOM = 1 << 19 }; /* bytes at most for the points of a vector of lines */

typedef struct {
    PyUFuncGenericFunction loop;
    void *data;
    char *from, *to;
    char factor[8];
    int dims; /* besides that of the points */
    npy_intp points, made, point_step, made_step;
    npy_intp shape[NPY_MAXDIMS], from_steps[NPY_MAXDIMS], to_steps[NPY_MAXDIMS];
    bool single;
    Lines lines;
} Transform;

/* Where a line begins, by its number. */
static void
find_line(const Transform *job, int64_t number, char **from, char **to)
{
    *from = job->from;
    *to = job->to;
    for (int d = job->dims - 1; d >= 0; d--) {
        *from += number % job->shape[d] * job->from_steps[d];
        *to += number % job->shape[d] * job->to_steps[d];
        number /= job->shape[d];
    }
}

static void
run_transforms(void *context, int64_t begin, int64_t end)
{
    const Transform *job = context;
    int last = job->dims - 1;
    while (begin < end) {
        int64_t count = last < 0 ? 1 : job->shape[last] - begin % job->shape[last];
        char *pointers[] = {NULL, (char *)job->factor, NULL};
        find_line(job, begin, &pointers[0], &pointers[2]);
        count = count < end - begin ? count : end - begin;
        npy_intp sizes[] = {count, job->points, job->made};
        npy_intp steps[] = {last < 0 ? 0 : job->from_steps[last], 0,
                            last < 0 ? 0 : job->to_steps[last], job->point_step, job->made_step};
        job->loop(pointers, sizes, steps, job->data);
        begin += count;
    }
}

static int
lanes_of(const Transform *job)
{
    return (int)(kernels.across / (job->single ? sizeof(float) : sizeof(double)));
}

static int64_t
bytes_of_rooms(int64_t n)
{
    return 2 * (n + 1) * 2 * kernels.across;
}

static void
run_lines(void *context, int64_t begin, int64_t end)
{
    const Transform *job = context;
    int lanes = lanes_of(job);
    void *room = take_room(bytes_of_rooms(job->lines.n));
    if (room == NULL) {
        run_transforms(context, begin, end);
        return;
    }
    for (; begin < end; begin += lanes) {
        char *from[8], *to[8];
        int count = end - begin < lanes ? (int)(end - begin) : lanes;
        for (int l = 0; l < lanes; l++) {
            find_line(job, l < count ? begin + l : begin, &from[l], &to[l]);
        }
        (job->single ? kernels.lines_float : kernels.lines_double)(&job->lines, from, to, count,
                                                                   aligned(room));
    }
    give_room(room);
}

/* exp(-2 pi i k / n), rounded from angles below a quarter of a right one. */
static void
find_root(int64_t k, int64_t n, double *re, double *im)
{
    const double right = 1.57079632679489661923;
    int64_t quarter = 4 * k / n, left = 4 * k % n;
    bool near = 2 * left <= n;
    double angle = right * (double)(near ? left : n - left) / (double)n;
    double c = near ? cos(angle) : sin(angle), s = near ? sin(angle) : cos(angle);
    *re = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
    *im = quarter == 0 ? -s : quarter == 1 ? -c : quarter == 2 ? s : c;
}

/* The n roots of unity; NULL where there is no memory. They stay for later calls: for each remainder
   of n one length does. What else is made is in `made`, and for the caller to free. */
static const void *
find_roots(int64_t n, bool single, void **made)
{
    static struct {
        int64_t n;
        void *roots;
    } kept[2][61], *place;
    place = &kept[single][n % 61];
    *made = NULL;
    if (place->n == n) {
        return place->roots;
    }
    void *roots = malloc(2 * n * (single ? sizeof(float) : sizeof(double)));
    for (int64_t k = 0; roots != NULL && k < n; k++) {
        double re, im;
        find_root(k, n, &re, &im);
        if (single) {
            ((float *)roots)[2 * k] = (float)re;
            ((float *)roots)[2 * k + 1] = (float)im;
        }
        else {
            ((double *)roots)[2 * k] = re;
            ((double *)roots)[2 * k + 1] = im;
        }
    }
    if (place->n == 0 && roots != NULL) {
        place->n = n;
        place->roots = roots;
    }
    else {
        *made = roots;
    }
    return roots;
}

/* Whether a transform goes over several lines at once; then all but its roots is in `lines`. */
static bool
suits_lines(PyUFuncObject *ufunc, Transform *job, int from, int to, double factor, int64_t count)
{
    const char *name = ufunc->name;
    Lines *lines = &job->lines;
    int64_t n = job->points > job->made ? job->points : job->made, complex_points = n;
    job->single = to == NPY_FLOAT || to == NPY_CFLOAT;
    *lines = (Lines){.from_step = job->point_step, .to_step = job->made_step, .factor = factor};
    if (from != to) {
        lines->kind = strncmp(name, "rfft", 4) == 0 ? TO_HALF : FROM_HALF;
        complex_points = n / 2;
        if (n % 2 != 0 || n / 2 + 1 != (lines->kind == TO_HALF ? job->made : job->points) ||
            (lines->kind == FROM_HALF && strcmp(name, "irfft") != 0)) {
            return false;
        }
    }
    else {
        lines->kind = strcmp(name, "fft") == 0 ? TO_WHOLE : FROM_WHOLE;
        if (job->points != job->made || (lines->kind == FROM_WHOLE && strcmp(name, "ifft") != 0)) {
            return false;
        }
    }
    int64_t rest = complex_points;
    for (int prime = 2; prime < 6; prime++) {
        while (rest % prime == 0) {
            rest /= prime;
        }
    }
    lines->n = (int)complex_points;
    return rest == 1 && complex_points > 1 && bytes_of_rooms(complex_points) <= ROOM &&
           count >= lanes_of(job);
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
        axis < 0 || axis >= dims || PyArray_NDIM(out) != dims || !PyArray_ISBEHAVED(out)) {
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
    if (!PyArray_ISBEHAVED_RO(x) || PyArray_SIZE(out) == 0 || PyArray_SIZE(x) == 0 ||
        !find_transform(ufunc, PyArray_TYPE(x), PyArray_TYPE(out), factor, &job)) {
        Py_RETURN_FALSE;
    }
    void *made = NULL;
    Chunk run = run_transforms;
    int64_t grain = (1 << 13) / (job.points + job.made) + 1;
    if (suits_lines(ufunc, &job, PyArray_TYPE(x), PyArray_TYPE(out), factor, count)) {
        job.lines.roots =
            find_roots(job.points > job.made ? job.points : job.made, job.single, &made);
        run = job.lines.roots == NULL ? run_transforms : run_lines;
        grain = (4 * grain + 7) / 8 * 8; /* whole vectors */
    }
    Py_BEGIN_ALLOW_THREADS;
    pool_run(run, &job, count, grain);
    Py_END_ALLOW_THREADS;
    free(made);
    Py_RETURN_TRUE;
}
