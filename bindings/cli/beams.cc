// SPDX-License-Identifier: Apache-2.0
#include "beams.h"

#include "search_input.h"

namespace cli {

void find_items(const sidbeam_index* index, const sidbeam_constraint* constraint, int32_t id_type, bool distinct,
                const Cap& cap, Found& found) {
  std::vector<int64_t> ordinals;
  for (const Beam& beam : found.beams) ordinals.push_back(beam.ordinal);
  bool came_short = false;
  std::vector<std::vector<std::string>> items =
      items_of(index, constraint, id_type, ordinals, distinct, cap, &came_short);
  for (size_t m = 0; m < found.beams.size(); ++m) found.beams[m].items = std::move(items[m]);
  if (cap.most > 0) found.came_short = came_short;
}

Allowed allowed_of(const sidbeam_constraint* constraint) {
  sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
  call(sidbeam_constraint_get_info, constraint, &info);
  return {info.allowed_items, info.unknown_excluded, info.unknown_allowed};
}

Json found_json(const Found& found) {
  std::vector<Json> beams;
  for (const Beam& beam : found.beams) {
    beams.push_back(
        {{"sid", beam.sid}, {"ordinal", beam.ordinal}, {"score", printable(beam.score)}, {"items", beam.items}});
  }
  Json json{{"live", found.beams.size()}, {"error", found.bad_row ? Json("bad_row") : Json(nullptr)}, {"beams", beams}};
  if (found.speculation) {
    json.add("rounds", found.speculation->rounds);
    json.add("target_calls", found.speculation->rounds);  // a round is one
    json.add("accepted_levels", found.speculation->accepted_levels);
  }
  if (found.allowed) {
    json.add("allowed_items", found.allowed->items);
    json.add("unknown_excluded", found.allowed->unknown_excluded);
    json.add("unknown_allowed", found.allowed->unknown_allowed);
  }
  if (found.came_short) json.add("came_short", *found.came_short);
  return json;
}

namespace {

std::string speculation_text(const Speculation& speculation) {
  return ", rounds " + std::to_string(speculation.rounds) + ", accepted levels " +
         std::to_string(speculation.accepted_levels);
}

std::string allowed_text(const Allowed& allowed) {
  std::string text = ", " + with_commas(allowed.items) + " items allowed";
  for (const auto& [option, count] :
       {std::pair{"--exclude", allowed.unknown_excluded}, {"--allow", allowed.unknown_allowed}})
    if (count > 0) text += ", " + with_commas(count) + " of " + option + " unknown";
  return text;
}

}  // namespace

std::string found_table(const Found& found) {
  Table table{0, {{"rank", "score", "ordinal", "SID", "items"}}};
  for (const Beam& beam : found.beams) {
    std::string items;
    for (const std::string& item : beam.items) items += (items.empty() ? "" : " ") + item;
    table.rows.push_back({std::to_string(table.rows.size()), fixed(beam.score, 4),
                          beam.ordinal < 0 ? "none" : with_commas(beam.ordinal), join(beam.sid), items});
  }
  return "request " + std::to_string(found.number) + ": " + std::to_string(found.beams.size()) + " live" +
         (found.bad_row ? ", error bad_row" : "") + (found.came_short.value_or(false) ? ", came short" : "") +
         (found.speculation ? speculation_text(*found.speculation) : "") +
         (found.allowed ? allowed_text(*found.allowed) : "") + "\n" + (found.beams.empty() ? "" : table.text());
}

std::string document(const std::vector<std::string>& requests, bool json) {
  std::string all;
  for (const std::string& request : requests) all += (all.empty() ? "" : json ? "," : "\n") + request;
  return json ? "{\"requests\":[" + all + "]}\n" : all;
}

}  // namespace cli
