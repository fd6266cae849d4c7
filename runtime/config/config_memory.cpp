#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

extern "C" {
#include "runtime/config/config_memory.h"
}

namespace {

constexpr size_t unit = alignof(std::max_align_t);

alignas(unit) char reserve[1 << 20];
size_t used;

void *take(size_t size) {
  if (size > sizeof reserve - used) throw std::bad_alloc();
  void *memory = reserve + used;
  used += (size + unit - 1) / unit * unit; // the reserve is a multiple of it
  return memory;
}

bool is_reserve(const void *memory) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(memory), start = reinterpret_cast<uintptr_t>(reserve);
  return at >= start && at < start + sizeof reserve;
}

} // namespace

void *operator new(size_t size) {
  void *memory = std::malloc(size ? size : 1);
  return memory ? memory : take(size ? size : 1);
}

// std::stable_sort asks like this and gives back by the delete below: the two must be of one kind, or
// sanitizers, which have all of them, find what is taken by theirs and freed by ours.
void *operator new(size_t size, const std::nothrow_t &) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}

void operator delete(void *memory) noexcept {
  if (!is_reserve(memory)) std::free(memory);
}

void operator delete(void *memory, size_t) noexcept {
  operator delete(memory);
}

void operator delete(void *memory, const std::nothrow_t &) noexcept {
  operator delete(memory);
}

extern "C" int config_memory_was_short(void) {
  const int was_short = used > 0;
  used = 0;
  return was_short;
}
