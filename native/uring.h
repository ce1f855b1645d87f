// Rings of io_uring through plain system calls, and the trial that decides whether they are used. Knows nothing of connections.
// With the header of a Linux before 6.0, RINGS is 0: the addon is built with epoll alone. The rings run on Linux 6.10 or later.
#ifndef STOA_URING_H
#define STOA_URING_H

#if defined(__has_include)
#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#endif
#endif

#if defined(IORING_RECV_MULTISHOT) && defined(IORING_ASYNC_CANCEL_ANY) && defined(IORING_SETUP_SINGLE_ISSUER)
#define RINGS 1
#else
#define RINGS 0
#endif

#if RINGS
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SINCE_6_10 (1U << 14) // IORING_FEAT_RECVSEND_BUNDLE: earlier, one connection could fill all buffers at once
#define RING_BUFFERS 256 // a power of two
#define RING_BUFFER 4096 // bytes of each

typedef struct {
  int fd; // -1 while it is not open
  unsigned entries, mask, cq_entries, cq_mask;
  unsigned queued; // requests that the system has not seen
  unsigned *tail, *flags, *cq_head, *cq_tail;
  struct io_uring_sqe *requests;
  struct io_uring_cqe *results;
  void *memory;
  size_t memory_size, requests_size;
  struct io_uring_buf_ring *free; // the buffers that the system may fill
  char *buffers;
} ring;

static void ring_close(ring *r) {
  if (r->memory != NULL) munmap(r->memory, r->memory_size);
  if (r->requests != NULL) munmap(r->requests, r->requests_size);
  if (r->fd >= 0) close(r->fd);
  if (r->buffers != NULL) munmap(r->buffers, (size_t)RING_BUFFERS * RING_BUFFER);
  if (r->free != NULL) munmap(r->free, RING_BUFFERS * sizeof(struct io_uring_buf));
  *r = (ring){.fd = -1};
}

static void *ring_map(size_t size, int fd, off_t offset) {
  int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED | MAP_POPULATE;
  void *found = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, offset);
  return found == MAP_FAILED ? NULL : found;
}

// 0, or an error below 0.
static int ring_open(ring *r, unsigned entries, unsigned results) {
  *r = (ring){.fd = -1};
  // The thread is not interrupted for results: it gets them with its next system call.
  unsigned flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
  struct io_uring_params p = {.flags = flags, .cq_entries = results};
  r->fd = (int)syscall(__NR_io_uring_setup, entries, &p);
  if (r->fd < 0) return -errno;
  unsigned wanted = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_CQE_SKIP | SINCE_6_10;
  if ((p.features & wanted) != wanted) return ring_close(r), -ENOSYS;
  size_t first = p.sq_off.array + p.sq_entries * sizeof(unsigned);
  size_t second = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
  r->memory_size = first > second ? first : second;
  r->requests_size = p.sq_entries * sizeof(struct io_uring_sqe);
  r->memory = ring_map(r->memory_size, r->fd, IORING_OFF_SQ_RING);
  r->requests = ring_map(r->requests_size, r->fd, IORING_OFF_SQES);
  if (r->memory == NULL || r->requests == NULL) return ring_close(r), -ENOMEM;
  char *base = r->memory;
  r->entries = p.sq_entries;
  r->mask = p.sq_entries - 1;
  r->cq_entries = p.cq_entries;
  r->cq_mask = p.cq_entries - 1;
  r->tail = (unsigned *)(base + p.sq_off.tail);
  r->flags = (unsigned *)(base + p.sq_off.flags);
  r->cq_head = (unsigned *)(base + p.cq_off.head);
  r->cq_tail = (unsigned *)(base + p.cq_off.tail);
  r->results = (struct io_uring_cqe *)(base + p.cq_off.cqes);
  unsigned *order = (unsigned *)(base + p.sq_off.array);
  for (unsigned i = 0; i < p.sq_entries; i++) order[i] = i;
  return 0;
}

// Gives a buffer to the system.
static void ring_lend(ring *r, unsigned number) {
  if (number >= RING_BUFFERS) return;
  uint16_t tail = r->free->tail;
  struct io_uring_buf *b = &r->free->bufs[tail & (RING_BUFFERS - 1)];
  // Field by field: the tail lies within the first one.
  b->addr = (uint64_t)(uintptr_t)(r->buffers + (size_t)number * RING_BUFFER);
  b->len = RING_BUFFER;
  b->bid = (uint16_t)number;
  __atomic_store_n(&r->free->tail, (uint16_t)(tail + 1), __ATOMIC_RELEASE);
}

static int ring_add_buffers(ring *r) {
  r->buffers = ring_map((size_t)RING_BUFFERS * RING_BUFFER, -1, 0);
  r->free = ring_map(RING_BUFFERS * sizeof(struct io_uring_buf), -1, 0);
  if (r->buffers == NULL || r->free == NULL) return -ENOMEM;
  struct io_uring_buf_reg given = {.ring_addr = (uint64_t)(uintptr_t)r->free, .ring_entries = RING_BUFFERS};
  if (syscall(__NR_io_uring_register, r->fd, IORING_REGISTER_PBUF_RING, &given, 1) != 0) return -errno;
  for (unsigned i = 0; i < RING_BUFFERS; i++) ring_lend(r, i);
  return 0;
}

// Passes the requests on, and waits for so many results. 0, or an error below 0.
static int ring_enter(ring *r, unsigned results) {
  for (;;) {
    int overflown = (__atomic_load_n(r->flags, __ATOMIC_RELAXED) & IORING_SQ_CQ_OVERFLOW) != 0;
    if (r->queued == 0 && results == 0 && !overflown) return 0;
    unsigned flags = results > 0 || overflown ? IORING_ENTER_GETEVENTS : 0;
    int taken = (int)syscall(__NR_io_uring_enter, r->fd, r->queued, results, flags, NULL, 0);
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) return -errno;
    r->queued -= (unsigned)taken < r->queued ? (unsigned)taken : r->queued;
    if (r->queued == 0 || taken == 0) return r->queued == 0 ? 0 : -EAGAIN;
  }
}

// A request to fill in; NULL if the system takes no more. It sees the request at the next `ring_enter`.
static struct io_uring_sqe *ring_ask(ring *r) {
  if (r->queued == r->entries) ring_enter(r, 0);
  if (r->queued == r->entries) return NULL;
  unsigned tail = *r->tail;
  struct io_uring_sqe *request = &r->requests[tail & r->mask];
  memset(request, 0, sizeof *request);
  __atomic_store_n(r->tail, tail + 1, __ATOMIC_RELEASE);
  r->queued++;
  return request;
}

// Takes back the requests that the system has not seen.
static void ring_recall(ring *r) {
  __atomic_store_n(r->tail, *r->tail - r->queued, __ATOMIC_RELEASE);
  r->queued = 0;
}

static unsigned ring_ready(const ring *r) { return __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE) - *r->cq_head; }

// Copies the next result; 0 if there is none.
static int ring_next(ring *r, struct io_uring_cqe *result) {
  unsigned head = *r->cq_head;
  if (head == __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE)) return 0;
  *result = r->results[head & r->cq_mask];
  __atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
  return 1;
}

// The bytes that came with a result; NULL if there are none.
static const char *ring_bytes(const ring *r, const struct io_uring_cqe *result) {
  unsigned number = result->flags >> IORING_CQE_BUFFER_SHIFT;
  int has = (result->flags & IORING_CQE_F_BUFFER) != 0 && number < RING_BUFFERS;
  return has && result->res > 0 && result->res <= RING_BUFFER ? r->buffers + (size_t)number * RING_BUFFER : NULL;
}

static void ring_return(ring *r, const struct io_uring_cqe *result) {
  if (result->flags & IORING_CQE_F_BUFFER) ring_lend(r, result->flags >> IORING_CQE_BUFFER_SHIFT);
}

// Receives until it is cancelled, or the peer ends.
static int ring_receive(ring *r, int fd, uint64_t key) {
  struct io_uring_sqe *request = ring_ask(r);
  if (request == NULL) return -EAGAIN;
  request->opcode = IORING_OP_RECV;
  request->fd = fd;
  request->ioprio = IORING_RECV_MULTISHOT;
  request->flags = IOSQE_BUFFER_SELECT;
  request->user_data = key;
  return 0;
}

// One byte and an end through a pair of sockets: whether all that is needed works, and an epoll hears of it.
static int ring_try(ring *r, int poll, int *pair) {
  struct epoll_event e = {.events = EPOLLIN};
  struct io_uring_cqe result;
  if (epoll_ctl(poll, EPOLL_CTL_ADD, r->fd, &e) != 0) return -errno;
  if (ring_receive(r, pair[0], 1) != 0 || ring_enter(r, 0) != 0 || epoll_wait(poll, &e, 1, 0) != 0) return -ENOSYS;
  if (send(pair[1], "s", 1, MSG_NOSIGNAL) != 1 || epoll_wait(poll, &e, 1, 0) != 1) return -ENOSYS;
  const char *bytes = ring_next(r, &result) ? ring_bytes(r, &result) : NULL;
  if (bytes == NULL || *bytes != 's' || result.res != 1 || !(result.flags & IORING_CQE_F_MORE)) return -ENOSYS;
  ring_return(r, &result);
  if (shutdown(pair[1], SHUT_WR) != 0 || !ring_next(r, &result)) return -ENOSYS;
  return result.res == 0 && !(result.flags & IORING_CQE_F_MORE) ? 0 : -ENOSYS;
}

// A ring that receives. 0, or an error below 0: then none is open.
static int ring_open_tried(ring *r, unsigned entries, unsigned results) {
  int error = ring_open(r, entries, results);
  if (error != 0) return error;
  int pair[2] = {-1, -1};
  int poll = epoll_create1(EPOLL_CLOEXEC);
  error = ring_add_buffers(r);
  if (error == 0 && (poll < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)) error = -errno;
  if (error == 0) error = ring_try(r, poll, pair);
  for (int i = 0; i < 2; i++) {
    if (pair[i] >= 0) close(pair[i]);
  }
  if (poll >= 0) close(poll);
  if (error != 0) ring_close(r);
  return error;
}
#endif
#endif
