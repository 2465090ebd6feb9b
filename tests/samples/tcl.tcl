# Adds.
proc add {a {b 2} args} {
  return [expr {$a + $b}]
}
namespace eval shop {
  proc price {} { return 1 }
}
set MAX 10
