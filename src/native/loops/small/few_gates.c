/* The gates of recurrent cells, a row at a time: NOTE [Small] in `small.c`. */

#ifndef RETROGRAD_FEW_GATES
#define RETROGRAD_FEW_GATES

#include "few_elements.c"

enum { MANY_GATES = 1 << 16 }; /* numbers, at most; a row has at most FEW */

#define GATES(REAL, WIDE)                                                                          \
    static void squash_##REAL(const REAL *x, npy_intp n, REAL *out)                                \
    {                                                                                              \
        run_inner(&tanh_inner[WIDE], (char *)x, (char *)out, n, sizeof(REAL));                     \
    }                                                                                              \
                                                                                                   \
    static void open_##REAL(const REAL *x, npy_intp n, REAL *out)                                  \
    {                                                                                              \
        negated_##REAL(x, n, false, out);                                                          \
        run_inner(&exp_inner[WIDE], (char *)out, (char *)out, n, sizeof(REAL));                    \
        inverse_beside_one_##REAL(out, n);                                                         \
    }                                                                                              \
                                                                                                   \
    static void lstm_row_##REAL(const REAL *gates, const REAL *c, npy_intp n, REAL *h,             \
                                REAL *after)                                                       \
    {                                                                                              \
        REAL s[FEW];                                                                               \
        open_##REAL(gates, 4 * n, s);                                                              \
        squash_##REAL(gates + 2 * n, n, s + 2 * n);                                                \
        for (npy_intp j = 0; j < n; j++) {                                                         \
            after[j] = s[n + j] * c[j] + s[j] * s[2 * n + j];                                      \
        }                                                                                          \
        squash_##REAL(after, n, h);                                                                \
        for (npy_intp j = 0; j < n; j++) {                                                         \
            h[j] *= s[3 * n + j];                                                                  \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void lstm_row_back_##REAL(const REAL *g_h, const REAL *g_c, const REAL *gates,          \
                                     const REAL *c, const REAL *after, npy_intp n, REAL *d,        \
                                     REAL *d_c)                                                    \
    {                                                                                              \
        REAL s[FEW], squashed[FEW];                                                                \
        open_##REAL(gates, 4 * n, s);                                                              \
        squash_##REAL(gates + 2 * n, n, s + 2 * n);                                                \
        squash_##REAL(after, n, squashed);                                                         \
        for (npy_intp j = 0; j < n; j++) {                                                         \
            REAL i = s[j], f = s[n + j], v = s[2 * n + j], o = s[3 * n + j], t = squashed[j];      \
            REAL share = g_c[j] + g_h[j] * (o * (1 - t * t));                                      \
            d[j] = share * (v * i * (1 - i));                                                      \
            d[n + j] = share * (c[j] * f * (1 - f));                                               \
            d[2 * n + j] = share * (i * (1 - v * v));                                              \
            d[3 * n + j] = g_h[j] * (t * o * (1 - o));                                             \
            d_c[j] = share * f;                                                                    \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void gru_gates_##REAL(const REAL *x, const REAL *y, npy_intp n, REAL *s)                \
    {                                                                                              \
        for (npy_intp j = 0; j < 2 * n; j++) {                                                     \
            s[j] = x[j] + y[j];                                                                    \
        }                                                                                          \
        open_##REAL(s, 2 * n, s);                                                                  \
        for (npy_intp j = 0; j < n; j++) {                                                         \
            s[2 * n + j] = x[2 * n + j] + s[j] * y[2 * n + j];                                     \
        }                                                                                          \
        squash_##REAL(s + 2 * n, n, s + 2 * n);                                                    \
    }                                                                                              \
                                                                                                   \
    static void gru_row_##REAL(const REAL *x, const REAL *y, const REAL *h, npy_intp n, REAL *out) \
    {                                                                                              \
        REAL s[FEW];                                                                               \
        gru_gates_##REAL(x, y, n, s);                                                              \
        for (npy_intp j = 0; j < n; j++) {                                                         \
            out[j] = s[2 * n + j] + s[n + j] * (h[j] - s[2 * n + j]);                              \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void gru_row_back_##REAL(const REAL *g, const REAL *x, const REAL *y, const REAL *h,    \
                                    npy_intp n, REAL *d_x, REAL *d_y, REAL *d_h)                   \
    {                                                                                              \
        REAL s[FEW];                                                                               \
        gru_gates_##REAL(x, y, n, s);                                                              \
        for (npy_intp j = 0; j < n; j++) {                                                         \
            REAL r = s[j], z = s[n + j], v = s[2 * n + j];                                         \
            REAL inner = g[j] * ((1 - z) * (1 - v * v));                                           \
            d_x[j] = d_y[j] = inner * (y[2 * n + j] * r * (1 - r));                                \
            d_x[n + j] = d_y[n + j] = g[j] * ((h[j] - v) * z * (1 - z));                           \
            d_x[2 * n + j] = inner;                                                                \
            d_y[2 * n + j] = inner * r;                                                            \
            d_h[j] = g[j] * z;                                                                     \
        }                                                                                          \
    }

GATES(float, 0)
GATES(double, 1)

/* Read arrays of one type and of rows of one number: how many, and how many columns each has, as a
   multiple of those of the last one. */
static bool
read_cells(const Given *all, const int *times, int count, PyArrayObject **arrays, npy_intp *rows)
{
    PyArrayObject *last = (PyArrayObject *)all->args[count - 1];
    if (all->names != NULL || all->count != count + 1 || !PyArray_CheckExact(last) ||
        PyArray_NDIM(last) < 1 || PyArray_SIZE(last) == 0) {
        return false;
    }
    int type = PyArray_TYPE(last), dims = PyArray_NDIM(last);
    npy_intp width = PyArray_DIM(last, dims - 1);
    *rows = PyArray_SIZE(last) / width;
    for (int i = 0; i < count; i++) {
        PyArrayObject *array = arrays[i] = (PyArrayObject *)all->args[i];
        if (!PyArray_CheckExact(array) || !is_plain(array, type) || PyArray_NDIM(array) != dims ||
            PyArray_SIZE(array) > MANY_GATES || PyArray_DIM(array, dims - 1) != times[i] * width ||
            memcmp(PyArray_DIMS(array), PyArray_DIMS(last), (dims - 1) * sizeof width) != 0) {
            return false;
        }
    }
    return (type == NPY_FLOAT || type == NPY_DOUBLE) && 4 * width <= FEW;
}

/* New arrays like those read; what they hold is a tuple, or the only one. */
static PyObject *
results(PyObject **made, int count)
{
    bool all = true;
    for (int i = 0; i < count; i++) {
        all = all && made[i] != NULL;
    }
    PyObject *found = NULL;
    if (all) {
        found = count == 1   ? Py_NewRef(made[0])
                : count == 2 ? PyTuple_Pack(2, made[0], made[1])
                : count == 3 ? PyTuple_Pack(3, made[0], made[1], made[2])
                             : PyTuple_Pack(4, made[0], made[1], made[2], made[3]);
    }
    for (int i = 0; i < count; i++) {
        Py_XDECREF(made[i]);
    }
    return found;
}

#define AT(REAL, array, times) ((REAL *)PyArray_DATA((PyArrayObject *)(array)) + i * times * n)

/* `lstm(gates, c, xp)`: the new hidden and cell state. */
static PyObject *
small_lstm(const Given *all)
{
    PyArrayObject *a[2];
    npy_intp rows;
    if (!read_cells(all, (int[]){4, 1}, 2, a, &rows)) {
        return NULL;
    }
    npy_intp n = PyArray_SIZE(a[1]) / rows;
    PyObject *made[] = {new_alike(a[1]), new_alike(a[1])};
    for (npy_intp i = 0; made[0] != NULL && made[1] != NULL && i < rows; i++) {
        if (is_wide(a[1])) {
            lstm_row_double(AT(double, a[0], 4), AT(double, a[1], 1), n, AT(double, made[0], 1),
                            AT(double, made[1], 1));
        }
        else {
            lstm_row_float(AT(float, a[0], 4), AT(float, a[1], 1), n, AT(float, made[0], 1),
                           AT(float, made[1], 1));
        }
    }
    return results(made, 2);
}

/* `lstm_back(g_h, g_c, gates, c, after, xp)`: the cotangents of the gates and of the cell state. */
static PyObject *
small_lstm_back(const Given *all)
{
    PyArrayObject *a[5];
    npy_intp rows;
    if (!read_cells(all, (int[]){1, 1, 4, 1, 1}, 5, a, &rows)) {
        return NULL;
    }
    npy_intp n = PyArray_SIZE(a[4]) / rows;
    PyObject *made[] = {new_alike(a[2]), new_alike(a[4])};
    for (npy_intp i = 0; made[0] != NULL && made[1] != NULL && i < rows; i++) {
        if (is_wide(a[4])) {
            lstm_row_back_double(AT(double, a[0], 1), AT(double, a[1], 1), AT(double, a[2], 4),
                                 AT(double, a[3], 1), AT(double, a[4], 1), n,
                                 AT(double, made[0], 4), AT(double, made[1], 1));
        }
        else {
            lstm_row_back_float(AT(float, a[0], 1), AT(float, a[1], 1), AT(float, a[2], 4),
                                AT(float, a[3], 1), AT(float, a[4], 1), n, AT(float, made[0], 4),
                                AT(float, made[1], 1));
        }
    }
    return results(made, 2);
}

/* `gru(x_gates, h_gates, h, xp)`: the new hidden state. */
static PyObject *
small_gru(const Given *all)
{
    PyArrayObject *a[3];
    npy_intp rows;
    if (!read_cells(all, (int[]){3, 3, 1}, 3, a, &rows)) {
        return NULL;
    }
    npy_intp n = PyArray_SIZE(a[2]) / rows;
    PyObject *made[] = {new_alike(a[2])};
    for (npy_intp i = 0; made[0] != NULL && i < rows; i++) {
        if (is_wide(a[2])) {
            gru_row_double(AT(double, a[0], 3), AT(double, a[1], 3), AT(double, a[2], 1), n,
                           AT(double, made[0], 1));
        }
        else {
            gru_row_float(AT(float, a[0], 3), AT(float, a[1], 3), AT(float, a[2], 1), n,
                          AT(float, made[0], 1));
        }
    }
    return results(made, 1);
}

/* `gru_back(g, x_gates, h_gates, h, xp)`: the cotangents of both gates and of the hidden state. */
static PyObject *
small_gru_back(const Given *all)
{
    PyArrayObject *a[4];
    npy_intp rows;
    if (!read_cells(all, (int[]){1, 3, 3, 1}, 4, a, &rows)) {
        return NULL;
    }
    npy_intp n = PyArray_SIZE(a[3]) / rows;
    PyObject *made[] = {new_alike(a[1]), new_alike(a[1]), new_alike(a[3])};
    for (npy_intp i = 0; made[0] != NULL && made[1] != NULL && made[2] != NULL && i < rows; i++) {
        if (is_wide(a[3])) {
            gru_row_back_double(AT(double, a[0], 1), AT(double, a[1], 3), AT(double, a[2], 3),
                                AT(double, a[3], 1), n, AT(double, made[0], 3),
                                AT(double, made[1], 3), AT(double, made[2], 1));
        }
        else {
            gru_row_back_float(AT(float, a[0], 1), AT(float, a[1], 3), AT(float, a[2], 3),
                               AT(float, a[3], 1), n, AT(float, made[0], 3), AT(float, made[1], 3),
                               AT(float, made[2], 1));
        }
    }
    return results(made, 3);
}

#undef AT

#endif
