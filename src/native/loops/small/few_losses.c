/* The cross-entropy of few logits, as `retrograd/ops/loss/cross_entropy.py`: NOTE [Small] in `small.c`. */

#include <math.h>

#include "few_places.c"

/* `highest(indices)`: the largest index; a negative one counts as a very large one. */
static PyObject *
small_highest(const Given *all)
{
    PyArrayObject *array = (PyArrayObject *)all->args[0];
    uint64_t found = 0;
    if (!PyArray_CheckExact(all->args[0]) || PyArray_TYPE(array) != NPY_INT64 ||
        !PyArray_ISCARRAY_RO(array) || PyArray_SIZE(array) == 0 || PyArray_SIZE(array) > FEW) {
        return NULL;
    }
    for (npy_intp i = 0; i < PyArray_SIZE(array); i++) {
        uint64_t each = ((uint64_t *)PyArray_DATA(array))[i];
        found = each > found ? each : found;
    }
    return PyLong_FromUnsignedLongLong(found);
}

/* Logits, rows x columns; the class of each row; what its loss counts, if that differs; and what the
   sum is multiplied by. */
typedef struct {
    PyArrayObject *input, *classes, *share;
    npy_intp rows, columns;
    double scale;
} Loss;

static int64_t
class_of(const Loss *loss, npy_intp i)
{
    const void *classes = PyArray_DATA(loss->classes);
    bool bytes = PyArray_TYPE(loss->classes) == NPY_UINT8;
    return bytes ? ((const uint8_t *)classes)[i] : ((const int64_t *)classes)[i];
}

static bool
read_loss(const Given *all, Py_ssize_t first, Loss *to)
{
    PyObject *scale = given(all, first + 3, text_scale);
    if (all->count != first + 3 || !PyFloat_Check(scale)) {
        return false;
    }
    PyObject *target = all->args[first + 1], *share = all->args[first + 2];
    PyArrayObject *input = few(all->args[first]), *classes = (PyArrayObject *)target;
    if (input == NULL || PyArray_NDIM(input) != 2 || !PyArray_CheckExact(target) ||
        !(PyArray_TYPE(classes) == NPY_INT64 || PyArray_TYPE(classes) == NPY_UINT8) ||
        !PyArray_ISCARRAY_RO(classes) || PyArray_NDIM(classes) != 1 ||
        PyArray_SIZE(classes) != PyArray_DIM(input, 0)) {
        return false;
    }
    *to = (Loss){input,
                 classes,
                 share == Py_None ? NULL : few(share),
                 PyArray_DIM(input, 0),
                 PyArray_DIM(input, 1),
                 PyFloat_AS_DOUBLE(scale)};
    if (share != Py_None && (to->share == NULL || PyArray_TYPE(to->share) != PyArray_TYPE(input) ||
                             PyArray_NDIM(to->share) != 2 || PyArray_SIZE(to->share) != to->rows)) {
        return false;
    }
    for (npy_intp i = 0; i < to->rows; i++) {
        if (class_of(to, i) < 0 || class_of(to, i) >= to->columns) {
            return false;
        }
    }
    return true;
}

#define LOSS(REAL, WIDE)                                                                           \
    /* Put exp(row - its maximum) in place of each row, and the maxima into `tops`. */             \
    static void exponentials_##REAL(const Loss *loss, REAL *out, REAL *tops)                       \
    {                                                                                              \
        const REAL *x = PyArray_DATA(loss->input);                                                 \
        npy_intp columns = loss->columns, count = loss->rows * columns;                            \
        npy_intp steps[] = {sizeof(REAL), sizeof(REAL)};                                           \
        char *data[] = {(char *)out, (char *)out};                                                 \
        for (npy_intp i = 0; i < loss->rows; i++) {                                                \
            REAL top = x[i * columns];                                                             \
            for (npy_intp j = 1; j < columns; j++) {                                               \
                REAL each = x[i * columns + j];                                                    \
                top = each > top || each != each ? each : top;                                     \
            }                                                                                      \
            for (npy_intp j = 0; j < columns; j++) {                                               \
                out[i * columns + j] = x[i * columns + j] - top;                                   \
            }                                                                                      \
            tops[i] = top;                                                                         \
        }                                                                                          \
        exp_inner[WIDE].function(data, &count, steps, exp_inner[WIDE].data);                       \
    }                                                                                              \
                                                                                                   \
    static double few_total_##REAL(const REAL *x, npy_intp count)                                  \
    {                                                                                              \
        double sum = 0;                                                                            \
        for (npy_intp j = 0; j < count; j++) {                                                     \
            sum += (double)x[j];                                                                   \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
                                                                                                   \
    static double share_##REAL(const Loss *loss, npy_intp i)                                       \
    {                                                                                              \
        return loss->share == NULL ? 1 : (double)((REAL *)PyArray_DATA(loss->share))[i];           \
    }                                                                                              \
                                                                                                   \
    static void loss_##REAL(const Loss *loss, REAL *to)                                            \
    {                                                                                              \
        REAL exps[FEW], tops[FEW];                                                                 \
        const REAL *x = PyArray_DATA(loss->input);                                                 \
        double sum = 0;                                                                            \
        exponentials_##REAL(loss, exps, tops);                                                     \
        for (npy_intp i = 0; i < loss->rows; i++) {                                                \
            npy_intp at = i * loss->columns;                                                       \
            double share = share_##REAL(loss, i); /* 0: an ignored sample may be infinite */       \
            double own = (double)x[at + class_of(loss, i)] - (double)tops[i];                      \
            sum +=                                                                                 \
                share == 0 ? 0 : share * (log(few_total_##REAL(exps + at, loss->columns)) - own);  \
        }                                                                                          \
        *to = (REAL)(sum * loss->scale);                                                           \
    }                                                                                              \
                                                                                                   \
    static void loss_derivative_##REAL(const Loss *loss, const REAL *g, REAL *to)                  \
    {                                                                                              \
        REAL tops[FEW];                                                                            \
        exponentials_##REAL(loss, to, tops);                                                       \
        for (npy_intp i = 0; i < loss->rows; i++, to += loss->columns) {                           \
            double share = share_##REAL(loss, i), factor = (double)*g * loss->scale * share;       \
            REAL part = (REAL)(factor / few_total_##REAL(to, loss->columns));                      \
            for (npy_intp j = 0; j < loss->columns; j++) {                                         \
                to[j] = share == 0 ? 0 : to[j] * part;                                             \
            }                                                                                      \
            to[class_of(loss, i)] -= share == 0 ? 0 : (REAL)factor;                                \
        }                                                                                          \
    }

LOSS(float, 0)
LOSS(double, 1)

/* `cross_entropy(input, target, share, scale, rows)`. */
static PyObject *
small_cross_entropy(const Given *all)
{
    Loss loss;
    if (!read_loss(all, 0, &loss)) {
        return NULL;
    }
    PyObject *out = PyArray_SimpleNew(0, NULL, PyArray_TYPE(loss.input));
    if (out != NULL && is_wide(loss.input)) {
        loss_double(&loss, PyArray_DATA((PyArrayObject *)out));
    }
    else if (out != NULL) {
        loss_float(&loss, PyArray_DATA((PyArrayObject *)out));
    }
    return out;
}

/* `cross_entropy_derivative(cotangent, input, target, share, scale, rows)`. */
static PyObject *
small_cross_entropy_derivative(const Given *all)
{
    PyArrayObject *g = few(all->args[0]);
    Loss loss;
    if (g == NULL || PyArray_NDIM(g) != 0 || !read_loss(all, 1, &loss) ||
        PyArray_TYPE(g) != PyArray_TYPE(loss.input)) {
        return NULL;
    }
    PyObject *out = PyArray_SimpleNew(2, PyArray_DIMS(loss.input), PyArray_TYPE(g));
    if (out != NULL && is_wide(g)) {
        loss_derivative_double(&loss, PyArray_DATA(g), PyArray_DATA((PyArrayObject *)out));
    }
    else if (out != NULL) {
        loss_derivative_float(&loss, PyArray_DATA(g), PyArray_DATA((PyArrayObject *)out));
    }
    return out;
}

/* `nll(input, target, total)`: minus the sum of the targets' entries, divided by `total`. */
static PyObject *
small_nll(const Given *all)
{
    PyArrayObject *x = few(all->args[0]);
    PyArrayObject *target = all->count == 2 ? few_indices(all->args[1]) : NULL;
    PyObject *total = given(all, 2, text_total);
    if (x == NULL || target == NULL || PyArray_NDIM(x) != 2 || PyArray_NDIM(target) != 1 ||
        PyArray_SIZE(target) != PyArray_DIM(x, 0) || !PyFloat_CheckExact(total)) {
        return NULL;
    }
    npy_intp rows = PyArray_DIM(x, 0), columns = PyArray_DIM(x, 1);
    const int64_t *classes = PyArray_DATA(target);
    double picked[FEW];
    for (npy_intp i = 0; i < rows; i++) {
        if (classes[i] < 0 || classes[i] >= columns) {
            return NULL;
        }
        npy_intp at = i * columns + classes[i];
        if (is_wide(x)) {
            picked[i] = -((double *)PyArray_DATA(x))[at];
        }
        else {
            ((float *)picked)[i] = -((float *)PyArray_DATA(x))[at];
        }
    }
    PyObject *out = PyArray_SimpleNew(0, NULL, PyArray_TYPE(x));
    void *to = out == NULL ? NULL : PyArray_DATA((PyArrayObject *)out);
    if (to != NULL) {
        add_rows_of(is_wide(x), (char *)picked, 1, rows, 1, to);
    }
    if (to != NULL && is_wide(x)) {
        *(double *)to /= PyFloat_AS_DOUBLE(total);
    }
    else if (to != NULL) {
        *(float *)to /= (float)PyFloat_AS_DOUBLE(total);
    }
    return out;
}
