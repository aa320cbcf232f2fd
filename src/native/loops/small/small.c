/* Forwards of few numbers, without NumPy's way to its loops.

   NOTE [Small]
   1. A `Small` stands for a function of arrays. Where its arguments are few numbers of one real type
      in plain memory, a loop here computes; it calls the function for whatever else, errors included.
   2. Both agree to rounding. Sums are added in NumPy's order, to the same bits. Products are those
      of BLAS, NOTE [One pool], in one thread. Exponentials are NumPy's own loops.
   3. The interpreter's lock is kept: so little work is done before it could be handed over.
   The files: `few.h` is what loops share, `few_copies.c`,
   `few_elements.c`, `few_gates.c`, `few_layers.c`, `few_sums.c`, `few_rows.c`, `few_places.c` and
   `few_losses.c` have the loops of what their names say.
*/

#include "../gemm.c"
#include "few_copies.c"
#include "few_elements.c"
#include "few_gates.c"
#include "few_layers.c"
#include "few_losses.c"
#include "few_places.c"
#include "few_rows.c"
#include "few_sums.c"

#include <stddef.h>
#include <structmember.h>

enum { LITTLE = 1 << 17, MANY = 256 }; /* multiplications, and arrays that are joined, at most */

static int left_out; /* whether all is left to the functions */

typedef struct {
    char *data;
    npy_intp rows, columns, down, right; /* how many; how far apart, in bytes */
} Factor;

static Factor
transposed(Factor x)
{
    return (Factor){x.data, x.columns, x.rows, x.right, x.down};
}

/* The rows of an array, along its last axis. */
static bool
read_factor(PyObject *object, int type, Factor *to)
{
    PyArrayObject *array = (PyArrayObject *)object;
    int dims = PyArray_CheckExact(object) ? PyArray_NDIM(array) : 0;
    if (dims < 2 || PyArray_TYPE(array) != type || !PyArray_ISBEHAVED_RO(array) ||
        PyArray_SIZE(array) == 0 || !(dims == 2 || PyArray_IS_C_CONTIGUOUS(array))) {
        return false;
    }
    npy_intp columns = PyArray_DIM(array, dims - 1), item = PyArray_ITEMSIZE(array);
    *to =
        (Factor){PyArray_DATA(array), PyArray_SIZE(array) / columns, columns, columns * item, item};
    if (dims == 2) {
        to->down = PyArray_STRIDE(array, 0);
        to->right = PyArray_STRIDE(array, 1);
    }
    return true;
}

#ifdef WITHOUT_BLAS

static PyObject *
small_product(Factor x, Factor y, PyArrayObject *like, PyArrayObject *bias)
{
    return NULL;
}

#else

/* `x @ y` in an array of the shape of `like` but for its last dimension; NULL, without an error where it
   is not to be done here. */
static PyObject *
small_product(Factor x, Factor y, PyArrayObject *like, PyArrayObject *bias)
{
    int type = PyArray_TYPE(like), dims = PyArray_NDIM(like);
    Product p = {.type = type,
                 .m = x.rows,
                 .n = y.columns,
                 .k = x.columns,
                 .pieces = 1,
                 .piece = x.rows,
                 .item = PyArray_ITEMSIZE(like),
                 .by_rows = true};
    if (kind_of(type) < 0 || x.columns != y.rows || x.rows * x.columns > LITTLE ||
        x.rows * x.columns * y.columns > LITTLE ||
        !read_order(x.rows, x.columns, x.down, x.right, p.item, &p.a) ||
        !read_order(y.rows, y.columns, y.down, y.right, p.item, &p.b) || !blas_is_there()) {
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(like), (size_t)dims * sizeof(npy_intp));
    shape[dims - 2] = dims == 2 ? x.rows : shape[dims - 2];
    shape[dims - 1] = y.columns;
    PyObject *out = PyArray_SimpleNew(dims, shape, type);
    if (out != NULL) {
        p.a.data = x.data;
        p.b.data = y.data;
        p.bias = bias == NULL ? NULL : PyArray_DATA(bias);
        p.out = PyArray_DATA((PyArrayObject *)out);
        multiply_pieces(&p, 0, 1);
    }
    return out;
}

#endif

/* `mm(x, y)`. */
static PyObject *
small_mm(const Given *all)
{
    PyArrayObject *like = (PyArrayObject *)all->args[0];
    Factor x, y;
    if (all->count != 2 || !PyArray_CheckExact(all->args[1]) ||
        PyArray_NDIM((PyArrayObject *)all->args[1]) != 2 ||
        !read_factor(all->args[0], PyArray_TYPE(like), &x) ||
        !read_factor(all->args[1], PyArray_TYPE(like), &y)) {
        return NULL;
    }
    return small_product(x, y, like, NULL);
}

/* `linear(x, w, b)`. */
static PyObject *
small_linear(const Given *all)
{
    PyArrayObject *like = (PyArrayObject *)all->args[0], *bias = NULL;
    Factor x, w;
    if (all->count != 3 || !PyArray_CheckExact(all->args[1]) ||
        PyArray_NDIM((PyArrayObject *)all->args[1]) != 2 ||
        !read_factor(all->args[0], PyArray_TYPE(like), &x) ||
        !read_factor(all->args[1], PyArray_TYPE(like), &w)) {
        return NULL;
    }
    if (all->args[2] != Py_None) {
        bias = few(all->args[2]);
        if (bias == NULL || PyArray_TYPE(bias) != PyArray_TYPE(like) || PyArray_NDIM(bias) != 1 ||
            PyArray_SIZE(bias) != w.rows) {
            return NULL;
        }
    }
    return small_product(x, transposed(w), like, bias);
}

/* `linear_weight(x, y)`: `x.T @ y` of rows. */
static PyObject *
small_linear_weight(const Given *all)
{
    PyArrayObject *like = (PyArrayObject *)all->args[0];
    Factor x, y;
    if (all->count != 2 || PyArray_NDIM(like) != 2 ||
        !read_factor(all->args[0], PyArray_TYPE(like), &x) ||
        !read_factor(all->args[1], PyArray_TYPE(like), &y)) {
        return NULL;
    }
    return small_product(transposed(x), y, like, NULL);
}

typedef struct {
    const char *name;
    PyObject *(*loop)(const Given *all); /* NULL without an error: call the function */
    Py_ssize_t most;                     /* arguments */
} Few;

static const Few fews[] = {
    {"mm", small_mm, 2},
    {"linear", small_linear, 3},
    {"linear_weight", small_linear_weight, 2},
    {"sum", small_sum, 1},
    {"sum_dim", small_sum_dim, 3},
    {"sum_to", small_sum_to, 2},
    {"spread", small_spread, 2},
    {"unreduce", small_unreduce, 4},
    {"softmax", small_softmax, 2},
    {"log_softmax", small_log_softmax, 2},
    {"layer_norm", small_layer_norm, 5},
    {"batch_norm", small_batch_norm, 5},
    {"cat", small_cat, MANY},
    {"stack", small_stack, MANY},
    {"pad", small_pad, 3},
    {"dot_to", small_dot_to, 3},
    {"blend", small_blend, 5},
    {"by_run", small_by_run, 1},
    {"erf", small_erf, 1},
    {"erfc", small_erfc, 1},
    {"sort", small_sort, 3},
    {"topk", small_topk, 5},
    {"cumsum", small_cumsum, 3},
    {"gather", small_gather, 3},
    {"expand", small_expand, 2},
    {"nll", small_nll, 3},
    {"average", small_average, 3},
    {"var", small_var, 4},
    {"std", small_std, 4},
    {"max", small_max, 3},
    {"min", small_min, 3},
    {"sigmoid", small_sigmoid, 1},
    {"lstm", small_lstm, 3},
    {"lstm_back", small_lstm_back, 6},
    {"lstm_layer", small_lstm_layer, 6},
    {"lstm_layer_back", small_lstm_layer_back, 12},
    {"gru", small_gru, 4},
    {"gru_back", small_gru_back, 5},
    {"bce_with_logits", small_bce_with_logits, 2},
    {"highest", small_highest, 1},
    {"cross_entropy", small_cross_entropy, 5},
    {"cross_entropy_derivative", small_cross_entropy_derivative, 6},
};

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function, *name;
    const Few *few;
} Small;

static PyObject *
small_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Small *self = (Small *)object;
    Given all = {args, PyVectorcall_NARGS(nargsf), kwnames};
    Py_ssize_t count = all.count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    bool fits =
        !left_out && all.count > 0 && count <= self->few->most && PyArray_CheckExact(args[0]);
    PyObject *found = fits ? self->few->loop(&all) : NULL;
    if (found != NULL || PyErr_Occurred()) {
        return found;
    }
    return PyObject_Vectorcall(self->function, args, nargsf, kwnames);
}

/* `Small(function, name)`: the function, and which of the loops does the same. */
static PyObject *
small_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function, *name;
    if (!PyArg_ParseTuple(args, "OU", &function, &name)) {
        return NULL;
    }
    for (size_t i = 0; i < Py_ARRAY_LENGTH(fews); i++) {
        if (PyUnicode_CompareWithASCIIString(name, fews[i].name) == 0) {
            Small *self = (Small *)type->tp_alloc(type, 0);
            if (self != NULL) {
                self->vectorcall = small_call;
                self->function = Py_NewRef(function);
                self->name = Py_NewRef(name);
                self->few = &fews[i];
            }
            return (PyObject *)self;
        }
    }
    PyErr_Format(PyExc_ValueError, "there is no loop for few numbers called %R", name);
    return NULL;
}

static int
small_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((Small *)object)->function);
    return 0;
}

static int
small_clear(PyObject *object)
{
    Small *self = (Small *)object;
    Py_XSETREF(self->function, Py_NewRef(Py_None)); /* which may still be called */
    return 0;
}

static void
small_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    Py_XDECREF(((Small *)object)->function);
    Py_XDECREF(((Small *)object)->name);
    Py_TYPE(object)->tp_free(object);
}

static PyMemberDef small_members[] = {
    {"function", T_OBJECT, offsetof(Small, function), READONLY, NULL},
    {"__name__", T_OBJECT, offsetof(Small, name), READONLY, NULL},
    {NULL},
};

static PyTypeObject SmallType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "retrograd.kernels._loops.Small",
    .tp_basicsize = sizeof(Small),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = small_new,
    .tp_dealloc = small_dealloc,
    .tp_traverse = small_traverse,
    .tp_clear = small_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Small, vectorcall),
    .tp_members = small_members,
};

/* `leave_small_out(whether)`: let the functions compute, for tests that compare both. */
static PyObject *
leave_small_out(PyObject *module, PyObject *whether)
{
    int told = PyObject_IsTrue(whether);
    if (told < 0) {
        return NULL;
    }
    left_out = told;
    Py_RETURN_NONE;
}

/* `set_finder(function)`: what calls `use_blas`, when a product is first asked for. */
static PyObject *
set_finder(PyObject *module, PyObject *function)
{
    Py_XSETREF(blas_finder, Py_NewRef(function));
    Py_RETURN_NONE;
}

/* The loops of a ufunc for single and double precision; -1 with an error. */
static int
find_inner(PyObject *numpy, const char *name, Inner *found)
{
    PyObject *ufunc = PyObject_GetAttrString(numpy, name);
    if (ufunc == NULL || !PyObject_TypeCheck(ufunc, &PyUFunc_Type)) {
        Py_XDECREF(ufunc);
        return -1;
    }
    PyUFuncObject *loops = (PyUFuncObject *)ufunc;
    for (int i = loops->ntypes - 1; i >= 0; i--) { /* the first of a type is the one that is kept */
        int type = loops->types[i * loops->nargs];
        bool same = loops->types[i * loops->nargs + loops->nargs - 1] == type;
        if (same && (type == NPY_FLOAT || type == NPY_DOUBLE)) {
            found[type == NPY_DOUBLE] =
                (Inner){loops->functions[i], loops->data == NULL ? NULL : (void *)loops->data[i]};
        }
    }
    Py_DECREF(ufunc); /* NumPy keeps it */
    return found[0].function != NULL && found[1].function != NULL ? 0 : -1;
}

/* Make ready what is above; -1 with an error. */
static int
prepare_small(void)
{
    static const struct {
        const char *name;
        Inner *inner;
    } needed[] = {
        {"add", add_inner}, {"exp", exp_inner}, {"log", log_inner},   {"log1p", log1p_inner},
        {"cos", cos_inner}, {"sin", sin_inner}, {"tanh", tanh_inner},
    };
    PyObject *numpy = PyImport_ImportModule("numpy");
    int failed = numpy == NULL || PyType_Ready(&SmallType) < 0;
    for (size_t i = 0; !failed && i < Py_ARRAY_LENGTH(needed); i++) {
        failed = find_inner(numpy, needed[i].name, needed[i].inner) < 0;
    }
    Py_XDECREF(numpy);
    for (int wide = 0; !failed && wide < 2; wide++) {
        PyArray_Descr *kind = PyArray_DescrFromType(wide ? NPY_DOUBLE : NPY_FLOAT);
        dot_inner[wide] = PyDataType_GetArrFuncs(kind)->dotfunc;
        Py_DECREF(kind);
    }
    if (failed && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ImportError, "NumPy's functions have other loops than expected");
    }
    static const struct {
        PyObject **text;
        const char *content;
    } texts[] = {
        {&text_shape, "shape"},
        {&text_dim, "dim"},
        {&text_keepdim, "keepdim"},
        {&text_scale, "scale"},
        {&text_eps, "eps"},
        {&text_largest, "largest"},
        {&text_descending, "descending"},
        {&text_sorted, "sorted"},
        {&text_k, "k"},
        {&text_reverse, "reverse"},
        {&text_total, "total"},
        {&text_value, "value"},
        {&text_widths, "widths"},
        {&text_correction, "correction"},
    };
    for (size_t i = 0; i < Py_ARRAY_LENGTH(texts); i++) {
        *texts[i].text = PyUnicode_InternFromString(texts[i].content);
        failed = failed || *texts[i].text == NULL;
    }
    return failed ? -1 : 0;
}
