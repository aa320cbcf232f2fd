/* Triangles of matrices: copies of them, and systems of real numbers.

   NOTE [Triangles]
   1. Right sides are solved for a panel of columns at a time: copied to where its rows are as long as
      `rows` of NOTE [Products] wants them, so that the panel stays near, solved there and copied to
      the result. So operands may lie in any order, and the right sides and the result be one array.
   2. A few rows at a time take from themselves what is known by then, as one product, and are then
      solved one by one. A panel holds the solution with its sign turned: products add.
   3. Of a matrix nothing but the triangle is read. Panels are shared out over threads; no result
      depends on what else is in its panel.
*/

#ifndef RETROGRAD_TRIANGLE
#define RETROGRAD_TRIANGLE

#include "multiply.c"
#include "pool.c"
#include "room.c"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_ROWS = 8, MOST_STACKED = 16, WORTH = 1 << 18 };
enum {
    STRIP = 4
}; /* columns that are copied at once: a panel, six vectors of two numbers or more, is whole strips */

/* Where the matrices of an array lie: from one to the next in bytes, within in elements. */
typedef struct {
    char *data;
    int64_t steps[MOST_STACKED], down, right;
} Stack;

typedef struct Triangles {
    Stack a, from, to;
    int stacked; /* dimensions of the stack, of these sizes */
    int64_t sizes[MOST_STACKED], n, columns;
    int64_t wide, panels; /* columns of a panel, panels of a matrix */
    bool upper, unit;
    _Atomic bool failed; /* there is no memory */
    Tap *taps;           /* of all rows of a panel */
    int64_t item, diagonal;
    void (*copy)(const struct Triangles *, char *, const char *, int64_t, int64_t, int64_t);
} Triangles;

static void *
matrix_of(const Triangles *t, const Stack *stack, int64_t number)
{
    char *at = stack->data;
    for (int d = t->stacked - 1; d >= 0; d--) {
        at += number % t->sizes[d] * stack->steps[d];
        number /= t->sizes[d];
    }
    return at;
}

/* How many matrices the results are, whose sizes are read. */
static int64_t
count_matrices(Triangles *t, PyArrayObject *array)
{
    int64_t count = 1;
    t->stacked = PyArray_NDIM(array) - 2;
    for (int d = 0; d < t->stacked; d++) {
        count *= t->sizes[d] = PyArray_DIM(array, d);
    }
    t->n = PyArray_DIM(array, t->stacked);
    t->columns = PyArray_DIM(array, t->stacked + 1);
    return count;
}

/* Whether an array is a stack of such matrices, or one that repeats. */
static bool
fits_stack(const Triangles *t, PyArrayObject *array, int type, int64_t columns)
{
    int dims = t->stacked + 2;
    bool fits = PyArray_TYPE(array) == type && PyArray_NDIM(array) == dims &&
                PyArray_DIM(array, dims - 2) == t->n && PyArray_DIM(array, dims - 1) == columns;
    for (int d = 0; fits && d < t->stacked; d++) {
        fits = PyArray_DIM(array, d) == 1 || PyArray_DIM(array, d) == t->sizes[d];
    }
    return fits;
}

/* Read where matrices lie; false where that is not between whole elements. */
static bool
read_stack(const Triangles *t, PyArrayObject *array, Stack *stack)
{
    int64_t item = PyArray_ITEMSIZE(array);
    for (int d = 0; d < t->stacked; d++) {
        stack->steps[d] = PyArray_DIM(array, d) == 1 ? 0 : PyArray_STRIDE(array, d);
    }
    stack->data = PyArray_DATA(array);
    stack->down = PyArray_STRIDE(array, t->stacked) / item;
    stack->right = PyArray_STRIDE(array, t->stacked + 1) / item;
    return PyArray_ISBEHAVED_RO(array) && PyArray_STRIDE(array, t->stacked) % item == 0 &&
           PyArray_STRIDE(array, t->stacked + 1) % item == 0;
}

#define REAL float
#define OF(x) x##_float
#include "triangle.h"
#undef REAL
#undef OF
#define REAL double
#define OF(x) x##_double
#include "triangle.h"
#undef REAL
#undef OF

/* `solve_triangles(a, from, to, upper, unit)`: what solves a @ to = from, of one triangle of a, in stacks
   of the shape of `to` or that repeat; False where an operand lies in memory in an odd way. */
static PyObject *
solve_triangles(PyObject *module, PyObject *args)
{
    PyArrayObject *a, *from, *to;
    int upper, unit;
    if (!PyArg_ParseTuple(args, "O!O!O!pp", &PyArray_Type, &a, &PyArray_Type, &from, &PyArray_Type,
                          &to, &upper, &unit)) {
        return NULL;
    }
    int type = PyArray_TYPE(to), dims = PyArray_NDIM(to);
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || dims < 2 || dims > MOST_STACKED + 2 ||
        !PyArray_ISBEHAVED(to)) {
        return refuse("solve_triangles");
    }
    Triangles t = {.upper = upper, .unit = unit};
    int64_t count = count_matrices(&t, to);
    if (!fits_stack(&t, from, type, t.columns) || !fits_stack(&t, a, type, t.n)) {
        return refuse("solve_triangles");
    }
    if (!read_stack(&t, a, &t.a) || !read_stack(&t, from, &t.from) || !read_stack(&t, to, &t.to)) {
        Py_RETURN_FALSE;
    }
    t.wide = 6 * kernels.bytes / PyArray_ITEMSIZE(to);
    t.panels = (t.columns + t.wide - 1) / t.wide;
    t.taps = malloc((size_t)(t.n + 1) * sizeof(Tap));
    if (t.taps == NULL) {
        return PyErr_NoMemory();
    }
    for (int64_t k = 0; k < t.n; k++) {
        t.taps[k] = (Tap){k * t.wide, k * t.a.right};
    }
    Py_BEGIN_ALLOW_THREADS;
    pool_run(type == NPY_FLOAT ? solve_panels_float : solve_panels_double, &t, count * t.panels,
             WORTH / (t.n * t.n * t.wide + 1) + 1);
    Py_END_ALLOW_THREADS;
    free(t.taps);
    return t.failed ? PyErr_NoMemory() : Py_NewRef(Py_True);
}

/* to[i][j] = from[i][j] of a few rows, which may lie by columns, from column `low` to below `high`. */
#define COPY_ROWS(type)                                                                            \
    static void copy_rows_##type(const Triangles *t, char *out, const char *x, int64_t rows,       \
                                 int64_t low, int64_t high)                                        \
    {                                                                                              \
        const type *from = (const type *)x;                                                        \
        for (int64_t j = low; j < high; j++) {                                                     \
            for (int64_t i = 0; i < rows; i++) {                                                   \
                ((type *)out)[i * t->columns + j] = from[i * t->from.down + j * t->from.right];    \
            }                                                                                      \
        }                                                                                          \
    }
typedef struct {
    double parts[2];
} Pair;
COPY_ROWS(int8_t)
COPY_ROWS(int16_t)
COPY_ROWS(int32_t)
COPY_ROWS(int64_t)
COPY_ROWS(Pair)
#undef COPY_ROWS

/* Where the triangle begins or ends in a row. */
static int64_t
cut_of(const Triangles *t, int64_t row)
{
    int64_t cut = row + t->diagonal;
    return cut < 0 ? 0 : cut > t->columns ? t->columns : cut;
}

static void
copy_blocks(void *context, int64_t begin, int64_t end)
{
    const Triangles *t = context;
    int64_t item = t->item, line = t->columns * item;
    for (int64_t u = begin; u < end; u++) {
        int64_t first = u % t->panels * BLOCK_ROWS, number = u / t->panels;
        int64_t rows = t->n - first < BLOCK_ROWS ? t->n - first : BLOCK_ROWS;
        const char *x = matrix_of(t, &t->from, number);
        char *out = t->to.data + (number * t->n + first) * line;
        x += first * t->from.down * item;
        if (t->from.right != 1) {
            int64_t cut = cut_of(t, t->upper ? first : first + rows - 1);
            t->copy(t, out, x, rows, t->upper ? cut : 0, t->upper ? t->columns : cut);
        }
        for (int64_t i = 0; i < rows; i++, out += line) {
            int64_t cut = cut_of(t, first + i) * item;
            if (t->from.right == 1) {
                const char *from = x + i * t->from.down * item;
                memcpy(t->upper ? out + cut : out, t->upper ? from + cut : from,
                       (size_t)(t->upper ? line - cut : cut));
            }
            memset(t->upper ? out : out + cut, 0, (size_t)(t->upper ? cut : line - cut));
        }
    }
}

/* `triangle(out, x, diagonal, upper)`: of matrices of one shape, what is in row i from column
   i + diagonal on if `upper`, else before it; zeros elsewhere. False where x lies in an odd way. */
static PyObject *
copy_triangle(PyObject *module, PyObject *args)
{
    PyArrayObject *out, *x;
    long long diagonal;
    int upper;
    if (!PyArg_ParseTuple(args, "O!O!Lp", &PyArray_Type, &out, &PyArray_Type, &x, &diagonal,
                          &upper)) {
        return NULL;
    }
    int dims = PyArray_NDIM(out);
    Triangles t = {.upper = upper, .item = PyArray_ITEMSIZE(out)};
    if (dims < 2 || dims > MOST_STACKED + 2 || !PyArray_ISCARRAY(out) ||
        !PyArray_SAMESHAPE(out, x) || PyArray_TYPE(out) != PyArray_TYPE(x) ||
        PyArray_ITEMSIZE(x) != t.item || PyDataType_REFCHK(PyArray_DESCR(out))) {
        return refuse("triangle");
    }
    t.copy = t.item == 1    ? copy_rows_int8_t
             : t.item == 2  ? copy_rows_int16_t
             : t.item == 4  ? copy_rows_int32_t
             : t.item == 8  ? copy_rows_int64_t
             : t.item == 16 ? copy_rows_Pair
                            : NULL;
    int64_t count = count_matrices(&t, out);
    if (t.copy == NULL || !read_stack(&t, x, &t.from)) {
        Py_RETURN_FALSE;
    }
    t.diagonal = diagonal < -t.n ? -t.n : diagonal > t.columns ? t.columns : diagonal;
    t.to.data = PyArray_DATA(out);
    t.panels = (t.n + BLOCK_ROWS - 1) / BLOCK_ROWS;
    Py_BEGIN_ALLOW_THREADS;
    pool_run(copy_blocks, &t, count * t.panels, WORTH / (BLOCK_ROWS * t.columns * t.item + 1) + 1);
    Py_END_ALLOW_THREADS;
    Py_RETURN_TRUE;
}

#endif
