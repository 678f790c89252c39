// SPDX-License-Identifier: Apache-2.0
#include "search_input.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "commands.h"
#include "options.h"

namespace cli {
namespace {

struct Name {
  const char* name;
  int32_t value;
};
constexpr Name kStrategies[] = {{"trie", SIDBEAM_STRATEGY_TRIE},
                                {"sorted", SIDBEAM_STRATEGY_SORTED},
                                {"sorted_topk", SIDBEAM_STRATEGY_SORTED_TOPK},
                                {"hash_final", SIDBEAM_STRATEGY_HASH_FINAL},
                                {"none", SIDBEAM_STRATEGY_NONE}};
constexpr Name kNormalizations[] = {{"full", SIDBEAM_NORMALIZE_FULL},
                                    {"level", SIDBEAM_NORMALIZE_LEVEL},
                                    {"valid", SIDBEAM_NORMALIZE_VALID},
                                    {"none", SIDBEAM_NORMALIZE_NONE}};

template <size_t count>
std::vector<std::string> names_of(const Name (&names)[count]) {
  std::vector<std::string> all;
  for (const Name& each : names) all.emplace_back(each.name);
  return all;
}

template <size_t count>
int32_t value_of(const Name (&names)[count], const std::string& name) {
  return std::find_if(names, names + count, [&](const Name& each) { return name == each.name; })->value;
}

int32_t kind_of(int32_t strategy) {
  if (strategy == SIDBEAM_STRATEGY_HASH_FINAL) return SIDBEAM_KIND_HASH;
  return strategy == SIDBEAM_STRATEGY_TRIE ? SIDBEAM_KIND_TRIE : SIDBEAM_KIND_SORTED;
}

Logits open_logits(const InputFile& file, int32_t levels) {
  const NpyArray array = read_npy(file);
  if (array.dtype != "<f4" && array.dtype != "<f2") {
    throw Failure("'" + array.path + "': dtype '" + array.dtype + "', expected '<f4' or '<f2'");
  }
  const size_t rank = array.shape.size();
  if ((rank != 2 && rank != 3) || array.shape[rank - 2] != levels || array.shape[rank - 1] == 0) {
    const std::string l = std::to_string(levels);
    throw Failure("'" + array.path + "': shape " + array.shape_text() + ", expected (" + l + ", V) or (B, " + l +
                  ", V), as the index has " + l + " levels");
  }
  return {array, array.dtype == "<f4" ? SIDBEAM_DTYPE_F32 : SIDBEAM_DTYPE_F16, rank == 3 ? array.shape[0] : 1,
          array.shape[rank - 1]};
}

// Every code of every level, and the end, must have a column. The library checks this too, but cannot name the options.
void check_columns(const SearchOptions& o, const sidbeam_index_info& info, const std::vector<int64_t>& offsets,
                   const Logits& logits) {
  const std::string have = ", but the rows of '" + o.logits + "' have " + std::to_string(logits.columns);
  for (int32_t l = 0; l < info.levels; ++l) {
    const int64_t first = offsets[static_cast<size_t>(l)];
    if (first < 0 || first > logits.columns - info.codes[l]) {
      const std::string first_text = std::to_string(first);
      throw Failure("--offsets: level " + std::to_string(l) + " begins at column " + first_text + " and has " +
                    std::to_string(info.codes[l]) + " codes" + have + " columns");
    }
  }
  if (info.variable_length != 0 && o.end_column < 0) {
    throw Failure("--end-column: expected, since the SIDs of '" + o.index + "' have different lengths");
  }
  if (o.end_column >= logits.columns) {
    throw Failure("--end-column: " + std::to_string(o.end_column) + have + " columns");
  }
}

// If the strategy cannot use the index, the library's message names neither the file nor the option.
void create_session(const SearchInput& input, sidbeam_runtime* runtime, const sidbeam_session_config& config,
                    sidbeam_session** session) {
  try {
    call(sidbeam_session_create, runtime, &config, session);
  } catch (const LibraryFailure& failure) {
    if (failure.status != SIDBEAM_MISSING_SECTION) throw;
    const int32_t kind = kind_of(config.strategy);
    std::string kinds;
    for (const std::string& name : kind_names(input.info.kinds | kind)) kinds += (kinds.empty() ? "" : ",") + name;
    throw Failure("--strategy: '" + input.o.index + "' was built without " + kind_names(kind)[0] +
                  ": build it with --kinds " + kinds);
  }
}

}  // namespace

void add_search_options(Command command, SearchOptions& o, const std::vector<std::string>& strategies,
                        const std::vector<std::string>& normalizations) {
  add_index(command, o.index);
  command.add_option("--logits", o.logits, ".npy [L, V] or [B, L, V] of '<f4' or '<f2'; a level's row serves all beams")
      .type_name("FILE")
      .required();
  command.add_option("--strategy", o.strategy, "how valid codes are found; sorted_topk and hash_final are approximate")
      .one_of(strategies)
      .capture_default_str();
  command
      .add_option("--normalize", o.normalize,
                  "log-softmax over the full row, the level's codes, the valid codes, or none")
      .one_of(normalizations)
      .capture_default_str();
  command.add_option("--offsets", o.offsets, "o0,o1,..: code t of level l is column o_l + t; default: 0")
      .type_name("LIST");
  command.add_option("--end-column", o.end_column, "column that ends a SID, where lengths vary")
      .check([](const std::string& text) { return std::string(text[0] == '-' ? "expected 0 or more" : ""); });
  command.add_option("--soft-cap", o.soft_cap, "c: logits become c * tanh(logit / c) first; 0: none")
      .capture_default_str();
  add_distinct(command, o.distinct);
  add_json(command, o.json);
}

bool is_above_0(double number) { return static_cast<float>(number) > 0 && std::isfinite(number); }

void check_soft_cap(const SearchOptions& o) {
  if (o.soft_cap != 0 && !is_above_0(o.soft_cap))
    throw UsageError("--soft-cap: expected a number above 0, or 0 for none");
}

SearchInput::SearchInput(const SearchOptions& options)
    : o(options),
      index(open_index(o.index)),
      info(index_info(index.get())),
      file(o.logits),
      logits(open_logits(file, info.levels)),
      offsets(parse_offsets(o.offsets, info)) {
  check_columns(o, info, offsets, logits);
}

Session SearchInput::make_session(sidbeam_session_config config) const {
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = info.levels;
  vocabulary.offsets = offsets.data();
  vocabulary.end_column = o.end_column;
  const Runtime runtime = make_runtime(1);
  sidbeam_constraint* constraint = nullptr;
  sidbeam_constraint_config whole = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  whole.index = index.get();
  call(sidbeam_constraint_create, &whole, &constraint);
  const Constraint owner(constraint);
  config.strategy = value_of(kStrategies, o.strategy);
  config.normalization = normalization_of(o.normalize);
  config.constraint = constraint;
  config.vocabulary = &vocabulary;
  sidbeam_session* session = nullptr;
  create_session(*this, runtime.get(), config, &session);
  return Session(session);
}

void SearchInput::read_rows(int64_t first, int64_t count, int64_t level, char* rows) const {
  const int64_t columns = logits.columns, row_bytes = columns * logits.array.item_bytes;
  for (int64_t i = 0; i < count; ++i)
    logits.array.read(((first + i) * info.levels + level) * columns, columns, rows + i * row_bytes);
}

void SearchInput::step(sidbeam_session* session, const char* data, int64_t slots, int64_t beams,
                       float inverse_temperature) const {
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;
  rows.dtype = logits.dtype;
  rows.data = data;
  rows.slots = slots;
  rows.rows = beams;
  rows.columns = logits.columns;
  rows.slot_stride = logits.columns;
  rows.row_stride = SIDBEAM_BROADCAST;  // one logits row for all beams
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  args.inverse_temperature = inverse_temperature;
  args.soft_cap = static_cast<float>(o.soft_cap);
  call(sidbeam_session_step, session, &args);
}

std::vector<int64_t> parse_offsets(const std::string& text, const sidbeam_index_info& info) {
  std::vector<int64_t> offsets = parse_list("--offsets", text);
  if (offsets.empty()) offsets.assign(static_cast<size_t>(info.levels), 0);
  if (offsets.size() != static_cast<size_t>(info.levels)) {
    throw Failure("--offsets: " + std::to_string(offsets.size()) + " numbers, expected " + std::to_string(info.levels) +
                  ", one per level");
  }
  return offsets;
}

void add_widths(Command command, std::string& widths) {
  command
      .add_option("--widths", widths,
                  "w0,w1,..: most beams that each level keeps, the last one's of those after it; default: M")
      .type_name("LIST");
}

std::vector<int32_t> parse_widths(const std::string& text, int32_t beams, int32_t levels) {
  std::vector<int32_t> widths = parse_list("--widths", text, 1, beams);
  if (widths.size() > static_cast<size_t>(levels)) {
    throw Failure("--widths: " + std::to_string(widths.size()) + " numbers, expected at most " +
                  std::to_string(levels) + ", one per level");
  }
  return widths;
}

void add_distinct(Command command, bool& distinct) {
  command.add_flag("--distinct", distinct, "list an item with several SIDs once, with the best of them");
}

void add_cap(Command command, Cap& cap) {
  const Option most =
      command.add_option("--cap", cap.most, "list at most so many items per value of --cap-by, best first")
          .between(1, std::numeric_limits<int64_t>::max());
  const Option by =
      command.add_option("--cap-by", cap.attribute, "attribute of the index, say brand").type_name("NAME");
  most.needs(by);
  by.needs(most);
}

int32_t normalization_of(const std::string& name) { return value_of(kNormalizations, name); }

bool any_active(const sidbeam_session* session) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  call(sidbeam_session_get_beams, session, &beams);
  return std::any_of(beams.active, beams.active + beams.slots, [](int32_t active) { return active > 0; });
}

std::string shortest(float number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

double printable(float number) { return std::stod(shortest(number)); }

}  // namespace cli
