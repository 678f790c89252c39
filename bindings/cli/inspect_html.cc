// The page that inspect --html writes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "html.h"
#include "inspect.h"
#include "options.h"
#include "terminal.h"

namespace cli {
namespace {

std::string header_section(const Inspection& x) {
  std::string kinds;
  for (const std::string& kind : kind_names(x.info.kinds)) kinds += (kinds.empty() ? "" : ", ") + kind;
  std::vector<std::pair<std::string, std::string>> rows{
      {"format version", x.format_version()},
      {"verified", x.verified()},
      {"fingerprint", x.info.fingerprint},
      {"SIDs", with_commas(x.info.sids)},
      {"items", with_commas(x.info.items) + " (" + x.id_type() + " ids)"},
      {"levels", std::to_string(x.info.levels)},
      {"codes per level", join(std::vector<int32_t>(x.info.codes, x.info.codes + x.info.levels))},
      {"codes per SID", std::to_string(x.info.shortest) + " to " + std::to_string(x.info.longest)},
      {"kinds", kinds},
      {"file bytes", with_commas(x.info.file_bytes)},
      {"bytes per item", fixed(x.bytes_per_item(), 2)},
      {"merged pairs", with_commas(x.info.merged_pairs)}};
  if (x.priorities) rows.emplace_back("priorities", x.priorities->values());
  if (!x.codebook.empty()) rows.emplace_back("codebook", x.codebook);
  for (const auto& [key, value] : x.metadata) rows.emplace_back("metadata " + key, value);
  for (const InspectedAttribute& a : x.attributes)
    rows.emplace_back(std::string("attribute ") + a.info.name + " (" + a.type() + ")", a.values());
  return "<h2>Header</h2>\n" + facts(rows);
}

std::string bytes_section(const Inspection& x) {
  std::vector<std::string> order;
  std::map<std::string, int64_t> sums;
  std::string table =
      "<table>\n<tr><th>section</th><th>level</th><th>encoding</th><th class=\"number\">bytes</th></tr>\n";
  for (const sidbeam_section_info& s : x.sections) {
    if (sums.find(s.kind) == sums.end()) order.emplace_back(s.kind);
    sums[s.kind] += s.bytes;
    table += std::string("<tr><td>") + s.kind + "</td><td>" + (s.level < 0 ? "" : std::to_string(s.level)) +
             "</td><td>" + s.encoding + "</td><td class=\"number\">" + with_commas(s.bytes) + "</td></tr>\n";
  }
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) { return sums[a] > sums[b]; });
  std::vector<Bar> bars;
  for (const std::string& kind : order) {
    const double bytes = static_cast<double>(sums[kind]), total = static_cast<double>(x.info.file_bytes);
    bars.push_back({kind, bytes, with_commas(sums[kind]) + " (" + fixed(100 * bytes / total, 1) + "%)"});
  }
  return "<h2>Sections by bytes</h2>\n" + bar_chart("Bytes of each kind of section", bars, false) + table +
         "</table>\n";
}

std::string levels_section(const Inspection& x) {
  std::vector<Bar> nodes, children;
  for (size_t l = 0; l < x.levels(); ++l) {
    const std::string level = "level " + std::to_string(l + 1);
    nodes.push_back({level, static_cast<double>(x.info.nodes[l]), with_commas(x.info.nodes[l])});
    children.push_back({"from level " + std::to_string(l), x.mean_children[l],
                        "mean " + fixed(x.mean_children[l], 2) + ", most " + with_commas(x.info.max_children[l]),
                        static_cast<double>(x.info.max_children[l])});
  }
  return "<h2>Nodes per level</h2>\n<p>Distinct prefixes of so many codes.</p>\n" +
         bar_chart("Nodes of each level", nodes, false) +
         "<h2>Branching per level</h2>\n<p>Codes that may follow a prefix: the mean (bar) and the most (mark; it "
         "counts the end, where lengths vary), on a logarithmic axis.</p>\n" +
         bar_chart("Mean and largest branching of each level", children, true);
}

// Up to eight items one by one, then ranges that double.
std::string collisions_section(const Inspection& x) {
  std::map<int64_t, int64_t> buckets;  // by their first number of items
  for (const auto& [items, sids] : x.items_per_sid) {
    int64_t first = items;
    for (int64_t power = 8; items > 8 && power < items; power *= 2) first = power + 1;
    buckets[first] += sids;
  }
  std::vector<Bar> bars;
  for (const auto& [first, sids] : buckets) {
    const std::string last = first > 8 ? " to " + with_commas((first - 1) * 2) : "";
    const std::string label = with_commas(first) + last + (first == 1 ? " item" : " items");
    bars.push_back({label, static_cast<double>(sids), with_commas(sids) + (sids == 1 ? " SID" : " SIDs")});
  }
  return "<h2>Collisions</h2>\n<p>" + with_commas(x.info.collisions) + " SIDs have more than one item, at most " +
         with_commas(x.info.max_items_per_sid) + ". SIDs by their number of items, on a logarithmic axis:</p>\n" +
         bar_chart("SIDs by their number of items", bars, true);
}

}  // namespace

std::string inspection_page(const Inspection& x) {
  return page(x.path.substr(x.path.rfind('/') + 1),
              header_section(x) + bytes_section(x) + levels_section(x) + collisions_section(x));
}

}  // namespace cli
