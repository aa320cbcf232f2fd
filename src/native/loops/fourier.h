/* Fourier transforms of as many lines at once as a vector has lanes, for one type and one kind of
   processor: included beside `multiply.h`, with the same macros. See NOTE [Lines as lanes] in
   `transforms.c`.
*/

typedef REAL NAME(Across) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
#define VECTOR NAME(Across)
#define SIZE ((int64_t)sizeof(REAL))
#define LANES ((int)(BYTES / SIZE))
#define INLINE static inline __attribute__((always_inline)) TARGET

/* A point of each line. */
typedef struct {
    VECTOR re, im;
} NAME(Point);
#define POINT NAME(Point)

INLINE POINT
NAME(plus)(POINT a, POINT b)
{
    return (POINT){a.re + b.re, a.im + b.im};
}

INLINE POINT
NAME(minus)(POINT a, POINT b)
{
    return (POINT){a.re - b.re, a.im - b.im};
}

/* a + b c, for a real c. */
INLINE POINT
NAME(plus_times)(POINT a, POINT b, REAL c)
{
    return (POINT){a.re + b.re * c, a.im + b.im * c};
}

/* a + i c b, for a real c. */
INLINE POINT
NAME(plus_turned)(POINT a, POINT b, REAL c)
{
    return (POINT){a.re - b.im * c, a.im + b.re * c};
}

INLINE POINT
NAME(times)(POINT a, const REAL *root)
{
    return (POINT){a.re * root[0] - a.im * root[1], a.re * root[1] + a.im * root[0]};
}

/* The transform of `radix` points, in place: 2, 3, 4 or 5. */
INLINE void
NAME(butterfly)(const int radix, POINT *a)
{
    if (radix == 2) {
        POINT sum = NAME(plus)(a[0], a[1]);
        a[1] = NAME(minus)(a[0], a[1]);
        a[0] = sum;
    }
    else if (radix == 4) {
        POINT even = NAME(plus)(a[0], a[2]), second = NAME(minus)(a[0], a[2]);
        POINT odd = NAME(plus)(a[1], a[3]), fourth = NAME(minus)(a[1], a[3]);
        a[0] = NAME(plus)(even, odd);
        a[1] = NAME(plus_turned)(second, fourth, -1);
        a[2] = NAME(minus)(even, odd);
        a[3] = NAME(plus_turned)(second, fourth, 1);
    }
    else if (radix == 3) {
        POINT sum = NAME(plus)(a[1], a[2]), apart = NAME(minus)(a[1], a[2]);
        POINT middle = NAME(plus_times)(a[0], sum, (REAL)-0.5);
        a[0] = NAME(plus)(a[0], sum);
        a[1] = NAME(plus_turned)(middle, apart, (REAL)-0.86602540378443864676);
        a[2] = NAME(plus_turned)(middle, apart, (REAL)0.86602540378443864676);
    }
    else {
        const REAL c1 = (REAL)0.30901699437494742410, c2 = (REAL)-0.80901699437494742410;
        const REAL s1 = (REAL)0.95105651629515357212, s2 = (REAL)0.58778525229247312917;
        POINT near = NAME(plus)(a[1], a[4]), near_apart = NAME(minus)(a[1], a[4]);
        POINT far = NAME(plus)(a[2], a[3]), far_apart = NAME(minus)(a[2], a[3]);
        POINT first = NAME(plus_times)(NAME(plus_times)(a[0], near, c1), far, c2);
        POINT second = NAME(plus_times)(NAME(plus_times)(a[0], near, c2), far, c1);
        a[0] = NAME(plus)(NAME(plus)(a[0], near), far);
        a[1] = NAME(plus_turned)(NAME(plus_turned)(first, near_apart, -s1), far_apart, -s2);
        a[4] = NAME(plus_turned)(NAME(plus_turned)(first, near_apart, s1), far_apart, s2);
        a[2] = NAME(plus_turned)(NAME(plus_turned)(second, near_apart, -s2), far_apart, s1);
        a[3] = NAME(plus_turned)(NAME(plus_turned)(second, near_apart, s2), far_apart, -s1);
    }
}

/* A pass of Stockham's algorithm: what stands at x[j][p][q], of shape (radix, m, s), is transformed
   along j, turned, and goes to y[p][j][q]. `turn` is how many roots further the next one is. */
INLINE void
NAME(pass)(const int radix, const POINT *x, POINT *y, int64_t m, int64_t s, const REAL *roots,
           int64_t turn)
{
    POINT a[5];
    for (int64_t p = 0; p < m; p++, x += s, y += radix * s) {
        for (int64_t q = 0; q < s; q++) {
#pragma GCC unroll 5
            for (int j = 0; j < radix; j++) {
                a[j] = x[m * s * j + q];
            }
            NAME(butterfly)(radix, a);
            y[q] = a[0];
#pragma GCC unroll 5
            for (int j = 1; j < radix; j++) {
                y[s * j + q] = p == 0 ? a[j] : NAME(times)(a[j], roots + 2 * p * j * turn);
            }
        }
    }
}

/* All passes over n points at x, with y as room; where the result is. `turn` roots of `roots` are a
   turn by 1 / n. */
TARGET static POINT *
NAME(passes)(POINT *x, POINT *y, int64_t n, const REAL *roots, int64_t turn)
{
    for (int64_t s = 1, m = n; m > 1;) {
        int radix = m % 4 == 0 ? 4 : m % 2 == 0 ? 2 : m % 3 == 0 ? 3 : 5;
        m /= radix;
        switch (radix) {
        case 4:
            NAME(pass)(4, x, y, m, s, roots, s * turn);
            break;
        case 2:
            NAME(pass)(2, x, y, m, s, roots, s * turn);
            break;
        case 3:
            NAME(pass)(3, x, y, m, s, roots, s * turn);
            break;
        default:
            NAME(pass)(5, x, y, m, s, roots, s * turn);
        }
        s *= radix;
        POINT *other = x;
        x = y;
        y = other;
    }
    return x;
}

/* Every second block of `s` lanes of two vectors, in turns: the first ones, or the second ones. */
INLINE VECTOR
NAME(blocks)(VECTOR a, VECTOR b, const int s, const bool second)
{
    VECTOR found;
#pragma GCC unroll 16
    for (int l = 0; l < LANES; l++) {
        found[l] = (l & s) == 0 ? a[second ? l + s : l] : b[second ? l : l - s];
    }
    return found;
}

/* A square of numbers, transposed. */
INLINE void
NAME(transpose)(VECTOR *rows)
{
#pragma GCC unroll 4
    for (int s = LANES / 2; s > 0; s /= 2) {
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) {
            if ((i & s) == 0) {
                VECTOR first = NAME(blocks)(rows[i], rows[i + s], s, false);
                rows[i + s] = NAME(blocks)(rows[i], rows[i + s], s, true);
                rows[i] = first;
            }
        }
    }
}

/* n points of each line: their parts are `part` bytes apart, the next point is `step` bytes away. The
   two parts change places if `swap`. Lines that lie side by side, `wide` numbers apart, are read as
   vectors; lines without gaps as squares. */
INLINE void
NAME(read)(char *const *lines, int n, int64_t step, int64_t part, const int wide, const bool swap,
           POINT *x)
{
    int p = 0;
    for (; wide > 0 && p < n; p++) {
        const REAL *first = (const REAL *)(lines[0] + p * step);
        const REAL *second = wide == 2 ? first + 1 : (const REAL *)((const char *)first + part);
        REAL *re = (REAL *)(swap ? &x[p].im : &x[p].re), *im = (REAL *)(swap ? &x[p].re : &x[p].im);
        for (int l = 0; l < LANES; l++) {
            re[l] = first[wide * l];
            im[l] = second[wide * l];
        }
    }
    bool packed = step == 2 * SIZE && part == SIZE;
    for (; packed && n - p >= LANES / 2; p += LANES / 2) {
        VECTOR rows[LANES];
#pragma GCC unroll 16
        for (int l = 0; l < LANES; l++) {
            rows[l] = *(const VECTOR *)(lines[l] + p * step);
        }
        NAME(transpose)(rows);
#pragma GCC unroll 16
        for (int l = 0; l < LANES; l += 2) {
            x[p + l / 2] = (POINT){rows[l + swap], rows[l + !swap]};
        }
    }
    for (; p < n; p++) {
        for (int l = 0; l < LANES; l++) {
            const char *place = lines[l] + p * step;
            (swap ? &x[p].im : &x[p].re)[0][l] = *(const REAL *)place;
            (swap ? &x[p].re : &x[p].im)[0][l] = *(const REAL *)(place + part);
        }
    }
}

/* The reverse of `read`, for the first `count` lines, times a factor. */
INLINE void
NAME(write)(char *const *lines, int count, int n, int64_t step, int64_t part, const int wide,
            const bool swap, REAL factor, const POINT *x)
{
    int p = 0;
    for (; wide > 0 && p < n; p++) {
        REAL *first = (REAL *)(lines[0] + p * step);
        REAL *second = wide == 2 ? first + 1 : (REAL *)((char *)first + part);
        VECTOR re = (swap ? x[p].im : x[p].re) * factor, im = (swap ? x[p].re : x[p].im) * factor;
        for (int l = 0; l < LANES; l++) {
            first[wide * l] = re[l];
            second[wide * l] = im[l];
        }
    }
    bool packed = step == 2 * SIZE && part == SIZE && count == LANES;
    for (; packed && n - p >= LANES / 2; p += LANES / 2) {
        VECTOR rows[LANES];
#pragma GCC unroll 16
        for (int l = 0; l < LANES; l += 2) {
            rows[l + swap] = x[p + l / 2].re * factor;
            rows[l + !swap] = x[p + l / 2].im * factor;
        }
        NAME(transpose)(rows);
#pragma GCC unroll 16
        for (int l = 0; l < LANES; l++) {
            *(VECTOR *)(lines[l] + p * step) = rows[l];
        }
    }
    for (; p < n; p++) {
        for (int l = 0; l < count; l++) {
            char *place = lines[l] + p * step;
            *(REAL *)place = (swap ? x[p].im : x[p].re)[l] * factor;
            *(REAL *)(place + part) = (swap ? x[p].re : x[p].im)[l] * factor;
        }
    }
}

/* The half spectrum of 2 n real numbers from the transform z of n pairs of them, into y. */
INLINE void
NAME(unfold)(const POINT *z, POINT *y, int n, const REAL *roots)
{
    for (int k = 0; k <= n; k++) {
        POINT a = z[k == n ? 0 : k], b = z[k == 0 ? 0 : n - k];
        b.im = -b.im;
        POINT even = NAME(plus)(a, b), odd = NAME(times)(NAME(minus)(a, b), roots + 2 * k);
        y[k] = NAME(plus_turned)(even, odd, -1);
        y[k].re *= (REAL)0.5;
        y[k].im *= (REAL)0.5;
    }
}

/* The reverse: twice the transform of pairs, its parts swapped, from a half spectrum. */
INLINE void
NAME(fold)(POINT *half, POINT *z, int n, const REAL *roots)
{
    half[0].im = half[n].im = (VECTOR){0};
    for (int k = 0; k < n; k++) {
        POINT a = half[k], b = half[n - k];
        b.im = -b.im;
        const REAL back[] = {roots[2 * k], -roots[2 * k + 1]};
        POINT even = NAME(plus)(a, b), odd = NAME(times)(NAME(minus)(a, b), back);
        POINT pair = NAME(plus_turned)(even, odd, 1);
        z[k] = (POINT){pair.im, pair.re};
    }
}

/* How many numbers apart lines are whose points can be read as vectors, or 0. */
INLINE int
NAME(side_by_side)(char *const *lines, int wide)
{
    for (int l = 1; l < LANES; l++) {
        if (lines[l] - lines[0] != l * wide * SIZE) {
            return 0;
        }
    }
    return wide;
}

#define READ(n, step, part, wide, swap, x)                                                         \
    (NAME(side_by_side)(from, wide) ? NAME(read)(from, n, step, part, wide, swap, x)               \
                                    : NAME(read)(from, n, step, part, 0, swap, x))
#define WRITE(n, step, part, wide, swap, x)                                                        \
    (NAME(side_by_side)(to, wide) ? NAME(write)(to, count, n, step, part, wide, swap, factor, x)   \
                                  : NAME(write)(to, count, n, step, part, 0, swap, factor, x))

/* The transforms of `count` lines; there are pointers for as many as there are lanes. */
TARGET static void
NAME(transform_lines)(const Lines *job, char *const *from, char *const *to, int count, void *room)
{
    int n = job->n;
    int64_t from_step = job->from_step, to_step = job->to_step;
    POINT *x = room, *y = x + n + 1;
    const REAL *roots = job->roots, factor = (REAL)job->factor;
    switch (job->kind) {
    case TO_WHOLE:
        READ(n, from_step, SIZE, 2, false, x);
        x = NAME(passes)(x, y, n, roots, 1);
        WRITE(n, to_step, SIZE, 2, false, x);
        break;
    case FROM_WHOLE:
        READ(n, from_step, SIZE, 2, true, x);
        x = NAME(passes)(x, y, n, roots, 1);
        WRITE(n, to_step, SIZE, 2, true, x);
        break;
    case TO_HALF:
        READ(n, 2 * from_step, from_step, 1, false, x);
        x = NAME(passes)(x, y, n, roots, 2);
        y = x == y ? room : y;
        NAME(unfold)(x, y, n, roots);
        WRITE(n + 1, to_step, SIZE, 2, false, y);
        break;
    default:
        READ(n + 1, from_step, SIZE, 2, false, x);
        NAME(fold)(x, y, n, roots);
        x = NAME(passes)(y, x, n, roots, 2);
        WRITE(n, 2 * to_step, to_step, 1, true, x);
    }
}

#undef READ
#undef WRITE
#undef POINT
#undef VECTOR
#undef SIZE
#undef LANES
#undef INLINE
