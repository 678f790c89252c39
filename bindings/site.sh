#!/usr/bin/env bash
# The documentation as a site of static pages, build/site/index.html, which open from the file system: the READMEs, the
# C reference (Doxygen reads the headers), Python's (Sphinx reads the docstrings), Go's and Javadoc. A function
# or macro without a comment and what leads nowhere are errors.
#   bash bindings/site.sh [BUILD]   a CMake build folder (default: build/release); adds to it the package for Python
# Debian 12: doxygen python3-bs4 python3-myst-parser python3-sphinx sphinx-basic-ng, and what bindings/*/test.sh need.
# The theme comes from PyPI: Debian's has lost its dark colours, and scripts that run from the file system.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:-build/release}
here=bindings/site
export SITE_WORK=$PWD/build/site-work PYTHONDONTWRITEBYTECODE=1
work=$SITE_WORK pages=$SITE_WORK/pages site=build/site
rm -rf "$work" $site
mkdir -p "$pages"

javadoc=build/java/javadoc/index.html
# Comments may have changed since the languages' own builds.
{
  if [ ! -e $javadoc ] || [ -n "$(find bindings/java/src/main -newer $javadoc)" ]; then
    bash bindings/java/build.sh "$build"
  fi
  cmake -S . -B "$build" -DSIDBEAM_PYTHON=ON -DPython_EXECUTABLE=/usr/bin/python3
  cmake --build "$build" --target sidbeam_python
} >"$work/build.log" 2>&1 || { tail -n 20 "$work/build.log"; exit 1; }

venv=build/site-venv
if ! compgen -G "$venv/lib/*/site-packages/furo" >/dev/null; then
  /usr/bin/python3 -m venv --clear --system-site-packages $venv
  $venv/bin/pip install -q --no-deps --ignore-installed furo==2022.12.7
fi

python3 $here/links.py --readmes
python3 $here/pages.py "$pages"
doxygen $here/Doxyfile
python3 $here/headers.py "$work/doxygen/xml" "$pages/c"
GO111MODULE=off GOCACHE=${GOCACHE:-$PWD/build/go/cache} go run $here/godoc/main.go bindings/go >"$pages/go.md"
cp -R build/java/javadoc "$pages/_extra/javadoc"
cp $here/java.rst "$pages"
PYTHONPATH=$build/bindings/python/package \
  $venv/bin/python -m sphinx -q -W --keep-going -c $here -d "$work/doctrees" -b html "$pages" $site
# Of fonts that Debian's JDK leaves out.
sed -i '/@import url.*dejavu\.css/d' $site/javadoc/stylesheet.css
python3 $here/links.py $site
echo "Site: $(find $site -name '*.html' | wc -l) pages, $site/index.html"
