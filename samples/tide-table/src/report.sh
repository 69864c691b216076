#!/bin/sh
# Prints high water and low water of every harbour, for people.
cd "$(dirname "$0")/.." || exit 2
for file in data/*.csv; do
  awk -F, -v harbour="$(basename "$file" .csv)" -f src/extremes.awk "$file"
done
