// Tables open and verify: of files whose pages are in memory. SPDX-License-Identifier: Apache-2.0
#include "index_tables.h"

namespace bench {
namespace {

Index open_index(sidbeam_runtime* runtime, const std::string& path, int32_t verify) {
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  config.verify = verify;
  return make<Index>("index_open", sidbeam_index_open, runtime, path.c_str(), &config);
}

Case case_of(int64_t sids) { return {{"V", int64_t{kCodes}}, {"L", int64_t{kLevels}}, {"N", sids}}; }

}  // namespace

Measurements open_table(const Settings& settings) {
  Measurements out;
  const int runs = settings.quick ? 5 : 300;
  for (const int64_t sids : sizes(settings)) {
    for (const Kind& kind : kTries) {
      const std::string& path = settings.files->path(kind, sids, 1, settings.threads);
      const Runtime runtime = runtime_of(1);
      std::vector<double> open, close;
      for (int run = 0; run < runs; ++run) {
        Index index;
        open.push_back(1e3 * seconds_of([&] { index = open_index(runtime.get(), path, SIDBEAM_VERIFY_HEADER); }));
        close.push_back(1e3 * seconds_of([&] { index.reset(); }));
      }
      out.push_back(
          {"open", case_of(sids), std::string(kind.name) + ": open, verify=header", "ms", summarise(open), ""});
      out.push_back(
          {"open", case_of(sids), std::string(kind.name) + ": release", "ms", summarise(close), "nothing read"});
    }
  }
  return out;
}

Measurements verify_table(const Settings& settings) {
  Measurements out;
  const int64_t sids = sizes(settings).back();
  const std::pair<const char*, int32_t> depths[] = {{"checksums", SIDBEAM_VERIFY_CHECKSUMS},
                                                    {"full", SIDBEAM_VERIFY_FULL}};
  for (const Kind& kind : kAllKinds) {
    if (kind.kinds == SIDBEAM_KIND_HASH && sids > kMostHashed) continue;
    const std::string& path = settings.files->path(kind, sids, 1, settings.threads);
    const Runtime runtime = runtime_of(1);
    const Index index = open_index(runtime.get(), path, SIDBEAM_VERIFY_FULL);  // brings the pages in
    sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
    call("index_get_info", sidbeam_index_get_info, index.get(), &info);
    for (const auto& [name, depth] : depths) {
      std::vector<double> rates;
      for (int run = 0; run < (settings.quick ? 2 : 5); ++run) {
        const double seconds =
            seconds_of([&, d = depth] { call("index_verify", sidbeam_index_verify, index.get(), d); });
        rates.push_back(static_cast<double>(info.file_bytes) / seconds / 1e9);
      }
      out.push_back(
          {"verify", case_of(sids), std::string(kind.name) + ": " + name, "GB/s", summarise(rates), "one core"});
    }
  }
  return out;
}

}  // namespace bench
