/* Convolutions for one type, REAL: NOTE [Convolution] in `conv.c`. */

typedef struct {
    Plan *plan;
    const REAL *source, *weight, *bias;
    REAL *room, *out;
    const REAL *gradient; /* of the results, for the gradient of the weight */
    REAL *lined;          /* the same, laid out like the rows; or the rows' columns, one by one */
    const REAL *ending;   /* of what is read where it is: a copy of the last tile */
    const Tap *columns;   /* where the terms at each position are, and its gradient */
    int64_t pitch, per_group, line;
    int64_t chunks, tiles, tile; /* of outputs, of places; elements of a tile */
} OF(Job);

/* A line of the source: `n` elements, `step` apart, of which the first is at `start`; zeros outside.
   None of it is inside where `line` is NULL. */
static void
OF(copy_line)(REAL *to, const REAL *line, int64_t size, int64_t start, int64_t step, int64_t n)
{
    Inside found = line == NULL ? (Inside){0, 0} : inside(start, step, size, n);
    int64_t low = found.low, high = found.high;
    for (int64_t i = 0; i < low; i++) {
        to[i] = 0;
    }
    if (step == 1) {
        for (int64_t i = low; i < high; i++) {
            to[i] = line[start + i];
        }
    }
    else {
        for (int64_t i = low; i < high; i++) {
            to[i] = line[start + i * step];
        }
    }
    for (int64_t i = high; i < n; i++) {
        to[i] = 0;
    }
}

/* The box of `n` elements along each axis that begins at `from`, for one phase. */
static void
OF(copy_box)(const Plan *plan, REAL *to, const REAL *image, const int64_t *from,
             const int64_t *value, const int64_t *n)
{
    const Axis *x = &plan->axes[0], *y = &plan->axes[1], *z = &plan->axes[2];
    for (int64_t i = 0; i < n[0]; i++) {
        int64_t a = (from[0] + i) * x->step + value[0];
        for (int64_t j = 0; j < n[1]; j++, to += n[2]) {
            int64_t b = (from[1] + j) * y->step + value[1];
            bool inside = a >= 0 && a < x->size && b >= 0 && b < y->size;
            const REAL *line = inside ? image + (a * y->size + b) * z->size : NULL;
            OF(copy_line)(to, line, z->size, from[2] * z->step + value[2], z->step, n[2]);
        }
    }
}

/* Lay out the source, one channel after the other. */
static void
OF(lay_out_source)(void *context, int64_t begin, int64_t end)
{
    const OF(Job) *job = context;
    const Plan *plan = job->plan;
    const Axis *x = &plan->axes[0], *y = &plan->axes[1], *z = &plan->axes[2];
    int64_t channels = plan->channels * plan->groups, size = x->size * y->size * z->size;
    for (int64_t c = begin; c < end; c++) {
        REAL *to = job->room + c * plan->per_channel;
        const REAL *image = job->source + (plan->first * channels + c) * size;
        if (plan->compact) {
            int64_t row = plan->per_channel / plan->taps;
            for (int64_t t = 0; t < plan->taps; t++, to += row) {
                int64_t l = t % z->taps, j = t / z->taps % y->taps, i = t / z->taps / y->taps;
                int64_t value[] = {x->value[x->phase[i]], y->value[y->phase[j]],
                                   z->value[z->phase[l]]};
                int64_t from[] = {plan->from[0] + x->shift[i], plan->from[1] + y->shift[j],
                                  plan->from[2] + z->shift[l]};
                for (int64_t n = 0; n < plan->count; n++) {
                    OF(copy_box)(plan, to + n * plan->image, image + n * channels * size, from,
                                 value, plan->extent);
                }
                memset(to + plan->length, 0, (size_t)(row - plan->length) * sizeof(REAL));
            }
            continue;
        }
        int64_t from[AXES];
        for (int a = 0; a < AXES; a++) {
            from[a] = plan->from[a] + plan->axes[a].low;
        }
        for (int64_t i = 0; i < x->phases; i++) {
            for (int64_t j = 0; j < y->phases; j++) {
                for (int64_t l = 0; l < z->phases; l++) {
                    int64_t value[] = {x->value[i], y->value[j], z->value[l]};
                    for (int64_t n = 0; n < plan->count; n++, to += plan->image) {
                        OF(copy_box)(plan, to, image + n * channels * size, from, value,
                                     plan->extent);
                    }
                }
            }
        }
    }
}

/* Put results at `n` positions from `at` on where they belong. */
static void
OF(store)(const OF(Job) * job, const REAL *tile, int64_t output, int64_t rows, int64_t at,
          int64_t n)
{
    const Plan *plan = job->plan;
    const Axis *axes = plan->axes;
    const int64_t *e = plan->extent, *m = plan->m, *size = plan->size;
    int64_t outputs = plan->groups * plan->outputs, places = product(size), step = axes[2].out_step;
    for (int64_t done = 0, run; done < n; done += run) {
        int64_t p = at + done, image = p / plan->image, r = p % plan->image;
        int64_t i = r / (e[1] * e[2]), j = r / e[2] % e[1], l = r % e[2];
        run = least(n - done, e[2] - l);
        int64_t used = i < m[0] && j < m[1] ? least(run, m[2] - l) : 0;
        i = (plan->from[0] + i) * axes[0].out_step + axes[0].out_start;
        j = (plan->from[1] + j) * axes[1].out_step + axes[1].out_start;
        l = (plan->from[2] + l) * step + axes[2].out_start;
        REAL *to = job->out + ((plan->first + image) * outputs + output) * places +
                   (i * size[1] + j) * size[2] + l;
        for (int64_t k = 0; k < rows; k++, to += places) {
            const REAL *values = tile + k * job->tile + done;
            if (step == 1) {
                for (int64_t q = 0; q < used; q++) {
                    to[q] = values[q];
                }
            }
            else {
                for (int64_t q = 0; q < used; q++) {
                    to[q * step] = values[q];
                }
            }
        }
    }
}

/* Compute the results of some tiles: (group, chunk of outputs, image, tile), the last one fastest. */
static void
OF(correlate_tiles)(void *context, int64_t begin, int64_t end)
{
    const OF(Job) *job = context;
    const Plan *plan = job->plan;
    int64_t images = plan->compact ? 1 : plan->count;
    int64_t length = plan->length - (images - 1) * plan->image;
    REAL tile[OUTPUTS * 6 * 64 / sizeof(REAL)] __attribute__((aligned(64)));
    for (int64_t u = begin; u < end; u++) {
        int64_t from = u % job->tiles * job->tile, n = u / job->tiles % images;
        int64_t chunk = u / job->tiles / images % job->chunks;
        int64_t group = u / job->tiles / images / job->chunks;
        int64_t places = least(job->tile, length - from), at = n * plan->image + from;
        const REAL *x = job->room + group * plan->channels * plan->per_channel + at;
        const Tap *table = plan->table;
        if (job->ending != NULL && n == images - 1 && from + job->tile >= length) {
            x = job->ending + group * plan->terms * job->tile;
            table += plan->terms;
        }
        int64_t last = least(plan->outputs, (chunk + 1) * OUTPUTS);
        int64_t o = chunk * OUTPUTS, rows = last - o, output = group * plan->outputs + o;
        for (int64_t m = 0; m < rows; m++) {
            REAL start = job->bias == NULL ? 0 : job->bias[output + m];
            for (int64_t i = 0; i < job->tile; i++) {
                tile[m * job->tile + i] = start;
            }
        }
        OF(kernels.rows)(job->weight + group * job->per_group + o * job->pitch, job->pitch, rows,
                         table, plan->terms, x, places, tile);
        OF(store)(job, tile, output, rows, at, places);
    }
}

/* Room for a block, with zeros behind it, as far as whole vectors may read. */
static REAL *
OF(prepare)(OF(Job) * job, void **room, int64_t more)
{
    const Plan *plan = job->plan;
    int64_t elements = plan->per_channel * plan->channels * plan->groups, behind = 2 * job->tile;
    *room = take_room((size_t)(elements + behind + more) * sizeof(REAL));
    if (*room == NULL) {
        return NULL;
    }
    job->room = aligned(*room);
    memset(job->room + elements, 0, (size_t)behind * sizeof(REAL));
    return job->room + elements + behind;
}

/* Make ready to read the source where it is, and a copy of what is left for the last tile, behind
   which there may be no memory. */
static bool
OF(read_in_place)(OF(Job) * job, void **room)
{
    Plan *plan = job->plan;
    int64_t size = product(plan->size), channels = plan->channels * plan->groups;
    int64_t from = (size - 1) / job->tile * job->tile;
    plan->per_channel = size;
    plan->image = channels * size;
    plan->length = (plan->count - 1) * plan->image + size;
    *room = take_room((size_t)(channels * job->tile) * sizeof(REAL));
    if (*room == NULL) {
        return false;
    }
    REAL *to = aligned(*room);
    job->ending = to;
    job->room = (REAL *)job->source + plan->first * plan->image; /* it is not written */
    memset(to, 0, (size_t)(channels * job->tile) * sizeof(REAL));
    for (int64_t c = 0; c < channels; c++) {
        const REAL *last = job->room + (plan->count - 1) * plan->image + c * size + from;
        memcpy(to + c * job->tile, last, (size_t)(size - from) * sizeof(REAL));
    }
    for (int64_t c = 0; c < plan->channels; c++) {
        plan->table[c].source = c * size;
        plan->table[plan->terms + c].source = c * job->tile;
        plan->table[plan->terms + c].weight = plan->table[c].weight;
    }
    return true;
}

/* A correlation of all images: NOTE [Convolution], rule 1. */
static bool
OF(correlate)(Plan *plan, const REAL *source, const REAL *weight, const REAL *bias, REAL *out,
              int64_t pitch, int64_t per_channel)
{
    int64_t lanes = kernels.bytes / (int64_t)sizeof(REAL), images, slice;
    int cut;
    if (plan->images * plan->axes[0].places * plan->axes[1].places * plan->axes[2].places == 0) {
        return true;
    }
    if (!make_plan(plan, lanes, sizeof(REAL), &cut, &images, &slice)) {
        return false;
    }
    find_weights(plan, per_channel);
    bool in_place = is_pointwise(plan) && !plan->compact;
    if (in_place) {
        images = plan->images;
        slice = plan->axes[cut].places;
    }
    OF(Job) job = {plan, source, weight, bias, .out = out, .pitch = pitch, .tile = 6 * lanes};
    job.per_group = product(plan->kernel) * plan->channels * plan->outputs;
    job.chunks = (plan->outputs + OUTPUTS - 1) / OUTPUTS;
    for (int64_t n = 0; n < plan->images; n += images) {
        for (int64_t from = 0; from < plan->axes[cut].places; from += slice) {
            void *room;
            take_block(plan, lanes, cut, n, images, from, slice);
            if (!(in_place ? OF(read_in_place)(&job, &room)
                           : OF(prepare)(&job, &room, 0) != NULL)) {
                return false;
            }
            int64_t each = plan->per_channel * (int64_t)sizeof(REAL) + 1;
            if (!in_place) {
                pool_run(OF(lay_out_source), &job, plan->channels * plan->groups,
                         BYTES_EACH / each + 1);
            }
            int64_t rows = plan->compact ? 1 : plan->count;
            int64_t length = plan->length - (rows - 1) * plan->image;
            job.tiles = (length + job.tile - 1) / job.tile;
            int64_t work = job.tile * plan->terms * least(plan->outputs, OUTPUTS) + 1;
            pool_run(OF(correlate_tiles), &job, plan->groups * job.chunks * rows * job.tiles,
                     WORK / work + 1);
            give_room(room);
        }
    }
    return true;
}

/* Lay out the gradient like the rows, with zeros between its lines. */
static void
OF(lay_out_gradient)(void *context, int64_t begin, int64_t end)
{
    const OF(Job) *job = context;
    const Plan *plan = job->plan;
    const int64_t *e = plan->extent, *m = plan->m, *size = plan->size, *from = plan->from;
    int64_t outputs = plan->outputs * plan->groups, places = product(size);
    for (int64_t o = begin; o < end; o++) {
        REAL *to = job->lined + o * job->line;
        memset(to, 0, (size_t)job->line * sizeof(REAL));
        for (int64_t n = 0; n < plan->count; n++) {
            const REAL *g = job->gradient + ((plan->first + n) * outputs + o) * places;
            for (int64_t i = 0; i < m[0]; i++) {
                for (int64_t j = 0; j < m[1]; j++) {
                    const REAL *line =
                        g + ((from[0] + i) * size[1] + from[1] + j) * size[2] + from[2];
                    memcpy(to + n * plan->image + (i * e[1] + j) * e[2], line,
                           (size_t)m[2] * sizeof(REAL));
                }
            }
        }
    }
}

/* Add what a block gives to the gradient of the weight: (group, chunk of outputs, chunk of terms). */
static void
OF(add_products)(void *context, int64_t begin, int64_t end)
{
    enum { TALL = 8, WIDE = 48 };
    const OF(Job) *job = context;
    const Plan *plan = job->plan;
    int64_t wide = (plan->terms + WIDE - 1) / WIDE, tall = (plan->outputs + TALL - 1) / TALL;
    for (int64_t u = begin; u < end; u++) {
        int64_t k = u % wide * WIDE, o = u / wide % tall * TALL, group = u / wide / tall;
        int64_t output = group * plan->outputs + o;
        const REAL *x = job->room + group * plan->channels * plan->per_channel;
        for (int64_t from = 0; from < job->line; from += RUN) {
            OF(kernels.dots)(job->lined + output * job->line + from, job->line,
                             least(TALL, plan->outputs - o), x + from, plan->rows + k,
                             least(WIDE, plan->terms - k), least(RUN, job->line - from),
                             job->out + output * plan->terms + k, plan->terms);
        }
    }
}

/* Write the rows of some channels out as columns: the terms at one position, one after the other. */
static void
OF(lay_out_columns)(void *context, int64_t begin, int64_t end)
{
    const OF(Job) *job = context;
    const Plan *plan = job->plan;
    int64_t taps = plan->taps, row = plan->per_channel / taps;
    OF(lay_out_source)(context, begin, end);
    for (int64_t c = begin; c < end; c++) {
        int64_t group = c / plan->channels;
        REAL *to = job->lined + group * plan->length * plan->terms + c % plan->channels * taps;
        const REAL *from = job->room + c * plan->per_channel;
        for (int64_t p = 0; p < plan->length; p++) {
            for (int64_t t = 0; t < taps; t++) {
                to[p * plan->terms + t] = from[t * row + p];
            }
        }
    }
}

/* `add_products` for columns: (group, chunk of outputs, tile of terms). Sums run over positions. */
static void
OF(add_columns)(void *context, int64_t begin, int64_t end)
{
    const OF(Job) *job = context;
    const Plan *plan = job->plan;
    int64_t places = product(plan->size), terms = plan->terms;
    REAL tile[OUTPUTS * 6 * 64 / sizeof(REAL)] __attribute__((aligned(64)));
    for (int64_t u = begin; u < end; u++) {
        int64_t k = u % job->tiles * job->tile, chunk = u / job->tiles % job->chunks;
        int64_t group = u / job->tiles / job->chunks, n = least(job->tile, terms - k);
        int64_t last = least(plan->outputs, (chunk + 1) * OUTPUTS);
        const REAL *x = job->lined + group * plan->length * terms + k;
        int64_t o = chunk * OUTPUTS, rows = last - o, output = group * plan->outputs + o;
        REAL *to = job->out + output * terms + k;
        for (int64_t m = 0; m < rows; m++) {
            memcpy(tile + m * job->tile, to + m * terms, (size_t)n * sizeof(REAL));
        }
        OF(kernels.rows)(job->gradient + output * places, places, rows, job->columns, plan->length,
                         x, n, tile);
        for (int64_t m = 0; m < rows; m++) {
            memcpy(to + m * terms, tile + m * job->tile, (size_t)n * sizeof(REAL));
        }
    }
}

/* What a block of small images gives to the gradient of the weight. */
static bool
OF(contract_columns)(OF(Job) * job)
{
    const Plan *plan = job->plan;
    int64_t channels = plan->channels * plan->groups, places = product(plan->size);
    int64_t outputs = plan->outputs * plan->groups;
    void *room;
    Tap *columns = malloc((size_t)plan->length * sizeof(Tap));
    job->lined = OF(prepare)(job, &room, channels * plan->taps * plan->length + 2 * job->tile);
    if (job->lined == NULL || columns == NULL) {
        free(columns);
        give_room(room);
        return false;
    }
    for (int64_t p = 0; p < plan->length; p++) {
        int64_t image = p / plan->image, r = p % plan->image;
        const int64_t *e = plan->extent;
        int64_t i = plan->from[0] + r / (e[1] * e[2]), j = plan->from[1] + r / e[2] % e[1];
        int64_t place = (i * plan->size[1] + j) * plan->size[2] + plan->from[2] + r % e[2];
        columns[p] = (Tap){p * plan->terms, (plan->first + image) * outputs * places + place};
    }
    job->columns = columns;
    job->chunks = (plan->outputs + OUTPUTS - 1) / OUTPUTS;
    job->tiles = (plan->terms + job->tile - 1) / job->tile;
    int64_t each = plan->per_channel * (int64_t)sizeof(REAL) + 1;
    pool_run(OF(lay_out_columns), job, channels, BYTES_EACH / each + 1);
    pool_run(OF(add_columns), job, plan->groups * job->chunks * job->tiles,
             WORK / (job->tile * plan->length * least(plan->outputs, OUTPUTS)) + 1);
    give_room(room);
    free(columns);
    return true;
}

/* The gradient of the weight, added to `out`. */
static bool
OF(contract)(Plan *plan, const REAL *gradient, const REAL *source, REAL *out)
{
    int64_t lanes = kernels.bytes / (int64_t)sizeof(REAL), images, slice;
    int cut;
    if (!make_plan(plan, lanes, sizeof(REAL), &cut, &images, &slice)) {
        return false;
    }
    OF(Job) job = {plan, source, .out = out, .gradient = gradient, .tile = 6 * lanes};
    int64_t outputs = plan->outputs * plan->groups;
    for (int64_t n = 0; n < plan->images; n += images) {
        for (int64_t from = 0; from < plan->axes[cut].places; from += slice) {
            void *room;
            take_block(plan, lanes, cut, n, images, from, slice);
            if (plan->compact) {
                if (!OF(contract_columns)(&job)) {
                    return false;
                }
                continue;
            }
            job.line = (plan->length + lanes - 1) / lanes * lanes;
            job.lined = OF(prepare)(&job, &room, outputs * job.line);
            if (job.lined == NULL) {
                return false;
            }
            int64_t each = plan->per_channel * (int64_t)sizeof(REAL) + 1;
            pool_run(OF(lay_out_source), &job, plan->channels * plan->groups,
                     BYTES_EACH / each + 1);
            pool_run(OF(lay_out_gradient), &job, outputs,
                     BYTES_EACH / (job.line * (int64_t)sizeof(REAL)) + 1);
            int64_t units = (plan->terms + 47) / 48 * ((plan->outputs + 7) / 8) * plan->groups;
            pool_run(OF(add_products), &job, units, WORK / (job.line * 8 * 48) + 1);
            give_room(room);
        }
    }
    return true;
}
