// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.Set;

/**
 * What a device holds of an index.
 *
 * @param kinds none where nothing is
 * @param bytes on the device
 */
public record Upload(Set<Kind> kinds, long bytes) {}
