/* What attention does with a row of scores, for one type and one kind of processor.

   Included beside `multiply.h`, with the same macros. Exponentials are good to two units in the last
   place, of numbers that are not positive; what would be subnormal is 0.
*/

typedef REAL NAME(Floats) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
typedef __typeof__(__builtin_choose_expr(sizeof(REAL) == 4, (int32_t)0, (int64_t)0)) NAME(Whole);
typedef NAME(Whole) NAME(Bits) __attribute__((vector_size(BYTES)));
#define VECTOR NAME(Floats)
#define BITS NAME(Bits)
#define LANES ((int64_t)(BYTES / sizeof(REAL)))
#define INLINE static inline __attribute__((always_inline)) TARGET

INLINE VECTOR
NAME(chosen)(BITS condition, VECTOR yes, VECTOR no)
{
    return (VECTOR)(((BITS)yes & condition) | ((BITS)no & ~condition));
}

/* e**x: x = n log(2) + r, and a polynomial in r, that of `mathematics/polynomials.py`. */
INLINE VECTOR
NAME(power)(VECTOR x)
{
    const bool single = sizeof(REAL) == sizeof(float);
    const REAL magic = (REAL)(single ? 0x1.8p23 : 0x1.8p52); /* added, it rounds to an integer */
    BITS none = (BITS)(x < (REAL)(single ? -87.0 : -708.0));
    x = NAME(chosen)(none, (VECTOR){0}, x);
    VECTOR moved = x * (REAL)1.4426950408889634 + magic, n = moved - magic, series;
    VECTOR r = x - n * (REAL)(single ? 0.693145751953125 : 0.6931471805598903);
    r = r - n * (REAL)(single ? 1.428606765330187e-06 : 5.497923018708371e-14);
    if (single) {
        series = r * (REAL)0.0001982378016691655 + (REAL)0.0013934136368334293;
        series = series * r + (REAL)0.008333423174917698;
        series = series * r + (REAL)0.04166647419333458;
        series = series * r + (REAL)0.1666666567325592;
    }
    else {
        series = r * (REAL)2.0878834550893175e-09 + (REAL)2.510980883859656e-08;
        series = series * r + (REAL)2.7557390163572606e-07;
        series = series * r + (REAL)2.755724233590282e-06;
        series = series * r + (REAL)2.480158719148184e-05;
        series = series * r + (REAL)0.00019841269887585681;
        series = series * r + (REAL)0.0013888888888947276;
        series = series * r + (REAL)0.008333333333321251;
        series = series * r + (REAL)0.04166666666666657;
        series = series * r + (REAL)0.16666666666666677;
    }
    VECTOR found = (series * r + (REAL)0.5) * (r * r) + r + (REAL)1;
    BITS exponent = ((BITS)moved + (single ? 127 : 1023)) << (single ? 23 : 52);
    return NAME(chosen)(none, (VECTOR){0}, found * (VECTOR)exponent);
}

/* row = row * scale + bias, `n` elements of it, and -inf in the rest of the last vector. */
INLINE void
NAME(scores)(REAL *row, const REAL *bias, REAL scale, int64_t n)
{
    for (int64_t j = 0; bias == NULL && j < n; j++) {
        row[j] = row[j] * scale;
    }
    for (int64_t j = 0; bias != NULL && j < n; j++) {
        row[j] = row[j] * scale + bias[j];
    }
    for (int64_t j = n; j % LANES != 0; j++) {
        row[j] = -(REAL)INFINITY;
    }
}

/* A row of products as exponentials of scores, measured from the largest so far, which is in `top`;
   their sum. Zeros if all are -inf. */
TARGET static double
NAME(shares)(REAL *row, const REAL *bias, REAL scale, int64_t n, REAL *top)
{
    VECTOR best = (VECTOR){0} - (REAL)INFINITY, sum = {0};
    BITS odd = {0};
    REAL most = *top;
    bool nan = false;
    double total = 0;
    NAME(scores)(row, bias, scale, n);
    for (int64_t j = 0; j < n; j += LANES) {
        VECTOR x = *(VECTOR *)(row + j);
        best = NAME(chosen)((BITS)(x > best), x, best);
        odd |= (BITS)(x != x);
    }
    for (int i = 0; i < LANES; i++) {
        most = best[i] > most ? best[i] : most;
        nan = nan || odd[i] != 0;
    }
    most = nan ? (REAL)NAN : most;
    *top = most;
    most = most == -(REAL)INFINITY ? 0 : most;
    for (int64_t j = 0; j < n; j += LANES) {
        VECTOR x = NAME(power)(*(VECTOR *)(row + j) - most);
        *(VECTOR *)(row + j) = x;
        sum += x;
    }
    for (int i = 0; i < LANES; i++) {
        total += sum[i];
    }
    return total;
}

/* A row of products as weights, and the gradient of weights as that of scores, times `factor`: `top`,
   `inverse` and `inner` are the row's largest score, 1 / sum, and the inner product of weights and
   gradient. */
TARGET static void
NAME(slopes)(REAL *row, REAL *slope, const REAL *bias, REAL scale, int64_t n, REAL top,
             REAL inverse, REAL inner, REAL factor)
{
    NAME(scores)(row, bias, scale, n);
    for (int64_t j = 0; j < n; j += LANES) {
        VECTOR weights = NAME(power)(*(VECTOR *)(row + j) - top) * inverse;
        *(VECTOR *)(row + j) = weights;
        *(VECTOR *)(slope + j) = weights * (*(VECTOR *)(slope + j) - inner) * factor;
    }
}

#undef VECTOR
#undef BITS
#undef LANES
#undef INLINE
