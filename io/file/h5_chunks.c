/* Rows of a dataset in chunks, past HDF5, which reads and writes them one after the other: it is asked where
 * each chunk lies, or made to find a place for it, and threads read the chunks and look at their checksums,
 * or write both. Whatever is unusual, a damaged chunk among it, is left to HDF5, which knows the words for
 * it. */
#include <unistd.h>

#include "io/file/h5_hdf5.h"
#include "runtime/base/base.h"

enum { LEAST_BYTES = 4 << 20, LARGEST_CHUNK = 16 << 20, CHECKSUM_BYTES = 4, WORDS = 256 };

/* Rows [first, first + count) and their chunks. */
struct rows {
  struct h5 *h5;
  const struct h5_set *set;
  int64_t first, count;
  int64_t row_bytes, chunk_rows;
  int checked; /* chunks end in a checksum */
};

struct place {
  int64_t at, bytes; /* in the file; bytes 0: it is not known */
  int checked;
};

/* Sums of 16-bit words mod 65535, ones' complement: 0 of zeros alone. */
static uint64_t fold(uint64_t sum) {
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  return sum;
}

/* Sums of some words and of their running sums. */
static void sum_words(const uint8_t *data, int words, uint32_t *sum, uint32_t *weighted) {
  uint32_t plain = 0, ranked = 0;
  for (int i = 0; i < words; i++) {
    const uint32_t word = (uint32_t)data[2 * i] << 8 | data[2 * i + 1];
    plain += word;
    ranked += (uint32_t)(words - i) * word;
  }
  *sum = plain;
  *weighted = ranked;
}

/* Fletcher's checksum of big-endian words, an odd byte at the end the upper half of one (J. Fletcher, An
 * Arithmetic Checksum for Serial Transmissions, 1982), as HDF5 has it. */
static uint32_t fletcher32(const uint8_t *data, int64_t bytes) {
  uint64_t low = 0, high = 0;
  for (int64_t left = bytes / 2; left > 0; left -= WORDS) {
    const int words = left < WORDS ? (int)left : WORDS;
    uint32_t sum, weighted;
    sum_words(data, words, &sum, &weighted);
    high = fold(high + (uint64_t)words * low + weighted);
    low = fold(low + sum);
    data += 2 * words;
  }
  if (bytes % 2) low = fold(low + ((uint64_t)*data << 8)), high = fold(high + low);
  return (uint32_t)(high << 16 | low);
}

static int64_t chunk_bytes(const struct rows *r) {
  return r->chunk_rows * r->row_bytes;
}

/* Whole rows a chunk, numbers in the file as in memory, no filter but a checksum. */
static int begin(struct rows *r, hid_t type) {
  const struct h5_set *s = r->set;
  hsize_t chunk[2] = {0, 0};
  const int dims = s->shape.dims, filters = H5Pget_nfilters(s->layout);
  unsigned flags, detail;
  size_t values = 0;
  if (s->chunk_bytes == 0 || s->chunk_bytes > LARGEST_CHUNK || H5Pget_chunk(s->layout, 2, chunk) != dims)
    return 0;
  if (dims == 2 && chunk[1] != s->dim[1]) return 0;
  if (H5Tequal(s->type, type) <= 0 || filters > 1) return 0;
  if (filters == 1 &&
      H5Pget_filter2(s->layout, 0, &flags, &values, NULL, 0, NULL, &detail) != H5Z_FILTER_FLETCHER32)
    return 0;
  r->checked = filters == 1;
  r->chunk_rows = (int64_t)chunk[0];
  r->row_bytes = s->chunk_bytes / r->chunk_rows;
  return r->count * r->row_bytes >= LEAST_BYTES;
}

/* HDF5 goes to read the chunk as it is, or to write it, and the disk notes where. */
static int find_place(const struct rows *r, int64_t chunk, int writes, struct place *place) {
  struct h5_disk *disk = r->h5->disk;
  const hsize_t offset[2] = {(hsize_t)(chunk * r->chunk_rows), 0};
  const int64_t all = chunk_bytes(r) + (r->checked ? CHECKSUM_BYTES : 0);
  uint32_t skipped = 0; /* filters */
  char nothing = 0;
  disk->noted_bytes = 0;
  disk->notes = 1;
  const herr_t status = writes
                            ? H5Dwrite_chunk(r->set->id, H5P_DEFAULT, skipped, offset, (size_t)all, &nothing)
                            : H5Dread_chunk(r->set->id, H5P_DEFAULT, offset, &skipped, &nothing);
  disk->notes = 0;
  *place = (struct place){disk->noted_at, disk->noted_bytes, r->checked && !(skipped & 1)};
  return status >= 0 && place->bytes == chunk_bytes(r) + (place->checked ? CHECKSUM_BYTES : 0);
}

/* Places of chunks from `from` on; the caller frees them. NULL: HDF5 is to do it all. */
static struct place *find_places(const struct rows *r, int64_t from, int64_t chunks, int writes) {
  struct place *place = malloc((size_t)chunks * sizeof *place);
  int well = place != NULL;
  for (int64_t i = 0; i < chunks && well; i++) well = find_place(r, from + i, writes, &place[i]);
  if (well) return place;
  free(place);
  return NULL;
}

static int read_at(int descriptor, void *to, int64_t bytes, int64_t at) {
  for (char *next = to; bytes > 0;) {
    const ssize_t got = pread(descriptor, next, (size_t)bytes, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    next += got, at += got, bytes -= got;
  }
  return 1;
}

static int read_checked(const struct rows *r, const struct place *place, void *to) {
  const int descriptor = r->h5->disk->descriptor;
  uint8_t end[CHECKSUM_BYTES];
  if (!read_at(descriptor, to, chunk_bytes(r), place->at)) return 0;
  if (!place->checked) return 1;
  if (!read_at(descriptor, end, sizeof end, place->at + chunk_bytes(r))) return 0;
  return fletcher32(to, chunk_bytes(r)) ==
         ((uint32_t)end[3] << 24 | (uint32_t)end[2] << 16 | (uint32_t)end[1] << 8 | end[0]);
}

/* A chunk of which all rows are wanted comes to its place at once. */
static int read_chunk(const struct rows *r, const struct place *place, int64_t chunk, char *data,
                      char *room) {
  const int64_t begin = chunk * r->chunk_rows, from = larger(begin, r->first),
                to = smaller(begin + r->chunk_rows, r->first + r->count);
  char *place_of_rows = data + (from - r->first) * r->row_bytes;
  if (to - from == r->chunk_rows) return read_checked(r, place, place_of_rows);
  if (!room || !read_checked(r, place, room)) return 0;
  memcpy(place_of_rows, room + (from - begin) * r->row_bytes, (size_t)((to - from) * r->row_bytes));
  return 1;
}

int h5_read_chunks(struct h5 *h5, const struct h5_set *s, int64_t first, int64_t count, enum h5_type type,
                   void *data) {
  struct rows r = {.h5 = h5, .set = s, .first = first, .count = count};
  if (h5->written.open || !begin(&r, h5_memory_type(type))) return 0;
  const int64_t from = first / r.chunk_rows, chunks = (first + count - 1) / r.chunk_rows + 1 - from;
  FREED struct place *place = find_places(&r, from, chunks, 0);
  int well = place != NULL;
  if (!well) return 0;
#pragma omp parallel reduction(min : well)
  {
    char *room = malloc((size_t)chunk_bytes(&r));
#pragma omp for schedule(dynamic)
    for (int64_t i = 0; i < chunks; i++) well = well && read_chunk(&r, &place[i], from + i, data, room);
    free(room);
  }
  return well;
}

static void write_chunk(const struct rows *r, const struct place *place, const char *data,
                        struct h5_disk *disk) {
  const uint32_t sum = place->checked ? fletcher32((const uint8_t *)data, chunk_bytes(r)) : 0;
  const uint8_t end[CHECKSUM_BYTES] = {(uint8_t)sum, (uint8_t)(sum >> 8), (uint8_t)(sum >> 16),
                                       (uint8_t)(sum >> 24)};
  h5_disk_put(disk, place->at, chunk_bytes(r), data);
  if (place->checked) h5_disk_put(disk, place->at + chunk_bytes(r), sizeof end, end);
}

void h5_write_chunks(struct h5 *h5, const struct h5_set *s, int64_t first, int64_t count, hid_t type,
                     const void *data, int64_t *from, int64_t *to) {
  struct rows r = {.h5 = h5, .set = s, .first = first, .count = count};
  *from = *to = first;
  if (h5_error(h5) || !begin(&r, type)) return;
  const int64_t begins = (first + r.chunk_rows - 1) / r.chunk_rows, ends = (first + count) / r.chunk_rows;
  FREED struct place *place = begins < ends ? find_places(&r, begins, ends - begins, 1) : NULL;
  if (!place) return;
  *from = begins * r.chunk_rows;
  *to = ends * r.chunk_rows;
  const char *rows = (const char *)data + (*from - first) * r.row_bytes;
#pragma omp parallel
  {
    struct h5_disk disk = {.descriptor = h5->disk->descriptor};
#pragma omp for schedule(dynamic)
    for (int64_t i = 0; i < ends - begins; i++) write_chunk(&r, &place[i], rows + i * chunk_bytes(&r), &disk);
#pragma omp critical(h5_chunks)
    if (disk.error && !h5->disk->error) h5->disk->error = disk.error;
  }
}
