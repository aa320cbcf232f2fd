/* Kernels and the door to them: what `retrograd/compiler/` runs on arrays.

   NOTE [Kernels]
   1. A `Door` stands for a function. It calls the function, but where an argument is a large array
      and the function has a kernel for what the arguments are: NOTE [The door] in `door.py`.
   2. A `Kernel` has code from LLVM, `void code(char **pointers, int64_t n)`, for each choice of inputs
      that are one number in a whole row; `build` gives what is not there yet. One that is a single
      ufunc may have that ufunc's loop instead, which then runs in several threads. Before either
      runs, all that it takes for granted is checked: types, alignment, byte order, rows, overlaps.
   3. The elements of the result are numbered in the order of its memory, which is NumPy's: that of
      the inputs, as far as they agree. A row is a stretch of them along which each input goes on by
      one element, or stays: of arrays in one layout there is one row, of an array and a bias as many
      as the array has rows. Rows are cut into pieces for the pool, the same for any number of threads.
*/

#ifndef RETROGRAD_KERNEL
#define RETROGRAD_KERNEL

#include <stddef.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include "pool.c"

enum { MOST_OPERANDS = 16, MOST_OUTPUTS = 4, MOST_ARGUMENTS = 24 };
enum { SHORTEST = 32 }; /* elements of a row; shorter ones are left to NumPy */

typedef void (*Code)(char **pointers, int64_t n);

/* The code for one choice of inputs that are numbers: bit i for input i. */
typedef struct {
    unsigned numbers;
    Code code;
} Variant;

typedef struct {
    PyObject_HEAD
    PyObject *build; /* gives the address of the code for a choice of numbers */
    int inputs, outputs, count;
    int types[MOST_OPERANDS + MOST_OUTPUTS];
    int places[MOST_OPERANDS];   /* of each input among the arguments */
    int targets[MOST_OUTPUTS];   /* the input over which an output is written, or -1 */
    npy_intp times;              /* how many times `least` elements there must be; 0: any */
    int64_t grain;               /* elements of a piece; so few keep the interpreter's lock */
    PyUFuncGenericFunction loop; /* a ufunc's, instead of code; NULL if there is none */
    void *data;
    Variant *variants; /* so many as `count` */
} Kernel;

/* Where the elements of one call lie. */
typedef struct {
    Code code; /* or, if that is NULL, a loop */
    PyUFuncGenericFunction loop;
    void *data;
    int operands, dims; /* dims: those across which rows lie */
    char *base[MOST_OPERANDS + MOST_OUTPUTS];
    npy_intp row;                                /* elements in one */
    npy_intp step[MOST_OPERANDS + MOST_OUTPUTS]; /* bytes from an element of a row to the next */
    npy_intp shape[NPY_MAXDIMS];
    npy_intp strides[NPY_MAXDIMS][MOST_OPERANDS + MOST_OUTPUTS];
} Layout;

static npy_intp large = 4096;   /* `setting.least` */
static long most_whole;         /* `door.MOST` */
static Py_ssize_t most_kernels; /* `door.MOST_KERNELS` */
static PyObject *new_kernel;    /* `door.new_kernel` */
static PyObject *watcher;       /* is told of every call of a door, if there is one */
static PyTypeObject KernelType, DoorType;

/* Run a stretch of elements, which may begin and end within rows. */
static void
run_stretch(void *context, int64_t begin, int64_t end)
{
    Layout *layout = context;
    while (begin < end) {
        int64_t left = begin / layout->row, offset = begin % layout->row;
        int64_t count = layout->row - offset < end - begin ? layout->row - offset : end - begin;
        char *pointers[MOST_OPERANDS + MOST_OUTPUTS];
        for (int i = 0; i < layout->operands; i++) {
            pointers[i] = layout->base[i] + offset * layout->step[i];
        }
        for (int d = layout->dims - 1; d >= 0; d--) {
            int64_t at = left % layout->shape[d];
            left /= layout->shape[d];
            for (int i = 0; i < layout->operands; i++) {
                pointers[i] += at * layout->strides[d][i];
            }
        }
        if (layout->code != NULL) {
            layout->code(pointers, count);
        }
        else {
            layout->loop(pointers, &(npy_intp){count}, layout->step, layout->data);
        }
        begin += count;
    }
}

/* The inputs of a call among its arguments, borrowed; false where one is none that code can read. */
static bool
find_inputs(Kernel *self, PyObject *const *arguments, Py_ssize_t count, PyArrayObject **arrays,
            double *numbers, char **base)
{
    for (int i = 0; i < self->inputs; i++) {
        PyObject *input = self->places[i] < count ? arguments[self->places[i]] : Py_None;
        arrays[i] = NULL;
        if (PyFloat_CheckExact(input) && self->types[i] == NPY_DOUBLE) {
            numbers[i] = PyFloat_AS_DOUBLE(input);
            base[i] = (char *)&numbers[i];
            continue;
        }
        if (!PyArray_CheckExact(input)) {
            return false;
        }
        PyArrayObject *array = (PyArrayObject *)input;
        if (PyArray_TYPE(array) != self->types[i] || !PyArray_ISBEHAVED_RO(array)) {
            return false;
        }
        arrays[i] = array;
        base[i] = PyArray_BYTES(array);
    }
    return true;
}

/* The shape that arrays have together; its number of dimensions, -1 where there is none. */
static int
broadcast(PyArrayObject **arrays, int count, npy_intp *shape)
{
    int dims = 0;
    for (int i = 0; i < count; i++) {
        int own = arrays[i] == NULL ? 0 : PyArray_NDIM(arrays[i]);
        dims = own > dims ? own : dims;
    }
    for (int d = 0; d < dims; d++) {
        shape[d] = 1;
        for (int i = 0; i < count; i++) {
            int at = arrays[i] == NULL ? -1 : d - dims + PyArray_NDIM(arrays[i]);
            npy_intp size = at < 0 ? 1 : PyArray_DIM(arrays[i], at);
            if (size != 1 && shape[d] != 1 && size != shape[d]) {
                return -1;
            }
            shape[d] = shape[d] == 1 ? size : shape[d];
        }
    }
    return dims;
}

/* Whether all arrays but single numbers have the shape, and are row-major. */
static bool
are_alike(PyArrayObject **arrays, int count, int dims, npy_intp *shape)
{
    for (int i = 0; i < count; i++) {
        PyArrayObject *array = arrays[i];
        if (array == NULL || PyArray_SIZE(array) == 1) {
            continue;
        }
        if (!PyArray_IS_C_CONTIGUOUS(array) || PyArray_NDIM(array) != dims ||
            !PyArray_CompareLists(PyArray_DIMS(array), shape, dims)) {
            return false;
        }
    }
    return true;
}

/* Put dimensions in the order in which NumPy lays out a result, the outermost first: one that all
   inputs with a say find in the wrong place goes further out. */
static void
put_in_order(int inputs, int dims, npy_intp strides[][MOST_OPERANDS + MOST_OUTPUTS], int *order)
{
    for (int d = dims - 1; d >= 0; d--) {
        int place = d, own = d;
        for (int k = d + 1; k < dims; k++) {
            bool said = false, stays = false;
            for (int i = 0; i < inputs; i++) {
                npy_intp outer = strides[own][i], inner = strides[order[k]][i];
                if (outer != 0 && inner != 0) {
                    said = true;
                    stays = stays || llabs(inner) <= llabs(outer);
                }
            }
            if (stays) {
                break;
            }
            place = said ? k : place;
        }
        memmove(order + d, order + d + 1, (size_t)(place - d) * sizeof(int));
        order[place] = own;
    }
}

/* Lay out the inputs in the order of the result's memory: dimensions along which all of them go on as
   along the next one are one with it. False where the innermost is no row. */
static bool
lay_in_rows(Kernel *self, PyArrayObject **arrays, int dims, npy_intp *shape, int *order,
            Layout *layout)
{
    npy_intp all[NPY_MAXDIMS][MOST_OPERANDS + MOST_OUTPUTS];
    npy_intp strides[NPY_MAXDIMS][MOST_OPERANDS + MOST_OUTPUTS];
    npy_intp sizes[NPY_MAXDIMS];
    int kept = 0; /* innermost first */
    for (int d = 0; d < dims; d++) {
        for (int i = 0; i < self->inputs; i++) {
            int at = arrays[i] == NULL ? -1 : d - dims + PyArray_NDIM(arrays[i]);
            bool there = at >= 0 && PyArray_DIM(arrays[i], at) != 1;
            all[d][i] = there ? PyArray_STRIDE(arrays[i], at) : 0;
        }
    }
    put_in_order(self->inputs, dims, all, order);
    for (int k = dims - 1; k >= 0; k--) {
        int d = order[k];
        if (shape[d] == 1) {
            continue;
        }
        bool one = kept > 0;
        for (int i = 0; i < self->inputs; i++) {
            strides[kept][i] = all[d][i];
            one = one && strides[kept][i] == strides[kept - 1][i] * sizes[kept - 1];
        }
        if (one) {
            sizes[kept - 1] *= shape[d];
        }
        else {
            sizes[kept++] = shape[d];
        }
    }
    if (kept == 0) {
        return false;
    }
    layout->row = sizes[0];
    for (int i = 0; i < self->inputs; i++) {
        layout->step[i] = strides[0][i];
        if (self->loop == NULL && strides[0][i] != 0 &&
            strides[0][i] != PyArray_ITEMSIZE(arrays[i])) {
            return false;
        }
    }
    layout->dims = kept - 1;
    for (int k = 1; k < kept; k++) {
        layout->shape[kept - 1 - k] = sizes[k];
        for (int i = 0; i < self->inputs; i++) {
            layout->strides[kept - 1 - k][i] = strides[k][i];
        }
    }
    return layout->row >= SHORTEST || layout->dims == 0;
}

/* A new array whose dimensions lie in an order, the outermost first. */
static PyObject *
new_in_order(int dims, npy_intp *shape, int *order, int type)
{
    PyArray_Descr *dtype = PyArray_DescrFromType(type);
    npy_intp strides[NPY_MAXDIMS], across = PyDataType_ELSIZE(dtype);
    for (int k = dims - 1; k >= 0; k--) {
        strides[order[k]] = across;
        across *= shape[order[k]];
    }
    return PyArray_NewFromDescr(&PyArray_Type, dtype, dims, shape, strides, NULL, 0, NULL);
}

/* The code for inputs of which some are numbers in a row; NULL, with or without an error. */
static Code
code_for(Kernel *self, Layout *layout)
{
    unsigned numbers = 0;
    for (int i = 0; i < self->inputs; i++) {
        numbers |= (unsigned)(layout->step[i] == 0) << i;
    }
    for (int i = 0; i < self->count; i++) {
        if (self->variants[i].numbers == numbers) {
            return self->variants[i].code;
        }
    }
    PyObject *address = PyObject_CallFunction(self->build, "I", numbers);
    Code code = address == NULL ? NULL : (Code)PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    if (code == NULL) {
        return NULL;
    }
    Variant *more = PyMem_Realloc(self->variants, (self->count + 1) * sizeof(Variant));
    if (more == NULL) {
        return (Code)PyErr_NoMemory();
    }
    more[self->count++] = (Variant){numbers, code};
    self->variants = more;
    return code;
}

/* Whether the memory of an input that will be written is none of the other inputs'. */
static bool
is_apart(Kernel *self, PyArrayObject **arrays, int target)
{
    char *begin = PyArray_BYTES(arrays[target]), *end = begin + PyArray_NBYTES(arrays[target]);
    for (int i = 0; i < self->inputs; i++) {
        if (i != target && arrays[i] != NULL && PyArray_BYTES(arrays[i]) < end &&
            begin < PyArray_BYTES(arrays[i]) + PyArray_NBYTES(arrays[i])) {
            return false;
        }
    }
    return true;
}

/* Run a kernel on arguments: the first output; NULL without an error where it does not take them. */
static PyObject *
run_kernel(Kernel *self, PyObject *const *arguments, Py_ssize_t count)
{
    PyArrayObject *arrays[MOST_OPERANDS];
    PyObject *made[MOST_OUTPUTS] = {NULL}, *result = NULL;
    npy_intp shape[NPY_MAXDIMS], size;
    double numbers[MOST_OPERANDS];
    Layout layout;
    if (!find_inputs(self, arguments, count, arrays, numbers, layout.base)) {
        return NULL;
    }
    int dims = broadcast(arrays, self->inputs, shape), order[NPY_MAXDIMS];
    for (int d = 0; d < dims; d++) {
        order[d] = d;
    }
    size = dims < 0 ? -1 : PyArray_OverflowMultiplyList(shape, dims);
    bool any = self->times == 0;
    if (size < 0 || (!any && size / self->times < large)) { /* below 0: more than there are */
        return NULL;
    }
    if (are_alike(arrays, self->inputs, dims, shape)) {
        layout.dims = 0;
        layout.row = size;
        for (int i = 0; i < self->inputs; i++) {
            bool number = arrays[i] == NULL || (PyArray_SIZE(arrays[i]) == 1 && size != 1);
            layout.step[i] = number ? 0 : PyArray_ITEMSIZE(arrays[i]);
        }
    }
    else if (!lay_in_rows(self, arrays, dims, shape, order, &layout)) {
        return NULL;
    }
    layout.operands = self->inputs + self->outputs;
    layout.code = NULL;
    layout.loop = self->loop;
    layout.data = self->data;
    if (self->loop == NULL && (layout.code = code_for(self, &layout)) == NULL) {
        return NULL;
    }
    for (int i = 0, place = self->inputs; i < self->outputs; i++, place++) {
        int target = self->targets[i], type = self->types[place];
        if (target < 0) {
            made[i] = new_in_order(dims, shape, order, type);
        }
        else if (layout.step[target] != 0 && layout.dims == 0 &&
                 PyArray_ISWRITEABLE(arrays[target]) && is_apart(self, arrays, target)) {
            made[i] = Py_NewRef(arrays[target]);
        }
        if (made[i] == NULL) {
            goto done;
        }
        layout.base[place] = PyArray_BYTES((PyArrayObject *)made[i]);
        layout.step[place] = PyArray_ITEMSIZE((PyArrayObject *)made[i]);
        npy_intp across = layout.row * layout.step[place];
        for (int d = layout.dims - 1; d >= 0; d--) {
            layout.strides[d][place] = across;
            across *= layout.shape[d];
        }
    }
    if (size <= self->grain) {
        run_stretch(&layout, 0, size);
    }
    else {
        Py_BEGIN_ALLOW_THREADS;
        pool_run(run_stretch, &layout, size, self->grain);
        Py_END_ALLOW_THREADS;
    }
    result = Py_NewRef(made[0]);
done:
    for (int i = 0; i < self->outputs; i++) {
        Py_XDECREF(made[i]);
    }
    return result;
}

/* Read a tuple of numbers, all of them from `least_one` to below `most`. */
static bool
read_numbers(PyObject *tuple, int least, int most, int *found)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        long number = PyLong_AsLong(PyTuple_GET_ITEM(tuple, i));
        if (PyErr_Occurred() || number < least || number >= most) {
            return false;
        }
        found[i] = (int)number;
    }
    return true;
}

/* Find the loop of a ufunc of the kernel's types; false where it has none. */
static bool
find_loop(Kernel *self, PyObject *object)
{
    PyUFuncObject *ufunc = (PyUFuncObject *)object;
    if (!PyObject_TypeCheck(object, &PyUFunc_Type) || ufunc->core_enabled ||
        ufunc->nin != self->inputs || ufunc->nout != 1 || self->outputs != 1) {
        return false;
    }
    for (int i = 0; i < ufunc->ntypes; i++) {
        bool alike = true;
        for (int j = 0; j < ufunc->nargs; j++) {
            alike = alike && ufunc->types[i * ufunc->nargs + j] == self->types[j];
        }
        if (alike) {
            self->loop = ufunc->functions[i];
            self->data = ufunc->data == NULL ? NULL : (void *)ufunc->data[i];
            return true;
        }
    }
    return false;
}

static PyObject *
kernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"build", "types", "places", "targets", "times", "grain", "ufunc", NULL};
    PyObject *build, *types, *places, *targets, *ufunc;
    Py_ssize_t times;
    long long grain;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$OO!O!O!nLO", names, &build, &PyTuple_Type,
                                     &types, &PyTuple_Type, &places, &PyTuple_Type, &targets,
                                     &times, &grain, &ufunc)) {
        return NULL;
    }
    Py_ssize_t inputs = PyTuple_GET_SIZE(places), outputs = PyTuple_GET_SIZE(targets);
    Kernel *self = (Kernel *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    if (inputs < 1 || inputs > MOST_OPERANDS || outputs < 1 || outputs > MOST_OUTPUTS ||
        PyTuple_GET_SIZE(types) != inputs + outputs || grain < 1 || times < 0 ||
        !read_numbers(types, 0, NPY_NTYPES_LEGACY, self->types) ||
        !read_numbers(places, 0, MOST_ARGUMENTS, self->places) ||
        !read_numbers(targets, -1, (int)inputs, self->targets)) {
        Py_DECREF(self);
        PyErr_SetString(PyExc_ValueError, "no such operands of a kernel");
        return NULL;
    }
    self->build = Py_NewRef(build);
    self->inputs = (int)inputs;
    self->outputs = (int)outputs;
    self->times = times;
    self->grain = grain;
    if (ufunc != Py_None && !find_loop(self, ufunc)) {
        Py_DECREF(self);
        return PyErr_Format(PyExc_ValueError, "%R has no loop for such operands", ufunc);
    }
    return (PyObject *)self;
}

static void
kernel_dealloc(PyObject *object)
{
    Py_XDECREF(((Kernel *)object)->build);
    PyMem_Free(((Kernel *)object)->variants);
    Py_TYPE(object)->tp_free(object);
}

/* `kernel(operands)`: the first output, None where the kernel does not take such operands. */
static PyObject *
kernel_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *operands;
    if (!PyArg_ParseTuple(args, "O", &operands) ||
        (operands = PySequence_Tuple(operands)) == NULL) { /* which nobody else can change */
        return NULL;
    }
    PyObject *found = run_kernel((Kernel *)self, ((PyTupleObject *)operands)->ob_item,
                                 PyTuple_GET_SIZE(operands));
    Py_DECREF(operands);
    return found == NULL && !PyErr_Occurred() ? Py_NewRef(Py_None) : found;
}

static PyMemberDef kernel_members[] = {
    {"build", T_OBJECT, offsetof(Kernel, build), READONLY, NULL},
    {NULL},
};

static PyTypeObject KernelType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "retrograd.kernels._loops.Kernel",
    .tp_basicsize = sizeof(Kernel),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = kernel_new,
    .tp_dealloc = kernel_dealloc,
    .tp_call = kernel_call,
    .tp_members = kernel_members,
};

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function, *loops, *name;
    PyObject *kernels; /* by what the arguments are: NULL before the first large one */
} Door;

/* Whether an argument is one of few, as `known_of` says. */
static bool
is_one_of_few(PyObject *x)
{
    if (PyLong_CheckExact(x)) {
        int beyond;
        long number = PyLong_AsLongAndOverflow(x, &beyond);
        return !beyond && number >= -most_whole && number <= most_whole;
    }
    return PyBool_Check(x) || PyUnicode_CheckExact(x);
}

/* Whether a tuple holds integers alone: sizes, which come with the arrays. */
static bool
holds_sizes(PyObject *tuple)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(tuple, i))) {
            return false;
        }
    }
    return true;
}

static PyObject *key_of(PyObject *const *args, Py_ssize_t count, PyObject *kwnames);

/* `key_of` what a tuple holds, which may be tuples again. */
static PyObject *
key_of_tuple(PyObject *tuple)
{
    if (Py_EnterRecursiveCall(" while a kernel was looked for")) {
        return NULL;
    }
    PyObject *key = key_of(((PyTupleObject *)tuple)->ob_item, PyTuple_GET_SIZE(tuple), NULL);
    Py_LeaveRecursiveCall();
    return key;
}

/* What tells a function's kernels apart: dtypes of arrays and whether they have dimensions, that a
   number is a float, and anything else itself; NULL without an error where that is one of many. */
static PyObject *
key_of(PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    PyObject *key = PyTuple_New(count + (kwnames != NULL));
    for (Py_ssize_t i = 0; key != NULL && i < count; i++) {
        PyObject *x = args[i], *part;
        if (PyArray_CheckExact(x)) {
            int type = PyArray_TYPE((PyArrayObject *)x),
                some = PyArray_NDIM((PyArrayObject *)x) > 0;
            part = PyLong_FromLong(2L * type + some);
        }
        else if (PyFloat_CheckExact(x)) {
            part = Py_NewRef(&PyFloat_Type);
        }
        else if (x == Py_None || PyModule_Check(x)) {
            part = Py_NewRef(x);
        }
        else if (Py_TYPE(x)->tp_hash == PyTuple_Type.tp_hash) {
            part = holds_sizes(x) ? Py_NewRef(x) : key_of_tuple(x);
        }
        else {
            part = is_one_of_few(x) ? PyTuple_Pack(2, Py_TYPE(x), x) : NULL;
        }
        if (part == NULL) {
            Py_CLEAR(key);
            break;
        }
        PyTuple_SET_ITEM(key, i, part);
    }
    if (key != NULL && kwnames != NULL) {
        PyTuple_SET_ITEM(key, count, Py_NewRef(kwnames));
    }
    return key;
}

static PyObject *
tuple_of(PyObject *const *items, Py_ssize_t count)
{
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyTuple_SET_ITEM(made, i, Py_NewRef(items[i]));
    }
    return made;
}

/* Put what is kept under a key behind all else, if what is in front may soon have to go. */
static int
put_last(PyObject *kernels, PyObject *key, PyObject *kept)
{
    if (PyDict_GET_SIZE(kernels) <= most_kernels / 2) {
        return 0;
    }
    return PyDict_DelItem(kernels, key) < 0 ? -1 : PyDict_SetItem(kernels, key, kept);
}

/* Drop the kernel that rests for the longest time. */
static int
drop_first(PyObject *kernels)
{
    Py_ssize_t place = 0;
    PyObject *key, *kept;
    if (!PyDict_Next(kernels, &place, &key, &kept)) {
        return 0;
    }
    Py_INCREF(key);
    int failed = PyDict_DelItem(kernels, key);
    Py_DECREF(key);
    return failed;
}

/* The function's kernel for such arguments, or None. */
static PyObject *
kernel_for(Door *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    PyObject *found = NULL, *made = NULL, *operands = NULL, *names = NULL, *key;
    if (self->kernels == NULL && (self->kernels = PyDict_New()) == NULL) {
        return NULL;
    }
    key = key_of(args, count, kwnames);
    found = key == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(self->kernels, key));
    if (found != NULL && put_last(self->kernels, key, found) < 0) {
        Py_CLEAR(found);
    }
    if (found == NULL && key != NULL && !PyErr_Occurred()) {
        operands = tuple_of(args, count);
        names = kwnames == NULL ? PyTuple_New(0) : Py_NewRef(kwnames);
        PyObject *make = Py_NewRef(new_kernel);
        made = operands == NULL || names == NULL
                   ? NULL
                   : PyObject_CallFunctionObjArgs(make, self->function, names, operands, NULL);
        Py_DECREF(make);
        if (made != NULL && PyDict_SetItem(self->kernels, key, made) == 0 &&
            (PyDict_GET_SIZE(self->kernels) <= most_kernels || drop_first(self->kernels) == 0)) {
            found = Py_NewRef(made);
        }
        Py_XDECREF(made);
        Py_XDECREF(names);
        Py_XDECREF(operands);
    }
    Py_XDECREF(key);
    return found;
}

/* What the kernel gives; NULL without an error where the function is to be called. */
static PyObject *
by_kernel(Door *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    PyObject *kernel = kernel_for(self, args, count, kwnames), *found = NULL;
    if (kernel == NULL) {
        return NULL;
    }
    if (Py_IS_TYPE(kernel, &KernelType)) {
        found = run_kernel((Kernel *)kernel, args, count);
    }
    else if (kernel != Py_None) {
        PyObject *operands = tuple_of(args, count);
        found = operands == NULL ? NULL : PyObject_CallOneArg(kernel, operands);
        Py_XDECREF(operands);
        if (found == Py_None) {
            Py_CLEAR(found);
        }
    }
    Py_DECREF(kernel);
    return found;
}

static bool
has_large(PyObject *const *args, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyArray_CheckExact(args[i]) && PyArray_SIZE((PyArrayObject *)args[i]) >= large) {
            return true;
        }
    }
    return false;
}

/* Tell of a call, its operands and names of parameters, and whether a kernel computed. */
static int
tell(Door *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames, bool by_kernel)
{
    PyObject *operands = tuple_of(args, count), *told = NULL, *who = Py_NewRef(watcher);
    if (operands != NULL) {
        PyObject *names = kwnames == NULL ? Py_None : kwnames;
        told = PyObject_CallFunctionObjArgs(who, self, operands, names,
                                            by_kernel ? Py_True : Py_False, NULL);
    }
    Py_DECREF(who);
    Py_XDECREF(operands);
    Py_XDECREF(told);
    return told == NULL ? -1 : 0;
}

static PyObject *
door_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Door *self = (Door *)object;
    PyObject *found = NULL;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    Py_ssize_t all = count + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    if (has_large(args, count) && all <= MOST_ARGUMENTS && new_kernel != NULL) {
        found = by_kernel(self, args, all, kwnames);
    }
    if (watcher != NULL && !PyErr_Occurred() && tell(self, args, all, kwnames, found != NULL) < 0) {
        Py_CLEAR(found);
    }
    if (found != NULL || PyErr_Occurred()) {
        return found;
    }
    return PyObject_Vectorcall(self->function, args, nargsf, kwnames);
}

static PyObject *
door_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function, *loops, *name;
    if (!PyArg_ParseTuple(args, "OOU", &function, &loops, &name)) {
        return NULL;
    }
    Door *self = (Door *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = door_call;
        self->function = Py_NewRef(function);
        self->loops = Py_NewRef(loops);
        self->name = Py_NewRef(name);
    }
    return (PyObject *)self;
}

static int
door_traverse(PyObject *object, visitproc visit, void *arg)
{
    Door *self = (Door *)object;
    Py_VISIT(self->function);
    Py_VISIT(self->loops);
    Py_VISIT(self->kernels);
    return 0;
}

static int
door_clear(PyObject *object)
{
    Door *self = (Door *)object;
    Py_XSETREF(self->function, Py_NewRef(Py_None)); /* which may still be called */
    Py_CLEAR(self->loops);
    Py_CLEAR(self->kernels);
    return 0;
}

static void
door_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    Door *self = (Door *)object;
    Py_XDECREF(self->function);
    Py_XDECREF(self->loops);
    Py_XDECREF(self->kernels);
    Py_XDECREF(self->name);
    Py_TYPE(object)->tp_free(object);
}

static PyMemberDef door_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Door, function), READONLY, NULL},
    {"__name__", T_OBJECT, offsetof(Door, name), READONLY, NULL},
    {"loops", T_OBJECT, offsetof(Door, loops), READONLY, NULL},
    {"kernels", T_OBJECT, offsetof(Door, kernels), READONLY, NULL},
    {NULL},
};

static PyObject *
door_module(PyObject *object, void *Py_UNUSED(closure))
{
    return PyObject_GetAttrString(((Door *)object)->function, "__module__");
}

static PyGetSetDef door_properties[] = {{"__module__", door_module, NULL, NULL, NULL}, {NULL}};

static PyTypeObject DoorType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "retrograd.kernels._loops.Door",
    .tp_basicsize = sizeof(Door),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = door_new,
    .tp_dealloc = door_dealloc,
    .tp_traverse = door_traverse,
    .tp_clear = door_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Door, vectorcall),
    .tp_members = door_members,
    .tp_getset = door_properties,
};

/* `set_door(least, most, kernels, new_kernel, watcher)`: the size of large arrays, the largest whole
   number and the number of kernels of a door, what makes kernels, and who is told of calls, or None. */
static PyObject *
set_door(PyObject *module, PyObject *args)
{
    Py_ssize_t size, kernels;
    long most;
    PyObject *make, *watch;
    if (!PyArg_ParseTuple(args, "nlnOO", &size, &most, &kernels, &make, &watch)) {
        return NULL;
    }
    large = size;
    most_whole = most;
    most_kernels = kernels;
    Py_XSETREF(new_kernel, Py_NewRef(make));
    Py_XSETREF(watcher, watch == Py_None ? NULL : Py_NewRef(watch));
    Py_RETURN_NONE;
}

#endif
