/* What the nodes and the classes of a dataset are called. */
#include "io/dataset/dataset.h"
#include "io/file/text.h"
#include "runtime/base/base.h"

int dataset_read_ids(struct dataset *d, int64_t first, int64_t rows, int64_t *id) {
  return h5_read_rows(&d->h5, "/node/id", first, rows, H5_INT64, id);
}

int dataset_read_id_strings(struct dataset *d, int64_t first, int64_t rows, char **id) {
  return h5_read_strings(&d->h5, "/node/id", first, rows, id);
}

/* Those of ASCII, and U+0080 to U+009F. */
static int has_control(const char *text) {
  for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
    if (*at < ' ' || *at == 127 || (*at == 0xc2 && at[1] < 0xa0)) return 1;
  }
  return 0;
}

const char *dataset_text_fault(const char *text, int64_t most, int one_line) {
  int64_t length = (int64_t)strlen(text);
  if (length == 0) return "is empty";
  if (length > most) return most == DATASET_ID ? "is longer than 1023 bytes" : "is longer than 255 bytes";
  if (!text_is_utf8(text, length)) return "is not UTF-8";
  return one_line && has_control(text) ? "has a control character" : NULL;
}

static int check_names(const struct dataset *d, char *const *name) {
  for (int64_t c = 0; c < d->classes; c++) {
    const char *fault = dataset_text_fault(name[c], DATASET_CLASS_NAME, 1);
    if (fault) FAIL(BAD_INPUT, "%s: /node/class_names[%lld] %s", d->h5.path, (long long)c, fault);
  }
  return OK;
}

int dataset_read_class_names(struct dataset *d, char ***name) {
  struct h5_shape shape;
  *name = NULL;
  if (d->made.maker) return OK;
  TRY(h5_shape(&d->h5, "/node/class_names", &shape));
  if (!shape.exists) return OK;
  TRY(memory_arrays("names of classes", ROOM(name, d->classes)));
  int code = h5_read_strings(&d->h5, "/node/class_names", 0, d->classes, *name);
  if (code == OK) code = check_names(d, *name);
  if (code == OK) return OK;
  h5_free_names(*name, d->classes);
  *name = NULL;
  return code;
}
