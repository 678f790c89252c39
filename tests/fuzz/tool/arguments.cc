// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <sidbeam/sidbeam.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "catalogues.h"

namespace fuzz {
namespace {

std::string some_codes(Random& random) {
  std::string text;
  for (uint64_t i = random.below(5); i > 0; --i) text += (text.empty() ? "" : ",") + std::to_string(random.skewed(5));
  return text;
}

void add(Arguments& arguments, std::initializer_list<std::string> more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

// A row a level, as the index's levels and codes ask for, or nearly.
std::string write_logits(const Scratch& scratch, const std::string& index, Random& random) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  int64_t levels = 3, columns = 8;
  if (sidbeam_index_peek(scratch.path(index).c_str(), &info, nullptr) == SIDBEAM_OK) {
    levels = info.levels;
    columns = std::min(*std::max_element(info.codes, info.codes + info.levels), 512) + 1;
  }
  const int64_t requests = random.one_in(4) ? 3 : 1;
  std::vector<float> rows(static_cast<size_t>(requests * levels * columns));
  for (float& x : rows) x = -static_cast<float>(random.below(32)) / 4;
  if (random.one_in(4)) random.pick(rows) = std::numeric_limits<float>::quiet_NaN();
  if (random.one_in(4)) random.pick(rows) = -std::numeric_limits<float>::infinity();
  std::string shape = std::to_string(levels) + ", " + std::to_string(columns) + ")";
  shape = requests > 1 ? "(" + std::to_string(requests) + ", " + shape : "(" + shape;
  return scratch.write("logits.npy", npy_bytes("<f4", shape, rows.data(), rows.size() * sizeof(float)));
}

Arguments decode(const std::string& index, const std::string& logits, Random& random) {
  const std::string strategies[] = {"trie", "sorted", "sorted_topk", "hash_final", "none"};
  const std::string normalizations[] = {"full", "level", "valid", "none"};
  Arguments arguments = {"decode",      index,
                         "--logits",    logits,
                         "--beams",     std::to_string(1 + random.skewed(5)),
                         "--strategy",  random.pick(strategies),
                         "--normalize", random.pick(normalizations)};
  if (random.one_in(2)) add(arguments, {"--end-column", std::to_string(random.below(9))});
  if (random.one_in(8)) add(arguments, {"--top-k", std::to_string(1 + random.below(8))});
  if (random.one_in(8)) add(arguments, {"--offsets", some_codes(random)});
  if (random.one_in(8)) add(arguments, {"--soft-cap", "3.5", "--inverse-temperature", "0.5"});
  return arguments;
}

Arguments sample(const std::string& index, const std::string& logits, Random& random) {
  const std::string strategies[] = {"trie", "sorted", "sorted_topk"};
  Arguments arguments = {"sample",      index,
                         "--logits",    logits,
                         "--draws",     std::to_string(1 + random.skewed(6)),
                         "--seed",      std::to_string(static_cast<int64_t>(random.next())),
                         "--strategy",  random.pick(strategies),
                         "--normalize", random.one_in(2) ? "full" : "level"};
  if (random.one_in(2)) add(arguments, {"--end-column", std::to_string(random.below(9))});
  if (random.one_in(3)) add(arguments, {"--top-k", std::to_string(1 + random.below(8))});
  if (random.one_in(3)) add(arguments, {"--top-p", random.one_in(4) ? "1.5" : "0.7"});
  if (random.one_in(3)) add(arguments, {"--disc", std::to_string(1 + random.below(4))});
  if (random.one_in(3)) add(arguments, {"--without-replacement"});
  if (random.one_in(2)) add(arguments, {"--rows", std::to_string(1 + random.below(40))});
  if (random.one_in(4)) add(arguments, {"--temperature", random.one_in(4) ? "0" : "0.5"});
  if (random.one_in(8)) add(arguments, {"--offsets", some_codes(random)});
  if (random.one_in(8)) add(arguments, {"--soft-cap", "3.5"});
  return arguments;
}

Arguments lookup(const std::string& index, Random& random) {
  switch (random.below(4)) {
    case 0:
      return {"lookup", index, "--sid", some_codes(random)};
    case 1:
      return {"lookup", index, "--item", std::to_string(random.below(80))};
    case 2:
      return {"lookup", index, "--item", "item " + std::to_string(random.below(12))};
    default:
      return {"lookup", index, "--prefix", random.one_in(2) ? "" : some_codes(random)};
  }
}

// What building and planning share.
void add_import(Arguments& arguments, Form form, Random& random) {
  const std::string formats[] = {"lcrec", "jsonl", "csv", "npy", "raw", "xllm", "auto"};
  const std::string kinds[] = {"trie", "compact", "sorted", "hash", "trie,sorted,hash", "compact,hash"};
  if (!random.one_in(4))
    add(arguments, {"--format", form <= Form::kXllm && !random.one_in(8) ? formats[static_cast<size_t>(form)]
                                                                         : random.pick(formats)});
  if (form == Form::kRaw || random.one_in(8)) add(arguments, {"--levels", std::to_string(1 + random.below(4))});
  if (random.one_in(4)) add(arguments, {"--codes", random.one_in(2) ? "256" : some_codes(random)});
  if (random.one_in(3)) add(arguments, {"--variable-length"});
  if (random.one_in(2)) add(arguments, {"--kinds", random.pick(kinds)});
  if (form == Form::kCsv && random.one_in(2)) add(arguments, {"--sid-columns", random.one_in(2) ? "c0,c1,c2" : "sid"});
  if (random.one_in(8)) add(arguments, {"--priority-column", "priority"});
  if (random.one_in(8)) add(arguments, {"--item-column", "item"});
  if (random.one_in(8)) add(arguments, {"--collisions", random.one_in(2) ? "error" : "first"});
  if (random.one_in(8)) add(arguments, {"--memory-limit", random.one_in(2) ? "64K" : "1G"});
  if (random.one_in(8)) add(arguments, {"--hash-seed", std::to_string(random.below(3))});
  if (random.one_in(8)) add(arguments, {"--allow-attribute-loss"});
  add(arguments, {"--threads", random.one_in(8) ? "2" : "1"});
}

}  // namespace

Arguments on_index(const Scratch& scratch, const std::string& index, uint8_t choice, Random& random) {
  const std::string path = scratch.path(index);
  switch (choice % 9) {
    case 0:
      return random.one_in(2) ? Arguments{"verify", path, "--full", "--threads", "1"}
                              : Arguments{"verify", path, "--threads", "1"};
    case 1:
      return {"inspect", path};
    case 2:
      return {"inspect", path, "--html", scratch.path(kOutput)};
    case 3:
      return lookup(path, random);
    case 4:
      return decode(path, write_logits(scratch, index, random), random);
    case 8:
      return sample(path, write_logits(scratch, index, random), random);
    default:
      return {"convert", path, "--output-dir", scratch.path(kOutput), "--dense-levels", random.one_in(2) ? "1" : "2"};
  }
}

Arguments on_catalogue(const Scratch& scratch, const std::string& file, uint8_t form, uint8_t choice, Random& random) {
  const std::string path = scratch.path(file);
  const auto as = static_cast<Form>(form % kForms);
  if (as == Form::kLogits) {
    const std::string index = scratch.path("fixed.sidx");
    return choice % 2 == 0 ? decode(index, path, random) : sample(index, path, random);
  }
  if (as == Form::kIds) {
    Arguments arguments = {"build", "--input",  scratch.path("fixed.npy"), "--ids",
                           path,    "--output", scratch.path(kOutput)};
    add_import(arguments, Form::kNpy, random);
    return arguments;
  }
  Arguments arguments = choice % 4 == 0 ? Arguments{"plan", "--input", path}
                                        : Arguments{"build", "--input", path, "--output", scratch.path(kOutput)};
  add_import(arguments, as, random);
  if (choice % 4 != 0 && random.one_in(4))
    add(arguments, {"--metadata", "key=\x1b]0;value\x07", "--codebook", "line\nsidbeam: forged"});
  return arguments;
}

Arguments any_arguments(const Scratch& scratch, const std::string& file, Random& random) {
  const std::string commands[] = {"build",  "synth",   "plan",   "inspect",   "verify", "lookup", "decode",
                                  "sample", "convert", "--help", "--version", "bu",     ""};
  const std::string options[] = {"--items",
                                 "--levels",
                                 "--codes",
                                 "--kinds",
                                 "--seed",
                                 "--skew",
                                 "--metadata",
                                 "--help",
                                 "--format",
                                 "--output",
                                 "--input",
                                 "--beams",
                                 "--json",
                                 "--ids",
                                 "--top-k",
                                 "--prefix",
                                 "--end-column",
                                 "--offsets",
                                 "--sid",
                                 "--item",
                                 "--collisions",
                                 "--draws",
                                 "--disc",
                                 "--rows",
                                 "--top-p",
                                 "--temperature",
                                 "--without-replacement",
                                 "-x",
                                 "--",
                                 "--codebook",
                                 "--memory-limit",
                                 "--output-dir"};
  const std::string values[] = {"",
                                "0",
                                "-1",
                                "1",
                                "3",
                                "007",
                                "2147483648",
                                "9223372036854775808",
                                "1,2",
                                "1,,2",
                                "trie,hash",
                                "nonsense",
                                "zipf",
                                "k=v",
                                "=",
                                "\x1b[31m",
                                "8",
                                "1e3",
                                "65K",
                                "\xff",
                                "raw",
                                scratch.path(file),
                                scratch.path(kOutput)};
  if (random.one_in(3))
    return {"synth",
            "--items",
            std::to_string(1 + random.skewed(10)),
            "--levels",
            std::to_string(1 + random.below(5)),
            "--codes",
            std::to_string(1 + random.skewed(10)),
            "--skew",
            random.one_in(2) ? "zipf" : "uniform",
            "--output",
            scratch.path(kOutput)};
  if (random.one_in(3))
    return {"plan",
            "--items",
            std::to_string(1 + random.skewed(41)),
            "--levels",
            std::to_string(1 + random.below(64)),
            "--codes",
            random.one_in(2) ? "2048" : some_codes(random)};
  Arguments arguments = {random.pick(commands)};
  if (random.one_in(2)) arguments.push_back(random.one_in(2) ? "" : scratch.path(file));
  for (uint64_t i = random.below(6); i > 0; --i) {
    arguments.push_back(random.pick(options));
    if (!random.one_in(4)) arguments.push_back(random.pick(values));
  }
  return arguments;
}

}  // namespace fuzz
