/* HDF5's way to the disk: a descriptor of ours.
 *
 * HDF5 1.10 is in an undefined state once a file could not be written where it is closed: what it keeps of
 * the file is freed in part, and calls that follow may crash. So it never learns of that: a write that fails
 * is noted, those behind it are left out, and whoever writes the file asks what was noted. A read that fails
 * is an error to HDF5, too, which has nothing to go on with. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/h5_hdf5.h"

/* As HDF5 knows it. */
struct disk_file {
  H5FD_t driver; /* first: HDF5 sees this */
  struct h5_disk *disk;
  haddr_t end_allocated, end;
};

enum { MOST = 1 << 30 }; /* bytes a call */

static H5FD_t *disk_open(const char *name, unsigned flags, hid_t access, haddr_t most) {
  (void)name, (void)flags, (void)most;
  struct stat status;
  struct h5_disk *const *disk = H5Pget_driver_info(access);
  struct disk_file *file = disk ? calloc(1, sizeof *file) : NULL;
  if (disk && !file) (*disk)->error = ENOMEM;
  if (!file) return NULL;
  file->disk = *disk;
  if (fstat(file->disk->descriptor, &status) == 0) {
    file->end = (haddr_t)status.st_size;
    return &file->driver;
  }
  file->disk->error = errno;
  free(file);
  return NULL;
}

/* The descriptor is not HDF5's. */
static herr_t disk_close(H5FD_t *driver) {
  free(driver);
  return 0;
}

/* As the driver of plain files has them: they decide how a file is laid out. */
static herr_t disk_query(const H5FD_t *driver, unsigned long *flags) {
  (void)driver;
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

static haddr_t get_end_allocated(const H5FD_t *driver, H5FD_mem_t type) {
  (void)type;
  return ((const struct disk_file *)driver)->end_allocated;
}

static herr_t set_end_allocated(H5FD_t *driver, H5FD_mem_t type, haddr_t end) {
  (void)type;
  ((struct disk_file *)driver)->end_allocated = end;
  return 0;
}

static haddr_t get_end(const H5FD_t *driver, H5FD_mem_t type) {
  (void)type;
  return ((const struct disk_file *)driver)->end;
}

/* Whether it is to be noted where data lie, and nothing else done. */
static int note(struct h5_disk *disk, H5FD_mem_t type, haddr_t at, size_t size) {
  if (!disk->notes || type != H5FD_MEM_DRAW) return 0;
  disk->noted_at = (int64_t)at;
  disk->noted_bytes = (int64_t)size;
  return 1;
}

/* Behind the end of the file there are zeros. */
static herr_t disk_read(H5FD_t *driver, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size, void *to) {
  (void)transfer;
  struct h5_disk *disk = ((struct disk_file *)driver)->disk;
  if (note(disk, type, at, size)) return 0;
  char *next = to;
  while (size > 0) {
    ssize_t got = pread(disk->descriptor, next, size < MOST ? size : MOST, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      if (!disk->error) disk->error = errno;
      return -1;
    }
    if (got == 0) memset(next, 0, size);
    if (got == 0) return 0;
    next += got;
    at += (haddr_t)got;
    size -= (size_t)got;
  }
  return 0;
}

void h5_disk_put(struct h5_disk *disk, int64_t at, int64_t bytes, const void *from) {
  for (const char *next = from; bytes > 0 && !disk->error;) {
    ssize_t written = pwrite(disk->descriptor, next, (size_t)(bytes < MOST ? bytes : MOST), (off_t)at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      disk->error = written < 0 ? errno : ENOSPC;
      return;
    }
    next += written;
    at += written;
    bytes -= written;
  }
}

static herr_t disk_write(H5FD_t *driver, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size,
                         const void *from) {
  (void)transfer;
  struct disk_file *file = (struct disk_file *)driver;
  if (!note(file->disk, type, at, size)) h5_disk_put(file->disk, (int64_t)at, (int64_t)size, from);
  if (at + size > file->end) file->end = at + size;
  return 0;
}

static herr_t disk_truncate(H5FD_t *driver, hid_t transfer, hbool_t closing) {
  (void)transfer, (void)closing;
  struct disk_file *file = (struct disk_file *)driver;
  struct h5_disk *disk = file->disk;
  if (file->end == file->end_allocated) return 0;
  if (!disk->error && ftruncate(disk->descriptor, (off_t)file->end_allocated) != 0) disk->error = errno;
  file->end = file->end_allocated;
  return 0;
}

static const H5FD_class_t disk_class = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = 511, /* the last of those for whoever needs one */
#endif
    .name = "gnntrain",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(struct h5_disk *),
    .open = disk_open,
    .close = disk_close,
    .query = disk_query,
    .get_eoa = get_end_allocated,
    .set_eoa = set_end_allocated,
    .get_eof = get_end,
    .read = disk_read,
    .write = disk_write,
    .truncate = disk_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

int h5_use_disk(hid_t access, struct h5_disk *disk) {
  static hid_t driver;
  if (driver <= 0) driver = H5FDregister(&disk_class);
  return driver > 0 && H5Pset_driver(access, driver, &disk) >= 0;
}
