/* target: what the readers are fed. A target takes bytes as the contents of a file (or of several, or of an
 * argument), hands them to one reader and checks what every reader promises: it comes back with OK or
 * BAD_INPUT and a sentence, whatever is in the file; what it accepts is sound. A broken promise ends the
 * program with abort(), as a sanitizer's finding does.
 *
 * The same targets stand in libFuzzer's programs (fuzzer.c) and in an ordinary one that feeds them files
 * (replay.c). Files are made in a folder of this process, in memory where the machine has /dev/shm. */
#ifndef TESTS_FUZZ_TARGET_H
#define TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

struct import;
struct import_options;

struct fuzz_target {
  const char *name;
  void (*feed)(const uint8_t *data, size_t size);
};
extern const struct fuzz_target fuzz_targets[]; /* ends with name NULL */

/* The target of that name, or NULL. */
const struct fuzz_target *fuzz_find(const char *name);

/* Makes the folder and silences the log; removes the folder when the program ends. */
void fuzz_start(void);

/* FOLDER/name. The text lasts for a few calls. */
const char *fuzz_path(const char *name);
/* Makes that file, or replaces it; and removes it, which need not be there. */
const char *fuzz_file(const char *name, const void *data, size_t size);
void fuzz_remove(const char *name);
void fuzz_folder(const char *name);

/* One of several files in the bytes: they stand between lines of "====". */
struct fuzz_part {
  const uint8_t *data;
  size_t size;
};
int fuzz_parts(const uint8_t *data, size_t size, struct fuzz_part *part, int most);

/* A zip archive of arrays: each part is a line with the name of a member, then its bytes. */
const char *fuzz_archive(const char *name, const struct fuzz_part *part, int parts);

/* The bytes with a NUL behind them; the caller frees them. */
char *fuzz_text(const uint8_t *data, size_t size);

/* What a reader may return: OK, or BAD_INPUT with a message. Forgets the error. */
void fuzz_check_code(int code);
/* The same, and FAILED: of files that libhdf5 reads. */
void fuzz_check_h5_code(int code);

/* Reads with these options; what comes out must be a sound graph or hypergraph. Returns whether it was read.
 */
int fuzz_import(const struct import_options *options);

/* Ends the program where a reader of text took bytes that are none. */
void fuzz_check_text(int taken, const uint8_t *data, size_t size);

/* The targets, by file. */
void fuzz_toml(const uint8_t *data, size_t size);
void fuzz_set(const uint8_t *data, size_t size);
void fuzz_constants(const uint8_t *data, size_t size);
void fuzz_synth_path(const uint8_t *data, size_t size);
void fuzz_gnntrain_line(const uint8_t *data, size_t size);
void fuzz_import_line(const uint8_t *data, size_t size);

void fuzz_table(const uint8_t *data, size_t size);
void fuzz_edgelist(const uint8_t *data, size_t size);
void fuzz_konect(const uint8_t *data, size_t size);
void fuzz_mtx(const uint8_t *data, size_t size);
void fuzz_metis(const uint8_t *data, size_t size);
void fuzz_hypergraph(const uint8_t *data, size_t size);
void fuzz_hmetis(const uint8_t *data, size_t size);
void fuzz_allset(const uint8_t *data, size_t size);
void fuzz_tud(const uint8_t *data, size_t size);
void fuzz_gin(const uint8_t *data, size_t size);
void fuzz_labels(const uint8_t *data, size_t size);
void fuzz_split(const uint8_t *data, size_t size);
void fuzz_csv(const uint8_t *data, size_t size);
void fuzz_ids(const uint8_t *data, size_t size);
void fuzz_gzip(const uint8_t *data, size_t size);
void fuzz_metrics(const uint8_t *data, size_t size);

void fuzz_npy(const uint8_t *data, size_t size);
void fuzz_npz(const uint8_t *data, size_t size);
void fuzz_arrays(const uint8_t *data, size_t size);
void fuzz_beside(const uint8_t *data, size_t size);
void fuzz_ogb(const uint8_t *data, size_t size);
void fuzz_ogb_arrays(const uint8_t *data, size_t size);
void fuzz_dgl(const uint8_t *data, size_t size);

void fuzz_dataset(const uint8_t *data, size_t size);
void fuzz_checkpoint(const uint8_t *data, size_t size);
void fuzz_parts_file(const uint8_t *data, size_t size);

/* The valid files that the targets of HDF5 begin with, as bytes in that folder (seeds.c). */
void fuzz_write_dataset(const char *path, int kind); /* 0 .. 3: multiclass, multilabel, hypergraph, graphs */
void fuzz_write_checkpoint(const char *path);
void fuzz_write_parts(const char *path);

#endif
