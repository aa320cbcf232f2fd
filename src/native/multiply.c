/* Products of matrices whose right factor is not a matrix but rows found by their places.

   NOTE [Products]
   1. `rows` computes w @ X, where row k of X begins at a place of its own in a buffer. Rows may
      overlap: those of a convolution are one padded image, shifted. The results stay in registers
      while k runs, each is the sum over k in order; so it does not matter how the work is cut.
   2. `dots` computes g @ X.T of the same rows, along which vectors run, and adds it to what is there.
   3. Both read whole vectors beyond the last place. What is computed there is dropped by `rows`, and
      multiplied by zeros, which `g` has to have there, by `dots`.
   4. There is a version for each kind of processor; `kernels_for` says which.
*/

#ifndef RETROGRAD_MULTIPLY
#define RETROGRAD_MULTIPLY

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DEEP = 128
}; /* terms added in registers before the sums go to memory: their rows stay near */

typedef struct {
    int64_t source, weight; /* where a term's factors are */
} Tap;

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
#undef REAL
#undef KIND
#define REAL double
#define KIND double
#include "multiply.h"
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
#undef REAL
#undef KIND
#define REAL double
#define KIND double_avx2
#include "multiply.h"
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
#undef REAL
#undef KIND
#define REAL double
#define KIND double_avx512
#include "multiply.h"
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
} Kernels;

static Kernels kernels = {16, rows_float, rows_double, dots_float, dots_double};

static void
choose_kernels(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        kernels = (Kernels){64, rows_float_avx512, rows_double_avx512, dots_float_avx512,
                            dots_double_avx512};
    }
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        kernels =
            (Kernels){32, rows_float_avx2, rows_double_avx2, dots_float_avx2, dots_double_avx2};
    }
#endif
}

#endif
