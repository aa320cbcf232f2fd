/* Softmax and normalisation of few numbers: NOTE [Small] in `small.c`. */

#include "few_sums.c"

#include <math.h>

/* How an axis of `n` numbers lies in an array: `times` over, `width` apart. */
typedef struct {
    npy_intp times, n, width;
} Along;

#define ROWS(REAL, SQRT)                                                                           \
    /* Put x less its maximum along an axis into `out`. */                                         \
    static void below_top_##REAL(const REAL *x, Along a, REAL *out)                                \
    {                                                                                              \
        for (npy_intp i = 0; i < a.times * a.width; i++) {                                         \
            npy_intp at = i / a.width * a.n * a.width + i % a.width;                               \
            REAL top = x[at];                                                                      \
            for (npy_intp j = 1; j < a.n; j++) {                                                   \
                REAL each = x[at + j * a.width];                                                   \
                top = each > top || each != each ? each : top;                                     \
            }                                                                                      \
            for (npy_intp j = 0; j < a.n; j++) {                                                   \
                out[at + j * a.width] = x[at + j * a.width] - top;                                 \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Divide by, or subtract, one number for each row along an axis. */                           \
    static void settle_##REAL(REAL *x, Along a, const REAL *by, bool subtract)                     \
    {                                                                                              \
        for (npy_intp i = 0; i < a.times; i++, by += a.width) {                                    \
            for (npy_intp j = 0; j < a.n; j++, x += a.width) {                                     \
                for (npy_intp k = 0; k < a.width; k++) {                                           \
                    x[k] = subtract ? x[k] - by[k] : x[k] / by[k];                                 \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* (x - mean) * scale, times the weight, plus the bias, which vary along the axis. */          \
    static void standardize_##REAL(const REAL *x, Along a, const REAL *weight, const REAL *bias,   \
                                   double eps, REAL *out, REAL *mean, REAL *var)                   \
    {                                                                                              \
        REAL count = (REAL)a.n;                                                                    \
        for (npy_intp i = 0; i < a.times; i++, x += a.n, out += a.n) {                             \
            mean[i] /= count;                                                                      \
            for (npy_intp j = 0; j < a.n; j++) {                                                   \
                out[j] = x[j] - mean[i];                                                           \
            }                                                                                      \
            dot_inner[sizeof(REAL) == 8](out, sizeof(REAL), out, sizeof(REAL), &var[i], a.n,       \
                                         NULL);                                                    \
            var[i] /= count;                                                                       \
            REAL scale = 1 / SQRT(var[i] + (REAL)eps);                                             \
            for (npy_intp j = 0; j < a.n; j++) {                                                   \
                REAL each = out[j] * scale;                                                        \
                each = weight == NULL ? each : each * weight[j];                                   \
                out[j] = bias == NULL ? each : each + bias[j];                                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* The same over `times` and `width` of images, for each of `n` channels. */                   \
    static void standardize_channels_##REAL(const REAL *x, Along a, const REAL *weight,            \
                                            const REAL *bias, double eps, REAL *out, REAL *mean,   \
                                            REAL *var)                                             \
    {                                                                                              \
        REAL count = (REAL)(a.times * a.width), dot;                                               \
        for (npy_intp c = 0; c < a.n; c++) {                                                       \
            mean[c] /= count;                                                                      \
            var[c] = 0;                                                                            \
            for (npy_intp i = 0; i < a.times; i++) {                                               \
                npy_intp at = (i * a.n + c) * a.width;                                             \
                for (npy_intp k = 0; k < a.width; k++) {                                           \
                    out[at + k] = x[at + k] - mean[c];                                             \
                }                                                                                  \
                dot_inner[sizeof(REAL) == 8](out + at, sizeof(REAL), out + at, sizeof(REAL), &dot, \
                                             a.width, NULL);                                       \
                var[c] += dot;                                                                     \
            }                                                                                      \
            var[c] /= count;                                                                       \
            REAL scale = 1 / SQRT(var[c] + (REAL)eps);                                             \
            scale = weight == NULL ? scale : scale * weight[c];                                    \
            for (npy_intp i = 0; i < a.times; i++) {                                               \
                npy_intp at = (i * a.n + c) * a.width;                                             \
                for (npy_intp k = 0; k < a.width; k++) {                                           \
                    REAL each = out[at + k] * scale;                                               \
                    out[at + k] = bias == NULL ? each : each + bias[c];                            \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
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
read_parameter(PyObject *given, PyArrayObject *x, npy_intp n, void **to)
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

/* `layer_norm(x, weight, bias, dim, eps)` over the last axes. */
static PyObject *
small_layer_norm(const Given *all)
{
    Normed to = {.x = few(all->args[0])};
    PyObject *axes = given(all, 3, text_dim), *eps = given(all, 4, text_eps);
    npy_intp sizes[3];
    int first;
    if (all->count != 3 || to.x == NULL || !PyFloat_CheckExact(eps) ||
        !read_axes(axes, PyArray_NDIM(to.x), PyArray_DIMS(to.x), sizes, &first) ||
        first + PyTuple_GET_SIZE(axes) != PyArray_NDIM(to.x) ||
        !read_parameter(all->args[1], to.x, sizes[1], &to.weight) ||
        !read_parameter(all->args[2], to.x, sizes[1], &to.bias)) {
        return NULL;
    }
    PyObject *made = new_normed(&to, axes);
    if (made == NULL) {
        return NULL;
    }
    Along a = {sizes[0], sizes[1], 1};
    void *x = PyArray_DATA(to.x), *out = PyArray_DATA(to.out), *mean = PyArray_DATA(to.mean);
    void *var = PyArray_DATA(to.var);
    add_rows_of(is_wide(to.x), x, a.times, a.n, 1, mean);
    if (is_wide(to.x)) {
        standardize_double(x, a, to.weight, to.bias, PyFloat_AS_DOUBLE(eps), out, mean, var);
    }
    else {
        standardize_float(x, a, to.weight, to.bias, PyFloat_AS_DOUBLE(eps), out, mean, var);
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
    int dims = to.x == NULL ? 0 : PyArray_NDIM(to.x);
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
    bool wide = is_wide(to.x);
    npy_intp item = PyArray_ITEMSIZE(to.x), steps[] = {0, item, 0};
    char *x = PyArray_DATA(to.x), *mean = PyArray_DATA(to.mean);
    void *out = PyArray_DATA(to.out), *var = PyArray_DATA(to.var);
    memset(mean, 0, (size_t)(a.n * item));
    for (npy_intp i = 0; i < a.times * a.n; i++) {
        char *sum = mean + i % a.n * item, *data[] = {sum, x + i * a.width * item, sum};
        add_inner[wide].function(data, &a.width, steps, add_inner[wide].data);
    }
    if (wide) {
        standardize_channels_double((double *)x, a, to.weight, to.bias, PyFloat_AS_DOUBLE(eps), out,
                                    (double *)mean, var);
    }
    else {
        standardize_channels_float((float *)x, a, to.weight, to.bias, PyFloat_AS_DOUBLE(eps), out,
                                   (float *)mean, var);
    }
    return made;
}

/* `box_muller(uniform)`: normal numbers in pairs, cosines before sines, of pairs of uniform ones. */
static PyObject *
small_box_muller(const Given *all)
{
    PyArrayObject *uniform = few(all->args[0]);
    if (uniform == NULL || !is_wide(uniform) || PyArray_SIZE(uniform) % 2 != 0) {
        return NULL;
    }
    npy_intp size = PyArray_SIZE(uniform), count = size / 2, item = sizeof(double);
    PyObject *out = PyArray_SimpleNew(1, &size, NPY_DOUBLE);
    double radius[FEW / 2], angle[FEW / 2], cosine[FEW / 2], sine[FEW / 2];
    double *from = PyArray_DATA(uniform);
    double *to = out == NULL ? NULL : PyArray_DATA((PyArrayObject *)out);
    if (out == NULL) {
        return NULL;
    }
    for (npy_intp i = 0; i < count; i++) {
        angle[i] = 2 * NPY_PI * from[2 * i];
        radius[i] = -from[2 * i + 1];
    }
    run_inner(&log1p_inner[1], (char *)radius, (char *)radius, count, item);
    run_inner(&cos_inner[1], (char *)angle, (char *)cosine, count, item);
    run_inner(&sin_inner[1], (char *)angle, (char *)sine, count, item);
    for (npy_intp i = 0; i < count; i++) {
        double r = sqrt(-2 * radius[i]);
        to[2 * i] = r * cosine[i];
        to[2 * i + 1] = r * sine[i];
    }
    return out;
}
