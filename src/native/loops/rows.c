/* Calls of kernels of rows: what `compiler/rows.py` builds, NOTE [Rows] in `sweeps.py`. */

#include "pool.c"

/* `run_rows(address, table, arrays, rows, grain)`: run a kernel. The table, of int64, is for arrays of
   such shapes and strides; where their memory is goes in front of it. */
static PyObject *
run_rows(PyObject *module, PyObject *args)
{
    PyObject *address, *arrays;
    PyArrayObject *numbers;
    long long rows, grain;
    if (!PyArg_ParseTuple(args, "OO!O!LL", &address, &PyArray_Type, &numbers, &PyList_Type, &arrays,
                          &rows, &grain)) {
        return NULL;
    }
    Chunk code = (Chunk)PyLong_AsVoidPtr(address);
    Py_ssize_t count = PyList_GET_SIZE(arrays);
    if (code == NULL || PyArray_TYPE(numbers) != NPY_INT64 || !PyArray_ISCARRAY(numbers) ||
        count > PyArray_SIZE(numbers)) {
        return refuse("run_rows");
    }
    int64_t *table = PyArray_DATA(numbers);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *array = PyList_GET_ITEM(arrays, i);
        if (!PyArray_Check(array)) {
            return refuse("run_rows");
        }
        table[i] = (int64_t)(intptr_t)PyArray_DATA((PyArrayObject *)array);
    }
    Py_BEGIN_ALLOW_THREADS;
    pool_run(code, table, rows, grain);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}
