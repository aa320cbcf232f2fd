/* Memory that loops work in. The system gives new memory page by page, which costs more than many
   loops do; so the last few rooms are kept for the next callers, in any thread. */

#ifndef RETROGRAD_ROOM
#define RETROGRAD_ROOM

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { ALIGNED = 64, KEPT_ROOM = 1 << 24, SPARE_ROOMS = 4 };
static void *_Atomic spare_rooms[SPARE_ROOMS]; /* with their sizes at the front */

static void *
take_room(size_t size)
{
    for (int i = 0; i < SPARE_ROOMS; i++) {
        void *room = atomic_exchange(&spare_rooms[i], NULL);
        if (room != NULL && *(size_t *)room >= size) {
            return room;
        }
        free(room);
    }
    void *room = malloc(size + ALIGNED + sizeof(size_t));
    if (room != NULL) {
        *(size_t *)room = size;
    }
    return room;
}

static void
give_room(void *room)
{
    for (int i = 0; room != NULL && *(size_t *)room <= KEPT_ROOM && i < SPARE_ROOMS; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&spare_rooms[i], &none, room)) {
            return;
        }
    }
    free(room);
}

static void *
aligned(void *room)
{
    uintptr_t start = (uintptr_t)room + sizeof(size_t);
    return (void *)((start + ALIGNED - 1) / ALIGNED * ALIGNED);
}

#endif
