/* Pooling for one type, REAL: NOTE [Windows] in `windows.c`. */

typedef struct {
    const Windows *windows;
    REAL *images, *results;
    int64_t *indices;
} OF(Pooling);

/* Maxima of some images, and where they are. */
static void
OF(max_windows)(void *context, int64_t begin, int64_t end)
{
    const OF(Pooling) *job = context;
    const Windows *w = job->windows;
    const Window *x = &w->axes[0], *y = &w->axes[1], *z = &w->axes[2];
    int64_t size = x->size * y->size * z->size, line = z->places;
    for (int64_t n = begin; n < end; n++) {
        const REAL *image = job->images + n * size;
        REAL *to = job->results + n * x->places * y->places * line;
        int64_t *where = job->indices + n * x->places * y->places * line;
        for (int64_t u = 0; u < x->places * y->places; u++, to += line, where += line) {
            Taps i = taps_inside(x, u / y->places), j = taps_inside(y, u % y->places);
            for (int64_t l = 0; l < line; l++) {
                to[l] = -INFINITY;
                where[l] = -1;
            }
            for (int64_t a = i.first; a < i.end; a++) {
                for (int64_t b = j.first; b < j.end; b++) {
                    int64_t row =
                        ((i.start + a * x->dilation) * y->size + j.start + b * y->dilation) *
                        z->size;
                    for (int64_t c = 0; c < z->kernel; c++) {
                        int64_t at = c * z->dilation - z->before, low, high;
                        places_inside(z, at, &low, &high);
                        for (int64_t l = low; l < high; l++) {
                            REAL value = image[row + at + l * z->stride];
                            bool better = (where[l] < 0) | (value > to[l]) | (value != value);
                            to[l] = better ? value : to[l];
                            where[l] = better ? row + at + l * z->stride : where[l];
                        }
                    }
                }
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
                        for (int64_t c = 0; c < z->kernel; c++) {
                            int64_t at = c - z->before, low, high;
                            places_inside(z, at, &low, &high);
                            low = low > first ? low : first;
                            high = high < last ? high : last;
                            for (int64_t l = low; l < high; l++) {
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
                        for (int64_t c = 0; c < z->kernel; c++) {
                            int64_t at = c - z->before, low, high;
                            places_inside(z, at, &low, &high);
                            low = low > first ? low : first;
                            high = high < last ? high : last;
                            for (int64_t l = low; l < high; l++) {
                                row[at + l * z->stride] += shares[l - first];
                            }
                        }
                    }
                }
            }
        }
    }
}
