/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog_history.h"

static sidbeam_catalog_config config_of_history(const history* of, int64_t versions) {
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  config.sync = of->sync;
  config.keep_versions = versions;
  return config;
}

static sidbeam_status open_keeping(history* of, int64_t versions, sidbeam_error* error) {
  const sidbeam_catalog_config config = config_of_history(of, versions);
  return sidbeam_catalog_open(of->runtime, of->folder, &config, &of->catalog, error);
}

sidbeam_status open_history(history* of, sidbeam_error* error) { return open_keeping(of, HISTORY_KEEPS, error); }

void close_history(history* of) {
  sidbeam_catalog_close(of->catalog);
  of->catalog = NULL;
}

static sidbeam_status create_catalog(history* of, sidbeam_error* error) {
  const sidbeam_catalog_config config = config_of_history(of, HISTORY_KEEPS);
  return sidbeam_catalog_create(of->base, of->folder, &config, &of->catalog, error);
}

sidbeam_status make_version(history* of, int64_t version, sidbeam_error* error) {
  static const char* const sids[] = {"", "", "333", "222", "", "333", "", "111", "", "333", "", "000"};
  sidbeam_status status = SIDBEAM_OK;
  int64_t made = 0;
  if (version == 1) return create_catalog(of, error);
  if (version == 8 && of->catalog != NULL) close_history(of);
  if (of->catalog == NULL) status = open_history(of, error);
  if (status == SIDBEAM_OK && version == 3) status = remove_item(of->catalog, 13, error);
  if (status == SIDBEAM_OK && sids[version][0] != '\0')
    status = add_pair(of->catalog, sids[version], 38 + version, error);
  if (status != SIDBEAM_OK) return status;
  if (version == 6) {
    status = sidbeam_catalog_rollback(of->catalog, 2, &made, error);
  } else if (version == 4 || version == 8 || version == 10) {
    status = sidbeam_catalog_compact(of->catalog, NULL, &made, error);
  } else {
    status = sidbeam_catalog_publish(of->catalog, &made, error);
  }
  return status != SIDBEAM_OK || made == version ? status : SIDBEAM_INTERNAL;
}

void begin_history(history* of, const char* folder) {
  memset(of, 0, sizeof *of);
  of->folder = folder;
  of->base = make_index(&small, SIDBEAM_KIND_TRIE);
  of->runtime = make_runtime();
  for (int64_t version = 1; version <= HISTORY_VERSIONS; ++version) {
    CHECK_OK(make_version(of, version, &err));
    snprintf(of->contents[version], sizeof of->contents[version], "%s", content(of->catalog, 0));
  }
  check_versions(of, HISTORY_VERSIONS);
  CHECK_TEXT(names_in(folder), "base-3.sidx base-4.sidx catalog.live lock log-10.slog log-8.slog ");
  close_history(of);
}

void end_history(history* of) {
  close_history(of);
  sidbeam_index_release(of->base);
  sidbeam_runtime_release(of->runtime);
}

static void check_catalog(history* of, sidbeam_catalog* catalog, int64_t version) {
  const sidbeam_catalog_info info = info_of(catalog);
  const int64_t oldest = version > HISTORY_KEEPS ? version - HISTORY_KEEPS + 1 : 1;
  CHECK_INT(info.version, version);
  CHECK_INT(info.oldest_version, oldest);
  CHECK(info.cut_bytes >= 0);
  for (int64_t each = oldest; each <= version; ++each) CHECK_TEXT(content(catalog, each), of->contents[each]);
}

void check_versions(history* of, int64_t version) {
  const sidbeam_catalog_config config = config_of_history(of, HISTORY_KEEPS);
  sidbeam_catalog* follower = NULL;
  check_catalog(of, of->catalog, version);
  CHECK_OK(sidbeam_catalog_follow(of->runtime, of->folder, &config, &follower, &err));
  check_catalog(of, follower, version);
  sidbeam_catalog_close(follower);
}

void check_that_it_goes_on(history* of) {
  char expected[300];
  int files = 0;
  close_history(of);
  CHECK_OK(open_keeping(of, 1, &err));
  (void)publish_pair(of->catalog, "331", 99);
  snprintf(expected, sizeof expected, "%s", content(of->catalog, 0));
  CHECK_OK(sidbeam_catalog_compact(of->catalog, NULL, NULL, &err));
  CHECK(strstr(expected, "331:99") != NULL);
  close_history(of);
  CHECK_OK(open_keeping(of, 1, &err));
  CHECK(strstr(content(of->catalog, 0), "331:99") != NULL);
  for (const char* at = names_in(of->folder); *at != '\0'; ++at) files += *at == ' ';
  if (files != 4) printf("%s\n", names_in(of->folder));
  CHECK_INT(files, 4);
  close_history(of);
}
