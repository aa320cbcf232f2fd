/* Triangular systems for one type: included once for each, with REAL and OF(name). */

/* panel[i * wide + c] = from[i * down + c * right], zeros beyond `count` columns. */
static void
OF(pack_panel)(const Triangles *t, REAL *panel, const REAL *from, int64_t count)
{
    int64_t down = t->from.down, right = t->from.right;
    for (int64_t c = 0; c < t->wide; c += STRIP, panel += STRIP, from += STRIP * right) {
        for (int64_t i = 0; i < t->n && count - c >= STRIP; i++) {
            for (int64_t e = 0; e < STRIP; e++) {
                panel[i * t->wide + e] = from[i * down + e * right];
            }
        }
        for (int64_t i = 0; i < t->n && count - c < STRIP; i++) {
            for (int64_t e = 0; e < STRIP; e++) {
                panel[i * t->wide + e] = e < count - c ? from[i * down + e * right] : 0;
            }
        }
    }
}

/* to[i * down + c * right] = -panel[i * wide + c] of `count` columns. */
static void
OF(unpack_panel)(const Triangles *t, const REAL *panel, REAL *to, int64_t count)
{
    int64_t down = t->to.down, right = t->to.right;
    for (int64_t c = 0; c < count; c += STRIP, panel += STRIP, to += STRIP * right) {
        for (int64_t i = 0; i < t->n && count - c >= STRIP; i++) {
            for (int64_t e = 0; e < STRIP; e++) {
                to[i * down + e * right] = -panel[i * t->wide + e];
            }
        }
        for (int64_t i = 0; i < t->n && count - c < STRIP; i++) {
            for (int64_t e = 0; e < count - c; e++) {
                to[i * down + e * right] = -panel[i * t->wide + e];
            }
        }
    }
}

/* Overwrite a panel by what solves its system, with its sign turned. */
static void
OF(solve_panel)(const Triangles *t, const REAL *a, REAL *panel, int64_t columns)
{
    int64_t n = t->n, down = t->a.down, wide = t->wide;
    for (int64_t done = 0; done < n; done += BLOCK_ROWS) {
        int64_t rows = n - done < BLOCK_ROWS ? n - done : BLOCK_ROWS;
        int64_t first = t->upper ? n - done - rows : done;
        OF(kernels.rows)(a + first * down, down, rows, t->taps + (t->upper ? n - done : 0), done,
                         panel, columns, panel + first * wide);
        for (int64_t r = 0; r < rows; r++) {
            int64_t i = t->upper ? first + rows - 1 - r : first + r;
            REAL *row = panel + i * wide, factor = t->unit ? -1 : -1 / a[i * (down + t->a.right)];
            OF(kernels.rows)(a + i * down, down, 1, t->taps + (t->upper ? i + 1 : first), r, panel,
                             columns, row);
            for (int64_t c = 0; c < columns; c++) {
                row[c] *= factor;
            }
        }
    }
}

static void
OF(solve_panels)(void *context, int64_t begin, int64_t end)
{
    Triangles *t = context;
    void *room = take_room((size_t)(t->n * t->wide) * sizeof(REAL));
    if (room == NULL) {
        t->failed = true;
        return;
    }
    REAL *panel = aligned(room);
    for (int64_t u = begin; u < end; u++) {
        int64_t at = u % t->panels * t->wide, number = u / t->panels;
        int64_t columns = t->columns - at < t->wide ? t->columns - at : t->wide;
        const REAL *from = matrix_of(t, &t->from, number), *a = matrix_of(t, &t->a, number);
        OF(pack_panel)(t, panel, from + at * t->from.right, columns);
        OF(solve_panel)(t, a, panel, columns);
        OF(unpack_panel)(t, panel, (REAL *)matrix_of(t, &t->to, number) + at * t->to.right,
                         columns);
    }
    give_room(room);
}
