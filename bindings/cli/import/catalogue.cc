// From the import options to a builder that holds the catalogue.
// SPDX-License-Identifier: Apache-2.0
#include "catalogue.h"

#include <algorithm>
#include <set>

#include "../interrupt.h"
#include "../options.h"

namespace cli {
namespace {

// What one pass over a file finds.
struct Survey {
  Shape shape;
  int32_t id_type = SIDBEAM_ID_I64;
};

// Whether a pass over the file is needed before the builder can be made: text ids may or may not all be integers, and
// codes or levels that are not given are found in the data.
bool needs_pass(const Source& source, const Shape& shape) {
  return source.id_form() == IdForm::kText || shape.codes.empty() || shape.levels == 0;
}

class Surveyor {
 public:
  explicit Surveyor(const Shape& given) : given_(given) {}

  void look(const Batch& batch, IdForm form) {
    size_t at = 0;
    for (size_t row = 0; row < batch.size(); ++row) {
      const size_t length = static_cast<size_t>(batch.lengths[row]);
      if (length > largest_.size()) largest_.resize(length);
      for (size_t i = 0; i < length; ++i) largest_[i] = std::max(largest_[i], batch.codes[at + i]);
      at += length;
      if (form == IdForm::kText) look_at_id(batch.name(row));
    }
  }

  Survey result(IdForm form) const {
    Survey survey{given_, SIDBEAM_ID_I64};
    Shape& shape = survey.shape;
    if (shape.levels == 0) shape.levels = static_cast<int32_t>(largest_.size());
    const size_t levels = static_cast<size_t>(shape.levels);
    if (shape.codes.size() == 1) shape.codes.assign(levels, shape.codes[0]);
    if (shape.codes.empty()) {
      for (size_t i = 0; i < levels; ++i) shape.codes.push_back(i < largest_.size() ? largest_[i] + 1 : 1);
    }
    if (form == IdForm::kUnsigned || (form == IdForm::kText && !signed_)) survey.id_type = SIDBEAM_ID_U64;
    if (form == IdForm::kText && !signed_ && !unsigned_) survey.id_type = SIDBEAM_ID_STRING;
    return survey;
  }

 private:
  void look_at_id(std::string_view name) {
    if (signed_ && !parse_canonical<int64_t>(name)) signed_ = false;
    if (unsigned_ && !parse_canonical<uint64_t>(name)) unsigned_ = false;
  }

  Shape given_;
  std::vector<int32_t> largest_;
  bool signed_ = true, unsigned_ = true;
};

// What the options and the file's own header say.
Shape given_shape(const ImportOptions& import, const CatalogueFiles& files) {
  Shape shape{import.levels, parse_codes(import.codes, import.levels, import.variable_length), import.variable_length};
  if (shape.levels == 0 && shape.codes.size() > 1) shape.levels = static_cast<int32_t>(shape.codes.size());
  const int32_t levels = files.source(shape)->levels();
  if (levels > 0 && shape.levels > 0 && shape.levels != levels && !shape.variable_length) {
    throw Failure("'" + import.input + "': SIDs of " + std::to_string(levels) + " codes, expected " +
                  std::to_string(shape.levels) + (import.levels > 0 ? " (--levels)" : " (--codes)"));
  }
  if (shape.levels == 0) shape.levels = levels;
  // Rows that are padded may be wider than --levels, but a row is read as a whole.
  if (std::max(shape.levels, levels) > SIDBEAM_MAX_LEVELS) {
    throw Failure("'" + import.input + "': SIDs of " + std::to_string(levels) + " codes, expected at most " +
                  std::to_string(int{SIDBEAM_MAX_LEVELS}));
  }
  if (shape.codes.size() == 1) shape.codes.resize(static_cast<size_t>(std::max(shape.levels, 1)), shape.codes[0]);
  return shape;
}

Survey survey_catalogue(const ImportOptions& import, const CatalogueFiles& files, Progress& progress) {
  const Shape given = given_shape(import, files);
  const auto source = files.source(given);
  Surveyor surveyor(given);
  if (needs_pass(*source, given)) {
    Batch batch;
    while (source->next(batch)) {
      surveyor.look(batch, source->id_form());
      progress.show("scanning", source->done(), source->total());
    }
  }
  Survey survey = surveyor.result(source->id_form());
  if (survey.shape.levels == 0) throw Failure("'" + import.input + "': no SID in it, expected at least one");
  if (import.codes.empty()) {
    progress.note("codes per level: " + join(survey.shape.codes) + " (1 + the largest of the data; --codes sets them)");
  }
  return survey;
}

// Rows as the library takes them: one stride, ids of one type.
class Feeder {
 public:
  Feeder(sidbeam_builder* builder, const Survey& survey)
      : builder_(builder),
        stride_(static_cast<size_t>(survey.shape.levels)),
        variable_(survey.shape.variable_length),
        id_type_(survey.id_type) {}

  void add(Batch& batch) {
    const int32_t* codes = batch.codes.data();
    if (batch.codes.size() != batch.size() * stride_) codes = pad(batch);
    const int64_t rows = static_cast<int64_t>(batch.size());
    const int32_t* lengths = variable_ ? batch.lengths.data() : nullptr;
    const int64_t* priorities = batch.priorities.empty() ? nullptr : batch.priorities.data();
    if (!batch.name_ends.empty() && id_type_ == SIDBEAM_ID_STRING) {
      batch.name_ends.insert(batch.name_ends.begin(), 0);
      return call(sidbeam_builder_add_named, builder_, codes, lengths, rows, batch.names.data(), batch.name_ends.data(),
                  priorities);
    }
    if (!batch.name_ends.empty()) parse_names(batch);
    call(sidbeam_builder_add, builder_, codes, lengths, rows, batch.ids.empty() ? nullptr : batch.ids.data(),
         priorities);
  }

 private:
  const int32_t* pad(const Batch& batch) {
    padded_.assign(batch.size() * stride_, 0);
    const int32_t* from = batch.codes.data();
    for (size_t row = 0; row < batch.size(); ++row) {
      std::copy_n(from, batch.lengths[row], padded_.begin() + static_cast<std::ptrdiff_t>(row * stride_));
      from += batch.lengths[row];
    }
    return padded_.data();
  }

  void parse_names(Batch& batch) const {
    for (size_t row = 0; row < batch.size(); ++row) {
      const std::string_view name = batch.name(row);
      const auto id = parse_integer<int64_t>(name);
      const auto unsigned_id = id_type_ == SIDBEAM_ID_U64 ? parse_integer<uint64_t>(name) : std::nullopt;
      if (!id && !unsigned_id) throw Failure("id '" + std::string(name) + "': the file changed while it was read");
      batch.ids.push_back(unsigned_id ? static_cast<int64_t>(*unsigned_id) : *id);
    }
  }

  sidbeam_builder* builder_;
  size_t stride_;
  bool variable_;
  int32_t id_type_;
  std::vector<int32_t> padded_;
};

int32_t report(void* context, int32_t phase, int64_t done, int64_t total) {
  constexpr const char* kPhases[] = {"sorting", "levels", "writing", "checksums", "syncing"};
  const bool known = phase >= 0 && phase < static_cast<int32_t>(std::size(kPhases));
  static_cast<Progress*>(context)->show(known ? kPhases[phase] : "building", done, total);
  return interrupted() ? 1 : 0;
}

// Wrong usage is reported before a file is read.
void check_usage(const ImportOptions& import, const BuildOptions& build) {
  parse_codes(import.codes, import.levels, import.variable_length);
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
  command.add_option("--format", o.format, "lcrec, jsonl, csv, npy, raw or xllm; auto goes by name and content")
      .one_of({"auto", "lcrec", "jsonl", "csv", "npy", "raw", "xllm"})
      .capture_default_str();
  command.add_option("--levels", o.levels, "codes of a SID (of the longest one); default: from the data")
      .between(1, SIDBEAM_MAX_LEVELS);
  command.add_option("--codes", o.codes, "V or V1,V2,..: codes of each level; default: 1 + the largest of the data")
      .type_name("LIST");
  command.add_flag("--variable-length", o.variable_length,
                   "SIDs of different lengths (npy and raw: -1 at the end of a row; csv columns: empty cells)");
  command.add_option("--ids", o.ids, "ids of npy or raw rows: .npy of integers, or text, one id a line")
      .type_name("FILE");
  command.add_option("--item-column", o.item_column, "csv column or jsonl field of the item id; default: item");
  command.add_option("--sid-columns", o.sid_columns,
                     "csv column of the SID, or A,B,C for a column per level; default: sid");
  command.add_option("--priority-column", o.priority_column, "csv column or jsonl field of the item's priority");
}

void add_build_options(Command command, BuildOptions& o) {
  command
      .add_option("--kinds", o.kinds, "what the index holds, some of trie,compact (a trie in less space),sorted,hash")
      .capture_default_str();
  command.add_option("--collisions", o.collisions, "items that share a SID: keep all, error, or the first by priority")
      .one_of({"keep", "error", "first"})
      .capture_default_str();
  command.add_option("--threads", o.threads, "0: one per core").between(0, 1024).capture_default_str();
  command.add_option("--memory-limit", o.memory_limit, "fail before a build that would need more, such as 16G");
}

sidbeam_builder_config builder_config(const Shape& shape, const BuildOptions& build) {
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = shape.levels;
  config.codes = shape.codes.data();
  config.variable_length = shape.variable_length ? 1 : 0;
  config.kinds = parse_kinds(build.kinds);
  config.collisions = build.collisions == "keep"    ? SIDBEAM_COLLISIONS_KEEP
                      : build.collisions == "error" ? SIDBEAM_COLLISIONS_ERROR
                                                    : SIDBEAM_COLLISIONS_FIRST;
  config.threads = build.threads;
  config.hash_seed = static_cast<int64_t>(build.hash_seed);
  config.allow_attribute_loss = build.allow_attribute_loss ? 1 : 0;
  if (!build.memory_limit.empty()) config.memory_limit_bytes = parse_bytes("--memory-limit", build.memory_limit);
  return config;
}

Catalogue load_catalogue(const ImportOptions& import, const BuildOptions& build, Progress& progress) {
  check_usage(import, build);
  const CatalogueFiles files(import);
  const Survey survey = survey_catalogue(import, files, progress);
  sidbeam_builder_config config = builder_config(survey.shape, build);
  config.id_type = survey.id_type;
  config.codebook = build.codebook.empty() ? nullptr : build.codebook.c_str();
  config.progress = report;
  config.progress_context = &progress;
  const Runtime runtime = make_runtime(build.threads);
  sidbeam_builder* made = nullptr;
  call(sidbeam_builder_create, runtime.get(), &config, &made);
  Catalogue catalogue{Builder(made), survey.shape, files.format, 0};
  set_metadata(made, build.metadata);
  const auto source = files.source(survey.shape);
  Feeder feeder(made, survey);
  Batch batch;
  while (source->next(batch)) {
    feeder.add(batch);
    catalogue.rows += static_cast<int64_t>(batch.size());
    progress.show("reading", source->done(), source->total());
  }
  return catalogue;
}

}  // namespace cli
