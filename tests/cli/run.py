"""Runs the tests of the sidbeam command.

    python3 tests/cli/run.py --sidbeam build/release/bindings/cli/sidbeam [test_decode ...]

Exit status 77 where every test was skipped.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os
import sys
import unittest

sys.dont_write_bytecode = True  # tests write nothing into the sources
import support


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sidbeam", required=True, help="the program to test")
    parser.add_argument("--io-faults", help="the library to preload of tests/capi/io_faults.c; default: skip its tests")
    parser.add_argument("tests", nargs="*", help="modules, classes or methods; default: all")
    arguments = parser.parse_args()
    support.PROGRAM = os.path.abspath(arguments.sidbeam)
    support.IO_FAULTS = arguments.io_faults and os.path.abspath(arguments.io_faults)
    here = os.path.dirname(os.path.abspath(__file__))
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames(arguments.tests) if arguments.tests else loader.discover(here)
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    if not result.wasSuccessful():
        return 1
    return 77 if result.testsRun and len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
