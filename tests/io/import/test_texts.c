/* Texts keep their numbers and are found, however many there are. */
#include "io/import/texts.h"
#include "tests/check.h"

static const char *text_of(int64_t i, char text[32]) {
  snprintf(text, 32, "%s%lld", i % 3 ? "node " : "", (long long)(i * 7919 % 1000003));
  return text;
}

TEST(texts_are_numbered_as_they_come) {
  enum { MANY = 100000 };
  struct texts texts = {0};
  char text[32];
  int32_t number;
  int is_new;
  assert_int_equal(texts_find(&texts, "a"), -1);
  for (int32_t i = 0; i < MANY; i++) {
    assert_ok(texts_add(&texts, text_of(i, text), &number, &is_new));
    assert_true(is_new && number == i);
  }
  for (int32_t i = 0; i < MANY; i++) {
    assert_int_equal(texts_find(&texts, text_of(i, text)), i);
    assert_string_equal(texts_at(&texts, i), text);
  }
  enum { SOME = 200 };
  char some[SOME][32];
  const char *asked[SOME];
  int32_t found[SOME];
  for (int64_t i = 0; i < SOME; i++) asked[i] = i % 9 ? text_of(i * 400, some[i]) : "none";
  texts_find_all(&texts, asked, SOME, found);
  for (int32_t i = 0; i < SOME; i++) assert_int_equal(found[i], i % 9 ? i * 400 : -1);
  assert_ok(texts_add(&texts, text_of(77, text), &number, &is_new));
  assert_true(!is_new && number == 77 && texts.count == MANY);
  assert_int_equal(texts_find(&texts, "node"), -1);
  assert_int_equal(texts_find(&texts, ""), -1);
  texts_free(&texts);
}

TEST(lists_borrow_the_texts) {
  struct texts texts = {0};
  const int32_t order[] = {2, 0};
  const char **list;
  int32_t number;
  int is_new;
  const char *words[] = {"b", "", "a"};
  for (int i = 0; i < 3; i++) assert_ok(texts_add(&texts, words[i], &number, &is_new));
  assert_ok(texts_list(&texts, order, 2, &list));
  assert_string_equal(list[0], "a");
  assert_string_equal(list[1], "b");
  free(list);
  assert_ok(texts_list(&texts, NULL, 3, &list));
  assert_string_equal(list[1], "");
  free(list);
  texts_free(&texts);
}
