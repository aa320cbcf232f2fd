/* Which code runs in a thread: for recordings of `retrograd/capture/watch.py`, of which it would be
   most of the time if Python were told of each call, or watched those who are told. */

/* Call back with a frame where code begins that is not yet known, or a certain function of C's is
   called. */
static int
see(PyObject *watch, PyFrameObject *frame, int what, PyObject *arg)
{
    PyObject *known = PyTuple_GET_ITEM(watch, 1), *function = PyTuple_GET_ITEM(watch, 2);
    if (what == PyTrace_CALL) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyObject *key = PyLong_FromVoidPtr(code);
        Py_DECREF(code);
        int found = key == NULL ? -1 : PyDict_Contains(known, key);
        Py_XDECREF(key);
        if (found != 0) {
            return found < 0 ? -1 : 0;
        }
        arg = Py_None;
    }
    else if (what != PyTrace_C_CALL || arg != function) {
        return 0;
    }
    Py_INCREF(watch); /* whoever is called may end the watch */
    PyObject *result =
        PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(watch, 0), (PyObject *)frame, arg, NULL);
    Py_DECREF(watch);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* `set_watch(callback, known, function)`: call `callback(frame, None)` where code begins in this
   thread whose id is not in the dictionary `known`, and `callback(frame, function)` where that
   function of C's is called. `sys.setprofile(None)` ends it. */
static PyObject *
set_watch(PyObject *module, PyObject *args)
{
    PyObject *callback, *known, *function;
    if (!PyArg_ParseTuple(args, "OO!O", &callback, &PyDict_Type, &known, &function)) {
        return NULL;
    }
    PyEval_SetProfile(see, args);
    Py_RETURN_NONE;
}

/* What a function gives that stands before its arguments, called between two changes of the thread. */
static PyObject *
call_between(void (*before)(PyThreadState *), void (*after)(PyThreadState *), PyObject *const *args,
             Py_ssize_t count, PyObject *names)
{
    if (count < 1) {
        return refuse("watched");
    }
    PyThreadState *state = PyThreadState_Get();
    before(state);
    PyObject *result = PyObject_Vectorcall(args[0], args + 1, (size_t)count - 1, names);
    after(state);
    return result;
}

/* `unwatched(function, ...)`: what a function gives of which no code is seen, ... */
static PyObject *
unwatched(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    return call_between(PyThreadState_EnterTracing, PyThreadState_LeaveTracing, args, count, names);
}

/* `watched(function, ...)`: ... but for what it calls in this way. */
static PyObject *
watched(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    return call_between(PyThreadState_LeaveTracing, PyThreadState_EnterTracing, args, count, names);
}
