#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

// toml++ asserts where some malformed texts ("[}") lead it; input must not end the program, so that an
// assertion becomes an exception, in every build.
namespace {
struct broken_assertion : std::exception {
  const char *what() const noexcept override { return "broken assertion in toml++"; }
};
[[noreturn]] void break_assertion() {
  throw broken_assertion();
}
} // namespace
#undef NDEBUG
#define TOML_ASSERT(condition) ((condition) ? void() : break_assertion())
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

extern "C" {
#include "runtime/config_memory.h"
#include "runtime/config_toml.h"
#include "runtime/error.h"
}

namespace {

struct found {
  std::string key;
  const toml::node *node;
};

bool is_bare(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// Keys have two parts; what lies deeper than that is reported by the table that holds it.
constexpr int deepest = 3;

void collect(const toml::table &table, const std::string &prefix, int depth, std::vector<found> &all) {
  for (auto &&[name, node] : table) {
    const std::string_view part = name.str();
    const std::string key = prefix + (is_bare(part) ? std::string(part) : '"' + std::string(part) + '"');
    all.push_back({key, &node});
    const toml::table *inner = node.as_table();
    if (inner && depth < deepest) collect(*inner, key + ".", depth + 1, all);
  }
}

config_value describe(const found &one) {
  config_value value = {};
  value.key = one.key.c_str();
  value.line = static_cast<int>(one.node->source().begin.line);
  value.type = one.node->is_table() ? VALUE_TABLE : VALUE_OTHER;
  if (auto *string = one.node->as_string()) {
    value.type = VALUE_STRING;
    value.string = string->get().c_str();
    value.length = static_cast<int64_t>(string->get().size());
  } else if (auto *integer = one.node->as_integer()) {
    value.type = VALUE_INTEGER;
    value.integer = integer->get();
  } else if (auto *real = one.node->as_floating_point()) {
    value.type = VALUE_REAL;
    value.real = real->get();
  } else if (auto *boolean = one.node->as_boolean()) {
    value.type = VALUE_BOOLEAN;
    value.boolean = boolean->get();
  }
  return value;
}

// The line that breaks an assertion: the last of the shortest run of first lines that does.
int assertion_line(const std::string_view text) {
  int line = 1;
  for (size_t end = text.find('\n'); end < text.size(); end = text.find('\n', end + 1), line++) {
    try {
      (void)toml::parse(text.substr(0, end + 1));
    } catch (const broken_assertion &) {
      return line;
    } catch (const toml::parse_error &) { // cut inside a list or a string
    }
  }
  return line;
}

int walk(const char *text, const char *name, int (*visit)(const config_value *value, void *context),
         void *context) {
  if (std::strlen(text) > CONFIG_TOML_BYTES)
    FAIL(BAD_INPUT, "%s: a configuration has at most %d bytes", name, static_cast<int>(CONFIG_TOML_BYTES));
  try {
    const toml::table root = toml::parse(text);
    std::vector<found> all;
    collect(root, "", 1, all);
    // toml++ keeps keys sorted by name; the first mistake a reader meets is the first one we report.
    std::stable_sort(all.begin(), all.end(), [](const found &a, const found &b) {
      const toml::source_position p = a.node->source().begin, q = b.node->source().begin;
      return std::tie(p.line, p.column) < std::tie(q.line, q.column);
    });
    for (const found &one : all) {
      const config_value value = describe(one);
      TRY(visit(&value, context));
    }
  } catch (const toml::parse_error &error) {
    FAIL(BAD_INPUT, "%s:%d: not valid TOML: %s", name, static_cast<int>(error.source().begin.line),
         std::string(error.description()).c_str());
  } catch (const broken_assertion &) {
    FAIL(BAD_INPUT, "%s:%d: not valid TOML", name, assertion_line(text));
  } catch (const std::exception &error) {
    FAIL(FAILED, "%s: reading TOML failed: %s", name, error.what());
  }
  return OK;
}

} // namespace

extern "C" int config_toml_walk(const char *text, const char *name,
                                int (*visit)(const config_value *value, void *context), void *context) {
  const int code = walk(text, name, visit, context);
  if (config_memory_was_short()) FAIL(FAILED, "out of memory: no room to read %s", name);
  return code;
}
