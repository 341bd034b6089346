#!/usr/bin/env python3
"""Makes an Apache Parquet file of the points of an exploration. Needs pyarrow.

    heddle explore export DIR --format csv --out points.csv
    examples/points-to-parquet.py points.csv points.parquet
"""
import sys

import pyarrow.csv
import pyarrow.parquet

if len(sys.argv) != 3:
    sys.exit(__doc__)
pyarrow.parquet.write_table(pyarrow.csv.read_csv(sys.argv[1]), sys.argv[2])
