/* device: where tensors live and kernels run. One table, one implementation a kind of device.
 *
 * Work is queued on streams; events order streams against each other; marks tell the host how far a stream
 * has come, and when. On the CPU streams and events are no-ops and every call has finished when it returns.
 * Host <-> device only through device_upload and device_download. Where a device can, work queued between
 * device_capture_begin and device_capture_end is recorded as a graph in place of being done, and repeated as
 * a whole by device_replay. */
#ifndef RUNTIME_DEVICE_DEVICE_H
#define RUNTIME_DEVICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

/* Of the exchange: messages, and what is stored into other devices. */
enum stream { STREAM_COMPUTE, STREAM_EXCHANGE, STREAM_HOST, STREAM_STORES, STREAMS };
enum event {
  EVENT_PACKED,
  EVENT_CAME,
  EVENT_STORED,
  EVENT_FIRST_STAGE,
  EVENT_RECEIVED,
  EVENT_COPIES,
  EVENT_COPIED,
  EVENTS
};
enum { MARKS = 8 };

struct device_graph; /* recorded work */

/* What the host does while it waits for the device: the transport watches the other ranks here. */
struct device_wait {
  void (*start)(void *context);
  int (*poll)(void *context); /* an error ends the wait */
  void (*finish)(void *context);
  void *context;
};

struct device {
  const struct device_ops *ops;
  char name[128]; /* for people: processor or GPU model */
  int index;      /* which one on this node */
  int threads;    /* host threads of this rank */
  int64_t memory; /* bytes of a memory of its own, in all */
  struct device_wait wait;
  int64_t allocations; /* calls of device_alloc so far */
  void *impl;
  void *profile; /* what the profile holds of it */
};

struct profile_device;

/* Memory of the device, and the way between it and the host's. */
struct device_memory_ops {
  int (*alloc)(struct device *device, int64_t bytes, void **pointer, const char *what); /* zeroed */
  void (*release)(struct device *device, void *pointer);
  int (*upload)(struct device *device, enum stream stream, void *to, const void *from, int64_t bytes);
  int (*download)(struct device *device, enum stream stream, void *to, const void *from, int64_t bytes);
  int (*post)(struct device *device, enum stream stream, void *to, const void *from,
              int64_t bytes); /* see device_post; NULL: download */
  int (*copy)(struct device *device, enum stream stream, void *to, const void *from,
              int64_t bytes);                                                            /* inside it */
  int (*clear)(struct device *device, enum stream stream, void *pointer, int64_t bytes); /* to zero bytes */
  int (*host_alloc)(struct device *device, int64_t bytes, void **pointer, const char *what); /* zeroed */
  void (*host_release)(struct device *device, void *pointer);
  int64_t (*left)(struct device *device); /* bytes that can still be allocated */
  int64_t (*used)(struct device *device); /* bytes that this process takes now */
  int64_t (*peak)(struct device *device); /* and took at most */
};

/* What another process opens a block of memory by. */
struct device_handle {
  char bytes[64];
};

/* A block of one process in the address space of another one's device, on one host. Each says whether it
 * could: that there is no way between two devices is no error. */
struct device_share_ops {
  int (*give)(struct device *device, void *block, struct device_handle *handle); /* all of what alloc gave */
  int (*take)(struct device *device, const struct device_handle *handle, void **at);
  void (*leave)(struct device *device, void *at);
};

struct device_stream_ops {
  int (*record)(struct device *device, enum event event, enum stream stream);
  int (*wait)(struct device *device, enum stream stream,
              enum event event);                                 /* stream waits, the host does not */
  int (*synchronize)(struct device *device, enum stream stream); /* the host waits */
  int (*mark)(struct device *device, int mark, enum stream stream);
  int (*reach)(struct device *device, int mark); /* the host waits */
  int (*elapsed)(struct device *device, int from, int to, double *ms);
  int (*delay)(struct device *device, enum stream stream,
               double seconds);                                    /* NULL: the streams are the host */
  int (*capture_begin)(struct device *device, enum stream stream); /* NULL: nothing can be recorded */
  int (*capture_end)(struct device *device, enum stream stream, struct device_graph **graph);
  int (*replay)(struct device *device, enum stream stream, struct device_graph *graph);
  void (*graph_free)(struct device *device, struct device_graph *graph);
};

struct device_ops {
  const char *name;       /* "cpu", "cuda" */
  int on_host;            /* device pointers are host pointers */
  int stores_nothing;     /* what is copied to it is gone: nobody need prepare it */
  int (*available)(void); /* how many of this kind this node has (0: none) */
  const char *(*absent)(
      void); /* after available: why there are none or fewer, "": it is no wonder; NULL: "" */
  int (*choose)(struct device *device, int local_rank, int local_size); /* which one: its index and name */
  int (*open)(struct device *device);
  int (*adopt)(struct device *device); /* for calls of this thread from now on; NULL: of any thread */
  void (*close)(struct device *device);
  struct device_memory_ops memory;
  const struct device_share_ops *share; /* NULL: its memory is out of reach of others */
  struct device_stream_ops stream;
  /* How the profile reads the time on its streams. NULL: a call has done its work when it returns. */
  int (*profile)(struct device *device, struct profile_device *profile);
};

/* The tables, for device_list.h: the processor as a device, in host memory, whose streams have always
 * finished; an NVIDIA GPU; and a GPU that is not there, whose streams are clocks which device_delay sets
 * forward. */
extern const struct device_ops device_cpu_ops, device_cuda_ops, device_simulated_ops;

/* The start of a device that was chosen (device_list.h), which another thread may do, and then what makes it
 * the calling thread's. */
#define device_start(device) ((device)->ops->open(device))
int device_adopt(struct device *device);
void device_close(struct device *device);

/* Most calls are those of the table. */
#define DEVICE_CALL(op, device, ...) ((device)->ops->op((device), __VA_ARGS__))

int device_alloc(struct device *device, int64_t bytes, void **pointer, const char *what);
void device_release(struct device *device, void *pointer);
#define device_upload(device, ...) DEVICE_CALL(memory.upload, device, __VA_ARGS__)
#define device_download(device, ...) DEVICE_CALL(memory.download, device, __VA_ARGS__)
/* A download of few bytes to memory of device_host_alloc that hardly delays what is queued behind it. */
int device_post(struct device *device, enum stream stream, void *to, const void *from, int64_t bytes);
#define device_copy(device, ...) DEVICE_CALL(memory.copy, device, __VA_ARGS__)
#define device_clear(device, ...) DEVICE_CALL(memory.clear, device, __VA_ARGS__)
#define device_record(device, ...) DEVICE_CALL(stream.record, device, __VA_ARGS__)
#define device_wait(device, ...) DEVICE_CALL(stream.wait, device, __VA_ARGS__)
int device_synchronize(struct device *device, enum stream stream);
/* The stream stands still for so long. */
#define device_delay(device, ...) DEVICE_CALL(stream.delay, device, __VA_ARGS__)

/* Host threads that prepare what is copied, piece by piece: 16 brought 51 of the 54 GB/s of a bus, and all
 * wait for the last of them at every piece. */
static inline int device_copying_threads(const struct device *device) {
  enum { ENOUGH = 16 };
  return device->threads < ENOUGH ? device->threads : ENOUGH;
}

/* Host memory that the device reads and writes while the host goes on: for downloads that nobody awaits. */
#define device_host_alloc(device, ...) DEVICE_CALL(memory.host_alloc, device, __VA_ARGS__)
void device_host_release(struct device *device, void *pointer);

/* Sets mark 0 .. MARKS - 1 behind what `stream` holds now; waits until a mark that was set has been reached;
 * milliseconds between two that have been. */
int device_mark(struct device *device, int mark, enum stream stream);
int device_reach(struct device *device, int mark);
#define device_elapsed(device, ...) DEVICE_CALL(stream.elapsed, device, __VA_ARGS__)

/* Whether this device can record. Between begin and end the host must neither wait nor allocate, and a stream
 * that joined by events must have been joined back. A capture that fails leaves nothing behind; *graph is
 * NULL then. Replays keep every address and argument; the memory behind them is the caller's affair. */
#define device_can_capture(device) ((device)->ops->stream.capture_begin != NULL)
#define device_capture_begin(device, ...) DEVICE_CALL(stream.capture_begin, device, __VA_ARGS__)
#define device_capture_end(device, ...) DEVICE_CALL(stream.capture_end, device, __VA_ARGS__)
#define device_replay(device, ...) DEVICE_CALL(stream.replay, device, __VA_ARGS__)
void device_graph_free(struct device *device, struct device_graph *graph); /* NULL is fine */

#endif
