/* A library that is no plugin. SPDX-License-Identifier: Apache-2.0 */
int sidbeam_plugin_of_nothing(void);
int sidbeam_plugin_of_nothing(void) { return 0; }
