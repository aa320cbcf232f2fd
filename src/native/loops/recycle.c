/* The memory of large arrays, used again: an allocator for NumPy.

   NOTE [Recycling]
   1. The system gives memory page by page, at the first touch, which costs more than most ops do with
      it. So blocks of LARGE bytes and more that arrays let go of are kept, MOST bytes in all, the
      oldest let go of first, and given to the next array of the same size. From LARGE on glibc maps
      blocks anew each time, too.
   2. NumPy asks for an allocator in the current context. This one is set in the context that ops run
      in, `CALM` in `quiet.py`; the user's own arrays are none of its business. An array remembers who
      allocated it, and is freed by the same wherever that happens.
   3. NumPy calls it with the interpreter's lock held, which guards the list.
   4. Zeros are written to a kept block: the system's own come with new pages.
   5. A block is kept only if it is known to have the size that NumPy says it has.
   6. NumPy's own blocks begin 16 bytes after a vector's length, so that every second store of AVX, and
      each of AVX-512, touches two lines of the cache: sums take twice as long. Blocks that are large
      enough to gain from it begin where lines do; from the largest on NumPy asks for huge pages.
   7. What is in use and what is kept are together not much more than what was once in use: a step
      that finds no block of its size takes the place of the oldest ones. So peaks do not grow.
*/

#if defined(__GLIBC__)

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 128, LINE = 64 };
static const size_t LARGE = (size_t)1 << 17, MOST = (size_t)256 << 20;
static const size_t LINED = (size_t)1 << 14, HUGE_PAGES = (size_t)1 << 22;

static struct {
    struct {
        void *memory;
        size_t size;
    } blocks[SLOTS]; /* the oldest first */
    int count;
    size_t total;        /* of the blocks */
    size_t in_use, most; /* by large arrays, now and at most so far */
    PyDataMemAllocator otherwise;
    bool is_system; /* whether its blocks are those of malloc */
} kept;

static void *
take_out(int i)
{
    void *memory = kept.blocks[i].memory;
    kept.total -= kept.blocks[i].size;
    kept.count--;
    memmove(&kept.blocks[i], &kept.blocks[i + 1],
            (size_t)(kept.count - i) * sizeof(kept.blocks[0]));
    return memory;
}

/* A block of that size, NULL if none is kept. */
static void *
find_block(size_t size)
{
    for (int i = kept.count - 1; size >= LARGE && i >= 0; i--) {
        if (kept.blocks[i].size == size) {
            return take_out(i);
        }
    }
    return NULL;
}

static void
free_oldest(void)
{
    size_t oldest = kept.blocks[0].size;
    kept.otherwise.free(kept.otherwise.ctx, take_out(0), oldest);
}

/* Let go of what is in the way of an array of that size. */
static void
give_way(size_t size)
{
    size_t then = kept.in_use + size, most = kept.most > then ? kept.most : then;
    while (size >= LARGE && kept.count > 0 && then + kept.total > most + most / 16) {
        free_oldest();
    }
}

/* `memory`, noted if it is there and large. */
static void *
note_use(void *memory, size_t size)
{
    if (memory != NULL && size >= LARGE) {
        kept.in_use += size;
        kept.most = kept.most > kept.in_use ? kept.most : kept.in_use;
    }
    return memory;
}

/* An array of that size is there no longer. */
static void
given_back(size_t size)
{
    kept.in_use -= size < LARGE ? 0 : size < kept.in_use ? size : kept.in_use;
}

/* A new block. */
static void *
new_block(size_t size)
{
    void *memory = NULL;
    if (!kept.is_system || size < LINED || size >= HUGE_PAGES) {
        return kept.otherwise.malloc(kept.otherwise.ctx, size);
    }
    return posix_memalign(&memory, LINE, size) == 0 ? memory : NULL;
}

static void *
recycled_malloc(void *context, size_t size)
{
    void *memory = find_block(size);
    give_way(size);
    return note_use(memory == NULL ? new_block(size) : memory, size);
}

static void *
recycled_calloc(void *context, size_t count, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) {
        return NULL;
    }
    void *memory = find_block(all);
    give_way(all);
    if (memory == NULL && (all < LINED || all >= HUGE_PAGES)) {
        return note_use(kept.otherwise.calloc(kept.otherwise.ctx, count, size), all);
    }
    memory = memory == NULL ? new_block(all) : memory;
    return note_use(memory == NULL ? NULL : memset(memory, 0, all), all);
}

static void *
plain_realloc(void *context, void *memory, size_t size)
{
    size_t before = memory == NULL ? 0 : malloc_usable_size(memory);
    void *moved = kept.otherwise.realloc(kept.otherwise.ctx, memory, size);
    if (moved != NULL) {
        given_back(before);
    }
    return note_use(moved, size);
}

static void
keep(void *context, void *memory, size_t size)
{
    given_back(size);
    if (size < LARGE || size > MOST || malloc_usable_size(memory) < size) {
        kept.otherwise.free(kept.otherwise.ctx, memory, size);
        return;
    }
    while (kept.count == SLOTS || kept.total + size > MOST) {
        free_oldest();
    }
    kept.blocks[kept.count].memory = memory;
    kept.blocks[kept.count++].size = size;
    kept.total += size;
}

static PyDataMem_Handler recycler = {
    "retrograd", 1, {NULL, recycled_malloc, recycled_calloc, plain_realloc, keep}};

/* `recycle()`: let the arrays of the current context be allocated here. */
static PyObject *
recycle(PyObject *module, PyObject *nothing)
{
    PyObject *before = PyDataMem_GetHandler();
    PyDataMem_Handler *handler =
        before == NULL ? NULL : PyCapsule_GetPointer(before, "mem_handler");
    if (handler == NULL) {
        Py_XDECREF(before);
        return NULL;
    }
    if (handler == &recycler) {
        Py_DECREF(before);
        Py_RETURN_NONE;
    }
    kept.is_system = strcmp(handler->name, "default_allocator") == 0;
    kept.otherwise = handler->allocator; /* `before` stays alive, for what it allocates */
    PyObject *capsule = PyCapsule_New(&recycler, "mem_handler", NULL);
    PyObject *replaced = capsule == NULL ? NULL : PyDataMem_SetHandler(capsule);
    Py_XDECREF(capsule);
    if (replaced == NULL) {
        return NULL;
    }
    Py_DECREF(replaced);
    Py_RETURN_NONE;
}

#else

static PyObject *
recycle(PyObject *module, PyObject *nothing)
{
    Py_RETURN_NONE;
}

#endif
