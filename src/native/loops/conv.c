/* Convolutions of one to three dimensions: what `kernels/convolution.py` computes.

   NOTE [Convolution]
   1. All three passes are one thing, a correlation of a source with a kernel: the result at place u
      is the sum over channels and taps of a weight times the source at (u + shift) * step + phase.
      Forward, the source is the images and step the stride. For the gradient of the images the source
      is the gradient, step is 1, and images are made phase by phase: those of one remainder modulo the
      stride get their own few taps. So nothing is scattered, and zeros are not multiplied.
   2. A block of images is laid out with zeros around it and each phase for itself: then what one tap
      reads, for all places at once, is one row of a matrix, in memory already, and rows of different
      taps overlap (NOTE [Products]). Places between the lines of the result are computed, too, and
      dropped.
   3. Where these would be many, in small images, each tap's row is written out instead (`compact`).
      A source that is laid out like this by nature, under a kernel of one tap, is read where it is.
   4. For the gradient of the weight the same rows are multiplied with the gradient, which has zeros
      at the places between. An infinite element times such a zero gives NaN where there is none; so
      whoever finds NaN in the result computes it in another way.
      Of small images the columns of the matrix are written out, instead, and positions summed over.
   5. Blocks take BLOCK bytes or one image's slice, so that they stay in the cache. Within a block,
      threads lay out channels, then share out the results. No sum is divided among threads.
*/

#include "multiply.c"
#include "pool.c"
#include "room.c"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { AXES = 3, BLOCK = 1 << 20, RUN = 2048, OUTPUTS = 64, WORK = 1 << 20, BYTES_EACH = 1 << 16 };

typedef struct {
    int64_t size, step, places, taps;
    int64_t low, span, phases;    /* the least shift, how far they go, how many phases are used */
    int64_t out_step, out_start;  /* where the results go */
    int64_t *shift, *phase, *tap; /* of each tap: its phase by number, its place in the kernel */
    int64_t *value;               /* of each phase */
} Axis;

typedef struct {
    Axis axes[AXES];
    int64_t images, groups, channels, outputs; /* the last two per group */
    int64_t kernel[AXES], size[AXES];          /* the kernel's sizes, and those of the result */
    int64_t taps, terms;                       /* terms of one sum: channels * taps */
    bool compact;
    /* the block */
    int64_t first, count;        /* images */
    int64_t from[AXES], m[AXES]; /* places of the result */
    int64_t extent[AXES];        /* of the buffer for one image, one phase */
    int64_t image, length;       /* elements of an image, of all: positions run over the latter */
    int64_t per_channel;         /* elements of the buffer for a channel */
    Tap *table; /* of all terms; once more for the last tile of what is read where it is */
    int64_t *rows;
} Plan;

static int64_t
floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* An axis with room for `kernel` taps, in memory that it owns. */
static bool
new_axis(Axis *axis, int64_t kernel, int64_t size)
{
    *axis = (Axis){.size = size, .step = 1, .out_step = 1};
    axis->shift = malloc(4 * (size_t)kernel * sizeof(int64_t) + 1);
    if (axis->shift == NULL) {
        return false;
    }
    axis->phase = axis->shift + kernel;
    axis->tap = axis->phase + kernel;
    axis->value = axis->tap + kernel;
    return true;
}

/* One more tap of an axis: it reads the source at (u + shift) * step + phase. */
static void
add_tap(Axis *axis, int64_t shift, int64_t phase, int64_t tap)
{
    int64_t n = axis->taps++, number = 0;
    while (number < axis->phases && axis->value[number] != phase) {
        number++;
    }
    if (number == axis->phases) {
        axis->value[axis->phases++] = phase;
    }
    int64_t low = n == 0 || shift < axis->low ? shift : axis->low;
    int64_t high = n == 0 || shift > axis->low + axis->span ? shift : axis->low + axis->span;
    axis->shift[n] = shift;
    axis->phase[n] = number;
    axis->tap[n] = tap;
    axis->low = low;
    axis->span = high - low;
}

/* What a convolution reads along an axis. */
static bool
forward_axis(Axis *axis, int64_t size, int64_t places, int64_t kernel, int64_t stride,
             int64_t before, int64_t dilation)
{
    if (!new_axis(axis, kernel, size)) {
        return false;
    }
    axis->step = stride;
    axis->places = places;
    for (int64_t i = 0; i < kernel; i++) {
        int64_t at = i * dilation - before, most = -(places - 1) * stride - 1;
        at = at < most ? most : at > size ? size : at; /* there, it reads nothing but zeros, too */
        int64_t shift = floor_div(at, stride);
        add_tap(axis, shift, at - shift * stride, i);
    }
    return true;
}

/* What its adjoint reads for the elements of one remainder. */
static bool
adjoint_axis(Axis *axis, int64_t size, int64_t places, int64_t kernel, int64_t stride,
             int64_t before, int64_t dilation, int64_t remainder)
{
    if (!new_axis(axis, kernel, places)) {
        return false;
    }
    axis->out_step = stride;
    axis->out_start = remainder;
    axis->places = size > remainder ? (size - remainder - 1) / stride + 1 : 0;
    for (int64_t i = 0; i < kernel; i++) {
        int64_t at = remainder + before - i * dilation, shift = floor_div(at, stride);
        if (at == shift * stride && -axis->places < shift && shift < places) {
            add_tap(axis, shift, 0, i);
        }
    }
    return true;
}

static void
free_plan(Plan *plan)
{
    for (int a = 0; a < AXES; a++) {
        free(plan->axes[a].shift);
    }
    free(plan->table);
    free(plan->rows);
}

/* Work out the layout of a block: `m` places of `count` images. */
static void
lay_out(Plan *plan, int64_t lanes)
{
    int64_t phases = 1, *m = plan->m;
    for (int a = 0; a < AXES; a++) {
        plan->extent[a] = plan->compact ? m[a] : m[a] + plan->axes[a].span;
        phases *= plan->axes[a].phases;
    }
    int64_t *e = plan->extent, line = e[2], plane = e[1] * e[2];
    plan->image = plane * e[0];
    plan->length = (plan->count - 1) * plan->image + ((m[0] - 1) * e[1] + m[1] - 1) * e[2] + m[2];
    if (plan->compact) {
        int64_t row = (plan->length + lanes - 1) / lanes * lanes;
        plan->per_channel = row * plan->taps;
        for (int64_t k = 0; k < plan->terms; k++) {
            plan->table[k].source = k * row;
            plan->rows[k] = k * row;
        }
        return;
    }
    plan->per_channel = phases * plan->count * plan->image;
    Axis *x = &plan->axes[0], *y = &plan->axes[1], *z = &plan->axes[2];
    for (int64_t c = 0, k = 0; c < plan->channels; c++) {
        for (int64_t i = 0; i < x->taps; i++) {
            for (int64_t j = 0; j < y->taps; j++) {
                for (int64_t l = 0; l < z->taps; l++, k++) {
                    int64_t phase = x->phase[i];
                    phase = phase * y->phases + y->phase[j];
                    phase = phase * z->phases + z->phase[l];
                    plan->rows[k] = c * plan->per_channel + phase * plan->count * plan->image +
                                    (x->shift[i] - x->low) * plane + (y->shift[j] - y->low) * line +
                                    z->shift[l] - z->low;
                    plan->table[k].source = plan->rows[k];
                }
            }
        }
    }
}

/* Where the weights of one output are, for each term. */
static void
find_weights(Plan *plan, int64_t per_channel)
{
    Axis *axes = plan->axes;
    for (int64_t c = 0, k = 0; c < plan->channels; c++) {
        for (int64_t i = 0; i < axes[0].taps; i++) {
            for (int64_t j = 0; j < axes[1].taps; j++) {
                for (int64_t l = 0; l < axes[2].taps; l++, k++) {
                    int64_t tap = axes[0].tap[i] * plan->kernel[1] + axes[1].tap[j];
                    plan->table[k].weight =
                        c * per_channel + tap * plan->kernel[2] + axes[2].tap[l];
                }
            }
        }
    }
}

/* Whether the source is its own layout: a kernel of one tap that reads every element, where it is.
   A source without channels is not: its images, side by side, take no room. */
static bool
is_pointwise(const Plan *plan)
{
    bool right = plan->terms > 0;
    for (int a = 0; a < AXES; a++) {
        const Axis *axis = &plan->axes[a];
        right = right && axis->taps == 1 && axis->low == 0 && axis->value[0] == 0 &&
                axis->step == 1 && axis->out_step == 1 && axis->places == axis->size;
    }
    return right;
}

/* Whether writing out each tap's row costs less than what is computed between the lines. A product
   takes about as long as copying `COPY` vectors takes per element. */
static bool
worth_compacting(const Plan *plan, int64_t lanes)
{
    enum { COPY = 48 };
    const Axis *a = plan->axes;
    int64_t used = a[0].places * a[1].places * a[2].places;
    int64_t line = a[2].places + a[2].span, plane = (a[1].places + a[1].span) * line;
    int64_t computed = (a[0].places - 1) * plane + (a[1].places - 1) * line + a[2].places;
    computed = (computed + lanes - 1) / lanes * lanes;
    return plan->taps > 0 && (computed - used) * plan->outputs > COPY * used;
}

static int64_t
product(const int64_t *numbers)
{
    return numbers[0] * numbers[1] * numbers[2];
}

/* Set up the tables and the largest block. An image that is too large is cut along the first axis
   that has places enough for the parts, or else the longest. */
static bool
make_plan(Plan *plan, int64_t lanes, int64_t itemsize, int *cut, int64_t *images, int64_t *slice)
{
    Axis *axes = plan->axes;
    plan->taps = axes[0].taps * axes[1].taps * axes[2].taps;
    plan->terms = plan->channels * plan->taps;
    plan->table = malloc(2 * (size_t)plan->terms * sizeof(Tap) + 1);
    plan->rows = malloc((size_t)plan->terms * sizeof(int64_t) + 1);
    if (plan->table == NULL || plan->rows == NULL) {
        return false;
    }
    double most = (double)itemsize * (double)(plan->channels * plan->groups);
    for (int a = 0; a < AXES; a++) {
        most *= (double)axes[a].taps * (double)(axes[a].places + axes[a].span) + 1;
    }
    if (most > (double)((int64_t)1 << 60)) { /* so much memory there is not */
        return false;
    }
    plan->compact = worth_compacting(plan, lanes);
    int64_t each = itemsize * plan->channels * plan->groups * (plan->compact ? plan->taps : 1);
    for (int a = 0; a < AXES; a++) {
        each *= plan->compact ? axes[a].places : axes[a].phases * (axes[a].places + axes[a].span);
    }
    int64_t parts = each / BLOCK, whole = axes[0].places;
    *cut = 0;
    for (int a = 1; a < AXES && whole < parts; a++) {
        if (axes[a].places > whole) {
            *cut = a;
            whole = axes[a].places;
        }
    }
    *slice = parts < 2 ? whole : (whole + parts - 1) / parts;
    if (!plan->compact && *slice < 2 * axes[*cut].span) { /* slices would read nearly the same */
        *slice = least(whole, 2 * axes[*cut].span);
    }
    *images = *slice < whole || each == 0 ? 1 : BLOCK / each;
    *images = least(*images < 1 ? 1 : *images, plan->images);
    return true;
}

/* Go to the block of images from `first` on and of places from `from` on. */
static void
take_block(Plan *plan, int64_t lanes, int cut, int64_t first, int64_t images, int64_t from,
           int64_t slice)
{
    plan->first = first;
    plan->count = least(images, plan->images - first);
    for (int a = 0; a < AXES; a++) {
        plan->from[a] = 0;
        plan->m[a] = plan->axes[a].places;
    }
    plan->from[cut] = from;
    plan->m[cut] = least(slice, plan->axes[cut].places - from);
    lay_out(plan, lanes);
}

#define REAL float
#define OF(x) x##_float
#include "conv.h"
#undef REAL
#undef OF
#define REAL double
#define OF(x) x##_double
#include "conv.h"
#undef REAL
#undef OF

/* What a call gives: sizes along three axes, of which the first are 1 where there are fewer. */
typedef struct {
    int64_t images, groups, channels, outputs; /* the last two in all */
    int64_t size[AXES], places[AXES], kernel[AXES], stride[AXES], before[AXES], dilation[AXES];
} Shapes;

static bool
read_sizes(PyObject *given, int dims, int64_t otherwise, int64_t *to)
{
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != dims) {
        return false;
    }
    for (int a = 0; a < AXES; a++) {
        int place = a - (AXES - dims);
        to[a] = place < 0 ? otherwise : PyLong_AsLongLong(PyTuple_GET_ITEM(given, place));
    }
    return !PyErr_Occurred();
}

/* Check that images, a result and a weight fit together, and note their sizes. */
static bool
read_shapes(Shapes *to, PyArrayObject *x, PyArrayObject *out, PyArrayObject *w, PyObject *stride,
            PyObject *before, PyObject *dilation, Py_ssize_t groups)
{
    int dims = PyArray_NDIM(x) - 2;
    PyArrayObject *all[] = {x, out, w};
    if (dims < 1 || dims > AXES || groups < 1 || groups > INT32_MAX ||
        !read_sizes(stride, dims, 1, to->stride) || !read_sizes(before, dims, 0, to->before) ||
        !read_sizes(dilation, dims, 1, to->dilation)) {
        return false;
    }
    for (int i = 0; i < 3; i++) { /* once the numbers are read, which may run code */
        if (!is_plain(all[i], PyArray_TYPE(x)) || PyArray_NDIM(all[i]) != dims + 2) {
            return false;
        }
    }
    to->images = PyArray_DIM(x, 0);
    to->groups = groups;
    to->channels = PyArray_DIM(x, 1);
    to->outputs = PyArray_DIM(out, 1);
    for (int a = 0; a < AXES; a++) {
        int place = a - (AXES - dims) + 2;
        to->size[a] = place < 2 ? 1 : PyArray_DIM(x, place);
        to->places[a] = place < 2 ? 1 : PyArray_DIM(out, place);
        to->kernel[a] = place < 2 ? 1 : PyArray_DIM(w, place);
        if (to->stride[a] < 1 || to->dilation[a] < 1) {
            return false;
        }
        if (to->places[a] < 2) { /* the stride says nothing, and may be very large */
            to->stride[a] = least(to->stride[a], to->size[a] + 1);
        }
        if (!is_near(to->kernel[a], to->dilation[a], to->before[a]) ||
            !is_near(to->places[a], to->stride[a], to->size[a])) {
            return false;
        }
    }
    return PyArray_DIM(out, 0) == to->images && PyArray_DIM(w, 0) == to->outputs &&
           PyArray_DIM(w, 1) * groups == to->channels && to->outputs % groups == 0;
}

/* A plan of images and groups, its axes yet to be made. */
static Plan
plan_of(const Shapes *shapes, int64_t channels, int64_t outputs, const int64_t *size)
{
    Plan plan = {.images = shapes->images,
                 .groups = shapes->groups,
                 .channels = channels / shapes->groups,
                 .outputs = outputs / shapes->groups};
    memcpy(plan.kernel, shapes->kernel, sizeof(plan.kernel));
    memcpy(plan.size, size, sizeof(plan.size));
    return plan;
}

static bool
plan_forward(Plan *plan, const Shapes *s)
{
    *plan = plan_of(s, s->channels, s->outputs, s->places);
    bool right = true;
    for (int a = 0; right && a < AXES; a++) {
        right = forward_axis(&plan->axes[a], s->size[a], s->places[a], s->kernel[a], s->stride[a],
                             s->before[a], s->dilation[a]);
    }
    return right;
}

static bool
run_forward(const Shapes *s, int type, void *x, void *w, void *bias, void *out)
{
    Plan plan;
    int64_t taps = product(s->kernel), pitch = taps * (s->channels / s->groups);
    bool right = plan_forward(&plan, s);
    if (right && type == NPY_FLOAT) {
        right = correlate_float(&plan, x, w, bias, out, pitch, taps);
    }
    else if (right) {
        right = correlate_double(&plan, x, w, bias, out, pitch, taps);
    }
    free_plan(&plan);
    return right;
}

/* The adjoint, for each remainder of the places modulo the stride. */
static bool
run_adjoint(const Shapes *s, int type, void *g, void *w, void *out)
{
    int64_t taps = product(s->kernel), per_channel = taps * (s->channels / s->groups);
    int64_t remainders[AXES]; /* there are */
    bool right = true;
    for (int a = 0; a < AXES; a++) {
        remainders[a] = least(s->stride[a], s->size[a]);
    }
    for (int64_t r = 0; right && r < product(remainders); r++) {
        int64_t at[] = {r / remainders[2] / remainders[1], r / remainders[2] % remainders[1],
                        r % remainders[2]};
        Plan plan = plan_of(s, s->outputs, s->channels, s->size);
        for (int a = 0; right && a < AXES; a++) {
            right = adjoint_axis(&plan.axes[a], s->size[a], s->places[a], s->kernel[a],
                                 s->stride[a], s->before[a], s->dilation[a], at[a]);
        }
        if (right && type == NPY_FLOAT) {
            right = correlate_float(&plan, g, w, NULL, out, taps, per_channel);
        }
        else if (right) {
            right = correlate_double(&plan, g, w, NULL, out, taps, per_channel);
        }
        free_plan(&plan);
    }
    return right;
}

static bool
run_weight(const Shapes *s, int type, void *g, void *x, void *out)
{
    Plan plan;
    bool right = plan_forward(&plan, s);
    if (right && product(s->places) > 0 && type == NPY_FLOAT) {
        right = contract_float(&plan, g, x, out);
    }
    else if (right && product(s->places) > 0) {
        right = contract_double(&plan, g, x, out);
    }
    free_plan(&plan);
    return right;
}

enum { FORWARD, ADJOINT, WEIGHT };

/* `conv(which, out, images, results, weight, bias, stride, before, dilation, groups)`: one of three
   passes. `out` is the results, the images or the weight, whose gradients the others may be. */
static PyObject *
conv(PyObject *module, PyObject *args)
{
    int which;
    Py_ssize_t groups;
    PyArrayObject *x, *y, *w;
    PyObject *bias, *stride, *before, *dilation;
    Shapes shapes;
    if (!PyArg_ParseTuple(args, "iO!O!O!OOOOn", &which, &PyArray_Type, &x, &PyArray_Type, &y,
                          &PyArray_Type, &w, &bias, &stride, &before, &dilation, &groups)) {
        return NULL;
    }
    bool fits = read_shapes(&shapes, x, y, w, stride, before, dilation, groups);
    int type = PyArray_TYPE(x);
    if (fits && bias != Py_None) {
        PyArrayObject *b = (PyArrayObject *)bias;
        fits = PyArray_Check(bias) && is_plain(b, type) && PyArray_SIZE(b) == shapes.outputs;
    }
    PyArrayObject *out = which == FORWARD ? y : which == ADJOINT ? x : w;
    if (!fits || !PyArray_ISWRITEABLE(out) || which < FORWARD || which > WEIGHT) {
        return refuse("conv");
    }
    void *start = bias == Py_None ? NULL : PyArray_DATA((PyArrayObject *)bias);
    void *xs = PyArray_DATA(x), *ys = PyArray_DATA(y), *ws = PyArray_DATA(w);
    bool right;
    Py_BEGIN_ALLOW_THREADS;
    if (which == FORWARD) {
        right = run_forward(&shapes, type, xs, ws, start, ys);
    }
    else if (which == ADJOINT) {
        right = run_adjoint(&shapes, type, ys, ws, xs);
    }
    else {
        right = run_weight(&shapes, type, ys, xs, ws);
    }
    Py_END_ALLOW_THREADS;
    return right ? Py_NewRef(Py_None) : PyErr_NoMemory();
}
