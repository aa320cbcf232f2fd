/* Products of matrices over the one pool: BLAS computes pieces, each in one thread.

   NOTE [One pool]
   1. Two pools of threads on the same processors wait for each other's turns. So while pieces run
      here, BLAS has one thread; whoever comes first sets that, whoever leaves last sets back what
      was there.
   2. A stack of products is shared out by product, a single large one by rows or columns. How it is
      cut depends on the number of threads, as it does in BLAS.
   3. BLAS is the one that NumPy brought along, found by its path. Where NumPy uses another, or there
      are no threads, nothing is done here and NumPy multiplies.
*/

#ifndef RETROGRAD_GEMM
#define RETROGRAD_GEMM

#include "pool.c"

#include <stdbool.h>
#include <stddef.h>

#if defined(_WIN32) || defined(__EMSCRIPTEN__) || defined(__wasi__)

#define WITHOUT_BLAS

static PyObject *
use_blas(PyObject *module, PyObject *path)
{
    Py_RETURN_FALSE;
}

static PyObject *
gemm(PyObject *module, PyObject *args)
{
    Py_RETURN_FALSE;
}

static PyObject *
words_of_product(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Py_RETURN_NONE;
}

static PyObject *
trsm(PyObject *module, PyObject *args)
{
    Py_RETURN_FALSE;
}

static PyObject *
potrf(PyObject *module, PyObject *args)
{
    Py_RETURN_FALSE;
}

static PyObject *
getrf(PyObject *module, PyObject *args)
{
    Py_RETURN_FALSE;
}

#else

#include <dlfcn.h>
#include <math.h>

enum { ROW_MAJOR = 101, COLUMN_MAJOR = 102, LEFT = 141 };
enum { UPPER = 121, LOWER = 122, NO_UNIT = 131, UNIT = 132 };
enum { AS_IT_IS = 111, TRANSPOSED = 112, MOST_DIMS = 16, PIECE = 1 << 18 };

static struct {
    void (*real)(int, int, int, int64_t, int64_t, int64_t, float, const void *, int64_t,
                 const void *, int64_t, float, void *, int64_t);
    void (*wide)(int, int, int, int64_t, int64_t, int64_t, double, const void *, int64_t,
                 const void *, int64_t, double, void *, int64_t);
    void (*complex_real)(int, int, int, int64_t, int64_t, int64_t, const void *, const void *,
                         int64_t, const void *, int64_t, const void *, void *, int64_t);
    void (*complex_wide)(int, int, int, int64_t, int64_t, int64_t, const void *, const void *,
                         int64_t, const void *, int64_t, const void *, void *, int64_t);
    void (*solve_complex_real)(int, int, int, int, int, int64_t, int64_t, const void *,
                               const void *, int64_t, void *, int64_t);
    void (*solve_complex_wide)(int, int, int, int, int, int64_t, int64_t, const void *,
                               const void *, int64_t, void *, int64_t);
    /* by `kind_of`: one column, a Cholesky factor, and those of an LU factorization */
    void (*solve_one[4])(int, int, int, int, int64_t, const void *, int64_t, void *, int64_t);
    void (*factor[4])(const char *, const int64_t *, void *, const int64_t *, int64_t *);
    void (*eliminate[4])(const int64_t *, const int64_t *, void *, const int64_t *, int64_t *,
                         int64_t *);
    void (*set_threads)(int);
    int (*threads)(void);
    pthread_mutex_t lock;
    int users, before;
} blas = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void
forget_users(void)
{
    pthread_mutex_init(&blas.lock, NULL);
    if (blas.users > 0) {
        blas.users = 0;
        blas.set_threads(blas.before);
    }
}

static void
enter_blas(void)
{
    pthread_mutex_lock(&blas.lock);
    if (blas.users++ == 0) {
        blas.before = blas.threads();
        blas.set_threads(1);
    }
    pthread_mutex_unlock(&blas.lock);
}

static void
leave_blas(void)
{
    pthread_mutex_lock(&blas.lock);
    if (--blas.users == 0) {
        blas.set_threads(blas.before);
    }
    pthread_mutex_unlock(&blas.lock);
}

/* `use_blas(path)`: find BLAS in a library that has been loaded; whether it is there. */
static PyObject *
use_blas(PyObject *module, PyObject *path)
{
    struct {
        void *place;
        const char *name;
        void *function;
    } wanted[] = {
        {&blas.real, "scipy_cblas_sgemm64_"},
        {&blas.wide, "scipy_cblas_dgemm64_"},
        {&blas.complex_real, "scipy_cblas_cgemm64_"},
        {&blas.complex_wide, "scipy_cblas_zgemm64_"},
        {&blas.solve_complex_real, "scipy_cblas_ctrsm64_"},
        {&blas.solve_complex_wide, "scipy_cblas_ztrsm64_"},
        {&blas.solve_one[0], "scipy_cblas_strsv64_"},
        {&blas.solve_one[1], "scipy_cblas_dtrsv64_"},
        {&blas.solve_one[2], "scipy_cblas_ctrsv64_"},
        {&blas.solve_one[3], "scipy_cblas_ztrsv64_"},
        {&blas.factor[0], "scipy_spotrf_64_"},
        {&blas.factor[1], "scipy_dpotrf_64_"},
        {&blas.factor[2], "scipy_cpotrf_64_"},
        {&blas.factor[3], "scipy_zpotrf_64_"},
        {&blas.eliminate[0], "scipy_sgetrf_64_"},
        {&blas.eliminate[1], "scipy_dgetrf_64_"},
        {&blas.eliminate[2], "scipy_cgetrf_64_"},
        {&blas.eliminate[3], "scipy_zgetrf_64_"},
        {&blas.threads, "scipy_openblas_get_num_threads64_"},
        {&blas.set_threads, "scipy_openblas_set_num_threads64_"},
    };
    const char *name = PyUnicode_AsUTF8(path);
    if (name == NULL) {
        return NULL;
    }
    void *library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    bool found = library != NULL;
    for (size_t i = 0; found && i < Py_ARRAY_LENGTH(wanted); i++) {
        wanted[i].function = dlsym(library, wanted[i].name);
        found = wanted[i].function != NULL;
    }
    for (size_t i = 0; found && i < Py_ARRAY_LENGTH(wanted); i++) { /* all of them, or none */
        memcpy(wanted[i].place, &wanted[i].function, sizeof(void *));
    }
    if (found) {
        pthread_atfork(NULL, NULL, forget_users);
    }
    return PyBool_FromLong(found);
}

/* Which of the types that BLAS knows, or -1. */
static int
kind_of(int type)
{
    return type == NPY_FLOAT     ? 0
           : type == NPY_DOUBLE  ? 1
           : type == NPY_CFLOAT  ? 2
           : type == NPY_CDOUBLE ? 3
                                 : -1;
}

/* A matrix, or a stack of them: how BLAS is to read it, and how far apart the matrices are. */
typedef struct {
    char *data;
    int order;
    int64_t pitch, steps[MOST_DIMS]; /* in elements, in bytes */
} Matrices;

/* How BLAS is to read a matrix whose elements lie so many bytes apart; false where it cannot. */
static bool
read_order(int64_t rows, int64_t columns, int64_t down, int64_t right, int64_t item, Matrices *to)
{
    bool adjacent = down == item;
    if (down % item || right % item) {
        return false;
    }
    down = rows == 1 ? columns : down / item;
    right = columns == 1 ? 1 : right / item;
    to->order = right == 1 && down >= columns ? AS_IT_IS : TRANSPOSED;
    to->pitch = to->order == AS_IT_IS ? down : right;
    return to->order == AS_IT_IS || (adjacent && right >= rows);
}

static bool
read_matrices(PyArrayObject *array, PyArrayObject *out, Matrices *to)
{
    int dims = PyArray_NDIM(array);
    to->data = PyArray_DATA(array);
    if (!PyArray_ISBEHAVED_RO(array) ||
        !read_order(PyArray_DIM(array, dims - 2), PyArray_DIM(array, dims - 1),
                    PyArray_STRIDE(array, dims - 2), PyArray_STRIDE(array, dims - 1),
                    PyArray_ITEMSIZE(array), to)) {
        return false;
    }
    for (int d = 0; d < dims - 2; d++) {
        bool repeated = PyArray_DIM(array, d) == 1;
        if (!repeated && PyArray_DIM(array, d) != PyArray_DIM(out, d)) {
            return false;
        }
        to->steps[d] = repeated ? 0 : PyArray_STRIDE(array, d);
    }
    return true;
}

typedef struct {
    Matrices a, b;
    char *out;
    const char *bias;
    int type, stacked; /* dimensions of the stack */
    int64_t shape[MOST_DIMS], m, n, k, item, pieces, piece;
    bool by_rows;
} Product;

static void
add_bias(const Product *p, char *out, const char *bias, int64_t rows, int64_t columns)
{
    bool wide = p->type == NPY_DOUBLE || p->type == NPY_CDOUBLE;
    int64_t numbers = columns * p->item / (wide ? 8 : 4);
    for (int64_t i = 0; i < rows; i++, out += p->n * p->item) {
        for (int64_t j = 0; wide && j < numbers; j++) {
            ((double *)out)[j] += ((const double *)bias)[j];
        }
        for (int64_t j = 0; !wide && j < numbers; j++) {
            ((float *)out)[j] += ((const float *)bias)[j];
        }
    }
}

/* A matrix, and how BLAS is to read it. */
typedef struct {
    const char *data;
    int order;
    int64_t pitch;
} Operand;

/* out = a @ b of matrices of m x k and k x n elements of a type that BLAS knows. */
static void
multiply(int type, int64_t m, int64_t n, int64_t k, Operand a, Operand b, char *out, int64_t pitch)
{
    const double one[] = {1, 0}, none[] = {0, 0};
    const float small_one[] = {1, 0}, small_none[] = {0, 0};
    if (type == NPY_FLOAT) {
        blas.real(ROW_MAJOR, a.order, b.order, m, n, k, 1, a.data, a.pitch, b.data, b.pitch, 0, out,
                  pitch);
    }
    else if (type == NPY_DOUBLE) {
        blas.wide(ROW_MAJOR, a.order, b.order, m, n, k, 1, a.data, a.pitch, b.data, b.pitch, 0, out,
                  pitch);
    }
    else if (type == NPY_CFLOAT) {
        blas.complex_real(ROW_MAJOR, a.order, b.order, m, n, k, small_one, a.data, a.pitch, b.data,
                          b.pitch, small_none, out, pitch);
    }
    else {
        blas.complex_wide(ROW_MAJOR, a.order, b.order, m, n, k, one, a.data, a.pitch, b.data,
                          b.pitch, none, out, pitch);
    }
}

static void
multiply_pieces(void *context, int64_t begin, int64_t end)
{
    const Product *p = context;
    for (int64_t u = begin; u < end; u++) {
        int64_t at = u % p->pieces * p->piece, number = u / p->pieces, left = number;
        const char *a = p->a.data, *b = p->b.data;
        for (int d = p->stacked - 1; d >= 0; d--) {
            a += left % p->shape[d] * p->a.steps[d];
            b += left % p->shape[d] * p->b.steps[d];
            left /= p->shape[d];
        }
        char *out = p->out + number * p->m * p->n * p->item;
        int64_t m = p->m, n = p->n, i = 0, j = 0;
        if (p->by_rows) {
            i = at;
            m = m - at < p->piece ? m - at : p->piece;
        }
        else {
            j = at;
            n = n - at < p->piece ? n - at : p->piece;
        }
        a += i * p->item * (p->a.order == AS_IT_IS ? p->a.pitch : 1);
        b += j * p->item * (p->b.order == AS_IT_IS ? 1 : p->b.pitch);
        out += (i * p->n + j) * p->item;
        multiply(p->type, m, n, p->k, (Operand){a, p->a.order, p->a.pitch},
                 (Operand){b, p->b.order, p->b.pitch}, out, p->n);
        if (p->bias != NULL) {
            add_bias(p, out, p->bias + j * p->item, m, n);
        }
    }
}

/* `gemm(out, a, b, bias)`: out = a @ b + bias of stacks that broadcast; False where an operand lies in
   memory in a way that BLAS cannot read. */
static PyObject *
gemm(PyObject *module, PyObject *args)
{
    PyArrayObject *out, *a, *b;
    PyObject *bias;
    if (!PyArg_ParseTuple(args, "O!O!O!O", &PyArray_Type, &out, &PyArray_Type, &a, &PyArray_Type,
                          &b, &bias)) {
        return NULL;
    }
    int type = PyArray_TYPE(out), dims = PyArray_NDIM(out);
    Product p = {.type = type, .stacked = dims - 2, .out = PyArray_DATA(out)};
    if (kind_of(type) < 0 || blas.real == NULL || dims < 2 || dims > MOST_DIMS ||
        PyArray_NDIM(a) != dims || PyArray_NDIM(b) != dims || PyArray_TYPE(a) != type ||
        PyArray_TYPE(b) != type || !PyArray_ISCARRAY(out)) {
        return refuse("gemm");
    }
    p.m = PyArray_DIM(out, dims - 2);
    p.n = PyArray_DIM(out, dims - 1);
    p.k = PyArray_DIM(a, dims - 1);
    p.item = PyArray_ITEMSIZE(out);
    if (PyArray_DIM(a, dims - 2) != p.m || PyArray_DIM(b, dims - 1) != p.n ||
        PyArray_DIM(b, dims - 2) != p.k) {
        return refuse("gemm");
    }
    if (bias != Py_None) {
        PyArrayObject *added = (PyArrayObject *)bias;
        if (!PyArray_Check(bias) || PyArray_TYPE(added) != type || !PyArray_ISCARRAY_RO(added) ||
            PyArray_SIZE(added) != p.n) {
            return refuse("gemm");
        }
        p.bias = PyArray_DATA(added);
    }
    if (PyArray_SIZE(out) == 0 || p.k == 0 || !read_matrices(a, out, &p.a) ||
        !read_matrices(b, out, &p.b)) {
        Py_RETURN_FALSE;
    }
    int64_t count = 1, threads = pool_threads, work = p.m * p.n * p.k;
    for (int d = 0; d < p.stacked; d++) {
        p.shape[d] = PyArray_DIM(out, d);
        count *= p.shape[d];
    }
    p.by_rows = p.m >= p.n;
    int64_t longer = p.by_rows ? p.m : p.n;
    p.pieces = count >= 4 * threads || work < PIECE ? 1 : threads;
    p.piece = (longer + p.pieces - 1) / p.pieces;
    p.piece = (p.piece + 15) / 16 * 16;
    p.pieces = (longer + p.piece - 1) / p.piece;
    Py_BEGIN_ALLOW_THREADS;
    enter_blas();
    pool_run(multiply_pieces, &p, count * p.pieces, PIECE / work + 1);
    leave_blas();
    Py_END_ALLOW_THREADS;
    Py_RETURN_TRUE;
}

/* A stack of products in the table of `run_steps`. Its parts are the result and the operands; it
   has their type, m, n and k, how BLAS is to read the operands, the three pitches, the number of
   products, and how many bytes these are apart in each part. */
static int
product_of_step(char **parts, const int64_t *facts)
{
    char *out = parts[0];
    Operand a = {parts[1], (int)facts[4], facts[7]};
    Operand b = {parts[2], (int)facts[5], facts[8]};
    enter_blas();
    for (int64_t i = 0; i < facts[9]; i++) {
        multiply((int)facts[0], facts[1], facts[2], facts[3], a, b, out, facts[6]);
        out += facts[10];
        a.data += facts[11];
        b.data += facts[12];
    }
    leave_blas();
    return 0;
}

/* `words_of_product(type, count, m, n, k, *strides)`: the address of `product_of_step`, and what the
   table has after the places of a stack of products, of which these are the strides of the result
   and the operands, three each; None where BLAS cannot read or write one. */
static PyObject *
words_of_product(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int64_t given[14] = {0}, items[] = {4, 8, 8, 16};
    for (Py_ssize_t i = 0; i < count && count == 14; i++) {
        given[i] = PyLong_AsLongLong(args[i]);
    }
    int kind = PyErr_Occurred() ? -1 : kind_of((int)given[0]);
    if (PyErr_Occurred() || count != 14) {
        return PyErr_Occurred() ? NULL : refuse("words_of_product");
    }
    int64_t m = given[2], n = given[3], k = given[4], *out = given + 5, *x = out + 3, *y = x + 3;
    Matrices to, a, b;
    if (kind < 0 || blas.real == NULL || !read_order(m, n, out[1], out[2], items[kind], &to) ||
        to.order != AS_IT_IS || !read_order(m, k, x[1], x[2], items[kind], &a) ||
        !read_order(k, n, y[1], y[2], items[kind], &b)) {
        Py_RETURN_NONE;
    }
    int64_t words[] = {(int64_t)(intptr_t)product_of_step,
                       given[0],
                       m,
                       n,
                       k,
                       a.order,
                       b.order,
                       to.pitch,
                       a.pitch,
                       b.pitch,
                       given[1],
                       out[0],
                       x[0],
                       y[0]};
    PyObject *found = PyList_New(Py_ARRAY_LENGTH(words));
    for (size_t i = 0; found != NULL && i < Py_ARRAY_LENGTH(words); i++) {
        PyObject *word = PyLong_FromLongLong(words[i]);
        if (word == NULL) {
            Py_CLEAR(found);
        }
        else {
            PyList_SET_ITEM(found, (Py_ssize_t)i, word);
        }
    }
    return found;
}

/* `trsm(a, x, upper, unit)`: overwrite x, complex or of one column, by the solution of
   a @ solution = x, of one triangle of a, in stacks of one shape but for those of a that repeat; False
   where BLAS cannot read an operand. */
static PyObject *
trsm(PyObject *module, PyObject *args)
{
    PyArrayObject *matrix, *solved;
    int upper, unit;
    if (!PyArg_ParseTuple(args, "O!O!pp", &PyArray_Type, &matrix, &PyArray_Type, &solved, &upper,
                          &unit)) {
        return NULL;
    }
    int type = PyArray_TYPE(solved), dims = PyArray_NDIM(solved);
    if (kind_of(type) < 0 || blas.real == NULL || dims < 2 || dims > MOST_DIMS ||
        PyArray_NDIM(matrix) != dims || PyArray_TYPE(matrix) != type ||
        PyArray_DIM(matrix, dims - 1) != PyArray_DIM(solved, dims - 2) ||
        PyArray_DIM(matrix, dims - 2) != PyArray_DIM(solved, dims - 2) ||
        !PyArray_ISBEHAVED(solved)) {
        return refuse("trsm");
    }
    Matrices a, x;
    int64_t count = PyArray_SIZE(solved), n = PyArray_DIM(solved, dims - 2),
            k = PyArray_DIM(solved, dims - 1);
    if (count == 0 || (k > 1 && kind_of(type) < 2) || !read_matrices(matrix, solved, &a) ||
        !read_matrices(solved, solved, &x)) {
        Py_RETURN_FALSE;
    }
    int order = x.order == AS_IT_IS ? ROW_MAJOR : COLUMN_MAJOR,
        turned = a.order == x.order ? AS_IT_IS : TRANSPOSED,
        part = (upper != 0) == (turned == AS_IT_IS) ? UPPER : LOWER,
        diagonal = unit ? UNIT : NO_UNIT;
    const double one[] = {1, 0};
    const float small_one[] = {1, 0};
    Py_BEGIN_ALLOW_THREADS;
    for (int64_t number = 0; number < count / (n * k); number++) {
        const char *from = a.data;
        char *to = x.data;
        int64_t left = number;
        for (int d = dims - 3; d >= 0; d--) {
            from += left % PyArray_DIM(solved, d) * a.steps[d];
            to += left % PyArray_DIM(solved, d) * x.steps[d];
            left /= PyArray_DIM(solved, d);
        }
        if (k == 1) {
            blas.solve_one[kind_of(type)](order, part, turned, diagonal, n, from, a.pitch, to,
                                          x.pitch);
        }
        else if (type == NPY_CFLOAT) {
            blas.solve_complex_real(order, LEFT, part, turned, diagonal, n, k, small_one, from,
                                    a.pitch, to, x.pitch);
        }
        else {
            blas.solve_complex_wide(order, LEFT, part, turned, diagonal, n, k, one, from, a.pitch,
                                    to, x.pitch);
        }
    }
    Py_END_ALLOW_THREADS;
    Py_RETURN_TRUE;
}

/* Whether the diagonal of a factor is finite: some builds of LAPACK let a pivot pass that is NaN. */
static bool
has_finite_diagonal(const char *x, int64_t n, int64_t item, bool wide)
{
    for (int64_t i = 0; i < n; i++, x += (n + 1) * item) {
        if (!isfinite(wide ? *(const double *)x : (double)*(const float *)x)) {
            return false;
        }
    }
    return true;
}

/* `potrf(columns, upper)`: overwrite Hermitian matrices, whose columns are the rows of an array, by their
   Cholesky factors, reading one triangle; False where one has none. */
static PyObject *
potrf(PyObject *module, PyObject *args)
{
    PyArrayObject *array;
    int upper;
    if (!PyArg_ParseTuple(args, "O!p", &PyArray_Type, &array, &upper)) {
        return NULL;
    }
    int dims = PyArray_NDIM(array), kind = kind_of(PyArray_TYPE(array));
    int64_t n = dims < 2 ? 0 : PyArray_DIM(array, dims - 1), item = PyArray_ITEMSIZE(array), info;
    if (kind < 0 || blas.real == NULL || dims < 2 || PyArray_DIM(array, dims - 2) != n ||
        !PyArray_ISCARRAY(array)) {
        return refuse("potrf");
    }
    char *x = PyArray_DATA(array), *end = x + PyArray_NBYTES(array);
    bool fine = true;
    Py_BEGIN_ALLOW_THREADS;
    for (; fine && x < end; x += n * n * item) {
        blas.factor[kind](upper ? "U" : "L", &n, x, &n, &info);
        fine = info == 0 && has_finite_diagonal(x, n, item, kind % 2 == 1);
        for (int64_t j = 0; j < n; j++) {
            memset(x + (j * n + (upper ? j + 1 : 0)) * item, 0, (upper ? n - j - 1 : j) * item);
        }
    }
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(fine);
}

/* `getrf(columns, pivots, info)`: overwrite matrices, whose columns are the rows of an array, by L and
   U, and say the interchanges of rows, from 1, and the first zero on the diagonal of each U, or 0. */
static PyObject *
getrf(PyObject *module, PyObject *args)
{
    PyArrayObject *array, *pivots, *info;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyArray_Type, &array, &PyArray_Type, &pivots,
                          &PyArray_Type, &info)) {
        return NULL;
    }
    int dims = PyArray_NDIM(array), kind = kind_of(PyArray_TYPE(array));
    int64_t m = dims < 2 ? 0 : PyArray_DIM(array, dims - 1),
            n = m ? PyArray_DIM(array, dims - 2) : 0;
    int64_t k = m < n ? m : n, count = k ? PyArray_SIZE(array) / (m * n) : 0, failed;
    if (kind < 0 || blas.real == NULL || k == 0 || !PyArray_ISCARRAY(array) ||
        !PyArray_ISCARRAY(pivots) || PyArray_TYPE(pivots) != NPY_INT32 ||
        PyArray_SIZE(pivots) != count * k || !PyArray_ISCARRAY(info) ||
        PyArray_TYPE(info) != NPY_INT32 || PyArray_SIZE(info) != count) {
        return refuse("getrf");
    }
    int64_t *chosen = malloc((size_t)k * sizeof *chosen), item = PyArray_ITEMSIZE(array);
    if (chosen == NULL) {
        return PyErr_NoMemory();
    }
    char *x = PyArray_DATA(array);
    int32_t *pivot = PyArray_DATA(pivots), *zero = PyArray_DATA(info);
    Py_BEGIN_ALLOW_THREADS;
    for (int64_t i = 0; i < count; i++, x += m * n * item, pivot += k) {
        blas.eliminate[kind](&m, &n, x, &m, chosen, &failed);
        zero[i] = (int32_t)failed;
        for (int64_t j = 0; j < k; j++) {
            pivot[j] = (int32_t)chosen[j];
        }
    }
    Py_END_ALLOW_THREADS;
    free(chosen);
    Py_RETURN_TRUE;
}

#endif

/* `interchange(orders, pivots)`: swap the numbers in rows as pivots, from 1, say; False where one says no
   place in the row. */
static PyObject *
interchange(PyObject *module, PyObject *args)
{
    PyArrayObject *orders, *pivots;
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &orders, &PyArray_Type, &pivots)) {
        return NULL;
    }
    if (PyArray_NDIM(orders) != 2 || PyArray_NDIM(pivots) != 2 || !PyArray_ISCARRAY(orders) ||
        PyArray_TYPE(orders) != NPY_INT64 || !PyArray_ISCARRAY_RO(pivots) ||
        PyArray_TYPE(pivots) != NPY_INT32 || PyArray_DIM(orders, 0) != PyArray_DIM(pivots, 0) ||
        PyArray_DIM(orders, 1) < PyArray_DIM(pivots, 1)) {
        return refuse("interchange");
    }
    int64_t m = PyArray_DIM(orders, 1), k = PyArray_DIM(pivots, 1), *order = PyArray_DATA(orders);
    const int32_t *pivot = PyArray_DATA(pivots);
    for (npy_intp i = 0; i < PyArray_SIZE(pivots); i++) {
        if (pivot[i] < 1 || pivot[i] > m) {
            Py_RETURN_FALSE;
        }
    }
    for (npy_intp i = 0; i < PyArray_DIM(orders, 0); i++, order += m, pivot += k) {
        for (int64_t j = 0; j < k; j++) {
            int64_t other = pivot[j] - 1, kept = order[j];
            order[j] = order[other];
            order[other] = kept;
        }
    }
    Py_RETURN_TRUE;
}

#endif
