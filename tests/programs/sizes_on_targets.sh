# Sourced by the tests of --runner: a model with sizes of the caller, sizes that data decide, and a status. Its inputs are
# x.npy and two.npy, or three.npy, for which the run ends with a status; expected.txt has the results on this machine.
npy() {  # TYPE SHAPE: the header of an array; its elements follow
  printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': ($2), }"
}

cat > sizes.rly <<'END'
def @main(%x: Tensor[(n), int32], %i: Tensor[(m), int64]) {
  let %a = nonzero(%x);
  (concatenate((%x, %x)), prefix(%a.0, %a.1), take(%x, %i, mode="strict"))
}
END
{ npy '<i4' '3,'; printf '\7\0\0\0\0\0\0\0\11\0\0\0'; } > x.npy
{ npy '<i8' '1,'; printf '\2\0\0\0\0\0\0\0'; } > two.npy
{ npy '<i8' '1,'; printf '\3\0\0\0\0\0\0\0'; } > three.npy
expect_status 0 run sizes.rly --input x.npy --input two.npy
mv out.txt expected.txt

check_sizes_on() {  # TARGET RUNNER: the model has the same results there
  expect_status 0 run sizes.rly --input x.npy --input two.npy --target "$1" --runner "$2"
  cmp expected.txt out.txt || fail "other results on $1: $(cat out.txt)"
}
