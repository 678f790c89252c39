# SPDX-License-Identifier: Apache-2.0
target_sources(sidbeam_core PRIVATE
  live/catalog.cc
  live/compact.cc
  live/compaction.cc
  live/describe.cc
  live/folder.cc
  live/generation.cc
  live/loader.cc
  live/storage.cc
  live/versions.cc
)
