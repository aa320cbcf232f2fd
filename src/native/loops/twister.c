/* The Mersenne Twister by the block: its words, and what is drawn from them.

   NOTE [Twister]
   1. A state is 625 numbers: the 624 words of M. Matsumoto and T. Nishimura (1998), and which of them
      is next. Words are one sequence, so no thread can begin in its middle but from a state there:
      `pass_words` goes on without drawing, and leaves states behind.
   2. A float32 takes a word, of which the lower 24 bits are its digits; a float64 and an element of a
      mask take two, the first one the upper half, of which the lower 53 bits are the digits or are
      compared with the share of 2**53 that is to be true.
*/

#ifndef RETROGRAD_TWISTER
#define RETROGRAD_TWISTER

#include "multiply.c"

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

/* The lower 53 bits of two words, the first one the upper half. */
INLINE int64_t
long_of(const uint32_t *words)
{
    return (int64_t)(words[0] & UINT32_C(0x1fffff)) << 32 | words[1];
}

/* The next `count` elements of an array of a type: words, numbers from 0 to 1, or a mask. */
INLINE void
next_of(uint32_t *state, int type, int64_t bound, char *out, int64_t count)
{
    enum { PIECE = 512 };
    uint32_t words[2 * PIECE];
    for (int64_t at = 0; at < count; at += PIECE) {
        int64_t n = count - at < PIECE ? count - at : PIECE;
        next_words(state, words, type == NPY_UINT32 || type == NPY_FLOAT ? n : 2 * n);
        for (int64_t i = 0; type == NPY_FLOAT && i < n; i++) {
            ((float *)out)[at + i] = (float)(int32_t)(words[i] & UINT32_C(0xffffff)) * 0x1p-24f;
        }
        for (int64_t i = 0; type == NPY_DOUBLE && i < n; i++) {
            ((double *)out)[at + i] = (double)long_of(words + 2 * i) * 0x1p-53;
        }
        for (int64_t i = 0; type == NPY_BOOL && i < n; i++) {
            out[at + i] = long_of(words + 2 * i) < bound;
        }
        if (type == NPY_UINT32) {
            memcpy(out + at * sizeof *words, words, n * sizeof *words);
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
next_of_avx2(uint32_t *state, int type, int64_t bound, char *out, int64_t count)
{
    next_of(state, type, bound, out, count);
}

#undef QUICK
#else
#define next_words_avx2 next_words
#define next_of_avx2 next_of
#endif

/* Each place in turn takes the number of one of those from it on. The next word says which: it is
   asked for early, as it may lie anywhere in memory. */
static void
shuffle(uint32_t *state, int64_t *order, int64_t count)
{
    enum { PIECE = 512 };
    uint32_t words[PIECE];
    int64_t others[PIECE];
    for (int64_t at = 0; at < count - 1; at += PIECE) {
        int64_t n = count - 1 - at < PIECE ? count - 1 - at : PIECE;
        next_words(state, words, n);
        for (int64_t i = 0; i < n; i++) {
            others[i] = at + i + (int64_t)(words[i] % (uint64_t)(count - at - i));
            __builtin_prefetch(order + others[i], 1);
        }
        for (int64_t i = 0; i < n; i++) {
            int64_t number = order[at + i];
            order[at + i] = order[others[i]];
            order[others[i]] = number;
        }
    }
}

static void
draw(uint32_t *state, int type, int64_t bound, void *out, int64_t count)
{
    (kernels.bytes > 16 ? next_of_avx2 : next_of)(state, type, bound, out, count);
}

#undef INLINE

/* Whether an array has states, so many of them, that may be written. */
static bool
is_of_states(PyArrayObject *array, int64_t count)
{
    return PyArray_ISCARRAY(array) && PyArray_TYPE(array) == NPY_UINT32 &&
           PyArray_SIZE(array) == count * STATE;
}

/* `seed_words(seed)`: the state before the first word of a seed, of which the lower 32 bits count. */
static PyObject *
seed_words(PyObject *module, PyObject *seed)
{
    uint32_t word = (uint32_t)PyLong_AsUnsignedLongMask(seed), *state;
    npy_intp size = STATE;
    PyObject *array = PyErr_Occurred() ? NULL : PyArray_SimpleNew(1, &size, NPY_UINT32);
    if (array == NULL) {
        return NULL;
    }
    state = PyArray_DATA((PyArrayObject *)array);
    for (uint32_t i = 0; i < WORDS; i++) {
        state[i] = word;
        word = UINT32_C(1812433253) * (word ^ word >> 30) + i + 1;
    }
    state[WORDS] = WORDS;
    return array;
}

/* `draw_words(state, out, bound)`: what the next words give, by the type of `out`: words, numbers from
   0 to 1, or a mask of which `bound` of 2**53 elements are true. The state goes on. */
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
        (type != NPY_UINT32 && type != NPY_FLOAT && type != NPY_DOUBLE && type != NPY_BOOL)) {
        return refuse("draw_words");
    }
    Py_BEGIN_ALLOW_THREADS;
    draw(PyArray_DATA(state), type, bound, PyArray_DATA(out), PyArray_SIZE(out));
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

/* `draw_order(state, order)`: the numbers of an array in a random order. The state goes on. */
static PyObject *
draw_order(PyObject *module, PyObject *args)
{
    PyArrayObject *state, *order;
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &state, &PyArray_Type, &order)) {
        return NULL;
    }
    if (!is_of_states(state, 1) || !PyArray_ISCARRAY(order) || PyArray_TYPE(order) != NPY_INT64) {
        return refuse("draw_order");
    }
    Py_BEGIN_ALLOW_THREADS;
    shuffle(PyArray_DATA(state), PyArray_DATA(order), PyArray_SIZE(order));
    Py_END_ALLOW_THREADS;
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
        (kernels.bytes > 16 ? next_words_avx2 : next_words)(state + STATE, NULL, count[i]);
    }
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

#endif
