# The highest and the lowest height of one harbour. The first line holds the names of the columns.
NR == 2 { high = low = $3; high_at = low_at = $1 " " $2 }
NR > 2 && $3 > high { high = $3; high_at = $1 " " $2 }
NR > 2 && $3 < low { low = $3; low_at = $1 " " $2 }
END {
  printf "%-10s high water %5.2f m (%s)\n", harbour, high, high_at
  printf "%-10s low water  %5.2f m (%s)\n", harbour, low, low_at
}
