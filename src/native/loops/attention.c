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
   4. The gradient of a bias has the bias's shape. Work is shared out by its matrices and by RANGE rows
      of them, to which the heads that share them are added, in order; one row for all is one piece.
   5. Weights are dropped by the numbers of a generator, one for each in row-major order. They are
      drawn anew in each pass, from a state of the generator for each TILE rows: NOTE [Twister].
   6. Nothing depends on the number of threads. A block that no row sees, in causal attention, is left
      out.
*/

#include "multiply.c"
#include "pool.c"
#include "twister.c"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 64, RANGE = 512, FEWEST = 8, MOST_LEAD = 16, ENOUGH = 1 << 16 };

/* Where the matrices of an array lie, for each head: in bytes, 0 where all have the same. */
typedef struct {
    int64_t steps[MOST_LEAD], down, item;
} Spread;

typedef struct {
    const char *packed, *g, *bias; /* no bias: NULL */
    const uint32_t *states;        /* nothing is dropped: NULL */
    char *out, *stats, *made;
    int64_t heads, rows, columns, width, ranges;
    int64_t wide, pitch; /* columns of a block; elements from a row of a copy to the next */
    int64_t bound;       /* of 2**53: so many weights are kept, and multiplied by */
    double scale, factor;
    bool causal;
    _Atomic bool failed; /* there is no memory */
    int lead;            /* dimensions of the heads, of these sizes */
    int64_t sizes[MOST_LEAD];
    Spread spread, bent, laid, given; /* of the bias, of a gradient, of results, of a cotangent */
    Tap *across, *along, *down_rows;  /* of the three kinds of products */
} Attention;

/* Where the matrix of a head begins. */
static int64_t
place_of(const Attention *a, const Spread *spread, int64_t head)
{
    int64_t at = 0;
    for (int d = a->lead - 1; d >= 0; d--) {
        at += head % a->sizes[d] * spread->steps[d];
        head /= a->sizes[d];
    }
    return at;
}

/* What is added to the scores of a row from a column on. */
static const void *
bias_of(const Attention *a, int64_t head, int64_t row, int64_t column)
{
    if (a->bias == NULL) {
        return NULL;
    }
    int64_t item = a->spread.item;
    return a->bias + place_of(a, &a->spread, head) + row * a->spread.down + column * item;
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

/* Read where the matrices of an array lie, which broadcasts to (lead..., rows, columns), but along
   columns, where it is contiguous; false if it does not. */
static bool
read_spread(const Attention *a, PyObject *object, int type, int64_t rows, int64_t columns,
            Spread *spread)
{
    PyArrayObject *array = (PyArrayObject *)object;
    int dims = a->lead + 2;
    if (!PyArray_Check(object) || PyArray_TYPE(array) != type || !PyArray_ISBEHAVED_RO(array) ||
        PyArray_NDIM(array) != dims || PyArray_DIM(array, dims - 1) != columns ||
        (columns > 1 && PyArray_SIZE(array) > 0 &&
         PyArray_STRIDE(array, dims - 1) != PyArray_ITEMSIZE(array))) {
        return false;
    }
    for (int d = 0; d < dims - 1; d++) {
        int64_t size = d < a->lead ? a->sizes[d] : rows, own = PyArray_DIM(array, d);
        int64_t step = own == 1 ? 0 : PyArray_STRIDE(array, d);
        if (own != 1 && own != size) {
            return false;
        }
        *(d < a->lead ? &spread->steps[d] : &spread->down) = step;
    }
    spread->item = PyArray_ITEMSIZE(array);
    return true;
}

/* Read where an array (lead..., rows, width) lies; false if it is none. */
static bool
read_whole(const Attention *a, PyObject *object, int type, int64_t rows, Spread *spread)
{
    return read_spread(a, object, type, rows, a->width, spread) &&
           PyArray_SIZE((PyArrayObject *)object) == a->heads * rows * a->width;
}

/* Whether an array has heads, so many rows and a width. */
static bool
is_of_heads(PyArrayObject *array, int type, const Attention *a, int64_t rows, int64_t width)
{
    return is_plain(array, type) && PyArray_NDIM(array) == 3 && PyArray_DIM(array, 0) == a->heads &&
           PyArray_DIM(array, 1) == rows && PyArray_DIM(array, 2) == width;
}

/* Add up the results of all parts, row by row, in order. */
static void
add_parts(const Attention *a, int type, char *grad)
{
    int64_t all = a->rows + 2 * a->columns, line = a->width * (type == NPY_FLOAT ? 4 : 8);
    for (int64_t row = 0; row < a->heads * all; row++) {
        char *to = grad + place_of(a, &a->bent, row / all) + row % all * a->bent.down;
        const char *from = a->made + row * line;
        memcpy(to, from, (size_t)line);
        for (int64_t part = 1; part < a->ranges; part++) {
            from += a->heads * all * line;
            for (int64_t i = 0; type == NPY_FLOAT && i < a->width; i++) {
                ((float *)to)[i] += ((const float *)from)[i];
            }
            for (int64_t i = 0; type == NPY_DOUBLE && i < a->width; i++) {
                ((double *)to)[i] += ((const double *)from)[i];
            }
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

/* How many ranges of a head make a piece that is worth a thread. */
static int64_t
worth_a_thread(const Attention *a)
{
    int64_t rows = a->ranges > 0 ? (a->rows + a->ranges - 1) / a->ranges : 0;
    return ENOUGH / (rows * a->columns * a->width + 1) + 1;
}

/* The gradient of all operands, by as many parts as `ranges` says. */
static void
run_derive(Attention *a, int type, char *grad)
{
    int64_t item = type == NPY_FLOAT ? 4 : 8;
    bool few = a->heads > 0 && a->heads < FEWEST;
    a->ranges = few && a->rows > RANGE ? FEWEST / a->heads : 1;
    size_t size = (size_t)(a->heads * (a->rows + 2 * a->columns) * a->width * item);
    a->made = a->ranges == 1 ? grad : calloc((size_t)a->ranges, size);
    if (a->made == NULL) {
        a->failed = true;
        return;
    }
    pool_run(type == NPY_FLOAT ? derive_float : derive_double, a, a->heads * a->ranges,
             worth_a_thread(a));
    if (a->ranges > 1) {
        add_parts(a, type, grad);
        free(a->made);
    }
}

/* The gradient of the bias, zeros so far, which has so many matrices. */
static void
run_derive_bias(Attention *a, int type, char *grad, int64_t matrices)
{
    a->made = grad;
    a->ranges = a->bent.down == 0 ? 1 : (a->rows + RANGE - 1) / RANGE;
    pool_run(type == NPY_FLOAT ? derive_bias_float : derive_bias_double, a, matrices * a->ranges,
             worth_a_thread(a));
}

/* Read the operands: packed, (lead..., rows + 2 columns, width). */
static bool
read_packed(Attention *a, PyArrayObject *packed, int64_t rows)
{
    int dims = PyArray_NDIM(packed);
    a->lead = dims - 2;
    if (dims < 2 || a->lead > MOST_LEAD || !is_plain(packed, PyArray_TYPE(packed)) || rows < 0 ||
        rows > PyArray_DIM(packed, dims - 2) || (PyArray_DIM(packed, dims - 2) - rows) % 2 != 0) {
        return false;
    }
    a->heads = 1;
    for (int d = 0; d < a->lead; d++) {
        a->heads *= a->sizes[d] = PyArray_DIM(packed, d);
    }
    a->rows = rows;
    a->columns = (PyArray_DIM(packed, dims - 2) - rows) / 2;
    a->width = PyArray_DIM(packed, dims - 1);
    a->packed = PyArray_DATA(packed);
    return true;
}

/* Read the generator's states, (heads, blocks of rows, 625); false if they do not fit. */
static bool
read_states(Attention *a, PyObject *object, double keep)
{
    PyArrayObject *states = (PyArrayObject *)object;
    if (object == Py_None) {
        return true;
    }
    if (!PyArray_Check(object) || !PyArray_ISCARRAY_RO(states) ||
        PyArray_TYPE(states) != NPY_UINT32 || !(keep >= 0 && keep <= 1) ||
        PyArray_SIZE(states) != a->heads * ((a->rows + TILE - 1) / TILE) * STATE) {
        return false;
    }
    a->states = PyArray_DATA(states);
    a->bound = (int64_t)ceil(keep * 0x1p53);
    a->factor = keep > 0 ? 1 / keep : 0;
    return true;
}

/* `attention(rows, scale, causal, keep, packed, bias, states, out, stats, g, grad)`: with g and grad
   None, compute the results and their `stats`, (heads, rows, 2); else, from these and the cotangent,
   the gradient of all operands; `attention_bias`, with the same arguments, adds that of the bias to
   grad, which lies in row-major order. `out` and g are (lead..., rows, width), grad of the operands
   as they, all but the last dimension in any order. False where the bias lies in memory in another
   way. */
static PyObject *
run_attention(PyObject *args, bool of_bias)
{
    Attention a = {0};
    Py_ssize_t rows;
    int causal;
    double keep;
    PyArrayObject *packed, *out, *stats;
    PyObject *bias, *states, *g, *grad;
    if (!PyArg_ParseTuple(args, "ndpdO!OOO!O!OO", &rows, &a.scale, &causal, &keep, &PyArray_Type,
                          &packed, &bias, &states, &PyArray_Type, &out, &PyArray_Type, &stats, &g,
                          &grad)) {
        return NULL;
    }
    int type = PyArray_TYPE(packed);
    bool backwards = g != Py_None;
    a.causal = causal;
    if (!read_packed(&a, packed, rows) || !read_states(&a, states, keep) ||
        !read_whole(&a, (PyObject *)out, type, rows, &a.laid) ||
        !is_of_heads(stats, type, &a, rows, 2) ||
        (backwards && (!read_whole(&a, g, type, rows, &a.given) || !PyArray_Check(grad) ||
                       !PyArray_ISWRITEABLE((PyArrayObject *)grad))) ||
        (backwards && (of_bias ? !is_plain((PyArrayObject *)grad, type)
                               : !read_whole(&a, grad, type, rows + 2 * a.columns, &a.bent))) ||
        (!backwards && (of_bias || !(PyArray_ISWRITEABLE(out) && PyArray_ISWRITEABLE(stats))))) {
        return refuse("attention");
    }
    if ((bias != Py_None && !read_spread(&a, bias, type, rows, a.columns, &a.spread)) ||
        (of_bias && !read_spread(&a, grad, type, rows, a.columns, &a.bent))) {
        Py_RETURN_FALSE;
    }
    a.bias = bias == Py_None ? NULL : PyArray_DATA((PyArrayObject *)bias);
    a.out = PyArray_DATA(out);
    a.stats = PyArray_DATA(stats);
    a.g = backwards ? PyArray_DATA((PyArrayObject *)g) : NULL;
    char *to = backwards ? PyArray_DATA((PyArrayObject *)grad) : NULL;
    int64_t size = a.bent.down == 0 ? a.columns : a.rows * a.columns;
    int64_t matrices = of_bias && size > 0 ? PyArray_SIZE((PyArrayObject *)grad) / size : 0;
    Tap *taps;
    Py_BEGIN_ALLOW_THREADS;
    taps = plan_taps(&a, type);
    a.failed = taps == NULL;
    if (taps != NULL && of_bias) {
        run_derive_bias(&a, type, to, matrices);
    }
    else if (taps != NULL && backwards) {
        run_derive(&a, type, to);
    }
    else if (taps != NULL) {
        a.ranges = (a.rows + RANGE - 1) / RANGE;
        pool_run(type == NPY_FLOAT ? attend_float : attend_double, &a, a.heads * a.ranges,
                 worth_a_thread(&a));
    }
    free(taps);
    Py_END_ALLOW_THREADS;
    return a.failed ? PyErr_NoMemory() : Py_NewRef(Py_True);
}

static PyObject *
attention(PyObject *module, PyObject *args)
{
    return run_attention(args, false);
}

static PyObject *
attention_bias(PyObject *module, PyObject *args)
{
    return run_attention(args, true);
}
