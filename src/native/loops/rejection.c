/* Random numbers by rejection, from the words of the Mersenne Twister.

   NOTE [Rejection]
   1. How many words a number takes depends on what they are. So the numbers are drawn one after the
      other, and a state goes on by as many words as they took.
   2. `kernels/native/rejection.py` says what is drawn, and draws the same where this is not built.
*/

#ifndef RETROGRAD_REJECTION
#define RETROGRAD_REJECTION

#include "twister.c"

#include <math.h>

typedef struct {
    uint32_t *state;
    double *kept; /* the other number of a pair of normal ones, and whether there is one */
} Source;

static double
uniform(Source *from)
{
    uint32_t words[2];
    next_words(from->state, words, 2);
    return (double)long_of(words) * 0x1p-53;
}

static double
normal(Source *from)
{
    if (from->kept[1] != 0) {
        from->kept[1] = 0;
        return from->kept[0];
    }
    double angle = 2 * NPY_PI * uniform(from), radius = sqrt(-2 * log1p(-uniform(from)));
    from->kept[0] = radius * sin(angle);
    from->kept[1] = 1;
    return radius * cos(angle);
}

static double
log_gamma_number(Source *from, double a, double unused)
{
    double boost = 0;
    if (!(a > 0)) {
        return a == 0 ? -NPY_INFINITY : NPY_NAN;
    }
    if (a < 1) {
        boost = log1p(-uniform(from)) / a;
        a += 1;
    }
    double d = a - 1.0f / 3, c = 1 / sqrt(9 * d); /* a third in float32, as in PyTorch */
    for (;;) {
        double x, y;
        do {
            x = normal(from);
            y = 1 + c * x;
        } while (y <= 0);
        double v = y * y * y, u = 1 - uniform(from), square = x * x;
        if (u < 1 - 0.0331 * square * square || log(u) < 0.5 * square + d * (1 - v + log(v))) {
            return boost + log(d * v);
        }
    }
}

static double
poisson_number(Source *from, double rate, double unused)
{
    if (!(rate > 0 && isfinite(rate))) {
        return rate;
    }
    if (rate < 10) {
        double least = exp(-rate), product = uniform(from), count = 0;
        for (; product > least; product *= uniform(from)) {
            count += 1;
        }
        return count;
    }
    double log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    double inverse = 1.1239 + 1.1328 / (b - 3.4), quick = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = uniform(from) - 0.5, v = uniform(from), within = 0.5 - fabs(u);
        double k = floor((2 * a / within + b) * u + rate + 0.43);
        if (within >= 0.07 && v <= quick) {
            return k;
        }
        if (k >= 0 && (within >= 0.013 || v <= within) &&
            log(v) + log(inverse) - log(a / (within * within) + b) <=
                k * log_rate - rate - lgamma(k + 1)) {
            return k;
        }
    }
}

/* What Stirling's formula leaves of log(k!). */
static double
stirling_rest(double k)
{
    double next = k + 1;
    if (k < 10) {
        return lgamma(next) - (k + 0.5) * log(next) + next - 0.5 * log(2 * NPY_PI);
    }
    double square = next * next;
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / next;
}

static double
binomial_number(Source *from, double count, double p)
{
    if (isnan(count) || isnan(p)) {
        return NPY_NAN;
    }
    if (count <= 0 || p <= 0) {
        return 0;
    }
    if (p >= 1) {
        return count;
    }
    if (p > 0.5) {
        return count - binomial_number(from, count, 1 - p);
    }
    if (count * p < 10) {
        double step = log1p(-p), passed = ceil(log(uniform(from)) / step), found = 0;
        for (; passed <= count; passed += ceil(log(uniform(from)) / step)) {
            found += 1;
        }
        return found;
    }
    double spread = sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * spread;
    double a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5, quick = 0.92 - 4.2 / b;
    double odds = p / (1 - p), alpha = (2.83 + 5.1 / b) * spread, mode = floor((count + 1) * p);
    for (;;) {
        double u = uniform(from) - 0.5, v = uniform(from), within = 0.5 - fabs(u);
        double k = floor((2 * a / within + b) * u + c);
        if (k < 0 || k > count) {
            continue;
        }
        if (within >= 0.07 && v <= quick) {
            return k;
        }
        double most = (mode + 0.5) * log((mode + 1) / (odds * (count - mode + 1)));
        most += (count + 1) * log((count - mode + 1) / (count - k + 1));
        most += (k + 0.5) * log(odds * (count - k + 1) / (k + 1));
        most += stirling_rest(mode) + stirling_rest(count - mode);
        most -= stirling_rest(k) + stirling_rest(count - k);
        if (log(v * alpha / (a / (within * within) + b)) <= most) {
            return k;
        }
    }
}

static const struct {
    const char *name;
    double (*number)(Source *, double, double);
} rejected[] = {{"log_gamma", log_gamma_number},
                {"poisson", poisson_number},
                {"binomial", binomial_number},
                {NULL}};

/* `draw_rejected(state, kept, name, first, second, out)`: numbers of the distribution of that name
   for each of the parameters, of which there are two or one, twice. State and kept number go on. */
static PyObject *
draw_rejected(PyObject *module, PyObject *args)
{
    PyArrayObject *state, *arrays[4]; /* kept, first, second, out */
    const char *name;
    if (!PyArg_ParseTuple(args, "O!O!sO!O!O!", &PyArray_Type, &state, &PyArray_Type, &arrays[0],
                          &name, &PyArray_Type, &arrays[1], &PyArray_Type, &arrays[2],
                          &PyArray_Type, &arrays[3])) {
        return NULL;
    }
    int64_t count = PyArray_SIZE(arrays[3]);
    for (int i = 0; i < 4; i++) {
        if (!PyArray_ISCARRAY(arrays[i]) || PyArray_TYPE(arrays[i]) != NPY_DOUBLE ||
            PyArray_SIZE(arrays[i]) != (i == 0 ? 2 : count)) {
            return refuse("draw_rejected");
        }
    }
    int kind = 0;
    while (rejected[kind].name != NULL && strcmp(rejected[kind].name, name) != 0) {
        kind++;
    }
    if (!is_of_states(state, 1) || rejected[kind].name == NULL) {
        return refuse("draw_rejected");
    }
    Source from = {PyArray_DATA(state), PyArray_DATA(arrays[0])};
    const double *first = PyArray_DATA(arrays[1]), *second = PyArray_DATA(arrays[2]);
    double *out = PyArray_DATA(arrays[3]);
    Py_BEGIN_ALLOW_THREADS;
    for (int64_t i = 0; i < count; i++) {
        out[i] = rejected[kind].number(&from, first[i], second[i]);
    }
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

#endif
