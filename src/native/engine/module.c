/* The hot path in C: what `engine/callers.py` and `engine/backward/traversal.py` do in the plain case.

   NOTE [Native]
   1. Nothing here is new. A `Caller` wraps the caller that Python built for an op, runs the
      commonest case (plain tensors of one dtype, default modes, also within a batched call), and
      hands every other one to it, errors included.
   2. `start`, `advance` and `add_to_leaf` are those of the backward pass once more. They work on the
      same dictionaries and lists, so a pass goes from C to Python and back at any node. `setup`
      gives the method that stands for `Cell.bump`.
   3. Tensors, nodes and kinds stay the Python classes they are. A slot of such a class is a pointer
      at a fixed offset, which its descriptor tells: `slot` reads it once, when the engine is set up.
   4. The interpreter lock is held throughout, but for what NumPy does; the module is neither built
      nor loaded for an interpreter without that lock.
   5. Whatever may run code of the user's (a call, an allocation, a release) may change any tensor;
      so what is used after it is held, not borrowed. NOTE [Slots] in `shared.h` is the other half:
      nothing is used whose type is not known.
   The files are one translation unit: this one includes `arguments.c`; `factories.c`; `callers.c`, that
   `record.c`, that `views.c`, and `overriding.c`; `backward.c`, that `leaves.c`; `updates.c`, and
   `writes.c`.
*/

#include "shared.h"
#include "callers.c"
#include "arguments.c"
#include "factories.c"
#include "backward.c"
#include "updates.c"
#include "writes.c"

/* The offset of a slot of a Python class, or -1 with an error. */
static Py_ssize_t
slot(PyObject *cls, const char *name)
{
    PyObject *found = PyObject_GetAttrString(cls, name);
    Py_ssize_t offset = -1;
    if (found != NULL && Py_IS_TYPE(found, &PyMemberDescr_Type) &&
        ((PyMemberDescrObject *)found)->d_member->type == T_OBJECT_EX) {
        offset = ((PyMemberDescrObject *)found)->d_member->offset;
    }
    else if (found != NULL) {
        PyErr_Format(PyExc_TypeError, "%s of %R is no slot", name, cls);
    }
    Py_XDECREF(found);
    return offset;
}

/* Take over the parts of the engine, which are named as they are here, and find their slots. All or
   nothing: what is wrong with them is found out before anything is kept. */
static PyObject *
setup(PyObject *module, PyObject *args, PyObject *kwargs)
{
    PyObject *tensor, *node, *kind, *cell, *leaf, *view, *table, *dtype, *constants;
    struct {
        PyObject **part;
        const char *name;
        PyTypeObject *type;
        PyObject *given;
    } parts[] = {
        {&tensor, "tensor", &PyType_Type},
        {&node, "node", &PyType_Type},
        {&kind, "kind", &PyType_Type},
        {&cell, "cell", &PyType_Type},
        {&leaf, "leaf", &PyType_Type},
        {&view, "view", &PyType_Type},
        {&table, "table", &PyType_Type},
        {&dtype, "dtype", &PyType_Type},
        {&constants, "constants", &PyDict_Type},
        {&modes, "modes", &PyDict_Type},
        {&place, "place"},
        {&cpu, "cpu"},
        {&inference_seen, "inference_seen", &PyList_Type},
        {&state, "state"},
        {&numbers, "numbers"},
        {&as_array, "as_array"},
        {&scalar_array, "scalar_array"},
        {&new_in_python, "new_tensor"},
        {&finish, "finish"},
        {&noted, "noted"},
        {&calm, "calm", &PyContext_Type},
        {&fit, "fit"},
        {&fit_leaf, "fit_leaf"},
        {&own, "own"},
        {&sum_apart, "sum_apart"},
        {&overlaps, "overlaps"},
        {&check_current, "check_current"},
        {&check_interior, "check_interior"},
        {&about_to_write, "about_to_write"},
        {&kept_shape, "kept_shape"},
        {&meeting, "meeting"},
        {&freed, "freed"},
        {&refused, "refused"},
        {&stale_view, "stale_view"},
        {&ops, "ops", &PyDict_Type},
        {&output_kind, "output_kind"},
        {&arrays, "arrays"},
        {&reals, "reals"},
        {&add, "add"},
        {&intercept, "intercept"},
        {&rearranged, "rearranged"},
        {&look_at, "look_at"},
        {&passed, "passed"},
        {&overrides_nothing, "overrides_nothing"},
    };
    Py_ssize_t given = kwargs == NULL ? 0 : PyDict_GET_SIZE(kwargs);
    for (size_t i = 0; i < Py_ARRAY_LENGTH(parts); i++) {
        parts[i].given = kwargs == NULL ? NULL : PyDict_GetItemString(kwargs, parts[i].name);
        if (parts[i].given == NULL ||
            (parts[i].type != NULL && !PyObject_TypeCheck(parts[i].given, parts[i].type))) {
            PyErr_Format(PyExc_TypeError, "setup() needs %s%s%s", parts[i].name,
                         parts[i].type == NULL ? "" : ", a ",
                         parts[i].type == NULL ? "" : parts[i].type->tp_name);
            return NULL;
        }
        if (parts[i].part == &numbers && !PyIter_Check(parts[i].given)) {
            PyErr_SetString(PyExc_TypeError, "setup() needs numbers, an iterator");
            return NULL;
        }
        if (parts[i].type == &PyType_Type || parts[i].part == &constants) {
            *parts[i].part = parts[i].given;
        }
    }
    if (Tensor != NULL && tensor != (PyObject *)Tensor) { /* the same: an import goes on */
        PyErr_SetString(PyExc_RuntimeError, "the engine has been set up already");
        return NULL;
    }
    if (given != (Py_ssize_t)Py_ARRAY_LENGTH(parts)) {
        PyErr_Format(PyExc_TypeError, "setup() needs %zu parts, not %zd", Py_ARRAY_LENGTH(parts),
                     given);
        return NULL;
    }
    struct {
        Py_ssize_t *offset;
        PyObject *cls;
        const char *name;
        Py_ssize_t found;
    } slots[] = {
        {&of_tensor.array, tensor, "_array"}, {&of_tensor.cell, tensor, "_cell"},
        {&of_tensor.node, tensor, "_node"},   {&of_node.op, node, "op"},
        {&of_node.seq, node, "seq"},          {&of_node.edges, node, "edges"},
        {&of_node.saved, node, "saved"},      {&of_node.params, node, "params"},
        {&of_node.shape, node, "shape"},      {&of_node.dtype, node, "dtype"},
        {&of_node.hooks, node, "hooks"},      {&of_node.cell, node, "_cell"},
        {&of_node.fits, node, "fits"},        {&of_kind.formulas, kind, "formulas"},
        {&of_kind.table, kind, "table"},      {&of_kind.ordinary, kind, "ordinary"},
        {&of_kind.joint, kind, "joint"},      {&of_table.edges, table, "edges"},
        {&of_table.reads, table, "reads"},    {&of_table.saved, table, "saved"},
        {&of_table.facts, table, "facts"},    {&of_table.needs, table, "needs"},
        {&of_table.fits, table, "fits"},      {&of_table.for_complex, table, "for_complex"},
        {&of_table.leads, table, "leads"},    {&of_cell.last, cell, "last"},
        {&of_cell.version, cell, "version"},  {&of_cell.writes, cell, "writes"},
        {&of_leaf.tensor, leaf, "tensor"},    {&of_leaf.lock, leaf, "lock"},
        {&of_view.base, view, "base"},        {&of_view.path, view, "path"},
        {&of_view.origin, view, "origin"},    {&of_view.trace, view, "trace"},
        {&of_view.roots, view, "roots"},      {&of_dtype.numpy, dtype, "numpy"},
    };
    for (size_t i = 0; i < Py_ARRAY_LENGTH(slots); i++) {
        slots[i].found = slot(slots[i].cls, slots[i].name);
        if (slots[i].found < 0) {
            return NULL;
        }
    }
    struct {
        long long *number;
        const char *name;
        long long found;
    } common[] = {
        {&KEPT, "KEPT"},           {&LONGEST, "LONGEST"}, {&JOINED, "JOINED"},
        {&NEVER, "NEVER"},         {&DTYPES, "DTYPES"},   {&NOBODY, "NOBODY"},
        {&COTANGENT, "COTANGENT"}, {&FIRST, "FIRST"},     {&VARIADIC, "VARIADIC"},
        {&CALLED, "CALLED"},       {&DEFAULT, "DEFAULT"}, {&UNRECORDED, "UNRECORDED"},
        {&BATCHED, "BATCHED"},     {&OTHER, "OTHER"},
    };
    for (size_t i = 0; i < Py_ARRAY_LENGTH(common); i++) {
        PyObject *given = PyDict_GetItemString(constants, common[i].name);
        if (!is_integer(given, &common[i].found) || common[i].found < 0) {
            PyErr_Format(PyExc_ValueError, "setup() needs the number %s, not %R", common[i].name,
                         given == NULL ? Py_None : given);
            return NULL;
        }
    }
    for (size_t i = 0; i < Py_ARRAY_LENGTH(parts); i++) {
        *parts[i].part = Py_NewRef(parts[i].given); /* for ever */
    }
    for (size_t i = 0; i < Py_ARRAY_LENGTH(slots); i++) {
        *slots[i].offset = slots[i].found;
    }
    for (size_t i = 0; i < Py_ARRAY_LENGTH(common); i++) {
        *common[i].number = common[i].found;
    }
    find_loops(add, 2, add_loops);
    Node = (PyTypeObject *)node;
    Kind = (PyTypeObject *)kind;
    Cell = (PyTypeObject *)cell;
    Leaf = (PyTypeObject *)leaf;
    View = (PyTypeObject *)view;
    Table = (PyTypeObject *)table;
    Dtype = (PyTypeObject *)dtype;
    Tensor = (PyTypeObject *)tensor;
    Py_RETURN_NONE;
}

/* `is_set_up()`: whether a copy of the package uses the engine here. */
static PyObject *
is_set_up(PyObject *module, PyObject *ignored)
{
    return PyBool_FromLong(Tensor != NULL);
}

/* The function here that is the twin of one in Python, which it keeps: NOTE [Twins] in native.py. */
static PyObject *
twin(PyObject *module, PyObject *function)
{
    struct {
        const char *name;
        PyObject **in_python;
    } twins[] = {
        {"wrote", &wrote_in_python},         {"enlist", &enlist_in_python},
        {"add_to_leaf", &add_in_python},     {"all_plain", &all_plain_in_python},
        {"wrote_all", &wrote_all_in_python}, {"gathered", &gathered_in_python},
        {"run_each", &run_each_in_python},   {"start", &start_in_python},
        {"advance", &advance_in_python},     {"write", &write_in_python},
        {"stored", &stored_in_python},       {"replaced", &replaced_in_python},
        {"outdate", &outdate_in_python},     {"integers", &integers_in_python},
        {"shape_of", &shape_of_in_python},   {"resolve_shape", &resolve_shape_in_python},
        {"counted", &counted_in_python},     {"are_small", &are_small_in_python},
        {"usual_key", &usual_key_in_python}, {"normalize_dim", &normalize_dim_in_python},
        {"in_arrays", &in_arrays_in_python},
    };
    PyObject *name = PyObject_GetAttrString(function, "__name__"), *found = NULL;
    for (size_t i = 0; name != NULL && i < Py_ARRAY_LENGTH(twins); i++) {
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, twins[i].name) == 0) {
            Py_XSETREF(*twins[i].in_python, Py_NewRef(function));
            found = PyObject_GetAttr(module, name);
        }
    }
    if (found == NULL && !PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "%R has no twin in C", function);
    }
    Py_XDECREF(name);
    return found;
}

static PyMethodDef functions[] = {
    {"setup", (PyCFunction)(void (*)(void))setup, METH_VARARGS | METH_KEYWORDS, NULL},
    {"is_set_up", is_set_up, METH_NOARGS, NULL},
    {"advance", (PyCFunction)(void (*)(void))advance, METH_FASTCALL, NULL},
    {"add_to_leaf", (PyCFunction)(void (*)(void))add_to_leaf, METH_FASTCALL, NULL},
    {"enlist", (PyCFunction)(void (*)(void))add_to_views, METH_FASTCALL, NULL},
    {"wrote", (PyCFunction)(void (*)(void))count_write, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"wrote_all", (PyCFunction)(void (*)(void))count_writes, METH_FASTCALL, NULL},
    {"run_each", (PyCFunction)(void (*)(void))run_each, METH_FASTCALL, NULL},
    {"counted", (PyCFunction)(void (*)(void))count_steps, METH_FASTCALL, NULL},
    {"are_small", (PyCFunction)(void (*)(void))find_small, METH_FASTCALL, NULL},
    {"in_arrays", (PyCFunction)(void (*)(void))put_in_arrays, METH_FASTCALL, NULL},
    {"gathered", (PyCFunction)(void (*)(void))gather_all, METH_FASTCALL, NULL},
    {"all_plain", all_plain, METH_O, NULL},
    {"start", (PyCFunction)(void (*)(void))start, METH_FASTCALL, NULL},
    {"write", (PyCFunction)(void (*)(void))write_in_place, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"stored", (PyCFunction)(void (*)(void))stored, METH_FASTCALL, NULL},
    {"replaced", (PyCFunction)(void (*)(void))replaced, METH_FASTCALL, NULL},
    {"outdate", (PyCFunction)(void (*)(void))outdate, METH_FASTCALL, NULL},
    {"integers", (PyCFunction)(void (*)(void))read_integers, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"shape_of", (PyCFunction)(void (*)(void))read_shape_of, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"resolve_shape", (PyCFunction)(void (*)(void))read_resolved, METH_FASTCALL | METH_KEYWORDS,
     NULL},
    {"normalize_dim", (PyCFunction)(void (*)(void))read_dim, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"usual_key", (PyCFunction)(void (*)(void))read_key, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"twin", twin, METH_O, NULL},
    {"public", public, METH_VARARGS, NULL},
    {"factory", factory, METH_VARARGS, NULL},
    {"watch", watch, METH_O, NULL},
    {NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "retrograd.engine._native",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    import_array();
    import_umath();
    struct {
        PyObject **text;
        const char *content;
    } texts[] = {
        {&text_special, "special"},
        {&text_kind, "kind"},
        {&text_view_of, "_view_of"},
        {&text_views, "_views"},
        {&text_plain, "plain"},
        {&text_no_grad, "no_grad"},
        {&text_multi, "multi"},
        {&text_layout, "layout"},
        {&text_outputs, "_outputs"},
        {&text_materialize, "materialize"},
        {&text_is_inference, "_inference"},
        {&text_cells, "cells"},
        {&text_grad, "_gradient"},
        {&text_saved, "saved"},
        {&text_tensor, "tensor"},
        {&text_lock, "lock"},
        {&text_array, "_array"},
        {&text_node, "_node"},
        {&text_acquire, "acquire"},
        {&text_release, "release"},
        {&text_bump, "bump"},
        {&writer, "backward()"},
        {&text_torch_function, "__torch_function__"},
        {&text_outdated, "_outdated"},
        {&text_undefined, "undefined"},
        {&text_tangents, "_tangents"},
        {&text_path, "path"},
        {&text_splice, "splice"},
        {&text_before_write, "before_write"},
        {&text_dtype, "dtype"},
        {&text_out, "out"},
        {&text_device, "device"},
        {&text_requires_grad, "requires_grad"},
        {&text_target, "target"},
        {&text_size, "size"},
        {&text_step, "step"},
    };
    for (size_t i = 0; i < Py_ARRAY_LENGTH(texts); i++) {
        *texts[i].text = PyUnicode_InternFromString(texts[i].content);
        if (*texts[i].text == NULL) {
            return NULL;
        }
    }
    zero = PyLong_FromLong(0); /* the one object that zero is */
    one = PyLong_FromLong(1);
    PyObject *module =
        zero == NULL || PyType_Ready(&CallerType) < 0 ? NULL : PyModule_Create(&definition);
    if (module == NULL || PyModule_AddIntConstant(module, "MOST", MOST) < 0 ||
        PyModule_AddStringConstant(module, "BUILT_FROM", BUILT_FROM) < 0 ||
        PyModule_AddObjectRef(module, "Caller", (PyObject *)&CallerType) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
