// The page that inspect --html writes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "inspect.h"
#include "options.h"
#include "terminal.h"

namespace cli {
namespace {

constexpr int kWidth = 720;  // of a picture, in its own units

constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>
:root { --ink: #1c2430; --soft: #5d6878; --line: #d9dee6; --paper: #ffffff; --bar: #2f6fb5; --mark: #c2571a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaf0; --soft: #9aa5b5; --line: #333c49; --paper: #14181e; --bar: #6aa5e0; --mark: #f0955c; }
}
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 48rem;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere;
}
.number { text-align: right; font-variant-numeric: tabular-nums; } th { color: var(--soft); font-weight: normal; }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
.bar { fill: var(--bar); } .mark { fill: var(--mark); } p { color: var(--soft); }
</style>
)";

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// One bar of a chart: a label, a length, what to print at its end, and perhaps a second value marked on the same axis.
struct Bar {
  std::string label;
  double value;
  std::string text;
  double mark = -1;
};

// Horizontal bars, one below the other. With `logarithmic` a length is the logarithm of 1 + value.
std::string bar_chart(const char* title, const std::vector<Bar>& bars, bool logarithmic) {
  constexpr int kRow = 24, kLabel = 170, kText = 190;
  const auto scaled = [logarithmic](double value) { return logarithmic ? std::log10(1 + value) : value; };
  double most = 1e-9;
  for (const Bar& bar : bars) most = std::max({most, scaled(bar.value), scaled(std::max(bar.mark, 0.0))});
  const double unit = (kWidth - kLabel - kText) / most;
  std::string svg = "<svg role=\"img\" aria-label=\"" + std::string(title) + "\" viewBox=\"0 0 " +
                    std::to_string(kWidth) + " " + std::to_string(kRow * bars.size() + 4) + "\">\n";
  for (size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const std::string y = std::to_string(kRow * i + 4), middle = std::to_string(kRow * i + 18);
    const double length = std::max(1.0, unit * scaled(bar.value)), end = std::max(length, unit * scaled(bar.mark));
    svg += "<text x=\"0\" y=\"" + middle + "\">" + escape(bar.label) + "</text><rect class=\"bar\" x=\"" +
           std::to_string(kLabel) + "\" y=\"" + y + "\" width=\"" + fixed(length, 1) + "\" height=\"18\"/>";
    if (bar.mark >= 0) {
      svg += "<rect class=\"mark\" x=\"" + fixed(kLabel + unit * scaled(bar.mark) - 2, 1) + "\" y=\"" + y +
             "\" width=\"4\" height=\"18\"/>";
    }
    svg += "<text x=\"" + fixed(kLabel + end + 8, 1) + "\" y=\"" + middle + "\">" + escape(bar.text) + "</text>\n";
  }
  return svg + "</svg>\n";
}

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
  if (!x.codebook.empty()) rows.emplace_back("codebook", x.codebook);
  for (const auto& [key, value] : x.metadata) rows.emplace_back("metadata " + key, value);
  for (const InspectedAttribute& a : x.attributes)
    rows.emplace_back(std::string("attribute ") + a.info.name + " (" + a.type() + ")", a.values());
  std::string html = "<h2>Header</h2>\n<table>\n";
  for (const auto& [name, value] : rows) {
    html += "<tr><th scope=\"row\">" + escape(name) + "</th><td>" + escape(value) + "</td></tr>\n";
  }
  return html + "</table>\n";
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
  const std::string title = escape(x.path.substr(x.path.rfind('/') + 1));
  return std::string(kHead) + "<title>" + title + "</title>\n</head>\n<body>\n<h1>" + title + "</h1>\n" +
         header_section(x) + bytes_section(x) + levels_section(x) + collisions_section(x) + "</body>\n</html>\n";
}

}  // namespace cli
