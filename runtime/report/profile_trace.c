/* The Chrome trace: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU */
#include "runtime/base/base.h"
#include "runtime/comm/comm.h"
#include "runtime/file/atomic_write.h"
#include "runtime/profile/profile.h"
#include "runtime/profile/profile_tree.h"

struct rank_header {
  int64_t events;
  double epoch;
};

struct trace {
  struct atomic_write written; /* on rank 0 only */
  FILE *file;
  struct profile_region *region; /* of all ranks */
  int64_t width;
  struct rank_header *header;  /* of all ranks */
  struct profile_event *event; /* of the rank at hand */
};

/* The names are literals of ours; still a quote in one must not break the file. */
static void write_string(FILE *file, const char *text) {
  fputc('"', file);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    if ((unsigned char)*text >= 0x20) fputc(*text, file);
  }
  fputc('"', file);
}

/* Names of the rank and of its tracks that have events. */
static void write_names(struct trace *trace, int rank, const struct profile_event *event) {
  int used[PROFILE_TRACKS] = {0};
  fprintf(trace->file,
          "%s{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"rank %d\"}}",
          rank ? ",\n" : "", rank, rank);
  for (int64_t i = 0; i < trace->header[rank].events; i++) used[event[i].track] = 1;
  for (int t = 0; t < PROFILE_TRACKS; t++) {
    if (!used[t]) continue;
    fprintf(trace->file,
            ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"%s %d\"}}",
            rank, t, t == PROFILE_HOST_TRACK ? "host" : "stream", t == PROFILE_HOST_TRACK ? rank : t - 1);
  }
}

static void write_rank(struct trace *trace, int rank, const struct profile_event *event) {
  double shift = trace->header[rank].epoch - trace->header[0].epoch;
  write_names(trace, rank, event);
  for (int64_t i = 0; i < trace->header[rank].events; i++) {
    fprintf(trace->file, ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":", rank,
            event[i].track, 1e6 * (event[i].start + shift), 1e6 * event[i].seconds);
    write_string(trace->file, trace->region[rank * trace->width + event[i].region].name);
    fputc('}', trace->file);
  }
}

static int trace_open(struct trace *trace, struct comm *comm, const char *path) {
  TRY(memory_arrays("trace", ROOM(&trace->header, comm->size)));
  if (comm->rank != 0) return OK;
  TRY(memory_arrays("trace", ROOM(&trace->event, PROFILE_EVENTS)));
  int code = atomic_write_open(&trace->written, path);
  if (code != OK) FAIL(code, "the trace: %s", error_message());
  return atomic_write_stream(&trace->written, &trace->file);
}

/* Rank 0 takes the events of one rank after the other: it never holds more than two ranks' events. */
static int trace_write(struct trace *trace, struct comm *comm) {
  struct rank_header mine = {.epoch = profile_epoch()};
  const struct profile_event *events = profile_events(&mine.events);
  TRY(profile_gather(comm, &trace->region, &trace->width));
  TRY(comm_gather_all(comm, &mine, sizeof mine, trace->header));
  struct message send = {.peer = 0, .data = (void *)events, .bytes = mine.events * (int64_t)sizeof *events};
  if (comm->rank != 0) return comm_swap(comm, &send, 1, NULL, 0);
  fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", trace->file);
  write_rank(trace, 0, events);
  for (int r = 1; r < comm->size; r++) {
    struct message receive = {
        .peer = r, .data = trace->event, .bytes = trace->header[r].events * (int64_t)sizeof *events};
    TRY(comm_swap(comm, NULL, 0, &receive, 1));
    write_rank(trace, r, trace->event);
  }
  fputs("\n]}\n", trace->file);
  return OK;
}

static void trace_free(struct trace *trace) {
  atomic_write_drop(&trace->written);
  free_all(trace->region, trace->header, trace->event);
}

int profile_write_trace(struct comm *comm, const char *path) {
  ENDED_BY(trace_free) struct trace trace = {0};
  TRY(comm_agree(comm, trace_open(&trace, comm, path)));
  TRY(trace_write(&trace, comm));
  return comm_agree(comm, trace.written.open ? atomic_write_commit(&trace.written) : OK);
}
