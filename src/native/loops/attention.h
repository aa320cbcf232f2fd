/* Attention for one type: included once for each, with REAL and OF(name). */

/* rows[i * pitch + e] = from[i * width + e] */
static void
OF(pack_rows)(const Attention *a, REAL *rows, const REAL *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        memcpy(rows + i * a->pitch, from + i * a->width, (size_t)a->width * sizeof(REAL));
    }
}

/* columns[e * wide + j] = from[j * width + e], zeros beyond `count` */
static void
OF(pack_columns)(const Attention *a, REAL *columns, const REAL *from, int64_t count)
{
    for (int64_t e = 0; e < a->width; e++) {
        REAL *to = columns + e * a->wide;
        for (int64_t j = 0; j < count; j++) {
            to[j] = from[j * a->width + e];
        }
        memset(to + count, 0, (size_t)(a->wide - count) * sizeof(REAL));
    }
}

/* The product of some rows with the columns of a block: scores, or gradients of weights. */
static void
OF(against)(const Attention *a, const REAL *rows, int64_t high, const REAL *columns, int64_t count,
            REAL *tile)
{
    memset(tile, 0, (size_t)(high * a->wide) * sizeof(REAL));
    OF(kernels.rows)(rows, a->width, high, a->across, a->width, columns, count, tile);
}

/* sums += tile @ rows, or its transpose @ rows: in pieces of `wide` columns, `tall` rows each. */
static void
OF(gather_rows)(const Attention *a, const REAL *tile, bool transposed, int64_t high, int64_t count,
                const REAL *rows, REAL *sums, int64_t tall)
{
    for (int64_t at = 0; at < a->width; at += a->wide, sums += tall * a->wide) {
        int64_t n = a->width - at < a->wide ? a->width - at : a->wide;
        OF(kernels.rows)(tile, transposed ? 1 : a->wide, high, transposed ? a->down_rows : a->along,
                         count, rows + at, n, sums);
    }
}

/* to[i] = sums[i] * factors[i], of `count` rows; without factors, as they are. */
static void
OF(put_rows)(const Attention *a, const REAL *sums, int64_t tall, int64_t count,
             const double *factors, REAL *to)
{
    for (int64_t at = 0; at < a->width; at += a->wide, sums += tall * a->wide) {
        int64_t n = a->width - at < a->wide ? a->width - at : a->wide;
        for (int64_t i = 0; i < count; i++) {
            REAL factor = factors == NULL ? 1 : (REAL)factors[i];
            for (int64_t e = 0; e < n; e++) {
                to[i * a->width + at + e] = sums[i * a->wide + e] * factor;
            }
        }
    }
}

/* sums *= factor, of one row. */
static void
OF(shrink)(const Attention *a, REAL *sums, int64_t tall, REAL factor)
{
    for (int64_t at = 0; at < a->width; at += a->wide, sums += tall * a->wide) {
        for (int64_t e = 0; e < a->wide; e++) {
            sums[e] *= factor;
        }
    }
}

/* Memory for arrays of so many elements; NULL if there is none, which is noted. */
static void *
OF(rooms)(Attention *a, const int64_t *sizes, int count, REAL **rooms)
{
    int64_t all = 0;
    for (int i = 0; i < count; i++) {
        all += (sizes[i] + 15) / 16 * 16;
    }
    REAL *memory = malloc((size_t)all * sizeof(REAL)), *next = memory;
    for (int i = 0; i < count; i++) {
        rooms[i] = next;
        next += (sizes[i] + 15) / 16 * 16;
    }
    if (memory == NULL) {
        a->failed = true;
    }
    return memory;
}

/* How many of `count` columns from `at` on a row sees. */
static int64_t
OF(seen)(const Attention *a, int64_t row, int64_t at, int64_t count)
{
    int64_t most = row + 1 - at;
    return !a->causal || most >= count ? count : most < 0 ? 0 : most;
}

/* The results of ranges of rows: NOTE [Attention], 2. */
static void
OF(attend)(void *context, int64_t begin, int64_t end)
{
    Attention *a = context;
    int64_t wide = a->wide, width = a->width, pieces = (width + wide - 1) / wide;
    int64_t sizes[] = {width * wide, wide * a->pitch + wide, TILE * wide, pieces * RANGE * wide,
                       RANGE};
    REAL *room[5];
    double totals[RANGE];
    void *work = OF(rooms)(a, sizes, 5, room);
    REAL *columns = room[0], *values = room[1], *tile = room[2], *sums = room[3], *tops = room[4];
    for (int64_t u = begin; work != NULL && u < end; u++) {
        int64_t head = u / a->ranges, from = u % a->ranges * RANGE, all = a->rows + 2 * a->columns;
        int64_t count = a->rows - from < RANGE ? a->rows - from : RANGE;
        const REAL *q = (const REAL *)a->packed + (head * all + from) * width;
        const REAL *k = (const REAL *)a->packed + (head * all + a->rows) * width;
        const REAL *v = k + a->columns * width;
        int64_t last = a->causal && from + count < a->columns ? from + count : a->columns;
        memset(sums, 0, (size_t)sizes[3] * sizeof(REAL));
        for (int64_t i = 0; i < count; i++) {
            tops[i] = -(REAL)INFINITY;
            totals[i] = 0;
        }
        for (int64_t at = 0; at < last; at += wide) {
            int64_t n = last - at < wide ? last - at : wide;
            OF(pack_columns)(a, columns, k + at * width, n);
            OF(pack_rows)(a, values, v + at * width, n);
            for (int64_t r = 0; r < count; r += TILE) {
                int64_t high = count - r < TILE ? count - r : TILE;
                if (OF(seen)(a, from + r + high - 1, at, n) == 0) {
                    continue;
                }
                OF(against)(a, q + r * width, high, columns, n, tile);
                for (int64_t i = r; i < r + high; i++) {
                    REAL *row = tile + (i - r) * wide, before = tops[i];
                    int64_t some = OF(seen)(a, from + i, at, n);
                    double sum = OF(kernels.shares)(row, bias_of(a, head, from + i, at),
                                                    (REAL)a->scale, some, &tops[i]);
                    memset(row + some, 0, (size_t)(n - some) * sizeof(REAL));
                    if (tops[i] != before && before != -(REAL)INFINITY) {
                        double less = exp((double)before - (double)tops[i]);
                        totals[i] *= less;
                        OF(shrink)(a, sums + i * wide, RANGE, (REAL)less);
                    }
                    totals[i] += sum;
                }
                OF(gather_rows)(a, tile, false, high, n, values, sums + r * wide, RANGE);
            }
        }
        REAL *stats = (REAL *)a->stats + (head * a->rows + from) * 2;
        for (int64_t i = 0; i < count; i++) {
            totals[i] = 1 / totals[i];
            stats[2 * i] = tops[i];
            stats[2 * i + 1] = (REAL)totals[i];
        }
        OF(put_rows)(a, sums, RANGE, count, totals,
                     (REAL *)a->out + (head * a->rows + from) * width);
    }
    free(work);
}

/* The gradients of heads, or of every so-manieth block of rows of them: NOTE [Attention], 3. */
static void
OF(derive)(void *context, int64_t begin, int64_t end)
{
    Attention *a = context;
    int64_t wide = a->wide, width = a->width, pieces = (width + wide - 1) / wide;
    int64_t tall = (a->rows + TILE - 1) / TILE * TILE, all = a->rows + 2 * a->columns;
    int64_t sizes[] = {width * wide,
                       width * wide,
                       wide * a->pitch + wide,
                       tall * a->pitch + wide,
                       tall * a->pitch + wide,
                       TILE * wide,
                       TILE * wide,
                       pieces * wide * wide,
                       pieces * wide * wide,
                       pieces * tall * wide,
                       tall};
    REAL *room[11];
    void *work = OF(rooms)(a, sizes, 11, room);
    REAL *keys = room[0], *values = room[1], *k_rows = room[2], *q_rows = room[3];
    REAL *g_rows = room[4], *tile = room[5], *slope = room[6], *dk = room[7], *dv = room[8];
    REAL *dq = room[9], *inners = room[10];
    for (int64_t u = begin; work != NULL && u < end; u++) {
        int64_t head = u / a->ranges, part = u % a->ranges;
        const REAL *q = (const REAL *)a->packed + head * all * width, *k = q + a->rows * width;
        const REAL *v = k + a->columns * width, *g = (const REAL *)a->g + head * a->rows * width;
        const REAL *out = (const REAL *)a->out + head * a->rows * width;
        const REAL *stats = (const REAL *)a->stats + head * a->rows * 2;
        REAL *to = (REAL *)a->made + (part * a->heads + head) * all * width;
        OF(pack_rows)(a, q_rows, q, a->rows);
        OF(pack_rows)(a, g_rows, g, a->rows);
        memset(dq, 0, (size_t)sizes[9] * sizeof(REAL));
        for (int64_t i = 0; i < a->rows; i++) {
            double inner = 0;
            for (int64_t e = 0; e < width; e++) {
                inner += (double)g[i * width + e] * (double)out[i * width + e];
            }
            inners[i] = (REAL)inner;
        }
        for (int64_t at = 0; at < a->columns; at += wide) {
            int64_t n = a->columns - at < wide ? a->columns - at : wide;
            OF(pack_columns)(a, keys, k + at * width, n);
            OF(pack_columns)(a, values, v + at * width, n);
            OF(pack_rows)(a, k_rows, k + at * width, n);
            memset(dk, 0, (size_t)sizes[7] * sizeof(REAL));
            memset(dv, 0, (size_t)sizes[8] * sizeof(REAL));
            for (int64_t r = part * TILE; r < a->rows; r += a->ranges * TILE) {
                int64_t high = a->rows - r < TILE ? a->rows - r : TILE;
                if (OF(seen)(a, r + high - 1, at, n) == 0) {
                    continue;
                }
                OF(against)(a, q + r * width, high, keys, n, tile);
                OF(against)(a, g + r * width, high, values, n, slope);
                for (int64_t i = 0; i < high; i++) {
                    int64_t row = r + i, some = OF(seen)(a, row, at, n);
                    OF(kernels.slopes)(tile + i * wide, slope + i * wide, bias_of(a, head, row, at),
                                       (REAL)a->scale, some, stats[2 * row], stats[2 * row + 1],
                                       inners[row]);
                    memset(tile + i * wide + some, 0, (size_t)(n - some) * sizeof(REAL));
                    memset(slope + i * wide + some, 0, (size_t)(n - some) * sizeof(REAL));
                }
                OF(gather_rows)(a, tile, true, n, high, g_rows + r * a->pitch, dv, wide);
                OF(gather_rows)(a, slope, true, n, high, q_rows + r * a->pitch, dk, wide);
                OF(gather_rows)(a, slope, false, high, n, k_rows, dq + r * wide, tall);
            }
            OF(put_rows)(a, dk, wide, n, NULL, to + (a->rows + at) * width);
            OF(put_rows)(a, dv, wide, n, NULL, to + (a->rows + a->columns + at) * width);
        }
        OF(put_rows)(a, dq, tall, a->rows, NULL, to);
    }
    free(work);
}
