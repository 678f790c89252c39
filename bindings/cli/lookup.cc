// sidbeam lookup: what an index says of a prefix, a SID or an item.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>

#include "abi.h"
#include "commands.h"
#include "items.h"
#include "json.h"
#include "options.h"
#include "sid_walk.h"

namespace cli {
namespace {

struct Options {
  std::string index, prefix, sid, item;
  bool by_prefix = false, by_sid = false, json = false;
};

struct Opened {
  Index index;
  sidbeam_index_info info;
};

// Codes of an option, each below the codes of its level.
std::vector<int32_t> parse_codes_of(const std::string& option, const std::string& text,
                                    const sidbeam_index_info& info) {
  const std::vector<int64_t> given = parse_list(option, text);
  if (given.size() > static_cast<size_t>(info.levels)) {
    throw Failure(option + ": " + std::to_string(given.size()) + " codes, expected at most " +
                  std::to_string(info.levels));
  }
  std::vector<int32_t> codes;
  for (size_t level = 0; level < given.size(); ++level) {
    if (given[level] < 0 || given[level] >= info.codes[level]) {
      throw Failure(option + ": code " + std::to_string(given[level]) + " at level " + std::to_string(level) +
                    ", expected 0.." + std::to_string(info.codes[level] - 1));
    }
    codes.push_back(static_cast<int32_t>(given[level]));
  }
  return codes;
}

struct Continuations {
  std::vector<int32_t> codes;
  bool end;  // the prefix is itself a SID
};

Continuations continuations(const std::string& path, const Opened& opened, const std::vector<int32_t>& prefix,
                            int64_t sids) {
  const int32_t length = static_cast<int32_t>(prefix.size());
  if (length == opened.info.levels) return {{}, sids > 0};
  int64_t count = 0;
  int32_t end = 0;
  std::vector<int32_t> codes(static_cast<size_t>(opened.info.codes[length]));
  call(sidbeam_index_children, opened.index.get(), prefix.data(), length, static_cast<int64_t>(codes.size()),
       codes.data(), &count, &end);
  if (count > static_cast<int64_t>(codes.size())) {
    throw Failure("'" + path + "': " + std::to_string(count) + " codes follow a prefix of " + std::to_string(length) +
                  ", expected at most " + std::to_string(codes.size()) + ": the index is damaged");
  }
  codes.resize(static_cast<size_t>(count));
  return {codes, end != 0};
}

struct Counts {
  int64_t sids = 0, items = 0;
};

// SIDs and items below a prefix.
Counts count_below(const Opened& opened, const std::vector<int32_t>& prefix) {
  const sidbeam_index* index = opened.index.get();
  Counts counts;
  if (opened.info.version > 0) {  // what came and went is no range: a pass over all SIDs
    each_live_sid(index, [&](int64_t ordinal, std::span<const int64_t> rows) {
      if (rows.empty()) return;
      const std::vector<int32_t> sid = sid_of(index, opened.info.levels, ordinal);
      if (sid.size() < prefix.size() || !std::equal(prefix.begin(), prefix.end(), sid.begin())) return;
      ++counts.sids;
      counts.items += std::ssize(rows);
    });
    return counts;
  }
  int64_t lo = 0, hi = 0, first = 0, last = 0, unused = 0;
  call(sidbeam_index_ordinals, index, prefix.data(), static_cast<int32_t>(prefix.size()), &lo, &hi);
  if (lo >= hi) return counts;
  call(sidbeam_index_item_rows, index, lo, &first, &unused);
  call(sidbeam_index_item_rows, index, hi - 1, &unused, &last);
  return {hi - lo, last - first};
}

void lookup_prefix(const Options& o, const Opened& opened) {
  const std::vector<int32_t> prefix = parse_codes_of("--prefix", o.prefix, opened.info);
  const Counts below = count_below(opened, prefix);
  const Continuations next = continuations(o.index, opened, prefix, below.sids);
  if (o.json) {
    return print_json(Json{
        {"prefix", prefix}, {"next", next.codes}, {"end", next.end}, {"sids", below.sids}, {"items", below.items}});
  }
  print(Table{2,
              {{"prefix", prefix.empty() ? "(empty)" : join(prefix)},
               {"SIDs", with_commas(below.sids)},
               {"items", with_commas(below.items)},
               {"is a SID", next.end ? "yes" : "no"},
               {"next codes", next.codes.empty() ? "none" : join(next.codes)}}}
            .text());
}

void lookup_sid(const Options& o, const Opened& opened) {
  const std::vector<int32_t> sid = parse_codes_of("--sid", o.sid, opened.info);
  const size_t least = opened.info.variable_length != 0 ? 1 : static_cast<size_t>(opened.info.levels);
  if (sid.size() < least) {
    throw Failure("--sid: " + std::to_string(sid.size()) + " codes, expected " +
                  (opened.info.variable_length != 0 ? "at least 1" : std::to_string(opened.info.levels)));
  }
  int64_t ordinal = -1;
  call(sidbeam_index_find_sid, opened.index.get(), sid.data(), static_cast<int32_t>(sid.size()), &ordinal);
  const std::vector<std::string> items =
      items_of(opened.index.get(), nullptr, opened.info.id_type, {ordinal}, false)[0];
  if (o.json) {
    return print_json(Json{{"sid", sid},
                           {"found", ordinal >= 0},
                           {"ordinal", ordinal >= 0 ? Json(ordinal) : Json(nullptr)},
                           {"items", items}});
  }
  if (ordinal < 0) return print_line("no SID " + join(sid));
  Table table{2, {{"SID", join(sid)}, {"ordinal", with_commas(ordinal)}}};
  for (const std::string& item : items) table.rows.push_back({table.rows.size() == 2 ? "items" : "", item});
  print(table.text());
}

void lookup_item(const Options& o, const Opened& opened) {
  const sidbeam_index* index = opened.index.get();
  std::vector<Json> sids;
  Table table{2, {{"SID", "ordinal"}}};
  for (int64_t row = -1; (row = find_item(index, opened.info.id_type, o.item, row + 1)) >= 0;) {
    int64_t ordinal = 0;
    call(sidbeam_index_item_ordinal, index, row, &ordinal);
    const std::vector<int32_t> sid = sid_of(index, opened.info.levels, ordinal);
    sids.push_back({{"sid", sid}, {"ordinal", ordinal}});
    table.rows.push_back({join(sid), with_commas(ordinal)});
  }
  if (o.json) return print_json(Json{{"item", o.item}, {"sids", sids}});
  if (sids.empty()) return print_line("no item " + o.item);
  print(table.text());
}

void run(const Options& o) {
  Opened opened{open_index(o.index), {}};
  opened.info = index_info(opened.index.get());
  if (o.by_prefix) return lookup_prefix(o, opened);
  if (o.by_sid) return lookup_sid(o, opened);
  lookup_item(o, opened);
}

}  // namespace

void add_lookup(Command program) {
  const auto o = std::make_shared<Options>();
  const Command command = program.add_subcommand("lookup", "Show what an index holds under a prefix, a SID or an item");
  add_index(command, o->index);
  constexpr const char* kQuestions = "exactly one of";
  const Option prefix =
      command
          .add_option("--prefix", o->prefix, "codes 1,2: what may follow, how many SIDs and items; \"\" for the root")
          .under(kQuestions);
  const Option sid = command.add_option("--sid", o->sid, "codes 1,2,3: its ordinal and items").under(kQuestions);
  const Option item = command.add_option("--item", o->item, "an id: its SIDs").under(kQuestions);
  add_json(command, o->json);
  command.footer(
      "Examples:\n"
      "  sidbeam lookup office.sidx --prefix 60,159\n"
      "  sidbeam lookup office.sidx --item 17 --json");
  command.callback([o, prefix, sid, item] {
    const int given = int{prefix.given()} + int{sid.given()} + int{item.given()};
    if (given != 1)
      throw UsageError("expected exactly one of --prefix, --sid and --item, " + std::to_string(given) + " were given");
    o->by_prefix = prefix.given();
    o->by_sid = sid.given();
    run(*o);
  });
}

}  // namespace cli
