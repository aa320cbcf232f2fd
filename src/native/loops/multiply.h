/* The inner loops of products, for one type and one kind of processor: included once for each.

   REAL is the type, BYTES the size of a vector, HIGH how many rows of results fit into registers,
   NAME(x) the name of a function here, TARGET its attributes. See NOTE [Products] in `multiply.c`.
*/

typedef REAL NAME(Vector) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
#define VECTOR NAME(Vector)
#define LANES ((int64_t)(BYTES / sizeof(REAL)))
#define INLINE static inline __attribute__((always_inline)) TARGET

/* tile[m][0 .. wide vectors) += sum over k of w[m * pitch + taps[k].weight] * x[taps[k].source ...] */
INLINE void
NAME(block)(const int high, const int wide, const REAL *w, int64_t pitch, const Tap *taps,
            int64_t count, const REAL *x, REAL *tile, int64_t width)
{
    VECTOR sums[8][6];
#pragma GCC unroll 8
    for (int m = 0; m < high; m++) {
#pragma GCC unroll 6
        for (int v = 0; v < wide; v++) {
            sums[m][v] = *(const VECTOR *)(tile + m * width + v * LANES);
        }
    }
    for (int64_t k = 0; k < count; k++) {
        const REAL *source = x + taps[k].source, *weight = w + taps[k].weight;
        VECTOR row[6];
#pragma GCC unroll 6
        for (int v = 0; v < wide; v++) {
            row[v] = *(const VECTOR *)(source + v * LANES);
        }
#pragma GCC unroll 8
        for (int m = 0; m < high; m++) {
            REAL factor = weight[m * pitch];
#pragma GCC unroll 6
            for (int v = 0; v < wide; v++) {
                sums[m][v] += factor * row[v];
            }
        }
    }
#pragma GCC unroll 8
    for (int m = 0; m < high; m++) {
#pragma GCC unroll 6
        for (int v = 0; v < wide; v++) {
            *(VECTOR *)(tile + m * width + v * LANES) = sums[m][v];
        }
    }
}

/* The same for `vectors` vectors, six at most. */
#define ROWS(high)                                                                                 \
    TARGET static void NAME(rows##high)(const REAL *w, int64_t pitch, const Tap *taps,             \
                                        int64_t count, const REAL *x, int64_t vectors, REAL *tile, \
                                        int64_t width)                                             \
    {                                                                                              \
        for (; high < 4 && vectors > 3; vectors -= 6) {                                            \
            NAME(block)(high, 6, w, pitch, taps, count, x, tile, width);                           \
        }                                                                                          \
        for (; vectors > 2; vectors -= 3, x += 3 * LANES, tile += 3 * LANES) {                     \
            NAME(block)(high, 3, w, pitch, taps, count, x, tile, width);                           \
        }                                                                                          \
        if (vectors == 2) {                                                                        \
            NAME(block)(high, 2, w, pitch, taps, count, x, tile, width);                           \
        }                                                                                          \
        else if (vectors == 1) {                                                                   \
            NAME(block)(high, 1, w, pitch, taps, count, x, tile, width);                           \
        }                                                                                          \
    }

#if HIGH == 8
ROWS(8)
#endif
ROWS(4)
ROWS(2)
ROWS(1)
#undef ROWS

/* tile[m][i] += sum over k, of `rows` rows at `n` places, six vectors at most. */
TARGET static void
NAME(rows)(const REAL *w, int64_t pitch, int64_t rows, const Tap *taps, int64_t count,
           const REAL *x, int64_t n, REAL *tile)
{
    int64_t vectors = (n + LANES - 1) / LANES, width = 6 * LANES;
    for (int64_t from = 0; from < count; from += DEEP) {
        int64_t deep = count - from < DEEP ? count - from : DEEP, m = 0;
        const Tap *some = taps + from;
#if HIGH == 8
        for (; rows - m >= 8; m += 8) {
            NAME(rows8)(w + m * pitch, pitch, some, deep, x, vectors, tile + m * width, width);
        }
#endif
        for (; rows - m >= 4; m += 4) {
            NAME(rows4)(w + m * pitch, pitch, some, deep, x, vectors, tile + m * width, width);
        }
        for (; rows - m >= 2; m += 2) {
            NAME(rows2)(w + m * pitch, pitch, some, deep, x, vectors, tile + m * width, width);
        }
        for (; rows - m >= 1; m += 1) {
            NAME(rows1)(w + m * pitch, pitch, some, deep, x, vectors, tile + m * width, width);
        }
    }
}

INLINE REAL
NAME(total)(VECTOR all)
{
    typedef REAL Short __attribute__((vector_size(16)));
    union {
        VECTOR all;
        Short parts[BYTES / 16];
    } cut = {all};
    Short sum = cut.parts[0];
    REAL out = 0;
    for (size_t i = 1; i < BYTES / 16; i++) {
        sum += cut.parts[i];
    }
    for (size_t i = 0; i < 16 / sizeof(REAL); i++) {
        out += sum[i];
    }
    return out;
}

/* to[m * pitch + c] += sum over n places of g[m * gap + i] * x[places[c] + i] */
INLINE void
NAME(inner)(const int high, const int wide, const REAL *g, int64_t gap, const REAL *x,
            const int64_t *places, int64_t n, REAL *to, int64_t pitch)
{
    VECTOR sums[4][6] = {{{0}}};
    const REAL *rows[6];
#pragma GCC unroll 6
    for (int c = 0; c < wide; c++) {
        rows[c] = x + places[c];
    }
    for (int64_t i = 0; i < n; i += LANES) {
        VECTOR left[4];
#pragma GCC unroll 4
        for (int m = 0; m < high; m++) {
            left[m] = *(const VECTOR *)(g + m * gap + i);
        }
#pragma GCC unroll 6
        for (int c = 0; c < wide; c++) {
            VECTOR right = *(const VECTOR *)(rows[c] + i);
#pragma GCC unroll 4
            for (int m = 0; m < high; m++) {
                sums[m][c] += left[m] * right;
            }
        }
    }
#pragma GCC unroll 4
    for (int m = 0; m < high; m++) {
#pragma GCC unroll 6
        for (int c = 0; c < wide; c++) {
            to[m * pitch + c] += NAME(total)(sums[m][c]);
        }
    }
}

#define TALL (HIGH == 8 ? 4 : 2)
#define BROAD (HIGH == 8 ? 6 : 4)

/* The same for all of `rows` rows and `count` places; n is a multiple of a vector's length. */
TARGET static void
NAME(dots)(const REAL *g, int64_t gap, int64_t rows, const REAL *x, const int64_t *places,
           int64_t count, int64_t n, REAL *to, int64_t pitch)
{
    for (int64_t m = 0; m < rows;) {
        bool tall = rows - m >= TALL;
        const REAL *left = g + m * gap;
        for (int64_t c = 0; c < count;) {
            int64_t more = count - c;
            REAL *place = to + m * pitch + c;
            if (tall && more >= BROAD) {
                NAME(inner)(TALL, BROAD, left, gap, x, places + c, n, place, pitch);
                c += BROAD;
            }
            else if (tall && more >= 3) {
                NAME(inner)(TALL, 3, left, gap, x, places + c, n, place, pitch);
                c += 3;
            }
            else if (tall) {
                NAME(inner)(TALL, 1, left, gap, x, places + c, n, place, pitch);
                c += 1;
            }
            else if (more >= BROAD) {
                NAME(inner)(1, BROAD, left, gap, x, places + c, n, place, pitch);
                c += BROAD;
            }
            else if (more >= 3) {
                NAME(inner)(1, 3, left, gap, x, places + c, n, place, pitch);
                c += 3;
            }
            else {
                NAME(inner)(1, 1, left, gap, x, places + c, n, place, pitch);
                c += 1;
            }
        }
        m += tall ? TALL : 1;
    }
}

#undef TALL
#undef BROAD
#undef VECTOR
#undef LANES
#undef INLINE
