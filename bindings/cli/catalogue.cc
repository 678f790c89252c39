// From the import options to a builder that holds the catalogue, or to a live one.
// SPDX-License-Identifier: Apache-2.0
#include "catalogue.h"

#include <algorithm>
#include <set>

#include "interrupt.h"
#include "json_lines.h"
#include "live.h"
#include "options.h"

namespace cli {
namespace {

using Import = std::unique_ptr<sidbeam_import, Release<sidbeam_import_destroy>>;

}  // namespace

int32_t show_progress(void* context, int32_t phase, int64_t done, int64_t total) {
  constexpr const char* kPhases[] = {"sorting", "levels", "writing", "checksums", "syncing", "gathering", "storing"};
  const bool known = phase >= 0 && phase < static_cast<int32_t>(std::size(kPhases));
  const char* const name = phase == SIDBEAM_PHASE_SURVEY ? "scanning"
                           : phase == SIDBEAM_PHASE_READ ? "reading"
                           : known                       ? kPhases[phase]
                                                         : "building";
  if (total > 0) static_cast<Progress*>(context)->show(name, done, total);
  return interrupted() ? 1 : 0;
}

namespace {

// Wrong usage is reported before a file is read.
void check_usage(const BuildOptions& build) {
  builder_config(Shape{}, build);
  std::set<std::string> keys;
  for (const std::string& pair : build.metadata) {
    const size_t equals = pair.find('=');
    if (equals == pair.npos || equals == 0) throw UsageError("--metadata: '" + pair + "', expected key=value");
    if (!keys.insert(pair.substr(0, equals)).second)
      throw UsageError("--metadata: key '" + pair.substr(0, equals) + "' comes twice");
  }
}

void set_metadata(sidbeam_builder* builder, const std::vector<std::string>& metadata) {
  for (const std::string& pair : metadata) {
    const size_t equals = pair.find('=');
    call(sidbeam_builder_set_metadata, builder, pair.substr(0, equals).c_str(), pair.substr(equals + 1).c_str());
  }
}

}  // namespace

void add_import_options(Command command, ImportOptions& o) {
  command.add_option("--levels", o.levels, "codes of a SID (of the longest one); default: from the data")
      .between(1, SIDBEAM_MAX_LEVELS);
  command.add_option("--codes", o.codes, "V or V1,V2,..: codes of each level; default: 1 + the largest of the data")
      .type_name("LIST");
  command.add_flag("--variable-length", o.variable_length,
                   "SIDs of different lengths (npy and raw: -1 at the end of a row; csv columns: missing cells)");
  add_file_options(command, o);
}

void add_file_options(Command command, ImportOptions& o) {
  command.add_option("--format", o.format, "one of those below; auto goes by the content")
      .one_of({"auto", "lcrec", "records", "jsonl", "csv", "npy", "npz", "raw", "xllm"})
      .capture_default_str();
  command.add_option("--ids", o.ids, "ids of npy or raw rows: .npy of integers, or text, one id a line")
      .type_name("FILE");
  command.add_option("--item-column", o.item_column,
                     "column, field or array of the item id (csv without names: its number); default: a usual name");
  command.add_option("--sid-columns", o.sid_columns,
                     "the same of the SID, or A,B,C for a csv column per level; default: a usual name");
  command.add_option("--priority-column", o.priority_column, "the same of the item's priority");
  command
      .add_option("--token-pattern", o.token_pattern,
                  "families of the tokens where the file does not tell them: '<a_*> <b_*>', or '<s{level}_*>' for all")
      .type_name("PATTERN");
  command
      .add_option("--token-base", o.token_base,
                  "numbers are token ids, a range of --codes per level; the first id of level 0")
      .type_name("ID");
  command
      .add_option("--attributes", o.attributes,
                  "fields or csv columns to keep as attributes of the items, such as price,region:string; types: i64, "
                  "f32, bool, string, strings (lists; csv: separated by |); default: from the data")
      .type_name("LIST");
  command.add_option("--quotes", o.quotes, "csv: quotes of RFC 4180, or text; auto tells them apart")
      .one_of({"auto", "rfc4180", "text"})
      .capture_default_str();
}

void add_build_options(Command command, BuildOptions& o) {
  command
      .add_option("--kinds", o.kinds, "what the index holds, some of trie,compact (a trie in less space),sorted,hash")
      .capture_default_str();
  command.add_option("--collisions", o.collisions, "items that share a SID: keep all, error, or the first by priority")
      .one_of({"keep", "error", "first"})
      .capture_default_str();
  command.add_flag("--keep-priorities", o.keep_priorities,
                   "keep the priorities in the file, not only the order that they give to the items of a SID");
  command.add_option("--threads", o.threads, "0: one per core").between(0, 1024).capture_default_str();
  command.add_option("--memory-limit", o.memory_limit, "fail before a build that would need more, such as 16G");
}

void add_kept_options(Command command, BuildOptions& o) {
  command.add_option("--metadata", o.metadata, "key=value to keep in the file; may be repeated")
      .once_a_value()
      .type_name("KEY=VALUE");
  command.add_option("--codebook", o.codebook, "fingerprint of the codebook that made the SIDs, any text");
  command.add_option("--hash-seed", o.hash_seed,
                     "with hash, where strangers choose SIDs: a secret number for the set; the file holds it");
}

sidbeam_builder_config builder_config(const Shape& shape, const BuildOptions& build) {
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = shape.levels();
  config.codes = shape.codes.data();
  config.variable_length = shape.variable_length ? 1 : 0;
  config.kinds = parse_kinds(build.kinds);
  config.collisions = build.collisions == "keep"    ? SIDBEAM_COLLISIONS_KEEP
                      : build.collisions == "error" ? SIDBEAM_COLLISIONS_ERROR
                                                    : SIDBEAM_COLLISIONS_FIRST;
  config.threads = build.threads;
  config.hash_seed = static_cast<int64_t>(build.hash_seed);
  config.allow_attribute_loss = build.allow_attribute_loss ? 1 : 0;
  config.keep_priorities = build.keep_priorities ? 1 : 0;
  if (!build.memory_limit.empty()) config.memory_limit_bytes = parse_bytes("--memory-limit", build.memory_limit);
  return config;
}

namespace {

// Calls a function of the importers: what it says of its arguments is wrong usage.
template <class... Arguments>
void call_import(Arguments... arguments) {
  try {
    call_cancellable(arguments...);
  } catch (const LibraryFailure& failure) {
    if (failure.status == SIDBEAM_INVALID_ARGUMENT) throw UsageError(failure.what());
    throw;
  }
}

Import open_import(const ImportOptions& o, Progress& progress) {
  const std::vector<int32_t> codes = parse_codes(o.codes, o.levels, o.variable_length);
  sidbeam_import_config config = SIDBEAM_IMPORT_CONFIG_INIT;
  config.levels = o.levels;
  config.codes = codes.data();
  config.codes_count = static_cast<int32_t>(codes.size());
  config.variable_length = o.variable_length ? 1 : 0;
  config.text_ids = o.text_ids ? 1 : 0;
  config.format = o.format.c_str();
  config.ids = o.ids.c_str();
  config.item_column = o.item_column.c_str();
  config.sid_columns = o.sid_columns.c_str();
  config.priority_column = o.priority_column.c_str();
  config.token_pattern = o.token_pattern.c_str();
  config.attributes = o.attributes.c_str();
  if (!o.token_base.empty()) {
    const auto base = parse_integer<int64_t>(o.token_base);
    if (!base || *base < 0) throw UsageError("--token-base: '" + o.token_base + "', expected a token id");
    config.token_ids = 1;
    config.token_base = *base;
  }
  config.quotes = o.quotes == "auto"      ? SIDBEAM_QUOTES_AUTO
                  : o.quotes == "rfc4180" ? SIDBEAM_QUOTES_RFC4180
                                          : SIDBEAM_QUOTES_TEXT;
  config.progress = show_progress;
  config.progress_context = &progress;
  config.command_options = 1;
  sidbeam_import* import = nullptr;
  call_import(sidbeam_import_open, o.input.c_str(), &config, &import);
  return Import(import);
}

// What was seen of the file; the builder is yet to be made.
Catalogue seen_of(const sidbeam_import_info& info) {
  Catalogue catalogue;
  catalogue.shape = {{info.codes, info.codes + info.levels}, info.variable_length != 0};
  catalogue.format = info.format;
  catalogue.summary = info.summary;
  catalogue.begin_tokens = info.begin_tokens;
  catalogue.end_tokens = info.end_tokens;
  catalogue.families.assign(info.families, info.families + info.levels);
  catalogue.rows = info.rows;
  for (int64_t i = 0; i < info.attribute_count; ++i)
    catalogue.attributes.emplace_back(info.attribute_names[i], kAttributeTypes[info.attribute_types[i]]);
  return catalogue;
}

}  // namespace

Json seen_json(const Catalogue& catalogue) {
  Json attributes;
  for (const auto& [name, type] : catalogue.attributes) attributes.add(name, type);
  return Json{{"summary", catalogue.summary},
              {"families", catalogue.families},
              {"begin_tokens", catalogue.begin_tokens},
              {"end_tokens", catalogue.end_tokens},
              {"attributes", attributes}};
}

Catalogue load_catalogue(const ImportOptions& o, const BuildOptions& build, Progress& progress) {
  check_usage(build);
  const Import import = open_import(o, progress);
  sidbeam_import_info info = SIDBEAM_IMPORT_INFO_INIT;
  call(sidbeam_import_get_info, import.get(), &info);
  Catalogue catalogue = seen_of(info);
  progress.note(catalogue.summary);
  if (info.codes_from_data != 0) {
    progress.note("codes per level: " + join(catalogue.shape.codes) +
                  " (1 + the largest of the data; --codes sets them)");
  }
  sidbeam_builder_config config = builder_config(catalogue.shape, build);
  config.id_type = info.id_type;
  config.codebook = build.codebook.empty() ? nullptr : build.codebook.c_str();
  config.progress = show_progress;
  config.progress_context = &progress;
  const Runtime runtime = make_runtime(build.threads);
  sidbeam_builder* made = nullptr;
  call(sidbeam_builder_create, runtime.get(), &config, &made);
  catalogue.builder.reset(made);
  call_import(sidbeam_import_add_to, import.get(), made);
  set_metadata(made, build.metadata);
  return catalogue;
}

namespace {

// Says what the catalogue knows of its items, where the options leave it open.
ImportOptions completed(ImportOptions o, const sidbeam_index* index, const sidbeam_index_info& info) {
  o.levels = info.levels;
  o.codes = join(std::vector<int32_t>(info.codes, info.codes + info.levels));
  o.variable_length = info.variable_length != 0;
  o.text_ids = info.id_type == SIDBEAM_ID_STRING;
  std::string attributes;
  for (const std::string& part : o.attributes.empty() ? std::vector<std::string>() : split(o.attributes, ',')) {
    const size_t colon = part.rfind(':');
    const std::string name = part.substr(0, colon);
    int64_t number = -1;
    call(sidbeam_index_find_attribute, index, name.c_str(), &number);
    if (number < 0) throw Failure("--attributes: '" + name + "' is no attribute of the catalogue");
    sidbeam_attribute_info attribute = SIDBEAM_ATTRIBUTE_INFO_INIT;
    call(sidbeam_index_get_attribute, index, number, &attribute);
    const std::string type = kAttributeTypes[attribute.type];
    if (colon != part.npos && part.substr(colon + 1) != type)
      throw Failure("--attributes: '" + part + "', expected type " + type + ", which '" + name +
                    "' has in the catalogue");
    attributes += (attributes.empty() ? "" : ",") + name + ":" + type;
  }
  o.attributes = attributes;
  return o;
}

}  // namespace

int64_t add_to_catalog(const ImportOptions& o, sidbeam_catalog* catalog, Progress& progress) {
  const Index newest = open_version(catalog, 0);
  const sidbeam_index_info base = index_info(newest.get());
  const Import import = open_import(completed(o, newest.get(), base), progress);
  sidbeam_import_info info = SIDBEAM_IMPORT_INFO_INIT;
  call(sidbeam_import_get_info, import.get(), &info);
  call_cancellable(sidbeam_import_add_to_catalog, import.get(), catalog);
  return info.rows;
}

}  // namespace cli
