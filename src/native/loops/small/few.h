/* What forwards of few numbers share: NOTE [Small] in `small.c`. */

#ifndef RETROGRAD_FEW
#define RETROGRAD_FEW

#include "../gemm.c"

#include <numpy/ufuncobject.h>

enum { FEW = 4096 }; /* numbers, at most */

typedef struct {
    PyUFuncGenericFunction function;
    void *data;
} Inner;

/* Of single and double precision. */
static Inner add_inner[2], exp_inner[2], log_inner[2], log1p_inner[2], cos_inner[2], sin_inner[2],
    tanh_inner[2];
static PyArray_DotFunc *dot_inner[2];
static PyObject *text_shape, *text_dim, *text_keepdim, *text_scale, *text_eps, *text_descending,
    *text_largest, *text_sorted, *text_k, *text_reverse, *text_total, *text_correction, *text_value,
    *text_widths;

/* Run a loop of NumPy's over numbers that follow on each other. */
static void
run_inner(const Inner *inner, char *from, char *to, npy_intp count, npy_intp item)
{
    char *data[] = {from, to};
    npy_intp steps[] = {item, item};
    inner->function(data, &count, steps, inner->data);
}

/* One call: positional arguments, then those that `names` names. */
typedef struct {
    PyObject *const *args;
    Py_ssize_t count;
    PyObject *names;
} Given;

/* The argument of that place or name, borrowed; None where it is not given. */
static PyObject *
given(const Given *all, Py_ssize_t place, PyObject *name)
{
    if (place < all->count) {
        return all->args[place];
    }
    for (Py_ssize_t i = 0; all->names != NULL && i < PyTuple_GET_SIZE(all->names); i++) {
        PyObject *found = PyTuple_GET_ITEM(all->names, i);
        if (found == name || PyUnicode_Compare(found, name) == 0) {
            return all->args[all->count + i];
        }
    }
    return Py_None;
}

/* The few numbers of an array that loops here take, or NULL. */
static PyArrayObject *
few(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_CheckExact(object) || !is_plain(array, PyArray_TYPE(array)) ||
        PyArray_SIZE(array) == 0 || PyArray_SIZE(array) > FEW) {
        return NULL;
    }
    return array;
}

static PyObject *blas_finder; /* `products.has_blas`, until it was asked */

#ifndef WITHOUT_BLAS

static bool
blas_is_there(void)
{
    PyObject *finder = blas_finder;
    blas_finder = NULL;
    PyObject *found = finder == NULL ? NULL : PyObject_CallNoArgs(finder);
    Py_XDECREF(found);
    Py_XDECREF(finder);
    return !PyErr_Occurred() && blas.real != NULL;
}

#endif

static bool
is_wide(PyArrayObject *array)
{
    return PyArray_TYPE(array) == NPY_DOUBLE;
}

#endif
