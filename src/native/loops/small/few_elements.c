/* Elementwise functions of few numbers that NumPy composes: NOTE [Small] in `small.c`. */

#ifndef RETROGRAD_FEW_ELEMENTS
#define RETROGRAD_FEW_ELEMENTS

#include "few.h"

#include <math.h>

#define ELEMENTS(REAL, ABS)                                                                        \
    static void negated_##REAL(const REAL *x, npy_intp n, bool of_modulus, REAL *out)              \
    {                                                                                              \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            out[i] = -(of_modulus ? ABS(x[i]) : x[i]);                                             \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void inverse_beside_one_##REAL(REAL *x, npy_intp n)                                     \
    {                                                                                              \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            x[i] = 1 / (x[i] + 1);                                                                 \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void add_linear_##REAL(const REAL *x, const REAL *target, npy_intp n, REAL *out)        \
    {                                                                                              \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            out[i] += (x[i] > 0 ? 1 - target[i] : -target[i]) * x[i];                              \
        }                                                                                          \
    }

ELEMENTS(float, fabsf)
ELEMENTS(double, fabs)

static PyObject *
new_alike(PyArrayObject *x)
{
    return PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), PyArray_TYPE(x));
}

/* `sigmoid(x)`. */
static PyObject *
small_sigmoid(const Given *all)
{
    PyArrayObject *x = few(all->args[0]);
    PyObject *out = x == NULL ? NULL : new_alike(x);
    void *to = out == NULL ? NULL : PyArray_DATA((PyArrayObject *)out);
    npy_intp n = to == NULL ? 0 : PyArray_SIZE(x);
    if (to != NULL && is_wide(x)) {
        negated_double(PyArray_DATA(x), n, false, to);
        run_inner(&exp_inner[1], to, to, n, sizeof(double));
        inverse_beside_one_double(to, n);
    }
    else if (to != NULL) {
        negated_float(PyArray_DATA(x), n, false, to);
        run_inner(&exp_inner[0], to, to, n, sizeof(float));
        inverse_beside_one_float(to, n);
    }
    return out;
}

/* `bce_with_logits(x, target)` of one shape. */
static PyObject *
small_bce_with_logits(const Given *all)
{
    PyArrayObject *x = few(all->args[0]);
    PyArrayObject *target = all->count == 2 ? few(all->args[1]) : NULL;
    if (x == NULL || target == NULL || PyArray_TYPE(x) != PyArray_TYPE(target) ||
        !PyArray_SAMESHAPE(x, target)) {
        return NULL;
    }
    PyObject *out = new_alike(x);
    void *to = out == NULL ? NULL : PyArray_DATA((PyArrayObject *)out);
    npy_intp n = PyArray_SIZE(x), item = PyArray_ITEMSIZE(x);
    bool wide = is_wide(x);
    if (to != NULL && wide) {
        negated_double(PyArray_DATA(x), n, true, to);
    }
    else if (to != NULL) {
        negated_float(PyArray_DATA(x), n, true, to);
    }
    if (to != NULL) {
        run_inner(&exp_inner[wide], to, to, n, item);
        run_inner(&log1p_inner[wide], to, to, n, item);
    }
    if (to != NULL && wide) {
        add_linear_double(PyArray_DATA(x), PyArray_DATA(target), n, to);
    }
    else if (to != NULL) {
        add_linear_float(PyArray_DATA(x), PyArray_DATA(target), n, to);
    }
    return out;
}

static inline void
put(PyArrayObject *out, npy_intp at, double value)
{
    if (PyArray_TYPE(out) == NPY_FLOAT) {
        ((float *)PyArray_DATA(out))[at] = (float)value;
    }
    else {
        ((double *)PyArray_DATA(out))[at] = value;
    }
}

/* `draw_normal(state, kept, out)`: normal numbers in pairs, cosines before sines, from the words of a
   state, which goes on. Kept is the number that is left of the last pair, and whether there is one. */
static PyObject *
draw_normal(PyObject *module, PyObject *args)
{
    PyArrayObject *state, *kept, *out;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyArray_Type, &state, &PyArray_Type, &kept,
                          &PyArray_Type, &out)) {
        return NULL;
    }
    if (!is_of_states(state, 1) || !is_plain(kept, NPY_DOUBLE) || !PyArray_ISWRITEABLE(kept) ||
        PyArray_SIZE(kept) != 2 || !PyArray_ISWRITEABLE(out) ||
        !(is_plain(out, NPY_DOUBLE) || is_plain(out, NPY_FLOAT))) {
        return refuse("draw_normal");
    }
    double *left = PyArray_DATA(kept);
    npy_intp to = 0, end = PyArray_SIZE(out);
    if (to < end && left[1] != 0) {
        put(out, to++, left[0]);
        left[1] = 0;
    }
    while (to < end) {
        double uniform[FEW], radius[FEW / 2], angle[FEW / 2], cosine[FEW / 2], sine[FEW / 2];
        npy_intp count = (end - to + 1) / 2 < FEW / 2 ? (end - to + 1) / 2 : FEW / 2;
        draw(PyArray_DATA(state), NPY_DOUBLE, 0, uniform, 2 * count);
        for (npy_intp i = 0; i < count; i++) {
            angle[i] = 2 * NPY_PI * uniform[2 * i];
            radius[i] = -uniform[2 * i + 1];
        }
        run_inner(&log1p_inner[1], (char *)radius, (char *)radius, count, sizeof(double));
        run_inner(&cos_inner[1], (char *)angle, (char *)cosine, count, sizeof(double));
        run_inner(&sin_inner[1], (char *)angle, (char *)sine, count, sizeof(double));
        for (npy_intp i = 0; i < count; i++) {
            double r = sqrt(-2 * radius[i]);
            put(out, to++, r * cosine[i]);
            if (to < end) {
                put(out, to++, r * sine[i]);
            }
            else {
                left[0] = r * sine[i];
                left[1] = 1;
            }
        }
    }
    Py_RETURN_NONE;
}

/* Runs of 16 uniform numbers, eight for radii and eight for angles, become cosines and sines. */
#define BY_RUN(name, real, wide, root)                                                             \
    static void name(real *x, npy_intp count)                                                      \
    {                                                                                              \
        real radius[FEW / 2], angle[FEW / 2], cosine[FEW / 2], sine[FEW / 2];                      \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            real *run = x + i / 8 * 16 + i % 8;                                                    \
            radius[i] = 1 - run[0];                                                                \
            angle[i] = (real)(2 * NPY_PI) * run[8];                                                \
        }                                                                                          \
        run_inner(&log_inner[wide], (char *)radius, (char *)radius, count, sizeof(real));          \
        run_inner(&cos_inner[wide], (char *)angle, (char *)cosine, count, sizeof(real));           \
        run_inner(&sin_inner[wide], (char *)angle, (char *)sine, count, sizeof(real));             \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            real *run = x + i / 8 * 16 + i % 8, r = root(-2 * radius[i]);                          \
            run[0] = r * cosine[i];                                                                \
            run[8] = r * sine[i];                                                                  \
        }                                                                                          \
    }

BY_RUN(single_by_run, float, 0, sqrtf)
BY_RUN(double_by_run, double, 1, sqrt)

/* `by_run(uniform)`: normal numbers in the place of runs of uniform ones; gives them. */
static PyObject *
small_by_run(const Given *all)
{
    PyArrayObject *uniform = few(all->args[0]);
    if (uniform == NULL || PyArray_SIZE(uniform) % 16 != 0 || !PyArray_ISWRITEABLE(uniform)) {
        return NULL;
    }
    npy_intp count = PyArray_SIZE(uniform) / 2;
    if (is_wide(uniform)) {
        double_by_run(PyArray_DATA(uniform), count);
    }
    else if (PyArray_TYPE(uniform) == NPY_FLOAT) {
        single_by_run(PyArray_DATA(uniform), count);
    }
    else {
        return NULL;
    }
    return Py_NewRef(uniform);
}

/* What a function of the C library gives for each number. */
static PyObject *
each(const Given *all, double (*function)(double))
{
    PyArrayObject *x = few(all->args[0]);
    if (x == NULL || all->count != 1 || all->names != NULL ||
        !(is_wide(x) || PyArray_TYPE(x) == NPY_FLOAT)) {
        return NULL;
    }
    PyObject *out = PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), PyArray_TYPE(x));
    void *from = PyArray_DATA(x), *to = out == NULL ? NULL : PyArray_DATA((PyArrayObject *)out);
    for (npy_intp i = 0; to != NULL && i < PyArray_SIZE(x); i++) {
        if (is_wide(x)) {
            ((double *)to)[i] = function(((double *)from)[i]);
        }
        else {
            ((float *)to)[i] = (float)function(((float *)from)[i]);
        }
    }
    return out;
}

/* `erf(x)`. */
static PyObject *
small_erf(const Given *all)
{
    return each(all, erf);
}

/* `erfc(x)`. */
static PyObject *
small_erfc(const Given *all)
{
    return each(all, erfc);
}

#endif
