// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** What beams stay inside: an {@link Index}, or a {@link Constraint} made from one. */
public sealed interface Constrainer permits Index, Constraint {}
