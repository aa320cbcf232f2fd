/* Means, distances from them, and variances: NOTE [Sums] in `kernels/sums.py`, 4.

   An array of `outer` x `times` x `kept` x `run` numbers is reduced along its second and fourth axis,
   in double precision. A piece of work is what one of `kept` has or, where a run is one number, a block
   of columns; no sum is divided among threads. Numbers are added to several sums abreast.
*/

#ifndef RETROGRAD_MOMENTS
#define RETROGRAD_MOMENTS

#include "pool.c"

#include <math.h>
#include <string.h>

enum {
    COLUMNS = 256, /* at once: their sums stay in the cache */
    ABREAST = 64   /* sums, where there are few columns */
};

typedef struct {
    const float *x;
    float *centred, *mean; /* or NULL */
    float *spread;
    int64_t outer, times, kept, run;
    double degrees; /* of freedom */
    bool root;      /* whether the spread is the standard deviation */
} Moments;

/* The loops are built twice, for vectors of 16 and of 32 bytes; neither fuses operations. */
#if defined(__x86_64__) && defined(__GLIBC__)
#define WITH_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define WITH_VECTORS
#endif

static inline __attribute__((always_inline)) void
add_numbers(const float *x, int64_t n, double *restrict sums)
{
    for (int64_t i = 0; i < n; i++) {
        sums[i] += (double)x[i];
    }
}

static inline __attribute__((always_inline)) void
add_squares(const float *x, int64_t n, const double *restrict mean, double *restrict sums)
{
    for (int64_t i = 0; i < n; i++) {
        double far = (double)x[i] - mean[i];
        sums[i] += far * far;
    }
}

static inline __attribute__((always_inline)) void
centre_numbers(const float *restrict x, int64_t n, const double *restrict mean,
               double *restrict sums, float *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        double far = (double)x[i] - mean[i];
        sums[i] += far * far;
        out[i] = (float)far;
    }
}

/* Write the spreads of which there are sums of squares. */
static inline __attribute__((always_inline)) void
settle(const Moments *job, const double *squares, int64_t count, int64_t to)
{
    double by = 1 / job->degrees;
    for (int64_t k = 0; k < count; k++) {
        job->spread[to + k] = (float)(job->root ? sqrt(squares[k] * by) : squares[k] * by);
    }
}

typedef double Lanes __attribute__((vector_size(32)));
typedef float Floats __attribute__((vector_size(16), aligned(4), may_alias));

/* Add the numbers of a row's parts less `mean`, or their squares, which then go to `out`. */
static inline __attribute__((always_inline)) double
add_row(const float *x, float *out, double mean, bool square, int64_t parts, int64_t length,
        int64_t step)
{
    Lanes sums[4] = {{0}};
    double rest = 0;
    for (int64_t i = 0; i < parts; i++) {
        int64_t at = i * step, end = at + length;
        for (; at + 16 <= end; at += 16) {
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                Lanes far =
                    __builtin_convertvector(*(const Floats *)(x + at + 4 * k), Lanes) - mean;
                sums[k] += square ? far * far : far;
                if (out != NULL) {
                    *(Floats *)(out + at + 4 * k) = __builtin_convertvector(far, Floats);
                }
            }
        }
        for (; at < end; at++) {
            double one = (double)x[at] - mean;
            rest += square ? one * one : one;
            if (out != NULL) {
                out[at] = (float)one;
            }
        }
    }
    Lanes all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    return ((all[0] + all[1]) + (all[2] + all[3])) + rest;
}

/* Measure the row whose parts of a length are `step` apart. */
static WITH_VECTORS void
measure_row(const Moments *job, int64_t first, int64_t parts, int64_t length, int64_t step,
            int64_t to)
{
    const float *x = job->x + first;
    double n = (double)(parts * length), mean = add_row(x, NULL, 0, false, parts, length, step) / n;
    double squares = job->centred == NULL
                         ? add_row(x, NULL, mean, true, parts, length, step)
                         : add_row(x, job->centred + first, mean, true, parts, length, step);
    settle(job, &squares, 1, to);
    if (job->mean != NULL) {
        job->mean[to] = (float)mean;
    }
}

/* Measure `count` columns of what lies at `first`: so many parts of a length, `step` apart. */
static WITH_VECTORS void
measure(const Moments *job, int64_t first, int64_t parts, int64_t length, int64_t step,
        int64_t count, int64_t to)
{
    double sums[COLUMNS], mean[COLUMNS];
    int64_t width = count;
    while (2 * width <= ABREAST) {
        width *= 2;
    }
    for (int pass = 0; pass < 2; pass++) {
        memset(sums, 0, (size_t)width * sizeof(double));
        for (int64_t i = 0; i < parts; i++) {
            for (int64_t j = 0; j < length; j += width) {
                int64_t at = first + i * step + j, n = length - j < width ? length - j : width;
                if (pass == 0) {
                    add_numbers(job->x + at, n, sums);
                }
                else if (job->centred == NULL) {
                    add_squares(job->x + at, n, mean, sums);
                }
                else {
                    centre_numbers(job->x + at, n, mean, sums, job->centred + at);
                }
            }
        }
        for (int64_t half = width / 2; half >= count; half /= 2) {
            for (int64_t k = 0; k < half; k++) {
                sums[k] += sums[k + half];
            }
        }
        if (pass == 1) {
            settle(job, sums, count, to);
            break;
        }
        double n = (double)(parts * length / count);
        for (int64_t k = 0; k < count; k++) {
            mean[k] = sums[k] / n;
        }
        for (int64_t k = count; k < width; k *= 2) {
            memcpy(mean + k, mean, (size_t)k * sizeof(double));
        }
        for (int64_t k = 0; job->mean != NULL && k < count; k++) {
            job->mean[to + k] = (float)mean[k];
        }
    }
}

static void
measure_some(void *context, int64_t begin, int64_t end)
{
    const Moments *job = context;
    int64_t kept = job->kept, run = job->run, columns = run > 1 ? 1 : COLUMNS;
    int64_t blocks = (kept + columns - 1) / columns;
    for (int64_t i = begin; i < end; i++) {
        int64_t outer = i / blocks, k = i % blocks * columns;
        int64_t count = kept - k < columns ? kept - k : columns;
        int64_t first = (outer * job->times * kept + k) * run, to = outer * kept + k;
        if (run > 1) {
            measure_row(job, first, job->times, run, kept * run, to);
        }
        else if (count == kept) {
            measure(job, first, 1, job->times * kept, 0, count, to);
        }
        else {
            measure(job, first, job->times, count, kept, count, to);
        }
    }
}

/* How many pieces of work there are. */
static int64_t
pieces_of(const Moments *job)
{
    int64_t columns = job->run > 1 ? 1 : COLUMNS;
    return job->outer * ((job->kept + columns - 1) / columns);
}

static float *
floats(PyObject *object, int64_t size)
{
    PyArrayObject *array = (PyArrayObject *)object;
    bool fits = PyArray_Check(object) && is_plain(array, NPY_FLOAT) && PyArray_ISWRITEABLE(array) &&
                PyArray_SIZE(array) == size;
    return fits ? PyArray_DATA(array) : NULL;
}

/* `moments(x, centred, mean, spread, (outer, times, kept), degrees, root)`: write the means of x,
   float32, the distances from them, both unless they are None, and variances or their roots. */
static PyObject *
moments(PyObject *module, PyObject *args)
{
    PyArrayObject *x;
    PyObject *centred, *mean, *spread;
    long long outer, times, kept;
    double degrees;
    int root;
    if (!PyArg_ParseTuple(args, "O!OOO(LLL)dp", &PyArray_Type, &x, &centred, &mean, &spread, &outer,
                          &times, &kept, &degrees, &root)) {
        return NULL;
    }
    int64_t size = PyArray_SIZE(x), run = size;
    const int64_t sizes[] = {outer, times, kept};
    for (int i = 0; i < 3; i++) {
        if (sizes[i] < 1 || run % sizes[i] != 0 || run == 0) {
            return refuse("moments");
        }
        run /= sizes[i];
    }
    Moments job = {.x = PyArray_DATA(x),
                   floats(centred, size),
                   floats(mean, outer * kept),
                   floats(spread, outer * kept),
                   outer,
                   times,
                   kept,
                   run,
                   degrees,
                   root};
    if (!is_plain(x, NPY_FLOAT) || (job.centred == NULL && centred != Py_None) ||
        (job.mean == NULL && mean != Py_None) || job.spread == NULL) {
        return refuse("moments");
    }
    int64_t pieces = pieces_of(&job);
    Py_BEGIN_ALLOW_THREADS;
    pool_run(measure_some, &job, pieces, (1 << 14) * pieces / size + 1);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

#endif
