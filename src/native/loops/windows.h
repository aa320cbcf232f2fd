/* Pooling for one type, REAL: NOTE [Windows] in `windows.c`. */

typedef struct {
    const Windows *windows;
    REAL *images, *results;
    int64_t *indices;
} OF(Pooling);

typedef REAL OF(Few) __attribute__((vector_size(16)));
typedef WHOLE OF(Places) __attribute__((vector_size(16)));

/* Let one tap, which is at `place` for window 0, compete for the maxima of `n` windows, whose elements
   are `stride` apart. */
static inline __attribute__((always_inline)) void
OF(compete)(REAL *best, int32_t *winner, const REAL *values, int64_t stride, int64_t n,
            int32_t place)
{
    for (int64_t l = 0; l < n; l++) {
        REAL value = values[l * stride];
        bool better = (winner[l] == NOBODY) | (value > best[l]) | (value != value);
        best[l] = better ? value : best[l];
        winner[l] = better ? place : winner[l];
    }
}

/* The maxima of the few windows from `first` on whose taps are all inside along the last axis: they
   stay in registers. */
static inline __attribute__((always_inline)) void
OF(max_few)(const Windows *w, const REAL *image, REAL *to, int64_t *where, Taps i, Taps j,
            int64_t first, int64_t stride)
{
    const Window *x = &w->axes[0], *y = &w->axes[1], *z = &w->axes[2];
    OF(Few) best = {0}, values = {0};
    OF(Places) winner = {0};
    winner += NOBODY;
    best -= INFINITY;
    for (int64_t a = i.first; a < i.end; a++) {
        for (int64_t b = j.first; b < j.end; b++) {
            int64_t row = (i.start + a * x->dilation) * y->size + j.start + b * y->dilation;
            int64_t place = row * z->size - z->before;
            for (int64_t c = 0; c < z->kernel; c++, place += z->dilation) {
                const REAL *from = image + place + first * stride;
                for (int l = 0; l < OF(FEW); l++) {
                    values[l] = from[l * stride];
                }
                OF(Places) better = (winner == NOBODY) | (values > best) | (values != values);
                best = (OF(Few))(((OF(Places))values & better) | ((OF(Places))best & ~better));
                winner = ((WHOLE)place & better) | (winner & ~better);
            }
        }
    }
    for (int l = 0; l < OF(FEW); l++) {
        to[first + l] = best[l];
        where[first + l] = winner[l] == NOBODY ? -1 : winner[l] + (first + l) * stride;
    }
}

/* The maxima of the windows from `begin` to below `end`, of a line, of which at most AT_ONCE are
   looked at together. */
static void
OF(max_some)(const Windows *w, const REAL *image, REAL *to, int64_t *where, Taps i, Taps j,
             int64_t begin, int64_t end)
{
    const Window *x = &w->axes[0], *y = &w->axes[1], *z = &w->axes[2];
    for (int64_t first = begin; first < end; first += AT_ONCE) {
        int64_t n = end - first < AT_ONCE ? end - first : AT_ONCE;
        int32_t winner[AT_ONCE];
        for (int64_t l = 0; l < n; l++) {
            winner[l] = NOBODY;
            to[first + l] = -INFINITY;
        }
        for (int64_t a = i.first; a < i.end; a++) {
            for (int64_t b = j.first; b < j.end; b++) {
                int64_t row = (i.start + a * x->dilation) * y->size + j.start + b * y->dilation;
                for (int64_t c = z->low; c < z->high; c++) {
                    int64_t at = c * z->dilation - z->before;
                    int32_t place = (int32_t)(row * z->size + at);
                    Inside found = places_inside(z, at, first, first + n);
                    int64_t low = found.low, high = found.high;
                    const REAL *values = image + row * z->size + at + low * z->stride;
                    REAL *best = to + low;
                    OF(compete)(best, winner + low - first, values, z->stride, high - low, place);
                }
            }
        }
        for (int64_t l = 0; l < n; l++) {
            where[first + l] = winner[l] == NOBODY ? -1 : winner[l] + (first + l) * z->stride;
        }
    }
}

/* The maxima of a line of windows, of which those in the `middle` have all taps inside. */
static inline __attribute__((always_inline)) void
OF(max_line)(const Windows *w, const REAL *image, REAL *to, int64_t *where, Taps i, Taps j,
             Inside middle, int64_t stride)
{
    int64_t last = middle.high - OF(FEW); /* the last few may have been among those before */
    for (int64_t first = middle.low; first < middle.high; first += OF(FEW)) {
        OF(max_few)(w, image, to, where, i, j, first < last ? first : last, stride);
    }
    OF(max_some)(w, image, to, where, i, j, 0, middle.low);
    OF(max_some)(w, image, to, where, i, j, middle.high, w->axes[2].places);
}

/* Maxima of some images, and where they are. */
static void
OF(max_windows)(void *context, int64_t begin, int64_t end)
{
    const OF(Pooling) *job = context;
    const Windows *w = job->windows;
    const Window *x = &w->axes[0], *y = &w->axes[1], *z = &w->axes[2];
    int64_t size = x->size * y->size * z->size, lines = x->places * y->places;
    Inside middle = places_inside(z, -z->before, 0, z->places);
    int64_t far = (z->kernel - 1) * z->dilation - z->before;
    middle.high = places_inside(z, far, 0, z->places).high;
    int64_t count = middle.high - middle.low;
    if (count < OF(FEW) || count > 6 * OF(FEW)) { /* longer lines are quicker tap by tap */
        middle.low = middle.high = z->places;
    }
    for (int64_t n = begin; n < end; n++) {
        const REAL *image = job->images + n * size;
        for (int64_t u = 0; u < lines; u++) {
            REAL *to = job->results + (n * lines + u) * z->places;
            int64_t *where = job->indices + (n * lines + u) * z->places;
            Taps i = taps_inside(x, u / y->places), j = taps_inside(y, u % y->places);
            if (z->stride == 1) {
                OF(max_line)(w, image, to, where, i, j, middle, 1);
            }
            else if (z->stride == 2) {
                OF(max_line)(w, image, to, where, i, j, middle, 2);
            }
            else {
                OF(max_line)(w, image, to, where, i, j, middle, z->stride);
            }
        }
    }
}

/* Sums over the windows of some images, each divided. */
static void
OF(mean_windows)(void *context, int64_t begin, int64_t end)
{
    const OF(Pooling) *job = context;
    const Windows *w = job->windows;
    const Window *x = &w->axes[0], *y = &w->axes[1], *z = &w->axes[2];
    int64_t size = x->size * y->size * z->size, line = z->places;
    for (int64_t n = begin; n < end; n++) {
        const REAL *image = job->images + n * size;
        REAL *to = job->results + n * x->places * y->places * line;
        for (int64_t u = 0; u < x->places * y->places; u++, to += line) {
            Taps i = taps_inside(x, u / y->places), j = taps_inside(y, u % y->places);
            int64_t outside = counted_outside(w, u / y->places, u % y->places);
            for (int64_t first = 0; first < line; first += AT_ONCE) {
                int64_t last = first + AT_ONCE < line ? first + AT_ONCE : line;
                double sums[AT_ONCE] = {0};
                for (int64_t a = i.first; a < i.end; a++) {
                    for (int64_t b = j.first; b < j.end; b++) {
                        const REAL *row = image + ((i.start + a) * y->size + j.start + b) * z->size;
                        for (int64_t c = z->low; c < z->high; c++) {
                            int64_t at = c - z->before;
                            Inside found = places_inside(z, at, first, last);
                            for (int64_t l = found.low; l < found.high; l++) {
                                sums[l - first] += row[at + l * z->stride];
                            }
                        }
                    }
                }
                for (int64_t l = first; l < last; l++) {
                    to[l] = (REAL)(sums[l - first] / divisor(w, outside, l));
                }
            }
        }
    }
}

/* Each result, divided, added to the elements of its window. */
static void
OF(spread_windows)(void *context, int64_t begin, int64_t end)
{
    const OF(Pooling) *job = context;
    const Windows *w = job->windows;
    const Window *x = &w->axes[0], *y = &w->axes[1], *z = &w->axes[2];
    int64_t size = x->size * y->size * z->size, line = z->places;
    for (int64_t n = begin; n < end; n++) {
        REAL *image = job->images + n * size;
        const REAL *from = job->results + n * x->places * y->places * line;
        memset(image, 0, (size_t)size * sizeof(REAL));
        for (int64_t u = 0; u < x->places * y->places; u++, from += line) {
            Taps i = taps_inside(x, u / y->places), j = taps_inside(y, u % y->places);
            int64_t outside = counted_outside(w, u / y->places, u % y->places);
            for (int64_t first = 0; first < line; first += AT_ONCE) {
                int64_t last = first + AT_ONCE < line ? first + AT_ONCE : line;
                REAL shares[AT_ONCE];
                for (int64_t l = first; l < last; l++) {
                    REAL by = (REAL)divisor(w, outside, l);
                    shares[l - first] = from[l] / by;
                }
                for (int64_t a = i.first; a < i.end; a++) {
                    for (int64_t b = j.first; b < j.end; b++) {
                        REAL *row = image + ((i.start + a) * y->size + j.start + b) * z->size;
                        for (int64_t c = z->low; c < z->high; c++) {
                            int64_t at = c - z->before;
                            Inside found = places_inside(z, at, first, last);
                            for (int64_t l = found.low; l < found.high; l++) {
                                row[at + l * z->stride] += shares[l - first];
                            }
                        }
                    }
                }
            }
        }
    }
}
