# test_recompute.sh on a GPU.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
GNNTRAIN_TEST_DEVICE=cuda exec bash "$GNNTRAIN_SOURCE/tests/models/train/test_recompute.sh"
