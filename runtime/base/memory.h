/* memory: checked host allocation, the estimate of what a run needs, and what it really took. */
#ifndef RUNTIME_BASE_MEMORY_H
#define RUNTIME_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed host memory of `bytes` (>= 0; zero bytes give a valid pointer) into *pointer; the
 * caller frees it with free(). Errors: FAILED, naming `what` and the size. Sizes that only a damaged file
 * could ask for (over the machine's memory) fail without being tried. */
#define memory_alloc(pointer, bytes, what) memory_alloc_bytes((void **)(pointer), (bytes), (what))
int memory_alloc_bytes(void **pointer, int64_t bytes, const char *what);

/* Zeroed arrays, for each pointer one of so many elements: memory_arrays("an order", ROOM(&place, nodes),
 * ROOM(&part, 2)). Errors: as above; a pointer whose turn has not come is NULL then. */
struct memory_room {
  void *pointer; /* to the pointer */
  int64_t count, bytes;
};
#define ROOM(pointer, count) \
  { (pointer), (count), (int64_t)sizeof **(pointer) }
#define memory_arrays(what, ...) memory_rooms((what), (const struct memory_room[]){__VA_ARGS__, {NULL, 0, 0}})
int memory_rooms(const char *what, const struct memory_room *room);

/* Frees all that its arguments point to. */
#define free_all(...) free_list((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))
void free_list(void *const *pointer, size_t count);

/* What ends with its scope, however that is left: FREED int *place = NULL frees it, ENDED_BY(csr_free) struct
 * csr m = {0} calls csr_free(&m). */
#define ENDED_BY(end) __attribute__((cleanup(end)))
#define FREED ENDED_BY(memory_free_variable)
void memory_free_variable(void *pointer);

/* Moves a block of memory_alloc into a new one of `bytes`, keeping its first `used` bytes. The old block
 * stays when it fails. */
#define memory_grow(pointer, used, bytes, what) memory_grow_bytes((void **)(pointer), (used), (bytes), (what))
int memory_grow_bytes(void **pointer, int64_t used, int64_t bytes, const char *what);

/* What a run needs on one rank, by lifetime. */
enum { ESTIMATE_PARTS = 16 };
struct estimate {
  struct {
    const char *name;
    int64_t bytes;
  } part[ESTIMATE_PARTS];
  int parts;
};
/* Every rank adds the same parts in the same order, if only 0 bytes of one: they are compared one by one. */
void estimate_add(struct estimate *estimate, const char *name, int64_t bytes);
int64_t estimate_total(const struct estimate *estimate);
/* "9.1 GiB for activations and buffers, 2.0 GiB ..." of the parts from `first` on, into text[size]. */
void estimate_text(const struct estimate *estimate, int first, char *text, size_t size);

/* Resident bytes of this process now (VmRSS), and their peak since its start (VmHWM); -1 where
 * unknown. */
int64_t memory_used(void);
int64_t memory_peak(void);

/* From now on blocks of 2 MiB and more go back to the system when they are freed, whatever was allocated
 * after them: the partition stage leaves nothing behind that training would have to carry. Smaller ones, such
 * as HDF5's of a chunk, are used again with the pages that they have. */
void memory_return_large(void);

/* Gives the large pages (2 MiB) within `bytes` of a block of memory_alloc back to the system. All of the
 * bytes are zero then; the block is freed as ever. */
void memory_return_part(void *data, int64_t bytes);

/* What was freed and kept goes back now. */
void memory_return_freed(void);

/* Bytes of memory in this machine, and of it available now; and of its swap. */
int64_t memory_total(void);
int64_t memory_available(void);
int64_t memory_swap(void);

/* The most that one of so many processes that share a machine alike can ever have: of memory and swap, of
 * what their control group may use of these, and of its own address space (ulimit -v). */
int64_t memory_limit(int sharers);

/* "12.3 GiB" into text[16]; returns text. */
char *memory_text(int64_t bytes, char text[16]);

#endif
