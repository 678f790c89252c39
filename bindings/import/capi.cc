// The C ABI: checks the arguments, translates exceptions, calls.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "catalogue.h"
#include "failure.h"
#include "first_version.h"
#include "sidbeam/import_api.h"
#include "support/arguments.h"
#include "support/utf8.h"

namespace importer {
namespace {

// What the handle is.
struct Import {
  explicit Import(Options options) : catalogue(std::move(options)) {
    const Shape& shape = catalogue.survey().shape;
    for (const std::string& family : catalogue.families()) families.push_back(family.c_str());
    for (const std::string& token : shape.begin) begin += (begin.empty() ? "" : " ") + token;
    for (const std::string& token : shape.end) end += (end.empty() ? "" : " ") + token;
    summary = catalogue.summary();
    for (const AttributeSpec& spec : shape.attributes) {
      attribute_names.push_back(spec.name.c_str());
      attribute_types.push_back(spec.type);
    }
  }

  Catalogue catalogue;
  std::vector<const char*> families, attribute_names;
  std::vector<int32_t> attribute_types;
  std::string begin, end, summary;
};

Import* object(sidbeam_import* handle) { return reinterpret_cast<Import*>(handle); }
const Import* object(const sidbeam_import* handle) { return reinterpret_cast<const Import*>(handle); }

// As sidbeam::guarded, which takes what the importers throw.
template <class Call>
sidbeam_status guarded(sidbeam_error* err, const Call& call) noexcept {
  return sidbeam::guarded(err, [&] {
    try {
      call();
    } catch (const Failure& failure) {
      sidbeam::fail(failure.status, "%s", failure.what());
    } catch (const UsageError& error) {
      sidbeam::fail(SIDBEAM_INVALID_ARGUMENT, "%s", error.what());
    }
  });
}

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

void check_flag(const char* name, int32_t value) { sidbeam::check_range(name, value, 0, 1); }

Shape given_shape(const sidbeam_import_config& config, const Options& options) {
  Shape shape;
  sidbeam::check_range("config.levels", config.levels, 0, SIDBEAM_MAX_LEVELS);
  check_flag("config.variable_length", config.variable_length);
  check_flag("config.token_ids", config.token_ids);
  shape.levels = config.levels;
  shape.variable_length = config.variable_length != 0;
  sidbeam::check_range("config.codes_count", config.codes_count, 0, SIDBEAM_MAX_LEVELS);
  if (config.codes_count > 0) sidbeam::capi::require(config.codes, "config.codes");
  for (int32_t l = 0; l < config.codes_count; ++l) {
    sidbeam::check_range("config.codes", config.codes[l], 1, SIDBEAM_MAX_CODES - config.variable_length);
    shape.codes.push_back(config.codes[l]);
  }
  if (shape.codes.size() == 1 && shape.levels > 0) {
    shape.codes.resize(static_cast<size_t>(shape.levels), shape.codes[0]);
  }
  if (!shape.codes.empty() && shape.levels > 0 && static_cast<int32_t>(shape.codes.size()) != shape.levels) {
    throw UsageError(options.named("codes") + ": " + std::to_string(shape.codes.size()) + " numbers, expected 1 or " +
                     std::to_string(shape.levels) + " (" + options.named("levels") + ")");
  }
  if (config.token_ids != 0) {
    if (shape.codes.empty()) {
      throw UsageError(options.named("token_base") + ": token ids need " + options.named("codes") +
                       ", the number of codes of each level");
    }
    sidbeam::check_range("config.token_base", config.token_base, 0, int64_t{1} << 40);
    shape.token_base = config.token_base;
  }
  return shape;
}

// A pattern for each level says how many levels there are; one for all is applied as they are met.
void read_pattern(Options& options) {
  if (options.token_pattern.empty()) return;
  Shape& shape = options.shape;
  if (!sidbeam::is_utf8(options.token_pattern)) {
    throw UsageError(options.named("token_pattern") + ": '" + options.token_pattern +
                     "' is not UTF-8, expected text that is");
  }
  const std::vector<Family> families = parse_pattern(options.token_pattern, shape.levels);
  if (families.empty()) {
    throw UsageError(options.named("token_pattern") + ": '" + options.token_pattern +
                     "', expected one family with a * for the code, or one per level, such as '<a_*> <b_*> <c_*>'");
  }
  if (shape.levels == 0 && families.size() > 1) shape.levels = static_cast<int32_t>(families.size());
  if (shape.levels > 0) shape.families = families;
}

Options read_config(const char* path, const sidbeam_import_config* given) {
  sidbeam::capi::require(path, "path");
  sidbeam_import_config config = SIDBEAM_IMPORT_CONFIG_INIT;
  if (given != nullptr) config = sidbeam::capi::read_struct(given, "config");
  Options options;
  options.input = path;
  options.command = config.command_options != 0;
  options.format = text_of(config.format);
  options.ids = text_of(config.ids);
  options.item_column = text_of(config.item_column);
  options.sid_columns = text_of(config.sid_columns);
  options.priority_column = text_of(config.priority_column);
  options.token_pattern = text_of(config.token_pattern);
  options.attributes = text_of(config.attributes);
  parse_attributes(options);  // wrong usage is reported before a file is read
  sidbeam::check_range("config.quotes", config.quotes, SIDBEAM_QUOTES_AUTO, SIDBEAM_QUOTES_TEXT);
  options.quotes = config.quotes;
  check_flag("config.text_ids", config.text_ids);
  options.text_ids = config.text_ids != 0;
  options.shape = given_shape(config, options);
  read_pattern(options);
  options.progress = [call = config.progress, context = config.progress_context](int32_t phase, int64_t done,
                                                                                 int64_t total) {
    if (call == nullptr || call(context, phase, done, total) == 0) return;
    throw Failure("the progress callback asked to stop", SIDBEAM_CANCELLED);
  };
  return options;
}

void build(sidbeam_runtime* runtime, const char* path, const sidbeam_import_config* config,
           const sidbeam_builder_config* given, sidbeam_builder** out) {
  sidbeam_builder_config build = SIDBEAM_BUILDER_CONFIG_INIT;
  if (given != nullptr) build = sidbeam::capi::read_struct(given, "builder");
  const Import import(read_config(path, config));
  const Survey& survey = import.catalogue.survey();
  build.levels = survey.shape.levels;
  build.codes = survey.shape.codes.data();
  build.variable_length = survey.shape.variable_length ? 1 : 0;
  build.id_type = survey.id_type;
  sidbeam_builder* made = nullptr;
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  sidbeam::check_status(sidbeam_builder_create(runtime, &build, &made, &err), err);
  std::unique_ptr<sidbeam_builder, void (*)(sidbeam_builder*)> builder(made, sidbeam_builder_destroy);
  import.catalogue.add_to(made);
  *out = builder.release();
}

}  // namespace
}  // namespace importer

using importer::Import;

extern "C" {

uint32_t sidbeam_import_abi_version(void) { return SIDBEAM_IMPORT_ABI_VERSION; }

sidbeam_status sidbeam_import_open(const char* path, const sidbeam_import_config* config, sidbeam_import** out,
                                   sidbeam_error* err) {
  return importer::guarded(err, [&] {
    sidbeam::capi::require(out, "out");
    *out = reinterpret_cast<sidbeam_import*>(new Import(importer::read_config(path, config)));
  });
}

sidbeam_status sidbeam_import_get_info(const sidbeam_import* import, sidbeam_import_info* out, sidbeam_error* err) {
  return importer::guarded(err, [&] {
    sidbeam::capi::require(import, "import");
    sidbeam::capi::check_output(out, "out");
    const Import& seen = *importer::object(import);
    const importer::Survey& survey = seen.catalogue.survey();
    sidbeam_import_info info = SIDBEAM_IMPORT_INFO_INIT;
    info.levels = survey.shape.levels;
    info.codes = survey.shape.codes.data();
    info.families = seen.families.data();
    info.format = seen.catalogue.format().c_str();
    info.begin_tokens = seen.begin.c_str();
    info.end_tokens = seen.end.c_str();
    info.summary = seen.summary.c_str();
    info.rows = survey.rows;
    info.variable_length = survey.shape.variable_length ? 1 : 0;
    info.id_type = survey.id_type;
    info.codes_from_data = seen.catalogue.codes_from_data() ? 1 : 0;
    info.attribute_count = static_cast<int64_t>(seen.attribute_names.size());
    info.attribute_names = seen.attribute_names.data();
    info.attribute_types = seen.attribute_types.data();
    sidbeam::write_struct(info, out);
  });
}

sidbeam_status sidbeam_import_add_to(sidbeam_import* import, sidbeam_builder* builder, sidbeam_error* err) {
  return importer::guarded(err, [&] {
    sidbeam::capi::require(import, "import");
    sidbeam::capi::require(builder, "builder");
    importer::object(import)->catalogue.add_to(builder);
  });
}

sidbeam_status sidbeam_import_add_to_catalog(sidbeam_import* import, sidbeam_catalog* catalog, sidbeam_error* err) {
  return importer::guarded(err, [&] {
    sidbeam::capi::require(import, "import");
    sidbeam::capi::require(catalog, "catalog");
    importer::object(import)->catalogue.add_to(catalog);
  });
}

sidbeam_status sidbeam_import_build(sidbeam_runtime* runtime, const char* path, const sidbeam_import_config* config,
                                    const sidbeam_builder_config* builder, sidbeam_builder** out, sidbeam_error* err) {
  return importer::guarded(err, [&] {
    sidbeam::capi::require(out, "out");
    importer::build(runtime, path, config, builder, out);
  });
}

void sidbeam_import_destroy(sidbeam_import* import) { delete importer::object(import); }

sidbeam_status sidbeam_import_get_api(uint32_t abi_version, const sidbeam_import_api** out, sidbeam_error* err) {
  static constexpr sidbeam_import_api kApi = {static_cast<uint32_t>(sizeof(sidbeam_import_api)),
                                              sidbeam_import_abi_version,
                                              sidbeam_import_open,
                                              sidbeam_import_get_info,
                                              sidbeam_import_add_to,
                                              sidbeam_import_build,
                                              sidbeam_import_destroy,
                                              sidbeam_import_add_to_catalog};
  return importer::guarded(err, [&] {
    sidbeam::capi::require(out, "out");
    if (abi_version != SIDBEAM_IMPORT_ABI_VERSION)
      sidbeam::fail(SIDBEAM_UNSUPPORTED, "abi_version is %u, expected %u, that of the importers' library %s",
                    abi_version, SIDBEAM_IMPORT_ABI_VERSION, sidbeam_version());
    *out = &kApi;
  });
}

}  // extern "C"
