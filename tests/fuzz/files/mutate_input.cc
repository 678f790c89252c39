// Whole inputs: a file and the script of its use.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fingerprint.h"
#include "mutate.h"
#include "shape.h"

namespace fuzz {
namespace {

// The file's bytes with checksums that are right, except now and then.
std::vector<uint8_t> sealed(IndexFile file, Random& random) {
  if (!random.one_in(8)) repair_fingerprint(file);
  if (!random.one_in(24)) sum_sections(file);
  std::vector<uint8_t> bytes = encode(file);
  if (random.one_in(48)) bytes[random.below(bytes.size())] ^= static_cast<uint8_t>(1 + random.below(255));
  return bytes;
}

std::vector<uint8_t> with_script(std::vector<uint8_t> file, const uint8_t* script, size_t most) {
  if (file.size() > most - kScriptBytes) return {};
  file.insert(file.end(), script, script + kScriptBytes);
  return file;
}

void change_script(uint8_t* script, Random& random) {
  for (uint64_t changes = 1 + random.below(3); changes > 0; --changes)
    script[random.below(kScriptBytes)] = static_cast<uint8_t>(random.next());
}

}  // namespace

std::vector<uint8_t> mutate_input(const uint8_t* data, size_t size, size_t most, Random& random,
                                  MutateBytes mutate_bytes) {
  std::vector<uint8_t> whole(data, data + size);
  if (most < kScriptBytes) return {};
  if (size < kScriptBytes) whole.resize(kScriptBytes);
  uint8_t script[kScriptBytes];
  std::copy_n(whole.end() - kScriptBytes, kScriptBytes, script);
  if (random.one_in(4)) change_script(script, random);
  const uint64_t way = random.below(32);
  std::optional<IndexFile> file = parse(whole.data(), whole.size() - kScriptBytes);
  if (way == 0 && random.one_in(2)) {
    // Whatever comes: libFuzzer's own, without a thought for the structure.
    whole.resize(std::max(whole.size(), most));
    whole.resize(mutate_bytes(whole.data(), std::max(size, kScriptBytes), most));
    return whole;
  }
  if (!file || way == 1) file = random_file(random);
  for (uint64_t changes = 1 + random.skewed(2); changes > 0; --changes) {
    if (random.below(3) < 2) {
      mutate_contents(*file, random, mutate_bytes);
    } else {
      mutate_header(*file, random);
    }
  }
  return with_script(sealed(std::move(*file), random), script, most);
}

std::vector<uint8_t> cross_inputs(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size, size_t most,
                                  Random& random) {
  if (a_size < kScriptBytes || b_size < kScriptBytes || most < kScriptBytes) return {};
  std::optional<IndexFile> to = parse(a, a_size - kScriptBytes);
  const std::optional<IndexFile> from = parse(b, b_size - kScriptBytes);
  if (!to || !from) return {};
  for (const FileSection& section : from->sections) {
    if (random.one_in(2)) continue;
    FileSection* old = to->find(section.kind, section.level);
    if (old == nullptr) {
      to->sections.push_back(section);
    } else {
      old->bytes = section.bytes;
      old->encoding = section.encoding;
    }
  }
  if (random.one_in(3)) to->levels = from->levels;
  IndexFile agreeing = *to;
  if (!random.one_in(4) && conform(agreeing, random))
    to = std::move(agreeing);
  else
    place(*to, random);
  return with_script(sealed(std::move(*to), random), (random.one_in(2) ? a + a_size : b + b_size) - kScriptBytes, most);
}

}  // namespace fuzz
