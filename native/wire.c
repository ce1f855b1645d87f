// Moves bytes between sockets and JavaScript; knows nothing of HTTP. Linux, Node-API 8.
//
// Two engines. epoll: a system call for each read and each write. io_uring, where the system allows it: receives into buffers
// of this file, from which the bytes are copied, and sends the responses of one call in one system call. Both accept, and wait
// for clients that do not read, with epoll: a listening socket in a ring would stay bound after its descriptor is closed.
//
// One `wire` serves one environment (the main thread, or a worker thread). All memory that JavaScript shares with it is
// allocated by JavaScript and referenced here until the environment ends:
//   events   (id, kind, a, b) for each event of one call into JavaScript
//   slab     the bytes received; valid until that call returns, then used again
//   out      bytes to send; index: [count, then (id, offset, length) for each range]
//   pending  by slot: the bytes that the system has not taken
//   state    [1 while a call into JavaScript runs: `out` is sent when it returns]
// Every number that comes from JavaScript is checked. An id is a slot and a generation: a stale id finds nothing.
// JavaScript is called from `deliver` alone; pointers to connections are not kept across it.
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <node_api.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>
#include "uring.h"

#define SLOT_BITS 18
#define MAX_SLOTS (1 << SLOT_BITS)
#define GENERATIONS (1 << (31 - SLOT_BITS))
#define BLOCK 256                 // connections that are allocated at once
#define MAX_LISTENERS 256
#define MIN_READ (16 * 1024)      // room in the slab below which JavaScript is called first
#define MAX_READ (64 * 1024)      // of one connection in one turn, so that none starves the others
#define MAX_ACCEPTS 128           // in one turn
#define MAX_BATCH 64              // events of one call, if requests are short
#define SLOW_BATCH 500000         // nanoseconds of one call, beyond which the next has fewer events
#define MAX_PENDING (1 << 30)
#define RING_REQUESTS 256
#define RING_RESULTS 4096
#define MAX_SENDS 64 // in one system call
#define MAX_MEMORY (1 << 28)
#define MAX_FILE (512 * 1024)      // of one call
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif
#define FILE_PART (128 * 1024)     // of which the first and the last byte are looked for in memory
#define INTERFACE 4 // as in src/server/native/addon.ts; counts up with each change of what JavaScript calls

enum { OPENED, DATA, ENDED, GONE, DRAINED, BEHIND, REFUSED };
enum { CLOSE, RESET, END, PAUSE, RESUME };
enum { ANY_ENGINE, EPOLL, IO_URING };
enum { KEY_CONNECTION, KEY_LISTENER, KEY_WAKE, KEY_RECEIVE, KEY_CANCEL };
enum { DUE_GONE = 1, DUE_BEHIND = 2, DUE_INPUT = 4 };
enum { GOES_ON, HAS_ENDED, HAS_FAILED };

typedef struct {
  char *memory;
  size_t start, length, size;
} queue;

typedef struct conn {
  int fd;              // -1 once it is closed
  int32_t id;          // slot and generation
  int32_t listener;    // -1 if it was accepted elsewhere
  uint32_t watched;    // the events that epoll reports; 0 if it is not in epoll
  uint8_t used, paused, input_ended, ending, shut;
  uint8_t due, listed; // events that wait for the next call; in the list of such connections
  queue out;           // bytes that the system has not taken
  // With io_uring:
  uint8_t receiving, cancelling; // the ring has a request for it: its slot stays taken; that request is asked to end
  uint8_t sending;               // it is in the batch that is being gathered
  uint8_t held_end;              // what follows the bytes that are held: an end or a failure
  queue held;                    // bytes that were received and cannot be told yet
  uint64_t told;                 // the last call that told of input
  struct conn *next_free, *next_due;
} conn;

typedef struct {
  int fd;
  int32_t id, limit, open; // limit: -1 for none
} listener;

typedef struct {
  napi_env env;
  napi_ref callback, receiver, shared[6];
  napi_async_context context;
  napi_async_cleanup_hook_handle hook;
  uv_poll_t poll;
  int epoll, wake, spare, closing, turning, calling, live, batch, engine, handles;
  uint64_t calls;
  int32_t *events, *index, *pending, *state;
  size_t max_events, max_index, slots;
  char *slab, *out;
  size_t slab_size, slab_used, out_size;
  int count; // events so far
  conn **table;
  size_t table_used;
  conn *free_list, *due_first, *due_last;
  listener listeners[MAX_LISTENERS];
#if RINGS
  uv_poll_t ring_poll;
  ring input, output;  // `output` holds nothing between two calls of this file
  unsigned in_flight;  // requests to receive
#endif
} wire;

static void receive_with_ring(wire *w, conn *c);
static void cancel_in_ring(wire *w, conn *c);

// --- Connections

static conn *find(wire *w, int32_t id) {
  if (id < 0) return NULL;
  size_t slot = (size_t)id & (MAX_SLOTS - 1);
  if (slot >= w->table_used) return NULL;
  conn *c = w->table[slot];
  return c->used && c->id == id ? c : NULL;
}

static size_t slot_of(const conn *c) { return (size_t)c->id & (MAX_SLOTS - 1); }

static listener *find_listener(wire *w, int32_t id) {
  if (id < 0) return NULL;
  listener *l = &w->listeners[id % MAX_LISTENERS];
  return l->fd >= 0 && l->id == id ? l : NULL;
}

// The process lives as long as a listener or a connection is open.
static void add_live(wire *w, int change) {
  int before = w->live;
  w->live += change;
  if (w->closing) return;
  if (before == 0 && w->live > 0) uv_ref((uv_handle_t *)&w->poll);
  else if (before > 0 && w->live == 0) uv_unref((uv_handle_t *)&w->poll);
}

static conn *take_slot(wire *w) {
  if (w->free_list == NULL) {
    size_t from = w->table_used;
    if (from + BLOCK > w->slots) return NULL;
    conn *block = calloc(BLOCK, sizeof(conn));
    if (block == NULL) return NULL;
    for (size_t i = BLOCK; i-- > 0;) {
      block[i].fd = -1;
      block[i].id = (int32_t)(from + i);
      block[i].next_free = w->free_list;
      w->free_list = &block[i];
      w->table[from + i] = &block[i];
    }
    w->table_used = from + BLOCK;
  }
  conn *c = w->free_list;
  w->free_list = c->next_free;
  c->next_free = NULL;
  return c;
}

static void unwatch(wire *w, conn *c) {
  // Explicitly: another descriptor of the same socket would keep it in epoll after close().
  if (c->watched != 0) epoll_ctl(w->epoll, EPOLL_CTL_DEL, c->fd, NULL);
  c->watched = 0;
}

static void close_descriptor(wire *w, conn *c) {
  if (c->fd < 0) return;
  unwatch(w, c);
  if (c->receiving) {
    cancel_in_ring(w, c);
    if (!c->cancelling) shutdown(c->fd, SHUT_RDWR); // this ends the request too
  }
  close(c->fd);
  c->fd = -1;
}

static void drop(queue *q) {
  free(q->memory);
  *q = (queue){0};
}

static void drop_out(wire *w, conn *c) {
  drop(&c->out);
  w->pending[slot_of(c)] = 0;
}

static void free_slot(wire *w, conn *c) {
  uint32_t generation = ((uint32_t)c->id >> SLOT_BITS) + 1;
  c->id = (int32_t)(((generation % GENERATIONS) << SLOT_BITS) | (uint32_t)slot_of(c));
  c->next_free = w->free_list;
  w->free_list = c;
}

static void release(wire *w, conn *c) {
  close_descriptor(w, c);
  drop_out(w, c);
  drop(&c->held);
  listener *l = find_listener(w, c->listener);
  if (l != NULL) l->open--;
  c->used = c->due = 0;
  add_live(w, -1);
  if (!c->receiving) free_slot(w, c);
}

// There is another turn soon.
static void wake(wire *w) {
  uint64_t one = 1;
  ssize_t ignored = write(w->wake, &one, sizeof one);
  (void)ignored;
}

static void add_due(wire *w, conn *c, uint8_t what) {
  c->due |= what;
  if (!c->listed) {
    c->listed = 1;
    c->next_due = NULL;
    if (w->due_last != NULL) w->due_last->next_due = c;
    else w->due_first = c;
    w->due_last = c;
  }
  if (!w->turning) wake(w);
}

// JavaScript hears of it in the next call. Until then the slot stays taken, so that its id means nothing else.
static void break_off(wire *w, conn *c) {
  close_descriptor(w, c);
  drop_out(w, c);
  drop(&c->held);
  add_due(w, c, DUE_GONE);
}

// Nothing is watched for nothing: a closed peer would be reported for ever.
static void watch(wire *w, conn *c) {
  if (c->fd < 0) return;
  int input = !c->paused && !c->input_ended && c->held_end == GOES_ON;
  if (w->engine == IO_URING && input != c->receiving) {
    if (input) receive_with_ring(w, c);
    else cancel_in_ring(w, c);
    if (c->fd < 0) return;
  }
  uint32_t wanted = (input && w->engine == EPOLL ? EPOLLIN : 0) | (c->out.length > 0 ? EPOLLOUT : 0);
  if (wanted == c->watched) return;
  struct epoll_event e = {.events = wanted, .data.u64 = ((uint64_t)KEY_CONNECTION << 32) | (uint32_t)c->id};
  int operation = wanted == 0 ? EPOLL_CTL_DEL : c->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (epoll_ctl(w->epoll, operation, c->fd, &e) == 0) c->watched = wanted;
  else break_off(w, c);
}

static void shut(wire *w, conn *c) {
  if (c->shut || c->fd < 0) return;
  c->shut = 1;
  shutdown(c->fd, SHUT_WR);
  if (c->input_ended) break_off(w, c);
}

static conn *admit(wire *w, int fd, int32_t from) {
  conn *c = take_slot(w);
  if (c == NULL) return NULL;
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); // fails on Unix sockets
  c->fd = fd;
  c->listener = from;
  c->watched = 0;
  c->used = 1;
  c->paused = c->input_ended = c->ending = c->shut = c->due = 0;
  c->receiving = c->cancelling = c->sending = c->held_end = 0;
  c->told = 0;
  w->pending[slot_of(c)] = 0;
  listener *l = find_listener(w, from);
  if (l != NULL) l->open++;
  add_live(w, 1);
  watch(w, c);
  return c;
}

// --- Writing

static int keep(queue *q, const char *bytes, size_t length) {
  if (q->length + length > MAX_PENDING) return -1;
  if (q->start + q->length + length > q->size) {
    if (q->start > 0) memmove(q->memory, q->memory + q->start, q->length);
    q->start = 0;
    if (q->length + length > q->size) {
      size_t size = q->length + length;
      if (q->length > 0) size += size / 2;
      char *larger = realloc(q->memory, size);
      if (larger == NULL) return -1;
      q->memory = larger;
      q->size = size;
    }
  }
  memcpy(q->memory + q->start + q->length, bytes, length);
  q->length += length;
  return 0;
}

static ssize_t send_now(int fd, struct iovec *parts, int count) {
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
  ssize_t sent;
  do sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
  return sent;
}

// Keeps what the system has not taken of the parts; `taken` is below 0 if the connection is broken.
static void sent_parts(wire *w, conn *c, const struct iovec *parts, int count, ssize_t taken) {
  if (taken < 0) {
    break_off(w, c);
    return;
  }
  size_t sent = (size_t)taken;
  size_t before = c->out.length;
  for (int i = 0; i < count; i++) {
    size_t skipped = sent < parts[i].iov_len ? sent : parts[i].iov_len;
    sent -= skipped;
    if (skipped == parts[i].iov_len) continue;
    if (keep(&c->out, (char *)parts[i].iov_base + skipped, parts[i].iov_len - skipped) != 0) {
      break_off(w, c);
      return;
    }
  }
  if (c->out.length == 0) return;
  w->pending[slot_of(c)] = (int32_t)c->out.length;
  watch(w, c);
  if (before == 0 && c->fd >= 0) add_due(w, c, DUE_BEHIND);
}

static void send_parts(wire *w, conn *c, struct iovec *parts, int count) {
  if (c->fd < 0 || c->ending) return;
  sent_parts(w, c, parts, count, c->out.length == 0 ? send_now(c->fd, parts, count) : 0);
}

// A range of `out`; 0 if it is none.
static int range_of(wire *w, int32_t i, conn **c, struct iovec *part) {
  const int32_t *entry = w->index + 1 + (size_t)i * 3;
  int64_t offset = entry[1], length = entry[2];
  if (offset < 0 || length <= 0 || offset + length > (int64_t)w->out_size) return 0;
  *c = find(w, entry[0]);
  *part = (struct iovec){.iov_base = w->out + offset, .iov_len = (size_t)length};
  return *c != NULL;
}

static int32_t ranges(wire *w) {
  int32_t count = w->index[0];
  int32_t most = (int32_t)((w->max_index - 1) / 3);
  return count < 0 ? 0 : count > most ? most : count;
}

typedef struct {
  conn *to[MAX_SENDS];
  struct iovec parts[MAX_SENDS];
  int count;
} sends;

static void send_batch(wire *w, sends *batch);

static void send_ranges(wire *w, int32_t count) {
  sends batch = {.count = 0};
  for (int32_t i = 0; i < count; i++) {
    conn *c;
    struct iovec part;
    if (!range_of(w, i, &c, &part)) continue;
    if (w->engine == EPOLL || count == 1) {
      send_parts(w, c, &part, 1);
      continue;
    }
    // One for each connection: the second would leave even if the first does not leave as a whole.
    if (batch.count == MAX_SENDS || c->sending) send_batch(w, &batch);
    if (c->fd < 0 || c->ending || c->out.length > 0) {
      send_parts(w, c, &part, 1);
      continue;
    }
    c->sending = 1;
    batch.to[batch.count] = c;
    batch.parts[batch.count++] = part;
  }
  if (batch.count > 0) send_batch(w, &batch);
  w->index[0] = 0;
}

static void send_out(wire *w) {
  if (w->index[0] != 0) send_ranges(w, ranges(w));
}

// --- Events

static void add_event(wire *w, int32_t id, int32_t kind, int32_t a, int32_t b) {
  if ((size_t)w->count >= w->max_events) return; // never: `deliver` is called before
  int32_t *event = w->events + (size_t)w->count * 4;
  event[0] = id;
  event[1] = kind;
  event[2] = a;
  event[3] = b;
  w->count++;
}

static void tell_bytes(wire *w, conn *c, const char *bytes, size_t length) {
  memcpy(w->slab + w->slab_used, bytes, length);
  add_event(w, c->id, DATA, (int32_t)w->slab_used, (int32_t)length);
  w->slab_used += (length + 7) & ~(size_t)7;
  if (w->slab_used > w->slab_size) w->slab_used = w->slab_size;
  c->told = w->calls;
}

static void tell_end(wire *w, conn *c) {
  c->input_ended = 1;
  add_event(w, c->id, ENDED, 0, 0);
  if (c->shut) break_off(w, c);
  else watch(w, c);
}

// One event of input for each connection and call: JavaScript may pause or detach it when it hears of the first.
static void tell_held(wire *w, conn *c) {
  if (c->paused || c->fd < 0) return;
  size_t room = w->slab_size - w->slab_used;
  size_t length = c->held.length < MAX_READ ? c->held.length : MAX_READ;
  if (c->told == w->calls || (w->count > 0 && room < length)) {
    add_due(w, c, DUE_INPUT);
    return;
  }
  if (length > room) length = room;
  if (length > 0) {
    tell_bytes(w, c, c->held.memory + c->held.start, length);
    c->held.start += length;
    c->held.length -= length;
    if (c->held.length == 0) drop(&c->held);
    if (c->held.length > 0 || c->held_end != GOES_ON) add_due(w, c, DUE_INPUT);
  } else if (c->held_end == HAS_ENDED) {
    tell_end(w, c);
  } else if (c->held_end == HAS_FAILED) {
    break_off(w, c);
  }
}

static void collect_due(wire *w) {
  // Those that are added meanwhile wait for the next call.
  conn *last = w->due_last;
  for (conn *c = NULL; c != last && (size_t)w->count + 2 <= w->max_events;) {
    c = w->due_first;
    w->due_first = c->next_due;
    if (w->due_first == NULL) w->due_last = NULL;
    c->listed = 0;
    uint8_t due = c->due;
    c->due = 0;
    if (!c->used) continue;
    if (due & DUE_GONE) {
      add_event(w, c->id, GONE, 0, 0);
      release(w, c);
      continue;
    }
    if (due & DUE_INPUT) tell_held(w, c);
    if ((due & DUE_BEHIND) && c->out.length > 0) add_event(w, c->id, BEHIND, 0, 0);
  }
}

static void call(wire *w, int count) {
  napi_handle_scope scope;
  if (napi_open_handle_scope(w->env, &scope) != napi_ok) return;
  napi_value callback, receiver, argument, result;
  if (napi_get_reference_value(w->env, w->callback, &callback) == napi_ok &&
      napi_get_reference_value(w->env, w->receiver, &receiver) == napi_ok &&
      napi_create_int32(w->env, count, &argument) == napi_ok) {
    napi_status status = napi_make_callback(w->env, w->context, receiver, callback, 1, &argument, &result);
    bool thrown = false;
    if (status != napi_ok && napi_is_exception_pending(w->env, &thrown) == napi_ok && thrown) {
      napi_value error;
      if (napi_get_and_clear_last_exception(w->env, &error) == napi_ok) napi_fatal_exception(w->env, error);
    }
  }
  napi_close_handle_scope(w->env, scope);
}

// Calls JavaScript with the events so far and sends what it has written, until nothing is left to tell.
static void deliver(wire *w) {
  for (;;) {
    collect_due(w);
    if (w->closing || (w->count == 0 && w->due_first == NULL)) return;
    if (w->count == 0) continue;
    int count = w->count;
    uint64_t began = uv_hrtime();
    w->count = 0;
    w->state[0] = 1;
    w->calling = 1;
    call(w, count);
    w->calling = 0;
    w->calls++;
    w->slab_used = 0;
    if (w->closing) return;
    send_out(w);
    w->state[0] = 0;
    // What slow handlers have written should not wait for those of many other connections.
    if (uv_hrtime() - began > SLOW_BATCH) w->batch = w->batch > 1 ? w->batch / 2 : 1;
    else if (w->batch < MAX_BATCH) w->batch *= 2;
  }
}

static void receive(wire *w, conn *c) {
  size_t room = w->slab_size - w->slab_used;
  ssize_t length = recv(c->fd, w->slab + w->slab_used, room < MAX_READ ? room : MAX_READ, MSG_DONTWAIT);
  if (length > 0) {
    add_event(w, c->id, DATA, (int32_t)w->slab_used, (int32_t)length);
    w->slab_used += ((size_t)length + 7) & ~(size_t)7;
    if (w->slab_used > w->slab_size) w->slab_used = w->slab_size;
  } else if (length == 0) {
    tell_end(w, c);
  } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
    break_off(w, c);
  }
}

static void send_pending(wire *w, conn *c) {
  struct iovec part = {.iov_base = c->out.memory + c->out.start, .iov_len = c->out.length};
  ssize_t sent = send_now(c->fd, &part, 1);
  if (sent < 0) {
    break_off(w, c);
    return;
  }
  c->out.start += (size_t)sent;
  c->out.length -= (size_t)sent;
  w->pending[slot_of(c)] = (int32_t)c->out.length;
  if (c->out.length > 0) return;
  drop_out(w, c);
  watch(w, c);
  if (c->fd < 0) return;
  add_event(w, c->id, DRAINED, 0, 0);
  c->told = w->calls;
  if (c->ending) shut(w, c);
}

// Out of descriptors: those who wait are closed, or they would wait, and be reported, for ever.
static void shed(wire *w, int fd) {
  if (w->spare < 0) return;
  close(w->spare);
  for (int i = 0; i < MAX_ACCEPTS; i++) {
    int shed = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    if (shed < 0) break;
    close(shed);
  }
  w->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void accept_all(wire *w, int32_t id) {
  for (int i = 0; i < MAX_ACCEPTS; i++) {
    if ((size_t)w->count + 4 > w->max_events) deliver(w);
    listener *l = find_listener(w, id);
    if (l == NULL || w->closing) return;
    int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
      add_event(w, id, REFUSED, errno, 0);
      if (errno == EMFILE || errno == ENFILE) shed(w, l->fd);
      return;
    }
    if (l->limit >= 0 && l->open >= l->limit) {
      close(fd);
      continue;
    }
    conn *c = admit(w, fd, id);
    if (c == NULL) close(fd);
    else add_event(w, c->id, OPENED, id, 0);
  }
}

static int needs_call(const wire *w) {
  return w->count >= w->batch || (size_t)w->count + 4 > w->max_events || w->slab_size - w->slab_used < MIN_READ;
}

static void end_turn(wire *w);

static void on_poll(uv_poll_t *handle, int status, int ready) {
  (void)status;
  (void)ready;
  wire *w = handle->data;
  if (w->turning || w->closing) return;
  w->turning = 1;
  struct epoll_event found[256];
  int count = epoll_wait(w->epoll, found, 256, 0);
  for (int i = 0; i < count && !w->closing; i++) {
    uint32_t kind = (uint32_t)(found[i].data.u64 >> 32);
    int32_t id = (int32_t)(uint32_t)found[i].data.u64;
    if (kind == KEY_WAKE) {
      uint64_t value;
      ssize_t ignored = read(w->wake, &value, sizeof value);
      (void)ignored;
      continue;
    }
    if (needs_call(w)) deliver(w);
    if (kind == KEY_LISTENER) {
      accept_all(w, id);
      continue;
    }
    conn *c = find(w, id);
    if (c == NULL || c->fd < 0) continue;
    if (c->out.length > 0 && (found[i].events & (EPOLLOUT | EPOLLERR | EPOLLHUP))) {
      send_pending(w, c);
      // JavaScript may detach the connection when it hears of this: bytes in the same call would be lost.
      if (c->out.length == 0) continue;
    }
    if (w->engine != EPOLL || c->fd < 0 || c->paused || c->input_ended) continue;
    if (found[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP)) receive(w, c);
  }
  end_turn(w);
}

// --- io_uring

#if RINGS
static uint64_t key_of(const conn *c, uint32_t kind) { return ((uint64_t)kind << 32) | (uint32_t)c->id; }

static void pass_on(wire *w) {
  if (ring_enter(&w->input, 0) != 0) wake(w); // out of memory, for example
}

// In a turn, its end passes the requests on.
static void settle(wire *w) {
  if (!w->turning) pass_on(w);
}

static void receive_with_ring(wire *w, conn *c) {
  if (ring_receive(&w->input, c->fd, key_of(c, KEY_RECEIVE)) != 0) {
    break_off(w, c);
    return;
  }
  c->receiving = 1;
  w->in_flight++;
  settle(w);
}

// The request holds the socket open: it has to end for the socket to be closed. Its last result frees the slot.
static void cancel_in_ring(wire *w, conn *c) {
  if (c->cancelling) return;
  struct io_uring_sqe *request = ring_ask(&w->input);
  if (request == NULL) return; // the next result of the connection tries again
  request->opcode = IORING_OP_ASYNC_CANCEL;
  request->flags = IOSQE_CQE_SKIP_SUCCESS;
  request->fd = -1;
  request->addr = key_of(c, KEY_RECEIVE);
  request->user_data = key_of(c, KEY_CANCEL);
  c->cancelling = 1;
  settle(w);
}

// They are sent when it returns, as far as the system takes them.
static void send_batch(wire *w, sends *batch) {
  ssize_t taken[MAX_SENDS];
  unsigned asked = 0;
  for (int i = 0; i < batch->count; i++) {
    taken[i] = -EINTR;
    struct io_uring_sqe *request = batch->count > 1 ? ring_ask(&w->output) : NULL;
    if (request == NULL) continue;
    request->opcode = IORING_OP_SEND;
    request->fd = batch->to[i]->fd;
    request->addr = (uint64_t)(uintptr_t)batch->parts[i].iov_base;
    request->len = (uint32_t)batch->parts[i].iov_len;
    request->msg_flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    request->user_data = (uint64_t)i;
    asked++;
  }
  if (asked > 0) {
    ring_enter(&w->output, asked);
    asked -= w->output.queued;
    ring_recall(&w->output);
  }
  // None of them waits for the peer: the results are there, or are there soon.
  while (asked > 0) {
    struct io_uring_cqe result;
    if (!ring_next(&w->output, &result)) {
      ring_enter(&w->output, asked);
      continue;
    }
    asked--;
    if (result.user_data < (uint64_t)batch->count) taken[result.user_data] = result.res;
  }
  for (int i = 0; i < batch->count; i++) {
    conn *c = batch->to[i];
    c->sending = 0;
    if (taken[i] == -EINTR) send_parts(w, c, &batch->parts[i], 1);
    else sent_parts(w, c, &batch->parts[i], 1, taken[i] == -EAGAIN ? 0 : taken[i]);
  }
  batch->count = 0;
}

// Tells JavaScript, or holds what was received: while JavaScript runs, the slab and the events are in use.
static void take_in(wire *w, conn *c, const char *bytes, size_t length) {
  int32_t *last = w->count > 0 ? w->events + ((size_t)w->count - 1) * 4 : NULL;
  if (w->turning && !w->calling && !c->paused && c->held.length == 0) {
    if (last != NULL && last[0] == c->id && last[1] == DATA && (size_t)last[3] + length <= MAX_READ) {
      size_t end = (size_t)last[2] + (size_t)last[3];
      if (end + length <= w->slab_size) {
        memcpy(w->slab + end, bytes, length);
        last[3] += (int32_t)length;
        w->slab_used = (end + length + 7) & ~(size_t)7;
        if (w->slab_used > w->slab_size) w->slab_used = w->slab_size;
        return;
      }
    }
    if (c->told != w->calls && w->slab_size - w->slab_used >= length && (size_t)w->count < w->max_events) {
      tell_bytes(w, c, bytes, length);
      return;
    }
  }
  if (keep(&c->held, bytes, length) != 0) break_off(w, c);
  else add_due(w, c, DUE_INPUT);
}

static void take_result(wire *w, const struct io_uring_cqe *result) {
  uint32_t kind = (uint32_t)(result->user_data >> 32);
  int32_t id = (int32_t)(uint32_t)result->user_data;
  size_t slot = (size_t)id & (MAX_SLOTS - 1);
  conn *c = id >= 0 && slot < w->table_used && w->table[slot]->id == id ? w->table[slot] : NULL;
  int is_last = !(result->flags & IORING_CQE_F_MORE);
  if (kind == KEY_RECEIVE && c != NULL) {
    const char *bytes = ring_bytes(&w->input, result);
    if (is_last) {
      w->in_flight--;
      c->receiving = c->cancelling = 0;
    }
    if (c->used && c->fd >= 0) {
      int passing = result->res == -ENOBUFS || result->res == -ECANCELED || result->res == -EAGAIN || result->res == -EINTR;
      if (bytes != NULL) {
        take_in(w, c, bytes, (size_t)result->res);
      } else if (!passing) {
        c->held_end = result->res == 0 ? HAS_ENDED : HAS_FAILED;
        add_due(w, c, DUE_INPUT);
      }
    }
  } else if (kind == KEY_CANCEL && c != NULL) {
    c->cancelling = 0; // it was not found: it has ended, or is on its way
  }
  ring_return(&w->input, result);
  if (c == NULL) return;
  if (c->used && c->fd >= 0) watch(w, c);
  else if (c->receiving) cancel_in_ring(w, c);
  else if (!c->used && kind == KEY_RECEIVE) free_slot(w, c);
}

static void on_ring(uv_poll_t *handle, int status, int ready) {
  (void)status;
  (void)ready;
  wire *w = handle->data;
  if (w->turning || w->closing) return;
  w->turning = 1;
  ring_enter(&w->input, 0);
  struct io_uring_cqe result;
  for (unsigned left = ring_ready(&w->input); left > 0 && !w->closing; left--) {
    if (needs_call(w)) deliver(w);
    if (w->closing || !ring_next(&w->input, &result)) break;
    take_result(w, &result);
  }
  end_turn(w);
}

// Ends the receiving of a connection; what was received is held.
static void stop_receiving(wire *w, conn *c) {
  struct io_uring_cqe result;
  c->paused = 1;
  for (int i = 0; c->receiving && c->fd >= 0; i++) {
    cancel_in_ring(w, c);
    if (ring_enter(&w->input, 1) != 0 && i > 1000) break_off(w, c);
    while (ring_next(&w->input, &result)) take_result(w, &result);
  }
}

// Nothing of the system writes into the buffers afterwards.
static void end_requests(wire *w) {
  struct io_uring_cqe result;
  for (int i = 0; w->in_flight > 0 && i < 1000; i++) {
    struct io_uring_sqe *request = ring_ask(&w->input);
    if (request != NULL) {
      request->opcode = IORING_OP_ASYNC_CANCEL;
      request->fd = -1;
      request->cancel_flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL;
      request->user_data = (uint64_t)KEY_CANCEL << 32;
    }
    ring_enter(&w->input, 1);
    while (ring_next(&w->input, &result)) {
      if ((uint32_t)(result.user_data >> 32) == KEY_RECEIVE && !(result.flags & IORING_CQE_F_MORE)) w->in_flight--;
    }
  }
}

static int open_rings(wire *w) {
  int error = ring_open_tried(&w->input, RING_REQUESTS, RING_RESULTS);
  if (error != 0) return error;
  error = ring_open(&w->output, MAX_SENDS, 2 * MAX_SENDS);
  if (error != 0) ring_close(&w->input);
  return error;
}

static void close_rings(wire *w) {
  // Rather than that the system writes into memory that is in use for something else, the buffers stay.
  if (w->in_flight > 0) w->input.buffers = NULL;
  ring_close(&w->input);
  ring_close(&w->output);
}

static void poll_ring(wire *w, uv_loop_t *loop) {
  if (uv_poll_init(loop, &w->ring_poll, w->input.fd) != 0) {
    close_rings(w);
    w->engine = EPOLL;
    return;
  }
  w->handles++;
  w->ring_poll.data = w;
  uv_poll_start(&w->ring_poll, UV_READABLE, on_ring);
  uv_unref((uv_handle_t *)&w->ring_poll);
}

static void close_ring_poll(wire *w, uv_close_cb closed) {
  end_requests(w);
  uv_poll_stop(&w->ring_poll);
  uv_close((uv_handle_t *)&w->ring_poll, closed);
}

static void end_turn(wire *w) {
  deliver(w);
  if (w->engine == IO_URING && !w->closing) pass_on(w);
  w->turning = 0;
}
#else
static void receive_with_ring(wire *w, conn *c) { break_off(w, c); }
static void cancel_in_ring(wire *w, conn *c) { (void)w, (void)c; }
static void send_batch(wire *w, sends *batch) { (void)w, (void)batch; }
static void stop_receiving(wire *w, conn *c) { (void)w, (void)c; }
static int open_rings(wire *w) { return (void)w, -ENOSYS; }
static void close_rings(wire *w) { (void)w; }
static void poll_ring(wire *w, uv_loop_t *loop) { (void)w, (void)loop; }
static void close_ring_poll(wire *w, uv_close_cb closed) { (void)w, (void)closed; }

static void end_turn(wire *w) {
  deliver(w);
  w->turning = 0;
}
#endif

// --- The end of the environment

static void on_closed(uv_handle_t *handle) {
  wire *w = handle->data;
  if (--w->handles > 0) return;
  napi_async_cleanup_hook_handle hook = w->hook;
  if (w->engine == IO_URING) close_rings(w);
  close(w->epoll);
  close(w->wake);
  if (w->spare >= 0) close(w->spare);
  for (size_t i = 0; i < w->table_used; i += BLOCK) free(w->table[i]);
  free(w->table);
  free(w);
  napi_remove_async_cleanup_hook(hook);
}

static void on_cleanup(napi_async_cleanup_hook_handle hook, void *data) {
  (void)hook;
  wire *w = data;
  w->closing = 1;
  // Here nothing that belongs to JavaScript is touched.
  if (w->engine == IO_URING) close_ring_poll(w, on_closed);
  for (size_t i = 0; i < w->table_used; i++) {
    w->table[i]->receiving = 0;
    close_descriptor(w, w->table[i]);
    drop(&w->table[i]->out);
    drop(&w->table[i]->held);
  }
  for (int i = 0; i < MAX_LISTENERS; i++) {
    if (w->listeners[i].fd >= 0) close(w->listeners[i].fd);
    w->listeners[i].fd = -1;
  }
  napi_set_instance_data(w->env, NULL, NULL, NULL);
  uv_poll_stop(&w->poll);
  uv_close((uv_handle_t *)&w->poll, on_closed);
}

// --- Called by JavaScript

static wire *wire_of(napi_env env) {
  void *data = NULL;
  return napi_get_instance_data(env, &data) == napi_ok ? data : NULL;
}

static size_t arguments(napi_env env, napi_callback_info info, napi_value *values, size_t wanted) {
  size_t count = wanted;
  if (napi_get_cb_info(env, info, &count, values, NULL, NULL) != napi_ok) return 0;
  return count < wanted ? count : wanted;
}

static napi_value number(napi_env env, int32_t value) {
  napi_value result = NULL;
  napi_create_int32(env, value, &result);
  return result;
}

static int int_of(napi_env env, napi_value value, int32_t *result) {
  return napi_get_value_int32(env, value, result) == napi_ok;
}

static int view_of(napi_env env, napi_value value, napi_typedarray_type wanted, void **data, size_t *length) {
  napi_typedarray_type type;
  bool is = false;
  if (napi_is_typedarray(env, value, &is) != napi_ok || !is) return 0;
  if (napi_get_typedarray_info(env, value, &type, length, data, NULL, NULL) != napi_ok) return 0;
  return type == wanted && (*data != NULL || *length == 0);
}

// open(callback, events, slab, out, index, pending, state, engine): the engine, or an error below 0. Of any engine, the best
// that the system allows is taken.
static napi_value js_open(napi_env env, napi_callback_info info) {
  napi_value args[8], receiver, name;
  int32_t engine;
  if (wire_of(env) != NULL || arguments(env, info, args, 8) < 8 || !int_of(env, args[7], &engine) ||
      engine < ANY_ENGINE || engine > IO_URING) {
    return number(env, -EINVAL);
  }
  void *data[6];
  size_t length[6];
  for (int i = 0; i < 6; i++) {
    napi_typedarray_type type = i == 1 || i == 2 ? napi_uint8_array : napi_int32_array;
    if (!view_of(env, args[i + 1], type, &data[i], &length[i]) || length[i] > INT32_MAX) return number(env, -EINVAL);
  }
  if (length[0] < 4 * 16 || length[1] < 2 * MIN_READ || length[2] == 0 || length[3] < 4 || length[4] < BLOCK ||
      length[5] < 1) {
    return number(env, -EINVAL);
  }
  wire *w = calloc(1, sizeof(wire));
  if (w == NULL) return number(env, -ENOMEM);
  w->env = env;
  w->events = data[0];
  w->max_events = length[0] / 4;
  w->slab = data[1];
  w->slab_size = length[1];
  w->out = data[2];
  w->out_size = length[2];
  w->index = data[3];
  w->max_index = length[3];
  w->pending = data[4];
  w->slots = length[4] < MAX_SLOTS ? length[4] : MAX_SLOTS;
  w->state = data[5];
  w->batch = MAX_BATCH;
  w->calls = 1;
  w->handles = 1;
  w->engine = EPOLL;
  if (engine != EPOLL) {
    int error = open_rings(w);
    if (error == 0) w->engine = IO_URING;
    if (error != 0 && engine == IO_URING) {
      free(w);
      return number(env, error);
    }
  }
  for (int i = 0; i < MAX_LISTENERS; i++) w->listeners[i] = (listener){.fd = -1, .id = i};
  w->table = calloc(w->slots, sizeof(conn *));
  w->epoll = epoll_create1(EPOLL_CLOEXEC);
  w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  w->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
  struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)KEY_WAKE << 32};
  uv_loop_t *loop = NULL;
  int ok = w->table != NULL && w->epoll >= 0 && w->wake >= 0 && epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->wake, &e) == 0;
  ok = ok && napi_get_uv_event_loop(env, &loop) == napi_ok && napi_create_object(env, &receiver) == napi_ok;
  ok = ok && napi_create_string_utf8(env, "stoa:wire", NAPI_AUTO_LENGTH, &name) == napi_ok;
  ok = ok && napi_async_init(env, receiver, name, &w->context) == napi_ok;
  ok = ok && napi_create_reference(env, args[0], 1, &w->callback) == napi_ok;
  ok = ok && napi_create_reference(env, receiver, 1, &w->receiver) == napi_ok;
  for (int i = 0; ok && i < 6; i++) ok = napi_create_reference(env, args[i + 1], 1, &w->shared[i]) == napi_ok;
  ok = ok && uv_poll_init(loop, &w->poll, w->epoll) == 0;
  if (!ok) {
    // Before the handle exists. The references end with the environment.
    int error = errno > 0 ? errno : EINVAL;
    if (w->epoll >= 0) close(w->epoll);
    if (w->wake >= 0) close(w->wake);
    if (w->spare >= 0) close(w->spare);
    if (w->engine == IO_URING) close_rings(w);
    free(w->table);
    free(w);
    return number(env, -error);
  }
  w->poll.data = w;
  napi_set_instance_data(env, w, NULL, NULL);
  napi_add_async_cleanup_hook(env, on_cleanup, w, &w->hook);
  uv_poll_start(&w->poll, UV_READABLE, on_poll);
  uv_unref((uv_handle_t *)&w->poll);
  if (w->engine == IO_URING) poll_ring(w, loop);
  return number(env, w->engine);
}

static int bind_tcp(const char *host, int port, int *fd) {
  char service[16];
  snprintf(service, sizeof service, "%d", port);
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE, .ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  if (getaddrinfo(host, service, &hints, &found) != 0) return EINVAL;
  int one = 1, off = 0, error = 0;
  *fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (*fd < 0) {
    error = errno;
  } else {
    setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (found->ai_family == AF_INET6) setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(*fd, found->ai_addr, found->ai_addrlen) != 0) error = errno;
  }
  freeaddrinfo(found);
  return error;
}

static int bind_unix(const char *path, size_t length, int *fd) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  // A path ends with a zero; a name in the abstract namespace begins with one.
  if (length == 0 || length >= sizeof address.sun_path) return ENAMETOOLONG;
  memcpy(address.sun_path, path, length);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (path[0] != 0));
  *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (*fd < 0) return errno;
  return bind(*fd, (struct sockaddr *)&address, size) == 0 ? 0 : errno;
}

// listen(address, port, backlog, limit): the id of a listener, or an error below 0. A port of -1 makes a Unix socket.
static napi_value js_listen(napi_env env, napi_callback_info info) {
  napi_value args[4];
  wire *w = wire_of(env);
  char address[1024];
  size_t length = 0;
  int32_t port, backlog, limit;
  if (w == NULL || arguments(env, info, args, 4) < 4) return number(env, -EINVAL);
  if (napi_get_value_string_utf8(env, args[0], address, sizeof address, &length) != napi_ok ||
      length + 1 >= sizeof address || !int_of(env, args[1], &port) || !int_of(env, args[2], &backlog) ||
      !int_of(env, args[3], &limit) || port > 65535) {
    return number(env, -EINVAL);
  }
  listener *l = NULL;
  for (int i = 0; i < MAX_LISTENERS && l == NULL; i++) {
    if (w->listeners[i].fd < 0) l = &w->listeners[i];
  }
  if (l == NULL) return number(env, -EMFILE);
  int fd = -1;
  int error = port < 0 ? bind_unix(address, length, &fd) : bind_tcp(address, port, &fd);
  if (error == 0 && listen(fd, backlog) != 0) error = errno;
  if (error == 0) {
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = ((uint64_t)KEY_LISTENER << 32) | (uint32_t)l->id};
    if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &e) != 0) error = errno;
  }
  if (error != 0) {
    if (fd >= 0) close(fd);
    return number(env, -error);
  }
  l->fd = fd;
  l->limit = limit;
  l->open = 0;
  add_live(w, 1);
  return number(env, l->id);
}

// port(listener)
static napi_value js_port(napi_env env, napi_callback_info info) {
  napi_value args[1];
  wire *w = wire_of(env);
  int32_t id;
  if (w == NULL || arguments(env, info, args, 1) < 1 || !int_of(env, args[0], &id)) return number(env, -1);
  listener *l = find_listener(w, id);
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  if (l == NULL || getsockname(l->fd, (struct sockaddr *)&address, &size) != 0) return number(env, -1);
  if (address.ss_family == AF_INET) return number(env, ntohs(((struct sockaddr_in *)&address)->sin_port));
  if (address.ss_family == AF_INET6) return number(env, ntohs(((struct sockaddr_in6 *)&address)->sin6_port));
  return number(env, -1);
}

// limit(listener, connections): further ones are closed; -1 for no limit.
static napi_value js_limit(napi_env env, napi_callback_info info) {
  napi_value args[2];
  wire *w = wire_of(env);
  int32_t id, limit;
  if (w == NULL || arguments(env, info, args, 2) < 2 || !int_of(env, args[0], &id) || !int_of(env, args[1], &limit)) {
    return NULL;
  }
  listener *l = find_listener(w, id);
  if (l != NULL) l->limit = limit;
  return NULL;
}

// unlisten(listener)
static napi_value js_unlisten(napi_env env, napi_callback_info info) {
  napi_value args[1];
  wire *w = wire_of(env);
  int32_t id;
  if (w == NULL || arguments(env, info, args, 1) < 1 || !int_of(env, args[0], &id)) return NULL;
  listener *l = find_listener(w, id);
  if (l == NULL) return NULL;
  epoll_ctl(w->epoll, EPOLL_CTL_DEL, l->fd, NULL);
  close(l->fd);
  l->fd = -1;
  // Another id for the next listener in this place: the connections of this one do not count for it.
  l->id = l->id > INT32_MAX - MAX_LISTENERS ? l->id % MAX_LISTENERS : l->id + MAX_LISTENERS;
  add_live(w, -1);
  return NULL;
}

// adopt(descriptor): the id of a connection to a copy of the descriptor, or an error below 0.
static napi_value js_adopt(napi_env env, napi_callback_info info) {
  napi_value args[1];
  wire *w = wire_of(env);
  int32_t given;
  if (w == NULL || arguments(env, info, args, 1) < 1 || !int_of(env, args[0], &given)) return number(env, -EINVAL);
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(given, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return number(env, -errno);
  if (type != SOCK_STREAM) return number(env, -EINVAL);
  int fd = fcntl(given, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return number(env, -errno);
  int flags = fcntl(fd, F_GETFL);
  conn *c = flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 ? admit(w, fd, -1) : NULL;
  if (c == NULL) {
    close(fd);
    return number(env, -EMFILE);
  }
  return number(env, c->id);
}

// flush(): sends what stands in `out`.
static napi_value js_flush(napi_env env, napi_callback_info info) {
  (void)info;
  wire *w = wire_of(env);
  if (w != NULL) send_out(w);
  return NULL;
}

// send(id, bytes): sends `out`, and these bytes without a copy as far as the system takes them.
static napi_value js_send(napi_env env, napi_callback_info info) {
  napi_value args[2];
  wire *w = wire_of(env);
  int32_t id;
  void *data;
  size_t length;
  if (w == NULL || arguments(env, info, args, 2) < 2 || !int_of(env, args[0], &id) ||
      !view_of(env, args[1], napi_uint8_array, &data, &length)) {
    return NULL;
  }
  struct iovec parts[2] = {{0}, {.iov_base = data, .iov_len = length}};
  int32_t count = ranges(w);
  conn *last = NULL;
  // The text before the bytes, a head mostly, leaves in the same system call.
  int joined = count > 0 && range_of(w, count - 1, &last, &parts[0]) && last->id == id;
  send_ranges(w, joined ? count - 1 : count);
  conn *c = find(w, id);
  if (c != NULL && (length > 0 || joined)) send_parts(w, c, joined ? parts : parts + 1, joined ? 2 : 1);
  return NULL;
}

// Whether a byte of a file can be read without waiting for the disk.
static int in_memory(int fd, off_t at) {
  char byte;
  struct iovec part = {.iov_base = &byte, .iov_len = 1};
  // Not preadv2(): musl has it from 1.2.5 on. The system takes the place in two halves; here the first has it all.
  return syscall(SYS_preadv2, fd, &part, 1L, (long)at, 0L, RWF_NOWAIT) == 1;
}

// file(id, descriptor, position, length): sends `out`, then bytes of a file. Returns how many; 0 if the next one would wait for
// the client or for the disk, or is not there: the caller reads it then. Only regular files; nothing is kept of the descriptor.
static napi_value js_file(napi_env env, napi_callback_info info) {
  napi_value args[4];
  wire *w = wire_of(env);
  int32_t id, fd;
  int64_t position, length;
  struct stat found;
  if (w == NULL || arguments(env, info, args, 4) < 4 || !int_of(env, args[0], &id) || !int_of(env, args[1], &fd) ||
      napi_get_value_int64(env, args[2], &position) != napi_ok ||
      napi_get_value_int64(env, args[3], &length) != napi_ok || fd < 0 || position < 0 || length <= 0) {
    return number(env, 0);
  }
  send_out(w);
  conn *c = find(w, id);
  if (c == NULL || c->fd < 0 || c->ending || c->out.length > 0) return number(env, 0);
  if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode) || position >= found.st_size) return number(env, 0);
  // To the end of the file at most: the sums below cannot overflow.
  if (length > found.st_size - position) length = found.st_size - position;
  if (length > MAX_FILE) length = MAX_FILE;
  off_t at = position, end = position + length;
  while (at < end) {
    size_t part = end - at < FILE_PART ? (size_t)(end - at) : FILE_PART;
    if (!in_memory(fd, at) || !in_memory(fd, at + (off_t)part - 1)) break;
    // Errors of the connection show when something else is sent or received, those of the file when it is read.
    ssize_t sent = sendfile(c->fd, fd, &at, part);
    if (sent < (ssize_t)part && !(sent < 0 && errno == EINTR)) break;
  }
  return number(env, (int32_t)(at - position));
}

// control(id, operation)
static napi_value js_control(napi_env env, napi_callback_info info) {
  napi_value args[2];
  wire *w = wire_of(env);
  int32_t id, operation;
  if (w == NULL || arguments(env, info, args, 2) < 2 || !int_of(env, args[0], &id) ||
      !int_of(env, args[1], &operation)) {
    return NULL;
  }
  send_out(w);
  conn *c = find(w, id);
  if (c == NULL) return NULL;
  switch (operation) {
    case RESET: {
      struct linger now = {.l_onoff = 1, .l_linger = 0};
      if (c->fd >= 0) setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      release(w, c);
      break;
    }
    case CLOSE:
      release(w, c);
      break;
    case END:
      c->ending = 1;
      if (c->out.length == 0) shut(w, c);
      break;
    case PAUSE:
    case RESUME:
      c->paused = operation == PAUSE;
      watch(w, c);
      if (!c->paused && c->fd >= 0 && (c->held.length > 0 || c->held_end != GOES_ON)) add_due(w, c, DUE_INPUT);
      break;
  }
  return NULL;
}

// address(id): that of the peer; undefined for a Unix socket, and if the connection is closed.
static napi_value js_address(napi_env env, napi_callback_info info) {
  napi_value args[1], result = NULL;
  wire *w = wire_of(env);
  int32_t id;
  if (w == NULL || arguments(env, info, args, 1) < 1 || !int_of(env, args[0], &id)) return NULL;
  conn *c = find(w, id);
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  char text[INET6_ADDRSTRLEN + 1 + IF_NAMESIZE] = "";
  if (c == NULL || c->fd < 0 || getpeername(c->fd, (struct sockaddr *)&address, &size) != 0) return NULL;
  if (address.ss_family == AF_INET) {
    inet_ntop(AF_INET, &((struct sockaddr_in *)&address)->sin_addr, text, sizeof text);
  } else if (address.ss_family == AF_INET6) {
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address;
    char name[IF_NAMESIZE];
    inet_ntop(AF_INET6, &six->sin6_addr, text, INET6_ADDRSTRLEN);
    if (IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) && if_indextoname(six->sin6_scope_id, name) != NULL) {
      size_t length = strlen(text);
      snprintf(text + length, sizeof text - length, "%%%s", name);
    }
  }
  if (text[0] == 0 || napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &result) != napi_ok) return NULL;
  return result;
}

// detach(id): [descriptor, bytes that were not sent, bytes that were received and not told]; the connection belongs to the
// caller. Undefined if it is closed.
static napi_value js_detach(napi_env env, napi_callback_info info) {
  napi_value args[1], result, bytes;
  wire *w = wire_of(env);
  int32_t id;
  if (w == NULL || arguments(env, info, args, 1) < 1 || !int_of(env, args[0], &id)) return NULL;
  send_out(w);
  conn *c = find(w, id);
  if (c == NULL || c->fd < 0) return NULL;
  if (w->engine == IO_URING) stop_receiving(w, c);
  if (c->fd < 0 || napi_create_array_with_length(env, 3, &result) != napi_ok ||
      napi_set_element(env, result, 0, number(env, c->fd)) != napi_ok) {
    return NULL;
  }
  const queue *both[2] = {&c->out, &c->held};
  for (uint32_t i = 0; i < 2; i++) {
    const char *rest = both[i]->length > 0 ? both[i]->memory + both[i]->start : "";
    if (napi_create_buffer_copy(env, both[i]->length, rest, NULL, &bytes) != napi_ok ||
        napi_set_element(env, result, i + 1, bytes) != napi_ok) {
      return NULL;
    }
  }
  unwatch(w, c);
  c->fd = -1;
  release(w, c);
  return result;
}

// --- Memory that processes share. It needs no wire.

// memory(size): a descriptor of new memory; an error below 0. Its size is sealed: to touch memory that another process has cut
// off would end this one.
static napi_value js_memory(napi_env env, napi_callback_info info) {
  napi_value args[1];
  int32_t size;
  if (arguments(env, info, args, 1) < 1 || !int_of(env, args[0], &size) || size <= 0 || size > MAX_MEMORY) {
    return number(env, -EINVAL);
  }
  int fd = memfd_create("stoa", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return number(env, -errno);
  if (ftruncate(fd, size) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    int error = errno;
    close(fd);
    return number(env, -error);
  }
  return number(env, fd);
}

static void unmap(napi_env env, void *data, void *hint) {
  (void)env;
  munmap(data, (size_t)(uintptr_t)hint);
}

// map(descriptor, size): an ArrayBuffer of that memory, or an error below 0. The descriptor stays open, and the memory lives as
// long as the buffer, even if the descriptor is closed.
static napi_value js_map(napi_env env, napi_callback_info info) {
  napi_value args[2], result = NULL;
  int32_t fd, size;
  struct stat found;
  if (arguments(env, info, args, 2) < 2 || !int_of(env, args[0], &fd) || !int_of(env, args[1], &size) || fd < 0 ||
      size <= 0 || size > MAX_MEMORY) {
    return number(env, -EINVAL);
  }
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || fstat(fd, &found) != 0) return number(env, -errno);
  if (!(seals & F_SEAL_SHRINK) || found.st_size != size) return number(env, -EINVAL);
  void *data = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return number(env, -errno);
  if (napi_create_external_arraybuffer(env, data, (size_t)size, unmap, (void *)(uintptr_t)size, &result) != napi_ok) {
    munmap(data, (size_t)size);
    return number(env, -ENOTSUP);
  }
  return result;
}

NAPI_MODULE_INIT() {
  const struct {
    const char *name;
    napi_callback call;
  } functions[] = {
      {"open", js_open},       {"listen", js_listen}, {"port", js_port},       {"limit", js_limit},
      {"unlisten", js_unlisten}, {"adopt", js_adopt},   {"flush", js_flush},     {"send", js_send},
      {"control", js_control}, {"address", js_address}, {"detach", js_detach},
      {"memory", js_memory},   {"map", js_map},         {"file", js_file},
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    napi_value function;
    if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call, NULL, &function) != napi_ok ||
        napi_set_named_property(env, exports, functions[i].name, function) != napi_ok) {
      return NULL;
    }
  }
  napi_value version = number(env, INTERFACE);
  if (version == NULL || napi_set_named_property(env, exports, "interface", version) != napi_ok) return NULL;
  return exports;
}
