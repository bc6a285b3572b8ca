"""Counts words with Python's workers: words.py FILE."""

import sys

from pyspark.sql import SparkSession

session = SparkSession.builder.getOrCreate()
counts = dict(session.sparkContext.textFile(sys.argv[1], 6).flatMap(lambda line: line.split())
              .map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b).collect())
print("RESULT %d %d %d" % (sum(counts.values()), len(counts), counts["the"]))
session.stop()
