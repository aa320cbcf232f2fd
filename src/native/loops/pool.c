/* One pool of threads for all loops: `pool_run` cuts a range into pieces and shares them out.

   NOTE [Pool]
   1. The pieces of [0, n) are [0, grain), [grain, 2 grain), and so on, whatever the number of
      threads; which thread runs which is chance. So a loop whose pieces write to places of their own
      gives the same bits for any number of threads.
   2. One range at a time is shared. Whoever comes while another is at it, or from within a piece,
      runs his own pieces himself: so nobody waits for a thread that waits for him.
   3. A thread joins while `joined` is not CLOSED. The caller closes it once no piece is left, and
      waits for those who have joined, not for those who are still waking up.
   4. Threads are started when they are first needed, and wait: a short while turning, then asleep.
      A forked child has none of them. It starts anew with threads of its own.
   5. Nothing here knows Python. Callers let go of the interpreter's lock first.
   6. Where there are no threads (WebAssembly, Windows) the caller runs all pieces.
*/

#ifndef RETROGRAD_POOL
#define RETROGRAD_POOL

#include <stdbool.h>
#include <stdint.h>

typedef void (*Chunk)(void *context, int64_t begin, int64_t end);

static void
run_pieces(Chunk chunk, void *context, int64_t n, int64_t grain)
{
    for (int64_t begin = 0; begin < n; begin += grain) {
        chunk(context, begin, n - begin < grain ? n : begin + grain);
    }
}

#if defined(_WIN32) || (defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)) ||           \
    defined(__wasi__)

static int pool_threads = 1;

static void
pool_run(Chunk chunk, void *context, int64_t n, int64_t grain)
{
    run_pieces(chunk, context, n, grain < 1 ? 1 : grain);
}

#else

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { MOST_THREADS = 256, TURNS = 2000, CLOSED = 1 << 30 };

static _Atomic int pool_threads = 1; /* how many may run a range, its caller among them */

static struct {
    pthread_mutex_t owner; /* held by the one whose range is shared */
    pthread_mutex_t lock;  /* of those who go to sleep */
    pthread_cond_t called, finished;
    _Atomic int64_t number; /* of ranges so far: a change calls the threads */
    _Atomic int64_t next;   /* where the next piece begins */
    _Atomic int joined, asleep, waiting;
    int started;
    Chunk chunk;
    void *context;
    int64_t n, grain;
} pool = {
    .owner = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .called = PTHREAD_COND_INITIALIZER,
    .finished = PTHREAD_COND_INITIALIZER,
    .joined = CLOSED,
};

static _Thread_local bool within; /* whether this thread runs a piece */

static inline void
pause_a_bit(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void
share(void)
{
    within = true;
    for (;;) {
        int64_t begin = atomic_fetch_add(&pool.next, pool.grain);
        if (begin >= pool.n) {
            break;
        }
        int64_t left = pool.n - begin;
        pool.chunk(pool.context, begin, left < pool.grain ? pool.n : begin + pool.grain);
    }
    within = false;
}

/* The number of the range that is called out after the one called `seen`. */
static int64_t
next_call(int64_t seen)
{
    for (int turn = 0; turn < TURNS; turn++) {
        int64_t number = atomic_load(&pool.number);
        if (number != seen) {
            return number;
        }
        pause_a_bit();
    }
    pthread_mutex_lock(&pool.lock);
    atomic_fetch_add(&pool.asleep, 1);
    while (atomic_load(&pool.number) == seen) {
        pthread_cond_wait(&pool.called, &pool.lock);
    }
    atomic_fetch_sub(&pool.asleep, 1);
    pthread_mutex_unlock(&pool.lock);
    return atomic_load(&pool.number);
}

static void *
work(void *place)
{
    for (int64_t seen = 0;;) {
        seen = next_call(seen);
        if ((intptr_t)place >= atomic_load(&pool_threads)) {
            continue; /* there are to be fewer threads now */
        }
        if (!(atomic_fetch_add(&pool.joined, 1) & CLOSED)) {
            share();
        }
        if (atomic_fetch_sub(&pool.joined, 1) == (CLOSED | 1) && atomic_load(&pool.waiting)) {
            pthread_mutex_lock(&pool.lock);
            pthread_cond_signal(&pool.finished);
            pthread_mutex_unlock(&pool.lock);
        }
    }
    return NULL;
}

static void
wait_for_joined(void)
{
    for (int turn = 0; turn < TURNS; turn++) {
        if (atomic_load(&pool.joined) == CLOSED) {
            return;
        }
        pause_a_bit();
    }
    pthread_mutex_lock(&pool.lock);
    atomic_store(&pool.waiting, 1);
    while (atomic_load(&pool.joined) != CLOSED) {
        pthread_cond_wait(&pool.finished, &pool.lock);
    }
    atomic_store(&pool.waiting, 0);
    pthread_mutex_unlock(&pool.lock);
}

static void
forget_threads(void)
{
    pthread_mutex_init(&pool.owner, NULL);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.called, NULL);
    pthread_cond_init(&pool.finished, NULL);
    pool.joined = CLOSED;
    pool.asleep = pool.waiting = pool.started = 0;
}

static void
watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_threads);
}

/* Have `wanted` threads besides the caller, or as many as the system gives. Signals are not for them:
   who waits in the main thread is to be woken. */
static void
start_threads(int wanted)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_attr_t detached;
    if (pool.started >= wanted || pthread_attr_init(&detached) != 0) {
        return;
    }
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.started < wanted) {
        pthread_t made;
        if (pthread_create(&made, &detached, work, (void *)(intptr_t)(pool.started + 1)) != 0) {
            break;
        }
        pool.started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
}

static void
pool_run(Chunk chunk, void *context, int64_t n, int64_t grain)
{
    int threads = atomic_load(&pool_threads);
    grain = grain < 1 ? 1 : grain;
    if (n <= grain || threads < 2 || within || pthread_mutex_trylock(&pool.owner) != 0) {
        run_pieces(chunk, context, n, grain);
        return;
    }
    start_threads((threads > MOST_THREADS ? MOST_THREADS : threads) - 1);
    pool.chunk = chunk;
    pool.context = context;
    pool.n = n;
    pool.grain = grain;
    atomic_store(&pool.next, 0);
    atomic_fetch_and(&pool.joined, ~CLOSED);
    atomic_fetch_add(&pool.number, 1);
    if (atomic_load(&pool.asleep) > 0) {
        pthread_mutex_lock(&pool.lock);
        pthread_cond_broadcast(&pool.called);
        pthread_mutex_unlock(&pool.lock);
    }
    share();
    atomic_fetch_or(&pool.joined, CLOSED);
    wait_for_joined();
    pthread_mutex_unlock(&pool.owner);
}

#endif
#endif
