/* Scaled dot-product attention without a matrix of scores.

   NOTE [Attention]
   1. Scores are made in blocks of TILE rows and as many columns as fit into registers, and are used
      at once. So memory grows with the length, not with its square. Operands lie as one array:
      (heads, rows + 2 columns, width), query, key and value of each head one after the other.
   2. Forwards, a row keeps its largest score so far, the sum of exponentials measured from it, and
      the sum of values; a larger score shrinks both (M. Milakov, N. Gimelshein, 2018). Work is shared
      out by head and by RANGE rows.
   3. Backwards, weights are computed anew from the largest score and the inverse of the sum, which
      `stats` holds for each row. Work is shared out by head; where heads are few, by every so-manieth
      block of rows of them, whose results are then added up, in order.
   4. Nothing depends on the number of threads. A block that no row sees, in causal attention, is left
      out.
*/

#include "multiply.c"
#include "pool.c"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 64, RANGE = 512, FEWEST = 8, MOST_LEAD = 16 };

typedef struct {
    const char *packed, *g, *bias; /* no bias: NULL */
    char *out, *stats, *made;
    int64_t heads, rows, columns, width, ranges;
    int64_t wide, pitch; /* columns of a block; elements from a row of a copy to the next */
    double scale;
    bool causal;
    _Atomic bool failed; /* there is no memory */
    int lead;            /* dimensions of the heads, in the bias */
    int64_t sizes[MOST_LEAD], steps[MOST_LEAD], down, item;
    Tap *across, *along, *down_rows; /* of the three kinds of products */
} Attention;

/* What is added to the scores of a row from a column on. */
static const void *
bias_of(const Attention *a, int64_t head, int64_t row, int64_t column)
{
    const char *at = a->bias;
    for (int d = a->lead - 1; at != NULL && d >= 0; d--) {
        at += head % a->sizes[d] * a->steps[d];
        head /= a->sizes[d];
    }
    return at == NULL ? NULL : at + row * a->down + column * a->item;
}

#define REAL float
#define OF(x) x##_float
#include "attention.h"
#undef REAL
#undef OF
#define REAL double
#define OF(x) x##_double
#include "attention.h"
#undef REAL
#undef OF

/* Read the bias, (lead..., rows, columns) in any strides but along columns; false if it is none. */
static bool
read_bias(Attention *a, PyObject *object, int type)
{
    if (object == Py_None) {
        return true;
    }
    PyArrayObject *bias = (PyArrayObject *)object;
    if (!PyArray_Check(object) || PyArray_TYPE(bias) != type || !PyArray_ISBEHAVED_RO(bias)) {
        return false;
    }
    int64_t heads = 1;
    int dims = PyArray_NDIM(bias);
    a->item = PyArray_ITEMSIZE(bias);
    a->lead = dims - 2;
    if (dims < 2 || a->lead > MOST_LEAD || PyArray_DIM(bias, dims - 1) != a->columns ||
        PyArray_DIM(bias, dims - 2) != a->rows ||
        (a->columns > 1 && PyArray_STRIDE(bias, dims - 1) != a->item)) {
        return false;
    }
    for (int d = 0; d < a->lead; d++) {
        heads *= a->sizes[d] = PyArray_DIM(bias, d);
        a->steps[d] = PyArray_STRIDE(bias, d);
    }
    a->down = PyArray_STRIDE(bias, dims - 2);
    a->bias = PyArray_BYTES(bias);
    return heads == a->heads;
}

/* Whether an array has heads, so many rows and a width. */
static bool
is_of_heads(PyArrayObject *array, int type, const Attention *a, int64_t rows, int64_t width)
{
    return is_plain(array, type) && PyArray_NDIM(array) == 3 && PyArray_DIM(array, 0) == a->heads &&
           PyArray_DIM(array, 1) == rows && PyArray_DIM(array, 2) == width;
}

/* Add the results of all parts to those of the first. */
static void
add_parts(const Attention *a, int type, char *to)
{
    int64_t count = a->heads * (a->rows + 2 * a->columns) * a->width;
    int64_t item = type == NPY_FLOAT ? 4 : 8;
    memcpy(to, a->made, (size_t)(count * item));
    for (int64_t part = 1; part < a->ranges; part++) {
        const char *from = a->made + part * count * item;
        for (int64_t i = 0; type == NPY_FLOAT && i < count; i++) {
            ((float *)to)[i] += ((const float *)from)[i];
        }
        for (int64_t i = 0; type == NPY_DOUBLE && i < count; i++) {
            ((double *)to)[i] += ((const double *)from)[i];
        }
    }
}

/* The taps of all products; NULL if there is no memory. */
static Tap *
plan_taps(Attention *a, int type)
{
    int64_t lanes = kernels.bytes / (type == NPY_FLOAT ? 4 : 8);
    a->wide = 6 * lanes;
    a->pitch = (a->width + lanes - 1) / lanes * lanes;
    Tap *taps = malloc((size_t)(a->width + a->wide + TILE) * sizeof(Tap));
    if (taps == NULL) {
        return NULL;
    }
    a->across = taps;
    a->along = taps + a->width;
    a->down_rows = a->along + a->wide;
    for (int64_t e = 0; e < a->width; e++) {
        a->across[e] = (Tap){e * a->wide, e};
    }
    for (int64_t k = 0; k < a->wide; k++) {
        a->along[k] = (Tap){k * a->pitch, k};
    }
    for (int64_t i = 0; i < TILE; i++) {
        a->down_rows[i] = (Tap){i * a->pitch, i * a->wide};
    }
    return taps;
}

static bool
run_attention(Attention *a, int type, bool backwards, char *grad)
{
    Tap *taps = plan_taps(a, type);
    if (taps == NULL) {
        return false;
    }
    if (!backwards) {
        a->ranges = (a->rows + RANGE - 1) / RANGE;
        pool_run(type == NPY_FLOAT ? attend_float : attend_double, a, a->heads * a->ranges, 1);
    }
    else {
        int64_t item = type == NPY_FLOAT ? 4 : 8;
        bool few = a->heads > 0 && a->heads < FEWEST;
        a->ranges = few && a->rows > RANGE ? FEWEST / a->heads : 1;
        size_t size = (size_t)(a->heads * (a->rows + 2 * a->columns) * a->width * item);
        a->made = a->ranges == 1 ? grad : calloc((size_t)a->ranges, size);
        if (a->made != NULL) {
            pool_run(type == NPY_FLOAT ? derive_float : derive_double, a, a->heads * a->ranges, 1);
        }
        if (a->made != NULL && a->ranges > 1) {
            add_parts(a, type, grad);
            free(a->made);
        }
        a->failed = a->failed || a->made == NULL;
    }
    free(taps);
    return !a->failed;
}

/* `attention(rows, scale, causal, packed, bias, out, stats, g, grad)`: with g and grad None, compute
   the results and their `stats`, (heads, rows, 2); else, from these and the cotangent, the gradient
   of all operands. False where the bias lies in memory in another way. */
static PyObject *
attention(PyObject *module, PyObject *args)
{
    Attention a = {0};
    Py_ssize_t rows;
    int causal;
    PyArrayObject *packed, *out, *stats;
    PyObject *bias, *g, *grad;
    if (!PyArg_ParseTuple(args, "ndpO!OO!O!OO", &rows, &a.scale, &causal, &PyArray_Type, &packed,
                          &bias, &PyArray_Type, &out, &PyArray_Type, &stats, &g, &grad)) {
        return NULL;
    }
    int type = PyArray_TYPE(packed);
    bool backwards = g != Py_None;
    if (PyArray_NDIM(packed) != 3 || rows < 0 || rows > PyArray_DIM(packed, 1) ||
        (PyArray_DIM(packed, 1) - rows) % 2 != 0) {
        return refuse("attention");
    }
    a.heads = PyArray_DIM(packed, 0);
    a.rows = rows;
    a.columns = (PyArray_DIM(packed, 1) - rows) / 2;
    a.width = PyArray_DIM(packed, 2);
    a.causal = causal;
    if (!is_of_heads(packed, type, &a, rows + 2 * a.columns, a.width) ||
        !is_of_heads(out, type, &a, rows, a.width) || !is_of_heads(stats, type, &a, rows, 2) ||
        (backwards &&
         (!PyArray_Check(g) || !PyArray_Check(grad) ||
          !is_of_heads((PyArrayObject *)g, type, &a, rows, a.width) ||
          !is_of_heads((PyArrayObject *)grad, type, &a, rows + 2 * a.columns, a.width) ||
          !PyArray_ISWRITEABLE((PyArrayObject *)grad))) ||
        (!backwards && !(PyArray_ISWRITEABLE(out) && PyArray_ISWRITEABLE(stats)))) {
        return refuse("attention");
    }
    if (!read_bias(&a, bias, type)) {
        Py_RETURN_FALSE;
    }
    a.packed = PyArray_DATA(packed);
    a.out = PyArray_DATA(out);
    a.stats = PyArray_DATA(stats);
    a.g = backwards ? PyArray_DATA((PyArrayObject *)g) : NULL;
    char *to = backwards ? PyArray_DATA((PyArrayObject *)grad) : NULL;
    bool right;
    Py_BEGIN_ALLOW_THREADS;
    right = run_attention(&a, type, backwards, to);
    Py_END_ALLOW_THREADS;
    return right ? Py_NewRef(Py_True) : PyErr_NoMemory();
}
