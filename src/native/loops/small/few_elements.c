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

#endif
