// What inspect shows of a live catalogue's folder.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "html.h"
#include "inspect.h"
#include "live.h"

namespace cli {
namespace {

struct FileInfo {
  std::string name;
  int64_t bytes;
};

// Those of the bases and logs, and what lies beside them. One that goes meanwhile is left out.
std::vector<FileInfo> files_of(const std::string& folder) {
  std::vector<FileInfo> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const auto bytes = entry.file_size(failed);
    if (!failed) files.push_back({entry.path().filename().string(), static_cast<int64_t>(bytes)});
  }
  std::sort(files.begin(), files.end(), [](const FileInfo& a, const FileInfo& b) { return a.name < b.name; });
  return files;
}

struct GenerationInfo {
  int64_t number, oldest_version, newest_version;
};

// `versions` are the newest first.
std::vector<GenerationInfo> generations_of(const std::vector<sidbeam_version_info>& versions) {
  std::vector<GenerationInfo> generations;
  for (const sidbeam_version_info& each : versions) {
    const auto same = [&](const GenerationInfo& known) { return known.number == each.generation; };
    const auto known = std::find_if(generations.begin(), generations.end(), same);
    if (known == generations.end()) {
      generations.push_back({each.generation, each.version, each.version});
    } else {
      known->oldest_version = each.version;
    }
  }
  return generations;
}

Table files_table(const LiveInspection& x) {
  Table table{1, {{"file", "bytes"}}};
  for (const FileInfo& file : files_of(x.folder)) table.rows.push_back({file.name, with_commas(file.bytes)});
  return table;
}

Table generations_table(const LiveInspection& x) {
  Table table{0, {{"generation", "oldest version", "newest version"}}};
  for (const GenerationInfo& each : generations_of(x.versions)) {
    table.rows.push_back(
        {std::to_string(each.number), std::to_string(each.oldest_version), std::to_string(each.newest_version)});
  }
  return table;
}

std::vector<std::pair<std::string, std::string>> facts_of(const LiveInspection& x) {
  const sidbeam_catalog_info& info = x.info;
  return {{"version", std::to_string(info.version)},
          {"generation", std::to_string(info.generation)},
          {"published", time_text(info.published_ns)},
          {"items", with_commas(info.items)},
          {"SIDs", with_commas(info.sids) + ", those without items too"},
          {"items of the base", with_commas(info.base_items)},
          {"added since", with_commas(info.added)},
          {"removed since", with_commas(info.removed)},
          {"compaction", info.compact_soon != 0 ? "due: sidbeam catalog compact" : "not due"},
          {"versions", std::to_string(info.oldest_version) + " .. " + std::to_string(info.version)}};
}

std::string html_table(const Table& table) {
  std::string html = "<table>\n";
  const char* cell = "th";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (const std::string& text : row) {
      const bool number = !text.empty() && text.find_first_not_of("0123456789,") == text.npos;
      html += std::string("<") + cell + (number ? " class=\"number\">" : ">") + escape(text) + "</" + cell + ">";
    }
    html += "</tr>\n";
    cell = "td";
  }
  return html + "</table>\n";
}

}  // namespace

LiveInspection inspect_catalog(const std::string& folder) {
  const Catalog catalog = follow_catalog(folder);
  return {folder, catalog_info(catalog.get()), kept_versions(catalog.get())};
}

Json catalog_json(const LiveInspection& x) {
  const sidbeam_catalog_info& info = x.info;
  std::vector<Json> generations, versions, files;
  for (const GenerationInfo& each : generations_of(x.versions))
    generations.push_back({{"generation", each.number},
                           {"oldest_version", each.oldest_version},
                           {"newest_version", each.newest_version}});
  for (const sidbeam_version_info& each : x.versions) versions.push_back(version_json(each));
  for (const FileInfo& file : files_of(x.folder)) files.push_back({{"name", file.name}, {"bytes", file.bytes}});
  return Json{{"folder", x.folder},
              {"version", info.version},
              {"generation", info.generation},
              {"published", time_text(info.published_ns)},
              {"published_ns", info.published_ns},
              {"items", info.items},
              {"sids", info.sids},
              {"base_items", info.base_items},
              {"added", info.added},
              {"removed", info.removed},
              {"compact_soon", info.compact_soon != 0},
              {"oldest_version", info.oldest_version},
              {"memory_bytes", info.memory_bytes},
              {"generations", generations},
              {"versions", versions},
              {"files", files}};
}

std::string catalog_text(const LiveInspection& x) {
  Table table{2, {}};
  for (const auto& [name, value] : facts_of(x)) table.rows.push_back({name, value});
  return table.text() + "\n" + generations_table(x).text() + "\n" + versions_table(x.versions).text() + "\n" +
         files_table(x).text();
}

std::string catalog_page(const LiveInspection& x) {
  std::vector<Bar> bars;
  for (const FileInfo& file : files_of(x.folder))
    bars.push_back({file.name, static_cast<double>(file.bytes), with_commas(file.bytes)});
  const std::string name = std::filesystem::path(x.folder).lexically_normal().filename().string();
  return page(name.empty() ? x.folder : name, "<h2>Catalogue</h2>\n" + facts(facts_of(x)) + "<h2>Versions</h2>\n" +
                                                  html_table(versions_table(x.versions)) + "<h2>Generations</h2>\n" +
                                                  html_table(generations_table(x)) + "<h2>Files</h2>\n" +
                                                  bar_chart("Bytes of each file, on a logarithmic axis", bars, true));
}

}  // namespace cli
