// SPDX-License-Identifier: Apache-2.0
#include "index/build/strings.h"

#include <algorithm>
#include <cstring>

#include "index/attributes/shape.h"
#include "support/error.h"
#include "support/hashing.h"
#include "support/secret.h"

namespace sidbeam {

char* TextRoom::take(int64_t bytes) {
  if (bytes > room_ || chunks_.empty()) {
    constexpr int64_t kLeast = 4096, kMost = int64_t{1} << 26;
    const int64_t last = chunks_.empty() ? 0 : chunks_.back().size();
    chunks_.reserve(chunks_.size() + 1);
    chunks_.push_back(Buffer<char>(allocator_, std::max(bytes, std::clamp(2 * last, kLeast, kMost))));
    room_ = chunks_.back().size();
  }
  char* const to = chunks_.back().end() - room_;
  room_ -= bytes;
  return to;
}

void TextRoom::rewind(const Mark& to) {
  while (chunks_.size() > to.chunks) chunks_.pop_back();
  room_ = to.room;
}

int64_t TextRoom::bytes() const {
  int64_t sum = 0;
  for (const auto& chunk : chunks_) sum += chunk.bytes();
  return sum;
}

Strings::Strings(const Allocator& allocator)
    : allocator_(allocator), seed_(secret_number()), text_(allocator), entries_(allocator) {}

void Strings::grow() {
  Buffer<uint32_t> slots = Buffer<uint32_t>::zeroed(allocator_, std::max<int64_t>(64, 2 * slots_.size()));
  const auto mask = static_cast<uint64_t>(slots.size()) - 1;
  for (int64_t i = 0; i < count_; ++i) {
    uint64_t slot = entries_[i].hash & mask;
    while (slots[static_cast<int64_t>(slot)] != 0) slot = (slot + 1) & mask;
    slots[static_cast<int64_t>(slot)] = static_cast<uint32_t>(i + 1);
  }
  slots_ = std::move(slots);
}

uint32_t Strings::number_of(std::string_view text) {
  if (2 * (count_ + 1) > slots_.size()) grow();
  const uint64_t hash = xxh3_64(CpuTarget::kBaseline, text.data(), text.size(), seed_);
  const auto mask = static_cast<uint64_t>(slots_.size()) - 1;
  auto slot = static_cast<int64_t>(hash & mask);
  for (; slots_[slot] != 0; slot = static_cast<int64_t>((static_cast<uint64_t>(slot) + 1) & mask)) {
    const Entry& entry = entries_[slots_[slot] - 1];
    if (entry.hash == hash && entry.text == text) return slots_[slot] - 1;
  }
  if (static_cast<uint64_t>(count_) >= kMaxStrings)
    fail(SIDBEAM_INVALID_ARGUMENT, "there are more than %llu distinct strings, which is as many as an attribute holds",
         static_cast<unsigned long long>(kMaxStrings));
  entries_.reserve(count_ + 1);
  char* const copy = text_.take(static_cast<int64_t>(text.size()));
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  entries_[count_] = {{copy, text.size()}, hash, 0};
  slots_[slot] = static_cast<uint32_t>(++count_);
  return slots_[slot] - 1;
}

bool Strings::is_first_in(uint32_t number, int64_t list) {
  Entry& entry = entries_[number];
  if (entry.list == list) return false;
  entry.list = list;
  return true;
}

}  // namespace sidbeam
