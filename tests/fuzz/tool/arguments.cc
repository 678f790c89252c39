// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <sidbeam/sidbeam.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "../draft_specimens.h"
#include "catalogues.h"
#include "command.h"
#include "drawing.h"
#include "live.h"

namespace fuzz {
namespace {

std::string some_codes(Random& random) {
  std::string text;
  for (uint64_t i = random.below(5); i > 0; --i) text += (text.empty() ? "" : ",") + std::to_string(random.skewed(5));
  return text;
}

// A row a level, as the index's levels and codes ask for, or nearly.
std::string write_logits(const Room& room, const std::string& index, Random& random) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  int32_t codes[SIDBEAM_MAX_LEVELS];
  int64_t levels = 3, columns = 8;
  if (sidbeam_index_peek(index.c_str(), SIDBEAM_MAX_LEVELS, codes, nullptr, nullptr, &info, nullptr) == SIDBEAM_OK) {
    levels = info.levels;
    columns = std::min(*std::max_element(codes, codes + info.levels), 512) + 1;
  }
  const auto requests = random.one_in(4) ? static_cast<int64_t>(random.below(4)) : 1;
  std::vector<float> rows(static_cast<size_t>(requests * levels * columns));
  for (float& x : rows) x = -static_cast<float>(random.below(32)) / 4;
  if (requests > 0 && random.one_in(4)) random.pick(rows) = std::numeric_limits<float>::quiet_NaN();
  if (requests > 0 && random.one_in(4)) random.pick(rows) = -std::numeric_limits<float>::infinity();
  std::string shape = std::to_string(levels) + ", " + std::to_string(columns) + ")";
  shape = requests != 1 ? "(" + std::to_string(requests) + ", " + shape : "(" + shape;
  return room.scratch.write("logits.npy", npy_bytes("<f4", shape, rows.data(), rows.size() * sizeof(float)));
}

// A head for the levels and codes of the index, if they are not too many.
std::string write_head(const Room& room, const std::string& index, int32_t hidden, Random& random) {
  constexpr int32_t kMostCodes = 512, kMostLevels = 8;
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  int32_t codes[kMostLevels];
  if (sidbeam_index_peek(index.c_str(), kMostLevels, codes, nullptr, nullptr, &info, nullptr) != SIDBEAM_OK ||
      *std::max_element(codes, codes + info.levels) > kMostCodes)
    return room.sound.head;
  const std::string path = room.scratch.path("index.sdraft");
  write_draft_head(path, {codes, codes + info.levels}, hidden, static_cast<int32_t>(random.below(kDraftKinds)));
  return path;
}

// Of one request, as many as the index has levels and one more.
std::string write_hidden_states(const Room& room, const std::string& index) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  const bool peeked = sidbeam_index_peek(index.c_str(), 0, nullptr, nullptr, nullptr, &info, nullptr) == SIDBEAM_OK;
  const int32_t levels = peeked ? info.levels : 3;
  std::vector<float> states(static_cast<size_t>((levels + 1) * kDraftHidden));
  for (size_t i = 0; i < states.size(); ++i) states[i] = static_cast<float>(i % 5) / 4;
  const std::string shape = "(" + std::to_string(levels + 1) + ", " + std::to_string(kDraftHidden) + ")";
  return room.scratch.write("hidden.npy", npy_bytes("<f4", shape, states.data(), states.size() * sizeof(float)));
}

// What a search over an index may be asked beside.
void add_widths(Arguments& arguments, Random& random) {
  if (random.one_in(3)) add(arguments, {"--widths", random.one_in(4) ? some_codes(random) : "1,2,2"});
}

void add_distinct(Arguments& arguments, Random& random) {
  if (random.one_in(4)) add(arguments, {"--distinct"});
}

// Ids of specimens, strangers and worse: a list for all requests, or one for each of some.
std::string write_items(const Room& room, const std::string& name, Random& random) {
  const bool per_request = random.one_in(3), names = random.one_in(2);
  std::string text;
  for (uint64_t lists = per_request && random.one_in(4) ? random.below(4) : 1; lists > 0; --lists) {
    std::string list;
    for (uint64_t i = random.below(6); i > 0; --i) {
      const std::string row = std::to_string(random.below(16)), damage[] = {"\xff", std::string("1\0", 2), "[", "1.5"};
      const std::string item = random.one_in(64) ? random.pick(damage) : names ? "item " + row : row;
      if (per_request) list += (list.empty() ? "" : ",") + (item == row ? item : '"' + item + '"');
      if (!per_request) list += item + "\n";
    }
    text += per_request ? (random.one_in(6) ? "null\n" : "[" + list + "]\n") : list;
  }
  return room.scratch.write(per_request ? name + ".jsonl" : name, {text.begin(), text.end()});
}

void add_rules(const Room& room, Arguments& arguments, Random& random) {
  const std::string texts[] = {"true", "false", "not false", "true and not (false or false)", "price<20", "a <"};
  if (random.one_in(3)) add(arguments, {"--exclude", write_items(room, "excluded", random)});
  if (random.one_in(3)) add(arguments, {"--allow", write_items(room, "allowed", random)});
  if (random.one_in(3)) add(arguments, {"--where", random.pick(texts)});
}

void add_cap(Arguments& arguments, Random& random) {
  const std::string attributes[] = {"price", "region", "tags", "score", "colour"};
  if (random.one_in(4)) add(arguments, {"--cap", std::to_string(random.below(4)), "--cap-by", random.pick(attributes)});
}

Arguments decode(const Room& room, const std::string& index, const std::string& logits, Random& random) {
  const std::string strategies[] = {"trie", "sorted", "sorted_topk", "hash_final", "none"};
  const std::string normalizations[] = {"full", "level", "valid", "none"};
  const std::string strategy = random.pick(strategies);
  Arguments arguments = {"decode",      index,
                         "--logits",    logits,
                         "--beams",     std::to_string(1 + random.skewed(5)),
                         "--strategy",  strategy,
                         "--normalize", random.pick(normalizations)};
  if (random.one_in(2)) add(arguments, {"--end-column", std::to_string(random.below(9))});
  if (random.one_in(8)) add(arguments, {"--top-k", std::to_string(1 + random.below(8))});
  if (random.one_in(8)) add(arguments, {"--offsets", some_codes(random)});
  if (random.one_in(8)) add(arguments, {"--soft-cap", "3.5", "--inverse-temperature", "0.5"});
  if (strategy == "trie" || random.one_in(16)) add_rules(room, arguments, random);
  add_widths(arguments, random);
  add_distinct(arguments, random);
  add_cap(arguments, random);
  return arguments;
}

Arguments sample(const std::string& index, const std::string& logits, Random& random) {
  const std::string strategies[] = {"trie", "sorted", "sorted_topk"};
  const bool without_replacement = random.one_in(3);  // DISC looks a thousand times for each that there is not
  Arguments arguments = {"sample",      index,
                         "--logits",    logits,
                         "--draws",     std::to_string(1 + random.skewed(without_replacement ? 3 : 6)),
                         "--seed",      std::to_string(static_cast<int64_t>(random.next())),
                         "--strategy",  random.pick(strategies),
                         "--normalize", random.one_in(2) ? "full" : "level"};
  if (random.one_in(2)) add(arguments, {"--end-column", std::to_string(random.below(9))});
  if (random.one_in(3)) add(arguments, {"--top-k", std::to_string(1 + random.below(8))});
  if (random.one_in(3)) add(arguments, {"--top-p", random.one_in(4) ? "1.5" : "0.7"});
  if (random.one_in(3)) add(arguments, {"--disc", std::to_string(1 + random.below(4))});
  if (without_replacement) add(arguments, {"--without-replacement"});
  if (random.one_in(2)) add(arguments, {"--rows", std::to_string(1 + random.below(40))});
  if (random.one_in(4)) add(arguments, {"--temperature", random.one_in(4) ? "0" : "0.5"});
  if (random.one_in(8)) add(arguments, {"--offsets", some_codes(random)});
  if (random.one_in(8)) add(arguments, {"--soft-cap", "3.5"});
  add_distinct(arguments, random);
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

// How a head's SIDs are found, as draft and run call it.
void add_verification(Arguments& arguments, Random& random) {
  const std::string verifications[] = {"trie", "hash", "none"};
  if (random.one_in(2)) add(arguments, {"--verify", random.pick(verifications)});
  if (random.one_in(4)) add(arguments, {"--top-k", std::to_string(1 + random.below(4))});
  if (random.one_in(4)) add(arguments, {"--normalize", random.one_in(2) ? "full" : "valid"});
}

Arguments draft(const std::string& head, const std::string& index, const std::string& hidden, Random& random) {
  const uint64_t beams = 1 + (random.one_in(8) ? random.below(300) : random.skewed(4));
  Arguments arguments = {"draft", head, index, "--hidden", hidden, "--beams", std::to_string(beams)};
  add_verification(arguments, random);
  add_widths(arguments, random);
  add_distinct(arguments, random);
  return arguments;
}

void add_prompt(Arguments& arguments, Random& random) {
  const std::string tokens[] = {"1,5,3", "11", "0,1,2,3,4,5", "1,-1,2", "12"};
  // Ids of specimens: the number of the row, or a name with it.
  const std::string row = std::to_string(random.below(12)),
                    items[] = {"0", "0,1", row, "item " + row, "item " + row + ",item 0", "3,item 1", "x"};
  if (random.one_in(2))
    add(arguments, {"--tokens", random.pick(tokens)});
  else
    add(arguments, {"--history", random.pick(items)});
}

void add_speculation(const Room& room, Arguments& arguments, Random& random) {
  add(arguments, {"--draft", room.sound.model, "--draft-beams", std::to_string(1 + random.below(12))});
  if (random.one_in(2)) add(arguments, {"--speculate", "relaxed", "--seed", std::to_string(random.below(4))});
}

// `what`: what is asked of the model, how codes are its tokens, and perhaps a head.
Arguments run(const Room& room, const std::string& index, const Arguments& what, Random& random) {
  Arguments arguments = {"run", room.sound.model, index, "--beams", std::to_string(1 + random.skewed(3))};
  arguments.insert(arguments.end(), what.begin(), what.end());
  add(arguments, {"--threads", random.one_in(8) ? "2" : "1"});
  if (random.one_in(2)) return arguments;  // what is refused for its options runs nothing
  if (random.one_in(2)) add(arguments, {"--end-column", std::to_string(4 + random.below(9))});
  if (random.one_in(4)) add(arguments, {"--group", std::to_string(1 + random.below(4))});
  if (random.one_in(8)) add(arguments, {"--begin-tokens", random.one_in(2) ? "1" : "11,2"});
  if (random.one_in(8)) add(arguments, {"--start-tokens", random.one_in(2) ? "2,-1" : "12"});
  add_widths(arguments, random);
  add_distinct(arguments, random);
  if (random.one_in(2)) add_rules(room, arguments, random);
  add_cap(arguments, random);
  const std::string weights[] = {"f32", "f16", "bf16", "int8"};
  if (random.one_in(4)) add(arguments, {"--weights", random.pick(weights)});
  const bool has_head = std::find(what.begin(), what.end(), "--head") != what.end();
  if (has_head) {
    add_verification(arguments, random);
  } else if (random.one_in(2)) {
    add_speculation(room, arguments, random);
  } else if (random.one_in(2)) {
    add(arguments, {"--normalize", random.one_in(2) ? "level" : "valid"});
  }
  return arguments;
}

}  // namespace

const char* format_of(Form form) {
  static constexpr const char* kFormats[kForms] = {"lcrec", "jsonl", "csv",  "npy",  "raw",     "xllm", "auto",
                                                   "auto",  "auto",  "auto", "auto", "records", "npz",  "auto"};
  return kFormats[static_cast<size_t>(form)];
}

void add_reading(Arguments& arguments, Form form, Random& random) {
  const std::string patterns[] = {"<a_*> <b_*> <c_*>", "<s{level}_*>", "<a_*> <b_*>", "*", "C*", "<a_*", "\\*_*", ""};
  const std::string quotes[] = {"auto", "rfc4180", "text"};
  const bool text = form == Form::kLcrec || form == Form::kRecords || form == Form::kJsonl || form == Form::kCsv;
  if (text && random.one_in(3)) add(arguments, {"--token-pattern", random.pick(patterns)});
  if (random.one_in(text ? 6 : 32)) {
    add(arguments, {"--token-base", random.one_in(2) ? "1000" : some_codes(random)});
    if (!random.one_in(4)) add(arguments, {"--codes", random.one_in(2) ? "256" : "9000"});
  } else if (random.one_in(4)) {
    add(arguments, {"--codes", random.one_in(2) ? "256" : some_codes(random)});
  }
  if (random.one_in(form == Form::kCsv ? 2 : 32)) add(arguments, {"--quotes", random.pick(quotes)});
}

namespace {

void add_loss(Arguments& arguments, Random& random) {
  if (random.one_in(3)) add(arguments, {"--allow-attribute-loss"});
}

// What building and planning share, and what building alone has.
void add_import(Arguments& arguments, Form form, Random& random) {
  const std::string formats[] = {"lcrec", "records", "jsonl", "csv", "npy", "npz", "raw", "xllm", "auto"};
  const std::string kinds[] = {"trie", "compact", "sorted", "hash", "trie,sorted,hash", "compact,hash"};
  // Half of them as the file needs it, since what is refused for its options reaches no reader.
  if (random.one_in(2)) {
    if (form == Form::kRaw || form == Form::kXllm || random.one_in(2)) add(arguments, {"--format", format_of(form)});
    if (form == Form::kRaw) add(arguments, {"--levels", "3"});
    if (random.one_in(2)) add(arguments, {"--variable-length"});
    return add(arguments, {"--threads", "1"});
  }
  if (!random.one_in(4)) add(arguments, {"--format", random.one_in(8) ? random.pick(formats) : format_of(form)});
  add_reading(arguments, form, random);
  if (form == Form::kRaw || random.one_in(4)) add(arguments, {"--levels", std::to_string(1 + random.below(4))});
  if (random.one_in(3)) add(arguments, {"--variable-length"});
  if (random.one_in(2)) add(arguments, {"--kinds", random.pick(kinds)});
  if (form == Form::kCsv && random.one_in(2)) add(arguments, {"--sid-columns", random.one_in(2) ? "c0,c1,c2" : "sid"});
  if (random.one_in(8)) add(arguments, {"--priority-column", "priority"});
  if (random.one_in(8)) add(arguments, {"--item-column", "item"});
  if (random.one_in(8)) add(arguments, {"--attributes", random.one_in(2) ? "price" : "price,region:string"});
  if (random.one_in(4)) add(arguments, {"--keep-priorities"});
  if (random.one_in(4)) add(arguments, {"--collisions", random.one_in(2) ? "error" : "first"});
  if (random.one_in(8)) add(arguments, {"--memory-limit", random.one_in(2) ? "64K" : "1G"});
  add(arguments, {"--threads", random.one_in(8) ? "2" : "1"});
  if (arguments[0] != "build") return;
  if (random.one_in(8)) add(arguments, {"--hash-seed", std::to_string(random.below(3))});
  add_loss(arguments, random);
}

Arguments synth(const Room& room, Random& random) {
  Arguments arguments = {"synth",
                         "--items",
                         std::to_string(1 + random.skewed(10)),
                         "--levels",
                         std::to_string(1 + random.below(5)),
                         "--codes",
                         std::to_string(1 + random.skewed(10)),
                         "--skew",
                         random.one_in(2) ? "zipf" : "uniform",
                         "--output",
                         room.scratch.path(kOutput)};
  if (random.one_in(2)) add(arguments, {"--seed", std::to_string(random.next() >> random.below(64))});
  add_loss(arguments, random);
  return arguments;
}

Arguments estimate(Random& random) {
  return {"plan",
          "--items",
          std::to_string(1 + random.skewed(41)),
          "--levels",
          std::to_string(1 + random.below(SIDBEAM_MAX_LEVELS + 1)),
          "--codes",
          random.one_in(2) ? "2048" : some_codes(random)};
}

}  // namespace

Arguments on_index(const Room& room, const std::string& name, uint8_t choice, Random& random) {
  const std::string index = room.scratch.path(name), out = room.scratch.path(kOutput);
  switch (choice % kIndexCommands) {
    case 0:
      return random.one_in(2) ? Arguments{"verify", index, "--full", "--threads", "1"}
                              : Arguments{"verify", index, "--threads", "1"};
    case 1:
      return {"inspect", index};
    case 2: {
      Arguments what = {"inspect", index, "--html", out};
      add_loss(what, random);
      return what;
    }
    case 3:
      return lookup(index, random);
    case 4:
      return decode(room, index, write_logits(room, index, random), random);
    case 5:
      return sample(index, write_logits(room, index, random), random);
    case 6:
      return draft(write_head(room, index, kDraftHidden, random), index, write_hidden_states(room, index), random);
    case 7: {
      Arguments what;
      add_prompt(what, random);
      if (random.one_in(4))
        add(what, {"--head", write_head(room, index, Sound::kModelHidden, random), "--placeholders", "9,10,11"});
      if (random.one_in(3)) add(what, {"--offsets", random.one_in(2) ? "0,4,8" : some_codes(random)});
      return run(room, index, what, random);
    }
    case 8:
      return create_live(room, index, random);
    case 9: {
      const std::string other = some_index(room, random);
      Arguments what = random.one_in(2) ? Arguments{"diff", index, other} : Arguments{"diff", other, index};
      if (random.one_in(2)) add(what, {"--list", "3"});
      return what;
    }
    default: {
      Arguments what = {"convert", index, "--output-dir", out, "--dense-levels", random.one_in(2) ? "1" : "2"};
      add_loss(what, random);
      return what;
    }
  }
}

Arguments on_draft_head(const Room& room, const std::string& name, uint8_t choice, Random& random) {
  const std::string head = room.scratch.path(name);
  if (choice % 4 != 0) return draft(head, room.sound.index_of_head, room.sound.hidden, random);
  Arguments what = {"--head", head, "--placeholders", "9,10,11"};  // refused, unless a change made it fit
  add_prompt(what, random);
  return run(room, room.sound.index, what, random);
}

Arguments on_catalogue(const Room& room, const std::string& file, uint8_t form, uint8_t choice, Random& random) {
  const std::string path = room.scratch.path(file), out = room.scratch.path(kOutput);
  const auto as = static_cast<Form>(form % kForms);
  Arguments what;
  switch (as) {
    case Form::kLogits:
      return choice % 2 == 0 ? decode(room, some_index(room, random), path, random)
                             : sample(some_index(room, random), path, random);
    case Form::kHidden:
      return draft(room.sound.head, room.sound.index_of_head, path, random);
    case Form::kPrompts:
      what = {"--input", path};
      if (choice % 4 == 0) add(what, {"--head", room.sound.head_of_model, "--placeholders", "9,10,11"});
      return run(room, some_index(room, random), what, random);
    case Form::kMap:
      what = {"--map", path};
      add_prompt(what, random);
      return run(room, room.sound.index, what, random);
    case Form::kOperations:
      return operate_live(room, random);
    case Form::kIds:
      if (choice % 4 == 3) return remove_from_live(room, path, random);
      what = {choice % 4 == 0 ? "plan" : "build", "--input", room.sound.rows, "--ids", path};
      if (choice % 4 != 0) add(what, {"--output", out});
      add_import(what, Form::kNpy, random);
      return what;
    default:
      break;
  }
  if (choice % 8 == 6) return add_to_live(room, path, as, random);
  if (choice % 8 == 5) return any_live(room, random);  // this one, and the next two, read no file
  if (choice % 16 == 15) return estimate(random);
  if (choice % 8 == 7) return synth(room, random);
  what = choice % 4 == 0 ? Arguments{"plan", "--input", path} : Arguments{"build", "--input", path, "--output", out};
  if (choice % 8 == 2) what = create_live_of(room, path);
  add_import(what, as, random);
  if (choice % 4 != 0 && random.one_in(4))
    add(what, {"--metadata", "key=\x1b]0;value\x07", "--codebook", "line\nsidbeam: forged"});
  return what;
}

Arguments any_arguments(const Room& room, const std::string& file, Random& random) {
  const std::string others[] = {"--help", "--version", "bu", ""};
  const std::string values[] = {"",
                                "0",
                                "-1",
                                "1",
                                "3",
                                "007",
                                "2147483648",
                                "1,2",
                                "1,,2",
                                "k=v",
                                "=",
                                "8",
                                "trie,hash",
                                "9223372036854775808",
                                "65K",
                                "nonsense",
                                "zipf",
                                "1e3",
                                "<a_*> <b_*>",
                                "<s{level}_*>",
                                "rfc4180",
                                "text",
                                "raw",
                                "\xff",
                                "\x1b[31m",
                                "level",
                                "\u202ecod",
                                "a\u2028b",
                                room.scratch.path(file),
                                room.scratch.path(kOutput)};
  if (random.one_in(6)) return estimate(random);
  const std::string& command = random.one_in(8) ? random.pick(others) : random.pick(command_names());
  Arguments arguments = words_of_command(command);
  if (!random.one_in(4)) arguments.push_back(random.one_in(2) ? "" : room.scratch.path(file));
  for (uint64_t i = random.below(6); i > 0; --i) {
    arguments.push_back(random.pick(option_names(random.one_in(2) ? random.pick(command_names()) : command)));
    if (!random.one_in(4)) arguments.push_back(random.pick(values));
  }
  return arguments;
}

}  // namespace fuzz
