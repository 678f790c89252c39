// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.List;

/**
 * What was seen in a catalogue file.
 *
 * @param format lcrec, records, jsonl, csv, npy, npz, raw or xllm
 * @param summary one line for people: 3 levels, families ..., 10,310 items
 * @param codes of each level
 * @param families of each level's tokens, a star for the code; a star alone: plain numbers
 * @param beginTokens of every SID, separated by spaces
 * @param endTokens of every SID, separated by spaces
 * @param rows (SID, item) pairs
 * @param variableLength whether SIDs may have different lengths
 * @param idType of the items
 * @param codesFromData whether codes are 1 + the largest of the file
 */
public record ImportInfo(String format, String summary, List<Integer> codes, List<String> families, String beginTokens,
    String endTokens, long rows, boolean variableLength, IdType idType, boolean codesFromData) {
}
