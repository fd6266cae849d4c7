#include "kernels/ops/attention.h"

#include "kernels/format/layout.h"
#include "kernels/ops/ops_check.h"
#include "runtime/base/error.h"
#include "runtime/profile/profile.h"

/* Rows of a message, whose reals lie where reals may. */
static int is_message(const struct kernels *k, struct tensor t, int64_t rows, int64_t cols) {
  int64_t stride = t.stride * dtype_bytes(t.dtype), real = dtype_bytes(k->real);
  return is_matrix(k, t, rows, cols) && stride % real == 0 && (uintptr_t)t.data % (uintptr_t)real == 0;
}

static int are_heads(int64_t heads, int64_t width) {
  return heads >= 1 && heads <= ATTENTION_HEADS && width % heads == 0;
}

/* A row of x and of terms for each arc; what rows have of their own and the result once, its positive part
 * too. */
static double attention_bytes(const struct attention *op) {
  int64_t terms = op->right.data ? 0 : op->heads * dtype_bytes(op->term.dtype);
  double arc = 4 + (double)(op->x.cols * dtype_bytes(op->x.dtype) + terms);
  return (double)op->a->csr->nnz * arc + bytes_of(op->self.x) + bytes_of(op->right) +
         (op->accumulate ? 2 : 1) * bytes_of(op->y) + bytes_of(op->positive);
}

/* Whether parts of a row can meet in those sums, as many columns wide; y: what stands in for them. */
static int are_sums(const struct kernels *k, struct tensor sums, struct tensor y, int64_t cols,
                    int in_parts) {
  return y.dtype == k->real ? !sums.data : !in_parts || is_real(k, sums, y.rows, cols);
}

/* Whether rows of t begin at multiples of 16 bytes. */
static int is_vectors(struct tensor t) {
  return (uintptr_t)t.data % 16 == 0 && t.stride * dtype_bytes(t.dtype) % 16 == 0;
}

/* Whether the op is for arcs in all tiers that `a` has; likewise by cosines. */
static int takes_tiers(const struct kernels *k, const struct layout *a, int64_t width, int64_t heads,
                       const struct dropout *dropout) {
  return a->windows == 0 && !a->plain && (a->csr->near == 0 || a->tiles == 0) &&
         (a->tiles == 0 || (attention_takes_tiles(k, width, heads) && dropout->threshold == 0));
}

static int cosine_takes_tiers(const struct kernels *k, const struct layout *a, int64_t width,
                              struct tensor message, struct tensor rows) {
  int gathered = a->tiles == 0 && a->windows == 0;
  return (a->windows == 0 || a->vectors > 0) && !a->plain &&
         (gathered || (cosine_takes_tiles(k, width) && is_vectors(message) && is_vectors(rows)));
}

int64_t attention_workspace(const struct kernels *k, const struct layout *a, int64_t width, int64_t heads) {
  return k->ops->attention->attention_workspace ? k->ops->attention->attention_workspace(a, width, heads) : 0;
}

/* Columns of the first matrix. */
static int64_t near_cols(const struct csr *a) {
  return a->near > 0 ? a->near : a->cols;
}

/* Whether the second matrix is there, where columns are of two. */
static int is_far(const struct kernels *k, const struct csr *a, struct tensor x, struct tensor far) {
  if (a->near == 0) return !far.data;
  return is_matrix(k, far, a->cols - a->near, x.cols) && has_whole_rows(x) && has_whole_rows(far);
}

/* Whether they are columns of the same rows, as far behind x and far. */
static int are_terms_of_rows(const struct attention *op) {
  return op->term.stride * dtype_bytes(op->term.dtype) == op->x.stride * dtype_bytes(op->x.dtype) &&
         (char *)op->term.data - (char *)op->x.data == (char *)op->far.term.data - (char *)op->far.x.data;
}

/* Whether the scores of all arcs can be found. */
static int has_scores(const struct kernels *k, const struct attention *op) {
  int64_t rows = op->y.rows, width = op->y.cols, heads = op->heads;
  if (op->right.data)
    return is_matrix(k, op->right, rows, width) && is_real(k, op->score, heads, width / heads) &&
           !op->positive.data && op->a->csr->near == 0;
  if (op->a->csr->near > 0 && !are_terms_of_rows(op)) return 0;
  return is_real(k, op->term, near_cols(op->a->csr), heads) && is_real(k, op->row_term, rows, heads) &&
         (!op->self.x.data || is_real(k, op->self.term, rows, heads));
}

int op_attention(struct kernels *k, const struct attention *op) {
  const struct csr *a = op->a->csr;
  int64_t rows = op->y.rows, width = op->y.cols, heads = op->heads;
  assert(are_heads(heads, width) && takes_tiers(k, op->a, width, heads, &op->dropout));
  assert(op->a->tiles == 0 || (!op->right.data && is_vectors(op->x)));
  assert(is_matrix(k, op->x, near_cols(a), width) && is_far(k, a, op->x, op->far.x));
  assert(has_scores(k, op) && is_real(k, op->log_sum, rows, heads));
  assert(!op->self.x.data || is_matrix(k, op->self.x, rows, width));
  assert(is_matrix(k, op->y, rows, width) && a->rows <= rows);
  assert(!op->positive.data ||
         (is_matrix(k, op->positive, rows, width) && is_real(k, op->share, rows, heads)));
  assert(are_sums(k, op->sums, op->y, op->right.data ? width : attention_sums_cols(k, width),
                  op->has_halo || op->accumulate));
  assert(!op->mean.data || is_real(k, op->mean, rows, width / heads));
  assert(op->dropout.threshold == 0 || (op->dropout.id && op->col_id) || rows == 0 || a->cols == 0);
  assert(!op->epilogue || (op->epilogue->norm != NORM_BATCH &&
                           op->epilogue->z.data == (op->mean.data ? op->mean.data : op->y.data)));
  double arcs = (double)(a->nnz + (op->self.x.data ? rows : 0));
  double flops = (op->right.data ? 6 : 2) * arcs * (double)width;
  return RUN_OP(k, op->right.data ? "dynamic_attention" : "attention", attention_bytes(op), flops,
                k->ops->attention->attention(k, op));
}

int op_attention_rows(struct kernels *k, const struct attention_rows *op) {
  int64_t rows = op->y.rows, width = op->y.cols, heads = op->heads;
  assert(are_heads(heads, width) && (op->dz.cols == width || op->dz.cols == width / heads));
  assert(is_matrix(k, op->dz, rows, op->dz.cols) && is_matrix(k, op->y, rows, width));
  assert(is_matrix(k, op->positive, rows, width) && is_real(k, op->share, rows, heads));
  assert(is_real(k, op->row_term, rows, heads) && is_real(k, op->log_sum, rows, heads));
  assert(is_message(k, op->message, rows, attention_message_cols(k, op->dz.cols, heads)));
  assert(is_real(k, op->row_term_grad, rows, heads));
  double bytes = 2 * bytes_of(op->dz) + bytes_of(op->y) + bytes_of(op->positive);
  return RUN_OP(k, "attention_rows", bytes, 0, k->ops->attention->attention_rows(k, op));
}

int op_attention_backward(struct kernels *k, const struct attention_backward *op) {
  const struct csr *a = op->a->csr;
  int64_t rows = op->x.rows, width = op->x.cols, heads = op->heads;
  int64_t cols = attention_message_cols(k, op->out, heads);
  assert(are_heads(heads, width) && (op->out == width || op->out == width / heads));
  assert(takes_tiers(k, op->a, width, heads, &op->dropout));
  assert(op->a->tiles == 0 || is_vectors(op->message));
  assert(is_message(k, op->message, near_cols(a), cols) && is_matrix(k, op->x, rows, width));
  assert(is_far(k, a, op->message, op->far));
  assert(!op->self.data || (op->self.rows <= rows && is_message(k, op->self, op->self.rows, cols)));
  assert(is_real(k, op->term, rows, heads) && is_real(k, op->term_grad, rows, heads));
  assert(!op->l.data || (is_real(k, op->l, heads, width / heads) && is_real(k, op->r, heads, width / heads) &&
                         is_real(k, op->row_term_grad, rows, heads)));
  assert(is_matrix(k, op->dx, rows, width) && a->rows <= rows);
  assert(are_sums(k, op->sums, op->dx, width, op->has_halo || op->accumulate));
  assert(op->dropout.threshold == 0 || (op->dropout.id && op->col_id) || rows == 0 || a->cols == 0);
  double nnz = (double)a->nnz, bytes = nnz * (4 + (double)(cols * dtype_bytes(op->message.dtype)));
  bytes += bytes_of(op->self) + bytes_of(op->x) + (op->accumulate ? 2 : 1) * bytes_of(op->dx);
  double flops = 4 * (nnz + (op->self.data ? (double)op->self.rows : 0)) * (double)width;
  return RUN_OP(k, "attention_backward", bytes, flops, k->ops->attention->attention_backward(k, op));
}

int op_attention_terms(struct kernels *k, const struct attention_terms *op) {
  int64_t rows = op->x.rows, heads = op->l.rows, each = op->x.cols / heads;
  assert(are_heads(heads, op->x.cols) && is_matrix(k, op->x, rows, op->x.cols));
  assert(is_real(k, op->l, heads, each) && is_real(k, op->r, heads, each));
  assert(is_real(k, op->left, rows, heads) && is_real(k, op->right, rows, heads));
  double bytes = bytes_of(op->x) + 2 * bytes_of(op->left);
  return RUN_OP(k, "attention_terms", bytes, 4 * (double)(rows * op->x.cols),
                k->ops->attention->attention_terms(k, op));
}

int op_attention_terms_backward(struct kernels *k, const struct attention_terms_backward *op) {
  int64_t rows = op->x.rows, heads = op->left_grad.cols, each = op->x.cols / heads;
  assert(are_heads(heads, op->x.cols) && is_matrix(k, op->x, rows, op->x.cols));
  assert(is_real(k, op->left_grad, rows, heads) && is_real(k, op->right_grad, rows, heads));
  assert(is_real(k, op->l_grad, heads, each) && is_real(k, op->r_grad, heads, each));
  double bytes = bytes_of(op->x) + 2 * bytes_of(op->left_grad);
  return RUN_OP(k, "attention_terms_backward", bytes, 4 * (double)(rows * op->x.cols),
                k->ops->attention->attention_terms_backward(k, op));
}

int op_dynamic_rows(struct kernels *k, const struct dynamic_rows *op) {
  int64_t rows = op->y.rows, width = op->y.cols, heads = op->heads, out = op->dz.cols;
  assert(are_heads(heads, width) && (out == width || out == width / heads));
  assert(is_matrix(k, op->dz, rows, out) && is_matrix(k, op->y, rows, width));
  assert(is_matrix(k, op->right, rows, width) && is_real(k, op->log_sum, rows, heads));
  assert(is_message(k, op->message, rows, dynamic_message_cols(k, out, width, heads)));
  double bytes = 2 * bytes_of(op->message) + bytes_of(op->y);
  return RUN_OP(k, "dynamic_rows", bytes, 0, k->ops->attention->dynamic_rows(k, op));
}

int op_dynamic_backward(struct kernels *k, const struct dynamic_backward *op) {
  const struct csr *a = op->a->csr;
  const int in = op->way == DYNAMIC_IN;
  int64_t rows = op->grad.rows, width = op->grad.cols, heads = op->heads;
  int64_t cols = dynamic_message_cols(k, op->out, width, heads);
  assert(are_heads(heads, width) && (op->out == width || op->out == width / heads));
  assert(op->a->tiles == 0 && is_matrix(k, op->x, in ? a->cols : rows, width));
  assert(is_message(k, op->message, in ? rows : a->cols, cols));
  assert(is_real(k, op->score, heads, width / heads) && op->selves <= rows && op->selves <= a->cols);
  assert(is_matrix(k, op->grad, rows, width) && is_real(k, op->products, rows, width));
  assert(are_sums(k, op->sums, op->grad, width, op->has_halo || op->accumulate));
  assert(a->row ? a->rows <= rows : a->rows == rows);
  assert(op->dropout.threshold == 0 || (op->dropout.id && op->col_id) || rows == 0 || a->cols == 0);
  double nnz = (double)a->nnz, columns = (double)(in ? width : cols) * (double)dtype_bytes(k->dtype);
  double bytes = nnz * (4 + columns) + bytes_of(in ? op->message : op->x) + 2 * bytes_of(op->products) +
                 (op->accumulate ? 2 : 1) * bytes_of(op->grad);
  double flops = (in ? 8 : 10) * (nnz + (double)op->selves) * (double)width;
  return RUN_OP(k, "dynamic_backward", bytes, flops, k->ops->attention->dynamic_backward(k, op));
}

int op_cosine_rows(struct kernels *k, const struct cosine_rows *op) {
  int64_t rows = op->x.rows, width = op->x.cols;
  assert(is_matrix(k, op->x, rows, width));
  assert(is_message(k, op->message, rows, cosine_message_cols(k, width, op->dz.cols > 0)));
  assert(op->dz.cols == 0 || (is_matrix(k, op->dz, rows, width) && is_matrix(k, op->y, rows, width) &&
                              is_real(k, op->log_sum, rows, 1)));
  return RUN_OP(k, "cosine_rows", 2 * bytes_of(op->message), 0, k->ops->attention->cosine_rows(k, op));
}

int op_cosine_attention(struct kernels *k, const struct cosine_attention *op) {
  const struct csr *a = op->a->csr;
  int64_t rows = op->y.rows, width = op->y.cols;
  int64_t cols = cosine_message_cols(k, width, 0);
  assert(cosine_takes_tiers(k, op->a, width, op->message, op->rows));
  assert(is_message(k, op->message, a->cols, cols) && is_message(k, op->rows, rows, cols));
  assert(is_matrix(k, op->y, rows, width) && is_real(k, op->log_sum, rows, 1) && op->beta);
  assert(a->row ? a->rows <= rows : a->rows == rows);
  assert(are_sums(k, op->sums, op->y, width, op->has_halo || op->accumulate));
  assert(!op->epilogue || (op->epilogue->norm != NORM_BATCH && op->epilogue->z.data == op->y.data));
  double arcs = (double)(a->nnz + (op->self ? rows : 0)), row = (double)(width * dtype_bytes(op->y.dtype));
  return RUN_OP(k, "cosine_attention", arcs * (4 + row) + 2 * (double)rows * row, 4 * arcs * (double)width,
                k->ops->attention->cosine_attention(k, op));
}

static int are_gradients(const struct kernels *k, struct tensor dx, struct tensor dn, int64_t rows,
                         int64_t width) {
  return is_either_matrix(k, dx, rows, width) && dn.dtype == dx.dtype && has_shape(dn, rows, width);
}

int op_cosine_backward(struct kernels *k, const struct cosine_backward *op) {
  const struct csr *a = op->a->csr;
  int64_t rows = op->dx.rows, width = op->dx.cols, cols = op->message.cols;
  int64_t full = cosine_message_cols(k, width, 1);
  assert(cosine_takes_tiers(k, op->a, width, op->message, op->rows));
  assert(cols == full || (cols == cosine_message_cols(k, width, 0) && op->arcs == COSINE_IN));
  assert(is_message(k, op->message, a->cols, cols) && is_message(k, op->rows, rows, full) && op->beta);
  assert(are_gradients(k, op->dx, op->dn, rows, width) && is_real(k, op->beta_grad, rows, 1));
  assert(op->dx.dtype == k->real || (!op->accumulate && op->arcs == (COSINE_IN | COSINE_OUT)));
  assert(a->row ? a->rows <= rows : a->rows == rows);
  assert(op->selves <= rows);
  double arcs = (double)(a->nnz + op->selves), row = (double)(cols * dtype_bytes(op->message.dtype));
  return RUN_OP(k, "cosine_backward", arcs * (4 + row) + 3 * (double)rows * row, 8 * arcs * (double)width,
                k->ops->attention->cosine_backward(k, op));
}

int op_cosine_epilogue(struct kernels *k, const struct cosine_epilogue *op) {
  int64_t rows = op->y.rows, width = op->y.cols;
  assert(is_matrix(k, op->y, rows, width) && is_message(k, op->message, rows, op->message.cols));
  assert(op->message.cols > width && are_gradients(k, op->dx, op->dn, rows, width));
  assert(!op->residual.data || is_matrix(k, op->residual, rows, width));
  return RUN_OP(k, "cosine_end", 4 * bytes_of(op->y), 0, k->ops->attention->cosine_epilogue(k, op));
}

int op_sddmm(struct kernels *k, const struct sddmm *op) {
  const struct csr *a = op->a->csr;
  int64_t width = op->x.cols;
  assert(is_matrix(k, op->x, op->x.rows, width) && is_matrix(k, op->y, a->cols, width));
  assert(a->row ? a->rows <= op->x.rows : a->rows == op->x.rows);
  assert(op->a->tiles == 0 && (op->scores || a->nnz == 0));
  double row = (double)(width * dtype_bytes(op->x.dtype)), entry = 4 + (double)dtype_bytes(k->real);
  return RUN_OP(k, "sddmm", (double)a->nnz * (entry + row) + bytes_of(op->x), 2 * (double)(a->nnz * width),
                k->ops->attention->sddmm(k, op));
}
