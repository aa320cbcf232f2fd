/* Maxima and means over windows, and the adjoint of the means: what `kernels/pooling.py` computes.

   NOTE [Windows]
   1. Threads share out images, of all channels. Within one, lines of results are made tap by tap, so
      that the loop within runs over neighbours.
   2. Of equal maxima the first counts; NaN is larger than all, and of several the last counts.
   3. Padding is never the maximum. In sums it is zero, and is counted if `count_pad` says so. Sums
      are taken in double precision.
*/

#include "pool.c"

#include <math.h>
#include <string.h>

enum { AT_ONCE = 256 };                 /* results of a line whose sums are kept */
enum { FEW_float = 4, FEW_double = 2 }; /* windows whose maxima are in registers */
enum { NOBODY = INT32_MIN }; /* in place of the winner of a window, before there is one */

typedef struct {
    int64_t size, kernel, stride, before, dilation, places;
    int64_t low, high; /* the taps that are inside the image anywhere */
} Window;

typedef struct {
    Window axes[3];
    int64_t divisor; /* or 0: the number of elements */
    bool count_pad;
} Windows;

typedef struct {
    int64_t first, end, start; /* the taps inside the image, and where tap 0 would be */
} Taps;

static Taps
taps_inside(const Window *axis, int64_t place)
{
    int64_t start = place * axis->stride - axis->before;
    Inside found = inside(start, axis->dilation, axis->size, axis->kernel);
    return (Taps){found.low, found.high, start};
}

/* Those of the places from `first` to below `last` whose tap, which is at `at` for place 0, is inside
   the image. */
static Inside
places_inside(const Window *axis, int64_t at, int64_t first, int64_t last)
{
    Inside found = inside(at, axis->stride, axis->size, last);
    found.low = found.low > first ? found.low : first;
    return found;
}

/* How many elements of a window count along an axis. */
static int64_t
counted(const Windows *windows, int a, int64_t place)
{
    const Window *axis = &windows->axes[a];
    int64_t start = place * axis->stride - axis->before, end = start + axis->kernel;
    int64_t most = axis->size + (windows->count_pad ? axis->before : 0);
    start = windows->count_pad || start > 0 ? start : 0;
    return (end < most ? end : most) - start;
}

/* By how much the sums of a line are divided, but for what counts along the last axis; 0 if that
   does not matter. */
static int64_t
counted_outside(const Windows *windows, int64_t i, int64_t j)
{
    return windows->divisor ? 0 : counted(windows, 0, i) * counted(windows, 1, j);
}

static double
divisor(const Windows *windows, int64_t outside, int64_t l)
{
    return (double)(outside == 0 ? windows->divisor : outside * counted(windows, 2, l));
}

#define REAL float
#define WHOLE int32_t
#define OF(x) x##_float
#include "windows.h"
#undef REAL
#undef WHOLE
#undef OF
#define REAL double
#define WHOLE int64_t
#define OF(x) x##_double
#include "windows.h"
#undef REAL
#undef WHOLE
#undef OF

enum { MAXIMA, MEANS, SPREAD };

/* `windows(which, images, results, indices, kernel, stride, padding, dilation, divisor, count_pad)`:
   (..., *size) to (..., *places), or for SPREAD the other way round. `indices` are None but for
   maxima. */
static PyObject *
windows(PyObject *module, PyObject *args)
{
    int which, count_pad;
    PyArrayObject *x, *y;
    PyObject *indices, *kernel, *stride, *padding, *dilation;
    Windows all = {0};
    int64_t sizes[4][3];
    if (!PyArg_ParseTuple(args, "iO!O!OOOOOLp", &which, &PyArray_Type, &x, &PyArray_Type, &y,
                          &indices, &kernel, &stride, &padding, &dilation, &all.divisor,
                          &count_pad)) {
        return NULL;
    }
    int dims = PyTuple_Check(kernel) ? (int)PyTuple_GET_SIZE(kernel) : 0;
    if (!read_sizes(kernel, dims, 1, sizes[0]) || !read_sizes(stride, dims, 1, sizes[1]) ||
        !read_sizes(padding, dims, 0, sizes[2]) || !read_sizes(dilation, dims, 1, sizes[3])) {
        return refuse("windows");
    }
    int type = PyArray_TYPE(x); /* looked at once the numbers are read, which may run code */
    if (!is_plain(x, type) || !is_plain(y, type) || dims < 1 || dims > 3 ||
        PyArray_NDIM(x) < dims || PyArray_NDIM(x) != PyArray_NDIM(y) ||
        !PyArray_ISWRITEABLE(which == SPREAD ? x : y) || which < MAXIMA || which > SPREAD) {
        return refuse("windows");
    }
    int lead = PyArray_NDIM(x) - dims;
    int64_t images = 1;
    for (int d = 0; d < lead; d++) {
        images *= PyArray_DIM(x, d);
        if (PyArray_DIM(x, d) != PyArray_DIM(y, d)) {
            return refuse("windows");
        }
    }
    double work = 1, numbers = 1;
    all.count_pad = count_pad;
    for (int a = 0; a < 3; a++) {
        int place = a - (3 - dims);
        Window *axis = &all.axes[a];
        *axis = (Window){1, sizes[0][a], sizes[1][a], sizes[2][a], sizes[3][a], 1};
        if (place >= 0) {
            axis->size = PyArray_DIM(x, lead + place);
            axis->places = PyArray_DIM(y, lead + place);
        }
        numbers *= (double)axis->size;
        if (axis->kernel < 1 || axis->stride < 1 || axis->before < 0 || axis->dilation < 1 ||
            (which != MAXIMA && axis->dilation != 1) ||
            !is_near(axis->kernel, axis->dilation, axis->before)) {
            return refuse("windows");
        }
        axis->stride = axis->places > 1 ? axis->stride : 1; /* which then says nothing */
        if (!is_near(axis->places, axis->stride, 0)) {
            return refuse("windows");
        }
        int64_t far = (axis->places - 1) * axis->stride;
        Inside taps = inside(far - axis->before, axis->dilation, axis->size + far, axis->kernel);
        axis->low = taps.low;
        axis->high = taps.high;
        work *= (double)axis->places * (double)(taps.high - taps.low) + 1;
    }
    if (which == MAXIMA && images > 0 && numbers > INT32_MAX) { /* places are kept in 32 bits */
        return refuse("windows");
    }
    if (which == MAXIMA) {
        PyArrayObject *i = (PyArrayObject *)indices;
        if (!PyArray_Check(indices) || PyArray_TYPE(i) != NPY_INT64 || !PyArray_ISCARRAY(i) ||
            PyArray_SIZE(i) != PyArray_SIZE(y)) {
            return refuse("windows");
        }
    }
    void *to = which == MAXIMA ? PyArray_DATA((PyArrayObject *)indices) : NULL;
    int64_t grain = (int64_t)((1 << 16) / work) + 1;
    Py_BEGIN_ALLOW_THREADS;
    if (type == NPY_FLOAT) {
        Chunk chunks[] = {max_windows_float, mean_windows_float, spread_windows_float};
        Pooling_float job = {&all, PyArray_DATA(x), PyArray_DATA(y), to};
        pool_run(chunks[which], &job, images, grain);
    }
    else {
        Chunk chunks[] = {max_windows_double, mean_windows_double, spread_windows_double};
        Pooling_double job = {&all, PyArray_DATA(x), PyArray_DATA(y), to};
        pool_run(chunks[which], &job, images, grain);
    }
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}
