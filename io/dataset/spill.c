#include "io/dataset/spill.h"

#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/base.h"

void spill_close(struct spill *spill) {
  if (spill->file.open) atomic_write_drop(&spill->file);
}

/* The name goes at once: whatever ends the program leaves nothing behind. */
static int open_file(struct spill *spill) {
  TRY(make_folder_of(spill->path));
  TRY(atomic_write_open(&spill->file, spill->path));
  if (unlinkat(spill->file.folder, spill->file.temporary, 0) != 0)
    FAIL(FAILED, "%s: no file without a name beside it: %s", spill->path, strerror(errno));
  spill->file.temporary[0] = '\0';
  char text[16];
  log_info("arcs beyond %s of memory are kept in a temporary file beside %s", memory_text(spill->limit, text),
           spill->path);
  return OK;
}

static int has_room(const struct spill *spill, int64_t bytes) {
  return !spill->path || spill->held + bytes <= spill->limit;
}

static int room_in_file(struct spill *spill, int64_t bytes, struct spilled *place) {
  if (!spill->file.open) TRY(open_file(spill));
  *place = (struct spilled){.bytes = bytes, .at = spill->filled};
  spill->filled += bytes;
  return OK;
}

int spill_room(struct spill *spill, int64_t bytes, struct spilled *place) {
  *place = (struct spilled){.bytes = bytes};
  if (!has_room(spill, bytes)) return room_in_file(spill, bytes, place);
  TRY(memory_alloc(&place->memory, bytes, "arcs"));
#pragma omp atomic
  spill->held += bytes;
  return OK;
}

static int failed(const struct spill *spill, const char *what) {
  FAIL(FAILED, "%s: the file beside it, of %lld MiB of arcs, cannot be %s: %s", spill->path,
       (long long)(spill->filled >> 20), what, strerror(errno));
}

int spill_write(const struct spill *spill, const struct spilled *place, int64_t from, int64_t bytes,
                const void *data) {
  if (place->memory) {
    if (bytes) memcpy(place->memory + from, data, (size_t)bytes);
    return OK;
  }
  for (const char *next = data; bytes > 0;) {
    ssize_t written = pwrite(spill->file.file, next, (size_t)bytes, (off_t)(place->at + from));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed(spill, "written");
    next += written;
    from += written;
    bytes -= written;
  }
  return OK;
}

int spill_view(const struct spill *spill, const struct spilled *place, void *room, void **data) {
  *data = place->memory ? place->memory : room;
  char *next = room;
  for (int64_t read = 0; !place->memory && read < place->bytes;) {
    ssize_t more = pread(spill->file.file, next + read, (size_t)(place->bytes - read),
                         (off_t)(place->at + read));
    if (more < 0 && errno == EINTR) continue;
    if (more == 0) errno = EIO;
    if (more <= 0) return failed(spill, "read");
    read += more;
  }
  return OK;
}

int spill_move(struct spill *spill, struct spilled *place) {
  struct spilled from = *place;
  if (has_room(spill, from.bytes)) {
    spill->held += from.bytes;
    return OK;
  }
  int code = room_in_file(spill, from.bytes, place);
  if (code == OK) code = spill_write(spill, place, 0, from.bytes, from.memory);
  free(from.memory);
  place->memory = NULL;
  return code;
}

void spill_drop(struct spill *spill, struct spilled *place) {
  if (place->memory) {
#pragma omp atomic
    spill->held -= place->bytes;
  }
  free(place->memory);
  *place = (struct spilled){0};
}
