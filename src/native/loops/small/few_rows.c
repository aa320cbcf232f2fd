/* Softmax and normalisation of few numbers: NOTE [Small] in `small.c`. */

#include "few_sums.c"

#include <math.h>

/* How an axis of `n` numbers lies in an array: `times` over, `width` apart. */
typedef struct {
    npy_intp times, n, width;
} Along;

/* So many rows, one after the other, have parameters of their own, each for so many numbers. */
typedef struct {
    npy_intp groups, each;
} Shared;

#define ROWS(REAL, SQRT)                                                                                \
    /* Put x less its maximum along an axis into `out`. */                                              \
    static void below_top_##REAL(const REAL *x, Along a, REAL *out)                                     \
    {                                                                                                   \
        for (npy_intp i = 0; i < a.times * a.width; i++) {                                              \
            npy_intp at = i / a.width * a.n * a.width + i % a.width;                                    \
            REAL top = x[at];                                                                           \
            for (npy_intp j = 1; j < a.n; j++) {                                                        \
                REAL each = x[at + j * a.width];                                                        \
                top = each > top || each != each ? each : top;                                          \
            }                                                                                           \
            for (npy_intp j = 0; j < a.n; j++) {                                                        \
                out[at + j * a.width] = x[at + j * a.width] - top;                                      \
            }                                                                                           \
        }                                                                                               \
    }                                                                                                   \
                                                                                                        \
    /* Divide by, or subtract, one number for each row along an axis. */                                \
    static void settle_##REAL(REAL *x, Along a, const REAL *by, bool subtract)                          \
    {                                                                                                   \
        for (npy_intp i = 0; i < a.times; i++, by += a.width) {                                         \
            for (npy_intp j = 0; j < a.n; j++, x += a.width) {                                          \
                for (npy_intp k = 0; k < a.width; k++) {                                                \
                    x[k] = subtract ? x[k] - by[k] : x[k] / by[k];                                      \
                }                                                                                       \
            }                                                                                           \
        }                                                                                               \
    }                                                                                                   \
                                                                                                        \
    /* Scale what is centred, times the weight, plus the bias, of which `each` numbers share one, and \
       every so-manieth row all. */ \
    static void scale_rows_##REAL(REAL *x, Along a, const REAL *weight, const REAL *bias,               \
                                  Shared by, double eps, const REAL *var)                               \
    {                                                                                                   \
        for (npy_intp i = 0; i < a.times; i++, x += a.n) {                                              \
            REAL scale = 1 / SQRT(var[i] + (REAL)eps);                                                  \
            for (npy_intp j = 0; j < a.n; j++) {                                                        \
                REAL each = x[j] * scale;                                                               \
                npy_intp at = (i % by.groups * a.n + j) / by.each;                                      \
                each = weight == NULL ? each : each * weight[at];                                       \
                x[j] = bias == NULL ? each : each + bias[at];                                           \
            }                                                                                           \
        }                                                                                               \
    }                                                                                                   \
                                                                                                        \
    /* The same over `times` and `width` of images, for each of `n` channels. */                        \
    static void scale_channels_##REAL(REAL *x, Along a, const REAL *weight, const REAL *bias,           \
                                      double eps, const REAL *var)                                      \
    {                                                                                                   \
        for (npy_intp i = 0; i < a.times * a.n; i++, x += a.width) {                                    \
            npy_intp c = i % a.n;                                                                       \
            REAL scale = 1 / SQRT(var[c] + (REAL)eps);                                                  \
            scale = weight == NULL ? scale : scale * weight[c];                                         \
            for (npy_intp k = 0; k < a.width; k++) {                                                    \
                REAL each = x[k] * scale;                                                               \
                x[k] = bias == NULL ? each : each + bias[c];                                            \
            }                                                                                           \
        }                                                                                               \
    }

ROWS(float, sqrtf)
ROWS(double, sqrt)

/* Softmax, or its logarithm, along one axis. */
static PyObject *
softmax_of(const Given *all, bool logarithm)
{
    PyArrayObject *x = few(all->args[0]);
    npy_intp sizes[3];
    int first;
    if (x == NULL ||
        !read_axes(given(all, 1, text_dim), PyArray_NDIM(x), PyArray_DIMS(x), sizes, &first)) {
        return NULL;
    }
    PyArrayObject *out =
        (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), PyArray_TYPE(x));
    if (out == NULL) {
        return NULL;
    }
    Along a = {sizes[0], sizes[1], sizes[2]};
    npy_intp count = PyArray_SIZE(x), rows = a.times * a.width, item = PyArray_ITEMSIZE(x);
    bool wide = is_wide(x);
    double exponentials[FEW], sums[FEW];
    char *result = PyArray_BYTES(out), *exps = logarithm ? (char *)exponentials : result;
    if (wide) {
        below_top_double(PyArray_DATA(x), a, (double *)result);
    }
    else {
        below_top_float(PyArray_DATA(x), a, (float *)result);
    }
    run_inner(&exp_inner[wide], result, exps, count, item);
    add_rows_of(wide, exps, a.times, a.n, a.width, (char *)sums);
    if (logarithm) {
        run_inner(&log_inner[wide], (char *)sums, (char *)sums, rows, item);
    }
    if (wide) {
        settle_double((double *)result, a, sums, logarithm);
    }
    else {
        settle_float((float *)result, a, (float *)sums, logarithm);
    }
    return (PyObject *)out;
}

/* `softmax(x, dim)`. */
static PyObject *
small_softmax(const Given *all)
{
    return softmax_of(all, false);
}

/* `log_softmax(x, dim)`. */
static PyObject *
small_log_softmax(const Given *all)
{
    return softmax_of(all, true);
}

/* The numbers of a weight or a bias, `n` of the type of `x`, in `to`, NULL for None; or false. */
static bool
read_parameter(PyObject *given, const PyArrayObject *x, npy_intp n, void **to)
{
    *to = NULL;
    if (given == Py_None) {
        return true;
    }
    PyArrayObject *array = few(given);
    if (array == NULL || PyArray_TYPE(array) != PyArray_TYPE(x) || PyArray_SIZE(array) != n) {
        return false;
    }
    *to = PyArray_DATA(array);
    return true;
}

typedef struct {
    PyArrayObject *x, *out, *mean, *var;
    void *weight, *bias;
    double eps;
} Normed;

/* The results of a normalisation, mean and variance over `axes`; NULL with an error. */
static PyObject *
new_normed(Normed *to, PyObject *axes)
{
    npy_intp shape[NPY_MAXDIMS];
    int dims = PyArray_NDIM(to->x), type = PyArray_TYPE(to->x);
    memcpy(shape, PyArray_DIMS(to->x), (size_t)dims * sizeof(npy_intp));
    PyObject *out = PyArray_SimpleNew(dims, shape, type);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axes); i++) {
        shape[PyLong_AsLong(PyTuple_GET_ITEM(axes, i))] = 1;
    }
    PyObject *mean = PyArray_SimpleNew(dims, shape, type), *all = NULL;
    PyObject *var = PyArray_SimpleNew(dims, shape, type);
    if (out != NULL && mean != NULL && var != NULL) {
        to->out = (PyArrayObject *)out;
        to->mean = (PyArrayObject *)mean;
        to->var = (PyArrayObject *)var;
        all = PyTuple_Pack(3, out, mean, var);
    }
    Py_XDECREF(out);
    Py_XDECREF(mean);
    Py_XDECREF(var);
    return all;
}

/* Centre numbers over `times` and `width`, for each of `n`, and write means and variances. */
static void
centre_few(const Normed *to, Along a)
{
    npy_intp count = a.times * a.width, step = sizeof(double), steps[] = {0, step, 0};
    if (!is_wide(to->x)) {
        Moments job = {PyArray_DATA(to->x),
                       PyArray_DATA(to->out),
                       PyArray_DATA(to->mean),
                       PyArray_DATA(to->var),
                       1,
                       a.times,
                       a.n,
                       a.width,
                       (double)count,
                       false};
        measure_some(&job, 0, pieces_of(&job));
        return;
    }
    const double *x = PyArray_DATA(to->x);
    double *out = PyArray_DATA(to->out), squares[FEW];
    for (npy_intp c = 0; c < a.n; c++) {
        double mean = 0, var = 0;
        for (npy_intp i = 0; i < a.times; i++) {
            double sum = 0;
            char *data[] = {(char *)&sum, (char *)(x + (i * a.n + c) * a.width), (char *)&sum};
            add_inner[1].function(data, &a.width, steps, add_inner[1].data);
            mean += sum;
        }
        mean /= (double)count;
        for (npy_intp i = 0; i < a.times; i++) {
            npy_intp at = (i * a.n + c) * a.width;
            double sum = 0;
            char *data[] = {(char *)&sum, (char *)squares, (char *)&sum};
            for (npy_intp k = 0; k < a.width; k++) {
                double far = out[at + k] = x[at + k] - mean;
                squares[k] = far * far;
            }
            add_inner[1].function(data, &a.width, steps, add_inner[1].data);
            var += sum;
        }
        ((double *)PyArray_DATA(to->mean))[c] = mean;
        ((double *)PyArray_DATA(to->var))[c] = var / (double)count;
    }
}

/* Standardise rows of `n` numbers. */
static void
run_rows_normed(const Normed *to, npy_intp n, Shared by, double eps)
{
    Along a = {PyArray_SIZE(to->x) / n, n, 1};
    void *out = PyArray_DATA(to->out), *var = PyArray_DATA(to->var);
    centre_few(to, (Along){1, a.times, n});
    if (is_wide(to->x)) {
        scale_rows_double(out, a, to->weight, to->bias, by, eps, var);
    }
    else {
        scale_rows_float(out, a, to->weight, to->bias, by, eps, var);
    }
}

/* Whether a parameter is (1, groups, channels, 1) beside (images, groups, channels, places). */
static bool
is_by_group(PyObject *given, const PyArrayObject *x)
{
    PyArrayObject *array = (PyArrayObject *)given;
    return given == Py_None ||
           (PyArray_CheckExact(given) && PyArray_NDIM(x) == 4 && PyArray_NDIM(array) == 4 &&
            PyArray_DIM(array, 0) == 1 && PyArray_DIM(array, 1) == PyArray_DIM(x, 1) &&
            PyArray_DIM(array, 2) == PyArray_DIM(x, 2) && PyArray_DIM(array, 3) == 1);
}

/* Whether a parameter has the last `axes` of the sizes of `x`. */
static bool
is_by_number(PyObject *given, const PyArrayObject *x, Py_ssize_t axes)
{
    return given == Py_None || (PyArray_CheckExact(given) && PyArray_NDIM(x) >= axes &&
                                PyArray_NDIM((PyArrayObject *)given) == axes);
}

/* `layer_norm(x, weight, bias, dim, eps)` over the last axes. */
static PyObject *
small_layer_norm(const Given *all)
{
    Normed to = {.x = few(all->args[0])};
    PyObject *axes = given(all, 3, text_dim), *eps = given(all, 4, text_eps), *made;
    npy_intp sizes[3];
    int first;
    if (all->count != 3 || to.x == NULL || !PyFloat_CheckExact(eps) ||
        !read_axes(axes, PyArray_NDIM(to.x), PyArray_DIMS(to.x), sizes, &first) ||
        first + PyTuple_GET_SIZE(axes) != PyArray_NDIM(to.x)) {
        return NULL;
    }
    PyObject *weight = all->args[1], *bias = all->args[2];
    npy_intp count = sizes[1];
    Shared by = {1, 1};
    if (!is_by_number(weight, to.x, PyTuple_GET_SIZE(axes)) ||
        !is_by_number(bias, to.x, PyTuple_GET_SIZE(axes))) {
        if (first != 2 || !is_by_group(weight, to.x) || !is_by_group(bias, to.x)) {
            return NULL;
        }
        by = (Shared){PyArray_DIM(to.x, 1), PyArray_DIM(to.x, 3)};
        count = by.groups * PyArray_DIM(to.x, 2);
    }
    if (!read_parameter(weight, to.x, count, &to.weight) ||
        !read_parameter(bias, to.x, count, &to.bias)) {
        return NULL;
    }
    made = new_normed(&to, axes);
    if (made != NULL) {
        run_rows_normed(&to, sizes[1], by, PyFloat_AS_DOUBLE(eps));
    }
    return made;
}

/* Whether axes are all but the second one. */
static bool
leaves_channels(PyObject *axes, int dims)
{
    bool fits = PyTuple_CheckExact(axes) && PyTuple_GET_SIZE(axes) == dims - 1;
    for (int i = 0; fits && i < dims - 1; i++) {
        PyObject *axis = PyTuple_GET_ITEM(axes, i);
        fits = PyLong_CheckExact(axis) && PyLong_AsLong(axis) == (i == 0 ? 0 : i + 1);
    }
    return fits;
}

/* `batch_norm(x, weight, bias, dim, eps)` over all axes but that of several channels. */
static PyObject *
small_batch_norm(const Given *all)
{
    Normed to = {.x = few(all->args[0])};
    PyObject *axes = given(all, 3, text_dim), *eps = given(all, 4, text_eps);
    int dims = to.x == NULL ? 0 : PyArray_NDIM(to.x), first;
    npy_intp sizes[3];
    if (all->count == 3 && dims > 0 && all->args[1] == Py_None && all->args[2] == Py_None &&
        read_axes(axes, dims, PyArray_DIMS(to.x), sizes, &first) && sizes[2] == 1 && first > 0) {
        return small_layer_norm(all); /* which is the same without parameters */
    }
    if (all->count != 3 || dims < 2 || PyArray_DIM(to.x, 1) == 1 || !PyFloat_CheckExact(eps) ||
        !leaves_channels(axes, dims) ||
        !read_parameter(all->args[1], to.x, PyArray_DIM(to.x, 1), &to.weight) ||
        !read_parameter(all->args[2], to.x, PyArray_DIM(to.x, 1), &to.bias)) {
        return NULL;
    }
    PyObject *made = new_normed(&to, axes);
    if (made == NULL) {
        return NULL;
    }
    Along a = {PyArray_DIM(to.x, 0), PyArray_DIM(to.x, 1), 1};
    a.width = PyArray_SIZE(to.x) / (a.times * a.n);
    void *out = PyArray_DATA(to.out), *var = PyArray_DATA(to.var);
    centre_few(&to, a);
    if (is_wide(to.x)) {
        scale_channels_double(out, a, to.weight, to.bias, PyFloat_AS_DOUBLE(eps), var);
    }
    else {
        scale_channels_float(out, a, to.weight, to.bias, PyFloat_AS_DOUBLE(eps), var);
    }
    return made;
}

#define BLEND(REAL)                                                                                \
    static void products_##REAL(const REAL *x, const REAL *y, npy_intp n, REAL *out)               \
    {                                                                                              \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            out[i] = x[i] * y[i];                                                                  \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* The sums of products of rows of `n`, added up `lead` by `lead`. */                          \
    static void few_dots_##REAL(const REAL *x, const REAL *y, npy_intp rows, npy_intp n,           \
                                npy_intp kept, REAL *out)                                          \
    {                                                                                              \
        for (npy_intp i = 0; i < rows; i++) {                                                      \
            REAL dot;                                                                              \
            dot_inner[sizeof(REAL) == 8]((char *)(x + i * n), sizeof(REAL), (char *)(y + i * n),   \
                                         sizeof(REAL), (char *)&dot, n, NULL);                     \
            out[i % kept] = i < kept ? (rows == kept ? dot : 0 + dot) : out[i % kept] + dot;       \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* x * a + y * b + c, rounded at each operation. */                                            \
    static void blend_##REAL(const REAL *x, const REAL *y, npy_intp count,                         \
                             const npy_intp(*places)[3], const REAL *a, const REAL *b,             \
                             const REAL *c, REAL *out)                                             \
    {                                                                                              \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            REAL left = x[i] * a[places[i][0]], right = y[i] * b[places[i][1]];                    \
            out[i] = left + right + c[places[i][2]];                                               \
        }                                                                                          \
    }

BLEND(float)
BLEND(double)

/* `dot_to(x, y, shape)` of arrays of one shape, of which `shape` keeps axes that follow on each other. */
static PyObject *
small_dot_to(const Given *all)
{
    PyArrayObject *x = few(all->args[0]);
    PyArrayObject *y = all->count == 2 ? few(all->args[1]) : NULL;
    npy_intp shape[NPY_MAXDIMS], n = 1, kept = 1;
    int dims = read_shape(given(all, 2, text_shape), shape), end, start = 0;
    if (x == NULL || y == NULL || dims < 0 || PyArray_TYPE(x) != PyArray_TYPE(y) ||
        !PyArray_SAMESHAPE(x, y) || dims > PyArray_NDIM(x)) {
        return NULL;
    }
    int lead = PyArray_NDIM(x) - dims;
    for (end = dims; end > 0 && shape[end - 1] == 1 && lead == 0; end--) {
        n *= PyArray_DIM(x, end - 1);
    }
    while (start < end && shape[start] == 1 && PyArray_DIM(x, lead + start) != 1) {
        start++;
    }
    for (int d = start; d < end; d++) {
        if (shape[d] != PyArray_DIM(x, lead + d)) {
            return NULL;
        }
        kept *= shape[d];
    }
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(dims, shape, PyArray_TYPE(x));
    npy_intp count = PyArray_SIZE(x);
    double products[FEW];
    if (out != NULL && end < dims && is_wide(x)) {
        few_dots_double(PyArray_DATA(x), PyArray_DATA(y), count / n, n, kept, PyArray_DATA(out));
    }
    else if (out != NULL && end < dims) {
        few_dots_float(PyArray_DATA(x), PyArray_DATA(y), count / n, n, kept, PyArray_DATA(out));
    }
    else if (out != NULL) {
        if (is_wide(x)) {
            products_double(PyArray_DATA(x), PyArray_DATA(y), count, products);
        }
        else {
            products_float(PyArray_DATA(x), PyArray_DATA(y), count, (float *)products);
        }
        add_rows_of(is_wide(x), (char *)products, 1, count / kept, kept, PyArray_BYTES(out));
    }
    return (PyObject *)out;
}

/* `blend(x, y, a, b, c)`, where the last three broadcast to the others. */
static PyObject *
small_blend(const Given *all)
{
    PyArrayObject *given_arrays[5], *x;
    npy_intp places[FEW][3];
    for (int i = 0; i < 5; i++) {
        given_arrays[i] = i < all->count ? few(all->args[i]) : NULL;
        x = given_arrays[0];
        if (given_arrays[i] == NULL || PyArray_TYPE(given_arrays[i]) != PyArray_TYPE(x) ||
            (i == 1 && !PyArray_SAMESHAPE(given_arrays[i], x)) ||
            PyArray_NDIM(given_arrays[i]) > PyArray_NDIM(x)) {
            return NULL;
        }
    }
    npy_intp count = PyArray_SIZE(x);
    for (int k = 0; k < 3; k++) {
        PyArrayObject *by = given_arrays[2 + k];
        npy_intp step = 1, below = 1;
        for (npy_intp i = 0; i < count; i++) {
            places[i][k] = 0;
        }
        for (int d = PyArray_NDIM(x) - 1, e = PyArray_NDIM(by) - 1; d >= 0; d--, e--) {
            npy_intp size = PyArray_DIM(x, d), own = e < 0 ? 1 : PyArray_DIM(by, e);
            if (own != 1 && own != size) {
                return NULL;
            }
            for (npy_intp i = 0; own != 1 && i < count; i++) {
                places[i][k] += i / below % size * step;
            }
            below *= size;
            step *= own;
        }
    }
    PyObject *out = PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), PyArray_TYPE(x));
    void *to = out == NULL ? NULL : PyArray_DATA((PyArrayObject *)out), *data[5];
    for (int i = 0; i < 5; i++) {
        data[i] = PyArray_DATA(given_arrays[i]);
    }
    if (to != NULL && is_wide(x)) {
        blend_double(data[0], data[1], count, places, data[2], data[3], data[4], to);
    }
    else if (to != NULL) {
        blend_float(data[0], data[1], count, places, data[2], data[3], data[4], to);
    }
    return out;
}
