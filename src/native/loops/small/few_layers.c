/* Layers of an LSTM, all steps in one call: NOTE [Small] in `small.c`. They may be large, and let go of
   the interpreter's lock. */

#include "../room.c"
#include "few_gates.c"

/* A layer: its steps, its rows, how wide its states are, and whether the last step is the first. */
typedef struct {
    npy_intp steps, rows, width;
    bool reverse;
} Layer;

#ifdef WITHOUT_BLAS

static PyObject *
small_lstm_layer(const Given *all)
{
    return NULL;
}

static PyObject *
small_lstm_layer_back(const Given *all)
{
    return NULL;
}

#else

#define LAYERS(REAL, GEMM)                                                                         \
    static void turn_##REAL(const REAL *w, npy_intp n, REAL *by)                                   \
    {                                                                                              \
        for (npy_intp i = 0; i < 4 * n; i++) {                                                     \
            for (npy_intp j = 0; j < n; j++) {                                                     \
                by[4 * j * n + i] = w[i * n + j];                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* gates += h by, of rows that follow on each other */                                         \
    static void add_product_##REAL(const REAL *h, const REAL *by, npy_intp rows, npy_intp n,       \
                                   REAL *gates)                                                    \
    {                                                                                              \
        blas.GEMM(ROW_MAJOR, AS_IT_IS, AS_IT_IS, rows, 4 * n, n, 1, h, n, by, 4 * n, 1, gates,     \
                  4 * n);                                                                          \
    }                                                                                              \
                                                                                                   \
    /* The gates of rows, opened, with the candidates squashed; `room` holds these in between. */  \
    static void activate_##REAL(REAL *gates, npy_intp rows, npy_intp n, REAL *room)                \
    {                                                                                              \
        for (npy_intp i = 0; i < rows; i++) {                                                      \
            squash_##REAL(gates + (4 * i + 2) * n, n, room + i * n);                               \
        }                                                                                          \
        open_##REAL(gates, 4 * n * rows, gates);                                                   \
        for (npy_intp i = 0; i < rows; i++) {                                                      \
            memcpy(gates + (4 * i + 2) * n, room + i * n, n * sizeof(REAL));                       \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void run_layer_##REAL(Layer l, const REAL *added, const REAL *h, const REAL *c,         \
                                 const REAL *w, REAL *out, REAL *cells, REAL *room)                \
    {                                                                                              \
        npy_intp n = l.width, size = l.rows * n;                                                   \
        REAL *s = room + size, *by = s + 4 * size;                                                 \
        turn_##REAL(w, n, by);                                                                     \
        for (npy_intp k = 0; k < l.steps; k++) {                                                   \
            npy_intp t = l.reverse ? l.steps - 1 - k : k;                                          \
            REAL *after = cells + t * size, *made = out + t * size;                                \
            memcpy(s, added + 4 * t * size, 4 * size * sizeof(REAL));                              \
            add_product_##REAL(h, by, l.rows, n, s);                                               \
            activate_##REAL(s, l.rows, n, room);                                                   \
            for (npy_intp i = 0; i < l.rows; i++) {                                                \
                const REAL *row = s + 4 * i * n;                                                   \
                for (npy_intp j = 0; j < n; j++) {                                                 \
                    after[i * n + j] = row[n + j] * c[i * n + j] + row[j] * row[2 * n + j];        \
                }                                                                                  \
            }                                                                                      \
            squash_##REAL(after, size, made);                                                      \
            for (npy_intp i = 0; i < l.rows; i++) {                                                \
                const REAL *row = s + (4 * i + 3) * n;                                             \
                for (npy_intp j = 0; j < n; j++) {                                                 \
                    made[i * n + j] *= row[j];                                                     \
                }                                                                                  \
            }                                                                                      \
            h = made;                                                                              \
            c = after;                                                                             \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* g_h and g_c, of the last states, become those of the first. */                              \
    static void run_layer_back_##REAL(Layer l, const REAL *g_out, const REAL *g_cells,             \
                                      const REAL *added, const REAL *h, const REAL *c,             \
                                      const REAL *w, const REAL *out, const REAL *cells, REAL *g,  \
                                      REAL *g_h, REAL *g_c, REAL *g_w, REAL *room)                 \
    {                                                                                              \
        npy_intp n = l.width, size = l.rows * n, last = l.steps - 1;                               \
        REAL *first = g + (l.reverse ? 4 * last * size : 0);                                       \
        REAL *others = g + (l.reverse ? 0 : 4 * size), *squashed = room + size,                    \
             *by = squashed + size;                                                                \
        const REAL *before = out + (l.reverse ? size : 0);                                         \
        turn_##REAL(w, n, by);                                                                     \
        memcpy(g, added, 4 * l.steps * size * sizeof(REAL));                                       \
        add_product_##REAL(h, by, l.rows, n, first);                                               \
        if (last > 0) {                                                                            \
            add_product_##REAL(before, by, last * l.rows, n, others);                              \
        }                                                                                          \
        for (npy_intp k = last; k >= 0; k--) {                                                     \
            npy_intp t = l.reverse ? last - k : k;                                                 \
            const REAL *had = k == 0 ? c : cells + (l.reverse ? t + 1 : t - 1) * size;             \
            const REAL *of_h = g_out + t * size, *of_c = g_cells + t * size;                       \
            REAL *now = g + 4 * t * size;                                                          \
            activate_##REAL(now, l.rows, n, room);                                                 \
            squash_##REAL(cells + t * size, size, squashed);                                       \
            for (npy_intp i = 0; i < l.rows; i++) {                                                \
                REAL *d = now + 4 * i * n;                                                         \
                for (npy_intp j = 0; j < n; j++) {                                                 \
                    npy_intp at = i * n + j;                                                       \
                    REAL in = d[j], f = d[n + j], v = d[2 * n + j], o = d[3 * n + j];              \
                    REAL q = squashed[at], to_h = of_h[at] + g_h[at];                              \
                    REAL share = of_c[at] + g_c[at] + to_h * (o * (1 - q * q));                    \
                    d[j] = share * (v * in * (1 - in));                                            \
                    d[n + j] = share * (had[at] * f * (1 - f));                                    \
                    d[2 * n + j] = share * (in * (1 - v * v));                                     \
                    d[3 * n + j] = to_h * (q * o * (1 - o));                                       \
                    g_c[at] = share * f;                                                           \
                }                                                                                  \
            }                                                                                      \
            blas.GEMM(ROW_MAJOR, AS_IT_IS, AS_IT_IS, l.rows, n, 4 * n, 1, now, 4 * n, w, n, 0,     \
                      g_h, n);                                                                     \
        }                                                                                          \
        blas.GEMM(ROW_MAJOR, TRANSPOSED, AS_IT_IS, 4 * n, n, l.rows, 1, first, 4 * n, h, n, 0,     \
                  g_w, n);                                                                         \
        if (last > 0) {                                                                            \
            blas.GEMM(ROW_MAJOR, TRANSPOSED, AS_IT_IS, 4 * n, n, last * l.rows, 1, others, 4 * n,  \
                      before, n, 1, g_w, n);                                                       \
        }                                                                                          \
    }

LAYERS(float, real)
LAYERS(double, wide)

/* Read the layer that (T, N, 4 H), (N, H), (N, H), (4 H, H) arrays of one real type are of. */
static bool
read_layer(PyObject *const *args, PyObject *reverse, Layer *l)
{
    PyArrayObject *a[4];
    for (int i = 0; i < 4; i++) {
        a[i] = (PyArrayObject *)args[i];
        if (!PyArray_CheckExact(args[i]) || !is_plain(a[i], PyArray_TYPE(a[0])) ||
            PyArray_NDIM(a[i]) != (i == 0 ? 3 : 2) || PyArray_SIZE(a[i]) == 0) {
            return false;
        }
    }
    *l = (Layer){PyArray_DIM(a[0], 0), PyArray_DIM(a[0], 1), PyArray_DIM(a[1], 1),
                 reverse == Py_True};
    npy_intp type = PyArray_TYPE(a[0]), rows = l->rows, width = l->width;
    return (type == NPY_FLOAT || type == NPY_DOUBLE) && PyArray_DIM(a[0], 2) == 4 * width &&
           PyArray_DIM(a[1], 0) == rows && PyArray_DIM(a[2], 0) == rows &&
           PyArray_DIM(a[2], 1) == width && PyArray_DIM(a[3], 0) == 4 * width &&
           PyArray_DIM(a[3], 1) == width && blas_is_there();
}

#define DATA(object) PyArray_DATA((PyArrayObject *)(object))

/* `lstm_layer(added, h, c, w, reverse, xp)`: the hidden and cell states of all steps,
   and of the last one. */
static PyObject *
small_lstm_layer(const Given *all)
{
    PyObject *const *a = all->args;
    Layer l;
    if (all->names != NULL || all->count != 6 || !read_layer(a, a[4], &l)) {
        return NULL;
    }
    bool wide = is_wide((PyArrayObject *)a[0]);
    int type = wide ? NPY_DOUBLE : NPY_FLOAT;
    npy_intp shape[] = {l.steps, l.rows, l.width};
    PyObject *made[] = {PyArray_SimpleNew(3, shape, type), PyArray_SimpleNew(3, shape, type),
                        new_alike((PyArrayObject *)a[1]), new_alike((PyArrayObject *)a[2])};
    void *room = take_room((size_t)(5 * l.rows * l.width + 4 * l.width * l.width) * (wide ? 8 : 4));
    if (room == NULL) {
        PyErr_NoMemory();
        Py_CLEAR(made[0]);
    }
    else if (made[0] != NULL && made[1] != NULL && made[2] != NULL && made[3] != NULL) {
        size_t size = PyArray_NBYTES((PyArrayObject *)made[2]),
               last = l.reverse ? 0 : (l.steps - 1) * size;
        Py_BEGIN_ALLOW_THREADS;
        if (wide) {
            run_layer_double(l, DATA(a[0]), DATA(a[1]), DATA(a[2]), DATA(a[3]), DATA(made[0]),
                             DATA(made[1]), aligned(room));
        }
        else {
            run_layer_float(l, DATA(a[0]), DATA(a[1]), DATA(a[2]), DATA(a[3]), DATA(made[0]),
                            DATA(made[1]), aligned(room));
        }
        Py_END_ALLOW_THREADS;
        memcpy(DATA(made[2]), (char *)DATA(made[0]) + last, size);
        memcpy(DATA(made[3]), (char *)DATA(made[1]) + last, size);
    }
    give_room(room);
    return results(made, 4);
}

/* `lstm_layer_back(g_out, g_cells, g_h, g_c, added, h, c, w, out, cells, reverse, xp)`: the
   cotangents of `added`, h, c and w. */
static PyObject *
small_lstm_layer_back(const Given *all)
{
    PyObject *const *a = all->args;
    Layer l;
    if (all->names != NULL || all->count != 12 || !read_layer(a + 4, a[10], &l)) {
        return NULL;
    }
    bool wide = is_wide((PyArrayObject *)a[4]);
    int type = wide ? NPY_DOUBLE : NPY_FLOAT;
    npy_intp shape[] = {l.steps, l.rows, l.width};
    for (int i = 0; i < 6; i++) { /* g_out, g_cells, g_h, g_c, out, cells */
        PyArrayObject *array = (PyArrayObject *)a[i < 4 ? i : 4 + i];
        int one = i == 2 || i == 3; /* step */
        if (!PyArray_CheckExact(array) || PyArray_TYPE(array) != type ||
            PyArray_NDIM(array) != 3 - one ||
            !PyArray_CompareLists(PyArray_DIMS(array), shape + one, 3 - one)) {
            return NULL;
        }
    }
    bool there = true;
    PyArrayObject *states[4];
    for (int i = 0; i < 4; i++) { /* cotangents may lie anyhow in memory */
        states[i] = (PyArrayObject *)PyArray_FROM_OF(a[i < 2 ? i : 6 + i], NPY_ARRAY_CARRAY_RO);
        there = there && states[i] != NULL;
    }
    PyObject *made[] = {
        new_alike((PyArrayObject *)a[4]), PyArray_NewCopy((PyArrayObject *)a[2], NPY_CORDER),
        PyArray_NewCopy((PyArrayObject *)a[3], NPY_CORDER), new_alike((PyArrayObject *)a[7])};
    for (int i = 0; i < 4; i++) {
        there = there && made[i] != NULL;
    }
    void *room =
        there ? take_room((size_t)(2 * l.rows * l.width + 4 * l.width * l.width) * (wide ? 8 : 4))
              : NULL;
    if (there && room == NULL) {
        PyErr_NoMemory();
    }
    else if (there) {
        Py_BEGIN_ALLOW_THREADS;
        if (wide) {
            run_layer_back_double(l, DATA(states[0]), DATA(states[1]), DATA(a[4]), DATA(a[5]),
                                  DATA(a[6]), DATA(a[7]), DATA(states[2]), DATA(states[3]),
                                  DATA(made[0]), DATA(made[1]), DATA(made[2]), DATA(made[3]),
                                  aligned(room));
        }
        else {
            run_layer_back_float(l, DATA(states[0]), DATA(states[1]), DATA(a[4]), DATA(a[5]),
                                 DATA(a[6]), DATA(a[7]), DATA(states[2]), DATA(states[3]),
                                 DATA(made[0]), DATA(made[1]), DATA(made[2]), DATA(made[3]),
                                 aligned(room));
        }
        Py_END_ALLOW_THREADS;
    }
    PyObject *found = room == NULL ? NULL : PyTuple_Pack(4, made[0], made[1], made[2], made[3]);
    give_room(room);
    for (int i = 0; i < 4; i++) {
        Py_XDECREF(states[i]);
        Py_XDECREF(made[i]);
    }
    return found;
}

#undef DATA

#endif
