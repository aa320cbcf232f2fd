/* Loops over arrays that NumPy lacks or runs on one core: what `retrograd/kernels/` hands to C.

   NOTE [Loops]
   1. Every function here is the twin of one in Python, in `retrograd/kernels/`, which takes over for
      whatever is not NumPy's own, and where this module is not built. They agree to rounding, and on
      what is NaN.
   2. Functions take arrays in row-major order of one dtype, which their callers in Python see to, and
      check that, so that no mistake there becomes one of memory.
   3. Loops run without the interpreter's lock, over the threads of NOTE [Pool]. What they compute does
      not depend on the number of threads.
   The files are one translation unit, of its own: it knows neither tensors nor the engine.
*/

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

/* Whether an array is of a real type that loops here know, in row-major order. */
static bool
is_plain(PyArrayObject *array, int type)
{
    return PyArray_TYPE(array) == type && (type == NPY_FLOAT || type == NPY_DOUBLE) &&
           PyArray_ISCARRAY_RO(array);
}

/* The error of a caller in Python who did not see to what it calls. */
static PyObject *
refuse(const char *name)
{
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "%s() was given arrays that do not fit together", name);
    }
    return NULL;
}

/* Which of the places start, start + step, ..., of which there are `most`, are in [0, size): those
   from `low` to below `high`. */
typedef struct {
    int64_t low, high;
} Inside;

static inline Inside
inside(int64_t start, int64_t step, int64_t size, int64_t most)
{
    int64_t low = start >= 0 ? 0 : step == 1 ? -start : (-start + step - 1) / step;
    int64_t high = most; /* dividing takes longer than the few steps that are mostly asked for */
    if (start + (most - 1) * step >= size) {
        high = start >= size ? 0 : step == 1 ? size - start : (size - 1 - start) / step + 1;
    }
    return (Inside){low < high ? low : high, high};
}

/* Whether one number of such steps, and what is added to it, are far from the end of the integers. */
static inline bool
is_near(int64_t steps, int64_t step, int64_t more)
{
    const double far = (double)((int64_t)1 << 60);
    return (double)steps * (double)step < far && -far < (double)more && (double)more < far;
}

#include "attention.c"
#include "checks.c"
#include "conv.c"
#include "copies.c"
#include "gemm.c"
#include "index.c"
#include "kernel.c"
#include "moments.c"
#include "pool.c"
#include "recycle.c"
#include "rejection.c"
#include "rows.c"
#include "small/small.c"
#include "sort.c"
#include "steps.c"
#include "transforms.c"
#include "triangle.c"
#include "twister.c"
#include "watch.c"
#include "windows.c"

/* `set_threads(count)`: how many threads a loop may use. */
static PyObject *
set_threads(PyObject *module, PyObject *count)
{
    long threads = PyLong_AsLong(count);
    if (threads == -1 && PyErr_Occurred()) {
        return NULL;
    }
    pool_threads = threads < 1 ? 1 : threads > 1024 ? 1024 : (int)threads;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"set_door", set_door, METH_VARARGS, NULL},
    {"set_threads", set_threads, METH_O, NULL},
    {"conv", conv, METH_VARARGS, NULL},
    {"copy", copy_array, METH_VARARGS, NULL},
    {"use_blas", use_blas, METH_O, NULL},
    {"gemm", gemm, METH_VARARGS, NULL},
    {"words_of_product", (PyCFunction)(void (*)(void))words_of_product, METH_FASTCALL, NULL},
    {"trsm", trsm, METH_VARARGS, NULL},
    {"solve_triangles", solve_triangles, METH_VARARGS, NULL},
    {"triangle", copy_triangle, METH_VARARGS, NULL},
    {"potrf", potrf, METH_VARARGS, NULL},
    {"getrf", getrf, METH_VARARGS, NULL},
    {"interchange", interchange, METH_VARARGS, NULL},
    {"recycle", recycle, METH_NOARGS, NULL},
    {"windows", windows, METH_VARARGS, NULL},
    {"take", take, METH_VARARGS, NULL},
    {"gather", gather, METH_VARARGS, NULL},
    {"scatter_add", scatter_add, METH_VARARGS, NULL},
    {"add_rows", add_rows, METH_VARARGS, NULL},
    {"sum_rows", sum_rows, METH_VARARGS, NULL},
    {"attention", attention, METH_VARARGS, NULL},
    {"attention_bias", attention_bias, METH_VARARGS, NULL},
    {"is_finite", is_finite, METH_O, NULL},
    {"moments", moments, METH_VARARGS, NULL},
    {"run_rows", run_rows, METH_VARARGS, NULL},
    {"run_steps", (PyCFunction)(void (*)(void))run_steps, METH_FASTCALL, NULL},
    {"rank", rank_rows, METH_VARARGS, NULL},
    {"select", select_places, METH_VARARGS, NULL},
    {"seed_words", seed_words, METH_O, NULL},
    {"draw_words", draw_words, METH_VARARGS, NULL},
    {"draw_order", draw_order, METH_VARARGS, NULL},
    {"pass_words", pass_words, METH_VARARGS, NULL},
    {"draw_normal", draw_normal, METH_VARARGS, NULL},
    {"draw_rejected", draw_rejected, METH_VARARGS, NULL},
    {"transform", transform, METH_VARARGS, NULL},
    {"set_finder", set_finder, METH_O, NULL},
    {"set_watch", set_watch, METH_VARARGS, NULL},
    {"unwatched", (PyCFunction)(void (*)(void))unwatched, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"watched", (PyCFunction)(void (*)(void))watched, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"leave_small_out", leave_small_out, METH_O, NULL},
    {NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "retrograd.kernels._loops",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC
PyInit__loops(void)
{
    import_array();
    import_umath();
    choose_kernels();
    PyObject *module = PyModule_Create(&definition), *address = PyLong_FromVoidPtr(pool_run);
    if (module == NULL || address == NULL || PyType_Ready(&KernelType) < 0 ||
        PyType_Ready(&DoorType) < 0 || prepare_small() < 0 ||
        PyModule_AddObjectRef(module, "Small", (PyObject *)&SmallType) < 0 ||
        PyModule_AddObjectRef(module, "Kernel", (PyObject *)&KernelType) < 0 ||
        PyModule_AddObjectRef(module, "Door", (PyObject *)&DoorType) < 0 ||
        PyModule_AddStringConstant(module, "BUILT_FROM", BUILT_FROM) < 0 ||
        PyModule_AddObjectRef(module, "POOL_RUN", address) < 0) {
        Py_CLEAR(module);
    }
    Py_XDECREF(address);
    return module;
}
