#include "launch/gnntrain/gnntrain_plan_picture.h"

#include <math.h>

#include "runtime/base/base.h"
#include "runtime/file/atomic_write.h"

enum { WIDTH = 720, HEIGHT = 440, LEFT = 70, RIGHT = 20, TOP = 50, BOTTOM = 50 };

/* Where the logarithms of ranks and ms lie. */
struct frame {
  double ranks[2], ms[2];
};

static double across(const struct frame *f, double ranks) {
  const double share = log(ranks / f->ranks[0]) / fmax(log(f->ranks[1] / f->ranks[0]), 1e-9);
  return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double down(const struct frame *f, double ms) {
  const double share = log(ms / f->ms[0]) / fmax(log(f->ms[1] / f->ms[0]), 1e-9);
  return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
}

static double even_ms(const struct plan *plan, const struct plan_row *row) {
  return plan->row[0].ms * plan->row[0].ranks / row->ranks;
}

static struct frame frame_of(const struct plan *plan) {
  struct frame f = {{plan->row[0].ranks, plan->row[plan->rows - 1].ranks}, {INFINITY, 0}};
  for (int i = 0; i < plan->rows; i++) {
    f.ms[0] = fmin(f.ms[0], fmin(plan->row[i].ms, even_ms(plan, &plan->row[i])));
    f.ms[1] = fmax(f.ms[1], plan->row[i].ms);
  }
  f.ms[0] *= .8;
  f.ms[1] *= 1.25;
  return f;
}

/* An axis of marks. */
static void draw_frame(FILE *out, const struct plan *plan, const struct frame *f, const char *title) {
  fprintf(out,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
          "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
          WIDTH, HEIGHT);
  fprintf(out, "<text x=\"%d\" y=\"24\" font-size=\"15\">", LEFT);
  for (const char *c = title; *c; c++)
    if (*c == '<' || *c == '&' || *c == '>')
      fputc('_', out);
    else
      fputc(*c, out);
  fprintf(out, ": predicted ms an epoch, %s</text>\n", plan->gpu->name);
  for (int i = 0; i < plan->rows; i++) {
    const double x = across(f, plan->row[i].ranks);
    fprintf(out,
            "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%d\" "
            "text-anchor=\"middle\">%d</text>\n",
            x, TOP, x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 18, plan->row[i].ranks);
  }
  fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">ranks</text>\n", (LEFT + WIDTH - RIGHT) / 2,
          HEIGHT - 12);
}

static void draw_marks(FILE *out, const struct frame *f) {
  static const double step[] = {1, 2, 5};
  for (int i = 0; i < 60; i++) {
    const double ms = step[i % 3] * pow(10, i / 3 - 6);
    if (ms < f->ms[0] || ms > f->ms[1]) continue;
    fprintf(out,
            "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%.1f\" "
            "text-anchor=\"end\">%g</text>\n",
            LEFT, down(f, ms), WIDTH - RIGHT, down(f, ms), LEFT - 6, down(f, ms) + 4, ms);
  }
}

static void draw_lines(FILE *out, const struct plan *plan, const struct frame *f) {
  for (int even = 1; even >= 0; even--) {
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"",
            even ? "#aaa" : "#1764ab", even ? " stroke-dasharray=\"4 4\"" : "");
    for (int i = 0; i < plan->rows; i++) {
      const struct plan_row *row = &plan->row[i];
      fprintf(out, "%.1f,%.1f ", across(f, row->ranks), down(f, even ? even_ms(plan, row) : row->ms));
    }
    fputs("\"/>\n", out);
  }
  for (int i = 0; i < plan->rows; i++) {
    const struct plan_row *row = &plan->row[i];
    const double x = across(f, row->ranks), y = down(f, row->ms);
    fprintf(
        out,
        "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" stroke=\"#1764ab\" fill=\"%s\"/><text x=\"%.1f\" y=\"%.1f\" "
        "text-anchor=\"middle\">%.3g</text>\n",
        x, y, row->estimated ? "white" : "#1764ab", x, y - 9, row->ms);
  }
}

static void draw(FILE *out, const struct plan *plan, const char *title) {
  const struct frame f = frame_of(plan);
  draw_frame(out, plan, &f, title);
  draw_marks(out, &f);
  draw_lines(out, plan, &f);
  fputs("<text x=\"90\" y=\"42\" fill=\"#777\">dashed: shared evenly; hollow: estimated</text>\n</svg>\n",
        out);
}

int plan_picture_write(const struct plan *plan, const char *title, const char *path) {
  struct atomic_write file = {0};
  FILE *out = NULL;
  TRY(atomic_write_open(&file, path));
  int code = atomic_write_stream(&file, &out);
  if (code == OK) draw(out, plan, title);
  if (code == OK) return atomic_write_commit(&file);
  atomic_write_drop(&file);
  return code;
}
