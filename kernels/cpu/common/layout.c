#include "kernels/cpu/common/layout.h"

#include "kernels/cost/cost_model.h"
#include "kernels/cpu/common/cpu.h"
#include "runtime/base/base.h"

enum { CHUNKS_PER_THREAD = 32 };

/* First row at which at least `work` non-zeros and rows lie behind. */
static int64_t row_after(const struct csr *m, int64_t work) {
  int64_t low = 0, high = m->rows;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (m->start[middle] + middle >= work)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static void measure_rows(struct cpu_layout *layout) {
  const struct csr *m = layout->base.csr;
  for (int64_t v = 0; v < m->rows; v++) {
    int64_t entries = m->start[v + 1] - m->start[v];
    if (entries > layout->longest) layout->longest = entries;
  }
}

static int set_chunks(struct cpu_layout *layout, int threads) {
  const struct csr *m = layout->base.csr;
  measure_rows(layout);
  int64_t wanted = (int64_t)threads * CHUNKS_PER_THREAD, work = m->nnz + m->rows;
  TRY(memory_arrays("layout chunks", ROOM(&layout->chunk, wanted + 1)));
  for (int64_t c = 1; c <= wanted; c++) {
    int64_t end = c == wanted ? m->rows : row_after(m, work / wanted * c + work % wanted * c / wanted);
    if (end > layout->chunk[layout->chunks]) layout->chunk[++layout->chunks] = end;
  }
  return OK;
}

static int own_values(struct cpu_layout *layout) {
  int64_t bytes = layout->base.csr->nnz * (int64_t)sizeof(real);
  TRY(memory_alloc(&layout->own_value, bytes, "layout values"));
  layout->value = layout->own_value;
  return OK;
}

static int set_values(struct cpu_layout *layout) {
  const struct csr *m = layout->base.csr;
  if (!m->weight) return OK;
#if REAL_IS_DOUBLE
  TRY(own_values(layout));
  for (int64_t e = 0; e < m->nnz; e++) layout->own_value[e] = m->wide ? m->wide[e] : (real)m->weight[e];
#else
  layout->value = m->weight;
#endif
  return OK;
}

/* The processor has one tier. */
int REAL(cpu_layout_init)(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                          struct layout **layout) {
  (void)plan;
  struct cpu_layout *made = NULL;
  TRY(memory_arrays("layout", ROOM(&made, 1)));
  *layout = &made->base;
  made->base = (struct layout){.csr = m, .least = TILE_CELLS + 1, .bytes = csr_bytes(m)};
  TRY(set_values(made));
  return set_chunks(made, k->device->threads);
}

int REAL(cpu_layout_share)(struct kernels *k, const struct layout *from, struct layout **layout) {
  struct cpu_layout *made = NULL;
  TRY(memory_arrays("layout", ROOM(&made, 1)));
  *layout = &made->base;
  made->base.csr = from->csr;
  TRY(own_values(made));
  return set_chunks(made, k->device->threads);
}

void REAL(cpu_layout_free)(struct kernels *k, struct layout *layout) {
  (void)k;
  struct cpu_layout *mine = (struct cpu_layout *)layout;
  free_all(mine->own_value, mine->chunk, mine);
}
