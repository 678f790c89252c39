// sidbeam inspect: what is in an index file.
// SPDX-License-Identifier: Apache-2.0
#include "inspect.h"

#include <support/output_file.h>

#include <algorithm>
#include <map>
#include <memory>

#include "commands.h"
#include "files.h"
#include "json.h"
#include "live.h"
#include "options.h"

namespace cli {

const char* Inspection::id_type() const {
  return info.id_type == SIDBEAM_ID_STRING ? "string" : info.id_type == SIDBEAM_ID_U64 ? "u64" : "i64";
}

const char* Inspection::verified() const {
  return info.verified == SIDBEAM_VERIFY_FULL        ? "full"
         : info.verified == SIDBEAM_VERIFY_CHECKSUMS ? "checksums"
                                                     : "header";
}

namespace {

struct Options {
  std::string index, html;
  bool allow_attribute_loss = false, json = false;
};

std::vector<std::pair<int64_t, int64_t>> count_items_per_sid(const sidbeam_index* index,
                                                             const sidbeam_index_info& info) {
  if (info.collisions == 0) return {{1, info.sids}};
  std::map<int64_t, int64_t> counts;
  for (int64_t ordinal = 0; ordinal < info.sids; ++ordinal) {
    int64_t lo = 0, hi = 0;
    call(sidbeam_index_item_rows, index, ordinal, &lo, &hi);
    ++counts[hi - lo];
  }
  return {counts.begin(), counts.end()};
}

std::optional<InspectedPriorities> inspect_priorities(const sidbeam_index* index, const sidbeam_index_info& info) {
  InspectedPriorities all{INT64_MAX, INT64_MIN};
  for (int64_t row = 0; row < info.items; ++row) {
    int64_t priority = 0;
    try {
      call(sidbeam_index_item_priority, index, row, &priority);
    } catch (const LibraryFailure& failure) {
      if (failure.status == SIDBEAM_MISSING_SECTION) return std::nullopt;
      throw;
    }
    all = {std::min(all.least, priority), std::max(all.greatest, priority)};
  }
  return all;
}

Inspection gather(const std::string& path) {
  Index opened = open_index(path);
  const sidbeam_index* const index = opened.get();
  Inspection result{std::move(opened), path, sidbeam_index_codebook(index), index_info(index), {}, {}, {}, {}, {}, {}};
  for (int64_t i = 0; i < result.info.section_count; ++i) {
    sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
    call(sidbeam_index_get_section, index, i, &section);
    result.sections.push_back(section);
  }
  for (int64_t i = 0; i < result.info.metadata_count; ++i) {
    const char *key = nullptr, *value = nullptr;
    call(sidbeam_index_get_metadata, index, i, &key, &value);
    result.metadata.emplace_back(key, value);
  }
  for (size_t level = 0; level < result.levels(); ++level) {
    const int64_t parents = level == 0 ? 1 : result.info.nodes[level - 1];
    result.mean_children.push_back(static_cast<double>(result.info.nodes[level]) / static_cast<double>(parents));
  }
  result.items_per_sid = count_items_per_sid(index, result.info);
  result.attributes = inspect_attributes(index, result.info);
  result.priorities = inspect_priorities(index, result.info);
  return result;
}

Json inspection_json(const Inspection& x) {
  const sidbeam_index_info& info = x.info;
  std::vector<Json> sections, items_per_sid, attributes;
  Json metadata;
  for (const sidbeam_section_info& s : x.sections) {
    sections.push_back({{"kind", s.kind},
                        {"level", s.level < 0 ? Json(nullptr) : Json(s.level)},
                        {"encoding", s.encoding},
                        {"bytes", s.bytes}});
  }
  for (const auto& [key, value] : x.metadata) metadata.add(key, value);
  for (const auto& [items, sids] : x.items_per_sid) items_per_sid.push_back({{"items", items}, {"sids", sids}});
  for (const InspectedAttribute& attribute : x.attributes) attributes.push_back(attribute.json());
  const Json priorities =
      x.priorities ? Json{{"least", x.priorities->least}, {"greatest", x.priorities->greatest}} : Json(nullptr);
  return Json{{"format_version", x.format_version()},
              {"verified", x.verified()},
              {"sids", info.sids},
              {"items", info.items},
              {"levels", info.levels},
              {"codes", std::vector<int32_t>(info.codes, info.codes + info.levels)},
              {"variable_length", info.variable_length != 0},
              {"shortest", info.shortest},
              {"longest", info.longest},
              {"id_type", x.id_type()},
              {"kinds", kind_names(info.kinds)},
              {"file_bytes", info.file_bytes},
              {"bytes_per_item", x.bytes_per_item()},
              {"merged_pairs", info.merged_pairs},
              {"collisions", info.collisions},
              {"max_items_per_sid", info.max_items_per_sid},
              {"items_per_sid", items_per_sid},
              {"nodes_per_level", std::vector<int64_t>(info.nodes, info.nodes + info.levels)},
              {"mean_children_per_level", x.mean_children},
              {"max_children_per_level", std::vector<int32_t>(info.max_children, info.max_children + info.levels)},
              {"fingerprint", info.fingerprint},
              {"codebook", x.codebook},
              {"metadata", metadata},
              {"attributes", attributes},
              {"attribute_digest", info.attribute_digest},
              {"priorities", priorities},
              {"sections", sections}};
}

std::string header_table(const Inspection& x) {
  const sidbeam_index_info& info = x.info;
  std::string kinds;
  for (const std::string& kind : kind_names(info.kinds)) kinds += (kinds.empty() ? "" : ",") + kind;
  Table table{2,
              {{"format", x.format_version()},
               {"verified", x.verified()},
               {"fingerprint", info.fingerprint},
               {"SIDs", with_commas(info.sids)},
               {"items", with_commas(info.items) + " (" + x.id_type() + " ids)"},
               {"codes per SID",
                std::to_string(info.shortest) + (info.variable_length != 0 ? ".." + std::to_string(info.longest) : "")},
               {"kinds", kinds},
               {"file", with_commas(info.file_bytes) + " bytes (" + fixed(x.bytes_per_item(), 1) + " an item)"},
               {"merged pairs", with_commas(info.merged_pairs)},
               {"collisions", with_commas(info.collisions) + " SIDs with more than one item, at most " +
                                  with_commas(info.max_items_per_sid)}}};
  if (x.priorities) table.rows.push_back({"priorities", x.priorities->values()});
  if (!x.codebook.empty()) table.rows.push_back({"codebook", x.codebook});
  for (const auto& [key, value] : x.metadata) table.rows.push_back({"metadata", key + "=" + value});
  return table.text();
}

std::string inspection_text(const Inspection& x) {
  Table levels{1,
               {{"level", "codes", "nodes below", "mean children",
                 x.info.variable_length != 0 ? "most, with the end" : "most children"}}};
  for (size_t l = 0; l < x.levels(); ++l) {
    levels.rows.push_back({std::to_string(l), with_commas(x.info.codes[l]), with_commas(x.info.nodes[l]),
                           fixed(x.mean_children[l], 2), with_commas(x.info.max_children[l])});
  }
  Table attributes{2, {{"attribute", "type", "nulls", "distinct", "values"}}};
  for (const InspectedAttribute& a : x.attributes) {
    attributes.rows.push_back({a.info.name, a.type(), with_commas(a.info.nulls),
                               a.info.distinct < 0 ? "" : with_commas(a.info.distinct), a.values()});
  }
  Table sections{2, {{"section", "encoding", "level", "bytes", "share"}}};
  for (const sidbeam_section_info& s : x.sections) {
    const double share = 100.0 * static_cast<double>(s.bytes) / static_cast<double>(x.info.file_bytes);
    sections.rows.push_back(
        {s.kind, s.encoding, s.level < 0 ? "" : std::to_string(s.level), with_commas(s.bytes), fixed(share, 1) + "%"});
  }
  return header_table(x) + "\n" + levels.text() + "\n" + (x.attributes.empty() ? "" : attributes.text() + "\n") +
         sections.text();
}

void write_page(const Options& o, const std::string& page) {
  sidbeam::OutputFile file(o.html.c_str(), o.allow_attribute_loss);
  file.write(page.data(), static_cast<int64_t>(page.size()));
  file.sync();
  file.commit();
}

void run_live(const Options& o, const LivePlace& place) {
  if (place.version > 0)
    throw UsageError("'" + o.index + "': the whole catalogue is shown, expected '" + place.folder + "' alone");
  const LiveInspection inspection = inspect_catalog(place.folder);
  if (!o.html.empty()) write_page(o, catalog_page(inspection));
  if (o.json) return print_json(catalog_json(inspection));
  print(catalog_text(inspection));
}

void run(const Options& o) {
  if (const auto place = live_place(o.index)) return run_live(o, *place);
  const Inspection inspection = gather(o.index);
  if (!o.html.empty()) {
    if (same_file(o.index, o.html)) throw UsageError("--html: '" + o.html + "' is the index file");
    write_page(o, inspection_page(inspection));
  }
  if (o.json) return print_json(inspection_json(inspection));
  print(inspection_text(inspection));
}

}  // namespace

void add_inspect(Command program) {
  const auto o = std::make_shared<Options>();
  const Command command =
      program.add_subcommand("inspect", "Show what is in an index file, or in the folder of a live catalogue");
  add_index(command, o->index);
  command.add_option("--html", o->html, "also write one self-contained page with pictures").type_name("FILE");
  add_attribute_loss(command, o->allow_attribute_loss);
  add_json(command, o->json);
  command.footer(
      "'nodes below' level l counts distinct prefixes of l+1 codes; children are what may follow a prefix of l codes.\n"
      "Example:\n"
      "  sidbeam inspect office.sidx --html office.html");
  command.callback([o] { run(*o); });
}

}  // namespace cli
