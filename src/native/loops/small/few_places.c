/* Few numbers in order, at places, and one after another: NOTE [Small] in `small.c`. */

#ifndef RETROGRAD_FEW_PLACES
#define RETROGRAD_FEW_PLACES

#include "few_sums.c"

enum { SHORT = 64 }; /* elements of a row that is sorted by insertion */

/* The number of an argument; -1 where it is none from 0 on. */
static npy_intp
read_number(const Given *all, Py_ssize_t place, PyObject *name)
{
    PyObject *given_number = given(all, place, name);
    Py_ssize_t found = PyLong_CheckExact(given_number) ? PyLong_AsSsize_t(given_number) : -1;
    PyErr_Clear();
    return found < 0 ? -1 : found;
}

/* The rows along the last axis of an array; false where `dim` is another one. */
static bool
read_last_rows(PyArrayObject *x, npy_intp dim, npy_intp *rows, npy_intp *n)
{
    int dims = x == NULL ? 0 : PyArray_NDIM(x);
    if (dims == 0 || dim != dims - 1) {
        return false;
    }
    *n = PyArray_DIM(x, dims - 1);
    *rows = PyArray_SIZE(x) / *n;
    return *n <= SHORT;
}

#define ORDER(REAL)                                                                                 \
    /* Whether x comes before y: the smaller one, or the larger, where NaN is largest. */           \
    static inline bool comes_first_##REAL(REAL x, REAL y, bool descending)                          \
    {                                                                                               \
        return descending ? x > y || (x != x && y == y) : x < y || (y != y && x == x);              \
    }                                                                                               \
                                                                                                    \
    /* Put the places of the first `k` of `n` numbers, equal ones in their order, into `places`. */ \
    static void place_##REAL(const REAL *x, npy_intp n, npy_intp k, bool descending,                \
                             int64_t *places)                                                       \
    {                                                                                               \
        npy_intp held = 0;                                                                          \
        for (npy_intp i = 0; i < n; i++) {                                                          \
            npy_intp at = held;                                                                     \
            while (at > 0 && comes_first_##REAL(x[i], x[places[at - 1]], descending)) {             \
                at--;                                                                               \
            }                                                                                       \
            if (at < k) {                                                                           \
                held += held < k;                                                                   \
                memmove(places + at + 1, places + at, (size_t)(held - at - 1) * sizeof(int64_t));   \
                places[at] = i;                                                                     \
            }                                                                                       \
        }                                                                                           \
    }                                                                                               \
                                                                                                    \
    static void place_rows_##REAL(const REAL *x, npy_intp rows, npy_intp n, npy_intp k,             \
                                  bool descending, REAL *values, int64_t *places)                   \
    {                                                                                               \
        for (npy_intp i = 0; i < rows; i++, x += n, values += k, places += k) {                     \
            place_##REAL(x, n, k, descending, places);                                              \
            for (npy_intp j = 0; j < k; j++) {                                                      \
                values[j] = x[places[j]];                                                           \
            }                                                                                       \
        }                                                                                           \
    }                                                                                               \
                                                                                                    \
    /* The first largest number along an axis, or smallest, or NaN, and its place. */               \
    static void best_##REAL(const REAL *x, npy_intp times, npy_intp n, npy_intp width,              \
                            bool largest, REAL *values, int64_t *places)                            \
    {                                                                                               \
        for (npy_intp i = 0; i < times * width; i++) {                                              \
            const REAL *from = x + i / width * n * width + i % width;                               \
            int64_t at = 0;                                                                         \
            for (npy_intp j = 1; j < n; j++) {                                                      \
                REAL best = from[at * width], each = from[j * width];                               \
                bool better = largest ? each > best : each < best;                                  \
                at = better || (each != each && best == best) ? j : at;                             \
            }                                                                                       \
            values[i] = from[at * width];                                                           \
            places[i] = at;                                                                         \
        }                                                                                           \
    }                                                                                               \
                                                                                                    \
    static void add_on_##REAL(const REAL *x, npy_intp times, npy_intp n, npy_intp width,            \
                              bool reverse, REAL *out)                                              \
    {                                                                                               \
        npy_intp start = reverse ? n - 1 : 0, step = reverse ? -width : width;                      \
        bool any_zero = false;                                                                      \
        for (npy_intp i = 0; i < times * width; i++) {                                              \
            npy_intp at = (i / width * n + start) * width + i % width;                              \
            double sum = (double)x[at];                                                             \
            any_zero = any_zero || x[at] == 0;                                                      \
            out[at] = x[at];                                                                        \
            for (npy_intp j = 1; j < n; j++) {                                                      \
                at += step;                                                                         \
                sum += (double)x[at];                                                               \
                out[at] = (REAL)sum;                                                                \
            }                                                                                       \
        }                                                                                           \
        for (npy_intp i = 0; any_zero && i < times * n * width; i++) {                              \
            out[i] += 0; /* the sum of -0 is 0 */                                                   \
        }                                                                                           \
    }

ORDER(float)
ORDER(double)

/* The first `k` in order along the last axis, and their places. */
static PyObject *
first_few(PyArrayObject *x, npy_intp rows, npy_intp n, npy_intp k, bool descending)
{
    npy_intp shape[NPY_MAXDIMS];
    int dims = PyArray_NDIM(x);
    memcpy(shape, PyArray_DIMS(x), (size_t)dims * sizeof(npy_intp));
    shape[dims - 1] = k;
    PyObject *values = PyArray_SimpleNew(dims, shape, PyArray_TYPE(x)), *both = NULL;
    PyObject *places = PyArray_SimpleNew(dims, shape, NPY_INT64);
    if (values != NULL && places != NULL) {
        void *to = PyArray_DATA((PyArrayObject *)values);
        int64_t *found = PyArray_DATA((PyArrayObject *)places);
        if (is_wide(x)) {
            place_rows_double(PyArray_DATA(x), rows, n, k, descending, to, found);
        }
        else {
            place_rows_float(PyArray_DATA(x), rows, n, k, descending, to, found);
        }
        both = PyTuple_Pack(2, values, places);
    }
    Py_XDECREF(values);
    Py_XDECREF(places);
    return both;
}

/* `sort(x, dim, descending)`. */
static PyObject *
small_sort(const Given *all)
{
    PyArrayObject *x = few(all->args[0]);
    PyObject *descending = given(all, 2, text_descending);
    npy_intp rows, n;
    if (!read_last_rows(x, read_number(all, 1, text_dim), &rows, &n) || !PyBool_Check(descending)) {
        return NULL;
    }
    return first_few(x, rows, n, n, descending == Py_True);
}

/* `topk(x, k, dim, largest, sorted)`. */
static PyObject *
small_topk(const Given *all)
{
    PyArrayObject *x = few(all->args[0]);
    PyObject *largest = given(all, 3, text_largest);
    npy_intp rows, n, k = read_number(all, 1, text_k);
    if (!read_last_rows(x, read_number(all, 2, text_dim), &rows, &n) || !PyBool_Check(largest) ||
        k < 1 || k > n || given(all, 4, text_sorted) != Py_True) {
        return NULL;
    }
    return first_few(x, rows, n, k, largest == Py_True);
}

/* What is best along one axis, and its place: `max(x, dim, keepdim)` and `min`. */
static PyObject *
best_few(const Given *all, bool largest)
{
    PyArrayObject *x = few(all->args[0]), *values, *places = NULL;
    PyObject *axes = given(all, 1, text_dim), *keep = given(all, 2, text_keepdim), *both = NULL;
    npy_intp sizes[3];
    int first;
    if (x == NULL || !read_axes(axes, PyArray_NDIM(x), PyArray_DIMS(x), sizes, &first) ||
        PyTuple_GET_SIZE(axes) != 1) {
        return NULL;
    }
    values = new_without(x, axes, first, keep == Py_True);
    if (values != NULL) {
        places = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(values), PyArray_DIMS(values),
                                                    NPY_INT64);
    }
    if (places != NULL && is_wide(x)) {
        best_double(PyArray_DATA(x), sizes[0], sizes[1], sizes[2], largest, PyArray_DATA(values),
                    PyArray_DATA(places));
    }
    else if (places != NULL) {
        best_float(PyArray_DATA(x), sizes[0], sizes[1], sizes[2], largest, PyArray_DATA(values),
                   PyArray_DATA(places));
    }
    both = places == NULL ? NULL : PyTuple_Pack(2, values, places);
    Py_XDECREF(values);
    Py_XDECREF(places);
    return both;
}

static PyObject *
small_max(const Given *all)
{
    return best_few(all, true);
}

static PyObject *
small_min(const Given *all)
{
    return best_few(all, false);
}

/* `cumsum(x, dim, reverse)`. */
static PyObject *
small_cumsum(const Given *all)
{
    PyArrayObject *x = few(all->args[0]);
    PyObject *reverse = given(all, 2, text_reverse);
    npy_intp dim = read_number(all, 1, text_dim), times = 1, width = 1;
    int dims = x == NULL ? 0 : PyArray_NDIM(x);
    if (dim < 0 || dim >= dims || !PyBool_Check(reverse)) {
        return NULL;
    }
    for (int d = 0; d < dims; d++) {
        times *= d < dim ? PyArray_DIM(x, d) : 1;
        width *= d > dim ? PyArray_DIM(x, d) : 1;
    }
    PyObject *out = PyArray_SimpleNew(dims, PyArray_DIMS(x), PyArray_TYPE(x));
    void *to = out == NULL ? NULL : PyArray_DATA((PyArrayObject *)out);
    if (to != NULL && is_wide(x)) {
        add_on_double(PyArray_DATA(x), times, PyArray_DIM(x, dim), width, reverse == Py_True, to);
    }
    else if (to != NULL) {
        add_on_float(PyArray_DATA(x), times, PyArray_DIM(x, dim), width, reverse == Py_True, to);
    }
    return out;
}

/* Few indices of 64 bits in plain memory, or NULL. */
static PyArrayObject *
few_indices(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    bool plain = PyArray_CheckExact(object) && PyArray_TYPE(array) == NPY_INT64 &&
                 PyArray_ISCARRAY_RO(array);
    return plain && PyArray_SIZE(array) > 0 && PyArray_SIZE(array) <= FEW ? array : NULL;
}

/* `gather(x, index, dim)`: the entries that an index names along one axis. */
static PyObject *
small_gather(const Given *all)
{
    PyArrayObject *x = (PyArrayObject *)all->args[0];
    PyArrayObject *index = all->count == 2 ? few_indices(all->args[1]) : NULL;
    npy_intp dim = read_number(all, 2, text_dim);
    int dims = PyArray_NDIM(x);
    if (index == NULL || dims != PyArray_NDIM(index) || dim < 0 || dim >= dims ||
        !PyArray_ISBEHAVED_RO(x) || PyDataType_REFCHK(PyArray_DESCR(x))) {
        return NULL;
    }
    for (int d = 0; d < dims; d++) {
        if (d != dim && PyArray_DIM(index, d) > PyArray_DIM(x, d)) {
            return NULL;
        }
    }
    PyArray_Descr *kind = PyArray_DESCR(x);
    Py_INCREF(kind);
    PyArrayObject *out =
        (PyArrayObject *)PyArray_SimpleNewFromDescr(dims, PyArray_DIMS(index), kind);
    npy_intp count = PyArray_SIZE(index), item = PyArray_ITEMSIZE(x), size = PyArray_DIM(x, dim);
    const int64_t *places = PyArray_DATA(index);
    char *to = out == NULL ? NULL : PyArray_BYTES(out);
    for (npy_intp i = 0; to != NULL && i < count; i++, to += item) {
        if (places[i] < 0 || places[i] >= size) {
            Py_DECREF(out); /* the function says what is wrong */
            return NULL;
        }
        char *from = PyArray_BYTES(x);
        npy_intp rest = i;
        for (int d = dims - 1; d >= 0; d--) {
            npy_intp here = rest % PyArray_DIM(index, d);
            from += (d == dim ? places[i] : here) * PyArray_STRIDE(x, d);
            rest /= PyArray_DIM(index, d);
        }
        memcpy(to, from, (size_t)item);
    }
    return (PyObject *)out;
}

/* `expand(x, shape)`: a view in which axes of one element are repeated, of any array. */
static PyObject *
small_expand(const Given *all)
{
    PyArrayObject *x = (PyArrayObject *)all->args[0];
    PyObject *shape = given(all, 1, text_shape);
    npy_intp sizes[NPY_MAXDIMS], steps[NPY_MAXDIMS];
    Py_ssize_t dims = PyTuple_Check(shape) ? PyTuple_GET_SIZE(shape) : -1;
    Py_ssize_t lead = dims - PyArray_NDIM(x);
    if (dims > NPY_MAXDIMS || lead < 0 || PyDataType_REFCHK(PyArray_DESCR(x))) {
        return NULL;
    }
    double bytes = (double)PyArray_ITEMSIZE(x);
    for (Py_ssize_t d = 0; d < dims; d++) {
        PyObject *n = PyTuple_GET_ITEM(shape, d);
        npy_intp own = d < lead ? 1 : PyArray_DIM(x, d - lead);
        sizes[d] = PyLong_CheckExact(n) ? PyLong_AsSsize_t(n) : -1;
        if (sizes[d] < 0 || (own != 1 && own != sizes[d])) {
            PyErr_Clear();
            return NULL;
        }
        steps[d] = own == 1 ? 0 : PyArray_STRIDE(x, d - lead);
        bytes *= (double)sizes[d];
    }
    if (bytes >= 9e18) { /* no address has so many bits; NumPy says so */
        return NULL;
    }
    PyArray_Descr *kind = PyArray_DESCR(x);
    Py_INCREF(kind);
    PyObject *out =
        PyArray_NewFromDescr(&PyArray_Type, kind, (int)dims, sizes, steps, PyArray_DATA(x),
                             PyArray_FLAGS(x) & NPY_ARRAY_WRITEABLE, NULL);
    if (out != NULL && PyArray_SetBaseObject((PyArrayObject *)out, Py_NewRef((PyObject *)x)) < 0) {
        Py_CLEAR(out);
    }
    return out;
}

#endif
