#include "runtime/config/edit_distance.h"

enum { BYTES = 64 };

int edit_distance(const char *a, int a_length, const char *b, int b_length) {
  int row[BYTES + 1];
  if (a_length > BYTES) a_length = BYTES;
  if (b_length > BYTES) b_length = BYTES;
  for (int j = 0; j <= b_length; j++) row[j] = j;
  for (int i = 1; i <= a_length; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= b_length; j++) {
      int above = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
      if (above + 1 < best) best = above + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
      diagonal = above;
    }
  }
  return row[b_length];
}
