// The header: counts, levels, sections and texts that are wrong, alone or in agreement with each other.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "mutate.h"
#include "shape.h"

namespace fuzz {
namespace {

template <class Integer>
void change(Integer& field, Random& random) {
  const uint64_t value = static_cast<uint64_t>(field);
  constexpr uint64_t kTelling[] = {0,
                                   1,
                                   2,
                                   63,
                                   64,
                                   65,
                                   127,
                                   128,
                                   255,
                                   0x7fff,
                                   0x8000,
                                   0xffff,
                                   0x7fffffff,
                                   0x80000000u,
                                   0xffffffffu,
                                   1ull << 32,
                                   1ull << 40,
                                   1ull << 62,
                                   1ull << 63,
                                   ~0ull,
                                   ~0ull - 63,
                                   1ull << 20,
                                   (1ull << 20) - 1};
  switch (random.below(4)) {
    case 0:
      field = static_cast<Integer>(value + 1);
      return;
    case 1:
      field = static_cast<Integer>(value - 1);
      return;
    case 2:
      field = static_cast<Integer>(kTelling[random.below(std::size(kTelling))]);
      return;
    default:
      field = static_cast<Integer>(random.one_in(2) ? random.skewed(12) : value ^ uint64_t{1} << random.below(64));
  }
}

void change_level(IndexFile& file, Random& random) {
  if (file.levels.empty()) return;
  const size_t l = random.below(file.levels.size());
  FileLevel& level = file.levels[l];
  switch (random.below(6)) {
    case 0:
      return change(level.codes, random);
    case 1:
      return change(level.max_children, random);
    case 2:
      return change(level.ends, random);
    case 3:
      return change(level.dense_nodes, random);
    case 4:
      return change(level.nodes, random);
    default:
      change(level.edges, random);
      // As edge i of a level is node i of the next.
      if (l + 1 < file.levels.size() && !random.one_in(4)) file.levels[l + 1].nodes = level.edges;
  }
}

void change_count(IndexFile& file, Random& random) {
  switch (random.below(13)) {
    case 0:
      return change(file.sids, random);
    case 1:
      return change(file.items, random);
    case 2:
      return change(file.merged_pairs, random);
    case 3:
      return change(file.collisions, random);
    case 4:
      return change(file.max_items_per_sid, random);
    case 5:
      file.variable_length = !file.variable_length;
      return;
    case 6:
      return change(file.shortest, random);
    case 7:
      return change(file.longest, random);
    case 8:
      file.id_type = static_cast<uint8_t>(random.below(4));
      return;
    case 9:
      return change(file.tail_level, random);
    case 10:
      return change(file.file_bytes, random);
    case 11:
      file.own_hash_seed = random.one_in(2);
      return change(file.hash_seed, random);
    default:
      return change(random.one_in(2) ? file.fingerprint_low : file.fingerprint_high, random);
  }
}

void change_attribute(IndexFile& file, Random& random) {
  if (file.attributes.empty()) {
    file.attributes.emplace_back().name = "a";
    file.attributes[0].nulls = random.below(2);
    file.attributes[0].first_section = static_cast<uint32_t>(file.sections.size());
  }
  FileAttribute& attribute = random.pick(file.attributes);
  switch (random.below(9)) {
    case 0:
      attribute.type = static_cast<uint8_t>(random.below(7));
      return;
    case 1:
      return change(attribute.nulls, random);
    case 2:
      return change(attribute.codes, random);
    case 3:
      return change(attribute.strings, random);
    case 4:
      return change(attribute.first_section, random);
    case 5:
      return change(random.one_in(2) ? attribute.least : attribute.greatest, random);
    case 6:
      attribute.greatest_number = static_cast<float>(random.next());
      return;
    case 7:
      std::swap(attribute.name, random.pick(file.attributes).name);
      return;
    default:
      return change(random.one_in(2) ? file.digest_low : file.digest_high, random);
  }
}

// Ranges of every width, the whole of it too.
void change_priorities(IndexFile& file, Random& random) {
  if (file.priorities && random.one_in(4)) return file.priorities.reset();
  if (!file.priorities) file.priorities.emplace();
  FilePriorities& range = *file.priorities;
  change(random.one_in(2) ? range.least : range.greatest, random);
  if (random.one_in(2))
    range.greatest = static_cast<int64_t>(static_cast<uint64_t>(range.least) +
                                          (random.one_in(2) ? random.skewed(64) : uint64_t{1} << random.below(64)));
}

void change_section(IndexFile& file, Random& random) {
  if (file.sections.empty()) return;
  FileSection& section = random.pick(file.sections);
  const FileSection& other = random.pick(file.sections);
  switch (random.below(8)) {
    case 0:
      section.kind = random.one_in(2) ? other.kind : static_cast<uint16_t>(random.below(30));
      return;
    case 1:
      section.encoding = random.one_in(2) ? other.encoding : static_cast<uint16_t>(random.below(14));
      return;
    case 2:
      return change(section.level, random);
    case 3:
      section.required = !section.required;
      return;
    case 4:
      section.offset = other.offset;
      return;
    case 5:
      section.offset += (random.one_in(2) ? 64 : uint64_t{0} - 64) * random.below(3);
      return;
    case 6:
      return change(section.offset, random);
    default:
      section.length = random.one_in(2) ? other.length : section.length + random.below(17) - 8;
  }
}

void add_unknown_section(IndexFile& file, Random& random) {
  FileSection section;
  section.kind = static_cast<uint16_t>(random.one_in(4) ? random.below(30) : 27 + random.skewed(15));
  section.encoding = static_cast<uint16_t>(random.below(14));
  section.level = static_cast<int16_t>(random.one_in(4) ? random.next() : random.below(80) - 1);
  section.required = random.one_in(16);
  section.bytes.resize(random.skewed(8));
  for (uint8_t& byte : section.bytes) byte = static_cast<uint8_t>(random.next());
  file.sections.insert(file.sections.begin() + static_cast<std::ptrdiff_t>(random.below(file.sections.size() + 1)),
                       std::move(section));
}

void rearrange_sections(IndexFile& file, Random& random) {
  std::vector<FileSection>& sections = file.sections;
  if (sections.empty()) return;
  const auto at = [&] { return sections.begin() + static_cast<std::ptrdiff_t>(random.below(sections.size())); };
  switch (random.below(6)) {
    case 0:  // still as good as it was
      for (size_t i = sections.size(); i > 1; --i) std::swap(sections[i - 1], sections[random.below(i)]);
      break;
    case 1:  // the contents of one under the name of another
      std::swap(random.pick(sections).bytes, random.pick(sections).bytes);
      break;
    case 2:
      sections.erase(at());
      break;
    case 3: {
      const FileSection copy = *at();
      sections.insert(at(), copy);
      break;
    }
    case 4: {
      FileSection& section = *at();
      section.bytes.resize(section.bytes.size() + random.below(33) - std::min<size_t>(section.bytes.size(), 16));
      break;
    }
    default:
      add_unknown_section(file, random);
  }
  place(file, random);
}

std::string random_text(Random& random) {
  constexpr const char* kTexts[] = {"",          "a",        "\x1b]0;title\x07", "line\nsidbeam: forged",
                                    "\xc2\x9bJ", "\xff\xfe", "<script>",         "\"\\",
                                    "\x7f\r\t",  "\xc3\xa9"};
  std::string text = kTexts[random.below(std::size(kTexts))];
  while (random.one_in(2)) text += static_cast<char>(random.next());
  return text;
}

void change_texts(IndexFile& file, Random& random) {
  if (random.one_in(3)) {
    file.codebook = random_text(random);
  } else if (!file.metadata.empty() && random.one_in(2)) {
    auto& [key, value] = random.pick(file.metadata);
    (random.one_in(2) ? key : value) = random_text(random);
  } else {
    file.metadata.emplace_back(random_text(random), random_text(random));
  }
  if (!random.one_in(8)) std::sort(file.metadata.begin(), file.metadata.end());
  place(file, random);
}

// A level more or less, or one twice.
void change_depth(IndexFile& file, Random& random) {
  if (file.levels.size() > 1 && random.one_in(2)) {
    file.levels.pop_back();
  } else {
    file.levels.push_back(file.levels.empty() ? FileLevel() : file.levels.back());
    if (file.levels.size() > 1) file.levels.back().nodes = file.levels[file.levels.size() - 2].edges;
  }
  if (random.one_in(2)) file.longest = static_cast<uint16_t>(file.levels.size());
  if (!file.variable_length) file.shortest = file.longest;
  place(file, random);
}

}  // namespace

void mutate_header(IndexFile& file, Random& random) {
  const uint64_t what = random.below(19);
  if (what < 4) change_level(file, random);
  if (what >= 4 && what < 7) change_count(file, random);
  if (what >= 7 && what < 10) change_section(file, random);
  if (what >= 10 && what < 13) rearrange_sections(file, random);
  if (what == 13) change_texts(file, random);
  if (what == 14) change_depth(file, random);
  if (what == 15) change(random.one_in(2) ? file.major : file.minor, random);
  if (what == 16 || what == 17) change_attribute(file, random);
  if (what == 18) change_priorities(file, random);
  if (what < 7 || what == 14 || what >= 16) {
    IndexFile agreeing = file;
    if (!random.one_in(4) && conform(agreeing, random)) file = std::move(agreeing);
  }
}

}  // namespace fuzz
