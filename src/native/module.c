/* The hot path in C: what `engine/callers.py` and `engine/backward.py` do in the plain case.

   NOTE [Native]
   1. Nothing here is new. A `Caller` wraps the caller that Python built for an op, runs the
      commonest case (plain tensors of one dtype, default modes), and hands every other one to it,
      errors included.
   2. `start`, `advance` and `add_to_leaf` are those of `backward.py` once more. They work on the
      same dictionaries and lists, so a pass goes from C to Python and back at any node. `Cell.bump`
      is replaced by `bump`.
   3. Tensors, nodes and kinds stay the Python classes they are. A slot of such a class is a pointer
      at a fixed offset, which its descriptor tells: `slot` reads it once, when the engine is set up.
   4. The interpreter lock is held throughout, but for what NumPy does; the module is neither built
      nor loaded for an interpreter without that lock.
   5. Whatever may run code of the user's (a call, an allocation, a release) may change any tensor;
      so what is used after it is held, not borrowed.
   The files are one translation unit: this one includes `callers.c`, that `record.c`, that
   `views.c`, and `overriding.c`; and `backward.c`, that `leaves.c`.
*/

#include "shared.h"
#include "callers.c"
#include "backward.c"

/* The offset of a slot of a Python class, or -1 with an error. */
static Py_ssize_t
slot(PyObject *cls, const char *name)
{
    PyObject *found = PyObject_GetAttrString(cls, name);
    Py_ssize_t offset = -1;
    if (found != NULL && Py_IS_TYPE(found, &PyMemberDescr_Type)) {
        offset = ((PyMemberDescrObject *)found)->d_member->offset;
    }
    else if (found != NULL) {
        PyErr_Format(PyExc_TypeError, "%s is no slot", name);
    }
    Py_XDECREF(found);
    return offset;
}

/* Take over the parts of the engine, which are named as they are here, and find their slots. */
static PyObject *
setup(PyObject *module, PyObject *args, PyObject *kwargs)
{
    PyObject *tensor, *node, *kind, *cell, *leaf, *view;
    struct {
        PyObject **part;
        const char *name;
    } parts[] = {
        {&tensor, "tensor"},   {&node, "node"},
        {&kind, "kind"},       {&cell, "cell"},
        {&leaf, "leaf"},       {&view, "view"},
        {&modes, "modes"},     {&state, "state"},
        {&numbers, "numbers"}, {&as_array, "as_array"},
        {&raw, "raw"},         {&scalar_array, "scalar_array"},
        {&fit, "fit"},         {&freed, "freed"},
        {&refused, "refused"}, {&output_kind, "output_kind"},
        {&arrays, "arrays"},   {&reals, "reals"},
        {&add, "add"},         {&intercept, "intercept"},
        {&passed, "passed"},   {&overrides_nothing, "overrides_nothing"},
    };
    for (size_t i = 0; i < Py_ARRAY_LENGTH(parts); i++) {
        *parts[i].part = kwargs == NULL ? NULL : PyDict_GetItemString(kwargs, parts[i].name);
        if (*parts[i].part == NULL) {
            PyErr_Format(PyExc_TypeError, "setup() needs %s", parts[i].name);
            return NULL;
        }
        Py_INCREF(*parts[i].part); /* for ever */
    }
    struct {
        Py_ssize_t *offset;
        PyObject *cls;
        const char *name;
    } slots[] = {
        {&of_tensor.array, tensor, "_array"}, {&of_tensor.cell, tensor, "_cell"},
        {&of_tensor.node, tensor, "_node"},   {&of_node.op, node, "op"},
        {&of_node.seq, node, "seq"},          {&of_node.edges, node, "edges"},
        {&of_node.saved, node, "saved"},      {&of_node.params, node, "params"},
        {&of_node.shape, node, "shape"},      {&of_node.dtype, node, "dtype"},
        {&of_node.hooks, node, "hooks"},      {&of_node.cell, node, "_cell"},
        {&of_node.fits, node, "fits"},        {&of_kind.formulas, kind, "formulas"},
        {&of_kind.takes, kind, "takes"},      {&of_kind.ordinary, kind, "ordinary"},
        {&of_cell.last, cell, "last"},        {&of_cell.version, cell, "version"},
        {&of_cell.writes, cell, "writes"},    {&of_leaf.tensor, leaf, "tensor"},
        {&of_leaf.lock, leaf, "lock"},        {&of_view.base, view, "base"},
        {&of_view.path, view, "path"},        {&of_view.origin, view, "origin"},
        {&of_view.trace, view, "trace"},      {&of_view.roots, view, "roots"},
    };
    for (size_t i = 0; i < Py_ARRAY_LENGTH(slots); i++) {
        *slots[i].offset = slot(slots[i].cls, slots[i].name);
        if (*slots[i].offset < 0) {
            return NULL;
        }
    }
    bump_in_python = PyObject_GetAttrString(cell, "bump");
    PyObject *method = PyDescr_NewMethod((PyTypeObject *)cell, &bump_method);
    if (bump_in_python == NULL || method == NULL ||
        PyObject_SetAttrString(cell, "bump", method) < 0) {
        Py_XDECREF(method);
        return NULL;
    }
    Py_DECREF(method);
    Tensor = (PyTypeObject *)tensor;
    Node = (PyTypeObject *)node;
    Cell = (PyTypeObject *)cell;
    View = (PyTypeObject *)view;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"setup", (PyCFunction)(void (*)(void))setup, METH_VARARGS | METH_KEYWORDS, NULL},
    {"advance", (PyCFunction)(void (*)(void))advance, METH_FASTCALL, NULL},
    {"add_to_leaf", (PyCFunction)(void (*)(void))add_to_leaf, METH_FASTCALL, NULL},
    {"enlist", (PyCFunction)(void (*)(void))add_to_views, METH_FASTCALL, NULL},
    {"start", (PyCFunction)(void (*)(void))start, METH_FASTCALL, NULL},
    {"public", public, METH_O, NULL},
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
        {&text_inference_seen, "inference_seen"},
        {&text_is_inference, "_inference"},
        {&text_cells, "cells"},
        {&text_grad, "_gradient"},
        {&text_acquire, "acquire"},
        {&text_release, "release"},
        {&writer, "backward()"},
        {&text_torch_function, "__torch_function__"},
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
        PyModule_AddObjectRef(module, "Caller", (PyObject *)&CallerType) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
