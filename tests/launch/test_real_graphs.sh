# Every graph of the test data imports, passes the checks and trains on 4 ranks.
if [[ ! -d ${GNNTRAIN_TEST_DATA-} ]]; then
  echo "skipped: GNNTRAIN_TEST_DATA does not name a folder"
  exit 77
fi
BENCH_DIR=$PWD exec "$GNNTRAIN_SOURCE/tests/bench/real_graphs" 4
