#include "io/metrics/events.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "io/file/path_check.h"
#include "runtime/base/base.h"

enum { RECORD = 1024 };

/* Fields of the messages, and how each is encoded. */
enum { VARINT, FIXED64, BYTES, FIXED32 = 5 };
enum { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5, EVENT_SESSION = 7 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_NUMBER = 2, SESSION_STATUS = 1, SESSION_START = 1 };

static const char prefix[] = "events.out.tfevents.";

/* A message that is being put together. */
struct bytes {
  int64_t used;
  unsigned char at[RECORD];
};

static void put(struct bytes *b, const void *data, size_t bytes) {
  memcpy(b->at + b->used, data, bytes);
  b->used += (int64_t)bytes;
}

static void put_varint(struct bytes *b, uint64_t value) {
  for (; value > 127; value >>= 7) put(b, &(unsigned char){(unsigned char)(value | 128)}, 1);
  put(b, &(unsigned char){(unsigned char)value}, 1);
}

static void put_key(struct bytes *b, int field, int encoding) {
  put_varint(b, (uint64_t)(field << 3 | encoding));
}

static void put_bytes(struct bytes *b, int field, const void *data, size_t bytes) {
  put_key(b, field, BYTES);
  put_varint(b, bytes);
  put(b, data, bytes);
}

/* CRC-32C (Castagnoli), reflected, as TFRecord masks it: a sum of data that holds sums would say little. */
static uint32_t masked_sum(const void *data, size_t bytes) {
  uint32_t sum = ~0U;
  for (size_t i = 0; i < bytes; i++) {
    sum ^= ((const unsigned char *)data)[i];
    for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0x82f63b78U : 0);
  }
  sum = ~sum;
  return (sum >> 15 | sum << 17) + 0xa282ead8U;
}

static void write_record(const struct bytes *b, FILE *file) {
  const uint64_t length = (uint64_t)b->used;
  const uint32_t sums[] = {masked_sum(&length, sizeof length), masked_sum(b->at, (size_t)length)};
  fwrite(&length, sizeof length, 1, file);
  fwrite(&sums[0], sizeof sums[0], 1, file);
  fwrite(b->at, 1, (size_t)length, file);
  fwrite(&sums[1], sizeof sums[1], 1, file);
}

static struct bytes event_at(double time, int64_t step) {
  struct bytes event = {0};
  put_key(&event, EVENT_TIME, FIXED64);
  put(&event, &time, sizeof time);
  put_key(&event, EVENT_STEP, VARINT);
  put_varint(&event, (uint64_t)step);
  return event;
}

static void put_value(struct bytes *summary, const char *tag, double number) {
  struct bytes value = {0};
  const float real = (float)number;
  if (isnan(number)) return;
  put_bytes(&value, VALUE_TAG, tag, strlen(tag));
  put_key(&value, VALUE_NUMBER, FIXED32);
  put(&value, &real, sizeof real);
  put_bytes(summary, SUMMARY_VALUE, value.at, (size_t)value.used);
}

static void write_head(const struct metrics_row *row, FILE *file) {
  static const char version[] = "brain.Event:2";
  struct bytes first = event_at(row->time, 0), start = event_at(row->time, row->epoch), session = {0};
  put_bytes(&first, EVENT_VERSION, version, sizeof version - 1);
  put_key(&session, SESSION_STATUS, VARINT);
  put_varint(&session, SESSION_START);
  put_bytes(&start, EVENT_SESSION, session.at, (size_t)session.used);
  write_record(&first, file);
  write_record(&start, file);
}

static void write_epoch(const struct metrics_row *row, FILE *file) {
  struct bytes event = event_at(row->time, row->epoch), summary = {0};
  put_value(&summary, "loss/training", row->loss);
  put_value(&summary, "loss/train", row->train_loss);
  put_value(&summary, "loss/val", row->val_loss);
  put_value(&summary, "loss/test", row->test_loss);
  put_value(&summary, "metric/train", row->train);
  put_value(&summary, "metric/val", row->val);
  put_value(&summary, "metric/test", row->test);
  put_value(&summary, "rate", row->lr);
  put_value(&summary, "ms", row->ms);
  put_bytes(&event, EVENT_SUMMARY, summary.at, (size_t)summary.used);
  write_record(&event, file);
}

static int fail_writing(const char *path, int error) {
  FAIL(FAILED, "%s: cannot be written: %s", path, strerror(error));
}

/* Folders of runs are looked into, one deep; nothing else is touched. */
static int remove_events(int folder, const char *path, int depth) {
  DIR *list = fdopendir(folder);
  int code = OK;
  if (!list) {
    close(folder);
    return fail_writing(path, errno);
  }
  for (struct dirent *entry; code == OK && (entry = readdir(list));) {
    if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0 && unlinkat(folder, entry->d_name, 0) != 0)
      code = fail_writing(path, errno);
    if (depth > 0 || strncmp(entry->d_name, "run-", 4) != 0) continue;
    const int inner = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner >= 0) code = remove_events(inner, path, depth + 1);
  }
  closedir(list);
  return code;
}

int events_open(struct events *events, const char *dir, int64_t runs, int fresh) {
  *events = (struct events){.runs = runs};
  const int room = (int)sizeof events->folder;
  if (snprintf(events->folder, sizeof events->folder, "%s/tensorboard", dir) >= room)
    FAIL(BAD_INPUT, "%s: the folder's name is too long", dir);
  const int folder = fresh ? open(events->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (folder >= 0) TRY(remove_events(folder, events->folder, 0));
  if (runs == 0) *events->folder = '\0';
  return OK;
}

/* Its first records are there before it has its name; epochs are appended. */
static int begin_in(struct events *events, struct atomic_write *p, const struct metrics_row *row) {
  FILE *stream;
  TRY(atomic_write_stream(p, &stream));
  write_head(row, stream);
  const int copy = fcntl(p->file, F_DUPFD_CLOEXEC, 0);
  events->file = copy >= 0 ? fdopen(copy, "a") : NULL;
  if (!events->file && copy >= 0) close(copy);
  return events->file ? atomic_write_commit(p) : fail_writing(p->path, errno);
}

static int begin_file(struct events *events, const struct metrics_row *row) {
  char folder[sizeof events->folder + 32], path[sizeof folder + 64];
  struct atomic_write p;
  const int64_t micros = (int64_t)(1e6 * row->time);
  events_close(events);
  snprintf(folder, sizeof folder, "%s", events->folder);
  if (events->runs > 1) snprintf(folder, sizeof folder, "%s/run-%lld", events->folder, (long long)row->run);
  snprintf(path, sizeof path, "%s/%s%lld.%06lld", folder, prefix, (long long)(micros / 1000000),
           (long long)(micros % 1000000));
  TRY(make_folder(folder));
  TRY(atomic_write_open(&p, path));
  const int code = begin_in(events, &p, row);
  atomic_write_drop(&p);
  events->run = row->run;
  return code;
}

int events_epoch(struct events *events, const struct metrics_row *row) {
  if (!events->file || events->run != row->run) TRY(begin_file(events, row));
  write_epoch(row, events->file);
  if (fflush(events->file) != 0 || ferror(events->file)) return fail_writing(events->folder, errno);
  return OK;
}

void events_close(struct events *events) {
  if (events->file) fclose(events->file);
  events->file = NULL;
}
