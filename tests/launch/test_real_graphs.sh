# Every graph of the test data imports, passes the checks and trains on 4 ranks.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
needs_data
BENCH_DIR=$PWD exec "$GNNTRAIN_SOURCE/tests/bench/real_graphs" 4
