// SPDX-License-Identifier: Apache-2.0
#include "index/build/emit_tail.h"

#include <algorithm>
#include <cmath>

#include "index/tail.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

using format::Encoding;
using format::SectionKind;

// Whether every node of a level has at most kMaxRun SIDs. From the beginning of a node, searches backwards through the
// next kMaxRun SIDs for the last node that begins there, so that most SIDs are never looked at.
bool runs_fit(const SortedCatalogue& sorted, int level) {
  const uint8_t* first_new = sorted.first_new.data();
  int64_t begin = 0;
  while (begin + kMaxRun < sorted.sids) {
    int64_t next = begin + kMaxRun;
    while (next > begin && first_new[next] >= level) --next;
    if (next == begin) return false;
    begin = next;
  }
  return true;
}

const Section* find_section(const std::vector<Section>& sections, SectionKind kind, int level) {
  for (const Section& section : sections) {
    if (section.spec.kind == kind && section.spec.level == level) return &section;
  }
  return nullptr;
}

struct TailOut {
  int level = 0, levels = 0;
  void* words = nullptr;
  bool wide = false;
  uint64_t* splits = nullptr;
  void* ordinals = nullptr;
  bool wide_ordinals = false;

  void set_ordinal(uint64_t node, uint64_t ordinal) const {
    if (wide_ordinals) {
      static_cast<uint64_t*>(ordinals)[node] = ordinal;
    } else {
      static_cast<uint32_t*>(ordinals)[node] = static_cast<uint32_t>(ordinal);
    }
  }
};

TailOut find_tail(const Shape& shape, const std::vector<Section>& sections, uint8_t* base) {
  const int tail = shape.tail_level;
  const Section& words = *find_section(sections, SectionKind::Tail, tail);
  const Section& ordinals = *find_section(sections, SectionKind::Ordinals, tail);
  const Section* splits = find_section(sections, SectionKind::TailSplits, tail);
  TailOut out;
  out.level = tail;
  out.levels = shape.levels;
  out.words = base + words.offset;
  out.wide = words.spec.encoding == Encoding::WideItemColumnTail;
  if (splits != nullptr) out.splits = reinterpret_cast<uint64_t*>(base + splits->offset);
  out.ordinals = base + ordinals.offset;
  out.wide_ordinals = ordinals.spec.encoding == Encoding::U64;
  return out;
}

// Writes the rows of SIDs [begin, end). A `Word` holds the code and the split bit, unless the bits go to out.splits.
template <class Word>
void emit_rows(const SortedCatalogue& sorted, const TailOut& out, int64_t begin, int64_t end) {
  const int width = out.levels - out.level;
  CodeColumn columns[kMaxLevels];
  for (int l = out.level - 1; l < out.levels; ++l) columns[l] = sorted.column(l);
  auto* words = static_cast<Word*>(out.words);
  // Chunks begin at a multiple of 64 entries, so no two tasks write the same word of the bitmap.
  auto at = static_cast<uint64_t>(begin) * static_cast<uint64_t>(width);
  if (out.splits != nullptr)
    std::fill(out.splits + at / 64, out.splits + divide_up(static_cast<uint64_t>(end * width), 64), 0);
  for (int64_t i = begin; i < end; ++i) {
    const int first = i == 0 ? 0 : sorted.first_new[i];
    bool ended = columns[out.level - 1].is_end(i);
    for (int l = out.level; l < out.levels; ++l, ++at) {
      const uint32_t token = columns[l][i];
      const bool split = l >= first && !ended;
      ended = ended || columns[l].is_end(i);
      if (out.splits != nullptr) {
        words[at] = static_cast<Word>(token);
        out.splits[at / 64] |= uint64_t{split} << at % 64;
      } else {
        words[at] = static_cast<Word>(token | uint32_t{split} << SplitInWord<Word>::kSplitBit);
      }
    }
  }
}

// Writes the first ordinals of those nodes of the tail's first level that begin in SIDs [begin, end). `node` is the
// first such node.
void emit_ordinals(const SortedCatalogue& sorted, const TailOut& out, uint64_t node, int64_t begin, int64_t end) {
  const bool may_end = sorted.layout.variable_length && out.level > 1;
  const CodeColumn second_above = sorted.column(std::max(out.level - 2, 0));
  for (int64_t i = begin; i < end; ++i) {
    if (i > 0 && sorted.first_new[i] >= out.level) continue;
    if (may_end && second_above.is_end(i)) continue;  // the SID ended above and has no node here
    out.set_ordinal(node++, static_cast<uint64_t>(i));
  }
}

// The logarithm of the probability that a Poisson variable exceeds kMaxRun. Its terms there fall at least
// geometrically.
double log_excess(double mean) {
  const double most = kMaxRun + 1;
  return -mean + most * std::log(mean) - std::lgamma(most + 1) - std::log1p(-mean / (most + 1));
}

}  // namespace

int first_tail_level(const SortedCatalogue& sorted) {
  for (int level = 1; level < sorted.layout.levels; ++level) {
    if (runs_fit(sorted, level)) return level;
  }
  return 0;
}

int expected_tail_level(const Shape& shape) {
  double prefixes = 1;
  for (int level = 1; level < shape.levels; ++level) {
    prefixes *= shape.level[level - 1].codes;
    double below = 1;
    for (int l = level; l < shape.levels; ++l) below *= static_cast<double>(shape.symbols(l));
    const double mean = static_cast<double>(shape.sids) / prefixes;
    if (below <= kMaxRun || shape.sids <= kMaxRun) return level;
    if (mean < kMaxRun && log_excess(mean) + std::log(prefixes) < std::log(0.5)) return level;
  }
  return 0;
}

void emit_tail(const SortedCatalogue& sorted, const LevelScan& scan, const std::vector<Section>& sections,
               uint8_t* base, int threads, Progress& progress) {
  const Shape& shape = scan.header.shape;
  const TailOut out = find_tail(shape, sections, base);
  const LevelStarts& above = scan.starts[static_cast<size_t>(out.level) - 1];
  parallel_for(threads, static_cast<int64_t>(divide_up(shape.sids, kTaskSids)), [&](int64_t chunk) {
    const int64_t begin = chunk * kTaskSids, end = std::min(sorted.sids, begin + kTaskSids);
    emit_ordinals(sorted, out, above.edges[static_cast<size_t>(chunk)], begin, end);
    if (out.wide) {
      emit_rows<uint32_t>(sorted, out, begin, end);
    } else {
      emit_rows<uint16_t>(sorted, out, begin, end);
    }
    progress.advance(end - begin);
  });
  out.set_ordinal(shape.level[out.level].nodes, shape.sids);
}

}  // namespace sidbeam
