/* Products of matrices whose right factor is not a matrix but rows found by their places.

   NOTE [Products]
   1. `rows` computes w @ X, where row k of X begins at a place of its own in a buffer. Rows may
      overlap: those of a convolution are one padded image, shifted. The results stay in registers
      while k runs, each is the sum over k in order; so it does not matter how the work is cut.
   2. `dots` computes g @ X.T of the same rows, along which vectors run, and adds it to what is there.
   3. Both read whole vectors beyond the last place. What is computed there is dropped by `rows`, and
      multiplied by zeros, which `g` has to have there, by `dots`.
   4. `shares` and `slopes` are what attention does with rows of such products; `lines` are Fourier
      transforms, of which `transforms.c` tells.
   5. There is a version for each kind of processor; `kernels_for` says which.
*/

#ifndef RETROGRAD_MULTIPLY
#define RETROGRAD_MULTIPLY

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DEEP = 128
}; /* terms added in registers before the sums go to memory: their rows stay near */

typedef struct {
    int64_t source, weight; /* where a term's factors are */
} Tap;

typedef struct {
    enum { TO_WHOLE, FROM_WHOLE, TO_HALF, FROM_HALF } kind;
    int n;                      /* complex points */
    int64_t from_step, to_step; /* bytes to the next number */
    double factor;
    const void *roots; /* of unity, as many as there are numbers in a line: turns to the right */
} Lines;

#define JOIN(a, b) a##_##b
#define JOINED_NAME(a, b) JOIN(a, b)
#define NAME(x) JOINED_NAME(x, KIND)

#define BYTES 16
#define TARGET
#if defined(__aarch64__)
#define HIGH 8
#else
#define HIGH 4
#endif
#define REAL float
#define KIND float
#include "multiply.h"
#include "exponential.h"
#include "fourier.h"
#undef REAL
#undef KIND
#define REAL double
#define KIND double
#include "multiply.h"
#include "exponential.h"
#include "fourier.h"
#undef REAL
#undef KIND
#undef BYTES
#undef TARGET
#undef HIGH

#if defined(__x86_64__)
#define BYTES 32
#define TARGET __attribute__((target("avx2,fma")))
#define HIGH 4
#define REAL float
#define KIND float_avx2
#include "multiply.h"
#include "exponential.h"
#include "fourier.h"
#undef REAL
#undef KIND
#define REAL double
#define KIND double_avx2
#include "multiply.h"
#include "exponential.h"
#include "fourier.h"
#undef REAL
#undef KIND
#undef BYTES
#undef TARGET
#undef HIGH

#define BYTES 64
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define HIGH 8
#define REAL float
#define KIND float_avx512
#include "multiply.h"
#include "exponential.h"
#undef REAL
#undef KIND
#define REAL double
#define KIND double_avx512
#include "multiply.h"
#include "exponential.h"
#undef REAL
#undef KIND
#undef BYTES
#undef TARGET
#undef HIGH
#endif

typedef struct {
    int64_t bytes; /* of a vector */
    void (*rows_float)(const float *, int64_t, int64_t, const Tap *, int64_t, const float *,
                       int64_t, float *);
    void (*rows_double)(const double *, int64_t, int64_t, const Tap *, int64_t, const double *,
                        int64_t, double *);
    void (*dots_float)(const float *, int64_t, int64_t, const float *, const int64_t *, int64_t,
                       int64_t, float *, int64_t);
    void (*dots_double)(const double *, int64_t, int64_t, const double *, const int64_t *, int64_t,
                        int64_t, double *, int64_t);
    double (*shares_float)(float *, const float *, float, int64_t, float *);
    double (*shares_double)(double *, const double *, double, int64_t, double *);
    void (*slopes_float)(float *, float *, const float *, float, int64_t, float, float, float,
                         float);
    void (*slopes_double)(double *, double *, const double *, double, int64_t, double, double,
                          double, double);
    int64_t across; /* bytes of a vector of lines: longer ones would leave the cache */
    void (*lines_float)(const Lines *, char *const *, char *const *, int, void *);
    void (*lines_double)(const Lines *, char *const *, char *const *, int, void *);
} Kernels;

#define KERNELS(bytes, kind, across, lines)                                                        \
    (Kernels)                                                                                      \
    {                                                                                              \
        bytes, rows_float##kind, rows_double##kind, dots_float##kind, dots_double##kind,           \
            shares_float##kind, shares_double##kind, slopes_float##kind, slopes_double##kind,      \
            across, transform_lines_float##lines, transform_lines_double##lines                    \
    }

static Kernels kernels;

static void
choose_kernels(void)
{
    kernels = KERNELS(16, , 16, );
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        kernels = KERNELS(64, _avx512, 32, _avx2);
    }
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        kernels = KERNELS(32, _avx2, 32, _avx2);
    }
#endif
}

#undef KERNELS
#endif
