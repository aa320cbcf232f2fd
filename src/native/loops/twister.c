/* The Mersenne Twister by the block: its words, and masks drawn from them.

   NOTE [Twister]
   1. A state is 625 numbers: the 624 words of M. Matsumoto and T. Nishimura (1998), and which of them
      is next. Words are one sequence, so no thread can begin in its middle but from a state there:
      `pass_words` goes on without drawing, and leaves states behind.
   2. An element of a mask takes two words. The lower 53 bits of both, the first one the upper half,
      are compared with the share of 2**53 that is to be true.
*/

#ifndef RETROGRAD_TWISTER
#define RETROGRAD_TWISTER

#include "multiply.c"

#include <numpy/random/bitgen.h>
#include <stdint.h>

enum { WORDS = 624, AHEAD = 397, STATE = WORDS + 1 };

#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t
mixed(uint32_t upper, uint32_t lower)
{
    uint32_t y = (upper & UINT32_C(0x80000000)) | (lower & UINT32_C(0x7fffffff));
    return y >> 1 ^ (-(y & 1) & UINT32_C(0x9908b0df));
}

/* The next 624 words in place of the last ones. */
INLINE void
twist(uint32_t *words)
{
    const int back = WORDS - AHEAD;
    for (int i = 0; i < back; i++) {
        words[i] = words[i + AHEAD] ^ mixed(words[i], words[i + 1]);
    }
    for (int i = back; i < WORDS - 1; i++) {
        words[i] = words[i - back] ^ mixed(words[i], words[i + 1]);
    }
    words[WORDS - 1] = words[AHEAD - 1] ^ mixed(words[WORDS - 1], words[0]);
}

/* The next `count` words; without `out` they are passed. */
INLINE void
next_words(uint32_t *state, uint32_t *out, int64_t count)
{
    for (int64_t done = 0; done < count;) {
        if (state[WORDS] >= WORDS) {
            twist(state);
            state[WORDS] = 0;
        }
        const uint32_t *from = state + state[WORDS];
        int64_t left = WORDS - state[WORDS], n = count - done < left ? count - done : left;
        for (int64_t i = 0; out != NULL && i < n; i++) {
            uint32_t y = from[i];
            y ^= y >> 11;
            y ^= y << 7 & UINT32_C(0x9d2c5680);
            y ^= y << 15 & UINT32_C(0xefc60000);
            out[done + i] = y ^ y >> 18;
        }
        state[WORDS] += (uint32_t)n;
        done += n;
    }
}

/* The next `count` elements of a mask: NOTE [Twister], 2. */
INLINE void
next_below(uint32_t *state, int64_t bound, unsigned char *out, int64_t count)
{
    enum { PIECE = 512 };
    uint32_t words[2 * PIECE];
    for (int64_t at = 0; at < count; at += PIECE) {
        int64_t n = count - at < PIECE ? count - at : PIECE;
        next_words(state, words, 2 * n);
        for (int64_t i = 0; i < n; i++) {
            int64_t upper = words[2 * i] & UINT32_C(0x1fffff);
            out[at + i] = (upper << 32 | words[2 * i + 1]) < bound;
        }
    }
}

#if defined(__x86_64__)
#define QUICK __attribute__((target("avx2")))

QUICK static void
next_words_avx2(uint32_t *state, uint32_t *out, int64_t count)
{
    next_words(state, out, count);
}

QUICK static void
next_below_avx2(uint32_t *state, int64_t bound, unsigned char *out, int64_t count)
{
    next_below(state, bound, out, count);
}

#undef QUICK
#else
#define next_words_avx2 next_words
#define next_below_avx2 next_below
#endif

static void
draw(uint32_t *state, uint32_t *out, int64_t count)
{
    (kernels.bytes > 16 ? next_words_avx2 : next_words)(state, out, count);
}

static void
draw_below(uint32_t *state, int64_t bound, unsigned char *out, int64_t count)
{
    (kernels.bytes > 16 ? next_below_avx2 : next_below)(state, bound, out, count);
}

#undef INLINE

/* Whether an array has states, so many of them, that may be written. */
static bool
is_of_states(PyArrayObject *array, int64_t count)
{
    return PyArray_ISCARRAY(array) && PyArray_TYPE(array) == NPY_UINT32 &&
           PyArray_SIZE(array) == count * STATE;
}

/* `draw_words(state, out, bound)`: the next words into `out`, or, if it is boolean, the next elements
   of a mask, that many of 2**53 of them true. The state goes on. */
static PyObject *
draw_words(PyObject *module, PyObject *args)
{
    PyArrayObject *state, *out;
    long long bound;
    if (!PyArg_ParseTuple(args, "O!O!L", &PyArray_Type, &state, &PyArray_Type, &out, &bound)) {
        return NULL;
    }
    int type = PyArray_TYPE(out);
    if (!is_of_states(state, 1) || !PyArray_ISCARRAY(out) ||
        (type != NPY_UINT32 && type != NPY_BOOL)) {
        return refuse("draw_words");
    }
    uint32_t *from = PyArray_DATA(state);
    int64_t count = PyArray_SIZE(out);
    Py_BEGIN_ALLOW_THREADS;
    if (type == NPY_BOOL) {
        draw_below(from, bound, PyArray_DATA(out), count);
    }
    else {
        draw(from, PyArray_DATA(out), count);
    }
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

/* The lower 53 bits of the next two words, the first one the upper half. */
static int64_t
next_long(bitgen_t *bits)
{
    int64_t upper = bits->next_uint32(bits->state) & UINT32_C(0x1fffff);
    return upper << 32 | bits->next_uint32(bits->state);
}

/* `draw_few(bits, out, bound)`: what the words of NumPy's generator of bits give, by the type of
   `out`: words, numbers from 0 to 1, or a mask as of `draw_words`. */
static PyObject *
draw_few(PyObject *module, PyObject *args)
{
    PyObject *owner;
    PyArrayObject *out;
    long long bound;
    if (!PyArg_ParseTuple(args, "OO!L", &owner, &PyArray_Type, &out, &bound)) {
        return NULL;
    }
    PyObject *capsule = PyObject_GetAttrString(owner, "capsule"); /* does not keep its owner */
    bitgen_t *bits = capsule == NULL ? NULL : PyCapsule_GetPointer(capsule, "BitGenerator");
    Py_XDECREF(capsule);
    if (bits == NULL || !PyArray_ISCARRAY(out)) {
        return refuse("draw_few");
    }
    npy_intp count = PyArray_SIZE(out);
    void *to = PyArray_DATA(out);
    switch (PyArray_TYPE(out)) {
    case NPY_UINT32:
        for (npy_intp i = 0; i < count; i++) {
            ((uint32_t *)to)[i] = bits->next_uint32(bits->state);
        }
        break;
    case NPY_FLOAT:
        for (npy_intp i = 0; i < count; i++) {
            uint32_t word = bits->next_uint32(bits->state) & UINT32_C(0xffffff);
            ((float *)to)[i] = (float)word * 0x1p-24f;
        }
        break;
    case NPY_DOUBLE:
        for (npy_intp i = 0; i < count; i++) {
            ((double *)to)[i] = (double)next_long(bits) * 0x1p-53;
        }
        break;
    case NPY_BOOL:
        for (npy_intp i = 0; i < count; i++) {
            ((npy_bool *)to)[i] = next_long(bits) < bound;
        }
        break;
    default:
        return refuse("draw_few");
    }
    Py_RETURN_NONE;
}

/* `pass_words(states, counts)`: the first state goes on by so many words to the next one, and so on. */
static PyObject *
pass_words(PyObject *module, PyObject *args)
{
    PyArrayObject *states, *counts;
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &states, &PyArray_Type, &counts)) {
        return NULL;
    }
    int64_t n = PyArray_SIZE(counts);
    if (!PyArray_ISCARRAY_RO(counts) || PyArray_TYPE(counts) != NPY_INT64 ||
        !is_of_states(states, n + 1)) {
        return refuse("pass_words");
    }
    uint32_t *state = PyArray_DATA(states);
    const int64_t *count = PyArray_DATA(counts);
    Py_BEGIN_ALLOW_THREADS;
    for (int64_t i = 0; i < n; i++, state += STATE) {
        memcpy(state + STATE, state, STATE * sizeof(uint32_t));
        draw(state + STATE, NULL, count[i]);
    }
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

#endif
