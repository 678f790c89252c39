// sidbeam decode: beam search over logits from a file, where one row per level serves every beam.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <numeric>

#include "abi.h"
#include "commands.h"
#include "items.h"
#include "json.h"
#include "npy.h"
#include "options.h"

namespace cli {
namespace {

struct Options {
  std::string index, logits, strategy = "trie", normalize = "full", offsets;
  int32_t beams = 0, top_k = 0;
  int64_t end_column = -1;
  double inverse_temperature = 1.0, soft_cap = 0.0;
  bool json = false;
};

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

// Checks what the library would refuse, or not notice, in terms of the options. A float may round a positive value to
// 0.
void check_usage(const Options& o) {
  const auto above_0 = [](double number) { return static_cast<float>(number) > 0 && std::isfinite(number); };
  if (!above_0(o.inverse_temperature)) throw UsageError("--inverse-temperature: expected a number above 0");
  if (o.soft_cap != 0 && !above_0(o.soft_cap)) throw UsageError("--soft-cap: expected a number above 0, or 0 for none");
  const bool hash_final = o.strategy == "hash_final";
  if (o.normalize == "valid" && (hash_final || o.strategy == "none")) {
    throw UsageError("--normalize: valid does not go with --strategy " + o.strategy + ", expected full, level or none");
  }
  if (o.top_k > 0 && !hash_final && o.strategy != "sorted_topk") {
    throw UsageError("--top-k: goes with --strategy sorted_topk or hash_final, not " + o.strategy);
  }
}

// [requests, levels, columns] in a file.
struct Logits {
  NpyArray array;
  int32_t dtype;
  int64_t requests, columns;
};

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

std::vector<int64_t> parse_offsets(const Options& o, const sidbeam_index_info& info) {
  std::vector<int64_t> offsets = parse_list("--offsets", o.offsets);
  if (offsets.empty()) offsets.assign(static_cast<size_t>(info.levels), 0);
  if (offsets.size() != static_cast<size_t>(info.levels)) {
    throw Failure("--offsets: " + std::to_string(offsets.size()) + " numbers, expected " + std::to_string(info.levels) +
                  ", one per level");
  }
  return offsets;
}

// Every code of every level, and the end, must have a column. The library checks this too, but cannot name the options.
void check_columns(const Options& o, const sidbeam_index_info& info, const std::vector<int64_t>& offsets,
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

struct Beam {
  std::vector<int32_t> sid;
  int64_t ordinal;
  float score;
  std::vector<std::string> items;
};

struct Request {
  int64_t number;
  bool bad_row;
  std::vector<Beam> beams;
};

// A session and the loop over the levels, for as many requests at a time as it has slots.
class Decoder {
 public:
  Decoder(const Options& o, const sidbeam_index* index, const sidbeam_index_info& info, const Logits& logits,
          const std::vector<int64_t>& offsets)
      : o_(o), index_(index), info_(info), logits_(logits) {
    // Room for the selection grows with slots x beams; more slots than this gain nothing.
    slots_ = std::max<int64_t>(1, std::min<int64_t>({64, logits.requests, 16384 / o.beams}));
    rows_.resize(static_cast<size_t>(slots_ * logits.columns * logits.array.item_bytes));
    sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
    vocabulary.levels = info.levels;
    vocabulary.offsets = offsets.data();
    vocabulary.end_column = o.end_column;
    const Runtime runtime = make_runtime(1);
    sidbeam_constraint* constraint = nullptr;
    sidbeam_constraint_config whole = SIDBEAM_CONSTRAINT_CONFIG_INIT;
    whole.index = const_cast<sidbeam_index*>(index);
    call(sidbeam_constraint_create, &whole, &constraint);
    const Constraint owner(constraint);
    sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
    config.slots = static_cast<int32_t>(slots_);
    config.beams = o.beams;
    config.strategy = value_of(kStrategies, o.strategy);
    config.normalization = value_of(kNormalizations, o.normalize);
    config.top_k = o.top_k;
    config.constraint = constraint;
    config.vocabulary = &vocabulary;
    sidbeam_session* session = nullptr;
    create_session(runtime.get(), config, &session);
    session_.reset(session);
    slot_numbers_.resize(static_cast<size_t>(slots_));
    std::iota(slot_numbers_.begin(), slot_numbers_.end(), 0);
  }

  int64_t slots() const { return slots_; }

  // Requests [first, first + count), count <= slots.
  std::vector<Request> decode(int64_t first, int64_t count) {
    call(sidbeam_session_stop, session_.get(), nullptr, slots_, nullptr);
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    start.slots = slot_numbers_.data();
    start.count = count;
    call(sidbeam_session_start, session_.get(), &start);
    for (int64_t level = 0; any_active(); ++level) {
      read_rows(first, count, level);
      step();
    }
    return collect(first, count);
  }

 private:
  // If the strategy cannot use the index, the library's message names neither the file nor the option.
  void create_session(sidbeam_runtime* runtime, const sidbeam_session_config& config, sidbeam_session** session) const {
    try {
      call(sidbeam_session_create, runtime, &config, session);
    } catch (const LibraryFailure& failure) {
      if (failure.status != SIDBEAM_MISSING_SECTION) throw;
      const int32_t kind = kind_of(config.strategy);
      std::string kinds;
      for (const std::string& name : kind_names(info_.kinds | kind)) kinds += (kinds.empty() ? "" : ",") + name;
      throw Failure("--strategy: '" + o_.index + "' was built without " + kind_names(kind)[0] +
                    ": build it with --kinds " + kinds);
    }
  }

  bool any_active() const {
    sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
    call(sidbeam_session_get_beams, session_.get(), &beams);
    return std::any_of(beams.active, beams.active + slots_, [](int32_t active) { return active > 0; });
  }

  // One logits row per slot. The step does not read those of idle slots, which have no request.
  void read_rows(int64_t first, int64_t count, int64_t level) {
    const int64_t columns = logits_.columns, row_bytes = columns * logits_.array.item_bytes;
    for (int64_t slot = 0; slot < count; ++slot) {
      const int64_t row = (first + slot) * info_.levels + level;
      logits_.array.read(row * columns, columns, rows_.data() + slot * row_bytes);
    }
  }

  void step() {
    sidbeam_rows rows = SIDBEAM_ROWS_INIT;
    rows.dtype = logits_.dtype;
    rows.data = rows_.data();
    rows.slots = slots_;
    rows.rows = o_.beams;
    rows.columns = logits_.columns;
    rows.slot_stride = logits_.columns;
    rows.row_stride = SIDBEAM_BROADCAST;  // one logits row for all beams
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    args.rows = &rows;
    args.inverse_temperature = static_cast<float>(o_.inverse_temperature);
    args.soft_cap = static_cast<float>(o_.soft_cap);
    call(sidbeam_session_step, session_.get(), &args);
  }

  std::vector<Request> collect(int64_t first, int64_t count) {
    const size_t width = static_cast<size_t>(o_.beams), levels = static_cast<size_t>(info_.levels);
    const size_t total = static_cast<size_t>(count) * width;
    std::vector<int64_t> ordinals(total);
    std::vector<int32_t> sids(total * levels), lengths(total);
    sidbeam_items items = SIDBEAM_ITEMS_INIT;
    items.ordinals = ordinals.data();
    items.sids = sids.data();
    items.lengths = lengths.data();
    call(sidbeam_session_get_items, session_.get(), slot_numbers_.data(), count, &items);
    sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
    call(sidbeam_session_get_beams, session_.get(), &beams);
    std::vector<Request> requests;
    for (int64_t slot = 0; slot < count; ++slot) {
      Request request{first + slot, beams.errors[slot] != 0, {}};
      for (int32_t m = 0; m < beams.live[slot]; ++m) {
        const size_t at = static_cast<size_t>(slot) * width + static_cast<size_t>(m);
        const auto sid = sids.begin() + static_cast<std::ptrdiff_t>(at * levels);
        request.beams.push_back(
            {{sid, sid + lengths[at]}, ordinals[at], beams.scores[at], items_of(index_, info_.id_type, ordinals[at])});
      }
      requests.push_back(std::move(request));
    }
    return requests;
  }

  const Options& o_;
  const sidbeam_index* index_;
  const sidbeam_index_info& info_;
  const Logits& logits_;
  std::vector<int32_t> slot_numbers_;  // 0 .. slots_-1
  int64_t slots_;
  std::vector<char> rows_;  // [slots, columns] of the level
  Session session_;
};

std::string shortest(float score) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, score).ptr};
}

Json request_json(const Request& request) {
  Json beams = Json::array();
  for (const Beam& beam : request.beams) {
    // The double nearest to the shortest decimal of the float: it prints as that decimal, and reads back as the float.
    beams.push_back({{"sid", beam.sid},
                     {"ordinal", beam.ordinal},
                     {"score", std::stod(shortest(beam.score))},
                     {"items", beam.items}});
  }
  return Json{
      {"live", request.beams.size()}, {"error", request.bad_row ? Json("bad_row") : Json(nullptr)}, {"beams", beams}};
}

std::string request_table(const Request& request) {
  Table table{0, {{"rank", "score", "ordinal", "SID", "items"}}};
  for (const Beam& beam : request.beams) {
    std::string items;
    for (const std::string& item : beam.items) items += (items.empty() ? "" : " ") + item;
    table.rows.push_back({std::to_string(table.rows.size()), fixed(beam.score, 4),
                          beam.ordinal < 0 ? "none" : with_commas(beam.ordinal), join(beam.sid), items});
  }
  return "request " + std::to_string(request.number) + ": " + std::to_string(request.beams.size()) + " live" +
         (request.bad_row ? ", error bad_row" : "") + "\n" + (request.beams.empty() ? "" : table.text());
}

void run(const Options& o) {
  check_usage(o);
  const Index index = open_index(o.index);
  const sidbeam_index_info info = index_info(index.get());
  const InputFile file(o.logits);
  const Logits logits = open_logits(file, info.levels);
  const std::vector<int64_t> offsets = parse_offsets(o, info);
  check_columns(o, info, offsets, logits);
  Decoder decoder(o, index.get(), info, logits, offsets);
  std::string out;
  for (int64_t first = 0; first < logits.requests; first += decoder.slots()) {
    for (const Request& request : decoder.decode(first, std::min(decoder.slots(), logits.requests - first))) {
      if (request.number > 0) out += o.json ? "," : "\n";
      out += o.json ? dump(request_json(request)) : request_table(request);
    }
  }
  print(o.json ? "{\"requests\":[" + out + "]}\n" : out);
}

}  // namespace

void add_decode(Command program) {
  const auto o = std::make_shared<Options>();
  const Command command =
      program.add_subcommand("decode", "Beam search over logits from a file: only valid SIDs come out");
  add_index(command, o->index);
  command
      .add_option("--logits", o->logits, ".npy [L, V] or [B, L, V] of '<f4' or '<f2'; a level's row serves all beams")
      .type_name("FILE")
      .required();
  command.add_option("--beams", o->beams, "M, beams of a request").required().between(1, SIDBEAM_MAX_BEAMS);
  command.add_option("--strategy", o->strategy, "trie, sorted (exact), sorted_topk (approximate), hash_final, none")
      .one_of(names_of(kStrategies))
      .capture_default_str();
  command
      .add_option("--normalize", o->normalize,
                  "log-softmax over the full row, the level's codes, the valid codes, or none")
      .one_of(names_of(kNormalizations))
      .capture_default_str();
  command.add_option("--offsets", o->offsets, "o0,o1,..: code t of level l is column o_l + t; default: 0")
      .type_name("LIST");
  command.add_option("--end-column", o->end_column, "column that ends a SID, where lengths vary")
      .check([](const std::string& text) { return std::string(text[0] == '-' ? "expected 0 or more" : ""); });
  command.add_option("--top-k", o->top_k, "codes that sorted_topk and hash_final look up a beam; default: M")
      .between(1, SIDBEAM_MAX_CODES);
  command.add_option("--inverse-temperature", o->inverse_temperature, "logits are multiplied by it")
      .capture_default_str();
  command.add_option("--soft-cap", o->soft_cap, "c: logits become c * tanh(logit / c) first; 0: none")
      .capture_default_str();
  add_json(command, o->json);
  command.footer(
      "A row with NaN or +inf gives 'error bad_row' for its request; other requests go on.\n"
      "Example:\n"
      "  sidbeam decode office.sidx --logits logits.npy --beams 10 --json");
  command.callback([o] { run(*o); });
}

}  // namespace cli
