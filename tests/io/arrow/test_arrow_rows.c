/* Tables of Arrow's as text: every type that is read, missing values, offsets, dictionaries, arrays one
 * behind the other; what is given out is released, whatever happens. */
#include "io/arrow/arrow_rows.h"
#include "io/file/csv.h"
#include "runtime/base/base.h"
#include "tests/check.h"
#include "tests/io/arrow/made_table.h"

/* The table's text, read in pieces of so many bytes from arrays of so many rows, of which number `fails`
 * cannot be had; NULL with *reason. The caller frees it. */
static char *text_of(const char *table, int64_t each, int64_t piece, int64_t fails, const char **reason) {
  static char kept[256];
  struct ArrowArrayStream stream;
  int living = 0;
  made_stream(&stream, table, 0, made_rows(table), each, fails, &living);
  struct arrow_rows *rows = arrow_rows_open(&stream, "t.parquet");
  char *text = calloc(1, 1 << 16);
  int64_t used = 0, got;
  assert_non_null(rows);
  while ((got = arrow_rows_read(rows, text + used, piece, reason)) > 0) used += got;
  if (got < 0) {
    snprintf(kept, sizeof kept, "%s", *reason);
    *reason = kept;
    free(text);
    text = NULL;
  }
  arrow_rows_close(rows);
  assert_int_equal(living, 0);
  return text;
}

static void expect(const char *table, const char *expected) {
  static const int64_t each[] = {100, 2, 1}, piece[] = {4096, 1, 7};
  for (size_t e = 0; e < 3; e++) {
    for (size_t p = 0; p < 3; p++) {
      const char *reason = NULL;
      char *text = text_of(table, each[e], piece[p], -1, &reason);
      assert_string_equal(text, expected);
      free(text);
    }
  }
}

TEST(whole_numbers_of_every_size) {
  expect("a:c|b:C|c:s|d:S|e:i|f:I|g:l|h:L\n"
         "-128|255|-32768|65535|-2147483648|4294967295|-9223372036854775808|18446744073709551615\n"
         "127|0|32767|0|2147483647|0|9223372036854775807|0\n"
         "NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL\n",
         "a,b,c,d,e,f,g,h\n"
         "-128,255,-32768,65535,-2147483648,4294967295,-9223372036854775808,18446744073709551615\n"
         "127,0,32767,0,2147483647,0,9223372036854775807,0\n"
         ",,,,,,,\n");
}

/* Halves are given as their bits: 1, -2.5, the least, the largest, infinity. What is read in single precision
 * has to be the half's own value: nine digits, too. */
TEST(reals_with_all_their_digits) {
  expect("f:f|g:g|e:e|b:b\n"
         "0.1|0.1|0x3c00|1\n"
         "-3.4028235e38|1e300|0xc100|0\n"
         "1|NULL|1|NULL\n"
         "16777216|2.5|0x7bff|1\n"
         "0|0|0x7c00|0\n",
         "f,g,e,b\n"
         "0.100000001,0.10000000000000001,1,1\n"
         "-3.40282347e+38,1.0000000000000001e+300,-2.5,0\n"
         "1,,5.96046448e-08,\n"
         "16777216,2.5,65504,1\n"
         "0,0,inf,0\n");
}

TEST(texts_in_quotes_where_they_need_them) {
  expect("id:u|a name, quoted:U|kind:c:u|wide:L:U\n"
         "n 1|plain|red|x\n"
         "a,b|say \"hi\"|blue|y;z\n"
         "|NULL|NULL|NULL\n"
         "tab\there|x|red|x\n",
         "id,\"a name, quoted\",kind,wide\n"
         "n 1,plain,red,x\n"
         "\"a,b\",\"say \"\"hi\"\"\",blue,\"y;z\"\n"
         ",,,\n"
         "\"tab\there\",x,red,x\n");
}

/* Of up to twelve bytes within its view, else elsewhere. */
TEST(texts_by_views) {
  expect("id:vu|name:vu\n"
         "a|twelve bytes\n"
         "|thirteen byte\n"
         "a text, of many bytes|NULL\n"
         "another text of many bytes|a \"third\" one\n",
         "id,name\n"
         "a,twelve bytes\n"
         ",thirteen byte\n"
         "\"a text, of many bytes\",\n"
         "another text of many bytes,\"a \"\"third\"\" one\"\n");
}

TEST(a_single_column_has_no_empty_lines) {
  expect("id:u\na\nNULL\nb\n", "id\na\n\"\"\nb\n");
}

TEST(a_table_without_rows_has_names) {
  expect("id:l|x:g\n", "id,x\n");
}

/* Dates, lists, indices to numbers of such. */
TEST(other_types_are_passed_over) {
  expect("id:l|day:tdD|x:f|when:c:tss:\n1|5|2.5|7\n2|6|.5|8\n", "id,day,x,when\n1,,2.5,\n2,,0.5,\n");
}

/* From the line that is asked for next. */
TEST(columns_that_nobody_asks_for_stay_empty) {
  const char *table = "id:l|name:u|kind:c:u\n7|a|red\n8|b|blue\n", *reason = NULL;
  struct ArrowArrayStream stream;
  char text[64] = "";
  int living = 0;
  made_stream(&stream, table, 0, 2, 9, -1, &living);
  struct arrow_rows *rows = arrow_rows_open(&stream, "t.parquet");
  assert_non_null(rows);
  arrow_rows_skip(rows, 0); /* too early */
  assert_int_equal(arrow_rows_read(rows, text, 13, &reason), 13);
  assert_string_equal(text, "id,name,kind\n");
  arrow_rows_skip(rows, 1);
  arrow_rows_skip(rows, 3); /* there is none */
  assert_int_equal(arrow_rows_read(rows, text, 8, &reason), 8);
  arrow_rows_skip(rows, 2);
  const int64_t got = arrow_rows_read(rows, text + 8, 40, &reason);
  text[8 + got] = '\0';
  assert_string_equal(text, "7,,red\n8,,blue\n");
  arrow_rows_close(rows);
  assert_int_equal(living, 0);
}

TEST(what_fails_is_told) {
  const char *table = "id:l\n1\n2\n3\n4\n", *reason = NULL;
  for (int64_t fails = 0; fails < 3; fails++) {
    assert_null(text_of(table, 2, 64, fails, &reason));
    assert_string_equal(reason, "a page is damaged");
  }
}

/* What reads tables of text reads it, and names the table's file. */
TEST(it_is_a_text) {
  ENDED_BY(csv_head_free) struct csv_head head = {0};
  const char *table = "id:l|name:u\n7|a\nNULL|b, c\n";
  struct ArrowArrayStream stream;
  struct text text;
  char *line;
  int living = 0;
  made_stream(&stream, table, 0, 2, 9, -1, &living);
  const struct text_source source = {arrow_rows_open(&stream, "t.parquet"), arrow_rows_read, arrow_rows_close,
                                     arrow_rows_skip};
  assert_ok(text_open_source(&text, "t.parquet", &source));
  assert_ok(csv_head_read(&head, &text));
  assert_int_equal(head.columns, 2);
  assert_ok(text_next(&text, &line));
  assert_string_equal(line, "7,a");
  assert_ok(text_next(&text, &line));
  assert_string_equal(line, ",\"b, c\"");
  assert_int_equal(text.line, 3);
  assert_ok(text_next(&text, &line));
  assert_null(line);
  text_close(&text);
  assert_int_equal(living, 0);
}
