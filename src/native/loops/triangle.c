/* Triangular systems of real numbers.

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

enum { BLOCK_ROWS = 8, MOST_STACKED = 16, WORTH = 1 << 18 };
enum {
    STRIP = 4
}; /* columns that are copied at once: a panel, six vectors of two numbers or more, is whole strips */

/* Where the matrices of an array lie: from one to the next in bytes, within in elements. */
typedef struct {
    char *data;
    int64_t steps[MOST_STACKED], down, right;
} Stack;

typedef struct {
    Stack a, from, to;
    int stacked; /* dimensions of the stack, of these sizes */
    int64_t sizes[MOST_STACKED], n, columns;
    int64_t wide, panels; /* columns of a panel, panels of a matrix */
    bool upper, unit;
    _Atomic bool failed; /* there is no memory */
    Tap *taps;           /* of all rows of a panel */
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
    Triangles t = {.stacked = dims - 2, .upper = upper, .unit = unit};
    t.n = PyArray_DIM(to, dims - 2);
    t.columns = PyArray_DIM(to, dims - 1);
    int64_t count = 1;
    for (int d = 0; d < t.stacked; d++) {
        count *= t.sizes[d] = PyArray_DIM(to, d);
    }
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

#endif
