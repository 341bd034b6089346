#!/bin/sh
# Runs one file of the tests of the Python package: check_python.sh HEDDLE SOURCE PART. Skips with a line where there is no pytest.
heddle=$1 source=$2 part=$3 python=${HEDDLE_PYTHON:-python3}
if ! "$python" -c 'import pytest' 2>/dev/null; then
    echo "skipped: $python has no pytest"
    exit 0
fi
code=0
HEDDLE_COMMAND=$heddle PYTHONPATH=$source/python:$source/workloads/tracers PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q -p no:cacheprovider "$source/tests/python/test_$part.py" || code=$?
# pytest ends so where it ran nothing: the file names a module that is not installed.
[ "$code" -ne 5 ] || { echo && echo "skipped: $python lacks what test_$part.py needs" && exit 0; }
exit "$code"
