# target_sources(sidbeam_core PRIVATE index/...)
