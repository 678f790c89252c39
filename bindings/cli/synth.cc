// sidbeam synth: catalogues of any size, for trying things out. Random numbers are a function of the seed and a
// counter, integers throughout, so that a seed gives the same file on every machine.
// SPDX-License-Identifier: Apache-2.0
#include <support/output_file.h>

#include <algorithm>
#include <memory>

#include "abi.h"
#include "commands.h"
#include "interrupt.h"
#include "json.h"
#include "npy.h"
#include "options.h"

namespace cli {
namespace {

struct Options {
  int64_t items = 0;
  int32_t levels = 0;
  std::string codes, skew = "uniform", output;
  uint64_t seed = 1;
  bool allow_attribute_loss = false, json = false;
};

constexpr int64_t kMostItems = int64_t{1} << 40;  // the index format's limit

// The output function of SplitMix64 (Steele, Lea, Flood 2014): a bijection that looks random.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// 0 .. bound-1, evenly to within bound / 2^32.
uint64_t below(uint64_t random, uint64_t bound) { return ((random >> 32) * bound) >> 32; }

// Zipf's law over ranks: rank r has a weight of 1 / (r + 1). The sums are of integers, since sums of doubles could
// differ between compilers.
class Zipf {
 public:
  explicit Zipf(int32_t codes) {
    uint64_t sum = 0;
    for (int32_t r = 0; r < codes; ++r) ends_.push_back(sum += (uint64_t{1} << 26) / static_cast<uint64_t>(r + 1));
  }

  uint64_t rank(uint64_t random) const {
    const uint64_t at = below(random, ends_.back());  // the sum is below 2^31
    return static_cast<uint64_t>(std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin());
  }

 private:
  std::vector<uint64_t> ends_;
};

// A permutation of 0 .. codes-1 chosen by `key`: a bijection of the next power of two, walked until it lands inside.
uint64_t permute(uint64_t rank, uint64_t key, uint64_t codes) {
  int bits = 1;
  while ((uint64_t{1} << bits) < codes) ++bits;
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  do {
    rank = ((rank + key) * ((key >> 20) | 1)) & mask;
    rank ^= rank >> ((bits + 1) / 2);
    rank = (rank * ((key >> 40) | 1)) & mask;
  } while (rank >= codes);
  return rank;
}

class Generator {
 public:
  Generator(const Options& o, const std::vector<int32_t>& codes) : seed_(mix(o.seed)), codes_(codes) {
    if (o.skew != "zipf") return;
    for (const int32_t level_codes : codes) zipf_.emplace_back(level_codes);
  }

  void row(int64_t row, int32_t* out) const {
    uint64_t node = seed_;  // a hash of the prefix, which chooses the order of its children
    for (size_t level = 0; level < codes_.size(); ++level) {
      const uint64_t counter = static_cast<uint64_t>(row) * codes_.size() + level;
      const uint64_t random = mix(seed_ + mix(counter)), codes = static_cast<uint64_t>(codes_[level]);
      const uint64_t code = zipf_.empty() ? below(random, codes) : permute(zipf_[level].rank(random), mix(node), codes);
      node = mix(node ^ (code + 1));
      out[level] = static_cast<int32_t>(code);
    }
  }

 private:
  uint64_t seed_;
  std::vector<int32_t> codes_;
  std::vector<Zipf> zipf_;
};

void generate(const Options& o, const std::vector<int32_t>& codes, sidbeam::OutputFile& file) {
  constexpr int64_t kRows = 1 << 14;
  Progress progress;
  const Generator generator(o, codes);
  std::vector<int32_t> rows(static_cast<size_t>(kRows) * codes.size());
  for (int64_t first = 0; first < o.items; first += kRows) {
    const int64_t count = std::min(kRows, o.items - first);
    for (int64_t i = 0; i < count; ++i) generator.row(first + i, rows.data() + static_cast<size_t>(i) * codes.size());
    file.write(rows.data(), count * o.levels * int64_t{sizeof(int32_t)});
    throw_if_interrupted();
    progress.show("writing", first + count, o.items);
  }
}

void run(const Options& o) {
  const Stopwatch watch;
  const std::vector<int32_t> codes = parse_codes(o.codes, o.levels, false);
  catch_interrupts(o.output);
  sidbeam::OutputFile file(o.output.c_str(), o.allow_attribute_loss);
  const std::string header = npy_header("<i4", {o.items, o.levels});
  const int64_t header_bytes = static_cast<int64_t>(header.size()), bytes = header_bytes + o.items * o.levels * 4;
  file.reserve(bytes);
  file.write(header.data(), header_bytes);
  generate(o, codes, file);
  file.sync();
  throw_if_interrupted();
  file.commit();
  if (o.json) {
    return print_json(Json{{"output", o.output},
                           {"items", o.items},
                           {"levels", o.levels},
                           {"codes", codes},
                           {"skew", o.skew},
                           {"seed", o.seed},
                           {"bytes", bytes},
                           {"seconds", watch.seconds()}});
  }
  print_line(o.output + ": " + with_commas(o.items) + " SIDs of " + std::to_string(o.levels) + " codes, " +
             with_commas(bytes) + " bytes, " + fixed(watch.seconds(), 2) + " s");
}

}  // namespace

void add_synth(Command program) {
  const auto o = std::make_shared<Options>();
  const Command command =
      program.add_subcommand("synth", "Write a random catalogue of any size as .npy (int32 [N, L])");
  command.add_option("--items", o->items, "N, rows").required().between(1, kMostItems);
  command.add_option("--levels", o->levels, "L, codes of a SID").required().between(1, SIDBEAM_MAX_LEVELS);
  command.add_option("--codes", o->codes, "V or V1,V2,..: codes of each level").required().type_name("LIST");
  command.add_option("--skew", o->skew, "uniform: every code alike; zipf: prefixes cluster as those of real items do")
      .one_of({"uniform", "zipf"})
      .capture_default_str();
  command.add_option("--seed", o->seed, "the same seed gives the same file on every machine").capture_default_str();
  command.add_option("--output", o->output, ".npy file to write").required().type_name("FILE");
  add_attribute_loss(command, o->allow_attribute_loss);
  add_json(command, o->json);
  command.footer(
      "SIDs are drawn independently, so some may come twice. With zipf the children of every prefix are drawn with\n"
      "probability proportional to 1/rank, in an order of their own for each prefix.\n"
      "Example:\n"
      "  sidbeam synth --items 1000000 --levels 4 --codes 256 --skew zipf --output million.npy");
  command.callback([o] { run(*o); });
}

}  // namespace cli
