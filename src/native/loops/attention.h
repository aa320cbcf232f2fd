/* Attention for one type: included once for each, with REAL and OF(name). */

/* rows[i * pitch + e] = from[i * step + e], zeros beyond: products take whole vectors, and are slow
   where chance has left denormal numbers. */
static void
OF(pack_rows)(const Attention *a, REAL *rows, const REAL *from, int64_t step, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        memcpy(rows + i * a->pitch, from + i * step, (size_t)a->width * sizeof(REAL));
        memset(rows + i * a->pitch + a->width, 0, (size_t)(a->pitch - a->width) * sizeof(REAL));
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

/* The product of some rows, `step` elements apart, with the columns of a block: scores, or gradients
   of weights. */
static void
OF(against)(const Attention *a, const REAL *rows, int64_t step, int64_t high, const REAL *columns,
            int64_t count, REAL *tile)
{
    memset(tile, 0, (size_t)(high * a->wide) * sizeof(REAL));
    OF(kernels.rows)(rows, step, high, a->across, a->width, columns, count, tile);
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

/* to[i] = sums[i] * factors[i], of `count` rows, `step` elements apart; without factors, as they
   are. */
static void
OF(put_rows)(const Attention *a, const REAL *sums, int64_t tall, int64_t count,
             const double *factors, REAL *to, int64_t step)
{
    for (int64_t at = 0; at < a->width; at += a->wide, sums += tall * a->wide) {
        int64_t n = a->width - at < a->wide ? a->width - at : a->wide;
        for (int64_t i = 0; i < count; i++) {
            REAL factor = factors == NULL ? 1 : (REAL)factors[i];
            for (int64_t e = 0; e < n; e++) {
                to[i * step + at + e] = sums[i * a->wide + e] * factor;
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

/* The room for which weights are kept of so many rows, a byte each. */
static int64_t
OF(room_kept)(const Attention *a, int64_t rows)
{
    return a->states == NULL ? 0 : rows * a->columns / (int64_t)sizeof(REAL) + 1;
}

/* Which weights of a block of rows are kept, (high, columns): NOTE [Attention], 5. */
static void
OF(draw_kept)(const Attention *a, int64_t head, int64_t row, int64_t high, unsigned char *kept)
{
    uint32_t state[STATE];
    int64_t blocks = (a->rows + TILE - 1) / TILE;
    if (a->states != NULL) {
        memcpy(state, a->states + (head * blocks + row / TILE) * STATE, sizeof state);
        draw(state, NPY_BOOL, a->bound, kept, high * a->columns);
    }
}

/* row *= factor where it is kept, and 0 elsewhere; as it is if all are. */
static void
OF(drop)(const Attention *a, REAL *row, const unsigned char *kept, int64_t n)
{
    REAL factors[] = {0, (REAL)a->factor};
    for (int64_t j = 0; a->states != NULL && j < n; j++) {
        row[j] *= factors[kept[j]];
    }
}

/* How many rows are at work together at most: of few, no more room is taken than they need. */
static int64_t
OF(rows_at_work)(const Attention *a)
{
    int64_t whole = (a->rows + TILE - 1) / TILE * TILE;
    return a->rows <= TILE ? a->rows : whole < RANGE ? whole : RANGE;
}

/* The results of ranges of rows: NOTE [Attention], 2. */
static void
OF(attend)(void *context, int64_t begin, int64_t end)
{
    Attention *a = context;
    int64_t wide = a->wide, width = a->width, pieces = (width + wide - 1) / wide;
    int64_t tall = OF(rows_at_work)(a);
    int64_t sizes[] = {width * wide, wide * a->pitch + wide, TILE * wide, pieces * tall * wide,
                       tall,         OF(room_kept)(a, tall)};
    REAL *room[6];
    double totals[RANGE];
    void *work = OF(rooms)(a, sizes, 6, room);
    REAL *columns = room[0], *values = room[1], *tile = room[2], *sums = room[3], *tops = room[4];
    unsigned char *kept = (unsigned char *)room[5];
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
        for (int64_t r = 0; r < count; r += TILE) {
            int64_t high = count - r < TILE ? count - r : TILE;
            OF(draw_kept)(a, head, from + r, high, kept + r * a->columns);
        }
        for (int64_t at = 0; at < last; at += wide) {
            int64_t n = last - at < wide ? last - at : wide;
            OF(pack_columns)(a, columns, k + at * width, n);
            OF(pack_rows)(a, values, v + at * width, width, n);
            for (int64_t r = 0; r < count; r += TILE) {
                int64_t high = count - r < TILE ? count - r : TILE;
                if (OF(seen)(a, from + r + high - 1, at, n) == 0) {
                    continue;
                }
                OF(against)(a, q + r * width, width, high, columns, n, tile);
                for (int64_t i = r; i < r + high; i++) {
                    REAL *row = tile + (i - r) * wide, before = tops[i];
                    int64_t some = OF(seen)(a, from + i, at, n);
                    double sum = OF(kernels.shares)(row, bias_of(a, head, from + i, at),
                                                    (REAL)a->scale, some, &tops[i]);
                    memset(row + some, 0, (size_t)(n - some) * sizeof(REAL));
                    OF(drop)(a, row, kept + i * a->columns + at, some);
                    if (tops[i] != before && before != -(REAL)INFINITY) {
                        double less = exp((double)before - (double)tops[i]);
                        totals[i] *= less;
                        OF(shrink)(a, sums + i * wide, tall, (REAL)less);
                    }
                    totals[i] += sum;
                }
                OF(gather_rows)(a, tile, false, high, n, values, sums + r * wide, tall);
            }
        }
        REAL *stats = (REAL *)a->stats + (head * a->rows + from) * 2;
        for (int64_t i = 0; i < count; i++) {
            totals[i] = 1 / totals[i];
            stats[2 * i] = tops[i];
            stats[2 * i + 1] = (REAL)totals[i];
        }
        OF(put_rows)(a, sums, tall, count, totals,
                     (REAL *)(a->out + place_of(a, &a->laid, head) + from * a->laid.down),
                     a->laid.down / (int64_t)sizeof(REAL));
    }
    free(work);
}

/* Operands of a head as the products take them: columns in blocks of `wide`, and the blocks of rows
   that are at work. */
typedef struct {
    const REAL *q, *g, *out, *stats;
    REAL *keys, *values, *q_rows, *g_rows, *inners, *tile, *slope;
    int64_t g_step; /* elements from a row of g to the next */
    unsigned char *kept;
} OF(Head);

/* Take the operands of a head: pack its keys and values. */
static void
OF(take_head)(const Attention *a, int64_t head, OF(Head) * h)
{
    int64_t all = a->rows + 2 * a->columns, width = a->width, wide = a->wide;
    h->q = (const REAL *)a->packed + head * all * width;
    h->g = (const REAL *)(a->g + place_of(a, &a->given, head));
    h->g_step = a->given.down / (int64_t)sizeof(REAL);
    h->out = (const REAL *)(a->out + place_of(a, &a->laid, head));
    h->stats = (const REAL *)a->stats + head * a->rows * 2;
    const REAL *k = h->q + a->rows * width, *v = k + a->columns * width;
    for (int64_t at = 0; at < a->columns; at += wide) {
        int64_t n = a->columns - at < wide ? a->columns - at : wide;
        OF(pack_columns)(a, h->keys + at * width, k + at * width, n);
        OF(pack_columns)(a, h->values + at * width, v + at * width, n);
    }
}

/* The inner products of the results of a block of rows with their cotangents. */
static void
OF(find_inners)(const Attention *a, const OF(Head) * h, int64_t row, int64_t high, REAL *inners)
{
    for (int64_t i = 0; i < high; i++) {
        double inner = 0;
        const REAL *g = h->g + (row + i) * h->g_step;
        const REAL *out = h->out + (row + i) * (a->laid.down / (int64_t)sizeof(REAL));
        for (int64_t e = 0; e < a->width; e++) {
            inner += (double)g[e] * (double)out[e];
        }
        inners[i] = (REAL)inner;
    }
}

/* The weights of a block in `tile`, and the gradients of its scores, times `factor`, in `slope`; its
   rows are from `place` on among those at work. */
static void
OF(bend)(const Attention *a, const OF(Head) * h, int64_t head, int64_t row, int64_t place,
         int64_t at, int64_t n, REAL factor)
{
    int64_t high = a->rows - row < TILE ? a->rows - row : TILE;
    OF(against)(a, h->q + row * a->width, a->width, high, h->keys + at * a->width, n, h->tile);
    OF(against)(a, h->g + row * h->g_step, h->g_step, high, h->values + at * a->width, n, h->slope);
    for (int64_t i = 0; i < high; i++) {
        int64_t some = OF(seen)(a, row + i, at, n);
        REAL *tile = h->tile + i * a->wide, *slope = h->slope + i * a->wide;
        const unsigned char *kept = h->kept + (place + i) * a->columns + at;
        const REAL *stats = h->stats + 2 * (row + i);
        OF(drop)(a, slope, kept, some);
        OF(kernels.slopes)(tile, slope, bias_of(a, head, row + i, at), (REAL)a->scale, some,
                           stats[0], stats[1], h->inners[place + i], factor);
        OF(drop)(a, tile, kept, some);
        memset(tile + some, 0, (size_t)(n - some) * sizeof(REAL));
        memset(slope + some, 0, (size_t)(n - some) * sizeof(REAL));
    }
}

/* Take a block of rows as number `slot` of those that are at work. */
static void
OF(take_rows)(const Attention *a, OF(Head) * h, int64_t head, int64_t row, int64_t slot)
{
    int64_t high = a->rows - row < TILE ? a->rows - row : TILE, place = slot * TILE;
    OF(pack_rows)(a, h->q_rows + place * a->pitch, h->q + row * a->width, a->width, high);
    OF(pack_rows)(a, h->g_rows + place * a->pitch, h->g + row * h->g_step, h->g_step, high);
    OF(find_inners)(a, h, row, high, h->inners + place);
    OF(draw_kept)(a, head, row, high, h->kept + place * a->columns);
}

/* The gradients of heads, or of every so-manieth block of rows of them: NOTE [Attention], 3. */
static void
OF(derive)(void *context, int64_t begin, int64_t end)
{
    Attention *a = context;
    int64_t wide = a->wide, width = a->width, pieces = (width + wide - 1) / wide;
    int64_t all = a->rows + 2 * a->columns, broad = (a->columns + wide - 1) / wide * wide;
    int64_t tall = OF(rows_at_work)(a), cleared = pieces * wide * (pieces > 1 ? broad : a->columns);
    int64_t sizes[] = {broad * width,
                       broad * width,
                       TILE * wide,
                       TILE * wide,
                       tall,
                       OF(room_kept)(a, tall),
                       broad * a->pitch + wide,
                       tall * a->pitch + wide,
                       tall * a->pitch + wide,
                       pieces * broad * wide,
                       pieces * broad * wide,
                       pieces * tall * wide};
    REAL *room[12];
    void *work = OF(rooms)(a, sizes, 12, room);
    OF(Head)
    h = {.keys = room[0],
         .values = room[1],
         .tile = room[2],
         .slope = room[3],
         .inners = room[4],
         .kept = (unsigned char *)room[5],
         .q_rows = room[7],
         .g_rows = room[8]};
    REAL *k_rows = room[6], *dk = room[9], *dv = room[10], *dq = room[11];
    int64_t gap = a->ranges * TILE, most = RANGE / TILE * gap;
    for (int64_t u = begin; work != NULL && u < end; u++) {
        int64_t head = u / a->ranges, part = u % a->ranges;
        REAL *to = a->ranges == 1 ? (REAL *)(a->made + place_of(a, &a->bent, head))
                                  : (REAL *)a->made + (part * a->heads + head) * all * width;
        int64_t step = a->ranges == 1 ? a->bent.down / (int64_t)sizeof(REAL) : width;
        OF(take_head)(a, head, &h);
        OF(pack_rows)(a, k_rows, h.q + a->rows * width, width, a->columns);
        memset(dk, 0, (size_t)cleared * sizeof(REAL));
        memset(dv, 0, (size_t)cleared * sizeof(REAL));
        for (int64_t first = part * TILE; first < a->rows; first += most) {
            int64_t last = a->rows - first < most ? a->rows : first + most;
            memset(dq, 0, (size_t)sizes[11] * sizeof(REAL));
            for (int64_t r = first, slot = 0; r < last; r += gap, slot++) {
                OF(take_rows)(a, &h, head, r, slot);
            }
            for (int64_t at = 0; at < a->columns; at += wide) {
                int64_t n = a->columns - at < wide ? a->columns - at : wide;
                REAL *to_keys = dk + at * pieces * wide, *to_values = dv + at * pieces * wide;
                for (int64_t r = first, place = 0; r < last; r += gap, place += TILE) {
                    int64_t high = a->rows - r < TILE ? a->rows - r : TILE;
                    if (OF(seen)(a, r + high - 1, at, n) == 0) {
                        continue;
                    }
                    OF(bend)(a, &h, head, r, place, at, n, (REAL)a->scale);
                    OF(gather_rows)(a, h.tile, true, n, high, h.g_rows + place * a->pitch,
                                    to_values, wide);
                    OF(gather_rows)(a, h.slope, true, n, high, h.q_rows + place * a->pitch, to_keys,
                                    wide);
                    OF(gather_rows)(a, h.slope, false, high, n, k_rows + at * a->pitch,
                                    dq + place * wide, tall);
                }
            }
            for (int64_t r = first, place = 0; r < last; r += gap, place += TILE) {
                int64_t high = a->rows - r < TILE ? a->rows - r : TILE;
                OF(put_rows)(a, dq + place * wide, tall, high, NULL, to + r * step, step);
            }
        }
        for (int64_t at = 0; at < a->columns; at += wide) {
            int64_t n = a->columns - at < wide ? a->columns - at : wide;
            REAL *to_keys = to + (a->rows + at) * step;
            OF(put_rows)(a, dk + at * pieces * wide, wide, n, NULL, to_keys, step);
            OF(put_rows)(a, dv + at * pieces * wide, wide, n, NULL, to_keys + a->columns * step,
                         step);
        }
    }
    free(work);
}

/* The gradients of a range of rows of one matrix of the bias: NOTE [Attention], 4. */
static void
OF(derive_bias)(void *context, int64_t begin, int64_t end)
{
    Attention *a = context;
    int64_t wide = a->wide, broad = (a->columns + wide - 1) / wide * wide;
    int64_t sizes[] = {broad * a->width, broad * a->width, TILE * wide, TILE * wide,
                       OF(room_kept)(a, TILE)};
    REAL *room[5], inners[TILE];
    void *work = OF(rooms)(a, sizes, 5, room);
    OF(Head)
    h = {.keys = room[0],
         .values = room[1],
         .tile = room[2],
         .slope = room[3],
         .kept = (unsigned char *)room[4],
         .inners = inners};
    int64_t size = a->bent.down == 0 ? a->columns : a->rows * a->columns;
    for (int64_t u = begin; work != NULL && u < end; u++) {
        int64_t from = u % a->ranges * RANGE, last = from + RANGE;
        last = a->ranges == 1 || last > a->rows ? a->rows : last;
        for (int64_t head = 0; head < a->heads; head++) {
            if (place_of(a, &a->bent, head) != u / a->ranges * size * (int64_t)sizeof(REAL)) {
                continue;
            }
            OF(take_head)(a, head, &h);
            for (int64_t r = from; r < last; r += TILE) {
                int64_t high = last - r < TILE ? last - r : TILE;
                OF(find_inners)(a, &h, r, high, h.inners);
                OF(draw_kept)(a, head, r, high, h.kept);
                for (int64_t at = 0; at < a->columns; at += wide) {
                    int64_t n = a->columns - at < wide ? a->columns - at : wide;
                    OF(bend)(a, &h, head, r, 0, at, n, 1);
                    for (int64_t i = 0; i < high; i++) {
                        REAL *to = (REAL *)(a->made + place_of(a, &a->bent, head) +
                                            (r + i) * a->bent.down) +
                                   at;
                        for (int64_t j = 0; j < n; j++) {
                            to[j] += h.slope[i * wide + j];
                        }
                    }
                }
            }
        }
    }
    free(work);
}
